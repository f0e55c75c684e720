//! The browser: finds out what to fetch, opens connections, asks, and notes what happened when.
//!
//! `progress` knows what may begin; `pool` knows which connection is free, `connection` what was asked on one; this file
//! joins them with the sessions. The rules of the HTTP/1.1 browser stand at [`Pool`].

mod backup;
mod cache_reads;
mod coalescing;
mod config;
mod connection;
mod connection_limit;
mod failures;
mod foretold;
mod graph;
mod load_scheduler;
mod names;
mod navigation;
mod pipelining_probe;
mod pool;
mod progress;
mod race;
mod raising;
mod resolver;

pub use config::{Config, Hints, Joining};
pub use graph::Graph;
pub use resolver::{LookUp, Names};

use crate::page::{ActivityId, HostId, Needed, Page, Raise, RequestScheduling, Task};
use crate::{Action, Attempt, Closed, ConnId, LoadEvent, Marks, NameQuery, Opened, Program, Row, Tag};
use cache_reads::CacheReads;
use connection::{BrowserConnection, BrowserStage};
use load_scheduler::{FoundRequest, LoadScheduler};
use loadstone_http::{Chunk, Event, TransportStream, Wire};
use loadstone_units::Time;
use pipelining_probe::PipeliningProbe;
use pool::Pool;
use progress::Progress;
use resolver::Resolver;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How often an object is requested again after its connection failed.
const RETRIES: u32 = 3;
/// How long nothing may arrive on a connection with an outstanding response before it is given up: Firefox's
/// `network.http.response.timeout`. A server that has given up leaves no other sign.
const PATIENCE: Duration = Duration::from_secs(300);

/// A browser that loads one page.
#[derive(Debug)]
pub struct Browser {
    config: Config,
    page: Arc<Page>,
    progress: Progress,
    /// One for each host.
    pools: Vec<Pool>,
    /// How it finds out whether pipelines come through, if it does.
    probe: Option<PipeliningProbe>,
    /// For each host the first of those that its server serves.
    servers: Vec<HostId>,
    resolver: Resolver,
    reads: CacheReads,
    /// Holds requests back, where the page says that its browser does.
    scheduler: Option<LoadScheduler>,
    /// Objects that are to become more urgent, and how urgent those are that did.
    raises: Vec<Raise>,
    raised: BTreeMap<ActivityId, u8>,
    /// Of those that went out by it, one for each object.
    requests: Vec<Option<FoundRequest>>,
    /// Hosts for which something changed that may let a request go out, in the order of the changes.
    stirred: VecDeque<HostId>,
    connections: Vec<BrowserConnection>,
    /// One for each object.
    waterfall: Vec<Row>,
    /// Attempts at objects whose connections failed, in that order.
    failed: Vec<Attempt>,
    attempts: Vec<u32>,
    /// Bytes of bodies that came although they were refused.
    discarded: u64,
    /// Needed objects that are not complete.
    missing: u32,
    end: Option<LoadEnd>,
    load_event: Option<LoadEvent>,
    actions: VecDeque<Action>,
    /// Connections that are established as soon as the browser has computed for their handshakes, and when that is.
    settling: VecDeque<(Time, ConnId)>,
    /// Connections that have to be answered by a time, or are opened a second time.
    watched: VecDeque<(Time, ConnId)>,
    /// When to look for connections on which nothing has come for too long.
    next_expiry: Time,
}

/// How a load ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadEnd {
    /// When.
    pub at: Time,
    /// Whether everything that the page needs was there; else the browser gave up.
    pub completed: bool,
}

