//! Whole loads, each protocol with each TLS.

use crate::{EVERY_TLS, Setting, accept, dial, joined, object, page, port};
use loadstone_http::Protocol;
use loadstone_live::{ClientTls, Clock, Failure, Stopper, Tls};
use loadstone_load::page::{ObjectSpec, PageFile};
use rustls::{ClientConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::Duration;

fn of_three_hosts() -> PageFile {
    page((0..40_u64).map(|at| object(&format!("http://h{}.test/{at}", at % 3), 20 + at * at * 90)))
}

#[test]
fn pages_of_several_hosts_load_over_every_protocol_and_tls() {
    let file = of_three_hosts();
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let run = Setting::new(&file, protocol, tls).run();
            assert!(run.is_complete(), "{protocol} {tls:?}: {:?}", run.connections);
            for row in &run.marks.rows {
                let marks = [row.found, row.sent, row.arrived, row.answered, row.first_byte, row.last_byte];
                let marks: Vec<_> = marks.into_iter().flatten().collect();
                assert!(marks.len() == 6 && marks.is_sorted(), "{protocol} {tls:?}: {row:?}");
                assert!(marks[0] >= run.loaded.began && marks[5] <= run.loaded.over);
            }
            // Each connection carried what was asked for on it, and heads: all of every object.
            for connection in &run.connections {
                let on_it = file.objects.iter().zip(&run.marks.rows);
                let on_it = on_it.filter(|(_, row)| row.connection == Some(connection.conn.0));
                let bytes: u64 = on_it.map(|(object, _)| object.bytes).sum();
                assert!(connection.content_down >= bytes, "{protocol} {tls:?}: {connection:?}");
                assert!(connection.content_down < bytes + 40 * 400 + bytes / 500, "{protocol} {tls:?}: {connection:?}");
                assert_eq!((connection.protocol, &connection.failure), (Some(protocol), &None));
                assert!(connection.opened <= connection.established.unwrap());
            }
        }
    }
}

#[test]
fn what_arrives_is_the_pattern() {
    let setting = Setting::new(&page([object("http://a.test/", 200_000)]), Protocol::Http1, Tls::None);
    let clock = Clock::start();
    let (response, _) = setting.with_servers(&clock, |addresses, _| {
        let mut stream = dial(addresses[0]);
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n").unwrap();
        let mut response = Vec::new();
        while !response.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            response.extend(byte);
        }
        let mut body = vec![0; 200_000];
        stream.read_exact(&mut body).unwrap();
        body
    });
    let byte = |i: usize| ((131 * i + 7 * (i / 256) + 13) % 256) as u8;
    assert!(response.into_iter().eq((0..200_000).map(byte)));
}

#[test]
fn uploads_go_up() {
    let upload = ObjectSpec {
        method: Some("POST".to_owned()),
        upload_bytes: Some(300_000),
        ..object("http://a.test/upload", 10)
    };
    let file = page([object("http://a.test/", 10), upload]);
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let run = Setting { connections: 1, ..Setting::new(&file, protocol, tls) }.run();
            assert!(run.is_complete(), "{protocol} {tls:?}");
            let up = run.connections[0].content_up;
            assert!((300_100..302_000).contains(&up), "{protocol} {tls:?}: {up}");
            let row = run.marks.rows[1];
            assert!(row.sent < row.arrived && row.arrived <= row.answered, "{row:?}");
        }
    }
}

#[test]
fn two_hundred_connections_side_by_side() {
    // All are opened when the root is there; none has had its answer before the others have asked.
    let slow = |at: u64| ObjectSpec { think_ms: Some(300.0), ..object(&format!("http://a.test/{at}"), 3_000) };
    let root = object("http://a.test/", 10);
    let file = page(std::iter::once(root).chain((1..=200).map(slow)));
    for tls in [Tls::None, Tls::V1_3] {
        let run = Setting { connections: 200, ..Setting::new(&file, Protocol::Http1, tls) }.run();
        assert!(run.is_complete());
        assert_eq!((run.connections.len(), run.served[0].connections.len()), (200, 200), "{tls:?}");
        let used = run.connections.iter().filter(|connection| connection.content_down > 3_000).count();
        // On a machine that is busy some may come so late that nothing is left to ask for.
        assert!(used > 100, "{tls:?}: {used}");
    }
}

#[test]
fn a_host_that_refuses_ends_the_load_and_says_so() {
    let setting = Setting::new(&page([object("http://a.test/", 10)]), Protocol::H2, Tls::V1_3);
    let (listener, address) = port();
    drop(listener);
    let (_stopper, stop) = Stopper::new();
    let loaded = setting.load(&Clock::start(), &setting.destinations(&[address]), &stop);
    assert!(!loaded.end.unwrap().completed);
    // A first attempt and three more.
    assert_eq!(loaded.connections.len(), 4);
    for connection in &loaded.connections {
        assert_eq!(connection.failure, Some(Failure::Unreachable(ErrorKind::ConnectionRefused)));
        assert_eq!(connection.established, None);
    }
}

