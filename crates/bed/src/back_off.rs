//! How connections that behave like several flows come to their back-off.

use crate::BedError;
use crate::beta::Beta;
use crate::settings::{BackOff, Settings, Tcp};
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

/// What the kernel calls the congestion controls of both ends.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) client: String,
    pub(crate) server: String,
}

impl BackOffs {
    /// Prepares what the settings ask for.
    pub(crate) fn prepare(&mut self, settings: &Settings) -> Result<Names, BedError> {
        let Settings { client, server, .. } = settings;
        // Whoever changes it next waits until it is back.
        self.machine_wide = None;
        match settings.back_off {
            BackOff::Own => Ok(Names { client: self.own(client)?, server: self.own(server)? }),
            BackOff::MachineWide => {
                self.machine_wide = common(client, server)?.map(Beta::of_flows).transpose().map_err(BedError::Beta)?;
                Ok(Names { client: client.congestion().to_owned(), server: server.congestion().to_owned() })
            }
        }
    }

    /// The congestion control of one end, made for it where the kernel has none.
    pub(crate) fn own(&mut self, tcp: &Tcp) -> Result<String, BedError> {
        let Some((base, flows)) = tcp.shared() else { return Ok(tcp.congestion().to_owned()) };
        let made = match self.own.entry((base, flows)) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => {
                place.insert(TcpPlus::register(base, flows).map_err(|why| BedError::TcpPlus { flows, why })?)
            }
        };
        Ok(made.name().to_owned())
    }
}

/// The one number of flows that both ends ask for, or one of them.
fn common(client: &Tcp, server: &Tcp) -> Result<Option<u32>, BedError> {
    let asked: Vec<_> = [client.shared(), server.shared()].into_iter().flatten().collect();
    let Some((_, flows)) = asked.first() else { return Ok(None) };
    if asked.iter().all(|other| *other == (Base::Cubic, *flows)) { Ok(Some(*flows)) } else { Err(BedError::Betas) }
}
