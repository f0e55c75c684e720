//! Hosts a program on sockets: the loop of one runtime, which owns the program and all its
//! connections.
//!
//! One iteration: of each connection that is ready, read what it has and then read the clock once,
//! so that nothing is seen before it happened; hand both to the program, run its actions, let the
//! connection send what there is room for. When no socket is ready any more, it sleeps until one is,
//! until a peer's deadline, or until the program's.
//!
//! A host that gathers lets connections send at the end of an iteration, and several writes of the program go out by one system
//! call: so does what several others have brought for one, a little later than it could.

use crate::acceptor::{Acceptor, is_resource_exhausted};
use crate::connection::SocketConnection;
use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::name_client::NameClient;
use crate::sleep::Sleep;
use crate::socket::Socket;
use crate::tls_layer::TlsLayer;
use crate::{Bodies, Clock, Destinations, Error, Limits, PathNotes, Pattern, SocketRecord, Target};
use bytes::BytesMut;
use loadstone_http::{Chunk, TransportStream};
use loadstone_load::page::HostId;
use loadstone_load::{Action, ConnId, Program, Tag};
use loadstone_units::Time;
use rustls::ServerConfig;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::{unconstrained, yield_now};

/// How many bytes a host that gathers writes at once: a system call costs more than some records of TLS.
const GATHERED: usize = 64 * 1024;
/// The most connections accepted in an iteration, so that a flood of them does not starve the others.
const ACCEPTS: u32 = 256;

pub(crate) struct HostLoop<'a, P> {
    clock: &'a Clock,
    pub(crate) program: P,
    /// Where connections are opened to, if this program opens any.
    destinations: Option<Cow<'a, Destinations>>,
    /// Who is asked for addresses, if not all are known.
    names: Option<NameClient<'a>>,
    /// Where connections are accepted, if any are.
    acceptors: Vec<Acceptor>,
    /// A closed connection must end the wait: accepting is paused for want of slots, or the server is draining.
    accept_paused: bool,
    /// The contents of bodies sent on connections opened from here.
    pub(crate) bodies: Rc<dyn Bodies>,
    connections: ConnectionTable,
    /// Whether connections send at the end of an iteration, and those on which there may be something to send then.
    gathers: bool,
    sending: BTreeSet<ConnId>,
    timer: Sleep,
    /// Where what is read goes through.
    buffer: BytesMut,
    pub(crate) iterations: u64,
}

/// Runs `task` on a runtime of this thread alone.
pub(crate) fn block_on<T>(task: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(Error::Runtime)?;
    // An iteration looks at every connection that is ready, and then yields by itself.
    runtime.block_on(unconstrained(task))
}

impl<'a, P: Program> HostLoop<'a, P> {
    /// Inside of [`block_on`].
    pub(crate) fn new(
        clock: &'a Clock,
        program: P,
        destinations: Option<&'a Destinations>,
        acceptors: Vec<Acceptor>,
        connections: ConnectionTable,
    ) -> Result<Self, Error> {
        let (timer, buffer) = (Sleep::new().map_err(Error::Runtime)?, BytesMut::new());
        let server = destinations.and_then(|destinations| destinations.names.as_ref());
        let names = server.map(NameClient::new).transpose()?;
        let bodies = Rc::new(Pattern);
        Ok(HostLoop {
            clock,
            program,
            destinations: destinations.map(Cow::Borrowed),
            names,
            acceptors,
            accept_paused: false,
            bodies,
            connections,
            gathers: false,
            sending: BTreeSet::new(),
            timer,
            buffer,
            iterations: 0,
        })
    }

    /// Lets connections send at the end of an iteration, several writes at once: for programs that nobody measures, and that still
    /// know then what a connection that they close has to say.
    pub(crate) fn gather(&mut self) {
        self.gathers = true;
    }