#[test]
fn a_connection_that_cannot_even_begin_ends_the_load_and_says_so() {
    let setting = Setting::new(&page([object("http://a.test/", 10)]), Protocol::Http1, Tls::None);
    let (_stopper, stop) = Stopper::new();
    // To a multicast address TCP does not connect, and sends nothing.
    let loaded = setting.load(&Clock::start(), &setting.destinations(&["224.0.0.1:9".parse().unwrap()]), &stop);
    assert!(!loaded.end.unwrap().completed);
    let failure = &loaded.connections[0].failure;
    assert_eq!(*failure, Some(Failure::Unreachable(ErrorKind::NetworkUnreachable)));
}

#[test]
fn a_load_that_never_ends_is_ended_by_its_limit() {
    let limit = Duration::from_millis(30);
    let file = page([object("http://a.test/", 10)]);
    let setting = Setting { limit, ..Setting::new(&file, Protocol::Http1, Tls::None) };
    // It listens, and that is all.
    let (_listener, address) = port();
    let (_stopper, stop) = Stopper::new();
    let loaded = setting.load(&Clock::start(), &setting.destinations(&[address]), &stop);
    assert_eq!(loaded.end, None);
    assert!(loaded.over >= loaded.began + limit);
    assert!(loaded.marks.rows[0].sent.is_some() && loaded.marks.rows[0].first_byte.is_none());
}

#[test]
fn a_load_stops_when_it_is_told_to() {
    for tls in EVERY_TLS {
        let setting = Setting::new(&page([object("http://a.test/", 10)]), Protocol::Http1, tls);
        let (listener, address) = port();
        let (stopper, stop) = Stopper::new();
        let loaded = thread::scope(|scope| {
            let load = scope.spawn(|| setting.load(&Clock::start(), &setting.destinations(&[address]), &stop));
            // It waits for a handshake, or for its response.
            let mut stream = accept(&listener);
            stream.read_exact(&mut [0; 100]).unwrap();
            stopper.stop();
            joined(load)
        });
        assert_eq!(loaded.end, None);
        assert!(loaded.over < loaded.began + setting.limit, "it was the limit that stopped it");
        assert_eq!(loaded.connections[0].established.is_some(), tls == Tls::None);
    }
}

#[test]
fn tls_says_that_it_ends_before_tcp_does() {
    for tls in [Tls::V1_2, Tls::V1_3] {
        let setting = Setting::new(&page([object("http://a.test/", 10)]), Protocol::Http1, tls);
        setting.with_servers(&Clock::start(), |addresses, _| {
            let ClientTls { config, name } = setting.authority.client("a.test", tls, Protocol::Http1).unwrap().unwrap();
            let tcp = dial(addresses[0]);
            let mut stream = StreamOwned::new(ClientConnection::new(config, name).unwrap(), tcp);
            stream.write_all(b"nonsense\r\n\r\n").unwrap();
            // An end that was not announced is an error.
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            assert!(said.starts_with(b"HTTP/1.1 400 "), "{tls:?}");
        });
    }
}

#[test]
fn a_stopped_server_drops_its_connections() {
    let slow = ObjectSpec { think_ms: Some(60_000.0), ..object("http://a.test/", 10) };
    let setting = Setting::new(&page([slow]), Protocol::Http1, Tls::None);
    let clock = Clock::start();
    let (mut stream, served) = setting.with_servers(&clock, |addresses, _| {
        let mut stream = dial(addresses[0]);
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\nGET").unwrap();
        // What is not there is answered, so the server has read up to here.
        let mut other = dial(addresses[0]);
        other.write_all(b"GET /nothing HTTP/1.1\r\nhost: a.test\r\n\r\n").unwrap();
        other.read_exact(&mut [0; 12]).unwrap();
        stream
    });
    let end = stream.read(&mut [0; 10]);
    assert!(matches!(end, Ok(0)) || end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    assert_eq!(served[0].connections.len(), 2);
    assert_eq!(served[0].services.len(), 1);
    assert_eq!(served[0].services[0].answered, None);
}

#[test]
fn a_pause_is_no_part_of_a_limit() {
    let limit = Duration::from_millis(20);
    let file = page([object("http://a.test/", 10)]);
    let setting = Setting { limit, ..Setting::new(&file, Protocol::Http1, Tls::None) };
    let (listener, address) = port();
    let (_stopper, stop) = Stopper::new();
    let clock = Clock::start();
    let loaded = thread::scope(|scope| {
        let load = scope.spawn(|| setting.load(&clock, &setting.destinations(&[address]), &stop));
        let _held = accept(&listener);
        clock.pause(Duration::from_millis(40));
        joined(load)
    });
    assert!(loaded.end.is_none() && loaded.over >= loaded.began + limit);
    assert_eq!(clock.paused(), Duration::from_millis(40));
}
