//! A connection's life in periods, each twice as long as the one before: how it begins is seen closely, and a connection of
//! days has few.

/// The first period: ns.
const FIRST: u64 = 100_000_000;
/// Periods before the last one, which begins after 27 years and has no end.
const BEFORE_LAST: u32 = 33;

/// What one end sent in a period.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Tally {
    /// Bytes of data, each once.
    pub(crate) bytes: u64,
    /// Packets with data that had been sent before.
    pub(crate) sent_again: u32,
    /// Round trips that were measured, and their sum, least and largest; ns.
    pub(crate) rtt_samples: u32,
    pub(crate) rtt_sum: u64,
    pub(crate) rtt_min: u64,
    pub(crate) rtt_max: u64,
    /// The most bytes on their way.
    pub(crate) most_in_flight: u64,
    /// The least receive window that it announced, in bytes.
    pub(crate) least_window: Option<u32>,
}

impl Tally {
    pub(crate) fn add_round_trip(&mut self, ns: u64) {
        self.rtt_min = if self.rtt_samples == 0 { ns } else { self.rtt_min.min(ns) };
        self.rtt_max = self.rtt_max.max(ns);
        self.rtt_samples += 1;
        self.rtt_sum = self.rtt_sum.saturating_add(ns);
    }

    pub(crate) fn add_window(&mut self, window: u32) {
        self.least_window = Some(self.least_window.map_or(window, |least| least.min(window)));
    }

    /// Whether there is anything to tell.
    fn is_empty(&self) -> bool {
        *self == Tally { least_window: self.least_window, ..Tally::default() }
    }
}

/// What one end sent in a period that is over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct EndedPeriod {
    pub(crate) is_up: bool,
    /// From 1.
    pub(crate) number: u32,
    /// Since the connection began: ns.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) tally: Tally,
}

/// The period of a connection, and those that are over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Periods {
    /// How many were before.
    before: u32,
    /// For the caller to take.
    pub(crate) ended: Vec<EndedPeriod>,
}

impl Periods {
    /// When a period ends, since the connection began: ns.
    fn end(before: u32) -> u64 {
        FIRST * ((2_u64 << before) - 1)
    }

    /// Whether the period is over at a time since the connection began, in ns.
    #[inline]
    pub(crate) fn is_over(&self, since: u64) -> bool {
        self.before < BEFORE_LAST && since >= Periods::end(self.before)
    }

    /// The period is over, at this time since the connection began; what the client and the server sent in it.
    pub(crate) fn go_on(&mut self, since: u64, tallies: [(bool, &mut Option<Box<Tally>>); 2]) {
        let begin = if self.before == 0 { 0 } else { Periods::end(self.before - 1) };
        let end = Periods::end(self.before).min(since);
        for (is_up, tally) in tallies {
            let tally = tally.as_deref_mut().map(std::mem::take).filter(|tally| !tally.is_empty());
            let ended = tally.map(|tally| EndedPeriod { is_up, number: self.before + 1, begin, end, tally });
            self.ended.extend(ended);
        }
        while self.is_over(since) {
            self.before += 1;
        }
    }
}
