//! The sender's initial window (RFC 6928), where it can be known: in the first flight that the window ended, and not the
//! application.

/// Part of a round trip within which an acknowledgement lets more data go.
const AT_ONCE: u64 = 4;

/// Follows the flights of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FirstFlight {
    /// Segments of the flight, until the first of them is acknowledged.
    flight: u64,
    /// Where it began; unwrapped.
    begun: u64,
    is_open: bool,
    /// The last one is as large as any: the application had more to send.
    is_full: bool,
    /// When the first of the flight was acknowledged, while it is not known if more comes.
    acknowledged_at: Option<u64>,
    /// The most segments of a flight before this one, and those of all flights before it.
    largest_before: u64,
    all_before: u64,
    known: Option<u64>,
}

/// A segment with new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewData {
    /// When, in ns since 1970.
    pub(crate) at: u64,
    /// Its first number, unwrapped.
    pub(crate) start: u64,
    /// Segments on the wire: more than one where the card cuts it later.
    pub(crate) segments: u64,
    /// Whether no segment was larger, and it has no part of one.
    pub(crate) is_full: bool,
    /// Nothing was on its way before it.
    pub(crate) was_idle: bool,
    /// The receive window had room for more.
    pub(crate) has_room: bool,
    /// A round trip in ns; 0 if none is known.
    pub(crate) round_trip: u64,
}

impl FirstFlight {
    /// In segments, if it is known.
    pub(crate) fn known(&self) -> Option<u64> {
        self.known
    }

    /// New data was sent.
    #[inline]
    pub(crate) fn handle_data(&mut self, data: NewData) {
        if self.known.is_some() {
            return;
        }
        if let Some(acknowledged_at) = self.acknowledged_at.take() {
            self.judge(acknowledged_at, &data);
        }
        if data.was_idle {
            self.largest_before = self.largest_before.max(self.flight);
            self.all_before += self.flight;
            (self.flight, self.begun, self.is_open) = (0, data.start, true);
        }
        if self.is_open {
            self.flight += data.segments;
            self.is_full = data.is_full;
            // It was the receiver who ended it, if the flight ends here.
            self.is_full &= data.has_room;
        }
    }

    /// The first data after the acknowledgement: if it comes at once, the window had held it back.
    ///
    /// Flights before this one have let the window grow by their segments, unless it was at least twice as large as
    /// each of them (Linux, `tcp_is_cwnd_limited`). Where this one is larger than such a grown window could be, none has.
    fn judge(&mut self, acknowledged_at: u64, data: &NewData) {
        let came_at_once = data.at.saturating_sub(acknowledged_at) <= data.round_trip / AT_ONCE;
        if came_at_once && self.is_full && self.flight >= 2 * self.largest_before + self.all_before {
            self.known = Some(self.flight);
        }
    }

    /// Data up to `ack` was acknowledged; with data of the other end, which may ask for more.
    #[inline]
    pub(crate) fn handle_ack(&mut self, at: u64, ack: u64, has_data: bool) {
        if self.is_open && ack > self.begun {
            self.is_open = false;
            self.acknowledged_at = Some(at).filter(|_| !has_data);
        } else if has_data {
            // What comes now may be an answer.
            self.acknowledged_at = None;
        }
    }
}
