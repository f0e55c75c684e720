//! The world of one run: a browser, origins, connections, two directions of a link, and time.
//!
//! One turn of the loop: find the earliest thing that happens, set the time to it, hand it to its
//! machine, and pass on what the machines then want until they want nothing more. Things of one
//! time go in a fixed order: packets towards the client, packets towards the servers, packets
//! beyond the access link, alarms by number.

use crate::access::{Access, Parcel};
use crate::alarms::{Alarms, Key};
use crate::connection::{CLIENT, Connection, SERVER};
use loadstone_http::Chunk;
use loadstone_load::page::HostId;
use loadstone_load::{Action, Browser, Closed, ConnId, ConnectionRecord, Origin, Peer, critical_path};
use loadstone_net::tcp::{Metrics, State};
use loadstone_net::{Detour, Device, Link};
use loadstone_scenario::{Outcome, Plan};
use loadstone_units::{Seed, Time};
use std::collections::VecDeque;
use std::time::Duration;

pub(crate) struct World<'a> {
    plan: &'a Plan,
    now: Time,
    browser: Browser,
    origins: Vec<Origin>,
    connections: Vec<Connection>,
    /// Alarms of the browser (number 0), the origins (1 and up), then of the connections' ends.
    alarms: Alarms,
    /// Which end of which connection an alarm belongs to, less those of the programs.
    alarmed: Vec<(ConnId, usize)>,
    /// What each origin's host remembers of connections that are over.
    metrics: Vec<Metrics>,
    access: Access,
    /// Beyond the access link, with the side it goes to.
    beyond: Detour<(usize, Parcel)>,
    /// What programs want done and have not come to: the browser's, then the origins'.
    intents: Vec<Intent>,
    /// Storage that is used again and again.
    input: Vec<Chunk>,
}

/// What a program wants done, and when it comes to it: a process is woken a moment after the kernel has
/// done its own part.
#[derive(Debug)]
struct Intent {
    /// How long that takes.
    reaction: Duration,
    /// When it comes to it; [`Time::NEVER`] if there is nothing to do.
    due: Time,
    actions: VecDeque<Action>,
}

impl Intent {
    fn new(reaction: Duration) -> Intent {
        Intent { reaction, due: Time::NEVER, actions: VecDeque::new() }
    }
}

/// What origins' hosts remember before anyone has loaded the page.
fn nothing_known(plan: &Plan) -> Vec<Metrics> {
    vec![Metrics::default(); plan.page().hosts.len()]
}

/// The alarm of the program at `side`: the browser's is the first, then come the origins'.
fn alarm_of(side: usize, origin: u32) -> Key {
    if side == CLIENT { 0 } else { origin + 1 }
}

