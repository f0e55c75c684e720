//! A relay on sockets: what comes through it is what was sent, a slow reader makes the origin wait, and what is
//! cancelled in front is cancelled behind.

use crate::talk::{Talk, connect};
use crate::{LIMIT, Setting, dial, joined, limited, object, page, port};
use loadstone_http::{Multiplexing, Priority, Protocol, SessionFactory};
use loadstone_live::{
    Clock, Destinations, Failure, Limits, Listener, NOTSENT_LOWAT, PathNotes, Reach, RecordKeeping, Relayed,
    ResolvedAddress, Served, SocketRecord, Stop, Stopper, Target, Tls, Trust, fetch, relay,
};
use loadstone_load::page::{HostId, PageFile};
use loadstone_load::{FetchList, FetcherConfig, Ping, Relay, RelayConfig, RequestTemplate};
use sha2::{Digest, Sha256};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

const EVERY: [Protocol; 5] = [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// An origin, and a relay that speaks `protocol` in front of it.
struct Edge {
    setting: Setting,
    protocol: Protocol,
}

/// Where the relay is to be found, while it is there.
struct Running<'a> {
    front: SocketAddr,
    clock: &'a Clock,
}

impl Edge {
    fn new(file: &PageFile, protocol: Protocol) -> Edge {
        Edge { setting: Setting::new(file, Protocol::Http1, Tls::None), protocol }
    }

    /// The same, and the records of the origin's connections as they end.
    fn watched(file: &PageFile, protocol: Protocol) -> (Edge, Receiver<SocketRecord>) {
        let (sender, ended) = sync_channel(10_000);
        let mut edge = Edge::new(file, protocol);
        edge.setting.records = RecordKeeping::Forward(sender);
        (edge, ended)
    }

    fn relay(&self, clock: &Clock, origin: SocketAddr, listener: std::net::TcpListener, stop: &Stop) -> Relayed {
        let front = listener.local_addr().unwrap().to_string();
        let names =
            ["a.test".to_owned(), "localhost".to_owned(), format!("a.test:{}", front.rsplit(':').next().unwrap())];
        let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
        let servers = names.into_iter().map(|name| (name, HostId(0))).collect();
        let relayed = Relay::new(RelayConfig::new(servers, sessions));
        let (host, protocol, notsent_lowat) = (HostId(0), self.protocol, NOTSENT_LOWAT);
        let (limits, records) = (Limits::UNLIMITED, RecordKeeping::Collect);
        let listener = Listener { host, listener, tls: None, protocol, notsent_lowat, limits, records };
        let targets = vec![Target { address: origin, tls: None, protocol: Protocol::Http1 }];
        let path_notes = PathNotes::None;
        let destinations = Destinations { targets, names: None, notsent_lowat, timeout: LIMIT, limits, path_notes };
        relay(clock, relayed, vec![listener], &destinations, stop).unwrap()
    }

    /// Lets `client` do what it does with the relay's address.
    fn with<T>(&self, client: impl FnOnce(Running) -> T) -> (T, Relayed, Served) {
        let clock = Clock::start();
        let ((result, relayed), mut served) = self.setting.with_servers(&clock, |addresses, _| {
            let (stopper, stop) = Stopper::new();
            let (listener, front) = port();
            thread::scope(|scope| {
                let relay = scope.spawn(|| self.relay(&clock, addresses[0], listener, &stop));
                let result = client(Running { front, clock: &clock });
                stopper.stop();
                (result, joined(relay))
            })
        });
        (result, relayed, served.remove(0))
    }
}

fn digest_of_pattern(len: u64) -> [u8; 32] {
    let bytes: Vec<u8> = (0..len).map(|i| ((131 * i + 7 * (i / 256) + 13) % 256) as u8).collect();
    Sha256::digest(bytes).into()
}

