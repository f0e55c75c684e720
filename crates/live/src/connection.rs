//! One end of a connection: its socket, its TLS layer, and its state.
//!
//! It decides nothing: it passes bytes between a program and a socket as long as the program has any
//! and the socket has room, and reports events.

use crate::socket::{READ, Socket};
use crate::tls_layer::TlsLayer;
use crate::{Clock, Failure, Limits, SocketRecord};
use bytes::{Bytes, BytesMut};
use loadstone_http::{Protocol, TransportStream, Wire};
use loadstone_load::{Closed, ConnId, Opened, Opener, Program};
use loadstone_units::Time;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll};

#[derive(Debug)]
pub(crate) struct SocketConnection {
    /// None when nothing more can happen.
    socket: Option<Socket>,
    tls: TlsLayer,
    by: Opener,
    /// What is spoken if the handshake agrees on nothing.
    protocol: Protocol,
    state: OpenState,
    write_half: WriteHalf,
    /// The program has something to send.
    wants_write: bool,
    /// EOF has been read from the socket.
    eof_read: bool,
    /// How much content was handed on to the program.
    received: u64,
    /// The offset up to which the program takes content.
    max_data: u64,
    /// How it has closed, if it has.
    closed: Option<Closed>,
    /// The program has been told so.
    close_reported: bool,
    /// How many bytes have been written to the socket.
    bytes_written: u64,
    /// Since when writes are blocked; `None` if nothing is pending.
    write_blocked_since: Option<Time>,
    /// How many of them have certainly been sent.
    bytes_sent: u64,
    record: SocketRecord,
}

/// Which handshakes are over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenState {
    /// TCP's handshake goes on.
    Connecting,
    /// TLS's handshake goes on.
    ShakingHands,
    /// The program has been told that it is open.
    Open,
}

/// The write half of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteHalf {
    Open,
    /// What has been polled is sent, then the FIN.
    ShutdownPending,
    /// The FIN has been sent.
    Shutdown,
}

/// What a connection reports to the program, in this order.
#[derive(Debug)]
pub(crate) struct ReadEvents {
    /// When it was read.
    pub(crate) at: Time,
    /// The other end has answered.
    pub(crate) connected: bool,
    /// It is open.
    pub(crate) opened: Option<Opened>,
    /// Content that has arrived.
    pub(crate) input: Bytes,
    /// It has closed.
    pub(crate) closed: Option<Closed>,
}

impl SocketConnection {
    /// A connection that is being opened; one that could not even begin has failed.
    pub(crate) fn opening(
        begun: io::Result<Socket>,
        channel: TlsLayer,
        protocol: Protocol,
        record: SocketRecord,
    ) -> Self {
        SocketConnection::new(begun, channel, Opener::Us, protocol, record)
    }

    /// A connection that has been accepted.
    pub(crate) fn accepted(
        socket: io::Result<Socket>,
        channel: TlsLayer,
        protocol: Protocol,
        record: SocketRecord,
    ) -> Self {
        SocketConnection::new(socket, channel, Opener::Peer, protocol, record)
    }

