//! A server in a process that has no files left. Alone in its process, whose limit it lowers.

use loadstone_http::{Multiplexing, Protocol, SessionFactory};
use loadstone_live::{
    Clock, Error, Limits, Listener, NOTSENT_LOWAT, RecordKeeping, Served, Stop, Stopper, listen, serve,
};
use loadstone_load::page::{HostId, PageFile};
use loadstone_load::{Catalogue, Foresight, Origin, OriginConfig};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

const VISITORS: usize = 30;
/// Nothing here takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(60);
/// What an event loop takes, and a few connections.
const FILES: u64 = 12;

fn serve_at(listener: TcpListener, stop: &Stop) -> Result<Served, Error> {
    let page = br#"{"objects": [{"url": "http://a.test/", "bytes": 1000}]}"#;
    let page = Arc::new(PageFile::from_json(page).unwrap().build().unwrap());
    let origin = Origin::new(
        Arc::new(Catalogue::all(&page, Foresight::default()).remove(0)),
        OriginConfig::new(Arc::new(SessionFactory::new(Multiplexing::default()))),
    );
    let (protocol, notsent_lowat) = (Protocol::Http1, NOTSENT_LOWAT);
    let (limits, records) = (Limits::default(), RecordKeeping::Collect);
    let listener = Listener { host: HostId(0), listener, tls: None, protocol, notsent_lowat, limits, records };
    serve(&Clock::start(), origin, listener, stop)
}

/// Lets the process have `more` files than it has now.
fn allow(more: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    // The lowest number that is free.
    let next = TcpListener::bind("127.0.0.1:0").unwrap().as_raw_fd() as u64;
    setrlimit(Resource::RLIMIT_NOFILE, next + more, hard).unwrap();
}

/// Ends the program unless what this returns is dropped in time: a server that does not return keeps its thread.
fn limit() -> Sender<()> {
    let (over, waiting) = channel::<()>();
    thread::spawn(move || {
        if waiting.recv_timeout(2 * LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Past the capture of the test's output, which would be lost.
            let _shown = writeln!(std::io::stderr(), "a server does not return");
            std::process::exit(1);
        }
    });
    over
}

#[test]
fn a_server_without_files_accepts_the_next_when_another_has_closed() {
    let _in_time = limit();
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    // They stand in the queue before the server starts.
    let visitors: Vec<TcpStream> = (0..VISITORS).map(|_| TcpStream::connect(address).unwrap()).collect();
    visitors.iter().for_each(|visitor| visitor.set_read_timeout(Some(LIMIT)).unwrap());
    allow(FILES);
    let (stopper, stop) = Stopper::new();
    let served = thread::scope(|scope| {
        let server = scope.spawn(|| serve_at(listener, &stop));
        for mut visitor in visitors {
            visitor.write_all(b"GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
                let mut byte = [0];
                visitor.read_exact(&mut byte).expect("the server goes on");
                answer.extend(byte);
            }
            visitor.read_exact(&mut [0; 1_000]).expect("the server goes on");
        }
        stopper.stop();
        server.join().unwrap().unwrap()
    });
    assert_eq!(served.connections.len(), VISITORS);
    // They were all there at its first look, and were not all let in.
    assert!(served.peak_connections < VISITORS, "{}", served.peak_connections);
    // Without a file for a first connection there is no other to wait for.
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let _visitor = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (_stopper, stop) = Stopper::new();
    // Ever more files, until there are enough for the event loop.
    let error = (0..FILES).find_map(|files| {
        allow(1);
        let listener = listener.try_clone().unwrap();
        allow(files);
        match serve_at(listener, &stop) {
            Err(Error::Runtime(_)) => None,
            result => Some(result.unwrap_err()),
        }
    });
    assert!(matches!(error, Some(Error::Accept(_))), "{error:?}");
}
