//! A queue under active management, between a link's entrance and its serialiser: what it is, and how a link serves it.

use super::codel::{CodelQueue, QueuedPacket};
use super::fq_codel::FqCodel;
use crate::{Aqm, Fate, Link, Packet, QueueLimit};
use loadstone_units::Time;
use std::collections::VecDeque;

/// What waits for the serialiser, and what has been decided of it. Which packet goes next is decided when the serialiser
/// is free, so the queue has to be served then.
#[derive(Debug)]
pub(super) struct ManagedQueue<P> {
    discipline: Discipline<P>,
    limit: QueueLimit,
    /// When the next packet goes to the serialiser; [`Time::NEVER`] if none waits.
    pub(super) service: Time,
    /// What has been dropped and not told yet.
    dropped: VecDeque<QueuedPacket<P>>,
    /// The numbers of the packets that have gone to the serialiser, with when each comes out of the link.
    pub(super) served: VecDeque<(u64, Time)>,
}

#[derive(Debug)]
enum Discipline<P> {
    Codel(CodelQueue<P>),
    FqCodel(FqCodel<P>),
}

impl<P: Packet> ManagedQueue<P> {
    pub(super) fn new(aqm: Aqm, limit: QueueLimit) -> ManagedQueue<P> {
        let discipline = match aqm {
            Aqm::Codel => Discipline::Codel(CodelQueue::new()),
            Aqm::FqCodel => Discipline::FqCodel(FqCodel::new()),
        };
        let (dropped, served) = (VecDeque::new(), VecDeque::new());
        ManagedQueue { discipline, limit, service: Time::NEVER, dropped, served }
    }

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        match &self.discipline {
            Discipline::Codel(queue) => queue.len() == 0,
            Discipline::FqCodel(queues) => queues.len() == 0,
        }
    }

    /// Whether a packet is to go to the serialiser by `now`.
    fn is_due(&self, now: Time) -> bool {
        self.service <= now && self.service < Time::NEVER
    }

    /// Whether a packet finds no room. Queues of flows take every packet and make room then.
    fn refuses(&self, packet: &P) -> bool {
        match &self.discipline {
            Discipline::Codel(queue) => !self.limit.holds(queue.len() + 1, queue.bytes() + u64::from(packet.len())),
            Discipline::FqCodel(_) => false,
        }
    }

    /// A packet comes that is not refused.
    fn enqueue(&mut self, waiting: QueuedPacket<P>) {
        match &mut self.discipline {
            Discipline::Codel(queue) => queue.push(waiting),
            Discipline::FqCodel(queues) => queues.enqueue(self.limit, waiting, &mut self.dropped),
        }
    }

    /// The packet that goes to the serialiser now.
    fn dequeue(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        match &mut self.discipline {
            Discipline::Codel(queue) => queue.dequeue(now, 0, &mut self.dropped),
            Discipline::FqCodel(queues) => queues.dequeue(now, &mut self.dropped),
        }
    }

    /// The bytes that would be sent before a packet that comes now, if none of them is dropped.
    pub(super) fn bytes_before(&self, packet: &P) -> u64 {
        match &self.discipline {
            Discipline::Codel(queue) => queue.bytes(),
            Discipline::FqCodel(queues) => queues.bytes_before(packet),
        }
    }

    /// Takes all packets away.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = P> {
        self.service = Time::NEVER;
        let next = || match &mut self.discipline {
            Discipline::Codel(queue) => queue.pop(),
            Discipline::FqCodel(queues) => queues.pop(),
        };
        std::iter::from_fn(next).map(|waiting| waiting.packet)
    }
}

impl<P: Packet> Link<P> {
    /// A packet comes to a managed queue, which may pass it to an idle serialiser at once.
    #[inline(never)]
    pub(super) fn enter_managed(&mut self, now: Time, packet: P) {
        self.serve(now);
        let Some(queue) = &mut self.managed else { return };
        if queue.refuses(&packet) {
            self.counts.dropped += 1;
            return self.lose(now, Fate::Dropped, packet);
        }
        if queue.is_empty() {
            queue.service = self.pace.start(now, self.busy_until);
        }
        queue.enqueue(QueuedPacket { packet, entered: now, number: self.counts.packets - 1 });
        self.note_dropped(now);
        self.serve(now);
    }

    /// Serves a managed queue as often as it is due by `now`, each time at its own time.
    fn serve(&mut self, now: Time) {
        while let Some(queue) = self.managed.as_mut().filter(|queue| queue.is_due(now)) {
            let at = queue.service;
            let next = queue.dequeue(at);
            self.note_dropped(at);
            let served =
                next.map(|QueuedPacket { packet, number, .. }| (number, self.send(at, at, packet.len(), packet)));
            let Some(queue) = &mut self.managed else { return };
            queue.served.extend(served);
            queue.service = if queue.is_empty() { Time::NEVER } else { self.pace.start(at, self.busy_until) };
        }
        self.next_due = self.following_due();
    }

    /// Tells of what a managed queue has dropped; each would have been the next.
    fn note_dropped(&mut self, now: Time) {
        while let Some(dropped) = self.managed.as_mut().and_then(|queue| queue.dropped.pop_front()) {
            self.counts.dropped += 1;
            self.lose_behind(0, now, Fate::Dropped, dropped);
        }
    }

    /// Serves a managed queue; the next packet that has come out.
    #[inline(never)]
    pub(super) fn poll_managed(&mut self, now: Time) -> Option<P> {
        self.serve(now);
        self.inside.front().filter(|(out, _)| *out <= now)?;
        let (_, packet) = self.inside.pop_front()?;
        self.next_due = self.following_due();
        Some(packet)
    }

    /// When the next packet comes out or a managed queue is served.
    fn following_due(&self) -> Time {
        let service = self.managed.as_ref().map_or(Time::NEVER, |queue| queue.service);
        self.inside.front().map_or(service, |(out, _)| service.min(*out))
    }
}

#[cfg(test)]
mod tests;
