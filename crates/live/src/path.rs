//! What the client's ends of connections tell of the path to their servers: the least round trip, the rate at which
//! bytes came, how much was missing or sent again. Nothing is sent for it.

use crate::Error;
use crate::socket::{TcpCounts, counts};
use loadstone_net::{ArrivalGap, Busiest, ByteArrival};
use loadstone_units::Time;
use std::fs;
use std::os::fd::AsFd;
use std::time::Duration;

/// Into how many pieces what came at once behind a hole is cut.
const PIECES: u64 = 16;

/// The first Linux whose TCP_INFO counts segments that came out of order.
const FIRST_KERNEL: (u32, u32) = (5, 4);

/// Whether a client's connections keep what they tell of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathNotes {
    /// They do not.
    #[default]
    None,
    /// They do: [`crate::SocketRecord::path`] has it.
    Kept,
}

/// What a connection told of the path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathRecord {
    /// What TCP has counted.
    pub counts: TcpCounts,
    /// How often bytes were missing until they were sent again, at least: so many segments were lost, or overtaken.
    pub holes: u64,
    arrivals: Vec<ByteArrival>,
    gaps: Vec<ArrivalGap>,
    /// Something was missing when bytes were last read.
    is_in_hole: bool,
}

impl PathRecord {
    /// Bytes have been read from a socket.
    pub(crate) fn note_arrival(&mut self, at: Time, bytes: u64, socket: &impl AsFd) {
        let before = self.counts;
        self.note_counts(socket);
        self.add(at, bytes, before);
    }

    /// Takes the counts of a socket.
    pub(crate) fn note_counts(&mut self, socket: &impl AsFd) {
        if let Ok(counts) = counts(socket) {
            self.counts = counts;
        }
    }

    /// Bytes have been read, which come in order; TCP had counted `before` when there were some the last time.
    fn add(&mut self, at: Time, bytes: u64, before: TcpCounts) {
        let was_missing = self.counts.out_of_order > before.out_of_order;
        // What one hole holds up may be read in several turns.
        self.holes += u64::from(was_missing && !self.is_in_hole);
        self.is_in_hole = was_missing;
        // Behind holes bytes are read later than they come: there segments are counted.
        let segments = u64::from(self.counts.data_segments_in - before.data_segments_in);
        let is_held_up = self.counts.out_of_order > 0;
        let bytes = if is_held_up { segments * self.counts.mean_segment() } else { bytes };
        match self.arrivals.last().filter(|_| was_missing) {
            // They have come since the last ones. As one arrival they would look faster than the link.
            Some(ByteArrival { at: from, .. }) => {
                let (from, step) = (*from, at.nanos_since(*from) / PIECES);
                self.gaps.push(ArrivalGap { from, to: at });
                for piece in 1..=PIECES {
                    let bytes = bytes * piece / PIECES - bytes * (piece - 1) / PIECES;
                    self.arrivals.push(ByteArrival { at: from + Duration::from_nanos(step * piece), bytes });
                }
            }
            None => self.arrivals.push(ByteArrival { at, bytes }),
        }
    }
}

/// The busiest moment of these connections together, as [`loadstone_net::busiest`] has it.
pub fn busiest_of_paths<'p>(
    paths: impl IntoIterator<Item = &'p PathRecord>,
    span: Duration,
    bytes: u64,
) -> Option<Busiest> {
    let (mut arrivals, mut gaps) = (Vec::new(), Vec::new());
    for path in paths {
        arrivals.extend_from_slice(&path.arrivals);
        gaps.extend_from_slice(&path.gaps);
    }
    loadstone_net::busiest(arrivals, gaps, span, bytes)
}

/// Refuses a kernel that does not count what this is made of.
///
/// # Errors
/// If it is older than Linux 5.4.
pub(crate) fn check_kernel() -> Result<(), Error> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if tells_enough(&release) { Ok(()) } else { Err(Error::OldKernel(release.trim().to_owned())) }
}

