//! The layer between content and socket: TLS, or nothing. Bytes in, bytes out; it never waits.

use crate::Bodies;
use crate::output_queue::OutputQueue;
use crate::socket::{READ, Socket};
use bytes::{Bytes, BytesMut};
use loadstone_http::{Chunk, Wire};
use loadstone_net::tls::Tls;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::rc::Rc;

/// Content shorter than this is copied when it has come: a quarter of the buffer that is read into, so that no piece that
/// waits somewhere keeps more than four times its own memory.
const COPIED: usize = READ / 4;

/// The message that TLS 1.3 sends for the sake of old middleboxes (RFC 8446, appendix D.4), as a record.
const CHANGE_CIPHER_SPEC: [u8; 6] = [20, 3, 3, 0, 1, 1];

/// Encrypts content for the socket and decrypts what comes from there; without TLS it passes bytes on.
#[derive(Debug)]
pub(crate) struct TlsLayer {
    tls: Option<Box<rustls::Connection>>,
    /// The contents of bodies.
    bodies: Rc<dyn Bodies>,
    /// The TLS version, for what its records add.
    tls_overhead: Tls,
    /// A close_notify alert has come.
    peer_has_closed: bool,
    /// Bytes for the socket, without TLS all of them; of TLS those that go before its records of content.
    out: OutputQueue,
    /// The bytes of the records that TLS has ready, by what each adds to its content.
    sealed: u64,
}

impl TlsLayer {
    /// Plain TCP, or `tls`, whose handshake is to come.
    pub(crate) fn new(tls: Option<rustls::Connection>, bodies: Rc<dyn Bodies>) -> TlsLayer {
        let tls = tls.map(|mut tls| {
            // How much is written at a time is decided by the room of the socket.
            tls.set_buffer_limit(None);
            Box::new(tls)
        });
        let out = OutputQueue::default();
        TlsLayer { tls, bodies, tls_overhead: Tls::None, peer_has_closed: false, out, sealed: 0 }
    }

    /// Starts the handshake, if this end is the client.
    pub(crate) fn start_handshake(&mut self) {
        self.flush_tls();
    }

    /// Whether the handshake goes on.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// The protocol that the handshake agreed on, if it agreed on one.
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.alpn_protocol()
    }

    /// The TLS that content goes through, once the handshake is over.
    pub(crate) fn tls(&self) -> Option<Tls> {
        self.tls.as_ref().map(|_| self.tls_overhead)
    }

    /// Whether the other end has sent a close_notify alert.
    pub(crate) fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }

    /// Takes what has arrived; returns the content that it completes.
    pub(crate) fn handle_input(&mut self, arrived: &mut BytesMut) -> Result<Bytes, rustls::Error> {
        let Some(tls) = &mut self.tls else { return Ok(take_content(arrived)) };
        let mut content = Vec::new();
        let mut result = Ok(());
        let mut input = &arrived[..];
        while !input.is_empty() && result.is_ok() && !self.peer_has_closed {
            result = match tls.read_tls(&mut input) {
                Err(error) => Err(rustls::Error::General(error.to_string())),
                Ok(_) => tls.process_new_packets().map(|state| {
                    let (before, more) = (content.len(), state.plaintext_bytes_to_read());
                    content.resize(before + more, 0);
                    tls.reader().read_exact(&mut content[before..]).expect("this many bytes can be read");
                    self.peer_has_closed = state.peer_has_closed();
                }),
            };
        }
        arrived.clear();
        self.tls_overhead = match tls.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => Tls::V1_2,
            _ => Tls::V1_3,
        };
        // Handshake messages, or the alert that says what is wrong.
        self.flush_tls();
        result.map(|()| content.into())
    }

    /// How much content may be written at a time into `room` bytes of the socket.
    pub(crate) fn content_room(&self, room: u64) -> u64 {
        self.tls_overhead.content_room(room)
    }

    /// How much to read at a time of the socket for `room` bytes of content.
    pub(crate) fn transport_room(&self, room: u64) -> u64 {
        self.tls_overhead.transport_room(room)
    }

    /// Writes content: everything in `wire`, as one record if it is no more than one's.
    ///
    /// # Errors
    /// If a body does not have the bytes any more: [`ErrorKind::UnexpectedEof`].
    pub(crate) fn write(&mut self, wire: &mut Wire) -> io::Result<()> {
        let len = wire.len();
        let chunks = wire.drain();
        let Some(tls) = &mut self.tls else {
            for chunk in chunks {
                self.out.push(real_bytes(&*self.bodies, chunk)?);
            }
            return Ok(());
        };
        let mut pieces = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            pieces.push(real_bytes(&*self.bodies, chunk)?);
        }
        let slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let taken = tls.writer().write_vectored(&slices)?;
        assert_eq!(taken as u64, len, "TLS has no limit of its own");
        let records = self.tls_overhead.records(len);
        self.sealed += records.map(|record| record + self.tls_overhead.overhead()).sum::<u64>();
        Ok(())
    }

    /// Sends a close_notify alert.
    pub(crate) fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            self.flush_tls();
        }
    }

    /// Whether there is something for the socket.
    pub(crate) fn is_pending(&self) -> bool {
        // Browsers send ChangeCipherSpec together with their next flight; rustls makes it earlier, so it is held back.
        let is_held_back = || self.is_handshaking() && self.out.is(&CHANGE_CIPHER_SPEC);
        let has_records = || self.tls.as_ref().is_some_and(|tls| tls.wants_write());
        if self.out.is_empty() { has_records() } else { !is_held_back() }
    }

    /// How many bytes there are for the socket.
    pub(crate) fn pending_len(&self) -> u64 {
        self.out.len() as u64 + self.sealed
    }

    /// Writes as much as the socket takes at a time. How many bytes it has taken.
    pub(crate) fn write_to(&mut self, mut socket: &Socket) -> io::Result<usize> {
        let Some(tls) = self.tls.as_mut().filter(|_| self.out.is_empty()) else { return self.out.write_to(socket) };
        let count = tls.write_tls(&mut socket)?;
        self.sealed = if tls.wants_write() { self.sealed.saturating_sub(count as u64) } else { 0 };
        Ok(count)
    }

    /// Frees its buffers if they are empty: of many connections most are idle, or wait for a peer that does not read.
    pub(crate) fn free_buffers(&mut self) {
        if self.out.is_empty() {
            self.out = OutputQueue::default();
        }
    }

    /// Takes what TLS has ready for the socket.
    fn flush_tls(&mut self) {
        let Some(tls) = &mut self.tls else { return };
        while tls.wants_write() {
            let _all: io::Result<usize> = tls.write_tls(&mut self.out);
        }
        self.sealed = 0;
    }
}

