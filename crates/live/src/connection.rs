//! One end of a connection: its socket, its channel, and how far it has come.
//!
//! It decides nothing: it passes bytes between a program and a socket as long as the program has any
//! and the socket has room, and says what it heard.

use crate::channel::Channel;
use crate::socket::Socket;
use crate::{Clock, Connected, Failure, Limits};
use bytes::Bytes;
use loadstone_http::{Protocol, TransportStream, Wire};
use loadstone_load::{Closed, ConnId, Opened, Opener, Program};
use loadstone_units::Time;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll};

#[derive(Debug)]
pub(crate) struct SocketConnection {
    /// None when nothing more can happen.
    socket: Option<Socket>,
    channel: Channel,
    by: Opener,
    /// What is spoken if the handshake agrees on nothing.
    protocol: Protocol,
    stage: OpenState,
    sending: Sending,
    /// The program has something to send.
    eager: bool,
    /// Nothing more can be read from the socket.
    drained: bool,
    /// How much content was handed on to the program, and up to where it takes any.
    received: u64,
    limit: u64,
    ended: Option<Closed>,
    /// The program has been told that the connection has ended.
    told: bool,
    /// How many bytes the socket has taken.
    taken: u64,
    /// Since when it has taken nothing of what waits for it; none if nothing waits.
    waiting: Option<Time>,
    /// When the program closed it.
    closed: Option<Time>,
    /// Storage that is used again and again.
    wire: Wire,
    record: Connected,
}

/// How far the connection is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenState {
    /// TCP's handshake is not over.
    Connecting,
    /// TLS's handshake is not over.
    ShakingHands,
    /// The program has been told that it is open.
    Open,
}

/// How far sending has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sending {
    On,
    /// What has been polled goes out, then the end.
    Ending,
    /// The end has gone out.
    Over,
}

/// What a connection has to tell the program, in this order.
#[derive(Debug)]
pub(crate) struct ReadEvents {
    /// When it was heard.
    pub(crate) at: Time,
    /// It is open.
    pub(crate) opened: Option<Opened>,
    /// Content that has arrived.
    pub(crate) input: Bytes,
    /// It has ended.
    pub(crate) ended: Option<Closed>,
}

impl SocketConnection {
    /// A connection that is being opened; one that could not even begin has failed.
    pub(crate) fn opening(begun: io::Result<Socket>, channel: Channel, protocol: Protocol, record: Connected) -> Self {
        SocketConnection::new(begun, channel, Opener::Us, protocol, record)
    }

    /// A connection that has been accepted.
    pub(crate) fn accepted(
        socket: io::Result<Socket>,
        channel: Channel,
        protocol: Protocol,
        record: Connected,
    ) -> Self {
        SocketConnection::new(socket, channel, Opener::Peer, protocol, record)
    }

    fn new(socket: io::Result<Socket>, channel: Channel, by: Opener, protocol: Protocol, record: Connected) -> Self {
        let mut connection = SocketConnection {
            socket: None,
            channel,
            by,
            protocol,
            stage: if by == Opener::Us { OpenState::Connecting } else { OpenState::ShakingHands },
            sending: Sending::On,
            eager: false,
            drained: false,
            received: 0,
            limit: u64::MAX,
            ended: None,
            told: false,
            taken: 0,
            waiting: None,
            closed: None,
            wire: Wire::default(),
            record,
        };
        match socket {
            Ok(socket) => connection.socket = Some(socket),
            Err(error) => connection.fail(Failure::Unreachable(error.kind())),
        }
        connection
    }

    /// Whether something may still happen on it.
    pub(crate) fn is_alive(&self) -> bool {
        self.socket.is_some() || self.has_news()
    }

    /// Whether it has ended and the program does not know.
    fn has_news(&self) -> bool {
        self.ended.is_some() && !self.told
    }

    /// What is known of it so far.
    pub(crate) fn record(&self) -> &Connected {
        &self.record
    }

    /// Goes on with what the socket has to say.
    pub(crate) fn poll_read(&mut self, clock: &Clock, buffer: &mut [u8]) -> ReadEvents {
        let read = self.read(buffer);
        let mut heard = ReadEvents { at: clock.now(), opened: None, input: Bytes::new(), ended: None };
        match read.and_then(|bytes| self.listen(bytes, &mut heard)) {
            Err(failure) => self.fail(failure),
            Ok(()) => self.release(),
        }
        if self.has_news() {
            (heard.ended, self.told) = (self.ended, true);
        }
        heard
    }

