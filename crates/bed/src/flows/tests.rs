use super::*;
use crate::packet::tests::written;
use crate::packet::{CapturedFlags, SackBlocks};
use crate::report::SentCounts;

const SYN: CapturedFlags = CapturedFlags { syn: true, fin: false, rst: false, ack: false };
const ACK: CapturedFlags = CapturedFlags { ack: true, syn: false, ..SYN };
const SYN_ACK: CapturedFlags = CapturedFlags { ack: true, ..SYN };

/// A packet between port 1000 of the client and port 80 of the server 0.
fn parcel(from: BedHost, sequence: u32, payload: u32, flags: CapturedFlags) -> Datagram {
    let (to, source_port, destination_port) =
        if from == BedHost::CLIENT { (BedHost::server(0), 1000, 80) } else { (BedHost::CLIENT, 80, 1000) };
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
    Datagram::read(from, &written(&packet, 0, SackBlocks::default()), 2).unwrap()
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// It is sent, and lost or delivered.
fn pass(flows: &mut Flows, at: u64, parcel: Datagram, due: Result<u64, u64>) {
    let connection = flows.handle_packet(ms(at), &parcel).unwrap();
    let parcel = Datagram { connection, ..parcel };
    match due {
        Ok(delivered) => flows.handle_delivery(&parcel, ms(delivered)),
        Err(lost) => flows.handle_loss(&parcel, ms(lost)),
    }
}

#[test]
fn a_connection_begins_with_its_syn_and_is_followed_both_ways() {
    let (client, server, mut flows) = (BedHost::CLIENT, BedHost::server(0), Flows::default());
    pass(&mut flows, 3, parcel(client, 9, 0, SYN), Err(10));
    pass(&mut flows, 20, parcel(client, 9, 0, SYN), Ok(30));
    pass(&mut flows, 30, parcel(server, 70, 0, SYN_ACK), Ok(40));
    pass(&mut flows, 40, parcel(server, 71, 100, ACK), Err(50));
    pass(&mut flows, 60, parcel(server, 71, 100, ACK), Ok(70));
    let reports = flows.end(ms(99));
    let connection = ConnectionKey { client, client_port: 1000, server, server_port: 80 };
    assert_eq!((reports.len(), reports[0].connection, reports[0].opened), (1, connection, Some(ms(3))));
    let sent = |counts: SentCounts| (counts.packets, counts.retransmissions, counts.syn_retransmissions);
    assert_eq!((sent(reports[0].up), sent(reports[0].down)), ((2, 0, 1), (3, 1, 0)));
    assert_eq!(reports[0].up.bytes, 2 * 40, "two SYNs without options");
    assert_eq!(
        (&reports[0].stalls_up[..], &reports[0].stalls_down[..]),
        (&[ms(10)..ms(30)][..], &[ms(50)..ms(70)][..])
    );
}

#[test]
fn what_was_there_before_a_run_is_older_until_it_begins_anew() {
    let (client, server, mut flows) = (BedHost::CLIENT, BedHost::server(0), Flows::default());
    flows.handle_between_runs(&parcel(client, 1, 0, SYN));
    for (from, flags) in [(client, ACK), (server, ACK), (server, SYN_ACK)] {
        assert_eq!(flows.handle_packet(ms(0), &parcel(from, 2, 0, flags)), Err(Older));
    }
    assert_eq!(flows.handle_packet(ms(1), &parcel(client, 5, 0, SYN)), Ok(Some(0)));
    assert_eq!(flows.handle_packet(ms(2), &parcel(server, 7, 0, SYN_ACK)), Ok(Some(0)));
    assert_eq!(flows.end(ms(9)).len(), 1);
    // The next run.
    assert_eq!(flows.handle_packet(ms(0), &parcel(client, 6, 10, ACK)), Err(Older));
    assert!(flows.end(ms(9)).is_empty());
}

#[test]
fn a_connection_whose_beginning_was_not_seen_is_followed_from_there() {
    let (client, server, mut flows) = (BedHost::CLIENT, BedHost::server(0), Flows::default());
    pass(&mut flows, 1, parcel(server, u32::MAX - 50, 100, ACK), Ok(10));
    pass(&mut flows, 2, parcel(server, 49, 100, ACK), Err(12));
    pass(&mut flows, 3, parcel(server, 149, 100, ACK), Ok(13));
    pass(&mut flows, 30, parcel(server, 49, 100, ACK), Ok(40));
    // Then one begins on the same ports.
    pass(&mut flows, 50, parcel(client, 1000, 0, SYN), Ok(60));
    let reports = flows.end(ms(99));
    let opened: Vec<_> = reports.iter().map(|report| (report.connection.client, report.opened)).collect();
    assert_eq!(opened, [(server, None), (client, Some(ms(50)))]);
    assert_eq!((reports[0].up.retransmissions, &reports[0].stalls_up[..]), (1, &[ms(12)..ms(40)][..]));
}

#[test]
fn what_is_no_segment_is_of_no_connection() {
    let mut flows = Flows::default();
    let datagram = Datagram { segment: None, ..parcel(BedHost::CLIENT, 1, 0, ACK) };
    flows.handle_between_runs(&datagram);
    pass(&mut flows, 0, datagram, Ok(1));
    assert!(flows.end(ms(2)).is_empty());
}
