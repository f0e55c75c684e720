//! Whatever a client sends, a server holds and does a bounded amount for each byte of it. The first byte chooses the
//! protocol, the second how much of what the server sends is taken, the third the pieces.

#![no_main]

use bytes::Bytes;
use cap::Cap;
use libfuzzer_sys::fuzz_target;
use loadstone_http::{Body, BodyId, Chunk, Fields, Multiplexing, Protocol, RequestHead, ResponseHead};
use loadstone_http::{SessionFactory, TransportStream, Wire};
use loadstone_load::{
    Action, Answer, ConnId, Exchange, MaxKept, Opened, Opener, Origin, OriginConfig, Program, Site, Ticket,
};
use loadstone_units::Time;
use std::alloc::System;
use std::sync::{Arc, LazyLock};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What a connection may hold whatever has been sent: a megabyte of heads, and what 100 exchanges are.
const HELD: usize = 3 << 20;
/// How many bytes it may hold for each byte that has been sent.
const HELD_PER_BYTE: usize = 8;
/// How many bytes may be allocated in all, for each byte that has been sent: a head of 64 KiB may come in 20 bytes, and
/// is copied twice.
const WORK_PER_BYTE: usize = 16 << 10;

const PROTOCOLS: [Protocol; 5] = [Protocol::H2, Protocol::Spdy31, Protocol::Http1, Protocol::Spdy3, Protocol::Spdy2];
const CONN: ConnId = ConnId(0);

/// Has a body for each request that is longer than any window.
struct Large;

impl Site for Large {
    type Asked = ();

    fn keep(&self, head: Arc<RequestHead>) -> Arc<RequestHead> {
        Arc::new(head.excerpt(&[]))
    }

    fn ask(&mut self, _: &Arc<RequestHead>) {}

    fn take(&mut self, (): &mut (), _: Chunk) {}

    fn answer(&mut self, (): (), _: Ticket) -> Option<Answer> {
        static HEAD: LazyLock<Arc<ResponseHead>> =
            LazyLock::new(|| Arc::new(ResponseHead::new(200, Fields::from_pairs([("content-length", "100000000")]))));
        Some(Answer::new(HEAD.clone(), Body { id: BodyId(1), len: 100_000_000 }))
    }

    fn done(&mut self, _: &Exchange) {}
}

/// A server and the other end of its only connection.
struct Server {
    origin: Origin<Large>,
    /// Up to where the connection is read.
    limit: u64,
    is_closed: bool,
}

impl Server {
    fn new(protocol: Protocol) -> Server {
        let sessions = Arc::new(SessionFactory::isolated(Multiplexing::default()));
        let max_kept = MaxKept { connection: 1 << 20, all: 1 << 28 };
        let mut origin = Origin::new(Large, OriginConfig { max_kept, ..OriginConfig::new(sessions) });
        let peer = core::net::Ipv4Addr::LOCALHOST.into();
        origin.handle_open(Time::ZERO, CONN, Opened { by: Opener::Peer, peer, protocol });
        Server { origin, limit: u64::MAX, is_closed: false }
    }

    /// Does what it wants done; of what it sends `room` bytes are taken.
    fn act(&mut self, room: usize) {
        while let Some(action) = self.origin.poll_action() {
            match action {
                Action::Transmit { .. } if room > 0 => {
                    self.origin.poll_transmit(Time::ZERO, CONN, TransportStream::TCP, room, &mut Wire::default());
                }
                Action::Receive { limit, .. } => self.limit = limit,
                Action::Close { .. } => self.is_closed = true,
                _ => {}
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let [protocol, room, step, text @ ..] = input else { return };
    let room = usize::from(*room) * 64;
    let (held_before, done_before) = (ALLOCATOR.allocated(), ALLOCATOR.total_allocated());
    let mut server = Server::new(PROTOCOLS[usize::from(*protocol) % PROTOCOLS.len()]);
    let mut sent = 0;
    for piece in text.chunks(usize::from(*step) * 16 + 1) {
        server.act(room);
        if server.is_closed || sent as u64 >= server.limit {
            break;
        }
        sent += piece.len();
        let chunk = Chunk::Bytes(Bytes::copy_from_slice(piece));
        server.origin.handle_input(Time::ZERO, CONN, TransportStream::TCP, &[chunk]);
        let held = ALLOCATOR.allocated().saturating_sub(held_before);
        assert!(held <= HELD + HELD_PER_BYTE * sent, "{held} bytes are held for {sent} that were sent");
    }
    let done = ALLOCATOR.total_allocated() - done_before;
    assert!(done <= HELD + WORK_PER_BYTE * sent, "{done} bytes were allocated for {sent} that were sent");
});
