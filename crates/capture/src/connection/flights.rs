//! The flights of one direction, and which of them the congestion window ended, and not the application: of the first such
//! flight it is the sender's initial window (RFC 6928), where that can be known.
//!
//! What an acknowledgement lets go passes the capture when the acknowledgement has gone to the sender and the data
//! come back; what passes before belongs to the flight, also at the receiver.

use crate::seen_at::SeenAt;

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
    /// When its last segment passed, and the last one at all; ns since 1970.
    flight_at: u64,
    last_at: u64,
    /// The number up to which the receiver accepted data when it began; 0 if nobody knows.
    room_until: u64,
    /// When the first of the flight was acknowledged, while it is not known if more comes.
    acknowledged_at: Option<SeenAt>,
    /// The most segments of a burst before this flight, and all segments that were sent before it. What is on its way at a
    /// time belongs to one burst: in it nothing waits for half of a round trip.
    largest_before: u32,
    all_before: u32,
    /// The segments of the burst, the most of one, and all that were sent.
    burst: u32,
    largest: u32,
    all: u32,
    known: Option<u32>,
    /// Flights that began when nothing was on its way, and how many of these the window ended.
    pub(crate) begun_count: u32,
    pub(crate) ended_by_window: u32,
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
    /// Whether nothing was lost or out of order until now: that makes the window smaller.
    pub(crate) is_in_order: bool,
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
        match self.acknowledged_at.map(SeenAt::ns) {
            // It was on its way before the sender heard of the acknowledgement.
            Some(acknowledged_at) if data.at < acknowledged_at.saturating_add(data.to_sender / 2) => {}
            Some(acknowledged_at) => {
                let by_window = self.is_ended_by_window(acknowledged_at.saturating_add(data.to_sender), &data);
                if by_window && data.is_in_order && self.known.is_none() && self.is_unchanged() {
                    self.known = Some(self.flight);
                }
                self.ended_by_window += u32::from(by_window);
                ended = Some(EndedFlight { segments: self.flight, by_window });
                (self.acknowledged_at, self.is_open) = (None, false);
            }
            None => {}
        }
        if data.was_idle {
            (self.largest_before, self.all_before) = (self.largest, self.all);
            self.begun_count += 1;
            (self.flight, self.begun, self.is_open) = (0, data.start, true);
            self.room_until = data.window.map_or(0, |window| data.start + u64::from(window));
        }
        if data.at.saturating_sub(self.last_at) >= data.round_trip / 2 {
            self.burst = 0;
        }
        self.burst = self.burst.saturating_add(data.segments);
        self.largest = self.largest.max(self.burst);
        self.all = self.all.saturating_add(data.segments);
        self.flight_at = if self.is_open { data.at } else { self.flight_at };
        self.last_at = data.at;
        if self.is_open {
            self.flight = self.flight.saturating_add(data.segments);
            // Without room it was the receiver who ended it, if the flight ends here.
            self.is_full =
                data.is_full && data.end + (data.end - data.start) / u64::from(data.segments.max(1)) <= self.room_until;
        }
        ended
    }

    /// Whether the first data after the acknowledgement comes at once: then the window had held it back.
    fn is_ended_by_window(&self, heard_at: u64, data: &NewData) -> bool {
        let came_at_once = data.at.saturating_sub(heard_at) <= data.round_trip / AT_ONCE;
        // On a slow link the flight may reach as far as what follows it.
        let is_apart = data.at.saturating_sub(self.flight_at) >= data.to_sender / AT_ONCE;
        // Far from the sender a single segment may be what a loss has left of a flight.
        let is_flight = self.flight > 1 || data.to_sender <= data.round_trip / AT_ONCE;
        came_at_once && is_apart && is_flight && self.is_full
    }

    /// Whether this flight is as large as the initial window if it was the window that ended it.
    ///
    /// What was sent before this flight has let the window grow by as many segments, unless it was at least twice as large as
    /// each burst of it (Linux, `tcp_is_cwnd_limited`). Where this one is larger than such a grown window could be, none has.
    fn is_unchanged(&self) -> bool {
        u64::from(self.flight) >= 2 * u64::from(self.largest_before) + u64::from(self.all_before)
    }

    /// Data up to `ack` was acknowledged; with data of the other end, which may ask for more.
    #[inline]
    pub(crate) fn handle_ack(&mut self, at: u64, ack: u64, has_data: bool) {
        if has_data {
            // What comes now may be an answer.
            self.is_open &= ack <= self.begun;
            self.acknowledged_at = None;
        } else if self.is_open && ack > self.begun {
            self.acknowledged_at.get_or_insert(SeenAt::new(at));
        }
    }
}
