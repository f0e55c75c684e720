//! Many connections at once, and clients that keep a server waiting: it waits for each as long as its
//! limits say, and serves the others meanwhile.

use crate::{LIMIT, Setting, joined, limited, object, page, port};
use loadstone_http::Protocol;
use loadstone_live::{Clock, Failure, Limits, RecordKeeping, Served, SocketRecord, Stopper, Tls};
use loadstone_units::Seed;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustls::{ClientConnection, StreamOwned};
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

const SMALL: u64 = 1_000;
/// More than sockets hold.
const BIG: u64 = 8_000_000;
/// Long enough for an honest client on a machine that is busy.
const A_WHILE: Duration = Duration::from_millis(300);

/// A server that has something small and something big to offer, and where its records come out.
fn server(tls: Tls, limits: Limits) -> (Setting, Receiver<SocketRecord>) {
    let file = page([object("http://a.test/small", SMALL), object("http://a.test/big", BIG)]);
    let (sender, records) = sync_channel(10_000);
    (Setting { limits, records: RecordKeeping::Forward(sender), ..Setting::new(&file, Protocol::Http1, tls) }, records)
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(8_192).unwrap();
    socket.set_tcp_nodelay(true).unwrap();
    socket.connect_timeout(&address.into(), LIMIT).unwrap();
    limited(socket.into())
}

/// With TLS, if the server has it.
fn greet(setting: &Setting, tcp: TcpStream) -> Box<dyn Stream> {
    match setting.authority.client("a.test", setting.tls, setting.protocol).unwrap() {
        None => Box::new(tcp),
        Some(tls) => Box::new(StreamOwned::new(ClientConnection::new(tls.config, tls.name).unwrap(), tcp)),
    }
}

fn ask(stream: &mut dyn Stream, what: &str) {
    stream.write_all(format!("GET /{what} HTTP/1.1\r\nhost: a.test\r\n\r\n").as_bytes()).unwrap();
    stream.flush().unwrap();
}

/// Reads a response with a body of this many bytes.
fn read(stream: &mut dyn Stream, body: u64) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"));
    assert_eq!(std::io::copy(&mut stream.take(body), &mut std::io::sink()).unwrap(), body);
}

/// The next record of a connection that has closed.
fn next_closed(records: &Receiver<SocketRecord>) -> SocketRecord {
    loop {
        let record = records.recv_timeout(LIMIT).expect("a connection ends");
        if record.closed_at.is_some() {
            return record;
        }
    }
}

/// For how long a connection was there.
fn span(record: &SocketRecord) -> Duration {
    Duration::from_nanos(record.closed_at.unwrap().nanos_since(record.opened))
}

/// Lets this process have as many files as the system grants it: both ends of connections are some.
fn allow_files() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(20_000).max(soft), hard).unwrap();
}

/// What a stranger does.
enum Stranger {
    /// Asks for something small and reads it.
    Polite,
    /// Asks for something big and does not read it.
    Deaf,
    /// Says half of a greeting.
    Mute,
}

/// A client that connects: its port, and what keeps the connection open.
fn visit(setting: &Setting, address: SocketAddr, stranger: &Stranger) -> (u16, Box<dyn Stream>) {
    let mut tcp = connect(address);
    let port = tcp.local_addr().unwrap().port();
    let stream = match stranger {
        Stranger::Mute => {
            tcp.write_all(b"\x16\x03\x01\x02\0\x01\0").unwrap();
            Box::new(tcp)
        }
        Stranger::Polite => {
            let mut stream = greet(setting, tcp);
            ask(&mut *stream, "small");
            read(&mut *stream, SMALL);
            stream
        }
        Stranger::Deaf => {
            let mut stream = greet(setting, tcp);
            ask(&mut *stream, "big");
            stream
        }
    };
    (port, stream)
}

