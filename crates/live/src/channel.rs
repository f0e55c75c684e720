//! What lies between content and socket: nothing, or TLS. Bytes in, bytes out; it never waits.

use crate::Bodies;
use bytes::Bytes;
use loadstone_http::{Chunk, Wire};
use loadstone_net::tls::Tls;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

/// The message that TLS 1.3 sends for the sake of old middleboxes (RFC 8446, appendix D.4), as a record.
const CHANGE_CIPHER_SPEC: [u8; 6] = [20, 3, 3, 0, 1, 1];

/// One end's way of making bytes for the socket of content, and the other way round.
#[derive(Debug)]
pub(crate) struct Channel {
    tls: Option<Box<rustls::Connection>>,
    /// What the content's bodies consist of.
    bodies: Rc<dyn Bodies>,
    /// For the room that records leave.
    cost: Tls,
    /// The other end has said that it sends no more.
    closed: bool,
    /// Bytes made for the socket.
    out: Vec<u8>,
    /// How many of them it has taken.
    taken: usize,
    /// Storage that is used again and again.
    content: Vec<u8>,
    chunks: Vec<Chunk>,
}

impl Channel {
    /// A channel over plain TCP, or through `tls`, whose handshake is to come.
    pub(crate) fn new(tls: Option<rustls::Connection>, bodies: Rc<dyn Bodies>) -> Channel {
        let tls = tls.map(Box::new);
        let (out, content, chunks) = (Vec::new(), Vec::new(), Vec::new());
        Channel { tls, bodies, cost: Tls::None, closed: false, out, taken: 0, content, chunks }
    }

    /// Begins the handshake, if it is this end's to begin.
    pub(crate) fn begin(&mut self) {
        self.collect();
    }

    /// Whether the handshake goes on.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// The protocol that the handshake agreed on, if it agreed on one.
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.alpn_protocol()
    }

    /// The TLS that content goes through, once the handshake is over.
    pub(crate) fn tls(&self) -> Option<Tls> {
        self.tls.as_ref().map(|_| self.cost)
    }

    /// Whether the other end has said that it sends no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes what has arrived; gives the content that it completes.
    pub(crate) fn handle_input(&mut self, mut input: &[u8]) -> Result<Bytes, rustls::Error> {
        let Some(tls) = &mut self.tls else { return Ok(Bytes::copy_from_slice(input)) };
        let mut content = Vec::new();
        let mut result = Ok(());
        while !input.is_empty() && result.is_ok() && !self.closed {
            result = match tls.read_tls(&mut input) {
                Err(error) => Err(rustls::Error::General(error.to_string())),
                Ok(_) => tls.process_new_packets().map(|state| {
                    let (before, more) = (content.len(), state.plaintext_bytes_to_read());
                    content.resize(before + more, 0);
                    tls.reader().read_exact(&mut content[before..]).expect("so much can be read");
                    self.closed = state.peer_has_closed();
                }),
            };
        }
        self.cost = match tls.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => Tls::V1_2,
            _ => Tls::V1_3,
        };
        // Its own messages, or the alert that says what is wrong.
        self.collect();
        result.map(|()| content.into())
    }

    /// How much content may be written at a time into `room` bytes of the socket.
    pub(crate) fn content_room(&self, room: u64) -> u64 {
        self.cost.content_room(room)
    }

    /// How much to read at a time of the socket for `room` bytes of content.
    pub(crate) fn transport_room(&self, room: u64) -> u64 {
        self.cost.transport_room(room)
    }

    /// Writes content: everything in `wire`, as one record if it is no more than one's.
    ///
    /// # Errors
    /// If a body has not got the bytes any more: [`ErrorKind::UnexpectedEof`].
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
            self.collect();
        }
        Ok(())
    }

    /// Tells the other end that no more content comes.
    pub(crate) fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            self.collect();
        }
    }

    /// The bytes that are to go to the socket.
    pub(crate) fn pending(&self) -> &[u8] {
        let pending = &self.out[self.taken..];
        // A browser's goes with the flight that it begins, rustls makes it as soon as it may.
        if self.is_shaking_hands() && pending == CHANGE_CIPHER_SPEC { &[] } else { pending }
    }

    /// The socket has taken the first `count` of them.
    pub(crate) fn advance(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.out.len() {
            self.out.clear();
            self.taken = 0;
        }
    }

    /// Lets go of its storage if nothing is in it: of many connections most are idle.
    pub(crate) fn rest(&mut self) {
        if self.out.is_empty() {
            (self.out, self.content) = (Vec::new(), Vec::new());
        }
    }

    /// Takes what TLS has made for the socket.
    fn collect(&mut self) {
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
        let server = authority.server(&["a.test"], Tls::V1_3, Protocol::H2).unwrap().unwrap();
        let mut client = Channel::new(Some(client.connect()), Rc::new(Pattern));
        let mut server = Channel::new(Some(ServerConnection::new(server).unwrap().into()), Rc::new(Pattern));
        client.begin();
        server.handle_input(client.pending()).unwrap();
        client.advance(client.pending().len());
        // As it comes in segments, with the server's hello in the first.
        let flight = server.pending().to_vec();
        for segment in flight.chunks(1448) {
            assert_eq!((client.is_shaking_hands(), client.pending().len()), (true, 0));
            client.handle_input(segment).unwrap();
        }
        assert!(!client.is_shaking_hands());
        assert!(client.pending().starts_with(&CHANGE_CIPHER_SPEC) && client.pending().len() > 60);
    }
}
