//! A bed: network namespaces in which the kernel's own TCP talks through the same links as in
//! the simulator. Linux only.
//!
//! Any number of hosts have a namespace each, with a TUN device. A thread, the *pump*, takes what the kernel
//! sends there, passes it along a [`Path`] of links, and puts it into the other namespace when it is due. Nothing of it
//! has a name outside of the process, so nothing is left when the process ends, however it ends.
//!
//! [`run`] carries out a scenario there, with the programs and sessions of the simulator on real sockets.
//! [`Replayer`] does without a bed, against servers that are there already.
//! [`SingleHost`] is a single such host, whose packets are in the caller's hands.
//!
//! Read first: [`run`], [`Bed`], [`LinkReport`]. [`access`] says whether a bed can be made
//! here, and if not what to do.
//!
//! ```no_run
//! use loadstone_bed::{Bed, BedHost, Settings, star};
//! use loadstone_units::Seed;
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//!
//! let (client, server) = (BedHost::CLIENT, BedHost::server(0));
//! let bed = Bed::new(2)?;
//! bed.configure(&Settings::default())?;
//! let to = (bed.address(server), 80);
//! let listener = bed.on(server, move || TcpListener::bind(to)).unwrap();
//! let serving = bed.spawn(server, move || listener.accept()?.0.write_all(&[0; 100_000]));
//!
//! let (fabric, nodes) = star(&"10/1mbit,100ms".parse().unwrap(), &[std::time::Duration::ZERO]);
//! let run = bed.begin(&fabric, &nodes, Seed(1))?;
//! bed.on(client, move || TcpStream::connect(to)?.read_to_end(&mut Vec::new())).unwrap();
//! serving.join().unwrap();
//! println!("{:?}", run.finish()?.arrivals[client.0].last_data);
//! # Ok::<(), loadstone_bed::BedError>(())
//! ```
//!
//! Elsewhere: every rule of a link, and of the way over several (crate `net`), browsers and servers on sockets
//! (crate `live`). **Invariant:** what a packet meets on its way is decided by the [`Path`] and never by the clock;
//! `unsafe` stands in `kernel` alone.
//!
//! [`Path`]: loadstone_net::Path

#![allow(clippy::disallowed_methods, reason = "a driver: it reads the clock")]

mod access;
pub mod packet;

pub use access::{Refusal, access, enter};

#[cfg(target_os = "linux")]
mod back_off;
#[cfg(target_os = "linux")]
mod bed;
#[cfg(target_os = "linux")]
mod beta;
#[cfg(target_os = "linux")]
mod btf;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod command_bed;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod flow;
#[cfg(target_os = "linux")]
mod flows;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod initial_flight;
#[cfg(target_os = "linux")]
mod journey;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod name_server;
#[cfg(target_os = "linux")]
mod named_hosts;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod parcel;
#[cfg(target_os = "linux")]
mod pause_detector;
#[cfg(target_os = "linux")]
mod ping;
#[cfg(target_os = "linux")]
mod pump;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod single_host;
#[cfg(target_os = "linux")]
mod star;
#[cfg(target_os = "linux")]
mod tap;
#[cfg(target_os = "linux")]
mod tcp_plus;
#[cfg(target_os = "linux")]
mod tunnel;
#[cfg(target_os = "linux")]
mod window_probe;

#[cfg(target_os = "linux")]
pub use self::{
    bed::{Bed, HostTask, Run},
    command::{CommandError, CommandSession, HostCommand, RunningCommand},
    command_bed::{Announcements, BedServers, CommandBed, CommandBedError, CommandBedReport},
    error::BedError,
    host::BedHost,
    initial_flight::{FlightEnd, FlightProbe, InitialFlight, NoFlight},
    lateness::Lateness,
    named_hosts::NamedHost,
    parcel::PacketHead,
    ping::EchoReplies,
    replay::{Answers, PlacedServer, Replay, ReplayError, ReplaySettings, Replayer, Unlike},
    report::{Arrivals, ConnectionKey, ConnectionReport, LinkReport, LinkStats, LoggedPacket, Scheduling, SentCounts},
    run::{RunError, Unsupported, run, run_all, run_captured},
    settings::{AfterIdle, BackOff, Settings, Tcp, Without},
    single_host::SingleHost,
    star::star,
    tcp_plus::NoTcpPlus,
    window_probe::WindowProber,
};
#[cfg(target_os = "linux")]
pub use loadstone_live::{Stop, Stopper};
