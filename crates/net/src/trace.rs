//! A link that follows a recording: the moments at which it could deliver a packet.

use loadstone_units::{Rate, Time};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Bytes of IP packets that one opportunity carries.
pub const OPPORTUNITY: u32 = 1500;
const NANOS_PER_MS: u64 = 1_000_000;
/// Ten hours at 100 Mbit/s.
const MAX_OPPORTUNITIES: usize = 300_000_000;

/// The delivery opportunities of a link, in the format of Mahimahi's `mm-link`: one line for each,
/// with its time in whole milliseconds since the start, not descending. Each carries
/// [`OPPORTUNITY`] bytes, of one packet or of several, or is wasted. After the last one the recording
/// begins again, its time zero at the time of the last line.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    /// In ms, not descending, the last above zero.
    times: Vec<u32>,
}

/// Why a text is no trace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
    /// A line that is no number.
    #[error("line {line}: '{found}' is no time: a trace has one time in whole milliseconds a line")]
    Line {
        /// Counts from 1.
        line: usize,
        /// What stands there, its beginning.
        found: String,
    },
    /// A line of several numbers: a rate for each second, as other programs record it.
    #[error(
        "line {line}: '{found}' has several columns: a trace has one time in whole milliseconds a line, for each packet \
         of {OPPORTUNITY} bytes; docs/networks.md#traces converts seconds with rates"
    )]
    Columns {
        /// Counts from 1.
        line: usize,
        /// What stands there, its beginning.
        found: String,
    },
    /// A time before the one above it.
    #[error("line {line}: {found} comes after a later time: sort the lines")]
    Descending {
        /// Counts from 1.
        line: usize,
        /// In ms.
        found: u32,
    },
    /// No time at all, or only zeros.
    #[error("a trace needs a time above 0: it is repeated after the last one")]
    NoDuration,
    /// More lines than the program is made for.
    #[error("more than {MAX_OPPORTUNITIES} lines: cut the trace")]
    TooLong,
}

impl TraceError {
    fn of_line(line: usize, text: &str) -> TraceError {
        let found = text.chars().take(20).collect();
        let mut columns = text.split([' ', '\t', ',', ';']).filter(|column| !column.is_empty()).peekable();
        columns.next();
        let is_table = columns.peek().is_some() && columns.all(|column| column.parse::<f64>().is_ok());
        if is_table { TraceError::Columns { line, found } } else { TraceError::Line { line, found } }
    }
}

impl Trace {
    /// When opportunity number `at` is, counted from 0 over all repetitions; [`Time::NEVER`] beyond
    /// the end of time.
    pub fn time(&self, at: u64) -> Time {
        let count = self.times.len() as u64;
        let (round, place) = (at / count, (at % count) as usize);
        let ms = round.checked_mul(self.period()).and_then(|begun| begun.checked_add(u64::from(self.times[place])));
        ms.and_then(|ms| ms.checked_mul(NANOS_PER_MS)).map_or(Time::NEVER, Time::from_nanos)
    }

    /// The number of the first opportunity at `now` or later.
    pub fn first_from(&self, now: Time) -> u64 {
        let ms = now.as_nanos().div_ceil(NANOS_PER_MS);
        // The opportunity at the end of a round stands before those at the beginning of the next.
        let round = ms.saturating_sub(1) / self.period();
        let into = ms - round * self.period();
        let place = self.times.partition_point(|time| u64::from(*time) < into);
        round * self.times.len() as u64 + place as u64
    }

    /// The rate over its whole length.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times.len() as u64 * u64::from(OPPORTUNITY) * 8;
        Rate::from_bits_per_second((bits * 1000 / self.period()).clamp(1, Rate::MAX.bits_per_second()))
    }

    /// How long it takes until it begins again.
    pub fn length(&self) -> Duration {
        Duration::from_millis(self.period())
    }

    /// The length of a repetition in ms.
    fn period(&self) -> u64 {
        self.times.last().copied().map_or(1, u64::from)
    }
}

impl FromStr for Trace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Trace, TraceError> {
        let mut times = Vec::new();
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        for (line, found) in lines.filter(|(_, found)| !found.is_empty()) {
            let time: u32 = found.parse().map_err(|_| TraceError::of_line(line, found))?;
            if times.last().is_some_and(|last| *last > time) {
                return Err(TraceError::Descending { line, found: time });
            }
            if times.len() == MAX_OPPORTUNITIES {
                return Err(TraceError::TooLong);
            }
            times.push(time);
        }
        if times.last().is_none_or(|last| *last == 0) {
            return Err(TraceError::NoDuration);
        }
        Ok(Trace { times })
    }
}

impl TryFrom<String> for Trace {
    type Error = TraceError;

    fn try_from(text: String) -> Result<Trace, TraceError> {
        text.parse()
    }
}

impl From<Trace> for String {
    fn from(trace: Trace) -> String {
        trace.to_string()
    }
}

impl fmt::Display for Trace {
    /// In the format that is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.times.iter().try_for_each(|time| writeln!(f, "{time}"))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} opportunities in {} ms)", self.times.len(), self.period())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * NANOS_PER_MS)
    }

    #[test]
    fn a_trace_repeats_after_its_last_line() {
        let trace: Trace = "0\n5\n5\n20\n".parse().unwrap();
        let times: Vec<Time> = (0..7).map(|at| trace.time(at)).collect();
        assert_eq!(times, [0, 5, 5, 20, 20, 25, 25].map(ms));
        let firsts = [0, 1, 5, 6, 20, 21, 40].map(|now| trace.first_from(ms(now)));
        assert_eq!(firsts, [0, 1, 1, 3, 3, 5, 7]);
        assert_eq!(trace.time(u64::MAX), Time::NEVER);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("", "above 0"),
            ("0\n0\n", "above 0"),
            ("1\nx\n", "line 2: 'x'"),
            ("1\n-2\n", "line 2: '-2'"),
            ("1.5\n", "whole milliseconds"),
            ("0 65.0\n1 70\n", "line 1: '0 65.0' has several columns"),
            ("0,65.0\n", "has several columns"),
            ("no trace\n", "line 1: 'no trace' is no time"),
            ("7\n\n6\n", "line 3: 6 comes after"),
            ("99999999999\n", "line 1"),
        ] {
            let message = text.parse::<Trace>().unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains('\n'), "{text:?}: {message}");
        }
    }

    proptest! {
        #[test]
        fn the_first_opportunity_from_a_time_is_the_first(
            mut times in prop::collection::vec(0_u32..40, 1..8),
            now in 0_u64..400_000_000,
        ) {
            times.sort_unstable();
            *times.last_mut().unwrap() += 1;
            let trace = Trace { times };
            let first = trace.first_from(Time::from_nanos(now));
            prop_assert!(trace.time(first) >= Time::from_nanos(now));
            prop_assert!(first == 0 || trace.time(first - 1) < Time::from_nanos(now));
            prop_assert_eq!(trace.to_string().parse::<Trace>().unwrap(), trace);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9 \\n.x-]{0,60}") {
            if let Ok(trace) = text.parse::<Trace>() {
                prop_assert!(trace.time(trace.first_from(Time::from_nanos(u64::MAX / 2))) > Time::ZERO);
            }
        }
    }
}
