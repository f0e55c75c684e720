use super::*;
use crate::packet::{self, Flags};
use proptest::prelude::*;

const SYN: Flags = Flags { syn: true, fin: false, rst: false, ack: false };
const ACK: Flags = Flags { ack: true, syn: false, ..SYN };

/// A packet of the connection between the client's port 1000 and the server `server`.
fn parcel(from: Host, server: usize, sequence: u32, payload: u32, flags: Flags) -> Parcel {
    let (client, host) = (Host::Client.address(), Host::Server(server).address());
    let (source, destination) = if from == Host::Client { (client, host) } else { (host, client) };
    let (source_port, destination_port) = if from == Host::Client { (1000, 80) } else { (80, 1000) };
    let packet = Packet {
        source,
        destination,
        source_port,
        destination_port,
        len: 40 + payload,
        payload,
        sequence,
        acknowledgement: 0,
        window: 0,
        flags,
    };
    Parcel::read(from, &packet::tests::written(&packet, 0, packet::Sacks::default()), server + 1).unwrap()
}

fn course(network: &str, extra_ms: &[u64], seed: u64) -> Course {
    let extra: Vec<Duration> = extra_ms.iter().map(|ms| Duration::from_millis(*ms)).collect();
    Course::new(&network.parse().unwrap(), &extra, Seed(seed), 1000)
}

fn us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

/// Delivers everything on time: when, where, and the sequence number.
fn drain(course: &mut Course) -> Vec<(Time, Host, u32)> {
    let mut delivered = Vec::new();
    while course.next() < Time::NEVER {
        while let Some((due, parcel)) = course.poll_packet(course.next()) {
            course.note_delivery(due, due, &parcel);
            delivered.push((due, parcel.to, parcel.packet.sequence));
        }
    }
    delivered
}

#[test]
fn a_packet_takes_the_link_and_the_way_to_its_server() {
    // 40 bytes take 0.32 ms up and 0.032 ms down, 1,500 bytes take 1.2 ms down; the link's delay is 50 ms,
    // that of the second server 15 ms.
    let mut course = course("10/1mbit,100ms", &[0, 30], 1);
    course.handle_packet(us(0), parcel(Host::Client, 0, 1, 0, SYN)).unwrap();
    course.handle_packet(us(0), parcel(Host::Client, 1, 2, 0, SYN)).unwrap();
    course.handle_packet(us(1000), parcel(Host::Server(1), 1, 3, 1460, ACK)).unwrap();
    course.handle_packet(us(16_000), parcel(Host::Server(0), 0, 4, 0, ACK)).unwrap();
    // The fourth comes to the link first only by its number: 3 is there at 16 ms too, but was handed in before.
    let expected = [
        (us(50_320), Host::Server(0), 1),
        (us(65_640), Host::Server(1), 2),
        (us(66_032), Host::Client, 4),
        (us(67_232), Host::Client, 3),
    ];
    let mut delivered = drain(&mut course);
    delivered.sort();
    assert_eq!(delivered, expected);
    let (record, underway) = course.end(Time::NEVER);
    assert_eq!((record.first_syn, underway.len()), (Some(us(0)), 0));
    assert_eq!((record.down.last, record.down.last_data), (Some(us(67_232)), Some(us(67_232))));
    assert_eq!((record.up.last, record.up.last_data), (Some(us(65_640)), None));
    assert_eq!((record.down.counts.packets, record.down.counts.bytes), (2, 1540));
    assert_eq!(record.connections.len(), 2);
}

#[test]
fn what_belongs_to_no_connection_of_the_run_is_handed_back() {
    let mut course = course("10/1mbit,100ms", &[0], 1);
    for (from, flags) in [(Host::Client, ACK), (Host::Server(0), ACK), (Host::Server(0), Flags { syn: true, ..ACK })] {
        assert!(course.handle_packet(us(0), parcel(from, 0, 1, 0, flags)).is_err());
    }
    assert_eq!((course.first_syn, course.next()), (None, Time::NEVER));
    course.handle_packet(us(0), parcel(Host::Client, 0, 1, 0, SYN)).unwrap();
    course.handle_packet(us(0), parcel(Host::Server(0), 0, 1, 0, ACK)).unwrap();
}

#[test]
fn only_segments_between_the_client_and_a_server_are_read() {
    let bytes = parcel(Host::Client, 1, 1, 0, SYN).bytes;
    assert!(Parcel::read(Host::Client, &bytes, 2).is_some());
    assert!(Parcel::read(Host::Client, &bytes, 1).is_none(), "there is no such server");
    assert!(Parcel::read(Host::Server(0), &bytes, 2).is_none(), "the source is another host's");
    assert!(Parcel::read(Host::Client, &bytes[..39], 2).is_none());
    let mut between_servers = bytes.clone();
    between_servers[12..16].copy_from_slice(&Host::Server(0).address().octets());
    assert!(Parcel::read(Host::Server(0), &between_servers, 2).is_none());
}

