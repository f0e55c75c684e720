//! The world of one run: the event loop.
//!
//! One turn of it: find the earliest thing that happens, set the time to it, hand it to its machine, and pass on
//! what the machines then want until they want nothing more. Of one time, what the path does comes before alarms,
//! and those go by number: the hosts' programs first, then the ends of connections.

use crate::alarms::{Alarms, Key};
use crate::connection::{self, EndConfig};
use crate::host::{EndId, Runs, Side, SimHost};
use crate::parcel::Parcel;
use crate::tcp::TcpTls;
use crate::transport::Transport;
use loadstone_http::{Chunk, TransportStream};
use loadstone_load::page::HostId;
use loadstone_load::{Action, Closed, ConnId, Opened, Opener, Tag};
use loadstone_net::tcp::{Endpoint, Metrics};
use loadstone_net::tls::Role;
use loadstone_net::{Path, Transit};
use loadstone_scenario::{Plan, Way, address};
use loadstone_units::{Seed, Time};
use std::collections::{BTreeMap, VecDeque};

/// The connections that room is made for beforehand: what a browser opens to one host. They are large, so to move
/// them takes long.
const EXPECTED_CONNECTIONS: usize = 6;

/// A connection of a run.
pub(crate) type Connection = connection::Connection<TcpTls>;

type End = connection::ConnectionEnd<TcpTls>;

/// What the hosts remember of connections that are over.
type Memories = Vec<BTreeMap<usize, Metrics>>;

pub(crate) struct World<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) now: Time,
    /// Browsers come first.
    pub(crate) hosts: Vec<SimHost<'a>>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) path: Path<Parcel>,
    /// Alarms of the programs, then of the connections' ends.
    alarms: Alarms,
    /// What the program that has its say wants done; empty between turns.
    actions: VecDeque<Action>,
    /// Storage that is used again and again.
    input: Vec<Chunk>,
}