/// A release that cannot be read is taken for a new one.
fn tells_enough(release: &str) -> bool {
    let mut numbers = release.split('.').map(|part| part.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    version.is_none_or(|version| version >= FIRST_KERNEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn path(arrivals: impl IntoIterator<Item = (u64, u64)>) -> PathRecord {
        let mut path = PathRecord::default();
        arrivals.into_iter().for_each(|(ms, bytes)| path.add(at(ms), bytes, TcpCounts::default()));
        path
    }

    /// Bytes that are read when so many segments of 1,000 bytes more have come, so many of them out of order.
    fn read(path: &mut PathRecord, ms: u64, bytes: u64, (segments, out_of_order): (u32, u32)) {
        let before = path.counts;
        (path.counts.segment_bytes, path.counts.bytes_in) =
            (1_448, 1_000 * u64::from(path.counts.data_segments_in + segments));
        path.counts.data_segments_in += segments;
        path.counts.out_of_order += out_of_order;
        path.add(at(ms), bytes, before);
    }

    fn found(paths: &[PathRecord], span_ms: u64) -> Option<(u64, u64)> {
        let busiest = busiest_of_paths(paths, Duration::from_millis(span_ms), 3_000)?;
        Some((busiest.rate.bits_per_second(), busiest.span.as_millis() as u64))
    }

    #[test]
    fn the_busiest_moment_is_that_of_all_connections_together() {
        // 1,000 bytes each 10 ms on one, and for 100 ms as much again on another, in between: 0.8 and 1.6 Mbit/s.
        let one = path((0..60).map(|k| (10 * k, 1_000)));
        let other = path((20..31).map(|k| (10 * k + 5, 1_000)));
        assert_eq!(found(std::slice::from_ref(&one), 100), Some((800_000, 100)));
        assert_eq!(found(&[one, other], 100), Some((1_600_000, 100)));
    }

    #[test]
    fn what_comes_with_the_first_moment_does_not_count_nor_what_comes_too_late() {
        // A heap that has waited, then 0.8 Mbit/s. A stretch has 3,000 bytes at least.
        assert_eq!(found(&[path([(0, 90_000), (100, 10_000), (200, 10_000)])], 100), Some((800_000, 100)));
        assert_eq!(found(&[path([(0, 1), (100, 10_000), (900, 90_000)])], 100), Some((900_000, 800)));
        assert_eq!(found(&[path([(0, 1), (100, 2_900), (200, 100), (900, 5)])], 100), Some((120_000, 200)));
    }

    #[test]
    fn a_page_that_is_too_small_has_a_moment_of_an_eighth() {
        // 3,000 bytes and 100 ms would be enough for a whole one.
        let small = path([(0, 100), (10, 700), (20, 700), (500, 100)]);
        assert_eq!(found(&[small], 100), Some((560_000, 20)));
    }

    #[test]
    fn a_load_that_is_shorter_is_one_moment_and_nothing_has_none() {
        assert_eq!(found(&[path([(0, 1_000), (10, 1_000)])], 100), Some((800_000, 10)));
        assert_eq!(found(&[path([(5, 1_000)])], 100), None);
        assert_eq!(found(&[], 100), None);
    }

    #[test]
    fn what_a_hole_held_up_came_while_it_was_held_up() {
        let mut path = PathRecord::default();
        read(&mut path, 0, 1_000, (1, 0));
        read(&mut path, 10, 1_000, (1, 0));
        // In a second the link brings 100,000 bytes: 20,000 in 200 ms, not at once. Half of them are behind a second hole, and come to light by one segment.
        read(&mut path, 210, 10_000, (20, 19));
        read(&mut path, 220, 11_000, (1, 0));
        assert_eq!(path.holes, 1, "the second hole has not been seen by itself");
        // Nothing is as long without a hole, so all of it counts, but for what came first.
        assert_eq!(found(&[path.clone()], 100), Some((800_000, 220)));
        // In 1.6 s another connection brings a byte now and then, in the end 4,000 bytes in 100 ms: 0.32 Mbit/s.
        let other = [(300, 1), (1_500, 1), (1_550, 2_000), (1_600, 2_000)];
        let other = other.map(|(ms, bytes)| ByteArrival { at: at(ms), bytes });
        let other = PathRecord { arrivals: other.to_vec(), ..PathRecord::default() };
        assert_eq!(found(&[path, other], 100), Some((320_000, 100)), "what was missing counts for nothing");
    }

    #[test]
    fn a_hole_that_is_read_in_two_turns_is_one() {
        let mut path = PathRecord::default();
        read(&mut path, 0, 1_000, (1, 0));
        read(&mut path, 10, 1_000, (5, 4));
        read(&mut path, 11, 5_000, (5, 4));
        read(&mut path, 12, 1_000, (1, 0));
        read(&mut path, 90, 1_000, (5, 4));
        assert_eq!(path.holes, 2);
    }

    #[test]
    fn kernels_before_5_4_are_refused() {
        let release = ["4.19.0", "5.3.18-amd64", "5.4.0", "6.18.44", "10.0", "unknown"];
        assert_eq!(release.map(tells_enough), [false, false, true, true, true, true]);
    }
}
