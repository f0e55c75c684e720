//! One direction of a link: random loss, a queue, serialisation, propagation with jitter.

mod codel;
mod fq_codel;
mod managed;
mod pace;

use crate::loss::LossProcess;
use crate::{Device, Direction, Fate, Packet, QueueLimit};
use codel::QueuedPacket;
use loadstone_units::{RandomStream, Seed, Time};
use managed::ManagedQueue;
use pace::Pace;
use std::collections::VecDeque;

/// The packets that memory is reserved for beforehand: an initial window and a bit more.
const EXPECTED: usize = 32;
/// The most bytes of which it is said how long they take: their time at any rate fits into 64 bits.
const MOST_BEHIND: u64 = 2_000_000_000;

/// One direction of a link.
///
/// In this order a packet meets: random loss (in order of arrival; a lost packet takes no queue and
/// no time), the queue (which counts what waits, not what is being sent), serialisation at the
/// link's rate or at the opportunities of a trace, propagation, which may vary from packet to
/// packet, but lets none pass another.
///
/// A drop-tail queue knows what becomes of a packet when it comes, so no queue is acted out: each packet's departure is
/// computed at once. A queue under an [`Aqm`](crate::Aqm) decides when the serialiser is free. It is served then, and
/// tells afterwards what has become of packets ([`Link::poll_lost`], [`Link::poll_served`]).
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
    /// What waits instead, if the queue is managed.
    managed: Option<Box<ManagedQueue<P>>>,
    /// All packets that are being sent or are on their way, and when they come out.
    inside: VecDeque<(Time, P)>,
    /// When the first of those comes out or a managed queue is served; [`Time::NEVER`] if there is none.
    next_due: Time,
    /// Lost and dropped packets not yet polled.
    lost: VecDeque<NotAccepted<P>>,
    counts: LinkCounts,
}

/// A packet that a link lost or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAccepted<P> {
    /// The packet.
    pub packet: P,
    /// Its number among those that came to the link, from 0.
    pub number: u64,
    /// When it would have come out otherwise: behind what waited before it, if none of that is dropped.
    pub out: Time,
    /// [`Fate::Lost`] or [`Fate::Dropped`].
    pub fate: Fate,
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
    /// Packets that the queue dropped: it was full, or its AQM did.
    pub dropped: u64,
}

impl LinkCounts {
    /// What has passed since there were only these.
    #[must_use]
    pub fn since(self, before: LinkCounts) -> LinkCounts {
        LinkCounts {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            lost: self.lost - before.lost,
            dropped: self.dropped - before.dropped,
        }
    }
}

impl<P: Packet> Link<P> {
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
            managed: direction.aqm.map(|aqm| Box::new(ManagedQueue::new(aqm, direction.queue))),
            inside: VecDeque::with_capacity(EXPECTED),
            next_due: Time::NEVER,
            lost: VecDeque::new(),
            counts: LinkCounts::default(),
        }
    }
}

impl<P> Link<P> {
    /// What has been met so far.
    pub fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// When the next packet comes out or a managed queue is served; [`Time::NEVER`] if nothing is inside.
    #[inline]
    pub(crate) fn next_due(&self) -> Time {
        self.next_due
    }

    /// Whether the queue is managed: what becomes of a packet is known later than when it comes.
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        self.managed.is_some()
    }

    /// When the packet that was sent last comes out, if it has not yet.
    pub fn last_out(&self) -> Option<Time> {
        self.inside.back().map(|(out, _)| *out)
    }

    /// Whether [`Link::poll_lost`] returns a packet: the cheaper test.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The next packet that was lost or dropped, in order. They are kept until they are polled.
    pub fn poll_lost(&mut self) -> Option<NotAccepted<P>> {
        self.lost.pop_front()
    }

    /// Of a managed queue the number of the next packet that has gone to the serialiser, and when it comes out. They are
    /// kept until they are polled.
    pub fn poll_served(&mut self) -> Option<(u64, Time)> {
        self.managed.as_mut()?.served.pop_front()
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
        self.queue.holds(self.waiting.len() + 1, self.waiting_bytes + u64::from(len))
    }
}

impl<P: Packet> Link<P> {
    /// Keeps a packet that is not accepted, for [`Link::poll_lost`].
    #[cold]
    fn lose(&mut self, now: Time, fate: Fate, packet: P) {
        let number = self.counts.packets - 1;
        let before = self.managed.as_ref().map_or(0, |queue| queue.bytes_before(&packet));
        self.lose_behind(before, now, fate, QueuedPacket { packet, entered: now, number });
    }

    /// The same of a packet behind which so many bytes would have been sent first.
    fn lose_behind(
        &mut self,
        before: u64,
        now: Time,
        fate: Fate,
        QueuedPacket { packet, number, .. }: QueuedPacket<P>,
    ) {
        let bytes = (u64::from(packet.len()) + before).min(MOST_BEHIND) as u32;
        let left = self.pace.would_leave(now, self.busy_until, bytes);
        self.lost.push_back(NotAccepted { packet, number, out: left.plus_nanos(self.propagation), fate });
    }

    /// The serialiser takes a packet; gives when it comes out.
    #[inline(always)]
    fn send(&mut self, now: Time, start: Time, len: u32, packet: P) -> Time {
        self.busy_until = self.pace.take(now, start, len);
        let out = match &mut self.jitter {
            None => self.busy_until.plus_nanos(self.propagation),
            Some(jitter) => {
                let varied = self.busy_until.plus_nanos(jitter.around(self.propagation));
                self.inside.back().map_or(varied, |(before, _)| varied.max(*before))
            }
        };
        self.next_due = self.next_due.min(out);
        self.inside.push_back((out, packet));
        out
    }

    /// Takes all packets that have not come out: those on their way in their order, then those that wait.
    pub fn drain(&mut self) -> impl Iterator<Item = P> {
        self.next_due = Time::NEVER;
        let waiting = self.managed.as_mut().map(|queue| queue.drain());
        self.inside.drain(..).map(|(_, packet)| packet).chain(waiting.into_iter().flatten())
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
        if self.managed.is_some() {
            return self.enter_managed(now, packet);
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
        self.send(now, start, len, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<P> {
        if self.next_due > now {
            return None;
        }
        if self.managed.is_some() {
            return self.poll_managed(now);
        }
        let (_, packet) = self.inside.pop_front()?;
        self.next_due = self.inside.front().map_or(Time::NEVER, |(out, _)| *out);
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.next_due < Time::NEVER).then_some(self.next_due)
    }
}

#[cfg(test)]
mod tests;
