//! What a run gives, and what can be done with runs.

use crate::{PATIENCE, bed, begin, data, duration, fetch, initial_window, ip, median, patient, star_of, turn};
use loadstone_bed::{Bed, BedError, BedHost, Scheduling, Settings, star};
use loadstone_units::{Seed, Time};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// The times that five transfers of 100 KB take, in milliseconds.
fn transfers(bed: &Bed, network: &str) -> Vec<f64> {
    let transfer = |seed| {
        let run = begin(bed, network, seed);
        fetch(bed, 0, 100_000);
        duration(&run.finish().unwrap())
    };
    (0..5).map(transfer).collect()
}

#[test]
fn a_transfer_takes_what_arithmetic_says_and_each_time_the_same() {
    let Some(_turn) = turn() else { return };
    let times = transfers(&bed(1, &Settings::default()), "10/1mbit,100ms");
    let middle = median(times.clone());
    // 70 segments in flights of 10, 20 and 40, after a round trip for the handshake: 400 ms on the way, 48 ms
    // for the last flight, up to 5 ms for the packets before it.
    assert!((448.0..454.0).contains(&middle), "{times:?}");
    let strayed = median(times.iter().map(|time| (time - middle).abs()).collect());
    assert!(strayed <= middle * 0.001, "{times:?}");
}

#[test]
fn two_beds_at_once_do_not_disturb_one_another() {
    let Some(_turn) = turn() else { return };
    let (network, one, other) = ("10/1mbit,50ms", bed(1, &Settings::default()), bed(1, &Settings::default()));
    let alone = median(transfers(&one, network));
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| transfers(&other, network));
        [transfers(&one, network), other.join().unwrap()]
    });
    for together in both {
        let together = median(together);
        assert!((together - alone).abs() <= alone * 0.003, "{together} together, {alone} alone");
    }
}

#[test]
fn a_run_says_what_it_met() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let run = begin(&bed, "10/1mbit,20ms", 1);
    fetch(&bed, 0, 30_000);
    let clock = run.clock();
    let before = clock.now();
    let report = run.finish().unwrap();
    assert!(before <= report.end && report.end <= clock.now());
    let [client, server] = [report.arrivals[0], report.arrivals[1]];
    assert!(client.last_data <= client.last && client.last <= Some(report.end));
    assert!(report.departures[BedHost::CLIENT.0].unwrap() < server.last_data.unwrap());
    assert_eq!(report.connections.len(), 1);
    assert_eq!(
        (report.connections[0].connection.server, report.connections[0].connection.server_port),
        (BedHost::server(0), 80)
    );
    assert_eq!(report.connections[0].opened, report.departures[BedHost::CLIENT.0]);
    assert_eq!(report.unmatched, 0, "the namespaces send nothing by themselves");
    assert_eq!(data(&report).map(|event| event.packet.payload()).sum::<u32>(), 30_000);
    let delivered: Vec<Time> = report.trace.iter().filter_map(|event| event.written).collect();
    assert_eq!(report.lateness.packets as usize, delivered.len());
    assert!(report.lateness.median <= report.lateness.p90 && report.lateness.p90 <= report.lateness.worst);
    // A pump that waited for its next look at the clock would be 0.12 ms late.
    assert!(report.lateness.median < Duration::from_micros(100), "{:?}", report.lateness);
    assert!(report.longest_pause <= report.paused);
    assert_eq!(
        report.priority,
        Scheduling::RealTime,
        "a process that may make namespaces may have real-time priority here"
    );
}

#[test]
fn the_round_trip_of_a_distant_server_is_longer_by_its_own() {
    let Some(_turn) = turn() else { return };
    let bed = bed(2, &Settings::default());
    let extra = [Duration::ZERO, Duration::from_millis(60)];
    let time = |server| {
        let (fabric, nodes) = star(&"10/1mbit,40ms".parse().unwrap(), &extra);
        let run = bed.begin(&fabric, &nodes, Seed(1)).unwrap();
        fetch(&bed, server, 1000);
        duration(&run.finish().unwrap())
    };
    let later = median((0..5).map(|_| time(1) - time(0)).collect());
    // One for the handshake, one for the request.
    assert!((119.0..121.0).contains(&later), "{later}");
}

#[test]
fn connections_of_two_servers_are_told_apart() {
    let Some(_turn) = turn() else { return };
    let bed = bed(3, &Settings::default());
    let run = begin(&bed, "100mbit,10ms", 1);
    for server in [2, 0, 1] {
        fetch(&bed, server, 10_000 * (server + 1));
    }
    let report = run.finish().unwrap();
    assert_eq!(
        report.connections.iter().map(|one| one.connection.server).collect::<Vec<_>>(),
        [2, 0, 1].map(BedHost::server)
    );
    for server in 0..3 {
        let of_this = data(&report).filter(|event| event.packet.from == BedHost::server(server));
        assert_eq!(of_this.map(|event| event.packet.payload()).sum::<u32>(), 10_000 * (server as u32 + 1));
    }
}

