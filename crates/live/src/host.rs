//! Hosts a program on sockets: the loop of one runtime, which owns the program and all its
//! connections.
//!
//! A turn of it: of each connection that is ready, read what it has and then read the clock once,
//! so that nothing is seen before it happened; hand both to the program, do what that wants done, let
//! the connection send what there is room for. When no socket has anything more to say, it sleeps until
//! one has, until its patience with a peer is over, or until the program's deadline.

use crate::acceptor::{Acceptor, is_want_of_room};
use crate::channel::Channel;
use crate::connection::SocketConnection;
use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::sleep::Sleep;
use crate::socket::Socket;
use crate::{Bodies, Clock, Connected, Destinations, Error, Pattern, Stop};
use loadstone_http::{Chunk, TransportStream};
use loadstone_load::page::HostId;
use loadstone_load::{Action, ConnId, Program, Tag};
use loadstone_units::Time;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::task::{unconstrained, yield_now};

/// The most bytes read from a connection in a turn.
const READ: usize = 64 * 1024;

/// The most connections accepted in a turn, so that a flood of them keeps nobody from being heard.
const ACCEPTS: u32 = 256;

pub(crate) struct HostLoop<'a, P> {
    clock: &'a Clock,
    pub(crate) program: P,
    /// Where connections are opened to, if this program opens any.
    route: Option<&'a Destinations>,
    /// Where connections are accepted, if any are.
    acceptors: Vec<Acceptor>,
    /// Somebody waits until a connection has ended: at the acceptor, or because it is shut.
    is_crowded: bool,
    /// What the bodies consist of that are sent on connections opened from here.
    pub(crate) bodies: Rc<dyn Bodies>,
    connections: ConnectionTable,
    alarm: Sleep,
    buffer: Box<[u8]>,
    pub(crate) turns: u64,
}

/// Runs `task` on a runtime of this thread alone.
pub(crate) fn block_on<T>(task: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(Error::Runtime)?;
    // A turn looks at every connection that is ready, and then yields by itself.
    runtime.block_on(unconstrained(task))
}

impl<'a, P: Program> HostLoop<'a, P> {
    /// Inside of [`block_on`].
    pub(crate) fn new(
        clock: &'a Clock,
        program: P,
        route: Option<&'a Destinations>,
        acceptors: Vec<Acceptor>,
        connections: ConnectionTable,
    ) -> Result<Self, Error> {
        let (alarm, buffer) = (Sleep::new().map_err(Error::Runtime)?, vec![0; READ].into());
        let bodies = Rc::new(Pattern);
        Ok(HostLoop {
            clock,
            program,
            route,
            acceptors,
            is_crowded: false,
            bodies,
            connections,
            alarm,
            buffer,
            turns: 0,
        })
    }

