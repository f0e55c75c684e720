//! Peers that misbehave: each is noticed, named, and harms no other.

use crate::{EVERY_TLS, Setting, accept, dial, joined, object, page, port, read_to_close};
use loadstone_http::Protocol;
use loadstone_live::{Authority, Chain, Clock, Failure, Loaded, Stopper, Tls};
use loadstone_load::page::ObjectSpec;
use rustls::{AlertDescription, Error};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

/// Loads a page of one object from a server that does `answer` with each connection in turn, by its
/// number.
fn load_from(setting: &Setting, answer: impl Fn(usize, &mut TcpStream) + Sync) -> Loaded {
    let (listener, address) = port();
    let (_stopper, stop) = Stopper::new();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            for number in 0.. {
                let mut stream = accept(&listener);
                // The test's own connection says that it is over.
                let mut first = [0];
                if !matches!(stream.peek(&mut first), Ok(1)) || first == [b'.'] {
                    return;
                }
                answer(number, &mut stream);
            }
        });
        let loaded = setting.load(&Clock::start(), &setting.destinations(&[address]), &stop);
        dial(address).write_all(b".").unwrap();
        joined(server);
        loaded
    })
}

/// Reads a request's head.
fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
}

fn lone(protocol: Protocol, tls: Tls) -> Setting {
    Setting::new(&page([object("http://a.test/", 1_000)]), protocol, tls)
}

#[test]
fn a_server_that_talks_nonsense_is_given_up() {
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let loaded = load_from(&lone(protocol, tls), |_, stream| {
                // 200 bytes that are a frame, a record and a head of nothing. It may be cut off.
                let _sent = stream.write_all(&[b'\xe7'; 200]);
                // Until the browser closes, or resets what it did not read.
                read_to_close(stream);
            });
            assert!(!loaded.end.unwrap().completed, "{protocol} {tls:?}");
            assert_eq!(loaded.connections.len(), 4, "{protocol} {tls:?}");
            let failure = &loaded.connections[0].failure;
            let expected = if tls == Tls::None { failure.is_none() } else { matches!(failure, Some(Failure::Tls(_))) };
            assert!(expected, "{protocol} {tls:?}: {failure:?}");
        }
    }
}