impl<'a> World<'a> {
    /// The world of a run of which the first packets are noted: `noted` of them, if that is wanted.
    pub(crate) fn new(plan: &'a Plan, seed: Seed, noted: Option<usize>) -> World<'a> {
        let nothing = vec![BTreeMap::new(); plan.hosts().len()];
        let memories = (0..plan.variant().earlier_loads.get()).fold(nothing, |memories, load| {
            let seed = Seed(seed.stream(&format!("earlier.{load}")).next_u64());
            World::remembering(plan, seed, None, memories).warm_up()
        });
        World::remembering(plan, seed, noted, memories)
    }

    fn remembering(plan: &'a Plan, seed: Seed, noted: Option<usize>, memories: Memories) -> World<'a> {
        let mut alarms = Alarms::default();
        let hosts = plan.hosts().iter().zip(memories).map(|(host, metrics)| {
            alarms.add();
            SimHost::new(plan, host, metrics)
        });
        let hosts = hosts.collect();
        let path = Path::new(plan.fabric(), seed, noted);
        World {
            plan,
            now: Time::ZERO,
            hosts,
            connections: Vec::with_capacity(EXPECTED_CONNECTIONS),
            path,
            alarms,
            actions: VecDeque::new(),
            input: Vec::new(),
        }
    }

    /// An earlier load; what the servers' hosts remember when its connections have been cut off.
    fn warm_up(mut self) -> Memories {
        self.load();
        for connection in &self.connections {
            let [client, server] = &connection.ends;
            if !server.transport.is_over() {
                server
                    .transport
                    .save_metrics(self.hosts[server.host as usize].metrics.entry(client.host as usize).or_default());
            }
        }
        self.hosts.into_iter().map(|host| host.metrics).collect()
    }

    /// Lets all browsers load their pages.
    pub(crate) fn load(&mut self) {
        let browsers = self.plan.browsers();
        for host in 0..browsers {
            self.start(host);
        }
        self.note_losses();
        for host in 0..browsers {
            while self.hosts[host].is_loading() && self.turn() {}
        }
    }

    fn start(&mut self, host: usize) {
        let now = self.now;
        if let Runs::Browser(browser) = &mut self.hosts[host].runs {
            browser.start(now);
        }
        // The load counts from the first SYN, so this once the program does not make it wait.
        while let Some(action) = self.hosts[host].program().poll_action() {
            self.actions.push_back(action);
            self.perform_all(host);
        }
        self.act(host);
    }

    /// Lets the earliest thing happen; whether there was any.
    fn turn(&mut self) -> bool {
        let (due, alarms) = (self.path.next(), self.alarms.next());
        let next = due.at.min(alarms);
        if next == Time::NEVER {
            return false;
        }
        // Whoever wants to be woken at once names a time that is over.
        self.now = self.now.max(next);
        if next == due.at {
            // By reference: so it is not moved on its way.
            if let Some(arrived) = &self.path.advance(due) {
                self.deliver(&arrived.packet);
            }
        } else if let Some(key) = self.alarms.pop(self.now) {
            self.wake(key);
        }
        self.note_losses();
        true
    }

    /// Tells connections what the path has lost in this turn.
    #[inline(always)]
    fn note_losses(&mut self) {
        if self.path.has_lost() {
            self.note_these_losses();
        }
    }

    #[cold]
    fn note_these_losses(&mut self) {
        while let Some(lost) = self.path.poll_lost() {
            let Parcel { to, segment } = lost.packet;
            self.connections[to.connection()].lose(to.side(), &segment, lost.due);
        }
    }

    #[inline]
    fn end(&mut self, id: EndId) -> &mut End {
        self.connections[id.connection()].end(id.side())
    }

    fn wake(&mut self, key: Key) {
        if let Some(number) = (key as usize).checked_sub(self.hosts.len()) {
            return self.wake_end(EndId::numbered(number));
        }
        let (at, now) = (key as usize, self.now);
        let host = &mut self.hosts[at];
        if host.due <= now {
            host.due = Time::NEVER;
            std::mem::swap(&mut host.pending, &mut self.actions);
            self.perform_all(at);
        }
        self.hosts[at].program().handle_timeout(now);
        self.act(at);
    }

    fn wake_end(&mut self, id: EndId) {
        let end = self.connections[id.connection()].end(id.side());
        if end.transport.poll_timeout() > self.now {
            // It has moved later since the alarm was armed.
            return self.alarms.arm(end.alarm, end.transport.poll_timeout());
        }
        end.transport.handle_timeout(self.now);
        self.service(id);
        self.tell_of_end(id);
    }

    /// A packet arrives at an end of its connection.
    #[inline(never)]
    fn deliver(&mut self, parcel: &Parcel) {
        let id = parcel.to;
        self.handle_segment(parcel);
        // Acknowledgements that are due leave before the program has its say.
        self.service(id);
        while let Some(on) = self.read(id) {
            if !self.end(id).announced {
                self.shake_hands(id);
            }
            self.hand_on(id, on);
        }
        self.tell_of_end(id);
    }

    /// Reads what has arrived of a stream.
    #[inline]
    fn read(&mut self, id: EndId) -> Option<TransportStream> {
        self.connections[id.connection()].read(id.side(), &mut self.input)
    }

    /// A program takes more of what has arrived of a stream.
    fn receive(&mut self, id: EndId, on: TransportStream) {
        self.connections[id.connection()].read_stream(id.side(), on, &mut self.input);
        // The window may have opened.
        self.service(id);
        self.hand_on(id, on);
        self.tell_of_end(id);
    }

    /// Gives the program what has been read for it of a stream.
    #[inline]
    fn hand_on(&mut self, id: EndId, on: TransportStream) {
        if self.input.is_empty() {
            return;
        }
        let &mut End { host, conn, .. } = self.end(id);
        let mut input = std::mem::take(&mut self.input);
        let now = self.now;
        self.hosts[host as usize].program().handle_input(now, conn, on, &input);
        input.clear();
        self.input = input;
        self.act(host as usize);
    }

    /// A segment arrives at a kernel; what is over at a server is remembered.
    fn handle_segment(&mut self, parcel: &Parcel) {
        let (connection, side) = (&mut self.connections[parcel.to.connection()], parcel.to.side());
        let end = connection.end(side);
        let was_over = end.transport.is_over();
        end.handle_packet(self.now, &parcel.segment);
        if side == Side::Server && !was_over && end.transport.is_over() {
            let [client, server] = &connection.ends;
            server
                .transport
                .save_metrics(self.hosts[server.host as usize].metrics.entry(client.host as usize).or_default());
        }
    }

    /// Goes on with the handshake; tells the program when the connection is open.
    fn shake_hands(&mut self, id: EndId) {
        let peer = self.end(id.other()).host as usize;
        let connection = &mut self.connections[id.connection()];
        let end = connection.end(id.side());
        let (host, conn) = (end.host as usize, end.conn);
        if end.shake_hands() {
            end.announced = true;
            if id.side() == Side::Client {
                connection.established = Some(self.now);
            }
            let by = if id.side() == Side::Client { Opener::Us } else { Opener::Peer };
            let opened = Opened { by, peer: address(peer), protocol: self.plan.protocol(self.opener(id)) };
            self.hosts[host].program().handle_open(self.now, conn, opened);
            self.act(host);
        }
        self.service(id);
    }

    /// The place of the host that opened a connection.
    fn opener(&mut self, id: EndId) -> usize {
        self.connections[id.connection()].end(Side::Client).host as usize
    }

    /// Tells the program at an end when its connection has ended.
    #[inline]
    fn tell_of_end(&mut self, id: EndId) {
        if let Some(how) = self.end(id).transport.closed() {
            self.tell_of_end_unless_told(id, how);
        }
    }

    fn tell_of_end_unless_told(&mut self, id: EndId, how: Closed) {
        let end = self.end(id);
        if std::mem::replace(&mut end.ended, true) {
            return;
        }
        let (host, conn) = (end.host as usize, end.conn);
        self.hosts[host].program().handle_close(self.now, conn, how);
        self.act(host);
    }

    /// Takes what a program wants done: it comes to it when it has been woken.
    fn act(&mut self, at: usize) {
        while let Some(action) = self.hosts[at].program().poll_action() {
            let host = &mut self.hosts[at];
            if host.wakeup_latency.is_zero() {
                self.actions.push_back(action);
                self.perform_all(at);
            } else {
                host.due = host.due.min(self.now + host.wakeup_latency);
                host.pending.push_back(action);
            }
        }
        self.arm(at);
    }

    /// Sets the alarm of a program.
    fn arm(&mut self, at: usize) {
        let deadline = self.hosts[at].deadline();
        self.alarms.arm(at as Key, deadline);
    }

    /// Does what a program wants done, each connection in its turn: what its socket takes at a time, then the
    /// others.
    fn perform_all(&mut self, at: usize) {
        while let Some(action) = self.actions.pop_front() {
            let rest = self.perform(at, action);
            self.actions.extend(rest);
        }
    }

    /// Does what a program wants done; what is left of it, if the socket has room again.
    fn perform(&mut self, at: usize, action: Action) -> Option<Action> {
        match action {
            Action::Open { to, tag } => self.open(at, to, tag),
            Action::Transmit { conn } => {
                let id = self.hosts[at].ends[conn.0 as usize];
                self.end(id).eager = true;
                return self.write(id).then_some(action);
            }
            Action::Receive { conn, on, limit } => {
                let id = self.hosts[at].ends[conn.0 as usize];
                self.end(id).set_limit(on, limit);
                self.receive(id, on);
            }
            Action::Abort { conn } => {
                let id = self.hosts[at].ends[conn.0 as usize];
                let end = self.end(id);
                end.ended = true;
                end.transport.abort();
                self.service(id);
            }
            Action::Close { conn } => {
                let id = self.hosts[at].ends[conn.0 as usize];
                self.end(id).transport.close();
                self.service(id);
            }
        }
        None
    }

    fn open(&mut self, from: usize, to: HostId, tag: Tag) {
        let Way { to: server, there, back, tls } = self.hosts[from].ways[to.0 as usize];
        let connection = self.connections.len();
        let mut place = |host: usize, side, route| {
            let conn = ConnId(self.hosts[host].ends.len() as u32);
            self.hosts[host].ends.push(EndId::new(connection, side));
            EndConfig { host: host as u32, conn, route, alarm: self.alarms.add() }
        };
        let (client, server) = (place(from, Side::Client, there), place(server, Side::Server, back));
        let metrics = self.hosts[server.host as usize].metrics.get(&from).copied().unwrap_or_default();
        let connect = Endpoint::connect(self.hosts[from].tcp);
        let listen = Endpoint::listen(self.hosts[server.host as usize].tcp).with_cached_metrics(metrics);
        let ends =
            [(TcpTls::new(connect, tls, Role::Client), client), (TcpTls::new(listen, tls, Role::Server), server)];
        self.connections.push(Connection::new(self.now, to, ends));
        let now = self.now;
        self.hosts[from].program().handle_opening(now, client.conn, tag);
        self.service(EndId::new(connection, Side::Client));
    }

    /// Lets an end send what it may.
    fn service(&mut self, id: EndId) {
        while self.write(id) {}
    }

    /// Lets an end send what it may: fills its room from the program, once, and polls its segments. Whether there
    /// is room again then.
    fn write(&mut self, id: EndId) -> bool {
        let now = self.now;
        let end = self.connections[id.connection()].end(id.side());
        let host = end.host as usize;
        let mut filled = false;
        let has_room = loop {
            if end.next_stream(self.hosts[host].program()).is_some() {
                if std::mem::replace(&mut filled, true) {
                    break true;
                }
                end.fill(self.hosts[host].program(), now);
            }
            let Some(segment) = end.transport.poll_packet(now) else {
                self.alarms.arm(end.alarm, end.transport.poll_timeout());
                // What could be sent has been, which may have made room for more.
                break end.next_stream(self.hosts[host].program()).is_some();
            };
            self.path.handle_packet(now, Transit::new(end.route, Parcel { to: id.other(), segment }));
        };
        if filled {
            // What it has put on the wire may have been the last, or what another connection waited for.
            self.act(host);
        }
        has_room
    }
}
