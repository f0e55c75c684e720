//! What can go wrong with a bed.

use crate::{BedHost, NoTcpPlus, Refusal};
use loadstone_scenario::MAX_HOSTS;
use std::io;
use std::path::{Path, PathBuf};

/// Why a bed cannot be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BedError {
    /// This process may not make one.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// More hosts than there are addresses for, or fewer than two.
    #[error("a bed has 2 to {MAX_HOSTS} hosts, not {0}: ask for that many")]
    Hosts(usize),
    /// The kernel refuses to set up a host.
    #[error("cannot set up a host of the bed ({step}): {why}")]
    Host {
        /// What was being done.
        step: &'static str,
        /// What the kernel says.
        why: io::Error,
    },
    /// The kernel does not know a congestion control.
    #[error("this kernel has no congestion control '{name}': load it with 'modprobe tcp_{name}'")]
    Congestion {
        /// Whose it was to be.
        host: BedHost,
        /// The kernel's name of it.
        name: String,
    },
    /// The kernel does not let a connection behave like several flows.
    #[error("the kernel cannot let one connection behave like {flows} flows: {why}; or leave 'flows' out")]
    TcpPlus {
        /// How many there were to be.
        flows: u32,
        /// What is in the way.
        why: NoTcpPlus,
    },
    /// CUBIC's beta may not be changed.
    #[error("CUBIC's beta cannot be changed for the whole machine ({0}): run as root, or without that")]
    Beta(io::Error),
    /// Different back-offs are asked for where there is one for all.
    #[error(
        "CUBIC's beta is one for the whole machine: give both ends CUBIC and the same 'flows', or only one of them 'flows'"
    )]
    Betas,
    /// The kernel refuses a setting.
    #[error("the kernel refuses net.ipv4.{name}={value}: {why}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What it was to be.
        value: String,
        /// What the kernel says.
        why: io::Error,
    },
    /// Hosts have no place in what joins them, or there are more places than hosts.
    #[error("the bed has {hosts} hosts, but {given} places for them are given: give one for each")]
    Nodes {
        /// How many hosts there are.
        hosts: usize,
        /// How many places were given.
        given: usize,
    },
    /// The capture file cannot be written.
    #[error("{}: {why}", path.display())]
    Capture {
        /// Where it was to be.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// A run is under way.
    #[error("the bed has a run under way: finish it before beginning another")]
    Busy,
    /// The pump cannot go on.
    #[error("the pump of the bed has failed: {0}; make a new bed")]
    Pump(io::Error),
    /// The pump does not answer.
    #[error("the pump of the bed does not answer: the machine is overloaded; make a new bed")]
    Stuck,
}

impl BedError {
    /// Says at which step of setting up a host the kernel refused.
    pub(crate) fn host(step: &'static str) -> impl FnOnce(io::Error) -> BedError {
        move |why| BedError::refused(&why).unwrap_or(BedError::Host { step, why })
    }

    /// Says that a capture file cannot be written.
    pub(crate) fn capture(path: &Path) -> impl FnOnce(io::Error) -> BedError {
        let path = path.to_owned();
        move |why| BedError::Capture { path, why }
    }

    /// Says which setting the kernel refused.
    pub(crate) fn setting(name: &'static str, value: String, why: io::Error) -> BedError {
        BedError::refused(&why).unwrap_or(BedError::Setting { name, value, why })
    }

    /// Says why no connection can behave like several flows.
    pub(crate) fn tcp_plus(flows: u32, why: NoTcpPlus) -> BedError {
        let of_process = match &why {
            NoTcpPlus::Refused { why, .. } => BedError::refused(why),
            NoTcpPlus::Missing(_) => None,
        };
        of_process.unwrap_or(BedError::TcpPlus { flows, why })
    }

    /// What is wrong with the process, if it is that.
    fn refused(why: &io::Error) -> Option<BedError> {
        Refusal::of_process(why).map(BedError::Refused)
    }
}
