//! Whether the kernels do what they are told.

use crate::{MSS, PATIENCE, bed, begin, data, fetch, initial_window, ip, turn};
use loadstone_bed::{AfterIdle, Bed, BedHost, LinkReport, Settings, Tcp, Without};
use loadstone_net::tcp::Congestion;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How many segments come before the first acknowledgement of one can have come back.
fn first_flight(report: &LinkReport, half_round_trip: Duration) -> usize {
    let first = data(report).next().unwrap().entered;
    data(report).take_while(|event| event.entered < first + half_round_trip).count()
}

#[test]
fn the_first_flight_is_the_initial_window() {
    let Some(_turn) = turn() else { return };
    let bed = Bed::new(2).unwrap();
    for window in [1, 3, 10, 32, 44, 45, 100] {
        bed.configure(&initial_window(window)).unwrap();
        let run = begin(&bed, "100mbit,60ms,queue=1000p", 1);
        fetch(&bed, 0, MSS * window as usize * 2);
        assert_eq!(first_flight(&run.finish().unwrap(), Duration::from_millis(30)), window as usize);
    }
}

#[test]
fn a_burst_of_a_thousand_packets_loses_none() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(1000));
    let run = begin(&bed, "1gbit,200ms,queue=10000p", 1);
    fetch(&bed, 0, MSS * 1000);
    let report = run.finish().unwrap();
    assert_eq!(first_flight(&report, Duration::from_millis(100)), 1000);
    assert_eq!(report.connections[0].down.retransmissions, 0);
    // Sent: bytes, packets, errors, dropped; the same is said of what was received before.
    let devices = bed.on(BedHost::server(0), || std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
    let line = devices.lines().find(|line| line.trim().starts_with("link0:")).unwrap();
    let fields: Vec<u64> = line.split_whitespace().skip(1).map(|field| field.parse().unwrap()).collect();
    assert_eq!((fields[3], fields[10], fields[11]), (0, 0, 0), "{line}");
    assert!(fields[9] >= 1000);
}

#[test]
fn each_end_has_the_congestion_control_that_was_asked_for() {
    let Some(_turn) = turn() else { return };
    let bed = Bed::new(2).unwrap();
    for (client, server) in [(Congestion::Reno, Congestion::Cubic), (Congestion::Cubic, Congestion::Reno)] {
        let tcp = |cc| Tcp { cc, ..Tcp::default() };
        bed.configure(&Settings { client: tcp(client), server: tcp(server), ..Settings::default() }).unwrap();
        let to = (bed.address(BedHost::server(0)), 80);
        let listener = bed.on(BedHost::server(0), || TcpListener::bind(to)).unwrap();
        let run = begin(&bed, "100mbit,10ms", 1);
        let connected = bed.on(BedHost::CLIENT, || TcpStream::connect_timeout(&to.into(), PATIENCE)).unwrap();
        let accepted = listener.accept().unwrap().0;
        let name = |cc| if cc == Congestion::Reno { "reno" } else { "cubic" };
        assert_eq!([congestion(&connected), congestion(&accepted)], [name(client), name(server)]);
        run.finish().unwrap();
    }
}

/// The congestion control of a socket.
#[allow(unsafe_code, reason = "the standard library cannot ask for it")]
fn congestion(stream: &TcpStream) -> String {
    let mut name = [0_u8; 16];
    let mut len = name.len() as libc::socklen_t;
    let result = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
        libc::getsockopt(stream.as_raw_fd(), level, option, name.as_mut_ptr().cast(), &mut len)
    };
    assert_eq!(result, 0);
    name[..len as usize].iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
}

fn setting(bed: &Bed, host: BedHost, name: &str) -> String {
    let text = bed.on(host, || std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"))).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn settings_hold_in_the_bed_and_nowhere_else() {
    let Some(_turn) = turn() else { return };
    let names = ["tcp_slow_start_after_idle", "tcp_rmem", "tcp_frto", "tcp_early_retrans", "tcp_comp_sack_nr"];
    let outside = || names.map(|name| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap());
    let before = outside();
    let bed = bed(2, &initial_window(100));
    let inside = |host| names.map(|name| setting(&bed, host, name));
    assert_eq!(inside(BedHost::CLIENT), ["1", "292496 292496 292496", "2", "3", "44"]);
    assert_eq!(inside(BedHost::server(1)), ["1", "4096 131072 6291456", "2", "3", "44"]);
    let without = Without { tail_loss_probes: true, frto: true, sack_compression: true };
    let server = Tcp { idle: AfterIdle::Keep, without, ..Tcp::default() };
    let client = Tcp { receive_buffer: Some(100_000), ..server };
    bed.configure(&Settings { client, server, ..Settings::default() }).unwrap();
    assert_eq!(inside(BedHost::CLIENT), ["0", "100000 100000 100000", "0", "0", "0"]);
    assert_eq!(inside(BedHost::server(1)), ["0", "4096 131072 6291456", "0", "0", "0"]);
    assert_eq!(outside(), before);
}

#[test]
fn a_small_receive_buffer_holds_the_sender_back() {
    let Some(_turn) = turn() else { return };
    let client = Tcp { receive_buffer: Some(20_000), ..Tcp::default() };
    let bed = bed(1, &Settings { client, ..initial_window(100) });
    let run = begin(&bed, "100mbit,60ms,queue=1000p", 1);
    fetch(&bed, 0, MSS * 100);
    let flight = first_flight(&run.finish().unwrap(), Duration::from_millis(30));
    assert!((1..=20_000 / MSS).contains(&flight), "{flight}");
}

#[test]
fn packets_are_single_segments_of_at_most_1500_bytes() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(32));
    if let Some(device) = ip(&bed, BedHost::server(0), "-details link show link0") {
        for said in ["mtu 1500", "qdisc pfifo ", "qlen 10000", "gso_max_segs 1 "] {
            assert!(device.contains(said), "{said}: {device}");
        }
    }
    let run = begin(&bed, "100mbit,20ms,queue=1000p", 1);
    fetch(&bed, 0, MSS * 200);
    let report = run.finish().unwrap();
    assert_eq!(report.trace.iter().map(|event| event.packet.len).max(), Some(1500));
    // All but the last in a write are full.
    assert!(data(&report).filter(|event| event.packet.len == 1500).count() >= 190);
}

#[test]
fn hosts_have_a_loopback_and_see_nothing_else() {
    let Some(_turn) = turn() else { return };
    let bed = Bed::new(2).unwrap();
    bed.on(BedHost::CLIENT, || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect_timeout(&listener.local_addr().unwrap(), PATIENCE).unwrap();
        let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let names: Vec<&str> =
            devices.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
        assert!(names.contains(&"lo") && names.contains(&"link0") && !names.contains(&"eth0"), "{names:?}");
        let version_6 = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
        assert_eq!(version_6, "", "IPv6 sends packets of its own");
        let elsewhere = TcpStream::connect_timeout(&"192.0.2.1:80".parse().unwrap(), PATIENCE).unwrap_err();
        assert_eq!(elsewhere.kind(), std::io::ErrorKind::NetworkUnreachable);
    });
}
