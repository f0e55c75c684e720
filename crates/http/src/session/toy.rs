//! A transport of many streams, in memory: ordered within a stream and not between them, as QUIC is.

use super::pair::NOW;
use crate::{ClientSession, ServerSession, Session, TransportStream, Wire};
use loadstone_units::{RandomStream, Seed};
use std::collections::{BTreeMap, BTreeSet};

/// The most that is put on the wire at a time.
const PACKET: usize = 1_200;

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    ToServer,
    ToClient,
}

/// One direction of a stream.
#[derive(Default, Debug)]
struct Pipe {
    under_way: Wire,
    sent: u64,
    /// What was used at its end.
    used: u64,
    fin: Fin,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Fin {
    #[default]
    NotSent,
    UnderWay,
    Arrived,
}

impl Pipe {
    fn has_something(&self) -> bool {
        !self.under_way.is_empty() || self.fin == Fin::UnderWay
    }
}

/// The transport between a client and a server that hold, of which it knows the trait and nothing else.
#[derive(Debug)]
pub(super) struct Toy {
    /// How much of each direction of each stream may wait to be used.
    window: u64,
    pipes: BTreeMap<(TransportStream, Way), Pipe>,
    /// Streams without room for more.
    shut: BTreeSet<TransportStream>,
    /// Streams of which nothing arrives.
    late: BTreeSet<TransportStream>,
    chooser: RandomStream,
}

impl Toy {
    pub(super) fn new(seed: u64, window: u64) -> Toy {
        let chooser = Seed(seed).stream("toy.delivery");
        Toy { window, pipes: BTreeMap::new(), shut: BTreeSet::new(), late: BTreeSet::new(), chooser }
    }

    /// Leaves a stream no room, in either direction, until [`Toy::reopen`].
    pub(super) fn shut(&mut self, on: TransportStream) {
        self.shut.insert(on);
    }

    pub(super) fn reopen(&mut self, on: TransportStream) {
        self.shut.remove(&on);
    }

    /// Holds back what is sent on a stream, in either direction, until [`Toy::find`]: all others overtake it.
    pub(super) fn lose(&mut self, on: TransportStream) {
        self.late.insert(on);
    }

    pub(super) fn find(&mut self, on: TransportStream) {
        self.late.remove(&on);
    }

    /// How much an end may send on a stream. A server does not know of one before something of it has come.
    fn room(&self, way: Way, on: TransportStream) -> usize {
        if self.shut.contains(&on) || (way == Way::ToClient && !self.pipes.contains_key(&(on, way))) {
            return 0;
        }
        let pipe = self.pipes.get(&(on, way));
        pipe.map_or(self.window, |pipe| pipe.used + self.window - pipe.sent) as usize
    }

    /// Takes what an end has to send, as far as there is room; whether it was anything.
    pub(super) fn take(&mut self, way: Way, session: &mut dyn Session) -> bool {
        // Streams whose room is too little for what frames the content.
        let mut stuck = BTreeSet::new();
        let mut has_taken = false;
        loop {
            let room = |on| if stuck.contains(&on) { 0 } else { self.room(way, on) };
            let Some(on) = session.next_stream(&room) else { break };
            let room = room(on).min(PACKET);
            assert!(room > 0, "{on:?} has no room");
            let mut wire = Wire::default();
            session.poll_transmit(NOW, on, room, &mut wire);
            if wire.is_empty() {
                stuck.insert(on);
                continue;
            }
            has_taken = true;
            self.send(way, on, room, wire);
        }
        self.take_fins(way, session) || has_taken
    }

    fn send(&mut self, way: Way, on: TransportStream, room: usize, mut wire: Wire) {
        assert!(wire.len() <= room as u64, "more than there was room for");
        assert_eq!(on.0 % 4, 0, "a bidirectional stream that the client opens: RFC 9000, section 2.1");
        let pipe = self.pipes.entry((on, way)).or_default();
        assert_eq!(pipe.fin, Fin::NotSent, "{on:?} has been ended");
        pipe.sent += wire.len();
        wire.move_to(wire.len(), &mut pipe.under_way);
    }

    fn take_fins(&mut self, way: Way, session: &dyn Session) -> bool {
        let open = |((_, to), pipe): &((_, Way), &mut Pipe)| *to == way && pipe.fin == Fin::NotSent;
        let mut has_taken = false;
        for ((on, _), pipe) in self.pipes.iter_mut().map(|(key, pipe)| (*key, pipe)).filter(open) {
            if session.is_finished(on) {
                pipe.fin = Fin::UnderWay;
                has_taken = true;
            }
        }
        has_taken
    }

    /// Something of any stream arrives; `false` if nothing can.
    pub(super) fn deliver(&mut self, client: &mut dyn ClientSession, server: &mut dyn ServerSession) -> bool {
        let may = |((on, _), pipe): &(&(TransportStream, Way), &Pipe)| !self.late.contains(on) && pipe.has_something();
        let ready: Vec<_> = self.pipes.iter().filter(may).map(|(key, _)| *key).collect();
        if ready.is_empty() {
            return false;
        }
        let (on, way) = ready[self.draw(ready.len() as u64) as usize];
        // Now the server knows of it, and may answer there.
        self.pipes.entry((on, Way::ToClient)).or_default();
        match way {
            Way::ToServer => self.hand_over(way, on, server),
            Way::ToClient => self.hand_over(way, on, client),
        }
        true
    }

    /// A piece of any size, with the FIN if that is next and the chooser says so.
    fn hand_over(&mut self, way: Way, on: TransportStream, session: &mut dyn Session) {
        let (size, is_together) = (self.draw(u64::MAX), self.draw(2) == 0);
        let pipe = self.pipes.get_mut(&(on, way)).expect("something is under way there");
        let is_fin_alone = pipe.under_way.is_empty();
        if !is_fin_alone {
            let mut input = Vec::new();
            pipe.under_way.take(1 + size % pipe.under_way.len(), &mut input);
            session.handle_input(NOW, on, &input).unwrap();
        }
        if pipe.under_way.is_empty() && pipe.fin == Fin::UnderWay && (is_fin_alone || is_together) {
            pipe.fin = Fin::Arrived;
            session.handle_fin(NOW, on).unwrap();
        }
    }

    /// What an end has used of what came to it makes room for more; whether there was anything.
    pub(super) fn grant(&mut self, way: Way, session: &mut dyn Session) -> bool {
        let mut granted = 0;
        for ((on, _), pipe) in self.pipes.iter_mut().filter(|((_, to), _)| *to == way) {
            let used = session.poll_used(*on);
            pipe.used += used;
            granted += used;
            assert!(pipe.used + pipe.under_way.len() <= pipe.sent, "{on:?}: more was used than has come");
        }
        granted > 0
    }

    /// Bytes that were sent on a stream and have not been used.
    pub(super) fn unused(&self, way: Way, on: TransportStream) -> u64 {
        self.pipes.get(&(on, way)).map_or(0, |pipe| pipe.sent - pipe.used)
    }

    /// Streams that have been ended in both directions.
    pub(super) fn closed(&self) -> usize {
        let arrived = |way| move |on: &TransportStream| self.pipes.get(&(*on, way)).is_some_and(Toy::is_ended);
        let streams = self.pipes.keys().filter(|(_, way)| *way == Way::ToServer).map(|(on, _)| on);
        streams.filter(|on| arrived(Way::ToServer)(on) && arrived(Way::ToClient)(on)).count()
    }

    fn is_ended(pipe: &Pipe) -> bool {
        pipe.fin == Fin::Arrived
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.chooser.next_u64() % below
    }
}
