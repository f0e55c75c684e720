//! Fetches: every protocol with each TLS, what is sent up, what is hashed and written, and which servers fail.

use crate::{EVERY_TLS, LIMIT, Setting, accept, joined, object, page, port};
use loadstone_http::{Body, BodyId, Multiplexing, Priority, Protocol, SessionFactory};
use loadstone_live::{
    Authority, Chain, Clock, Fetched, Folder, Reach, ResolvedAddress, Stop, Stopper, Tls, Trust, fetch,
};
use loadstone_load::page::{ObjectSpec, PageFile};
use loadstone_load::{FetchList, FetcherConfig, Ping, RequestTemplate, Unanswered};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const ONE: NonZeroU32 = NonZeroU32::MIN;

fn fetching(protocol: Option<Protocol>) -> FetcherConfig {
    let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
    FetcherConfig { protocol, connections: ONE, concurrency: None, repeat: ONE, ping: Ping::Never, sessions }
}

fn errand(urls: impl IntoIterator<Item = String>) -> FetchList {
    let mut errand = FetchList::new(RequestTemplate::new("GET", &[], None).unwrap());
    urls.into_iter().for_each(|url| errand.add(&url, Priority::default()).unwrap());
    errand
}

/// Reached over TLS that accepts any certificate and offers `protocols`; within a time that nothing here takes.
fn reach(tls: Option<Tls>, protocols: &[Protocol]) -> Reach {
    let tls = Trust::Anyone.config(tls, protocols).unwrap();
    Reach { places: Vec::new(), tls, payload: Vec::new().into(), folder: None, timeout: LIMIT }
}

/// Fetches without a stop.
fn fetched(errand: FetchList, config: FetcherConfig, reach: &Reach) -> Fetched {
    let (_stopper, stop) = Stopper::new();
    fetch(&Clock::start(), errand, config, reach, &stop).unwrap()
}

fn digest_of_pattern(len: u64) -> [u8; 32] {
    let bytes: Vec<u8> = (0..len).map(|i| ((131 * i + 7 * (i / 256) + 13) % 256) as u8).collect();
    Sha256::digest(bytes).into()
}

fn of_one_host() -> PageFile {
    page((0..12_u64).map(|at| object(&format!("http://a.test/{at}"), at * at * at * 90)))
}

/// `http` or `https` URLs of a page's objects on a server.
fn urls(file: &PageFile, tls: Tls, address: SocketAddr) -> Vec<String> {
    let scheme = if tls == Tls::None { "http" } else { "https" };
    let path = |object: &ObjectSpec| object.url.rsplit_once('/').unwrap().1.to_owned();
    file.objects.iter().map(|object| format!("{scheme}://a.test:{}/{}", address.port(), path(object))).collect()
}

fn at(address: SocketAddr) -> Vec<ResolvedAddress> {
    vec![ResolvedAddress { host: "a.test".to_owned(), port: address.port(), address: address.ip() }]
}

#[test]
fn what_comes_is_what_was_sent_over_every_protocol_and_tls() {
    let file = of_one_host();
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let setting = Setting::new(&file, protocol, tls);
            let (fetched, _) = setting.with_servers(&Clock::start(), |addresses, _| {
                let reach = Reach { places: at(addresses[0]), ..reach(Some(tls), &[protocol]) };
                let config = FetcherConfig { ping: Ping::Once, ..fetching(Some(protocol)) };
                fetched(errand(urls(&file, tls, addresses[0])), config, &reach)
            });
            for ((transfer, digest), object) in fetched.transfers.iter().zip(&fetched.digests).zip(&file.objects) {
                let marks = [transfer.asked, transfer.sent, transfer.first_byte, transfer.last_byte];
                let marks: Vec<_> = marks.into_iter().flatten().collect();
                assert!(marks.len() == 4 && marks.is_sorted(), "{protocol} {tls:?}: {transfer:?}");
                assert!(marks[0] >= fetched.began && marks[3] <= fetched.over);
                assert_eq!(transfer.response.as_ref().unwrap().status, 200);
                assert_eq!(transfer.bytes, object.bytes);
                assert_eq!(*digest, Some(digest_of_pattern(object.bytes)), "{protocol} {tls:?}: {transfer:?}");
            }
            assert_eq!(fetched.connections.len(), 1, "{protocol} {tls:?}");
            let (connection, used) = &fetched.connections[0];
            assert_eq!(
                (connection.protocol, connection.tls),
                (Some(protocol), Some(tls).filter(|tls| *tls != Tls::None))
            );
            assert_eq!((&connection.failure, used.fault), (&None, None));
            assert_eq!(used.round_trip.is_some(), protocol.is_multiplexed(), "{protocol} {tls:?}");
        }
    }
}

