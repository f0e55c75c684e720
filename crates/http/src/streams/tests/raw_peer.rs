//! Sessions whose peers write raw frames.

use super::frame_writer::{FrameWriter, Pairs, SentFrame, sent_frames};
use super::*;
use crate::Push;

/// A session whose peer writes raw frames.
pub(super) struct RawPeer {
    pub(super) session: Box<dyn Session>,
    pub(super) writer: FrameWriter,
    pub(super) result: Result<(), Error>,
    pub(super) sent: Vec<u8>,
}

impl RawPeer {
    pub(super) fn feed(&mut self, frame: Vec<u8>) {
        if self.result.is_ok() {
            self.result = self.session.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(frame.into())]);
        }
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        let mut wire = Wire::default();
        self.session.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        for chunk in wire.take_all() {
            let Chunk::Bytes(bytes) = chunk else { panic!("no test sends a body") };
            self.sent.extend_from_slice(&bytes);
        }
    }

    pub(super) fn get(&mut self, stream: u32, more: Pairs, end: bool) {
        let pairs = self.writer.get(more);
        let frame = self.writer.open(stream, &pairs, end);
        self.feed(frame);
    }

    pub(super) fn ok(&mut self, stream: u32, more: Pairs, end: bool) {
        let pairs = self.writer.ok(more);
        let frame = self.writer.reply(stream, &pairs, end);
        self.feed(frame);
    }

    pub(super) fn data(&mut self, stream: u32, len: usize, end: bool) {
        let frame = self.writer.data(stream, len, end);
        self.feed(frame);
    }

    pub(super) fn fields(&mut self, stream: u32, end: bool) {
        let frame = self.writer.fields(stream, &[("x", "y")], end);
        self.feed(frame);
    }

    pub(super) fn reset(&mut self, stream: u32) {
        let frame = self.writer.reset(stream, 5);
        self.feed(frame);
    }

    pub(super) fn window(&mut self, stream: u32, delta: u32) {
        let frame = self.writer.window(stream, delta);
        self.feed(frame);
    }

    pub(super) fn push(&mut self, stream: u32, associated: u32) {
        let frame = self.writer.push(stream, associated);
        self.feed(frame);
    }

    pub(super) fn is_h2(&self) -> bool {
        self.writer.protocol == Protocol::H2
    }

    /// The protocol's frame of this kind with this payload, on the session.
    pub(super) fn control(&mut self, spdy: u8, h2: u8, payload: &[u8]) {
        let frame = if self.is_h2() { self.writer.h2(h2, 0, 0, payload) } else { self.writer.spdy(spdy, 0, payload) };
        self.feed(frame);
    }

    pub(super) fn said(&self) -> Vec<SentFrame> {
        sent_frames(self.writer.protocol, &self.sent)
    }
}

/// A server that a client of this protocol has greeted. Windows of streams have 65,536 bytes.
pub(super) fn server(protocol: Protocol) -> RawPeer {
    let config = Multiplexing { stream_window: Bounded::known(65_536), ..Multiplexing::default() };
    let session: Box<dyn Session> = sessions(config).server(protocol);
    let mut peer = RawPeer { session, writer: FrameWriter::new(protocol), result: Ok(()), sent: Vec::new() };
    if protocol == Protocol::H2 {
        peer.feed(MAGIC.to_vec());
    }
    peer
}

/// A client that has asked for two resources, on streams 1 and 3.
pub(super) fn client(protocol: Protocol, push: Push) -> RawPeer {
    let mut session = sessions(Multiplexing { push, ..Multiplexing::default() }).client(protocol);
    for _ in 0..2 {
        session.request(get("/"), Body::EMPTY.into(), Priority::default());
    }
    let mut wire = Wire::default();
    session.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    events(session.as_mut());
    let mut peer = RawPeer { session, writer: FrameWriter::new(protocol), result: Ok(()), sent: Vec::new() };
    if protocol == Protocol::H2 {
        peer.feed(MAGIC[24..].to_vec());
    }
    peer
}

/// Lets the server answer the request on stream 1 with an empty body.
pub(super) fn server_after_answer(protocol: Protocol) -> RawPeer {
    let mut server = sessions(Multiplexing::default()).server(protocol);
    let mut writer = FrameWriter::new(protocol);
    let pairs = writer.get(&[]);
    let open = writer.open(1, &pairs, true);
    let greeting = if protocol == Protocol::H2 { MAGIC } else { b"" };
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes([greeting, &open].concat().into())]).unwrap();
    server.respond(RequestId(0), ok(0), Body::EMPTY.into());
    let mut wire = Wire::default();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    events(server.as_mut());
    RawPeer { session: server, writer, result: Ok(()), sent: Vec::new() }
}
