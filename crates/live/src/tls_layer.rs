//! The layer between content and socket: TLS, or nothing. Bytes in, bytes out; it never waits.

use crate::Bodies;
use bytes::Bytes;
use loadstone_http::{Chunk, Wire};
use loadstone_net::tls::Tls;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

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
    /// Bytes for the socket.
    out: Vec<u8>,
    /// How many of them have been written.
    written: usize,
    /// Storage that is used again and again.
    content: Vec<u8>,
    chunks: Vec<Chunk>,
}

impl TlsLayer {
    /// Plain TCP, or `tls`, whose handshake is to come.
    pub(crate) fn new(tls: Option<rustls::Connection>, bodies: Rc<dyn Bodies>) -> TlsLayer {
        let tls = tls.map(Box::new);
        let (out, content, chunks) = (Vec::new(), Vec::new(), Vec::new());
        TlsLayer { tls, bodies, tls_overhead: Tls::None, peer_has_closed: false, out, written: 0, content, chunks }
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
    pub(crate) fn handle_input(&mut self, mut input: &[u8]) -> Result<Bytes, rustls::Error> {
        let Some(tls) = &mut self.tls else { return Ok(Bytes::copy_from_slice(input)) };
        let mut content = Vec::new();
        let mut result = Ok(());
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
        let to = if self.tls.is_some() { &mut self.content } else { &mut self.out };
        to.reserve(wire.len() as usize);
        wire.take(wire.len(), &mut self.chunks);
        for chunk in self.chunks.drain(..) {
            match chunk {
                Chunk::Bytes(bytes) => to.extend_from_slice(&bytes),
                Chunk::Run { body, offset, len } => {
                    let end = to.len() + len as usize;
                    self.bodies.append(body, offset, len, to);
                    if to.len() != end {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(&self.content).expect("its buffer is empty and takes a record");
            self.content.clear();
            self.flush_tls();
        }
        Ok(())
    }

    /// Sends a close_notify alert.
    pub(crate) fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            self.flush_tls();
        }
    }

    /// The bytes to be written to the socket.
    pub(crate) fn pending(&self) -> &[u8] {
        let pending = &self.out[self.written..];
        // Browsers send ChangeCipherSpec together with their next flight; rustls makes it earlier, so it is held back.
        if self.is_handshaking() && pending == CHANGE_CIPHER_SPEC { &[] } else { pending }
    }

    /// The first `count` of them have been written.
    pub(crate) fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Frees its buffers if they are empty: of many connections most are idle, or wait for a peer that does not read.
    pub(crate) fn free_buffers(&mut self) {
        if self.out.is_empty() {
            (self.out, self.content) = (Vec::new(), Vec::new());
        }
    }

    /// Takes the records that TLS has made for the socket.
    fn flush_tls(&mut self) {
        let Some(tls) = &mut self.tls else { return };
        while tls.wants_write() {
            let _all: io::Result<usize> = tls.write_tls(&mut self.out);
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
    fn a_client_sends_nothing_before_it_has_the_whole_of_the_servers_flight() {
        let authority = Authority::new(Chain::Usual);
        let client = authority.client("a.test", Tls::V1_3, Protocol::H2).unwrap().unwrap();
        let server = authority.server(&["a.test"], Tls::V1_3, &[Protocol::H2]).unwrap().unwrap();
        let mut client = TlsLayer::new(Some(client.connect()), Rc::new(Pattern));
        let mut server = TlsLayer::new(Some(ServerConnection::new(server).unwrap().into()), Rc::new(Pattern));
        client.start_handshake();
        server.handle_input(client.pending()).unwrap();
        client.advance(client.pending().len());
        // As it comes in segments, with the server's hello in the first.
        let flight = server.pending().to_vec();
        for segment in flight.chunks(1448) {
            assert_eq!((client.is_handshaking(), client.pending().len()), (true, 0));
            client.handle_input(segment).unwrap();
        }
        assert!(!client.is_handshaking());
        assert!(client.pending().starts_with(&CHANGE_CIPHER_SPEC) && client.pending().len() > 60);
    }
}