    /// What the clock shows.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Goes on until `is_over` returns true, the clock shows `until`, or it is told to stop, and gives what it is told.
    pub(crate) async fn run<T>(
        &mut self,
        until: Time,
        stop: impl Future<Output = T>,
        is_over: impl Fn(&Self) -> bool,
    ) -> Result<Option<T>, Error> {
        let mut stop = pin!(stop);
        loop {
            let iteration = poll_fn(|cx| {
                self.iterate(cx)?;
                if is_over(self) || self.clock.now() >= until {
                    return Poll::Ready(Ok(ControlFlow::Break(None)));
                }
                if let Poll::Ready(told) = stop.as_mut().poll(cx) {
                    return Poll::Ready(Ok(ControlFlow::Break(Some(told))));
                }
                self.poll_ready(until, cx).map(|()| Ok(ControlFlow::Continue(())))
            });
            if let ControlFlow::Break(told) = iteration.await? {
                return Ok(told);
            }
            // The runtime has to look at the sockets: one that always has room must not starve the others.
            yield_now().await;
        }
    }

    /// Stops listening, so the kernel refuses new connections.
    pub(crate) fn stop_accepting(&mut self) {
        self.acceptors.clear();
        self.accept_paused = true;
    }

    /// Has this destination from now on, in place of another or as the next one.
    pub(crate) fn set_target(&mut self, HostId(at): HostId, target: Target) {
        let destinations = self.destinations.as_mut().expect("only a program with destinations has others");
        let targets = &mut destinations.to_mut().targets;
        match targets.get_mut(at as usize) {
            Some(place) => *place = target,
            None => targets.push(target),
        }
    }

    /// Speaks TLS so with those who connect from now on.
    pub(crate) fn set_tls(&mut self, tls: Option<&Arc<ServerConfig>>) {
        self.acceptors.iter_mut().for_each(|acceptor| acceptor.set_tls(tls.cloned()));
    }