    /// Takes what the socket has; nothing as long as it connects.
    fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Result<&'a [u8], Failure> {
        let Some(socket) = &self.socket else { return Ok(&[]) };
        if self.stage == OpenState::Connecting {
            match socket.connected() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(&[]),
                result => result.map_err(|error| Failure::Unreachable(error.kind()))?,
            }
            self.stage = OpenState::ShakingHands;
            self.channel.begin();
        }
        if self.drained || !self.takes_input() {
            return Ok(&[]);
        }
        let most = self.channel.transport_room(self.limit - self.received).min(buffer.len() as u64);
        match socket.read(&mut buffer[..most as usize]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(&[]),
            Err(error) => Err(Failure::Broken(error.kind())),
            Ok(count) => {
                self.drained = count == 0;
                Ok(&buffer[..count])
            }
        }
    }

    fn listen(&mut self, bytes: &[u8], heard: &mut ReadEvents) -> Result<(), Failure> {
        if self.socket.is_none() || self.stage == OpenState::Connecting {
            return Ok(());
        }
        if !bytes.is_empty() {
            heard.input = self.channel.handle_input(bytes)?;
            self.received += heard.input.len() as u64;
        }
        if self.stage == OpenState::ShakingHands && !self.channel.is_shaking_hands() {
            let protocol = negotiated(self.channel.agreed(), self.protocol)?;
            self.stage = OpenState::Open;
            (self.record.established, self.record.protocol) = (Some(heard.at), Some(protocol));
            self.record.tls = self.channel.tls();
            heard.opened = Some(Opened { by: self.by, peer: self.record.peer.ip(), protocol });
            // A browser's library sends the end of the handshake itself, before there is a request.
            match self.flush() {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(Failure::Broken(error.kind())),
                _ => {}
            }
        }
        if self.drained || self.channel.is_closed() {
            if self.stage != OpenState::Open {
                return Err(Failure::Unfinished);
            }
            self.ended.get_or_insert(Closed::Finished);
        }
        Ok(())
    }

    /// Whether the program takes content; a handshake goes on in any case.
    fn takes_input(&self) -> bool {
        self.received < self.limit
    }

    /// The program takes content up to here.
    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The program gives it up: the other end gets a reset, and nobody here is told of it.
    pub(crate) fn abort(&mut self) {
        if let Some(socket) = &self.socket {
            socket.abort();
        }
        self.told = true;
        self.drop_socket();
    }

    /// The program has something to send.
    pub(crate) fn mark_writable(&mut self) {
        self.eager = true;
    }

    /// The program sends no more than what has been polled.
    pub(crate) fn close(&mut self, now: Time) {
        if self.stage == OpenState::Connecting {
            self.socket = None;
        }
        if self.sending == Sending::On {
            (self.sending, self.closed) = (Sending::Ending, Some(now));
            self.channel.close();
        }
    }

    /// Asks the program for bytes, if it has any and there is room, and gives the socket what it
    /// takes. Once: that it takes more at once is heard by looking again, at a later time.
    pub(crate) fn poll_write(&mut self, now: Time, conn: ConnId, program: &mut dyn Program) {
        let before = self.taken;
        match self.fill(now, conn, program).and_then(|()| self.flush()) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => self.fail(Failure::Broken(error.kind())),
            _ => self.release(),
        }
        if !self.waits_for_room() {
            self.waiting = None;
            self.channel.rest();
        } else if self.waiting.is_none() || self.taken > before {
            self.waiting = Some(now);
        }
    }

    fn fill(&mut self, now: Time, conn: ConnId, program: &mut dyn Program) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.wants_room()) else { return Ok(()) };
        let before = self.channel.pending().len() as u64;
        let mut room = socket.room(before)?;
        let unsent = socket.mark() - room;
        loop {
            let content_room = self.channel.content_room(room);
            if content_room == 0 {
                return Ok(());
            }
            program.poll_transmit(now, conn, TransportStream::TCP, content_room as usize, &mut self.wire);
            if self.wire.is_empty() {
                self.eager = false;
                return Ok(());
            }
            assert!(self.wire.len() <= content_room, "a program put more on the wire than there was room for");
            self.record.content += self.wire.len();
            self.channel.write(&mut self.wire)?;
            room = socket.room_beyond(unsent + self.channel.pending().len() as u64 - before);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.stage != OpenState::Connecting) else { return Ok(()) };
        while !self.channel.pending().is_empty() {
            let count = socket.write(self.channel.pending())?;
            self.channel.advance(count);
            self.taken += count as u64;
        }
        if self.sending == Sending::Ending {
            self.sending = Sending::Over;
            socket.shut()?;
        }
        Ok(())
    }

    fn wants_room(&self) -> bool {
        self.eager && self.stage == OpenState::Open && self.sending == Sending::On
    }

    /// Whether there is something for the socket to take, now or when there is room.
    fn waits_for_room(&self) -> bool {
        self.wants_room() || !self.channel.pending().is_empty()
    }

    /// Until when to wait for the other end, and what it has failed to do by then.
    fn patience(&self, limits: &Limits) -> Option<(Time, Failure)> {
        self.socket.as_ref()?;
        if self.stage != OpenState::Open {
            return Some((self.record.opened + limits.handshake, Failure::Unshaken));
        }
        match self.closed {
            Some(closed) => Some((closed + limits.closing, Failure::Unclosed)),
            None => self.waiting.map(|since| (since + limits.stall, Failure::Stalled)),
        }
    }

    /// Until when to wait for the other end; never if it owes nothing.
    pub(crate) fn deadline(&self, limits: &Limits) -> Time {
        self.patience(limits).map_or(Time::NEVER, |(at, _)| at)
    }

    /// Gives it up if the time is up at `now`; whether it was.
    pub(crate) fn expire(&mut self, now: Time, limits: &Limits) -> bool {
        let Some((_, failure)) = self.patience(limits).filter(|(at, _)| *at <= now) else { return false };
        if let Some(socket) = self.socket.as_ref().filter(|_| self.sending != Sending::Over) {
            socket.abort();
        }
        // Also where the program has been told of an end before.
        self.record.failure.get_or_insert_with(|| failure.clone());
        self.fail(failure);
        true
    }

    /// The transport has failed.
    fn fail(&mut self, failure: Failure) {
        // An alert that says why, if there is one. Nobody is told whether it arrives.
        let _told: io::Result<()> = self.flush();
        if !self.told {
            self.ended = Some(Closed::Failed);
            self.record.failure.get_or_insert(failure);
        }
        self.drop_socket();
    }

    /// Lets go of a socket on which nothing more happens.
    fn release(&mut self) {
        if self.drained && self.sending == Sending::Over {
            self.drop_socket();
        }
    }

    fn drop_socket(&mut self) {
        if let Some(socket) = self.socket.take() {
            self.record.note(&socket);
        }
    }

    /// Whether there is something to go on with; if not, the task is woken when there is.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_news() {
            return Poll::Ready(());
        }
        let Some(socket) = &self.socket else { return Poll::Pending };
        let connecting = self.stage == OpenState::Connecting;
        let (mut reads, mut writes) = (Poll::Pending, Poll::Pending);
        if !connecting && !self.drained && self.takes_input() {
            reads = socket.poll_readable(cx);
        }
        if connecting || self.waits_for_room() {
            writes = socket.poll_writable(cx);
        }
        if reads.is_ready() { reads } else { writes }
    }

    /// What is known of it at the end, which is now.
    pub(crate) fn into_record(mut self, now: Time) -> Connected {
        self.drop_socket();
        self.record.over = Some(now);
        self.record
    }
}