impl Browser {
    /// A browser that has not begun to load `page`.
    pub fn new(page: Arc<Page>, graph: Arc<Graph>, config: Config) -> Browser {
        let pools = page.hosts.iter().map(|_| Pool::new(config.protocol, config.connections, config.joining)).collect();
        let resolver = Resolver::new(&page.hosts, config.names);
        let needed = page.fetches().filter(|(activity, _)| activity.needed == Needed::Always).count();
        Browser {
            config,
            progress: Progress::new(graph),
            pools,
            probe: None,
            servers: page.hosts.iter().map(|host| host.server).collect(),
            resolver,
            reads: CacheReads::default(),
            scheduler: None,
            raises: page.raises.clone(),
            raised: BTreeMap::new(),
            requests: vec![None; page.objects],
            stirred: VecDeque::new(),
            connections: Vec::new(),
            waterfall: vec![Row::default(); page.objects],
            failed: Vec::new(),
            attempts: vec![0; page.objects],
            discarded: 0,
            missing: needed as u32,
            end: None,
            load_event: None,
            actions: VecDeque::new(),
            settling: VecDeque::new(),
            watched: VecDeque::new(),
            next_expiry: Time::NEVER,
            page,
        }
    }

    /// Begins to load the page.
    pub fn start(&mut self, now: Time) {
        if self.page.scheduling == RequestScheduling::Chromium {
            let multiplexed = self.pools.iter().map(|pool| pool.protocol.is_multiplexed() && !pool.is_racing());
            self.scheduler = Some(LoadScheduler::new(self.page.bodies.len(), multiplexed));
        }
        self.start_probe(now);
        self.progress.start(now);
        self.advance(now);
    }

    /// How the load ended, once it has.
    pub fn end(&self) -> Option<LoadEnd> {
        self.end
    }

    /// What happened when, for when the load has ended.
    pub fn into_marks(self) -> Marks {
        let (causes, look_ups) = (self.progress.causes().collect(), self.resolver.look_ups());
        let moments = self.page.moments.map(|moment| self.progress.ended(moment?));
        let view = self.page.view.iter().map(|(step, _)| self.progress.ended(*step)).collect();
        let Browser { waterfall: rows, failed, discarded, load_event, .. } = self;
        Marks { causes, rows, failed, look_ups, load_event, discarded, moments, view }
    }

    /// Begins everything that may begin, and hands out requests.
    fn advance(&mut self, now: Time) {
        if self.progress.is_ready(now) {
            self.begin_ready(now);
        }
        if self.progress.ends_by_event() {
            self.dispatch_load_event(now);
        }
        while let Some(host) = self.stirred.pop_front() {
            self.pools[host.0 as usize].stirred = false;
            self.dispatch(now, host);
        }
    }

    /// Begins what may begin.
    fn begin_ready(&mut self, now: Time) {
        loop {
            while let Some(activity) = self.progress.poll_ready(now) {
                if let Task::Fetch(fetch) = &self.page.activities[activity.0 as usize].task {
                    self.waterfall[activity.0 as usize].found = Some(now);
                    if fetch.is_cached {
                        self.reads.begin(now, activity);
                    } else {
                        self.want(activity);
                    }
                } else if let Some(host) = self.page.preconnects.get(&activity).copied() {
                    self.pools[host.0 as usize].expect();
                    self.stir(host);
                }
            }
            if !self.progress.close_task(now, self.missing == 0) {
                break;
            }
        }
        if let Some(scheduler) = &mut self.scheduler {
            let bodies = (0..).zip(&self.page.bodies).filter(|(_, body)| self.progress.has_begun(**body));
            bodies.for_each(|(document, _)| scheduler.loosen(document));
            self.send_scheduled();
        }
        self.raise();
    }

    /// Ends the load where nothing holds up its load event.
    fn dispatch_load_event(&mut self, now: Time) {
        if self.missing == 0
            && self.end.is_none()
            && let Some(event) = self.progress.poll_load_event(now)
        {
            self.end = Some(LoadEnd { at: event.at, completed: true });
            self.load_event = Some(event);
        }
    }

    /// Ends the load where all objects that it waits for are complete, and nothing else holds it up.
    fn end_with_objects(&mut self, now: Time) {
        if self.missing == 0 && self.end.is_none() && !self.progress.ends_by_event() {
            self.end = Some(LoadEnd { at: now, completed: true });
        }
    }