    /// Has these limits from now on.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.connections.set_limits(limits);
    }

    /// Whether it has no connection.
    pub(crate) fn has_no_connections(&self) -> bool {
        self.connections.is_empty()
    }

    fn iterate(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.iterations += 1;
        self.accept_pending(cx)?;
        self.take_answers(cx)?;
        for conn in self.connections.take_ready(cx.waker()) {
            self.handle_ready(conn)?;
        }
        if self.connections.deadline() != Time::NEVER {
            let now = self.clock.now();
            while let Some(conn) = self.connections.expire(now) {
                self.handle_ready(conn)?;
            }
        }
        if let Some(deadline) = self.program.poll_timeout() {
            let now = self.clock.now();
            if deadline <= now {
                self.program.handle_timeout(now);
                self.run_actions(now)?;
            }
        }
        self.send()
    }

    /// Lets connections send what was gathered for them.
    fn send(&mut self) -> Result<(), Error> {
        while let Some(conn) = self.sending.pop_first() {
            let now = self.clock.now();
            self.write(now, conn, |_| {});
            // What has gone out here may be what another connection waited for.
            self.run_actions(now)?;
        }
        Ok(())
    }

    /// Accepts the connections that have come in, as long as there is room for them.
    fn accept_pending(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if !self.acceptors.is_empty() {
            self.accept_paused = false;
        }
        for acceptor in 0..self.acceptors.len() {
            for accepted in 0.. {
                if self.connections.is_full() {
                    self.accept_paused = true;
                    return Ok(());
                }
                if accepted == ACCEPTS {
                    // There may be more, in the next iteration.
                    cx.waker().wake_by_ref();
                    break;
                }
                let conn = self.connections.next()?;
                match self.acceptors[acceptor].poll_accept(self.clock, conn, cx) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(connection)) => {
                        self.connections.add(conn, connection);
                        self.connections.set_ready(conn);
                    }
                    Poll::Ready(Err(error)) if is_resource_exhausted(&error) && !self.connections.is_empty() => {
                        self.accept_paused = true;
                        return Ok(());
                    }
                    Poll::Ready(Err(error)) => return Err(Error::Accept(error)),
                }
            }
        }
        Ok(())
    }

    /// Tells the program which addresses have come.
    fn take_answers(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        while let Some(Poll::Ready(query)) = self.names.as_ref().map(|names| names.poll_answer(cx)) {
            let now = self.clock.now();
            self.program.handle_resolved(now, query);
            self.run_actions(now)?;
        }
        Ok(())
    }

    /// Tells the program what has happened on a connection, and lets it send.
    fn handle_ready(&mut self, conn: ConnId) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(conn) else { return Ok(()) };
        let events = connection.poll_read(self.clock, &mut self.buffer);
        let now = events.at;
        if events.connected {
            self.program.handle_connected(now, conn);
            self.run_actions(now)?;
        }
        if let Some(opened) = events.opened {
            self.program.handle_open(now, conn, opened);
            self.run_actions(now)?;
        }
        if !events.input.is_empty() {
            self.program.handle_input(now, conn, TransportStream::TCP, &[Chunk::Bytes(events.input)]);
            self.run_actions(now)?;
        }
        self.want_write(now, conn, |_| {});
        // What has gone out here may be what another connection waited for.
        self.run_actions(now)?;
        if let Some(how) = events.closed {
            self.send_what_is_left(now, conn);
            self.run_actions(now)?;
            self.program.handle_close(now, conn, how);
            self.run_actions(now)?;
        }
        Ok(())
    }

    /// Runs the program's actions.
    ///
    /// # Errors
    /// If there is no `ConnId` left for a connection.
    pub(crate) fn run_actions(&mut self, now: Time) -> Result<(), Error> {
        while let Some(action) = self.program.poll_action() {
            match action {
                Action::Open { to, tag } => self.open(now, to, tag)?,
                Action::Transmit { conn } => self.want_write(now, conn, SocketConnection::want_write),
                Action::Receive { conn, limit, .. } => self.receive(conn, limit),
                Action::Abort { conn } => self.connections.get_mut(conn).into_iter().for_each(SocketConnection::abort),
                Action::Close { conn } => {
                    self.send_what_is_left(now, conn);
                    self.write(now, conn, |connection| connection.close(now));
                }
                Action::Resolve { query } => match &self.names {
                    Some(names) => names.ask(query),
                    // Its destinations have the addresses of all servers.
                    None => self.program.handle_resolved(now, query),
                },
            }
        }
        Ok(())
    }

    /// Lets a connection send, after `first` was done with it: now, or at the end of the iteration. No-op if the connection is gone.
    fn want_write(&mut self, now: Time, conn: ConnId, first: impl FnOnce(&mut SocketConnection)) {
        if !self.gathers {
            return self.write(now, conn, first);
        }
        if let Some(connection) = self.connections.get_mut(conn) {
            first(connection);
            self.sending.insert(conn);
        }
    }

    /// Lets a connection send now what it would send at the end of the iteration.
    fn send_what_is_left(&mut self, now: Time, conn: ConnId) {
        if self.sending.remove(&conn) {
            self.write(now, conn, |_| {});
        }
    }

    /// Lets a connection send now, after `first` was done with it. No-op if the connection is gone.
    fn write(&mut self, now: Time, conn: ConnId, first: impl FnOnce(&mut SocketConnection)) {
        if let Some(connection) = self.connections.get_mut(conn) {
            first(connection);
            connection.poll_write(now, conn, &mut self.program, if self.gathers { GATHERED } else { 0 });
        }
    }

    /// The program takes more of what comes on a connection: there may be unread input.
    fn receive(&mut self, conn: ConnId, limit: u64) {
        if let Some(connection) = self.connections.get_mut(conn) {
            connection.set_max_data(limit);
            self.connections.set_ready(conn);
        }
    }

    fn open(&mut self, now: Time, to: HostId, tag: Tag) -> Result<(), Error> {
        let conn = self.connections.next()?;
        let destinations = self.destinations.as_ref().expect("only a program with destinations opens connections");
        let target = &destinations.targets[to.0 as usize];
        let socket = Socket::connect(target.address, destinations.notsent_lowat);
        let client = socket.as_ref().ok().and_then(Socket::local_address);
        let tls = TlsLayer::new(target.tls.as_ref().map(|tls| tls.connect()), self.bodies.clone());
        let mut record = SocketRecord::new(conn, to, target.address, client, now);
        record.path = (destinations.path_notes == PathNotes::Kept).then(Box::default);
        self.connections.add(conn, SocketConnection::opening(socket, tls, target.protocol, record));
        self.program.handle_opening(now, conn, tag);
        Ok(())
    }

    /// Ready if there is something to do now; otherwise the task is woken when there is.
    fn poll_ready(&mut self, until: Time, cx: &mut Context<'_>) -> Poll<()> {
        // Registers wakers for everything that changed; the acceptors and the name server's
        // socket were polled in the iteration already.
        let closed = self.connections.update_interest(self.clock);
        let deadline = self.program.poll_timeout().unwrap_or(Time::NEVER).min(until).min(self.connections.deadline());
        let is_due = self.timer.poll(self.clock, deadline, cx).is_ready();
        let has_room = self.accept_paused && closed > 0;
        if is_due || has_room || self.connections.has_ready() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The program, and the records of its connections.
    pub(crate) fn finish(self) -> (P, ClosedTable) {
        (self.program, self.connections.close_all(self.clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NOTSENT_LOWAT, RecordKeeping, Stopper, listen};
    use loadstone_http::{BodyId, Protocol, Wire};
    use loadstone_load::{Closed, Opened};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    /// What takes so long never comes.
    const LIMIT: Duration = Duration::from_secs(60);

    /// Always has something to send on its first connection, and reads the second.
    struct AlwaysWriting {
        /// The other end of the first, which it reads itself, so that there always is room.
        first: TcpStream,
        /// The other end of the second.
        second: TcpStream,
        actions: Vec<Action>,
        polls: u32,
        heard: bool,
    }

    impl Program for AlwaysWriting {
        fn handle_open(&mut self, _: Time, conn: ConnId, _: Opened) {
            if conn == ConnId(0) {
                self.actions.push(Action::Transmit { conn });
            }
        }

        fn handle_input(&mut self, _: Time, conn: ConnId, _: TransportStream, _: &[Chunk]) {
            assert_eq!(conn, ConnId(1));
            self.heard = true;
        }

        fn handle_close(&mut self, _: Time, _: ConnId, _: Closed) {}

        fn handle_timeout(&mut self, _: Time) {}

        fn poll_action(&mut self) -> Option<Action> {
            self.actions.pop()
        }

        fn poll_transmit(&mut self, _: Time, _: ConnId, _: TransportStream, room: usize, out: &mut Wire) {
            while matches!(self.first.read(&mut [0; GATHERED]), Ok(1..)) {}
            self.polls += 1;
            if self.polls == 100 {
                self.second.write_all(b"?").unwrap();
            }
            out.push(Chunk::Run { body: BodyId(0), offset: 0, len: room as u64 });
        }

        fn poll_timeout(&self) -> Option<Time> {
            None
        }
    }

    #[test]
    fn a_connection_that_takes_and_takes_keeps_no_other_from_being_heard() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let [first, second] = [(); 2].map(|()| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        first.set_nonblocking(true).unwrap();
        let (protocol, notsent_lowat) = (Protocol::Http1, NOTSENT_LOWAT);
        let (clock, (_stopper, stop)) = (Clock::start(), Stopper::new());
        let program = AlwaysWriting { first, second, actions: Vec::new(), polls: 0, heard: false };
        let (program, _) = block_on(async {
            let acceptor = Acceptor::new(HostId(0), listener, None, protocol, notsent_lowat)?;
            let connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Collect);
            let mut host = HostLoop::new(&clock, program, None, vec![acceptor], connections)?;
            host.run(Time::ZERO + LIMIT, stop.wait(), |host| host.program.heard || host.program.polls > 10_000).await?;
            Ok(host.finish())
        })
        .unwrap();
        assert!(program.heard);
    }
}
