//! A server's initial window as a probe sees it that acknowledges nothing, against the kernel whose window is known.

use crate::{PATIENCE, turn};
use loadstone_bed::packet::TcpPacket;
use loadstone_bed::{FlightEnd, FlightProbe, InitialFlight, NoFlight, SingleHost, Tcp};
use loadstone_live::Clock;
use loadstone_units::Time;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener};
use std::time::Duration;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
const PORT: u16 = 80;

/// A host whose kernel begins with so many segments.
fn host(window: i64) -> SingleHost {
    SingleHost::new(&Tcp { iw: window.try_into().unwrap(), ..Tcp::default() }).unwrap()
}

/// Lets a probe see the host; packets of the server for which `is_lost` says so by their number do not reach it.
fn see(host: &SingleHost, mss: u16, mut is_lost: impl FnMut(usize) -> bool) -> Result<InitialFlight, NoFlight> {
    let ends = [(host.other_address(), 40_000), (host.address(), PORT)].map(|(at, port)| SocketAddrV4::new(at, port));
    let clock = Clock::start();
    let now = || clock.now();
    let mut probe = FlightProbe::new(ends[0], ends[1], 0xffff_fff0, mss, REQUEST.to_vec(), now());
    let mut data = 0;
    loop {
        while let Some(packet) = probe.poll_transmit() {
            host.put(&packet).unwrap();
        }
        if let Some(result) = probe.result() {
            return result;
        }
        let wait = Duration::from_nanos(probe.poll_timeout().nanos_since(now()));
        if let Some(packet) = host.take(wait).unwrap().as_deref().and_then(TcpPacket::read) {
            data += usize::from(packet.payload > 0);
            if packet.payload == 0 || !is_lost(data) {
                probe.handle_packet(&packet, now());
            }
        }
        probe.handle_timeout(now());
        assert!(now() < Time::ZERO + PATIENCE);
    }
}

/// What a probe sees of a server that answers with so many bytes and then ends the connection.
fn seen(window: i64, mss: u16, bytes: usize, is_lost: impl FnMut(usize) -> bool) -> Result<InitialFlight, NoFlight> {
    let host = host(window);
    let at = (host.address(), PORT);
    let listener = host.on(|| TcpListener::bind(at)).unwrap();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.read_exact(&mut [0; REQUEST.len()]).unwrap();
        // The probe resets the connection when it has seen enough.
        let _ = stream.write_all(&vec![7; bytes]).and_then(|()| stream.shutdown(Shutdown::Write));
        let _ = stream.read(&mut [0]);
    });
    let flight = see(&host, mss, is_lost);
    serving.join().unwrap();
    flight
}

#[test]
fn a_window_is_seen_exactly_whatever_the_mss() {
    let Some(_turn) = turn() else { return };
    for (window, mss) in [(1, 64), (2, 536), (3, 1460), (10, 64), (10, 128), (16, 536), (43, 1460), (100, 128)] {
        let flight = seen(window, mss, 200_000, |_| false).unwrap();
        let InitialFlight { segments, bytes, longest, lost, end, .. } = flight;
        let expected = (window as u32, window as u32 * u32::from(mss), u32::from(mss), 0, FlightEnd::CongestionWindow);
        assert_eq!((segments, bytes, longest, lost, end), expected, "{window} segments of {mss} bytes");
        assert!(flight.round_trip > Duration::ZERO);
    }
}

#[test]
fn a_window_is_at_least_what_a_short_response_or_our_own_window_lets_see() {
    let Some(_turn) = turn() else { return };
    let flight = seen(10, 64, 600, |_| false).unwrap();
    assert_eq!((flight.segments, flight.bytes, flight.end), (10, 600, FlightEnd::Response), "all in one window");
    let flight = seen(10, 64, 641, |_| false).unwrap();
    assert_eq!((flight.segments, flight.end), (10, FlightEnd::CongestionWindow), "one byte did not fit");
    let flight = seen(100, 1460, 200_000, |_| false).unwrap();
    assert_eq!(flight.end, FlightEnd::ReceiveWindow);
    assert!((40..=44).contains(&flight.segments) && flight.bytes <= 65_535, "{flight:?}");
}

#[test]
fn what_is_lost_within_a_flight_is_counted_and_told() {
    let Some(_turn) = turn() else { return };
    let flight = seen(10, 128, 50_000, |number| [2, 5, 6].contains(&number)).unwrap();
    assert_eq!((flight.segments, flight.lost, flight.end), (10, 3, FlightEnd::CongestionWindow));
}

#[test]
fn why_nothing_was_seen_is_told() {
    let Some(_turn) = turn() else { return };
    assert_eq!(see(&host(10), 64, |_| false), Err(NoFlight::Refused));
    assert_eq!(seen(10, 64, 0, |_| false), Err(NoFlight::Closed));
    let silent = host(10);
    let at = (silent.address(), PORT);
    let _listener = silent.on(|| TcpListener::bind(at)).unwrap();
    assert_eq!(see(&silent, 64, |_| false), Err(NoFlight::NoResponse));
}