#[test]
fn what_is_older_than_the_run_passes_it_by() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let to = (bed.address(BedHost::server(0)), 80);
    let listener = bed.on(BedHost::server(0), || TcpListener::bind(to)).unwrap();
    let open = || {
        let client = bed.on(BedHost::CLIENT, || TcpStream::connect_timeout(&to.into(), PATIENCE)).unwrap();
        (patient(client), patient(listener.accept().unwrap().0))
    };
    let between_runs = open();
    let earlier = begin(&bed, "100mbit,10ms", 1);
    let in_an_earlier_run = open();
    assert_eq!(earlier.finish().unwrap().connections.len(), 1);
    for (mut client, mut served) in [between_runs, in_an_earlier_run] {
        // Anyone who waited for this network would wait for an hour.
        let run = begin(&bed, "1mbit,3600s", 1);
        client.write_all(&[5]).unwrap();
        served.read_exact(&mut [0]).unwrap();
        let report = run.finish().unwrap();
        let packets = (report.up().counts.packets, report.down().counts.packets);
        assert!(report.unmatched > 0 && report.connections.is_empty(), "{report:?}");
        assert_eq!((packets, report.departures[BedHost::CLIENT.0]), ((0, 0), None));
    }
}

#[test]
fn what_is_under_way_at_the_end_arrives_at_once() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let to = (bed.address(BedHost::server(0)), 80);
    let listener = bed.on(BedHost::server(0), || TcpListener::bind(to)).unwrap();
    let run = begin(&bed, "1mbit,3600s", 1);
    let client = bed.spawn(BedHost::CLIENT, move || TcpStream::connect_timeout(&to.into(), PATIENCE));
    let said_by_client =
        |name| bed.on(BedHost::CLIENT, || std::fs::read_to_string(format!("/proc/thread-self/net/{name}"))).unwrap();
    // The SYN has entered when the clients' socket waits; then the run ends before it arrives.
    while !said_by_client("tcp").contains(" 02 ") {}
    let report = run.finish().unwrap();
    listener.accept().unwrap();
    let _connected = client.join().unwrap();
    assert_eq!((report.up().counts.packets, report.arrivals[1].last), (1, None));
    let counts = said_by_client("snmp");
    let mut tcp = counts.lines().filter(|line| line.starts_with("Tcp:")).map(str::split_whitespace);
    let mut named = tcp.next().unwrap().zip(tcp.next().unwrap());
    assert_eq!(named.find(|(name, _)| *name == "RetransSegs"), Some(("RetransSegs", "0")), "not by a second SYN");
}

#[test]
fn what_goes_to_no_host_of_the_bed_is_a_stray() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let run = begin(&bed, "100mbit,10ms", 1);
    let from = (bed.address(BedHost::CLIENT), 0);
    let closed = (BedHost::server(1).address(), 9);
    bed.on(BedHost::CLIENT, || UdpSocket::bind(from).unwrap().send_to(b"x", closed)).unwrap();
    // The pump takes packets in order, so it has seen that one when this is through.
    fetch(&bed, 0, 1000);
    assert_eq!(run.finish().unwrap().unmatched, 1);
}

#[test]
fn runs_follow_one_another_but_do_not_overlap() {
    let Some(_turn) = turn() else { return };
    let bed = bed(2, &Settings::default());
    let first = begin(&bed, "100mbit,10ms", 1);
    let (fabric, nodes) = star_of(&bed, "100mbit,10ms");
    assert!(matches!(bed.begin(&fabric, &nodes, Seed(1)), Err(BedError::Busy)));
    drop(first);
    let too_few = bed.begin(&fabric, &nodes[..2], Seed(1));
    assert!(matches!(too_few, Err(BedError::Nodes { hosts: 3, given: 2 })));
    for bytes in [1000, 2000] {
        let run = begin(&bed, "100mbit,10ms", 1);
        fetch(&bed, 1, bytes);
        assert_eq!(data(&run.finish().unwrap()).map(|event| event.packet.payload()).sum::<u32>(), bytes as u32);
    }
    assert!(matches!(Bed::new(1), Err(BedError::Hosts(1))));
}

#[test]
fn a_bed_may_have_many_servers() {
    let Some(_turn) = turn() else { return };
    let bed = bed(30, &initial_window(10));
    let run = begin(&bed, "100mbit,10ms", 1);
    std::thread::scope(|scope| {
        for server in 0..30 {
            let bed = &bed;
            scope.spawn(move || fetch(bed, server, 20_000));
        }
    });
    let report = run.finish().unwrap();
    assert_eq!(report.connections.len(), 30);
    assert_eq!(
        report.down().counts.packets,
        report.trace.iter().filter(|event| event.packet.to == BedHost::CLIENT).count() as u64
    );
}

#[test]
fn a_pump_that_fails_says_so_and_nothing_hangs() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &Settings::default());
    let run = begin(&bed, "100mbit,10ms", 1);
    if ip(&bed, BedHost::server(0), "link set link0 down").is_none() {
        return;
    }
    let to = (bed.address(BedHost::server(0)), 80);
    let connected = bed.on(BedHost::CLIENT, || TcpStream::connect_timeout(&to.into(), Duration::from_secs(1)));
    assert!(connected.is_err());
    assert!(matches!(run.finish(), Err(BedError::Pump(_))));
    let (fabric, nodes) = star_of(&bed, "1mbit,1ms");
    assert!(matches!(bed.begin(&fabric, &nodes, Seed(1)), Err(BedError::Pump(_))));
}