    fn new(
        socket: io::Result<Socket>,
        channel: TlsLayer,
        by: Opener,
        protocol: Protocol,
        record: SocketRecord,
    ) -> Self {
        let mut connection = SocketConnection {
            socket: None,
            tls: channel,
            by,
            protocol,
            state: if by == Opener::Us { OpenState::Connecting } else { OpenState::ShakingHands },
            write_half: WriteHalf::Open,
            wants_write: false,
            eof_read: false,
            received: 0,
            max_data: u64::MAX,
            closed: None,
            close_reported: false,
            bytes_written: 0,
            bytes_sent: 0,
            write_blocked_since: None,
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
        self.socket.is_some() || self.has_unreported_close()
    }

    /// Whether it has closed and the program has not been told.
    fn has_unreported_close(&self) -> bool {
        self.closed.is_some() && !self.close_reported
    }

    /// What is known of it so far.
    pub(crate) fn record(&self) -> &SocketRecord {
        &self.record
    }

    /// Reads once from the socket, and reports what came of it. What is read goes through `buffer`, which is left empty.
    pub(crate) fn poll_read(&mut self, clock: &Clock, buffer: &mut BytesMut) -> ReadEvents {
        let was_connecting = self.state == OpenState::Connecting;
        let read = self.read(buffer);
        let connected = was_connecting && self.state != OpenState::Connecting;
        let mut events = ReadEvents { at: clock.now(), connected, opened: None, input: Bytes::new(), closed: None };
        if let (Some(path), Some(socket), Ok(count @ 1..)) = (&mut self.record.path, &self.socket, &read) {
            path.note_arrival(events.at, *count as u64, socket);
        }
        match read.and_then(|_| self.process_input(buffer, &mut events)) {
            Err(failure) => self.fail(failure),
            Ok(()) => self.drop_if_done(),
        }
        if self.has_unreported_close() {
            (events.closed, self.close_reported) = (self.closed, true);
        }
        events
    }

    /// Takes what the socket has; nothing as long as it connects. How many bytes that is.
    fn read(&mut self, buffer: &mut BytesMut) -> Result<usize, Failure> {
        let Some(socket) = &self.socket else { return Ok(0) };
        if self.state == OpenState::Connecting {
            match socket.connected() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                result => result.map_err(|error| Failure::Unreachable(error.kind()))?,
            }
            self.state = OpenState::ShakingHands;
            self.tls.start_handshake();
        }
        if self.eof_read || !self.takes_input() {
            return Ok(0);
        }
        if buffer.capacity() < READ / 4 {
            buffer.reserve(READ);
        }
        let most = self.tls.transport_room(self.max_data - self.received).min(READ as u64);
        match socket.read(buffer, most as usize) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(Failure::Io(error.kind())),
            Ok(count) => {
                self.eof_read = count == 0;
                Ok(count)
            }
        }
    }

    /// Advances the handshake by `bytes`, or takes the content in them.
    fn process_input(&mut self, bytes: &mut BytesMut, events: &mut ReadEvents) -> Result<(), Failure> {
        if self.socket.is_none() || self.state == OpenState::Connecting {
            return Ok(());
        }
        if !bytes.is_empty() {
            events.input = self.tls.handle_input(bytes)?;
            self.received += events.input.len() as u64;
        }
        if self.state == OpenState::ShakingHands && !self.tls.is_handshaking() {
            let protocol = negotiated(self.tls.agreed(), self.protocol)?;
            self.state = OpenState::Open;
            (self.record.established, self.record.protocol) = (Some(events.at), Some(protocol));
            self.record.tls = self.tls.tls();
            events.opened = Some(Opened { by: self.by, peer: self.record.peer.ip(), protocol });
            // A browser's library sends the end of the handshake itself, before there is a request.
            match self.flush() {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(Failure::Io(error.kind())),
                _ => {}
            }
        }
        if self.eof_read || self.tls.peer_has_closed() {
            if self.state != OpenState::Open {
                return Err(Failure::ClosedDuringHandshake);
            }
            self.closed.get_or_insert(Closed::Finished);
        }
        Ok(())
    }

    /// Whether the program takes content; a handshake goes on in any case.
    fn takes_input(&self) -> bool {
        self.received < self.max_data
    }

    /// The program takes content up to this offset.
    pub(crate) fn set_max_data(&mut self, max_data: u64) {
        self.max_data = max_data;
    }

    /// The program gives it up: the other end gets a reset, and the program is not told.
    pub(crate) fn abort(&mut self) {
        if let Some(socket) = &self.socket {
            socket.abort();
        }
        self.close_reported = true;
        self.drop_socket();
    }

    /// The program has something to send.
    pub(crate) fn want_write(&mut self) {
        self.wants_write = true;
    }

    /// The program sends no more than what has been polled.
    pub(crate) fn close(&mut self, now: Time) {
        if self.state == OpenState::Connecting {
            self.socket = None;
        }
        if self.write_half == WriteHalf::Open {
            (self.write_half, self.record.close_requested_at) = (WriteHalf::ShutdownPending, Some(now));
            self.tls.close();
        }
    }

    /// Asks the program for bytes, if it has any and there is room, and writes them to the socket. If the
    /// socket still has room, the next iteration writes again, with a later `now`. What a call of the program gives is one write, or
    /// so many bytes come together as are `gathered`.
    pub(crate) fn poll_write(&mut self, now: Time, conn: ConnId, program: &mut dyn Program, gathered: usize) {
        let before = self.bytes_written;
        match self.fill(now, conn, program, gathered).and_then(|()| self.flush()) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => self.fail(Failure::Io(error.kind())),
            _ => self.drop_if_done(),
        }
        if !self.waits_for_room() {
            self.write_blocked_since = None;
            self.tls.free_buffers();
        } else if self.write_blocked_since.is_none() || self.bytes_written > before {
            self.write_blocked_since = Some(now);
        } else {
            // The peer takes nothing: what is empty need not wait for it.
            self.tls.free_buffers();
        }
    }

    /// Takes what the program gives and there is room for. What is less than `gathered` is left to [`Self::flush`].
    fn fill(&mut self, now: Time, conn: ConnId, program: &mut dyn Program, gathered: usize) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.wants_room()) else { return Ok(()) };
        let pending = self.tls.pending_len();
        let mut unsent = self.bytes_written - self.bytes_sent;
        // Who gathers does with less room than there may be, as long as that spares asking for it.
        if gathered == 0 || socket.room_after(unsent + pending) == 0 {
            unsent = socket.unsent(pending)?;
            self.bytes_sent = self.bytes_written.saturating_sub(unsent);
        }
        unsent += pending;
        let mut wire = Wire::default();
        loop {
            let content_room = self.tls.content_room(socket.room_after(unsent));
            if content_room == 0 {
                return Ok(());
            }
            program.poll_transmit(now, conn, TransportStream::TCP, content_room as usize, &mut wire);
            if wire.is_empty() {
                self.wants_write = false;
                return Ok(());
            }
            assert!(wire.len() <= content_room, "a program put more on the wire than there was room for");
            self.record.content += wire.len();
            let before = self.tls.pending_len();
            self.tls.write(&mut wire)?;
            unsent += self.tls.pending_len() - before;
            if self.tls.pending_len() >= gathered as u64 {
                write_pending(socket, &mut self.tls, &mut self.bytes_written)?;
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.state != OpenState::Connecting) else { return Ok(()) };
        write_pending(socket, &mut self.tls, &mut self.bytes_written)?;
        if self.write_half == WriteHalf::ShutdownPending {
            self.write_half = WriteHalf::Shutdown;
            socket.shutdown_write()?;
        }
        Ok(())
    }

    fn wants_room(&self) -> bool {
        self.wants_write && self.state == OpenState::Open && self.write_half == WriteHalf::Open
    }

    /// Whether there is something to write, now or when there is room.
    fn waits_for_room(&self) -> bool {
        self.wants_room() || self.tls.is_pending()
    }

    /// The peer's current deadline, and the failure to record when it passes.
    fn timeout(&self, limits: &Limits) -> Option<(Time, Failure)> {
        self.socket.as_ref()?;
        if self.state != OpenState::Open {
            return Some((self.record.opened + limits.handshake_timeout, Failure::HandshakeTimeout));
        }
        match self.record.close_requested_at {
            Some(closed) => Some((closed + limits.close_timeout, Failure::CloseTimeout)),
            None => self.write_blocked_since.map(|since| (since + limits.write_timeout, Failure::WriteTimeout)),
        }
    }

    /// The peer's current deadline; never if there is none.
    pub(crate) fn deadline(&self, limits: &Limits) -> Time {
        self.timeout(limits).map_or(Time::NEVER, |(at, _)| at)
    }

    /// Gives it up if its deadline has passed at `now`; returns whether it has.
    pub(crate) fn expire(&mut self, now: Time, limits: &Limits) -> bool {
        let Some((_, failure)) = self.timeout(limits).filter(|(at, _)| *at <= now) else { return false };
        if let Some(socket) = self.socket.as_ref().filter(|_| self.write_half != WriteHalf::Shutdown) {
            socket.abort();
        }
        // Even if a close was reported before.
        self.record.failure.get_or_insert_with(|| failure.clone());
        self.fail(failure);
        true
    }

    /// The transport has failed.
    fn fail(&mut self, failure: Failure) {
        // An alert that says why, if there is one. Whether it arrives does not matter.
        let _told: io::Result<()> = self.flush();
        if !self.close_reported {
            self.closed = Some(Closed::Failed);
            self.record.failure.get_or_insert(failure);
        }
        self.drop_socket();
    }

    /// Drops a socket on which nothing more happens.
    fn drop_if_done(&mut self) {
        if self.eof_read && self.write_half == WriteHalf::Shutdown {
            self.drop_socket();
        }
    }

    fn drop_socket(&mut self) {
        if let Some(socket) = self.socket.take() {
            self.record.note(&socket);
        }
    }

    /// Ready if there is something to do; otherwise the task is woken when there is.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_unreported_close() {
            return Poll::Ready(());
        }
        let Some(socket) = &self.socket else { return Poll::Pending };
        let connecting = self.state == OpenState::Connecting;
        let (mut reads, mut writes) = (Poll::Pending, Poll::Pending);
        if !connecting && !self.eof_read && self.takes_input() {
            reads = socket.poll_readable(cx);
        }
        if connecting || self.waits_for_room() {
            writes = socket.poll_writable(cx);
        }
        if reads.is_ready() { reads } else { writes }
    }

    /// Its record; it closes now.
    pub(crate) fn into_record(mut self, now: Time) -> SocketRecord {
        self.drop_socket();
        self.record.closed_at = Some(now);
        self.record
    }
}