/// Takes the content that has arrived, without TLS.
fn take_content(arrived: &mut BytesMut) -> Bytes {
    if arrived.len() >= COPIED {
        return arrived.split().freeze();
    }
    let content = Bytes::copy_from_slice(arrived);
    arrived.clear();
    content
}

/// The bytes of a chunk.
///
/// # Errors
/// If its body does not have them any more.
fn real_bytes(bodies: &dyn Bodies, chunk: Chunk) -> io::Result<Bytes> {
    match chunk {
        Chunk::Bytes(bytes) => Ok(bytes),
        Chunk::Run { body, offset, len } => {
            let mut bytes = Vec::with_capacity(len as usize);
            bodies.append(body, offset, len, &mut bytes);
            if bytes.len() as u64 == len { Ok(bytes.into()) } else { Err(ErrorKind::UnexpectedEof.into()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authority, Chain, Pattern};
    use loadstone_http::Protocol;
    use rustls::ServerConnection;

    #[test]
    fn a_piece_keeps_at_most_four_times_its_memory() {
        let shares = |len: usize| {
            let mut arrived = BytesMut::with_capacity(READ);
            arrived.resize(len, 7);
            let content = take_content(&mut arrived);
            assert_eq!((&content[..], arrived.len()), (&vec![7; len][..], 0));
            !content.is_unique()
        };
        assert_eq!([1, READ / 4 - 1, READ / 4, READ - 1].map(shares), [false, false, true, true]);
    }

    #[test]
    fn a_client_sends_nothing_before_it_has_the_whole_of_the_servers_flight() {
        let authority = Authority::new(Chain::Usual);
        let client = authority.client("a.test", Tls::V1_3, Protocol::H2).unwrap().unwrap();
        let server = authority.server(&["a.test"], Tls::V1_3, &[Protocol::H2]).unwrap().unwrap();
        let mut client = TlsLayer::new(Some(client.connect()), Rc::new(Pattern));
        let mut server = TlsLayer::new(Some(ServerConnection::new(server).unwrap().into()), Rc::new(Pattern));
        client.start_handshake();
        server.handle_input(&mut BytesMut::from(&client.out.take()[..])).unwrap();
        // As it comes in segments, with the server's hello in the first.
        let flight = server.out.take();
        for segment in flight.chunks(1448) {
            assert_eq!((client.is_handshaking(), client.is_pending()), (true, false));
            client.handle_input(&mut BytesMut::from(segment)).unwrap();
        }
        assert!(!client.is_handshaking() && client.is_pending());
        let flight = client.out.take();
        assert!(flight.starts_with(&CHANGE_CIPHER_SPEC) && flight.len() > 60);
    }
}