impl<'a> World<'a> {
    /// The world of a run of which the first packets are noted: `noted` of them, if that is wanted.
    pub(crate) fn new(plan: &'a Plan, seed: Seed, noted: Option<usize>) -> World<'a> {
        let metrics = (0..plan.variant().earlier_loads.get()).fold(nothing_known(plan), |known, load| {
            let seed = Seed(seed.stream(&format!("earlier.{load}")).next_u64());
            World::knowing(plan, seed, None, known).rehearse()
        });
        World::knowing(plan, seed, noted, metrics)
    }

    fn knowing(plan: &'a Plan, seed: Seed, noted: Option<usize>, metrics: Vec<Metrics>) -> World<'a> {
        let mut alarms = Alarms::default();
        for _ in 0..=plan.page().hosts.len() {
            alarms.add();
        }
        World {
            plan,
            now: Time::ZERO,
            browser: plan.browser(),
            origins: plan.origins().collect(),
            connections: Vec::new(),
            alarms,
            alarmed: Vec::new(),
            metrics,
            access: Access::new(plan.network(), seed, noted),
            beyond: Detour::new(),
            intents: {
                let variant = plan.variant();
                let hosts = (0..plan.page().hosts.len()).map(|at| HostId(at as u32));
                let origins = hosts.map(|host| Intent::new(plan.tcp(host).reaction()));
                std::iter::once(Intent::new(variant.client_tcp.reaction())).chain(origins).collect()
            },
            input: Vec::new(),
        }
    }

    pub(crate) fn run(mut self, seed: Seed) -> Outcome {
        self.load();
        self.outcome(seed)
    }

    /// An earlier load; what the origins' hosts remember when its connections have been cut off.
    fn rehearse(mut self) -> Vec<Metrics> {
        self.load();
        for connection in &self.connections {
            let server = &connection.ends[SERVER].tcp;
            if !server.state().is_over() {
                server.teach(&mut self.metrics[connection.origin as usize]);
            }
        }
        self.metrics
    }

    fn load(&mut self) {
        self.browser.start(self.now);
        // The load counts from the first SYN, so this once the program does not make it wait.
        while let Some(action) = self.browser.poll_action() {
            self.perform_all(CLIENT, [action].into());
        }
        self.act(CLIENT, 0);
        self.note_losses();
        while self.browser.end().is_none() && self.turn() {}
    }

    /// Lets the earliest thing happen; whether there was any.
    fn turn(&mut self) -> bool {
        let time = |link: &Link<Parcel>| link.poll_timeout().unwrap_or(Time::NEVER);
        let (down, up, alarms) = (time(&self.access.down), time(&self.access.up), self.alarms.next());
        let beyond = self.beyond.next();
        let next = down.min(up).min(beyond).min(alarms);
        if next == Time::NEVER {
            return false;
        }
        self.now = next;
        if self.now == down {
            if let Some(parcel) = self.access.down.poll_packet(self.now) {
                self.deliver(CLIENT, &parcel);
            }
        } else if self.now == up {
            if let Some(parcel) = self.access.up.poll_packet(self.now) {
                self.leave_access_link(parcel);
            }
        } else if self.now == beyond {
            match self.beyond.pop(self.now) {
                Some((CLIENT, parcel)) => self.access.handle_packet(self.now, CLIENT, parcel),
                Some((_, parcel)) => self.deliver(SERVER, &parcel),
                None => {}
            }
        } else if let Some(key) = self.alarms.pop(self.now) {
            self.wake(key);
        }
        self.note_losses();
        true
    }

    /// Tells connections what the links have lost in this turn.
    #[inline(always)]
    fn note_losses(&mut self) {
        if self.access.up.has_lost() | self.access.down.has_lost() {
            self.note_these_losses();
        }
    }

    #[cold]
    fn note_these_losses(&mut self) {
        while let Some((out, parcel)) = self.access.up.poll_lost() {
            let connection = &mut self.connections[parcel.conn.0 as usize];
            let due = out + connection.one_way;
            connection.lose(SERVER, &parcel.segment, due);
        }
        while let Some((due, parcel)) = self.access.down.poll_lost() {
            self.connections[parcel.conn.0 as usize].lose(CLIENT, &parcel.segment, due);
        }
    }

    /// A packet from the client has passed the access link.
    fn leave_access_link(&mut self, parcel: Parcel) {
        let delay = self.connections[parcel.conn.0 as usize].one_way;
        if delay.is_zero() {
            self.deliver(SERVER, &parcel);
        } else {
            self.beyond.handle_packet(self.now, delay, (SERVER, parcel));
        }
    }

    fn wake(&mut self, key: Key) {
        let programs = self.origins.len() + 1;
        if let Some((conn, side)) = (key as usize).checked_sub(programs).map(|at| self.alarmed[at]) {
            let end = &mut self.connections[conn.0 as usize].ends[side];
            if end.deadline() > self.now {
                // It has moved later since the alarm was armed.
                return self.alarms.arm(key, end.deadline());
            }
            end.tcp.handle_timeout(self.now);
            self.service(conn, side);
            self.tell_of_end(conn, side);
            return;
        }
        let (side, origin) = if key == 0 { (CLIENT, 0) } else { (SERVER, key - 1) };
        let intent = &mut self.intents[key as usize];
        if intent.due <= self.now {
            intent.due = Time::NEVER;
            let actions = std::mem::take(&mut intent.actions);
            self.perform_all(side, actions);
        }
        let now = self.now;
        self.peer(side, origin).handle_timeout(now);
        self.act(side, origin);
    }

    /// A packet arrives at the end `side` of its connection.
    fn deliver(&mut self, side: usize, parcel: &Parcel) {
        let conn = parcel.conn;
        self.handle_segment(parcel, side);
        // Acknowledgements that are due leave before the program has its say.
        self.service(conn, side);
        let connection = &mut self.connections[conn.0 as usize];
        connection.read(side, &mut self.input);
        if !connection.ends[side].announced {
            self.shake_hands(conn, side);
        }
        if !self.input.is_empty() {
            let mut input = std::mem::take(&mut self.input);
            let (origin, now) = (self.connections[conn.0 as usize].origin, self.now);
            self.peer(side, origin).handle_input(now, conn, &input);
            input.clear();
            self.input = input;
            self.act(side, origin);
        }
        self.tell_of_end(conn, side);
    }

    /// A segment arrives at a kernel; what is over at a server is remembered.
    fn handle_segment(&mut self, parcel: &Parcel, side: usize) {
        let connection = &mut self.connections[parcel.conn.0 as usize];
        let end = &mut connection.ends[side];
        let was_over = end.tcp.state().is_over();
        end.handle_segment(self.now, &parcel.segment);
        if side == SERVER && !was_over && end.tcp.state().is_over() {
            end.tcp.teach(&mut self.metrics[connection.origin as usize]);
        }
    }

    /// Goes on with the handshake; tells the program when the connection is open.
    fn shake_hands(&mut self, conn: ConnId, side: usize) {
        let connection = &mut self.connections[conn.0 as usize];
        let (end, origin) = (&mut connection.ends[side], connection.origin);
        if end.shake_hands() {
            end.announced = true;
            if side == CLIENT {
                connection.established = Some(self.now);
            }
            let (now, protocol) = (self.now, self.plan.variant().protocol);
            self.peer(side, origin).handle_open(now, conn, protocol);
            self.act(side, origin);
        }
        self.service(conn, side);
    }

    /// Tells the program at `side` when its connection has ended.
    #[inline]
    fn tell_of_end(&mut self, conn: ConnId, side: usize) {
        if self.connections[conn.0 as usize].ends[side].tcp.state() != State::Established {
            self.tell_of_end_unless_told(conn, side);
        }
    }

    fn tell_of_end_unless_told(&mut self, conn: ConnId, side: usize) {
        let connection = &mut self.connections[conn.0 as usize];
        let end = &mut connection.ends[side];
        let how = match end.tcp.state() {
            State::TimedOut => Closed::Failed,
            _ if end.tcp.is_finished() => Closed::Finished,
            _ => return,
        };
        if std::mem::replace(&mut end.ended, true) {
            return;
        }
        let (origin, now) = (connection.origin, self.now);
        self.peer(side, origin).handle_close(now, conn, how);
        self.act(side, origin);
    }

    /// The program at this side of a connection.
    fn peer(&mut self, side: usize, origin: u32) -> &mut dyn Peer {
        if side == CLIENT { &mut self.browser } else { &mut self.origins[origin as usize] }
    }

    /// Takes what a program wants done: it comes to it when it has been woken.
    fn act(&mut self, side: usize, origin: u32) {
        let key = alarm_of(side, origin);
        while let Some(action) = self.peer(side, origin).poll_action() {
            let intent = &mut self.intents[key as usize];
            if intent.reaction.is_zero() {
                self.perform_all(side, [action].into());
            } else {
                intent.due = intent.due.min(self.now + intent.reaction);
                intent.actions.push_back(action);
            }
        }
        self.arm(side, origin);
    }

    /// Sets the alarm of the program at `side`.
    fn arm(&mut self, side: usize, origin: u32) {
        let key = alarm_of(side, origin);
        let deadline = self.peer(side, origin).poll_timeout().unwrap_or(Time::NEVER);
        self.alarms.arm(key, deadline.min(self.intents[key as usize].due));
    }

    /// Does what a program wants done, each connection in its turn: what its socket takes at a time, then the
    /// others.
    fn perform_all(&mut self, side: usize, mut actions: VecDeque<Action>) {
        while let Some(action) = actions.pop_front() {
            actions.extend(self.perform(side, action));
        }
    }

    /// Does what a program wants done; what is left of it, if the socket has room again.
    fn perform(&mut self, side: usize, action: Action) -> Option<Action> {
        match action {
            Action::Open { conn, to } => self.open(conn, to),
            Action::Transmit { conn } => {
                self.connections[conn.0 as usize].ends[side].eager = true;
                return self.write(conn, side).then_some(action);
            }
            Action::Close { conn } => {
                self.connections[conn.0 as usize].ends[side].tcp.close();
                self.service(conn, side);
            }
        }
        None
    }

    fn open(&mut self, conn: ConnId, to: HostId) {
        assert_eq!(conn.0 as usize, self.connections.len(), "connections are numbered in the order of opening");
        let alarms = [self.alarms.add(), self.alarms.add()];
        self.alarmed.extend([(conn, CLIENT), (conn, SERVER)]);
        let variant = self.plan.variant();
        let one_way = self.plan.page().hosts[to.0 as usize].extra_rtt / 2;
        let tcp = [&variant.client_tcp, self.plan.tcp(to)];
        let (tls, metrics) = (self.plan.tls(to), self.metrics[to.0 as usize]);
        self.connections.push(Connection::new(self.now, to.0, one_way, tls, tcp, metrics, alarms));
        self.service(conn, CLIENT);
    }

    /// Lets an end send what it may.
    fn service(&mut self, conn: ConnId, side: usize) {
        while self.write(conn, side) {}
    }

    /// Lets an end send what it may: fills its room from the program, once, and polls its segments. Whether there
    /// is room again then.
    fn write(&mut self, conn: ConnId, side: usize) -> bool {
        let now = self.now;
        let connection = &mut self.connections[conn.0 as usize];
        let (origin, one_way) = (connection.origin, connection.one_way);
        let end = &mut connection.ends[side];
        let mut filled = false;
        let has_room = loop {
            if end.room() > 0 {
                if std::mem::replace(&mut filled, true) {
                    break true;
                }
                let peer: &mut dyn Peer =
                    if side == CLIENT { &mut self.browser } else { &mut self.origins[origin as usize] };
                end.fill(peer, now, conn);
            }
            let Some(segment) = end.tcp.poll_segment(now) else {
                self.alarms.arm(end.alarm, end.deadline());
                // What could be sent has been, which may have made room for more.
                break end.room() > 0;
            };
            let parcel = Parcel { conn, segment };
            if side == CLIENT {
                self.access.handle_packet(now, SERVER, parcel);
            } else if one_way.is_zero() {
                self.access.handle_packet(now, CLIENT, parcel);
            } else {
                self.beyond.handle_packet(now, one_way, (CLIENT, parcel));
            }
        };
        if filled {
            // What it has put on the wire may have been the last.
            self.arm(side, origin);
        }
        has_room
    }

    fn outcome(self, seed: Seed) -> Outcome {
        let end = self.browser.end();
        let (down, up) = (self.access.down.counts(), self.access.up.counts());
        let connections = self.browser.opened();
        let per_connection: Vec<_> = self.connections.iter().map(Connection::outcome).collect();
        let mut marks = self.browser.into_marks();
        self.origins.iter().for_each(|origin| marks.note(origin.services()));
        let propagation = self.plan.network().down().propagation;
        let now = self.now;
        let capture = self.access.into_capture(now, &self.connections);
        let record = |connection: Connection| connection.into_record(now, propagation);
        let records: Vec<ConnectionRecord> = self.connections.into_iter().map(record).collect();
        Outcome {
            seed: seed.0,
            completed: end.is_some_and(|end| end.completed),
            plt: end.map_or(now, |end| end.at),
            packets_down: down.packets,
            packets_up: up.packets,
            bytes_down: down.bytes,
            bytes_up: up.bytes,
            retransmissions: per_connection.iter().map(|connection| connection.retransmissions).sum(),
            connections,
            path: critical_path(self.plan.page(), &marks, &records),
            waterfall: marks.rows,
            per_connection,
            conditions: None,
            capture,
        }
    }
}