#[test]
fn without_a_protocol_the_one_is_spoken_that_the_server_chose() {
    let file = of_one_host();
    for protocol in [Protocol::Http1, Protocol::H2] {
        let setting = Setting::new(&file, protocol, Tls::V1_3);
        let (fetched, _) = setting.with_servers(&Clock::start(), |addresses, _| {
            let reach = Reach { places: at(addresses[0]), ..reach(None, &[Protocol::H2, Protocol::Http1]) };
            let config = FetcherConfig { connections: NonZeroU32::new(3).unwrap(), ..fetching(None) };
            fetched(errand(urls(&file, Tls::V1_3, addresses[0])), config, &reach)
        });
        assert!(fetched.transfers.iter().all(|transfer| transfer.last_byte.is_some()));
        assert!(fetched.connections.iter().all(|(connection, _)| connection.protocol == Some(protocol)));
        assert_eq!(fetched.connections.len(), if protocol == Protocol::H2 { 1 } else { 3 });
    }
}

#[test]
fn a_body_goes_up_as_it_is() {
    let (listener, address) = port();
    let payload: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(at) >> 3) as u8).collect();
    let template = RequestTemplate::new("POST", &[], Some(Body { id: BodyId(0), len: payload.len() as u64 })).unwrap();
    let mut errand = FetchList::new(template);
    errand.add(&format!("http://{address}/up"), Priority::default()).unwrap();
    let reach = Reach { payload: payload.clone().into(), ..reach(None, &[]) };
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut stream = accept(&listener);
            let head = read_head(&mut stream);
            let mut body = vec![0; payload.len()];
            stream.read_exact(&mut body).unwrap();
            stream.write_all(b"HTTP/1.1 201 Made\r\ncontent-length: 0\r\n\r\n").unwrap();
            (head, body)
        });
        let fetched = fetched(errand, fetching(None), &reach);
        let (head, body) = joined(server);
        assert!(head.starts_with("POST /up HTTP/1.1\r\n") && head.contains("content-length: 300000\r\n"), "{head}");
        assert!(body == payload);
        assert_eq!(fetched.transfers[0].response.as_ref().unwrap().status, 201);
        assert_eq!(fetched.digests[0], Some(Sha256::digest([]).into()));
    });
}

fn read_head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn servers_that_cannot_be_reached_or_found_do_not_affect_the_others() {
    let file = of_one_host();
    let setting = Setting::new(&file, Protocol::H2, Tls::None);
    let (_, closed) = port();
    let (fetched, _) = setting.with_servers(&Clock::start(), |addresses, _| {
        let mut all = urls(&file, Tls::None, addresses[0]);
        all.push(format!("http://{closed}/"));
        all.push("http://nobody.invalid/".to_owned());
        let reach = Reach { places: at(addresses[0]), ..reach(None, &[]) };
        fetched(errand(all), fetching(Some(Protocol::H2)), &reach)
    });
    let failures: Vec<_> = fetched.transfers.iter().filter_map(|transfer| transfer.failure).collect();
    assert_eq!(failures, [Unanswered::Unreachable, Unanswered::NotFound]);
    assert!(fetched.transfers[..12].iter().all(|transfer| transfer.last_byte.is_some()));
}

#[test]
fn a_server_is_looked_for_at_one_address_after_the_other() {
    let file = of_one_host();
    let setting = Setting::new(&file, Protocol::Http1, Tls::None);
    let (fetched, _) = setting.with_servers(&Clock::start(), |addresses, _| {
        let closed = ResolvedAddress { address: IpAddr::from([127, 0, 0, 2]), ..at(addresses[0]).remove(0) };
        let reach = Reach { places: [vec![closed], at(addresses[0])].concat(), ..reach(None, &[]) };
        fetched(errand(urls(&file, Tls::None, addresses[0])), fetching(None), &reach)
    });
    assert!(fetched.transfers.iter().all(|transfer| transfer.last_byte.is_some()));
    assert_eq!(fetched.connections.len(), 2);
    assert!(fetched.connections[0].0.failure.is_some());
}