    /// All of an object is there.
    fn complete(&mut self, now: Time, object: ActivityId) {
        self.note_answer(object);
        self.progress.handle_end(now, object);
        self.missing -= u32::from(self.page.activities[object.0 as usize].needed == Needed::Always);
    }

    /// An object is to be asked for, now or when others are over.
    fn want(&mut self, object: ActivityId) {
        self.want_for(self.page.fetch(object).document, object);
    }

    /// The same for a document, or for none of them.
    fn want_for(&mut self, document: Option<u32>, object: ActivityId) {
        let host = self.page.fetch(object).host;
        let urgency = raising::priority(&self.page, &self.raised, object).urgency();
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.want(object, host, urgency, document);
            self.send_scheduled();
        } else {
            self.pools[host.0 as usize].want(object, u64::from(object.0));
            self.stir(host);
        }
    }

    /// Hands on what the scheduler does not hold back.
    fn send_scheduled(&mut self) {
        while let Some(request) = self.scheduler.as_mut().and_then(LoadScheduler::poll) {
            self.requests[request.object.0 as usize] = Some(request);
            let place = u64::from(request.urgency) << 32 | request.number;
            self.pools[request.host.0 as usize].want(request.object, place);
            self.stir(request.host);
        }
    }

    /// A request is over, as far as others wait for that.
    fn finish_scheduled(&mut self, object: ActivityId) {
        if let Some(scheduler) = &mut self.scheduler
            && let Some(request) = self.requests[object.0 as usize].take()
        {
            scheduler.finish(request);
            self.send_scheduled();
        }
    }

    fn stir(&mut self, host: HostId) {
        if !std::mem::replace(&mut self.pools[host.0 as usize].stirred, true) {
            self.stirred.push_back(host);
        }
    }

    /// Gives waiting objects to connections that take them, and opens more where that is the rule.
    fn dispatch(&mut self, now: Time, host: HostId) {
        self.ask(now, host);
        if self.pools[host.0 as usize].wanted() == 0 || !self.is_resolved(now, host) {
            return;
        }
        if self.join_another(host) {
            return self.ask(now, host);
        }
        let is_first = self.pools[host.0 as usize].open() == 0;
        for number in 0..self.openings(host) {
            let conn = self.open(now, host);
            if is_first && number == 0 {
                self.watch(now, conn);
            }
        }
    }

    /// Gives waiting objects to connections that take them.
    fn ask(&mut self, now: Time, host: HostId) {
        let pool = &mut self.pools[host.0 as usize];
        while let Some(conn) = pool.next_free() {
            let BrowserConnection { stage: BrowserStage::Established(session), streams, heard, .. } =
                &mut self.connections[conn.0 as usize]
            else {
                unreachable!("a free connection is established")
            };
            if session.capacity() == 0 {
                pool.busy(conn);
                continue;
            }
            let mut room = pool.at_a_time();
            while room > 0
                && session.capacity() > 0
                && let Some(object) = pool.take()
            {
                room -= 1;
                let (fetch, priority) = (self.page.fetch(object), raising::priority(&self.page, &self.raised, object));
                let id = session.request(fetch.request.clone(), fetch.upload.into(), priority);
                streams.push(Some(object));
                let row = &mut self.waterfall[object.0 as usize];
                (row.connection, row.on) = (Some(conn.0), session.carrier(id));
            }
            if room == 0 {
                pool.busy(conn);
            }
            *heard = now;
            self.next_expiry = self.next_expiry.min(now + PATIENCE);
            self.actions.push_back(Action::Transmit { conn });
        }
    }

    /// Notes what a session tells; whether a stream ended.
    fn drain_events(&mut self, now: Time, conn: ConnId) -> bool {
        let (mut ended, mut reset, mut refused) = (false, Vec::new(), Vec::new());
        while let Some(event) = self.connections[conn.0 as usize].session().and_then(|session| session.poll_event()) {
            if let Event::Promised { id, parent, head } = &event {
                self.take_push(now, conn, *id, *parent, &head.path);
                continue;
            }
            if let Event::Discarded { len } = event {
                self.discarded += len;
            }
            let Some(id) = event.request() else { continue };
            let Some(object) = self.connections[conn.0 as usize].object(id) else { continue };
            let is_misdirected = matches!(event, Event::End { .. }) && self.is_misdirected(conn, object);
            let row = &mut self.waterfall[object.0 as usize];
            match event {
                Event::Sent { .. } => row.sent = Some(now),
                Event::Interim { head, .. } => self.follow(now, object, &head),
                Event::Response { head, .. } => {
                    (row.first_byte, row.status) = (Some(now), Some(head.status));
                    self.follow(now, object, &head);
                }
                Event::Data { content, .. } => {
                    row.body_bytes += content.len();
                    self.progress.handle_bytes(now, object, content.len());
                }
                Event::End { .. } if is_misdirected => {
                    self.connections[conn.0 as usize].let_go(id);
                    self.leave_other(conn, object);
                    reset.push(object);
                }
                Event::End { .. } => {
                    ended = true;
                    row.last_byte = Some(now);
                    self.complete(now, object);
                    self.finish_scheduled(object);
                }
                Event::Reset { .. } => {
                    self.connections[conn.0 as usize].let_go(id);
                    reset.push(object);
                }
                Event::Refused { .. } => {
                    self.connections[conn.0 as usize].let_go(id);
                    refused.push(object);
                }
                Event::Trailers { .. } => {}
                Event::Request { .. }
                | Event::Rejected { .. }
                | Event::ResponseSent { .. }
                | Event::Promised { .. }
                | Event::Discarded { .. }
                | Event::Pong => {
                    unreachable!("a client's session is asked nothing")
                }
            }
        }
        self.end_with_objects(now);
        let freed = ended || !reset.is_empty() || !refused.is_empty();
        if !refused.is_empty() && !self.connections[conn.0 as usize].leaves_after_work() {
            reset.append(&mut refused);
        }
        for object in reset {
            self.attempts[object.0 as usize] += 1;
            self.ask_again(now, object);
        }
        for object in refused {
            self.ask_again(now, object);
        }
        freed
    }

    /// Gives up a connection whose session takes no more requests: of itself when nothing is under way, and
    /// of its place then too, or at once if it has many streams. The limit of HTTP/1.1 is on connections that
    /// carry something, so a response that is the last one keeps its place to its end.
    fn drain(&mut self, now: Time, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        let host = connection.host;
        let BrowserStage::Established(session) = &connection.stage else { return };
        if !session.is_closing() {
            return;
        }
        let is_over = session.is_over() && !session.has_output();
        if !is_over && !self.pools[host.0 as usize].protocol.is_multiplexed() {
            return;
        }
        if !std::mem::replace(&mut connection.is_retired, true) {
            let hosts = connection.hosts();
            hosts.clone().for_each(|host| self.pools[host.0 as usize].drain(conn));
            connection.guests.clear();
            hosts.for_each(|host| self.stir(host));
        }
        if is_over {
            self.actions.push_back(Action::Close { conn });
            self.lose(now, conn);
        }
    }

    /// The connection may take another request.
    fn offer(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        if connection.session().is_some_and(|session| session.capacity() > 0) {
            for host in connection.hosts() {
                self.pools[host.0 as usize].free(conn);
                self.stir(host);
            }
            self.stir_all();
        }
    }

    /// A connection takes requests from now on.
    fn settle(&mut self, now: Time, conn: ConnId) {
        let host = self.connections[conn.0 as usize].host;
        let has_raced = self.pools[host.0 as usize].is_racing();
        if !self.pools[host.0 as usize].established(conn) {
            self.actions.push_back(Action::Close { conn });
            return self.lose(now, conn);
        }
        self.offer(conn);
        if has_raced {
            self.end_race(now, conn, host);
        }
        self.advance(now);
    }
}