/// The protocol of a connection on which TLS agreed on `name`; without a name it is `ours`.
fn negotiated(name: Option<&[u8]>, ours: Protocol) -> Result<Protocol, Failure> {
    let Some(name) = name else { return Ok(ours) };
    // Ours first, for pipelining has the name of the plain protocol.
    match [ours].into_iter().chain(Protocol::ALL).find(|it| alpn_name(*it) == name) {
        Some(protocol) => Ok(protocol),
        None => Err(Failure::UnknownAlpn(String::from_utf8_lossy(name).into_owned())),
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

/// Writes what TLS has ready; counts the bytes that the socket takes.
fn write_pending(socket: &Socket, tls: &mut TlsLayer, written: &mut u64) -> io::Result<()> {
    while tls.is_pending() {
        *written += tls.write_to(socket)? as u64;
    }
    Ok(())
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
        handshake_timeout: Duration::from_secs(3),
        write_timeout: Duration::from_secs(5),
        close_timeout: Duration::from_secs(7),
        max_connections: 1,
    };

    /// Always has something to send.
    struct AlwaysWriting;

    impl Program for AlwaysWriting {
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
        let config = Authority::new(Chain::Usual).server(&["a.test"], tls, &[Protocol::H2]).unwrap();
        let channel =
            TlsLayer::new(config.map(|config| ServerConnection::new(config).unwrap().into()), Rc::new(Pattern));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (near, peer) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        let run = async {
            let socket = Socket::new(tokio::net::TcpStream::from_std(near).unwrap(), NOTSENT_LOWAT);
            let record = SocketRecord::new(ConnId(0), HostId(0), peer, Some(peer), at(1));
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
            connection.poll_read(&Clock::start(), &mut BytesMut::new());
            is_given_up(connection, at(1 + 3), &Failure::HandshakeTimeout);
            // The program is told, once.
            let closed = [(); 2].map(|()| connection.poll_read(&Clock::start(), &mut BytesMut::new()).closed);
            assert_eq!((closed, connection.is_alive()), ([Some(Closed::Failed), None], false));
        });
    }

    #[test]
    fn a_peer_without_a_deadline_is_waited_for_for_ever() {
        with_accepted(Tls::None, async |connection, _far| {
            connection.poll_read(&Clock::start(), &mut BytesMut::new());
            assert_eq!(connection.deadline(&LIMITS), Time::NEVER);
            assert!(!connection.expire(Time::NEVER, &LIMITS));
        });
    }

    #[test]
    fn a_peer_that_reads_nothing_is_waited_for_since_the_last_write() {
        with_accepted(Tls::None, async |connection, _far| {
            connection.poll_read(&Clock::start(), &mut BytesMut::new());
            connection.want_write();
            // Each second it may send, until there is no room: the second before something was written.
            let (mut second, mut written) = (1, 0);
            poll_fn(|cx| connection.socket.as_ref().unwrap().poll_writable(cx)).await;
            loop {
                second += 1;
                connection.poll_write(at(second), ConnId(0), &mut AlwaysWriting, 0);
                if connection.bytes_written == written {
                    break;
                }
                written = connection.bytes_written;
                assert_eq!(connection.deadline(&LIMITS), at(second + 5));
            }
            assert!(written > 0);
            is_given_up(connection, at(second - 1 + 5), &Failure::WriteTimeout);
        });
    }

    #[test]
    fn a_peer_that_does_not_close_is_waited_for_since_the_program_did_even_while_it_reads() {
        with_accepted(Tls::None, async |connection, mut far| {
            connection.poll_read(&Clock::start(), &mut BytesMut::new());
            connection.close(at(20));
            connection.poll_write(at(21), ConnId(0), &mut AlwaysWriting, 0);
            assert_eq!(connection.write_half, WriteHalf::Shutdown);
            is_given_up(connection, at(20 + 7), &Failure::CloseTimeout);
            // All was sent, so it is an orderly end.
            assert_eq!(io::Read::read(&mut far, &mut [0]).unwrap(), 0);
        });
    }

    #[test]
    fn the_protocol_is_the_one_of_alpn_else_the_configured_one() {
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