#[test]
fn what_a_full_queue_drops_is_told_with_its_number_and_when_it_would_have_arrived() {
    let mut course = course("10/1mbit,100ms,queue=1p", &[30], 1);
    course.handle_packet(us(0), parcel(Host::Client, 0, 9, 0, SYN)).unwrap();
    for sequence in [10, 20, 30] {
        course.handle_packet(us(0), parcel(Host::Client, 0, sequence, 10, ACK)).unwrap();
    }
    drain(&mut course);
    let (record, _) = course.end(Time::NEVER);
    // 40 bytes take 0.32 ms, 50 bytes 0.4 ms: 0.72 ms till the first two are sent, 0.4 ms for either of the
    // others, and 50 + 15 ms on the way.
    let connection = Connection { client_port: 1000, server: 0, server_port: 80 };
    let lost = |number, sequence| Lost {
        number,
        connection,
        entered: us(0),
        due: us(66_120),
        cause: Cause::Queue,
        sequence,
        numbers: 10,
        flags: ACK,
    };
    assert_eq!(record.up.lost, [lost(2, 20), lost(3, 30)]);
    assert_eq!(record.up.counts.dropped, 2);
    let fates: Vec<Fate> = record.trace.iter().map(|event| event.fate).collect();
    let delivered = |at| Fate::Delivered { due: us(at), written: us(at) };
    let dropped = Fate::Lost(Cause::Queue);
    assert_eq!(fates, [delivered(65_320), delivered(65_720), dropped, dropped]);
}

#[test]
fn chance_draws_from_the_streams_of_the_simulator() {
    for seed in 1..20 {
        let mut course = course("10/1mbit,100ms,30%,queue=1000p", &[0], seed);
        course.handle_packet(us(0), parcel(Host::Client, 0, 0, 0, SYN)).unwrap();
        (1..100).for_each(|at| course.handle_packet(us(at), parcel(Host::Client, 0, at as u32, 0, ACK)).unwrap());
        (0..100).for_each(|at| course.handle_packet(us(at), parcel(Host::Server(0), 0, at as u32, 0, ACK)).unwrap());
        let (record, underway) = course.end(Time::NEVER);
        for (passage, name) in [(&record.down, "down.loss"), (&record.up, "up.loss")] {
            let mut draws = Seed(seed).stream(name);
            let expected: Vec<u64> = (0..100).filter(|_| draws.next_f64() < 0.3).collect();
            assert_eq!(passage.lost.iter().map(|lost| lost.number).collect::<Vec<_>>(), expected);
            assert!(passage.lost.iter().all(|lost| lost.cause == Cause::Loss));
        }
        assert_eq!(underway.len() as u64, 200 - record.down.counts.lost - record.up.counts.lost);
    }
}

#[test]
fn a_trace_is_no_longer_than_asked_for() {
    let mut course = Course::new(&"10mbit,10ms".parse().unwrap(), &[Duration::ZERO], Seed(1), 2);
    course.handle_packet(us(0), parcel(Host::Client, 0, 0, 0, SYN)).unwrap();
    (1..5).for_each(|at| course.handle_packet(us(at), parcel(Host::Client, 0, at as u32, 1, ACK)).unwrap());
    assert_eq!(course.end(Time::NEVER).0.trace.iter().map(|event| event.packet.sequence).collect::<Vec<_>>(), [0, 1]);
}

proptest! {
    #[test]
    fn every_packet_is_delivered_lost_or_dropped_and_none_before_its_time(
        packets in prop::collection::vec((0_usize..3, any::<bool>(), 0_u32..1400, 0_u64..3000), 1..200),
        (loss, queue) in (0_u32..50, 1_u32..20),
    ) {
        let extra = [0, 10, 35];
        let mut course = course(&format!("5/2mbit,40ms,{loss}%,queue={queue}p"), &extra, 7);
        for server in 0..3 {
            course.handle_packet(us(0), parcel(Host::Client, server, 0, 0, SYN)).unwrap();
        }
        let (mut now, mut entered, mut delivered) = (0, vec![us(0)], Vec::new());
        for (number, (server, up, payload, gap)) in packets.iter().enumerate() {
            now += gap;
            while let Some((due, parcel)) = course.poll_packet(us(now)) {
                delivered.push((due, parcel.to, parcel.packet.sequence));
            }
            entered.push(us(now));
            let from = if *up { Host::Client } else { Host::Server(*server) };
            course.handle_packet(us(now), parcel(from, *server, number as u32 + 1, *payload, ACK)).unwrap();
        }
        delivered.extend(drain(&mut course));
        prop_assert!(delivered.is_sorted_by_key(|(due, _, _)| *due));
        for (due, to, number) in &delivered {
            let server = match to {
                Host::Server(server) => *server,
                Host::Client => packets[*number as usize - 1].0,
            };
            prop_assert!(*due >= entered[*number as usize] + Duration::from_millis(20 + extra[server] / 2));
        }
        let (record, underway) = course.end(Time::NEVER);
        prop_assert!(underway.is_empty());
        let gone = record.up.lost.len() + record.down.lost.len();
        prop_assert_eq!(delivered.len() + gone, packets.len() + 3);
        prop_assert_eq!(record.up.counts.packets + record.down.counts.packets, packets.len() as u64 + 3);
        let counted = [record.up.counts, record.down.counts].map(|counts| counts.lost + counts.dropped);
        prop_assert_eq!(counted.iter().sum::<u64>(), gone as u64);
    }
}