#[test]
fn a_server_that_cannot_prove_its_name_gets_no_request() {
    let file = of_one_host();
    let setting = Setting::new(&file, Protocol::H2, Tls::V1_3);
    let trusting = |authority: &Authority| {
        let (fetched, _) = setting.with_servers(&Clock::start(), |addresses, _| {
            let tls = authority.client("a.test", Tls::V1_3, Protocol::H2).unwrap().unwrap().config;
            let reach = Reach { places: at(addresses[0]), tls, ..reach(None, &[]) };
            fetched(errand(urls(&file, Tls::V1_3, addresses[0])), fetching(Some(Protocol::H2)), &reach)
        });
        fetched
    };
    assert!(trusting(&setting.authority).transfers.iter().all(|transfer| transfer.last_byte.is_some()));
    let fetched = trusting(&Authority::new(Chain::Minimal));
    assert!(fetched.transfers.iter().all(|transfer| transfer.failure == Some(Unanswered::Unreachable)));
    let failure = fetched.connections[0].0.failure.as_ref().unwrap().to_string();
    assert!(failure.contains("certificate"), "{failure}");
}

/// Fetches from a server that holds its only connection open after it has read a request and sent `answer`;
/// then does with the stopper what `then` does.
fn held(answer: &[u8], timeout: Duration, then: impl FnOnce(Stopper) -> Option<Stopper>) -> Fetched {
    let (listener, address): (TcpListener, SocketAddr) = port();
    let (stopper, stop) = Stopper::new();
    let reach = Reach { timeout, ..reach(None, &[]) };
    let go = |stop: Stop| {
        fetch(&Clock::start(), errand([format!("http://{address}/")]), fetching(None), &reach, &stop).unwrap()
    };
    thread::scope(|scope| {
        let fetched = scope.spawn(|| go(stop));
        let mut stream = accept(&listener);
        read_head(&mut stream);
        stream.write_all(answer).unwrap();
        let _kept = then(stopper);
        joined(fetched)
    })
}

#[test]
fn a_fetch_that_is_stopped_returns_what_there_is() {
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";
    let fetched = held(part, LIMIT, |stopper| {
        stopper.stop();
        None
    });
    assert_eq!(fetched.transfers[0].failure, Some(Unanswered::Interrupted));
    let fetched = held(part, Duration::from_millis(50), Some);
    assert_eq!(fetched.transfers[0].failure, Some(Unanswered::TimedOut));
    assert_eq!(fetched.digests, [None]);
}

#[test]
fn bodies_are_written_to_files_of_their_own_and_it_is_said_where_they_cannot() {
    let file = of_one_host();
    let setting = Setting::new(&file, Protocol::Spdy31, Tls::None);
    let path = std::env::temp_dir().join(format!("loadstone-fetch-{}", std::process::id()));
    let folder = Folder::new(path.clone()).unwrap();
    // In the place of one of them there is a folder.
    std::fs::create_dir(path.join("00003-3")).unwrap();
    let (fetched, _) = setting.with_servers(&Clock::start(), |addresses, _| {
        let reach = Reach { places: at(addresses[0]), folder: Some(folder), ..reach(None, &[]) };
        fetched(errand(urls(&file, Tls::None, addresses[0])), fetching(Some(Protocol::Spdy31)), &reach)
    });
    for (at, object) in file.objects.iter().enumerate().filter(|(at, _)| *at != 3) {
        let written = std::fs::read(path.join(format!("{at:05}-{at}"))).unwrap();
        assert_eq!(written.len() as u64, object.bytes);
        assert_eq!(fetched.digests[at], Some(Sha256::digest(&written).into()));
    }
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(fetched.unwritten.keys().map(|transfer| transfer.0).collect::<Vec<_>>(), [3]);
    // What has come is told all the same.
    assert_eq!(fetched.digests[3], Some(digest_of_pattern(file.objects[3].bytes)));
}