impl Program for Browser {
    fn handle_opening(&mut self, _: Time, conn: ConnId, tag: Tag) {
        // It accepts none, so the driver numbers them in the order in which they were asked for.
        assert_eq!(conn.0, tag.0, "a browser's connections are those that it opens");
    }

    fn handle_resolved(&mut self, now: Time, query: NameQuery) {
        self.take_answer(now, query);
        self.advance(now);
    }

    fn handle_connected(&mut self, _: Time, conn: ConnId) {
        self.connections[conn.0 as usize].is_connected = true;
    }

    fn handle_open(&mut self, now: Time, conn: ConnId, Opened { protocol, .. }: Opened) {
        let host = self.connections[conn.0 as usize].host;
        if matches!(self.connections[conn.0 as usize].stage, BrowserStage::Ended) {
            // It was given up, and the driver has not got to that yet.
            return;
        }
        let pool = &self.pools[host.0 as usize];
        let protocol = if protocol == pool.protocol { pool.spoken() } else { protocol };
        let is_secure = self.page.hosts[host.0 as usize].secure;
        let connection = &mut self.connections[conn.0 as usize];
        connection.is_shared = is_secure && protocol.is_multiplexed();
        connection.stage = BrowserStage::Established(self.config.sessions.client(protocol));
        if is_secure && !self.page.handshake.is_zero() {
            connection.is_settling = true;
            self.settling.push_back((now + self.page.handshake, conn));
        } else {
            self.settle(now, conn);
        }
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        let BrowserConnection { stage: BrowserStage::Established(session), heard, farewell, .. } =
            &mut self.connections[conn.0 as usize]
        else {
            return;
        };
        *heard = now;
        let result = session.handle_input(now, on, input);
        if result.is_err() {
            session.poll_transmit(now, on, usize::MAX, farewell);
        }
        if session.has_output() || !farewell.is_empty() {
            // Answers of the session's own: to settings, or room in a window.
            self.actions.push_back(Action::Transmit { conn });
        }
        if self.drain_events(now, conn) {
            self.offer(conn);
        }
        if result.is_ok() {
            self.drain(now, conn);
            self.advance(now);
        } else {
            self.actions.push_back(Action::Close { conn });
            self.lose(now, conn);
        }
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        if let (Some(session), Closed::Finished) = (self.connections[conn.0 as usize].session(), how) {
            // A message cut short is asked for again below, like everything that is outstanding.
            let _truncated = session.handle_fin(now, TransportStream::TCP);
            self.drain_events(now, conn);
        }
        self.actions.push_back(Action::Close { conn });
        self.lose(now, conn);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.next_expiry <= now {
            self.expire(now);
        }
        while let Some((_, conn)) = self.settling.front().copied().filter(|(due, _)| *due <= now) {
            self.settling.pop_front();
            if std::mem::take(&mut self.connections[conn.0 as usize].is_settling) {
                self.settle(now, conn);
            }
        }
        self.expire_probe(now);
        self.open_backups(now);
        self.finish_reads(now);
        if self.resolver.deadline() <= now {
            self.ask_for_names_again(now);
        }
        self.advance(now);
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        let BrowserConnection { stage, heard, farewell, .. } = &mut self.connections[conn.0 as usize];
        if let BrowserStage::Established(session) = stage {
            session.poll_transmit(now, on, room, out);
            *heard = now;
            self.drain_events(now, conn);
        } else {
            farewell.move_to(farewell.len().min(room as u64), out);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let first = |queue: &VecDeque<(Time, ConnId)>| queue.front().map_or(Time::NEVER, |(due, _)| *due);
        let connections =
            first(&self.settling).min(first(&self.watched)).min(self.next_expiry).min(self.reads.deadline());
        let probe = self.probe.map_or(Time::NEVER, |probe| probe.deadline());
        let next = self.progress.next_timer().min(self.resolver.deadline()).min(connections).min(probe);
        (next < Time::NEVER).then_some(next)
    }
}

#[cfg(test)]
mod tests;