    /// Goes on until `is_over` says so, the clock shows `until`, or it is told to stop.
    pub(crate) async fn run(&mut self, until: Time, stop: &Stop, is_over: impl Fn(&Self) -> bool) -> Result<(), Error> {
        let mut stopped = pin!(stop.wait());
        loop {
            let turn = poll_fn(|cx| {
                self.turn(cx)?;
                if is_over(self) || self.clock.now() >= until || stopped.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(ControlFlow::Break(())));
                }
                self.poll_ready(until, cx).map(|()| Ok(ControlFlow::Continue(())))
            });
            if turn.await?.is_break() {
                return Ok(());
            }
            // The runtime has to look at the sockets: one that takes and takes must not keep it from
            // hearing what others have to say.
            yield_now().await;
        }
    }

    /// Accepts nobody any more: who comes is refused by the kernel.
    pub(crate) fn shut_doors(&mut self) {
        self.acceptors.clear();
        self.is_crowded = true;
    }

    /// Whether it has no connection.
    pub(crate) fn is_deserted(&self) -> bool {
        self.connections.is_empty()
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.turns += 1;
        self.answer(cx)?;
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
                self.act(now)?;
            }
        }
        Ok(())
    }

    /// Accepts those who have come, as long as there is room for them.
    fn answer(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if !self.acceptors.is_empty() {
            self.is_crowded = false;
        }
        for acceptor in 0..self.acceptors.len() {
            for turn in 0.. {
                if self.connections.is_full() {
                    self.is_crowded = true;
                    return Ok(());
                }
                if turn == ACCEPTS {
                    // There may be more, in the next turn.
                    cx.waker().wake_by_ref();
                    break;
                }
                let conn = self.connections.next()?;
                match self.acceptors[acceptor].poll_accept(self.clock, conn, cx) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(connection)) => {
                        self.connections.add(conn, connection);
                        self.connections.mark_ready(conn);
                    }
                    Poll::Ready(Err(error)) if is_want_of_room(&error) && !self.connections.is_empty() => {
                        self.is_crowded = true;
                        return Ok(());
                    }
                    Poll::Ready(Err(error)) => return Err(Error::Accept(error)),
                }
            }
        }
        Ok(())
    }

    /// Tells the program what a connection has to say, and lets it send.
    fn handle_ready(&mut self, conn: ConnId) -> Result<(), Error> {
        let Some(connection) = self.connections.touch(conn) else { return Ok(()) };
        let heard = connection.poll_read(self.clock, &mut self.buffer);
        let now = heard.at;
        if let Some(opened) = heard.opened {
            self.program.handle_open(now, conn, opened);
            self.act(now)?;
        }
        if !heard.input.is_empty() {
            self.program.handle_input(now, conn, TransportStream::TCP, &[Chunk::Bytes(heard.input)]);
            self.act(now)?;
        }
        self.write(now, conn, |_| {});
        // What has gone out here may be what another connection waited for.
        self.act(now)?;
        if let Some(how) = heard.ended {
            self.program.handle_close(now, conn, how);
            self.act(now)?;
        }
        Ok(())
    }

    /// Does what the program wants done.
    ///
    /// # Errors
    /// If there is no number left for a connection.
    pub(crate) fn act(&mut self, now: Time) -> Result<(), Error> {
        while let Some(action) = self.program.poll_action() {
            match action {
                Action::Open { to, tag } => self.open(now, to, tag)?,
                Action::Transmit { conn } => self.write(now, conn, SocketConnection::mark_writable),
                Action::Receive { conn, limit, .. } => self.receive(conn, limit),
                Action::Abort { conn } => self.connections.touch(conn).into_iter().for_each(SocketConnection::abort),
                Action::Close { conn } => self.write(now, conn, |connection| connection.close(now)),
            }
        }
        Ok(())
    }

    /// Lets a connection send, after `first` was done with it. What it does with one that is gone
    /// concerns nobody.
    fn write(&mut self, now: Time, conn: ConnId, first: impl FnOnce(&mut SocketConnection)) {
        if let Some(connection) = self.connections.touch(conn) {
            first(connection);
            connection.poll_write(now, conn, &mut self.program);
        }
    }

    /// The program takes more of what comes on a connection: there may be some that nobody has read.
    fn receive(&mut self, conn: ConnId, limit: u64) {
        if let Some(connection) = self.connections.touch(conn) {
            connection.set_limit(limit);
            self.connections.mark_ready(conn);
        }
    }

    fn open(&mut self, now: Time, to: HostId, tag: Tag) -> Result<(), Error> {
        let conn = self.connections.next()?;
        let route = self.route.expect("only a program with a route opens connections");
        let target = &route.targets[to.0 as usize];
        let socket = Socket::connect(target.address, route.notsent_lowat);
        let client = socket.as_ref().ok().and_then(Socket::local_address);
        let channel = Channel::new(target.tls.as_ref().map(|tls| tls.connect()), self.bodies.clone());
        let record = Connected::new(conn, to, target.address, client, now);
        self.connections.add(conn, SocketConnection::opening(socket, channel, route.protocol, record));
        self.program.handle_opening(now, conn, tag);
        Ok(())
    }

    /// Whether there is something to do now; if not, the task is woken when there is.
    fn poll_ready(&mut self, until: Time, cx: &mut Context<'_>) -> Poll<()> {
        // Everything that may have changed is asked, so that everything can wake the task; new connections
        // have been asked for.
        let gone = self.connections.settle(self.clock);
        let deadline = self.program.poll_timeout().unwrap_or(Time::NEVER).min(until).min(self.connections.deadline());
        let is_due = self.alarm.poll(self.clock, deadline, cx).is_ready();
        let has_room = self.is_crowded && gone > 0;
        if is_due || has_room || self.connections.is_calling() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The program, and what is known of its connections.
    pub(crate) fn finish(self) -> (P, ClosedTable) {
        (self.program, self.connections.disperse(self.clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, NOTSENT_LOWAT, RecordKeeping, Stopper, listen};
    use loadstone_http::{BodyId, Protocol, Wire};
    use loadstone_load::{Closed, Opened};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// Has no end of things to send on its first connection, and listens to the second.
    struct Tireless {
        /// The other end of the first, which it reads itself, so that there always is room.
        first: TcpStream,
        /// The other end of the second.
        second: TcpStream,
        actions: Vec<Action>,
        polls: u32,
        heard: bool,
    }

    impl Program for Tireless {
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
            while matches!(self.first.read(&mut [0; READ]), Ok(1..)) {}
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
        let program = Tireless { first, second, actions: Vec::new(), polls: 0, heard: false };
        let (program, _) = block_on(async {
            let acceptor = Acceptor::new(HostId(0), listener, None, protocol, notsent_lowat)?;
            let connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Kept);
            let mut host = HostLoop::new(&clock, program, None, vec![acceptor], connections)?;
            host.run(Time::NEVER, &stop, |host| host.program.heard || host.program.polls > 10_000).await?;
            Ok(host.finish())
        })
        .unwrap();
        assert!(program.heard);
    }
}
