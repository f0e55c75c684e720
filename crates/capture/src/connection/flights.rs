//! The flights of one direction, and which of them the congestion window ended, and not the application: of the first such
//! flight it is the sender's initial window (RFC 6928), where that can be known.
//!
//! What an acknowledgement lets go passes the capture when the acknowledgement has gone to the sender and the data
//! come back; what passes before belongs to the flight, also at the receiver.

/// Part of a round trip within which an acknowledgement lets more data go, and of the way to the sender by which flights are apart.
const AT_ONCE: u64 = 4;

/// Follows the flights of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentFlights {
    /// Segments of the flight, until the first of them is acknowledged.
    flight: u32,
    /// Where it began; unwrapped.
    begun: u64,
    is_open: bool,
    /// The last one is as large as any: the application had more to send.
    is_full: bool,
    /// When its last segment passed, in ns since 1970.
    last_at: u64,
    /// The number up to which the receiver accepted data when it began; 0 if nobody knows.
    room_until: u64,
    /// When the first of the flight was acknowledged, while it is not known if more comes.
    acknowledged_at: Option<u64>,
    /// The most segments of a flight before this one, and all segments that were sent before it.
    largest_before: u32,
    all_before: u32,
    /// All segments that were sent.
    all: u32,
    known: Option<u32>,
}

/// A segment with new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewData {
    /// When, in ns since 1970.
    pub(crate) at: u64,
    /// Its first number and the one after its last, unwrapped.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Segments on the wire: more than one where the card cuts it later.
    pub(crate) segments: u32,
    /// Whether no segment was larger, and it has no part of one.
    pub(crate) is_full: bool,
    /// Nothing was on its way before it.
    pub(crate) was_idle: bool,
    /// The bytes that the receiver accepts; missing if nothing of it was seen.
    pub(crate) window: Option<u32>,
    /// From the capture to the sender and back, and a whole round trip; ns.
    pub(crate) to_sender: u64,
    pub(crate) round_trip: u64,
}

/// A flight of which the first segment was acknowledged, when more came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndedFlight {
    /// Segments until then.
    pub(crate) segments: u32,
    /// Whether the congestion window ended it.
    pub(crate) by_window: bool,
}

impl SentFlights {
    /// In segments, if it is known.
    pub(crate) fn known(&self) -> Option<u32> {
        self.known
    }

    /// New data was sent: whether the window ended the flight before it.
    #[inline]
    pub(crate) fn handle_data(&mut self, data: NewData) -> Option<EndedFlight> {
        let mut ended = None;
        match self.acknowledged_at {
            // It was on its way before the sender heard of the acknowledgement.
            Some(acknowledged_at) if data.at < acknowledged_at + data.to_sender / 2 => {}
            Some(acknowledged_at) => {
                let by_window = self.is_ended_by_window(acknowledged_at + data.to_sender, &data);
                if by_window && self.known.is_none() && self.is_unchanged() {
                    self.known = Some(self.flight);
                }
                ended = Some(EndedFlight { segments: self.flight, by_window });
                (self.acknowledged_at, self.is_open) = (None, false);
            }
            None => {}
        }
        if data.was_idle {
            self.largest_before = self.largest_before.max(self.flight);
            self.all_before = self.all;
            (self.flight, self.begun, self.is_open) = (0, data.start, true);
            self.room_until = data.window.map_or(0, |window| data.start + u64::from(window));
        }
        self.all = self.all.saturating_add(data.segments);
        if self.is_open {
            self.flight += data.segments;
            // Without room it was the receiver who ended it, if the flight ends here.
            self.is_full =
                data.is_full && data.end + (data.end - data.start) / u64::from(data.segments.max(1)) <= self.room_until;
            self.last_at = data.at;
        }
        ended
    }

    /// Whether the first data after the acknowledgement comes at once: then the window had held it back.
    fn is_ended_by_window(&self, heard_at: u64, data: &NewData) -> bool {
        let came_at_once = data.at.saturating_sub(heard_at) <= data.round_trip / AT_ONCE;
        // On a slow link the flight may reach as far as what follows it.
        let is_apart = data.at - self.last_at.min(data.at) >= data.to_sender / AT_ONCE;
        came_at_once && is_apart && self.is_full
    }

    /// Whether this flight is as large as the initial window if it was the window that ended it.
    ///
    /// What was sent before this flight has let the window grow by as many segments, unless it was at least twice as large as
    /// each flight of it (Linux, `tcp_is_cwnd_limited`). Where this one is larger than such a grown window could be, none has.
    fn is_unchanged(&self) -> bool {
        self.flight >= 2 * self.largest_before + self.all_before
    }

    /// Data up to `ack` was acknowledged; with data of the other end, which may ask for more.
    #[inline]
    pub(crate) fn handle_ack(&mut self, at: u64, ack: u64, has_data: bool) {
        if has_data {
            // What comes now may be an answer.
            self.is_open &= ack <= self.begun;
            self.acknowledged_at = None;
        } else if self.is_open && ack > self.begun {
            self.acknowledged_at.get_or_insert(at);
        }
    }
}
