//! The world of one run: the event loop.
//!
//! One step of it: find the earliest event, set the time to it, hand it to its machine, and pass on what the machines
//! then want until they want nothing more. At one time, the path's events come before timers, and timers go by id: the
//! hosts' programs first, then the ends of connections.

use crate::connection::{self, EndPlace};
use crate::deadline_queue::{DeadlineQueue, TimerId};
use crate::host::{EndId, HostedProgram, Side, SimHost};
use crate::packet::{NameMessage, NameMessageKind, SimPacket};
use crate::tcp::TcpTls;
use crate::transport::Transport;
use crate::visit::VisitStart;

use loadstone_http::{Chunk, Protocol, TransportStream};
use loadstone_load::page::HostId;
use loadstone_load::{Action, Closed, ConnId, NameQuery, Opened, Opener, Tag};
use loadstone_net::tcp::{Endpoint, Metrics, Segment};
use loadstone_net::tls::{Handshake, Role};
use loadstone_net::{Path, Transit};
use loadstone_scenario::{CongestionWindowAt, HostRole, KEEP_ALIVE, Plan, Way, address};
use loadstone_units::{Seed, Time};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Initial capacity: what a browser opens to one host. Connections are large, so moving them is slow.
const EXPECTED_CONNECTIONS: usize = 6;

/// How long after other users' loads those begin that count: acknowledgements that are due have come by then.
const AFTER_OTHERS: Duration = Duration::from_secs(1);

/// A connection of a run.
pub(crate) type Connection = connection::Connection<TcpTls>;

type End = connection::ConnectionEnd<TcpTls>;

/// Of each host its TCP metrics cache, by the index of the other host.
type MetricsCaches = Vec<BTreeMap<usize, Metrics>>;

pub(crate) struct World<'a> {
    pub(crate) plan: &'a Plan,
    seed: Seed,
    pub(crate) now: Time,
    /// The visit that counts.
    pub(crate) visit: VisitStart,
    /// Browsers come first.
    pub(crate) hosts: Vec<SimHost<'a>>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) path: Path<SimPacket>,
    /// Of the programs, then of the connections' ends.
    deadlines: DeadlineQueue,
    /// Actions of the program that runs now; empty between steps.
    actions: VecDeque<Action>,
    /// The servers' congestion windows as they send, as many as packets are captured.
    pub(crate) windows: Vec<CongestionWindowAt>,
    capture_limit: usize,
    /// Storage that is used again and again.
    input: Vec<Chunk>,
}

