//! What is not TCP passes the links like everything else.

use crate::{PATIENCE, bed, begin, median, turn};
use loadstone_bed::{Bed, BedHost, Settings};
use loadstone_live::Clock;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};

/// The headers of IPv4 and of UDP, or of an ICMP echo: alike.
const HEADERS: usize = 20 + 8;

/// How long a packet with `bytes` of data takes over 10/1mbit,100ms there, and one with as many back, in ms.
fn there_and_back(bytes: usize) -> f64 {
    let bits = ((HEADERS + bytes) * 8) as f64;
    100.0 + bits / 1e6 * 1e3 + bits / 10e6 * 1e3
}

/// How long it takes by the clock of the run, in ms.
fn time(clock: &Clock, work: impl FnOnce()) -> f64 {
    let before = clock.now();
    work();
    clock.now().as_ms() - before.as_ms()
}

fn datagrams(bed: &Bed) -> (UdpSocket, UdpSocket) {
    let socket = |host| {
        let socket = bed.on(host, || UdpSocket::bind((bed.address(host), 9000))).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    (socket(BedHost::CLIENT), socket(BedHost::server(0)))
}

#[test]
fn a_datagram_there_and_back_takes_the_time_of_the_link() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let (client, server) = datagrams(&bed);
    let to: SocketAddr = (bed.address(BedHost::server(0)), 9000).into();
    for bytes in [100, 1000] {
        let run = begin(&bed, "10/1mbit,100ms", 1);
        let exchange = || {
            let mut buffer = [0; 2000];
            client.send_to(&vec![7; bytes], to).unwrap();
            let (len, from) = server.recv_from(&mut buffer).unwrap();
            server.send_to(&buffer[..len], from).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), bytes);
        };
        let times: Vec<f64> = (0..5).map(|_| time(&run.clock(), exchange)).collect();
        let report = run.finish().unwrap();
        let (expected, middle) = (there_and_back(bytes), median(times.clone()));
        assert!((expected..expected + 1.0).contains(&middle), "{times:?} instead of {expected}");
        let counts = [report.up().counts, report.down().counts].map(|counts| (counts.packets, counts.bytes));
        assert_eq!(counts, [(5, 5 * (HEADERS + bytes) as u64); 2]);
        assert_eq!((report.unmatched, report.connections.len(), report.trace.len()), (0, 0, 10));
        assert!(report.trace.iter().all(|event| event.packet.segment.is_none() && event.written.is_some()));
    }
}

#[test]
fn a_datagram_in_fragments_arrives_whole() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let (client, server) = datagrams(&bed);
    let run = begin(&bed, "10/1mbit,20ms", 1);
    client.send_to(&[7; 4000], (bed.address(BedHost::server(0)), 9000)).unwrap();
    assert_eq!(server.recv(&mut [0; 5000]).unwrap(), 4000);
    let report = run.finish().unwrap();
    // 4,008 bytes of UDP in pieces of at most 1,480, each with a header.
    assert_eq!((report.up().counts.packets, report.up().counts.bytes), (3, 4008 + 3 * 20));
}

#[test]
fn a_ping_takes_the_time_of_the_link() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let run = begin(&bed, "10/1mbit,100ms", 1);
    let clock = run.clock();
    let times: Vec<f64> = bed.on(BedHost::CLIENT, || {
        fs::write("/proc/sys/net/ipv4/ping_group_range", "0 0").unwrap();
        let mut socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.connect(&SocketAddr::from((bed.address(BedHost::server(0)), 0)).into()).unwrap();
        let mut ping = || {
            // Type 8, an echo request; the kernel fills in the checksum and the number of the socket.
            let mut request = [0; 64];
            request[0] = 8;
            socket.write_all(&request).unwrap();
            let mut reply = [0; 100];
            assert_eq!((socket.read(&mut reply).unwrap(), reply[0]), (64, 0), "an echo reply");
        };
        (0..5).map(|_| time(&clock, &mut ping)).collect()
    });
    let report = run.finish().unwrap();
    // 64 bytes, of which 8 are the header.
    let (expected, middle) = (there_and_back(56), median(times.clone()));
    assert!((expected..expected + 1.0).contains(&middle), "{times:?} instead of {expected}");
    assert_eq!([report.up(), report.down()].map(|passage| passage.counts.packets), [5, 5]);
}
