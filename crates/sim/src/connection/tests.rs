//! Connections over a transport of two streams, as QUIC would be one: each with its own order and its own losses.

use super::*;
use loadstone_http::BodyId;
use loadstone_load::{Action, Closed, Opened};
use loadstone_net::tcp::Metrics;
use loadstone_net::{Fabric, NamedLink};
use std::ops::Range;

/// The most content in a packet.
const PACKET: u64 = 1_000;

const STREAMS: [TransportStream; 2] = [TransportStream(0), TransportStream(4)];

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A piece of a stream.
#[derive(Clone, Debug)]
struct Piece {
    on: TransportStream,
    bytes: Range<u64>,
}

/// A stream at one end: what was written here, and what has come.
#[derive(Debug, Default)]
struct Flow {
    written: u64,
    sent: u64,
    /// How much has come in order, and how much of that has been read.
    expected: u64,
    read: u64,
    beyond: Vec<Range<u64>>,
    is_new: bool,
}

/// A transport that never sends anything again by itself.
#[derive(Debug, Default)]
struct Toy {
    flows: [Flow; 2],
}

impl Toy {
    fn place(on: TransportStream) -> usize {
        STREAMS.iter().position(|it| *it == on).unwrap()
    }

    fn room(&self, on: TransportStream) -> u64 {
        let flow = &self.flows[Toy::place(on)];
        2 * PACKET - (flow.written - flow.sent)
    }
}

impl Transport for Toy {
    type Packet = Piece;

    fn is_connected(&self) -> bool {
        true
    }

    fn drive_handshake(&mut self) -> bool {
        true
    }

    fn next_stream(&self, program: &dyn Program, conn: ConnId) -> Option<(TransportStream, u64)> {
        let on = program.next_stream(conn, &|on| self.room(on) as usize)?;
        Some((on, self.room(on)))
    }

    fn write(&mut self, on: TransportStream, content: u64) {
        self.flows[Toy::place(on)].written += content;
    }

    fn written(&self, on: TransportStream) -> u64 {
        self.flows[Toy::place(on)].written
    }

    fn poll_arrived(&mut self) -> Option<TransportStream> {
        let (on, flow) = STREAMS.into_iter().zip(&mut self.flows).find(|(_, flow)| flow.is_new)?;
        flow.is_new = false;
        Some(on)
    }

    fn read(&mut self, on: TransportStream, most: u64, _: &mut Toy) -> u64 {
        let flow = &mut self.flows[Toy::place(on)];
        let content = most.min(flow.expected - flow.read);
        flow.read += content;
        content
    }

    fn handle_packet(&mut self, _: Time, Piece { on, bytes }: &Piece) {
        let flow = &mut self.flows[Toy::place(*on)];
        flow.beyond.push(bytes.clone());
        while let Some(at) = flow.beyond.iter().position(|piece| piece.start == flow.expected) {
            flow.expected = flow.beyond.swap_remove(at).end;
            flow.is_new = true;
        }
    }

    fn poll_packet(&mut self, _: Time) -> Option<Piece> {
        let (on, flow) = STREAMS.into_iter().zip(&mut self.flows).find(|(_, flow)| flow.sent < flow.written)?;
        let start = flow.sent;
        flow.sent = flow.written.min(start + PACKET);
        Some(Piece { on, bytes: start..flow.sent })
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }

    fn numbers(packet: &Piece) -> impl Iterator<Item = (TransportStream, Range<u64>)> {
        std::iter::once((packet.on, packet.bytes.clone()))
    }

    fn expected(&self, on: TransportStream) -> u64 {
        self.flows[Toy::place(on)].expected
    }

    fn close(&mut self) {}

    fn abort(&mut self) {}

    fn closed(&self) -> Option<Closed> {
        None
    }

    fn is_over(&self) -> bool {
        false
    }

    fn save_metrics(&self, _: &mut Metrics) {}

    fn cwnd(&self) -> u32 {
        0
    }

    fn retransmissions(&self) -> u64 {
        0
    }

    fn loss_recovery(&self) -> LossRecovery {
        LossRecovery::default()
    }
}

/// Sends a body of its own on each stream.
struct Sender {
    left: [u64; 2],
}

impl Program for Sender {
    fn handle_open(&mut self, _: Time, _: ConnId, _: Opened) {}

    fn handle_input(&mut self, _: Time, _: ConnId, _: TransportStream, _: &[Chunk]) {}

    fn handle_close(&mut self, _: Time, _: ConnId, _: Closed) {}

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_action(&mut self) -> Option<Action> {
        None
    }