#[test]
fn two_thousand_strangers_come_and_nothing_of_them_stays() {
    const STRANGERS: usize = 2_000;
    allow_files();
    let limits = Limits { handshake_timeout: 5 * A_WHILE, write_timeout: A_WHILE, ..Limits::default() };
    let (setting, records) = server(Tls::V1_3, limits);
    let mut whim = Seed(7).stream("strangers");
    let ((over, patient), served) = setting.with_servers(&Clock::start(), |addresses, _| {
        let mut held = Vec::new();
        for name in 0..STRANGERS {
            let stranger = match (whim.next_f64() < 0.5, whim.next_f64() < 0.5) {
                (true, _) => Stranger::Polite,
                (false, true) => Stranger::Deaf,
                (false, false) => Stranger::Mute,
            };
            held.push((name as u32, visit(&setting, addresses[0], &stranger), stranger));
            if whim.next_f64() < 0.45 {
                held.swap_remove((whim.next_u64() % held.len() as u64) as usize);
            }
        }
        // Who is polite leaves; the others stay until they are shown out.
        held.retain(|(_, _, stranger)| !matches!(stranger, Stranger::Polite));
        let over: Vec<SocketRecord> = (0..STRANGERS).map(|_| next_closed(&records)).collect();
        let patient: Vec<(u32, Stranger)> = held.into_iter().map(|(name, _, stranger)| (name, stranger)).collect();
        // The server accepts new clients.
        visit(&setting, addresses[0], &Stranger::Polite);
        next_closed(&records);
        (over, patient)
    });
    // They came in one after the other, so the server has the same ids for them.
    let failures: BTreeMap<u32, Option<Failure>> =
        over.into_iter().map(|record| (record.conn.0, record.failure)).collect();
    assert!(failures.len() == STRANGERS && patient.len() > 300);
    for (name, stranger) in patient {
        let expected =
            if matches!(stranger, Stranger::Mute) { Failure::HandshakeTimeout } else { Failure::WriteTimeout };
        assert_eq!(failures[&name], Some(expected));
    }
    let Served { still_open, records_dropped, peak_connections, connections, .. } = &served[0];
    assert_eq!((*still_open, *records_dropped, connections.len()), (0, 0, 0));
    assert!((300..=STRANGERS).contains(peak_connections), "{peak_connections}");
}

#[test]
fn a_handshake_has_its_time_and_no_more() {
    for tls in [Tls::V1_2, Tls::V1_3] {
        let (setting, records) = server(tls, Limits { handshake_timeout: A_WHILE, ..Limits::UNLIMITED });
        setting.with_servers(&Clock::start(), |addresses, _| {
            let (_, mut polite) = visit(&setting, addresses[0], &Stranger::Polite);
            let (port, _mute) = visit(&setting, addresses[0], &Stranger::Mute);
            let record = next_closed(&records);
            assert_eq!((record.peer.port(), &record.failure), (port, &Some(Failure::HandshakeTimeout)));
            assert!(span(&record) >= A_WHILE && record.established.is_none());
            // It came earlier, and its handshake was over in time.
            ask(&mut *polite, "small");
            read(&mut *polite, SMALL);
        });
    }
}

#[test]
fn a_client_that_reads_nothing_is_given_up_and_one_that_reads_slowly_is_served() {
    for tls in [Tls::None, Tls::V1_3] {
        let (setting, records) = server(tls, Limits { write_timeout: A_WHILE, ..Limits::UNLIMITED });
        setting.with_servers(&Clock::start(), |addresses, _| {
            let (_, mut slow) = visit(&setting, addresses[0], &Stranger::Deaf);
            let (port, mut deaf) = visit(&setting, addresses[0], &Stranger::Deaf);
            // The slow one reads a little, waits a little, until the deaf one is no more.
            let (mut taken, mut buffer) = (0, [0; 40_000]);
            let record = loop {
                match records.recv_timeout(A_WHILE / 30) {
                    Ok(record) if record.closed_at.is_some() => break record,
                    _ => {
                        let count = slow.read(&mut buffer).unwrap() as u64;
                        assert!(count > 0, "{tls:?}: the slow one was given up before the deaf one");
                        taken += count;
                    }
                }
            };
            assert_eq!((record.peer.port(), &record.failure), (port, &Some(Failure::WriteTimeout)), "{tls:?}");
            assert!(span(&record) >= A_WHILE);
            // Nothing is kept for it: what it had not read by then ends in a reset.
            let end = std::io::copy(&mut deaf, &mut std::io::sink());
            assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset, "{tls:?}");
            // Content, and a head of some 250 bytes.
            while taken < BIG {
                let count = slow.read(&mut buffer).unwrap() as u64;
                assert!(count > 0, "{tls:?}: the slow one was given up after {taken} bytes");
                taken += count;
            }
        });
    }
}

