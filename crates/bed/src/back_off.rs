//! How connections that behave like several flows come to their back-off.

use crate::BedError;
use crate::beta::Beta;
use crate::settings::{BackOff, Tcp};
use crate::tcp_plus::{Base, TcpPlus};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What a bed has changed in the kernel for the sake of back-offs; it is put back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct BackOffs {
    /// By what they are made of, and how many flows they are like.
    own: BTreeMap<(Base, u32), TcpPlus>,
    machine_wide: Option<Beta>,
}

impl BackOffs {
    /// Prepares what the hosts ask for: what the kernel calls the congestion control of each.
    pub(crate) fn prepare(&mut self, hosts: &[Tcp], back_off: BackOff) -> Result<Vec<String>, BedError> {
        // The next process to change it waits until it is back.
        self.machine_wide = None;
        match back_off {
            BackOff::Own => hosts.iter().map(|tcp| self.own(tcp)).collect(),
            BackOff::MachineWide => {
                self.machine_wide = common(hosts)?.map(Beta::of_flows).transpose().map_err(BedError::Beta)?;
                Ok(hosts.iter().map(|tcp| tcp.congestion().to_owned()).collect())
            }
        }
    }

    /// The congestion control of one host, made for it where the kernel has none.
    fn own(&mut self, tcp: &Tcp) -> Result<String, BedError> {
        let Some((base, flows)) = tcp.shared() else { return Ok(tcp.congestion().to_owned()) };
        let made = match self.own.entry((base, flows)) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => {
                place.insert(TcpPlus::register(base, flows).map_err(|why| BedError::tcp_plus(flows, why))?)
            }
        };
        Ok(made.name().to_owned())
    }
}

/// The one number of flows that hosts ask for, if any do.
fn common(hosts: &[Tcp]) -> Result<Option<u32>, BedError> {
    let asked: Vec<_> = hosts.iter().filter_map(Tcp::shared).collect();
    let Some((_, flows)) = asked.first() else { return Ok(None) };
    if asked.iter().all(|other| *other == (Base::Cubic, *flows)) { Ok(Some(*flows)) } else { Err(BedError::Betas) }
}
