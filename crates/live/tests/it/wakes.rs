//! How often the event loop runs: as often as something happens, and not more.

use crate::{EVERY_TLS, LIMIT, Setting, limited, object, page};
use loadstone_http::Protocol;
use loadstone_live::{Clock, Lowat, Tls};
use loadstone_load::page::ObjectSpec;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn a_small_lowat_neither_blocks_nor_spins() {
    const BYTES: u64 = 1_000_000;
    let file = page([object("http://a.test/", BYTES)]);
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let run = Setting { lowat: Lowat::known(2_048), ..Setting::new(&file, protocol, tls) }.run();
            assert!(run.is_complete(), "{protocol} {tls:?}");
            // There is room when less than half of it is unsent, so each time for more than 1,024
            // bytes; and one more look finds that there is none.
            let most = 2 * BYTES / 1_000 + 100;
            let iterations = run.served[0].loop_iterations;
            assert!((BYTES / 4_096..most).contains(&iterations), "{protocol} {tls:?}: {iterations} of {most}");
        }
    }
}

#[test]
fn a_slow_reader_is_waited_for_without_spinning() {
    const BYTES: usize = 400_000;
    for lowat in [2_048, 16_384, 1_000_000] {
        let file = page([object("http://a.test/", BYTES as u64)]);
        let setting = Setting { lowat: Lowat::known(lowat), ..Setting::new(&file, Protocol::Http1, Tls::None) };
        let (_, served) = setting.with_servers(&Clock::start(), |addresses, _| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_recv_buffer_size(8_192).unwrap();
            socket.connect_timeout(&addresses[0].into(), LIMIT).unwrap();
            let mut stream = limited(TcpStream::from(socket));
            stream.write_all(b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n").unwrap();
            // The head has 250 bytes. What little fits in the client's socket goes out at each read.
            let mut missing = BYTES + 250;
            while missing > 0 {
                let count = stream.read(&mut [0; 500]).unwrap();
                assert!(count > 0, "{missing} bytes are missing");
                missing -= count;
            }
        });
        let most = 2 * BYTES as u64 / 1_000 + 100;
        let iterations = served[0].loop_iterations;
        assert!(iterations < most, "{lowat}: {iterations} of {most}");
    }
}

#[test]
fn a_host_that_has_nothing_to_do_sleeps() {
    let slow = ObjectSpec { think_ms: Some(150.0), ..object("http://a.test/", 10) };
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let run = Setting::new(&page([slow.clone()]), protocol, tls).run();
            assert!(run.is_complete(), "{protocol} {tls:?}");
            // A handshake's flights, a request, a response, a timer: each with a look that finds no more.
            let iterations = [run.loaded.loop_iterations, run.served[0].loop_iterations];
            assert!(
                iterations.iter().all(|iterations| (2..40).contains(iterations)),
                "{protocol} {tls:?}: {iterations:?}"
            );
        }
    }
}

#[test]
fn two_ends_that_both_send_do_not_wait_for_one_another() {
    // Uploads and downloads of many times what sockets hold, at once.
    let both = |at: u32| ObjectSpec {
        method: Some("POST".to_owned()),
        upload_bytes: Some(3_000_000),
        needs: Some(Vec::new()),
        ..object(&format!("http://a.test/{at}"), 3_000_000)
    };
    for protocol in Protocol::ALL {
        for tls in [Tls::None, Tls::V1_3] {
            let run = Setting { connections: 2, ..Setting::new(&page((0..4).map(both)), protocol, tls) }.run();
            assert!(run.is_complete(), "{protocol} {tls:?}");
        }
    }
}
