//! Beds, seen from outside: what the kernel does on them, and what is left of them.
//!
//! Nothing is tested where no bed can be made, which is said; with `LOADSTONE_NO_SKIP=1` it fails.

#![cfg(target_os = "linux")]

mod datagrams;
mod flows;
mod initial_flights;
mod kernel;
mod links;
mod loads;
mod pcapng;
mod processes;
mod relays;
mod runs;
mod topologies;

use loadstone_bed::{Bed, BedHost, LinkReport, LoggedPacket, Run, Settings, Tcp, access, star};
use loadstone_net::{Fabric, NodeId};
use loadstone_units::Seed;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of data in a full segment.
const MSS: usize = 1448;
/// Longer than anything here lasts: what takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// The right to make a bed, one test at a time, since they measure; nothing where none can be made.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    if let Err(refusal) = access() {
        leave_out(&refusal.to_string());
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says why a test is left out, or fails where none may be.
fn leave_out(why: &str) {
    assert!(std::env::var_os("LOADSTONE_NO_SKIP").is_none(), "{why}");
    // Not by a macro: those are shown only if a test fails.
    let _ = writeln!(io::stderr(), "left out: {why}");
}

/// A bed with a client and `servers` servers.
fn bed(servers: usize, settings: &Settings) -> Bed {
    let bed = Bed::new(1 + servers).unwrap();
    bed.configure(settings).unwrap();
    bed
}

/// Settings with this initial window at the servers, and a client that has room for it.
fn initial_window(segments: u32) -> Settings {
    let server = Tcp { iw: i64::from(segments).try_into().unwrap(), ..Tcp::default() };
    // The kernel's own first window is 65,535 bytes; of a buffer it offers half, in steps of 128 bytes.
    let receive_buffer = (segments > 44).then(|| (2 * (segments + 1) * MSS as u32).max(262_144));
    Settings { server, client: Tcp { receive_buffer, ..Tcp::default() }, ..Settings::default() }
}

fn begin<'a>(bed: &'a Bed, network: &str, seed: u64) -> Run<'a> {
    let (fabric, nodes) = star_of(bed, network);
    bed.begin_traced(&fabric, &nodes, Seed(seed), 200_000).unwrap()
}

/// The star of a bed's hosts, of which no server is further away than others.
fn star_of(bed: &Bed, network: &str) -> (Arc<Fabric>, Vec<NodeId>) {
    star(&network.parse().unwrap(), &vec![Duration::ZERO; bed.hosts() - 1])
}

/// Fetches `bytes` bytes from a server on a connection of its own.
fn fetch(bed: &Bed, server: usize, bytes: usize) {
    let to = (bed.address(BedHost::server(server)), 80);
    let listener = bed.on(BedHost::server(server), || TcpListener::bind(to)).unwrap();
    let serving = bed.spawn(BedHost::server(server), move || -> io::Result<()> {
        let mut stream = patient(listener.accept()?.0);
        stream.read_exact(&mut [0; 100])?;
        stream.write_all(&vec![7; bytes])
    });
    let received = bed.on(BedHost::CLIENT, || -> io::Result<usize> {
        let mut stream = patient(TcpStream::connect_timeout(&to.into(), PATIENCE)?);
        stream.write_all(&[1; 100])?;
        stream.read_to_end(&mut Vec::with_capacity(bytes))
    });
    assert_eq!(received.unwrap(), bytes);
    serving.join().unwrap();
}

/// A connection on which nothing waits for ever.
fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// From the first SYN to the last data, in milliseconds.
fn duration(report: &LinkReport) -> f64 {
    report.arrivals[0].last_data.unwrap().as_ms() - report.departures[BedHost::CLIENT.0].unwrap().as_ms()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The packets with data towards the client, in order.
fn data(report: &LinkReport) -> impl Iterator<Item = &LoggedPacket> {
    report.trace.iter().filter(|event| event.packet.to == BedHost::CLIENT && event.packet.payload() > 0)
}

/// What the command `ip` says on a host; nothing where there is none.
fn ip(bed: &Bed, host: BedHost, arguments: &str) -> Option<String> {
    match bed.on(host, || Command::new("ip").args(arguments.split(' ')).output()) {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(_) => {
            leave_out("there is no command 'ip': install iproute2");
            None
        }
    }
}
