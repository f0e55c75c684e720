//! What connections that say nothing cost those that do: requests per second on one connection of a server, with
//! others that idle. `ulimit -n 20000 && cargo bench -p loadstone-live`: both ends of each are files here.

#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loadstone_http::{Multiplexing, Protocol, SessionFactory};
use loadstone_live::{Clock, Limits, Listener, NOTSENT_LOWAT, RecordKeeping, Stopper, listen, serve};
use loadstone_load::page::{HostId, PageFile};
use loadstone_load::{Catalogue, Foresight, Origin, OriginConfig};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

const ONE: usize = 1;
const MANY: usize = 5_000;
const MAX: usize = 9_500;

/// An origin that has nothing to offer, so each request is answered at once and leaves nothing behind.
fn origin() -> Origin {
    let page = br#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#;
    let page = Arc::new(PageFile::from_json(page).expect("a page file").build().expect("a page"));
    Origin::new(
        Arc::new(Catalogue::all(&page, Foresight::default()).remove(0)),
        OriginConfig::new(Arc::new(SessionFactory::new(Multiplexing::default()))),
    )
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(b"GET /nothing HTTP/1.1\r\nhost: a.test\r\n\r\n").expect("a server that listens");
    let (mut answer, mut length) = ([0; 1_000], 0);
    while !answer[..length].ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut answer[length..]).expect("an answer");
        assert!(count > 0, "the server has closed");
        length += count;
    }
}

/// A connection that has been asked something once, so that the server has it.
fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a server that listens");
    stream.set_nodelay(true).expect("a socket");
    ask(&mut stream);
    stream
}

fn idle(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("next to idle connections");
    group.throughput(Throughput::Elements(1));
    for count in [ONE, MANY, MAX] {
        let listener = listen("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let address = listener.local_addr().expect("its address");
        let (clock, (stopper, stop)) = (Clock::start(), Stopper::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let (protocol, notsent_lowat) = (Protocol::Http1, NOTSENT_LOWAT);
                let (limits, records) = (Limits::default(), RecordKeeping::Discard);
                let listener =
                    Listener { host: HostId(0), listener, tls: None, protocol, notsent_lowat, limits, records };
                serve(&clock, origin(), listener, &stop).expect("a server")
            });
            let _idle: Vec<TcpStream> = (0..count).map(|_| connect(address)).collect();
            let mut busy = connect(address);
            group.bench_function(count.to_string(), |bencher| bencher.iter(|| ask(&mut busy)));
            stopper.stop();
        });
    }
}

criterion_group!(benches, idle);
criterion_main!(benches);