impl<'a> World<'a> {
    /// The world of a run; with `capture_limit` its first packets are captured, that many.
    pub(crate) fn new(plan: &'a Plan, seed: Seed, capture_limit: Option<usize>) -> World<'a> {
        let nothing = vec![BTreeMap::new(); plan.hosts().len()];
        let caches = (0..plan.variant().earlier_loads.get()).fold(nothing, |caches, load| {
            let seed = Seed(seed.stream(&format!("earlier.{load}")).next_u64());
            World::with_metrics(plan, seed, None, caches).warm_up()
        });
        World::with_metrics(plan, seed, capture_limit, caches)
    }

    fn with_metrics(plan: &'a Plan, seed: Seed, capture_limit: Option<usize>, caches: MetricsCaches) -> World<'a> {
        let mut deadlines = DeadlineQueue::default();
        let hosts = plan.hosts().iter().zip(caches).map(|(host, metrics)| {
            deadlines.add();
            SimHost::new(plan, seed, host, metrics)
        });
        let hosts = hosts.collect();
        let path = Path::new(&plan.fabric_of(seed), seed, capture_limit);
        World {
            plan,
            seed,
            now: Time::ZERO,
            visit: VisitStart::default(),
            hosts,
            connections: Vec::with_capacity(EXPECTED_CONNECTIONS),
            path,
            deadlines,
            actions: VecDeque::new(),
            windows: Vec::new(),
            capture_limit: capture_limit.unwrap_or_default(),
            input: Vec::new(),
        }
    }

    /// Runs an earlier load, cuts off its connections, and returns the hosts' metrics caches.
    fn warm_up(mut self) -> MetricsCaches {
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

    /// Lets all browsers make the earlier visits, if there are any, and then the one that counts; first come those browsers
    /// that load before the others do.
    pub(crate) fn load(&mut self) {
        self.load_earlier();
        let browsers: Vec<usize> = (0..self.plan.browsers()).collect();
        if let Some(idle) = self.plan.idle() {
            for visit in 1..self.plan.visits() {
                self.load_pages(&browsers);
                self.pause(idle);
                self.navigate(visit);
            }
        }
        self.load_pages(&browsers);
    }

    /// Lets other users load their pages, of which nothing is said; their connections stay open.
    fn load_earlier(&mut self) {
        let plan = self.plan;
        let is_earlier = |host: &usize| matches!(plan.hosts()[*host].role, HostRole::EarlierBrowser { .. });
        let earlier: Vec<usize> = (plan.browsers()..plan.hosts().len()).filter(is_earlier).collect();
        if earlier.is_empty() {
            return;
        }
        self.load_pages(&earlier);
        self.run_until(self.now + AFTER_OTHERS);
        self.begin_visit();
    }

    /// Nobody asks for anything until the next visit. Servers close the connections that were of no use at the visit
    /// that has ended, if those have been idle for long by then.
    fn pause(&mut self, idle: Duration) {
        let end = self.now + idle;
        let since = self.visit.at.min(Time::ZERO + Duration::from_nanos(end.as_nanos()).saturating_sub(KEEP_ALIVE));
        for host in 0..self.plan.browsers() {
            if let HostedProgram::Browser(browser) = &mut self.hosts[host].hosted
                && since > Time::ZERO
            {
                browser.leave_unused(since);
                self.queue_actions(host);
            }
        }
        self.run_until(end);
    }

    /// The browsers leave their pages for those of this visit, and the servers have these.
    fn navigate(&mut self, visit: usize) {
        let (plan, now) = (self.plan, self.now);
        for at in 0..self.hosts.len() {
            match (&mut self.hosts[at].hosted, plan.hosts()[at].role) {
                (HostedProgram::Browser(browser), HostRole::Browser { page }) => {
                    browser.navigate(now, plan.browser_at(page, visit, self.seed));
                }
                (HostedProgram::Origin(origin), HostRole::Origin { page, host }) => {
                    origin.restock(plan.catalogue_at(page, host, visit).clone());
                }
                (_, _) => {}
            }
        }
        self.begin_visit();
    }

    /// What has been by now counts no more.
    fn begin_visit(&mut self) {
        self.path.forget_log();
        self.windows.clear();
        self.visit = VisitStart::new(self.now, self.plan, &self.path, &self.connections);
    }

    /// Lets these browsers load their pages.
    fn load_pages(&mut self, browsers: &[usize]) {
        for host in browsers {
            self.start(*host);
        }
        self.note_losses();
        for &host in browsers {
            while self.hosts[host].is_loading() && self.step() {}
        }
    }

    /// Goes on until then.
    fn run_until(&mut self, end: Time) {
        while self.path.next().at.min(self.deadlines.next()) <= end && self.step() {}
        self.now = end;
    }

    fn start(&mut self, host: usize) {
        let now = self.now;
        if let HostedProgram::Browser(browser) = &mut self.hosts[host].hosted {
            browser.start(now);
        }
        // The load counts from the first SYN, so the first actions run without wake-up latency.
        while let Some(action) = self.hosts[host].program().poll_action() {
            self.actions.push_back(action);
            self.run_actions(host);
        }
        self.queue_actions(host);
    }

    /// Handles the earliest event; returns whether there was one.
    fn step(&mut self) -> bool {
        let (due, deadline) = (self.path.next(), self.deadlines.next());
        let next = due.at.min(deadline);
        if next == Time::NEVER {
            return false;
        }
        // A deadline in the past means now.
        self.now = self.now.max(next);
        if next == due.at {
            // By reference: large.
            if let Some(arrived) = &self.path.advance(due) {
                self.deliver(&arrived.packet);
            }
        } else if let Some(timer) = self.deadlines.pop(self.now) {
            self.wake(timer);
        }
        self.note_losses();
        true
    }

    /// Tells connections which packets the path has dropped in this step.
    #[inline(always)]
    fn note_losses(&mut self) {
        if self.path.has_lost() {
            self.note_these_losses();
        }
    }

    #[cold]
    fn note_these_losses(&mut self) {
        while let Some(lost) = self.path.poll_lost() {
            // Of a lost message of names nobody is told: its answer does not come.
            if let SimPacket::Segment { to, segment } = lost.packet {
                self.connections[to.connection()].handle_dropped(to.side(), &segment, lost.due);
            }
        }
    }

    #[inline]
    fn end(&mut self, id: EndId) -> &mut End {
        self.connections[id.connection()].end(id.side())
    }

    fn wake(&mut self, timer: TimerId) {
        if let Some(number) = (timer as usize).checked_sub(self.hosts.len()) {
            return self.wake_end(EndId::numbered(number));
        }
        let (index, now) = (timer as usize, self.now);
        let host = &mut self.hosts[index];
        if host.actions_due <= now {
            host.actions_due = Time::NEVER;
            std::mem::swap(&mut host.pending_actions, &mut self.actions);
            self.run_actions(index);
        }
        self.hosts[index].program().handle_timeout(now);
        self.queue_actions(index);
    }

    fn wake_end(&mut self, id: EndId) {
        let end = self.connections[id.connection()].end(id.side());
        if end.transport.poll_timeout() > self.now {
            // The deadline has moved later since it was queued.
            return self.deadlines.arm(end.timer, end.transport.poll_timeout());
        }
        end.transport.handle_timeout(self.now);
        self.flush(id);
        self.report_close(id);
    }

    #[inline]
    fn deliver(&mut self, packet: &SimPacket) {
        match packet {
            SimPacket::Segment { to, segment } => self.deliver_segment(*to, segment),
            SimPacket::Name(message) => self.deliver_name(*message),
        }
    }

    /// A message of names arrives at the name server, which answers at once, or at the browser.
    #[cold]
    fn deliver_name(&mut self, message: NameMessage) {
        match (message.kind, self.plan.name_server()) {
            (NameMessageKind::Query, Some(server)) => {
                let (kind, len) = (NameMessageKind::Answer, server.answer_len(message.query.host));
                let answer = SimPacket::Name(NameMessage { kind, len, ..message });
                self.path.handle_packet(self.now, Transit::new(server.back, answer));
            }
            (NameMessageKind::Answer, Some(_)) => {
                let host = message.asker as usize;
                self.hosts[host].program().handle_resolved(self.now, message.query);
                self.queue_actions(host);
            }
            (_, None) => unreachable!("{message:?} without a name server"),
        }
    }

    /// A program asks for the address of a server. Where no name is looked up it is known.
    fn resolve(&mut self, index: usize, query: NameQuery) {
        let Some(server) = self.plan.name_server() else {
            return self.hosts[index].program().handle_resolved(self.now, query);
        };
        let (asker, kind, len) = (index as u32, NameMessageKind::Query, server.query_len(query.host));
        let packet = SimPacket::Name(NameMessage { asker, query, kind, len });
        self.path.handle_packet(self.now, Transit::new(server.there, packet));
    }

    /// A segment arrives at an end of its connection.
    #[inline(never)]
    fn deliver_segment(&mut self, id: EndId, segment: &Segment) {
        self.handle_segment(id, segment);
        // Acknowledgements that are due leave before the program runs.
        self.flush(id);
        while let Some(on) = self.read(id) {
            if !self.end(id).open_reported {
                self.drive_handshake(id);
            }
            self.deliver_input(id, on);
        }
        self.report_close(id);
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
        self.flush(id);
        self.deliver_input(id, on);
        self.report_close(id);
    }

    /// Delivers to the program what has been read of a stream.
    #[inline]
    fn deliver_input(&mut self, id: EndId, on: TransportStream) {
        if self.input.is_empty() {
            return;
        }
        let &mut End { host, conn, .. } = self.end(id);
        let mut input = std::mem::take(&mut self.input);
        let now = self.now;
        self.hosts[host as usize].program().handle_input(now, conn, on, &input);
        input.clear();
        self.input = input;
        self.queue_actions(host as usize);
    }

    /// A segment arrives at an end. When a server's end closes, its TCP metrics are cached.
    fn handle_segment(&mut self, id: EndId, segment: &Segment) {
        let (connection, side) = (&mut self.connections[id.connection()], id.side());
        let end = connection.end(side);
        let was_over = end.transport.is_over();
        end.handle_packet(self.now, segment);
        if side == Side::Server && !was_over && end.transport.is_over() {
            let [client, server] = &connection.ends;
            server
                .transport
                .save_metrics(self.hosts[server.host as usize].metrics.entry(client.host as usize).or_default());
        }
    }

    /// Advances the handshake; tells the program when the connection is open.
    fn drive_handshake(&mut self, id: EndId) {
        let peer = self.end(id.other()).host as usize;
        let end = self.end(id);
        let (host, conn) = (end.host as usize, end.conn);
        if id.side() == Side::Client && end.poll_connected() {
            self.hosts[host].program().handle_connected(self.now, conn);
            self.queue_actions(host);
        }
        let connection = &mut self.connections[id.connection()];
        let end = connection.end(id.side());
        if end.drive_handshake() {
            end.open_reported = true;
            if id.side() == Side::Client {
                connection.established = Some(self.now);
            }
            let by = if id.side() == Side::Client { Opener::Us } else { Opener::Peer };
            let opened = Opened { by, peer: address(peer), protocol: self.protocol(id) };
            self.hosts[host].program().handle_open(self.now, conn, opened);
            self.queue_actions(host);
        }
        self.flush(id);
    }

    /// What a connection speaks.
    fn protocol(&mut self, id: EndId) -> Protocol {
        let connection = &mut self.connections[id.connection()];
        let (opener, to) = (connection.end(Side::Client).host as usize, connection.to);
        self.hosts[opener].ways[to.0 as usize].protocol
    }

    /// Tells the program at an end if its connection has closed.
    #[inline]
    fn report_close(&mut self, id: EndId) {
        if let Some(how) = self.end(id).transport.closed() {
            self.report_close_once(id, how);
        }
    }

    /// Does nothing if the program knows already.
    fn report_close_once(&mut self, id: EndId, how: Closed) {
        let end = self.end(id);
        if std::mem::replace(&mut end.close_reported, true) {
            return;
        }
        let (host, conn) = (end.host as usize, end.conn);
        self.hosts[host].program().handle_close(self.now, conn, how);
        self.queue_actions(host);
    }

    /// Takes a program's actions: queues them until its wake-up latency has passed, or runs them if it has none.
    fn queue_actions(&mut self, index: usize) {
        while let Some(action) = self.hosts[index].program().poll_action() {
            let host = &mut self.hosts[index];
            if host.wakeup.is_immediate() {
                self.actions.push_back(action);
                self.run_actions(index);
            } else {
                // Actions that wait already take the later ones along.
                if host.actions_due == Time::NEVER {
                    host.actions_due = self.now + host.wakeup.next();
                }
                host.pending_actions.push_back(action);
            }
        }
        self.arm(index);
    }

    /// Arms the timer of a program.
    fn arm(&mut self, index: usize) {
        let deadline = self.hosts[index].deadline();
        self.deadlines.arm(index as TimerId, deadline);
    }

    /// Runs the actions in a round: a connection that still has room to send goes to the end of the queue.
    fn run_actions(&mut self, index: usize) {
        while let Some(action) = self.actions.pop_front() {
            let rest = self.run_action(index, action);
            self.actions.extend(rest);
        }
    }

    /// Runs an action; returns it if it goes on: its socket has room again.
    fn run_action(&mut self, index: usize, action: Action) -> Option<Action> {
        match action {
            Action::Open { to, tag } => self.open(index, to, tag),
            Action::Resolve { query } => self.resolve(index, query),
            Action::Transmit { conn } => {
                let id = self.hosts[index].ends[conn.0 as usize];
                self.end(id).wants_write = true;
                return self.write(id).then_some(action);
            }
            Action::Receive { conn, on, limit } => {
                let id = self.hosts[index].ends[conn.0 as usize];
                self.end(id).set_max_data(on, limit);
                self.receive(id, on);
            }
            Action::Abort { conn } => {
                let id = self.hosts[index].ends[conn.0 as usize];
                let (connection, now) = (&mut self.connections[id.connection()], self.now);
                let end = connection.end(id.side());
                end.close_reported = true;
                end.transport.abort();
                if id.side() == Side::Client {
                    connection.closed.get_or_insert(now);
                }
                self.flush(id);
            }
            Action::Close { conn } => {
                let id = self.hosts[index].ends[conn.0 as usize];
                let (connection, now) = (&mut self.connections[id.connection()], self.now);
                connection.end(id.side()).transport.close();
                if id.side() == Side::Client {
                    connection.closed.get_or_insert(now);
                }
                self.flush(id);
            }
        }
        None
    }

    fn open(&mut self, from: usize, to: HostId, tag: Tag) {
        let Way { to: server, there, back, tls, .. } = self.hosts[from].ways[to.0 as usize];
        let connection = self.connections.len();
        let mut end = |host: usize, side, route| {
            let conn = ConnId(self.hosts[host].ends.len() as u32);
            self.hosts[host].ends.push(EndId::new(connection, side));
            EndPlace { host: host as u32, conn, route, timer: self.deadlines.add() }
        };
        let (client, server) = (end(from, Side::Client, there), end(server, Side::Server, back));
        let metrics = self.hosts[server.host as usize].metrics.get(&from).copied().unwrap_or_default();
        let connect = Endpoint::connect(self.hosts[from].tcp);
        let listen = Endpoint::listen(self.hosts[server.host as usize].tcp).with_cached_metrics(metrics);
        let flights = self.plan.variant().tls_flights;
        let tcp_tls = |endpoint, role| TcpTls::new(endpoint, tls, Handshake::new(tls, flights, role));
        let ends = [(tcp_tls(connect, Role::Client), client), (tcp_tls(listen, Role::Server), server)];
        let mut opened = Connection::new(self.now, to, ends);
        if self.capture_limit > 0 {
            opened.note_transcripts();
        }
        self.connections.push(opened);
        let now = self.now;
        self.hosts[from].program().handle_opening(now, client.conn, tag);
        self.flush(EndId::new(connection, Side::Client));
    }

    /// Sends all that an end may send now.
    fn flush(&mut self, id: EndId) {
        while self.write(id) {}
    }

    /// Fills an end's room from the program, once, and sends its segments. Returns whether there is room again.
    fn write(&mut self, id: EndId) -> bool {
        let now = self.now;
        let end = self.connections[id.connection()].end(id.side());
        let host = end.host as usize;
        let (mut filled, mut has_ended) = (false, false);
        let has_room = loop {
            if !has_ended && end.next_stream(self.hosts[host].program()).is_some() {
                if std::mem::replace(&mut filled, true) {
                    break true;
                }
                has_ended = end.fill(self.hosts[host].program(), now);
            }
            let Some(segment) = end.transport.poll_packet(now) else {
                self.deadlines.arm(end.timer, end.transport.poll_timeout());
                // What has been sent may have made room for more.
                break end.next_stream(self.hosts[host].program()).is_some();
            };
            if id.side() == Side::Server && self.windows.len() < self.capture_limit {
                let segments = end.transport.cwnd();
                self.windows.push(CongestionWindowAt { at: now, connection: id.connection() as u32, segments });
            }
            self.path.handle_packet(now, Transit::new(end.route, SimPacket::Segment { to: id.other(), segment }));
        };
        if filled {
            // That may have been the end of a response, or what another connection waited for.
            self.queue_actions(host);
        }
        has_room
    }
}
