use super::*;
use crate::packet::tests::written;
use crate::packet::{CapturedFlags, SackBlocks, TcpPacket};
use crate::star;
use loadstone_net::Fate;
use std::time::Duration;

const SYN: CapturedFlags = CapturedFlags { syn: true, fin: false, rst: false, ack: false };
const ACK: CapturedFlags = CapturedFlags { ack: true, syn: false, ..SYN };

/// A packet between port 1000 of the client and port 80 of a server.
fn parcel(from: BedHost, to: BedHost, sequence: u32, payload: u32, flags: CapturedFlags) -> Datagram {
    let (source_port, destination_port) = if from == BedHost::CLIENT { (1000, 80) } else { (80, 1000) };
    let packet = TcpPacket {
        source: from.address(),
        destination: to.address(),
        source_port,
        destination_port,
        len: 40 + payload,
        payload,
        sequence,
        acknowledgement: 0,
        window: 0,
        flags,
    };
    Datagram::read(from, &written(&packet, 0, SackBlocks::default()), 10).unwrap()
}

fn journey(network: &str, extra_ms: &[u64]) -> Journey {
    let extra: Vec<Duration> = extra_ms.iter().map(|ms| Duration::from_millis(*ms)).collect();
    let (fabric, nodes) = star(&network.parse().unwrap(), &extra);
    Journey::new(Layout { fabric, nodes, seed: Seed(1), noted: Some(2), tap: None }, Flows::default())
}

fn us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

/// Delivers everything on time: when, where, and the sequence number.
fn drain(journey: &mut Journey) -> Vec<(Time, BedHost, u32)> {
    let mut delivered = Vec::new();
    while journey.next() < Time::NEVER {
        let now = journey.next();
        while let Some((due, parcel)) = journey.poll_packet(now) {
            journey.note_delivery(due, &parcel);
            delivered.push((due, parcel.to, parcel.segment.unwrap().sequence));
        }
    }
    delivered
}

#[test]
fn a_packet_takes_the_way_to_its_host_and_leaves_its_traces_there() {
    // 40 bytes take 0.32 ms up and 0.032 ms down, 1,500 bytes take 1.2 ms down; the link's delay is 50 ms,
    // that of the second server 15 ms.
    let (client, near, far) = (BedHost::CLIENT, BedHost::server(0), BedHost::server(1));
    let mut journey = journey("10/1mbit,100ms", &[0, 30]);
    journey.handle_packet(us(0), parcel(client, near, 1, 0, SYN)).unwrap();
    journey.handle_packet(us(0), parcel(client, far, 2, 0, SYN)).unwrap();
    journey.handle_packet(us(1000), parcel(far, client, 3, 1460, ACK)).unwrap();
    journey.handle_packet(us(1000), parcel(far, near, 4, 0, ACK)).unwrap();
    let expected = [(us(16_000), near, 4), (us(50_320), near, 1), (us(65_640), far, 2), (us(67_200), client, 3)];
    assert_eq!(drain(&mut journey), expected);
    let notes = journey.end(us(99_000));
    let arrivals: Vec<_> = notes.arrivals.iter().map(|it| (it.last, it.last_data)).collect();
    let [near, far, client] = [50_320, 65_640, 67_200].map(|at| Some(us(at)));
    assert_eq!(arrivals, [(client, client), (near, None), (far, None)]);
    assert_eq!(notes.departures, [Some(us(0)), None, Some(us(1000))]);
    let counts = |at: usize| (notes.passages[at].counts.packets, notes.passages[at].counts.bytes);
    assert_eq!((counts(0), counts(1)), ((1, 1500), (2, 80)));
    assert_eq!((notes.connections.len(), notes.trace.len(), notes.left_out), (3, 2, 1));
    let written: Vec<_> = notes.trace.iter().map(|event| event.written).collect();
    assert_eq!(written, [near, far], "the first two that came to a link");
}

