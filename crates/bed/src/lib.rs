//! A bed: network namespaces in which the kernel's own TCP talks through the same [`Link`]s as in
//! the simulator. Linux only.
//!
//! One client and any number of servers have a namespace each, with a TUN device. A thread, the
//! *pump*, takes what the kernel sends there, passes it through the links, and puts it into the
//! other namespace when it is due. Nothing of it has a name outside of the process, so nothing is
//! left when the process ends, however it ends.
//!
//! [`run`] carries out a scenario there, with the programs and sessions of the simulator on real sockets.
//! [`Lone`] is a single such host, whose packets are in the caller's hands.
//!
//! Read first: [`run`], [`Bed`], [`LinkReport`]. [`access`] says whether a bed can be made
//! here, and if not what to do.
//!
//! ```no_run
//! use loadstone_bed::{Bed, Host, Settings};
//! use loadstone_units::Seed;
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//!
//! let bed = Bed::new(1)?;
//! bed.configure(&Settings::default())?;
//! let server = (bed.address(0), 80);
//! let listener = bed.on(Host::Server(0), move || TcpListener::bind(server)).unwrap();
//! let serving = bed.spawn(Host::Server(0), move || listener.accept()?.0.write_all(&[0; 100_000]));
//!
//! let run = bed.begin(&"10/1mbit,100ms".parse().unwrap(), &[std::time::Duration::ZERO], Seed(1))?;
//! bed.on(Host::Client, move || TcpStream::connect(server)?.read_to_end(&mut Vec::new())).unwrap();
//! serving.join().unwrap();
//! println!("{:?}", run.finish()?.down.last_data);
//! # Ok::<(), loadstone_bed::BedError>(())
//! ```
//!
//! Elsewhere: every rule of a link (crate `net`), browsers and servers on sockets (crate `live`).
//! **Invariant:** the course that a packet takes decides nothing by the clock; `unsafe` stands in
//! `kernel` alone.
//!
//! [`Link`]: loadstone_net::Link

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
mod course;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod flow;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod lone;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod pump;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod tcp_plus;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub use self::{
    bed::{Bed, Run, Task},
    error::BedError,
    host::Host,
    lateness::Lateness,
    lone::Lone,
    report::{Cause, Connection, ConnectionReport, Event, Fate, LinkReport, Lost, Passage, Priority, Resent},
    run::{RunError, run, run_captured},
    settings::{AfterIdle, BackOff, Settings, Tcp},
    tcp_plus::NoTcpPlus,
};
#[cfg(target_os = "linux")]
pub use loadstone_live::{Stop, Stopper};