#[test]
fn a_client_that_does_not_close_after_the_server_has_is_dropped() {
    for tls in [Tls::None, Tls::V1_3] {
        let (setting, records) = server(tls, Limits { close_timeout: A_WHILE, ..Limits::UNLIMITED });
        setting.with_servers(&Clock::start(), |addresses, _| {
            let [mut stays, mut goes] = [(); 2].map(|()| greet(&setting, connect(addresses[0])));
            for stream in [&mut stays, &mut goes] {
                stream.write_all(b"nonsense\r\n\r\n").unwrap();
                stream.flush().unwrap();
                stream.read_to_end(&mut Vec::new()).unwrap();
            }
            drop(goes);
            let [first, second] = [(); 2].map(|()| next_closed(&records));
            assert_eq!((first.conn.0, first.failure), (1, None), "{tls:?}");
            assert_eq!((second.conn.0, &second.failure), (0, &Some(Failure::CloseTimeout)), "{tls:?}");
            assert!(span(&second) >= A_WHILE, "{tls:?}");
        });
    }
}

#[test]
fn a_connection_beyond_the_limit_is_accepted_when_another_closes() {
    let (setting, _records) = server(Tls::None, Limits { max_connections: 2, ..Limits::UNLIMITED });
    let (_, served) = setting.with_servers(&Clock::start(), |addresses, _| {
        let [(_, first), (_, mut second)] = [(); 2].map(|()| visit(&setting, addresses[0], &Stranger::Polite));
        let mut third = connect(addresses[0]);
        ask(&mut third, "small");
        for _ in 0..10 {
            ask(&mut *second, "small");
            read(&mut *second, SMALL);
        }
        third.set_nonblocking(true).unwrap();
        assert_eq!(third.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        third.set_nonblocking(false).unwrap();
        drop(first);
        read(&mut third, SMALL);
    });
    assert_eq!(served[0].peak_connections, 2);
}

#[test]
fn a_queue_before_the_door_is_let_in_to_the_last() {
    // More than are let in at a time, and less than the queue holds.
    const QUEUE: usize = 600;
    allow_files();
    let (setting, _records) = server(Tls::None, Limits::default());
    let (listener, address) = port();
    let mut clients: Vec<TcpStream> = (0..QUEUE).map(|_| connect(address)).collect();
    // No other sends anything that would make the server look again.
    let last = clients.last_mut().unwrap();
    ask(last, "small");
    let (stopper, stop) = Stopper::new();
    let served = thread::scope(|scope| {
        let server = scope.spawn(|| setting.serve(&Clock::start(), 0, listener, &stop));
        read(last, SMALL);
        stopper.stop();
        joined(server)
    });
    assert_eq!((served.peak_connections, served.still_open), (QUEUE, QUEUE));
}

#[test]
fn a_log_hears_of_connections_when_they_open_and_when_they_close() {
    let (setting, records) = server(Tls::None, Limits::default());
    let (_, served) = setting.with_servers(&Clock::start(), |addresses, _| {
        let mut tcp = connect(addresses[0]);
        ask(&mut tcp, "small");
        read(&mut tcp, SMALL);
        let (came, client) = (records.recv_timeout(LIMIT).unwrap(), tcp.local_addr().unwrap());
        assert_eq!((came.peer, came.closed_at, came.content), (client, None, 0));
        drop(tcp);
        let went = records.recv_timeout(LIMIT).unwrap();
        assert_eq!((went.conn, went.peer, went.failure), (came.conn, client, None));
        assert!(went.closed_at.unwrap() >= went.established.unwrap() && went.content > SMALL);
        // Who is there at the end goes then.
        visit(&setting, addresses[0], &Stranger::Deaf)
    });
    let after: Vec<_> = records.try_iter().map(|record| record.closed_at.is_some()).collect();
    assert_eq!((after, served[0].still_open), (vec![false, true], 1));
}

#[test]
fn a_log_that_does_not_read_makes_no_connection_wait() {
    let (sender, _unread) = sync_channel(1);
    let (setting, _) = server(Tls::None, Limits::default());
    let setting = Setting { records: RecordKeeping::Forward(sender), ..setting };
    let (_, served) = setting.with_servers(&Clock::start(), |addresses, _| {
        for _ in 0..3 {
            visit(&setting, addresses[0], &Stranger::Polite);
        }
    });
    // Each comes and goes, and the first to come has been noted.
    assert_eq!(served[0].records_dropped, 5);
}

#[test]
fn a_server_that_discards_records_keeps_none() {
    let setting = Setting { records: RecordKeeping::Discard, ..server(Tls::None, Limits::default()).0 };
    let (_, served) = setting.with_servers(&Clock::start(), |addresses, _| {
        visit(&setting, addresses[0], &Stranger::Polite);
    });
    assert_eq!((served[0].connections.len(), served[0].records_dropped, served[0].peak_connections), (0, 0, 1));
}
