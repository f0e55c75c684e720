//! One direction of a link: random loss, a drop-tail queue, serialisation, propagation with jitter.

mod pace;

use crate::loss::LossProcess;
use crate::{Device, Direction, Fate, Packet, QueueLimit};
use loadstone_units::{RandomStream, Seed, Time};
use pace::Pace;
use std::collections::VecDeque;

/// The packets that memory is reserved for beforehand: an initial window and a bit more.
const EXPECTED: usize = 32;

/// One direction of a link.
///
/// In this order a packet meets: random loss (in order of arrival; a lost packet takes no queue and
/// no time), the queue (which counts what waits, not what is being sent), serialisation at the
/// link's rate or at the opportunities of a trace, propagation, which may vary from packet to
/// packet, but lets none pass another.
#[derive(Debug)]
pub struct Link<P> {
    pace: Pace,
    /// In nanoseconds.
    propagation: u64,
    jitter: Option<Jitter>,
    queue: QueueLimit,
    loss: LossProcess,
    /// When the last accepted packet has left the serialiser.
    busy_until: Time,
    /// The packets whose serialisation has not begun: when it begins, and their bytes.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    /// All accepted packets that have not come out, and when they do.
    inside: VecDeque<(Time, P)>,
    /// When the first of those comes out; [`Time::NEVER`] if there is none.
    next_out: Time,
    /// Lost and dropped packets not yet polled: when each would have come out, and which of the two.
    lost: VecDeque<(Time, Fate, P)>,
    counts: LinkCounts,
}

/// Delay that varies from packet to packet.
#[derive(Debug)]
struct Jitter {
    /// By how much at most, either way, in nanoseconds.
    within: u64,
    draws: RandomStream,
}

impl Jitter {
    /// A delay around `delay`, evenly distributed like netem's, and not negative.
    fn around(&mut self, delay: u64) -> u64 {
        let offset = (self.draws.next_f64() * (2 * self.within) as f64) as u64;
        (delay + offset).saturating_sub(self.within)
    }
}

/// What one direction of a link has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounts {
    /// Packets that entered, lost and dropped ones included.
    pub packets: u64,
    /// Bytes that entered, lost and dropped ones included.
    pub bytes: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped at a full queue.
    pub dropped: u64,
}

impl<P> Link<P> {
    /// An idle link, whose random numbers are the streams `NAME.loss` and `NAME.jitter`.
    pub fn new(direction: &Direction, seed: Seed, name: &str) -> Link<P> {
        let within = direction.jitter.as_nanos() as u64;
        Link {
            pace: Pace::new(direction.rate, direction.trace.clone(), direction.trace_start),
            propagation: direction.propagation.as_nanos() as u64,
            jitter: (within > 0).then(|| Jitter { within, draws: seed.stream(&format!("{name}.jitter")) }),
            queue: direction.queue,
            loss: LossProcess::new(direction.loss, seed.stream(&format!("{name}.loss"))),
            busy_until: Time::ZERO,
            waiting: VecDeque::with_capacity(EXPECTED),
            waiting_bytes: 0,
            inside: VecDeque::with_capacity(EXPECTED),
            next_out: Time::NEVER,
            lost: VecDeque::new(),
            counts: LinkCounts::default(),
        }
    }

    /// What has been met so far.
    pub fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// When the next packet comes out; [`Time::NEVER`] if none is inside.
    #[inline]
    pub(crate) fn next_out(&self) -> Time {
        self.next_out
    }

    /// When the packet that was accepted last comes out, if it has not yet.
    pub fn last_out(&self) -> Option<Time> {
        self.inside.back().map(|(out, _)| *out)
    }

    /// Whether [`Link::poll_lost`] returns a packet: the cheaper test.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The next packet that was lost or dropped, in order: when it would have come out had it been accepted, and
    /// which of the two. They are kept until they are polled.
    pub fn poll_lost(&mut self) -> Option<(Time, Fate, P)> {
        self.lost.pop_front()
    }

    /// Forgets the packets whose serialisation has begun by `now`.
    fn start_serialising(&mut self, now: Time) {
        while let Some((_, bytes)) = self.waiting.front().copied().filter(|(start, _)| *start <= now) {
            self.waiting_bytes -= u64::from(bytes);
            self.waiting.pop_front();
        }
    }

    /// Whether `len` more bytes may wait.
    fn has_room(&self, len: u32) -> bool {
        match self.queue {
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.waiting_bytes + u64::from(len) <= limit,
        }
    }
}

impl<P: Packet> Link<P> {
    /// Keeps a packet that is not accepted, for [`Link::poll_lost`].
    #[cold]
    fn lose(&mut self, now: Time, fate: Fate, packet: P) {
        let left = self.pace.would_leave(now, self.busy_until, packet.len());
        self.lost.push_back((left.plus_nanos(self.propagation), fate, packet));
    }
}

impl<P: Packet> Device<P> for Link<P> {
    fn handle_packet(&mut self, now: Time, packet: P) {
        let len = packet.len();
        self.counts.packets += 1;
        self.counts.bytes += u64::from(len);
        if self.loss.takes() {
            self.counts.lost += 1;
            return self.lose(now, Fate::Lost, packet);
        }
        let start = self.pace.start(now, self.busy_until);
        if start > now {
            self.start_serialising(now);
            if !self.has_room(len) {
                self.counts.dropped += 1;
                return self.lose(now, Fate::Dropped, packet);
            }
            self.waiting.push_back((start, len));
            self.waiting_bytes += u64::from(len);
        }
        self.busy_until = self.pace.take(now, start, len);
        let out = match &mut self.jitter {
            None => self.busy_until.plus_nanos(self.propagation),
            Some(jitter) => {
                let varied = self.busy_until.plus_nanos(jitter.around(self.propagation));
                self.inside.back().map_or(varied, |(before, _)| varied.max(*before))
            }
        };
        self.next_out = self.next_out.min(out);
        self.inside.push_back((out, packet));
    }

    fn poll_packet(&mut self, now: Time) -> Option<P> {
        if self.next_out > now {
            return None;
        }
        let (_, packet) = self.inside.pop_front()?;
        self.next_out = self.inside.front().map_or(Time::NEVER, |(out, _)| *out);
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.next_out < Time::NEVER).then_some(self.next_out)
    }
}

#[cfg(test)]
mod tests;