#[test]
fn what_a_full_queue_drops_is_told_and_its_connection_waits_for_it() {
    let (client, server) = (BedHost::CLIENT, BedHost::server(0));
    let mut journey = journey("10/1mbit,100ms,queue=1p", &[30]);
    journey.handle_packet(us(0), parcel(client, server, 9, 0, SYN)).unwrap();
    for sequence in [10, 20, 30] {
        journey.handle_packet(us(0), parcel(client, server, sequence, 10, ACK)).unwrap();
    }
    drain(&mut journey);
    let notes = journey.end(us(99_000));
    let told =
        |lost: &LostPacket<PacketHead>| (lost.number, lost.packet.segment.unwrap().sequence, lost.fate, lost.due);
    let lost: Vec<_> = notes.passages[1].lost.iter().map(told).collect();
    // 40 bytes take 0.32 ms, 50 bytes 0.4 ms: 0.72 ms till the first two are sent, 0.4 ms for either of the
    // others, and 50 + 15 ms on the way.
    assert_eq!(lost, [(2, 20, Fate::Dropped, us(66_120)), (3, 30, Fate::Dropped, us(66_120))]);
    assert_eq!(notes.connections[0].stalls_up, [us(66_120)..us(99_000)]);
}

#[test]
fn under_fq_codel_a_connection_does_not_wait_for_another() {
    let (client, server, other) = (BedHost::CLIENT, BedHost::server(0), BedHost::server(1));
    let mut journey = journey("10mbit,100ms,aqm=fq_codel", &[0, 0]);
    for sequence in 0..5 {
        journey.handle_packet(us(0), parcel(server, client, sequence, 1460, ACK)).unwrap();
    }
    journey.handle_packet(us(1000), parcel(other, client, 9, 1460, ACK)).unwrap();
    // The first is being sent, and the other connection is the next.
    let expected = [(51_200, 0), (52_400, 9), (53_600, 1), (54_800, 2), (56_000, 3), (57_200, 4)];
    assert_eq!(drain(&mut journey), expected.map(|(at, sequence)| (us(at), client, sequence)));
}

#[test]
fn what_waits_under_an_aqm_when_a_run_ends_is_underway() {
    let (client, server) = (BedHost::CLIENT, BedHost::server(0));
    let mut journey = journey("10mbit,100ms,aqm=codel", &[0]);
    for sequence in 0..5 {
        journey.handle_packet(us(0), parcel(server, client, sequence, 1460, ACK)).unwrap();
    }
    assert!(journey.poll_packet(us(2000)).is_none());
    let notes = journey.end(us(2000));
    assert_eq!((notes.underway.len(), notes.passages[0].lost.len()), (5, 0));
    assert!(notes.trace.iter().all(|event| event.fate == Fate::Underway));
}

#[test]
fn what_is_no_part_of_the_run_is_handed_back_and_what_is_underway_is_not_lost() {
    let (client, server) = (BedHost::CLIENT, BedHost::server(0));
    let mut journey = journey("10/1mbit,100ms", &[0]);
    journey.flows.handle_between_runs(&parcel(client, server, 1, 0, SYN));
    for (from, to) in [(client, server), (server, client)] {
        assert!(matches!(journey.handle_packet(us(0), parcel(from, to, 2, 5, ACK)), Err(Stray::Older(_))));
    }
    assert_eq!(journey.next(), Time::NEVER);
    journey.handle_packet(us(0), parcel(client, server, 7, 0, SYN)).unwrap();
    journey.handle_packet(us(0), parcel(server, client, 8, 0, ACK)).unwrap();
    let notes = journey.end(us(1));
    assert_eq!((notes.underway.len(), notes.connections.len()), (2, 1));
    assert!(notes.trace.iter().all(|event| (event.fate, event.written) == (Fate::Underway, None)));
}

#[test]
fn hosts_that_nothing_joins_do_not_hear_of_one_another() {
    let mut fabric = Fabric::new();
    let nodes = vec![fabric.add_node(), fabric.add_node()];
    let layout = Layout { fabric: Arc::new(fabric), nodes, seed: Seed(1), noted: None, tap: None };
    let mut journey = Journey::new(layout, Flows::default());
    let sent = journey.handle_packet(us(0), parcel(BedHost(0), BedHost(1), 1, 0, SYN));
    assert!(matches!(sent, Err(Stray::Nowhere)));
    assert!(journey.end(us(1)).connections.is_empty());
}