    fn next_stream(&self, _: ConnId, room: &dyn Fn(TransportStream) -> usize) -> Option<TransportStream> {
        let mut ready = STREAMS.into_iter().zip(self.left).filter(|(on, left)| *left > 0 && room(*on) > 0);
        ready.next().map(|(on, _)| on)
    }

    fn poll_transmit(&mut self, _: Time, _: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        let place = Toy::place(on);
        let len = self.left[place].min(room as u64);
        self.left[place] -= len;
        out.push(Chunk::Run { body: BodyId(place as u32), offset: 0, len });
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}

/// A connection from a client to a server, both open; on it the server has sent three packets of each stream.
fn sent() -> (Connection<Toy>, Vec<Piece>) {
    let route = {
        let link = NamedLink { name: String::new(), network: "1mbit,10ms".parse().unwrap() };
        let mut fabric = Fabric::new();
        let [near, far] = [fabric.add_node(), fabric.add_node()];
        fabric.add_link([near, far], link).unwrap();
        fabric.add_route(near, far).unwrap()
    };
    let place = |host| EndPlace { host, conn: ConnId(0), route, timer: host };
    let ends = [(Toy::default(), place(0)), (Toy::default(), place(1))];
    let mut connection = Connection::new(at(0), HostId(0), ends);
    let server = connection.end(Side::Server);
    (server.open_reported, server.wants_write) = (server.drive_handshake(), true);
    let (mut program, mut packets) = (Sender { left: [3 * PACKET; 2] }, Vec::new());
    while server.next_stream(&program).is_some() {
        server.fill(&mut program, at(0));
        packets.extend(std::iter::from_fn(|| server.transport.poll_packet(at(0))));
    }
    packets.sort_by_key(|piece| (piece.on, piece.bytes.start));
    (connection, packets)
}

/// What the client's program gets when a packet arrives: how much of which body, by streams.
fn arrive(connection: &mut Connection<Toy>, now: Time, packet: &Piece) -> Vec<(TransportStream, u32, u64)> {
    connection.end(Side::Client).handle_packet(now, packet);
    let (mut got, mut input) = (Vec::new(), Vec::new());
    while let Some(on) = connection.read(Side::Client, &mut input) {
        for chunk in input.drain(..) {
            let Chunk::Run { body, len, .. } = chunk else { panic!("{chunk:?}") };
            got.push((on, body.0, len));
        }
    }
    got
}

#[test]
fn what_is_lost_of_a_stream_makes_no_other_wait() {
    let (mut connection, packets) = sent();
    let [one, other] = STREAMS;
    assert_eq!(packets.iter().filter(|piece| piece.on == other).count(), 3);
    connection.handle_dropped(Side::Client, &packets[0], at(10));
    assert_eq!(arrive(&mut connection, at(11), &packets[1]), []);
    assert_eq!(arrive(&mut connection, at(12), &packets[3]), [(other, 1, PACKET)]);
    // What has come behind a gap is there at once when that is filled.
    assert_eq!(arrive(&mut connection, at(40), &packets[0]), [(one, 0, 2 * PACKET)]);
    connection.handle_dropped(Side::Client, &packets[4], at(50));
    assert_eq!(arrive(&mut connection, at(55), &packets[2]), [(one, 0, PACKET)]);
    assert_eq!(arrive(&mut connection, at(58), &packets[5]), []);
    assert_eq!(arrive(&mut connection, at(60), &packets[4]), [(other, 1, PACKET), (other, 1, PACKET)]);

    assert_eq!(connection.outcome().content_down, 6 * PACKET);
    let record = connection.into_record(at(100), Duration::ZERO);
    let down = |on| record.stalls[&on].down.clone();
    assert_eq!((down(one), down(other)), (vec![at(10)..at(40)], vec![at(50)..at(60)]));
    assert!(record.stalls.values().all(|stalls| stalls.up.is_empty()));
}

#[test]
fn a_program_may_read_one_stream_and_leave_another() {
    let (mut connection, packets) = sent();
    let [one, other] = STREAMS;
    connection.end(Side::Client).set_max_data(other, 300);
    assert_eq!(arrive(&mut connection, at(1), &packets[3]), [(other, 1, 300)]);
    assert_eq!(arrive(&mut connection, at(1), &packets[0]), [(one, 0, PACKET)]);
    assert_eq!(arrive(&mut connection, at(1), &packets[4]), []);
    connection.end(Side::Client).set_max_data(other, 1_200);
    let mut input = Vec::new();
    connection.read_stream(Side::Client, other, &mut input);
    assert_eq!(input.iter().map(Chunk::len).sum::<u64>(), 900);
}