#[test]
fn a_thousand_objects_come_whole_by_sha256_whatever_is_spoken_in_front() {
    let file = page((0..1_000_u64).map(|at| object(&format!("http://a.test/{at}"), at * 7919 % 30_000)));
    for protocol in EVERY {
        let (fetched, relayed, served) = Edge::new(&file, protocol).with(|Running { front, clock }| {
            let mut errand = FetchList::new(RequestTemplate::new("GET", &[], None).unwrap());
            let url = |at: usize| format!("http://a.test:{}/{at}", front.port());
            (0..1_000).for_each(|at| errand.add(&url(at), Priority::default()).unwrap());
            let tls = Trust::Anyone.config(Some(Tls::None), &[protocol]).unwrap();
            let places = vec![ResolvedAddress { host: "a.test".to_owned(), port: front.port(), address: front.ip() }];
            let reach = Reach { places, tls, payload: Vec::new().into(), folder: None, timeout: LIMIT };
            let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
            let (one, connections) = (NonZeroU32::MIN, NonZeroU32::new(3).unwrap());
            let (concurrency, ping) = (None, Ping::Never);
            let config =
                FetcherConfig { protocol: Some(protocol), connections, concurrency, repeat: one, ping, sessions };
            let (_stopper, stop) = Stopper::new();
            fetch(clock, errand, config, &reach, &stop).unwrap()
        });
        for ((at, object), digest) in file.objects.iter().enumerate().zip(&fetched.digests) {
            assert_eq!(*digest, Some(digest_of_pattern(object.bytes)), "{protocol} {at}");
        }
        assert_eq!(served.services.len(), 1_000, "{protocol}: each is asked for once");
        assert!(relayed.most_held <= 64 * 1024, "{protocol}: {}", relayed.most_held);
    }
}

/// For how long the slow client reads: 3 s, or what the environment says.
#[expect(clippy::disallowed_methods, reason = "the environment may set how long the test goes on")]
fn patience() -> Duration {
    let seconds = std::env::var("LOADSTONE_SLOW_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// A connection whose socket takes little.
fn narrow(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    socket.connect_timeout(&address.into(), LIMIT).unwrap();
    limited(TcpStream::from(socket))
}

/// A connection of which 1 KB is read every tenth of a second.
struct Paced(TcpStream);

impl Read for Paced {
    #[expect(clippy::disallowed_methods, reason = "the pace is what is tested")]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(100));
        let most = buffer.len().min(1_000);
        self.0.read(&mut buffer[..most])
    }
}

impl Write for Paced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The greatest size that a TCP buffer of the kernel grows to: the last value of `tcp_rmem` or `tcp_wmem`.
fn max_buffer(name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap();
    text.split_whitespace().last().unwrap().parse().unwrap()
}

const HUGE: u64 = 100_000_000;

/// The origin's connection has been reset long before all was sent. Returns how much was.
#[track_caller]
fn assert_cancelled(ended: &Receiver<SocketRecord>) -> u64 {
    let next = || ended.recv_timeout(LIMIT).expect("it goes on though it is cancelled");
    // Connections are told of when they begin, too.
    let connection = std::iter::repeat_with(next).find(|connection| connection.closed_at.is_some()).unwrap();
    let reasons = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].map(|kind| Some(Failure::Io(kind)));
    assert!(reasons.contains(&connection.failure), "{connection:?}");
    // A send buffer and a receive buffer on either side of the relay do not take so much on their own.
    assert!(connection.content < HUGE / 2, "{connection:?}");
    connection.content
}