#[test]
fn a_response_that_is_cut_short_is_requested_again() {
    // By an orderly end, and by a reset: something unread makes one of closing.
    for reset in [false, true] {
        let loaded = load_from(&lone(Protocol::Http1, Tls::None), |number, stream| {
            if number == 0 && reset {
                stream.read_exact(&mut [0; 10]).unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nshort").unwrap();
                return;
            }
            read_head(stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").unwrap();
            let body: &[u8] = if number == 0 { b"short" } else { &[b'x'; 1_000] };
            stream.write_all(body).unwrap();
        });
        assert!(loaded.end.unwrap().completed, "reset: {reset}");
        assert_eq!(loaded.marks.failed.len(), 1);
        assert_eq!(loaded.marks.rows[0].connection, Some(1));
        let broken = loaded.connections[0].failure == Some(Failure::Io(ErrorKind::ConnectionReset));
        assert_eq!(broken, reset, "{:?}", loaded.connections[0]);
    }
}

#[test]
fn an_end_within_the_handshake_is_named() {
    for tls in [Tls::V1_2, Tls::V1_3] {
        let loaded = load_from(&lone(Protocol::H2, tls), |_, stream| {
            stream.read_exact(&mut [0; 517]).unwrap();
            stream.shutdown(Shutdown::Both).unwrap();
        });
        assert!(!loaded.end.unwrap().completed);
        assert_eq!(loaded.connections[0].failure, Some(Failure::ClosedDuringHandshake));
        assert_eq!(loaded.connections[0].established, None);
    }
}

#[test]
fn a_certificate_of_another_authority_is_named() {
    for tls in [Tls::V1_2, Tls::V1_3] {
        let served_by = lone(Protocol::H2, tls);
        let strange = Setting { authority: Authority::new(Chain::Minimal), ..lone(Protocol::H2, tls) };
        let clock = Clock::start();
        let (loaded, served) = served_by
            .with_servers(&clock, |addresses, stop| strange.load(&clock, &strange.destinations(addresses), stop));
        assert!(!loaded.end.unwrap().completed);
        let failure = loaded.connections[0].failure.as_ref().unwrap();
        assert!(matches!(failure, Failure::Tls(Error::InvalidCertificate(_))), "{failure:?}");
        assert!(served[0].connections.iter().all(|end| end.established.is_none()), "{tls:?}");
    }
}

#[test]
fn ends_that_agree_on_no_protocol_are_named() {
    for tls in [Tls::V1_2, Tls::V1_3] {
        let server = lone(Protocol::Spdy31, tls);
        let clock = Clock::start();
        let (loaded, served) = server.with_servers(&clock, |addresses, stop| {
            // The same authority, and another protocol.
            let mut destinations = server.destinations(addresses);
            destinations.targets[0].tls = server.authority.client("a.test", tls, Protocol::H2).unwrap();
            server.load(&clock, &destinations, stop)
        });
        assert!(!loaded.end.unwrap().completed);
        let alert = Error::AlertReceived(AlertDescription::NoApplicationProtocol);
        assert_eq!(loaded.connections[0].failure, Some(Failure::Tls(alert)), "{tls:?}");
        let failure = &served[0].connections[0].failure;
        assert_eq!(*failure, Some(Failure::Tls(Error::NoApplicationProtocol)), "{tls:?}");
    }
}

#[test]
fn a_client_that_talks_nonsense_harms_no_other() {
    let slow = ObjectSpec { think_ms: Some(20.0), ..object("http://a.test/", 1_000) };
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let setting = Setting::new(&page([slow.clone()]), protocol, tls);
            let clock = Clock::start();
            let (loaded, served) = setting.with_servers(&clock, |addresses, stop| {
                let mut nonsense = dial(addresses[0]);
                nonsense.write_all(&[b'\xe7'; 70_000]).unwrap();
                let mut gone = dial(addresses[0]);
                gone.write_all(b"GET").unwrap();
                drop(gone);
                let loaded = setting.load(&clock, &setting.destinations(addresses), stop);
                // The server has closed, so this ends.
                read_to_close(&mut nonsense);
                loaded
            });
            assert!(loaded.end.unwrap().completed, "{protocol} {tls:?}");
            assert_eq!(served[0].connections.len(), 3, "{protocol} {tls:?}");
        }
    }
}

#[test]
fn a_server_says_why_before_it_closes() {
    for (protocol, farewell) in [
        (Protocol::Spdy2, &b"\x80\x02\0\x07\0\0\0\x04\0\0\0\0"[..]),
        (Protocol::Spdy3, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x01"),
        (Protocol::Spdy31, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x01"),
        (Protocol::H2, b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01"),
    ] {
        let setting = lone(protocol, Tls::None);
        let clock = Clock::start();
        let (said, _) = setting.with_servers(&clock, |addresses, stop| {
            let mut nonsense = dial(addresses[0]);
            // As long as a frame's head, so that nothing is left unread.
            nonsense.write_all(&[b'\xe7'; 8]).unwrap();
            let mut said = Vec::new();
            nonsense.read_to_end(&mut said).unwrap();
            setting.load(&clock, &setting.destinations(addresses), stop);
            said
        });
        assert!(said.ends_with(farewell), "{protocol}: {said:?}");
    }
}

#[test]
fn a_browser_says_why_before_it_closes() {
    for (protocol, farewell) in [
        (Protocol::Spdy2, &b"\x80\x02\0\x07\0\0\0\x04\0\0\0\0"[..]),
        (Protocol::Spdy31, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x01"),
        (Protocol::H2, b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01"),
    ] {
        let said = std::sync::Mutex::new(Vec::new());
        load_from(&lone(protocol, Tls::None), |_, stream| {
            // As long as the head of HTTP/2's frames, so that there is one.
            stream.write_all(&[b'\xe7'; 9]).unwrap();
            let mut all = Vec::new();
            // A reset is no reason to forget what was read.
            let closed = stream.read_to_end(&mut all);
            assert!(!closed.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "the browser does not close");
            said.lock().unwrap().push(all);
        });
        let said = said.into_inner().unwrap();
        assert!(!said.is_empty() && said.iter().all(|all| all.ends_with(farewell)), "{protocol}: {said:?}");
    }
}