/// What a connection speaks that agreed on `name`, if on anything; else it is `ours`.
fn negotiated(name: Option<&[u8]>, ours: Protocol) -> Result<Protocol, Failure> {
    let Some(name) = name else { return Ok(ours) };
    // Ours first, for pipelining has the name of the plain protocol.
    match [ours].into_iter().chain(Protocol::ALL).find(|it| alpn_name(*it) == name) {
        Some(protocol) => Ok(protocol),
        None => Err(Failure::Unknown(String::from_utf8_lossy(name).into_owned())),
    }
}

/// The name of a protocol in TLS (RFC 7301); pipelining is no protocol of its own.
pub(crate) fn alpn_name(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 | Protocol::Http1Pipelining => b"http/1.1",
        Protocol::Spdy2 => b"spdy/2",
        Protocol::Spdy3 => b"spdy/3",
        Protocol::Spdy31 => b"spdy/3.1",
        Protocol::H2 => b"h2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::block_on;
    use crate::{Authority, Chain, NOTSENT_LOWAT, Pattern};
    use loadstone_http::{BodyId, Chunk};
    use loadstone_load::Action;
    use loadstone_load::page::HostId;
    use loadstone_net::tls::Tls;
    use rustls::ServerConnection;
    use std::future::poll_fn;
    use std::net::{TcpListener, TcpStream};
    use std::rc::Rc;
    use std::time::Duration;

    /// Different ones, so that it shows which one rules.
    const LIMITS: Limits = Limits {
        handshake: Duration::from_secs(3),
        stall: Duration::from_secs(5),
        closing: Duration::from_secs(7),
        connections: 1,
    };

    /// Has no end of things to send.
    struct Endless;

    impl Program for Endless {
        fn handle_open(&mut self, _: Time, _: ConnId, _: Opened) {}

        fn handle_input(&mut self, _: Time, _: ConnId, _: TransportStream, _: &[Chunk]) {}

        fn handle_close(&mut self, _: Time, _: ConnId, _: Closed) {}

        fn handle_timeout(&mut self, _: Time) {}

        fn poll_action(&mut self) -> Option<Action> {
            None
        }

        fn poll_transmit(&mut self, _: Time, _: ConnId, _: TransportStream, room: usize, out: &mut Wire) {
            out.push(Chunk::Run { body: BodyId(0), offset: 0, len: room as u64 });
        }

        fn poll_timeout(&self) -> Option<Time> {
            None
        }
    }

    /// Tests a connection that was accepted at [`at`] 1 s, and its other end.
    fn with_accepted(tls: Tls, test: impl AsyncFnOnce(&mut SocketConnection, TcpStream)) {
        let config = Authority::new(Chain::Usual).server(&["a.test"], tls, Protocol::H2).unwrap();
        let channel =
            Channel::new(config.map(|config| ServerConnection::new(config).unwrap().into()), Rc::new(Pattern));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (near, peer) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        let run = async {
            let socket = Socket::new(tokio::net::TcpStream::from_std(near).unwrap(), NOTSENT_LOWAT);
            let record = Connected::new(ConnId(0), HostId(0), peer, Some(peer), at(1));
            test(&mut SocketConnection::accepted(socket, channel, Protocol::Http1, record), far).await;
            Ok(())
        };
        block_on(run).unwrap();
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// It is given up at `deadline` and no moment sooner, and that is why.
    fn is_given_up(connection: &mut SocketConnection, deadline: Time, why: &Failure) {
        assert_eq!(connection.deadline(&LIMITS), deadline);
        assert!(!connection.expire(Time::from_nanos(deadline.as_nanos() - 1), &LIMITS) && connection.socket.is_some());
        assert!(connection.expire(deadline, &LIMITS) && connection.socket.is_none());
        assert_eq!((connection.deadline(&LIMITS), connection.record.failure.as_ref()), (Time::NEVER, Some(why)));
    }

    #[test]
    fn a_handshake_is_waited_for_from_the_beginning() {
        with_accepted(Tls::V1_3, async |connection, _far| {
            connection.poll_read(&Clock::start(), &mut [0; 100]);
            is_given_up(connection, at(1 + 3), &Failure::Unshaken);
            // The program is told, once.
            let heard = [(); 2].map(|()| connection.poll_read(&Clock::start(), &mut [0; 100]).ended);
            assert_eq!((heard, connection.is_alive()), ([Some(Closed::Failed), None], false));
        });
    }

    #[test]
    fn who_owes_nothing_is_waited_for_for_ever() {
        with_accepted(Tls::None, async |connection, _far| {
            connection.poll_read(&Clock::start(), &mut [0; 100]);
            assert_eq!(connection.deadline(&LIMITS), Time::NEVER);
            assert!(!connection.expire(Time::NEVER, &LIMITS));
        });
    }

    #[test]
    fn who_takes_nothing_is_waited_for_since_it_last_took_something() {
        with_accepted(Tls::None, async |connection, _far| {
            connection.poll_read(&Clock::start(), &mut [0; 100]);
            connection.mark_writable();
            // Each second it is let send, until there is no room: the second before took something.
            let (mut second, mut taken) = (1, 0);
            poll_fn(|cx| connection.socket.as_ref().unwrap().poll_writable(cx)).await;
            loop {
                second += 1;
                connection.poll_write(at(second), ConnId(0), &mut Endless);
                if connection.taken == taken {
                    break;
                }
                taken = connection.taken;
                assert_eq!(connection.deadline(&LIMITS), at(second + 5));
            }
            assert!(taken > 0);
            is_given_up(connection, at(second - 1 + 5), &Failure::Stalled);
        });
    }

    #[test]
    fn who_does_not_close_is_waited_for_since_the_program_did_whatever_it_still_takes() {
        with_accepted(Tls::None, async |connection, mut far| {
            connection.poll_read(&Clock::start(), &mut [0; 100]);
            connection.close(at(20));
            connection.poll_write(at(21), ConnId(0), &mut Endless);
            assert_eq!(connection.sending, Sending::Over);
            is_given_up(connection, at(20 + 7), &Failure::Unclosed);
            // All was sent, so it is an orderly end.
            assert_eq!(io::Read::read(&mut far, &mut [0]).unwrap(), 0);
        });
    }

    #[test]
    fn what_tls_agreed_on_is_spoken_else_what_was_meant() {
        use Protocol::{H2, Http1, Http1Pipelining, Spdy31};
        for (name, ours, spoken) in [
            (None, Spdy31, Some(Spdy31)),
            (Some(&b"h2"[..]), Http1, Some(H2)),
            (Some(b"http/1.1"), H2, Some(Http1)),
            (Some(b"http/1.1"), Http1Pipelining, Some(Http1Pipelining)),
            (Some(b"spdy/3.1"), H2, Some(Spdy31)),
            (Some(b"h3"), H2, None),
        ] {
            assert_eq!(negotiated(name, ours).ok(), spoken, "{name:?} {ours}");
        }
    }
}