#[test]
fn a_client_that_reads_slowly_makes_the_origin_wait_and_one_that_leaves_cancels_behind() {
    thread::scope(|scope| {
        for protocol in EVERY {
            scope.spawn(move || assert_waits_for_a_slow_client(protocol));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "how long it reads is what is tested")]
fn assert_waits_for_a_slow_client(protocol: Protocol) {
    let file = page([object("http://a.test/", HUGE)]);
    let (edge, ended) = Edge::watched(&file, protocol);
    let ((read, sent), relayed, _) = edge.with(|Running { front, .. }| {
        let begin = Instant::now();
        let mut talk = Talk::new(Box::new(Paced(narrow(front))), protocol);
        let stream = talk.ask("GET", "/", &[], b"");
        while begin.elapsed() < patience() {
            talk.turn();
        }
        let read = talk.got[&stream].content.len() as u64;
        assert!(read > 5_000 * patience().as_secs() && !talk.is_over, "{protocol}: {read}");
        assert!(ended.try_iter().all(|connection| connection.closed_at.is_none()), "{protocol}: it is still wanted");
        drop(talk);
        (read, assert_cancelled(&ended))
    });
    assert!((32 * 1024..=256 * 1024).contains(&relayed.most_held), "{protocol}: {}", relayed.most_held);
    // On either side of the relay a send buffer and a receive buffer, in front a narrow one, and what the relay holds. A
    // receive buffer grows with what is read, of which the relay reads little.
    let buffers = 2 * max_buffer("tcp_wmem") + max_buffer("tcp_rmem") + 16 * 1024;
    assert!(sent <= read + 256 * 1024 + buffers, "{protocol}: {sent} of which {read} were read");
}

#[test]
fn a_request_that_is_cancelled_in_front_is_cancelled_behind_and_others_go_on() {
    const OTHER: u64 = 3_000_000;
    let file = page([object("http://a.test/huge", HUGE), object("http://a.test/other", OTHER)]);
    for protocol in EVERY.into_iter().filter(|protocol| protocol.is_multiplexed()) {
        let (edge, ended) = Edge::watched(&file, protocol);
        edge.with(|Running { front, .. }| {
            let mut talk = Talk::new(connect(front, None, &[]).unwrap(), protocol);
            let huge = talk.ask("GET", "/huge", &[], b"");
            let other = talk.ask("GET", "/other", &[], b"");
            while talk.got[&huge].content.len() < 100_000 || talk.got[&other].content.is_empty() {
                talk.turn();
            }
            assert!(!talk.got[&other].is_complete, "{protocol}: both are under way");
            talk.cancel(huge);
            talk.got.retain(|stream, _| *stream == other);
            while !talk.got[&other].is_complete {
                assert!(!talk.is_over, "{protocol}");
                talk.turn();
            }
            let digest: [u8; 32] = Sha256::digest(&talk.got[&other].content).into();
            assert_eq!(digest, digest_of_pattern(OTHER), "{protocol}");
            assert_cancelled(&ended);
            talk.got.clear();
            assert_eq!(talk.get("/other").content.len() as u64, OTHER, "{protocol}: and new ones begin");
        });
    }
}

#[test]
fn a_client_of_http1_that_resets_its_connection_cancels_behind_and_leaves_others_alone() {
    let file = page([object("http://a.test/huge", HUGE), object("http://a.test/other", 1_000)]);
    let (edge, ended) = Edge::watched(&file, Protocol::Http1);
    edge.with(|Running { front, .. }| {
        let mut client = dial(front);
        client.write_all(b"GET /huge HTTP/1.1\r\nhost: a.test\r\n\r\n").unwrap();
        client.read_exact(&mut [0; 100_000]).unwrap();
        let mut other = Talk::new(connect(front, None, &[]).unwrap(), Protocol::Http1);
        assert_eq!(other.get("/other").content.len(), 1_000);
        SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_cancelled(&ended);
        assert_eq!(other.get("/other").content.len(), 1_000);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the pace is what is tested")]
fn what_is_read_slowly_to_the_end_comes_whole() {
    const LEN: u64 = 10_000_000;
    let file = page([object("http://a.test/", LEN)]);
    Edge::new(&file, Protocol::Http1).with(|Running { front, .. }| {
        let mut client = narrow(front);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n").unwrap();
        let (mut response, mut buffer) = (Vec::new(), [0; 16_000]);
        while let count @ 1.. = client.read(&mut buffer).unwrap() {
            response.extend_from_slice(&buffer[..count]);
            // The pace is what is tested: room in front comes bit by bit, when nothing comes from behind.
            thread::sleep(Duration::from_millis(1));
        }
        let content = response.split_off(response.len() - LEN as usize);
        assert_eq!(<[u8; 32]>::from(Sha256::digest(content)), digest_of_pattern(LEN));
    });
}
