//! One host of a run: its program, when that comes to what it wants done, its connections by their numbers here,
//! and what its TCP remembers.

use loadstone_load::{Action, Browser, Origin, Program, Relay};
use loadstone_net::tcp::{self, Metrics};
use loadstone_scenario::{HostRole, Plan, PlannedHost, Way};
use loadstone_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A host of a run.
#[derive(Debug)]
pub(crate) struct SimHost<'a> {
    pub(crate) runs: Runs,
    pub(crate) tcp: &'a tcp::Config,
    pub(crate) ways: &'a [Way],
    /// Its ends of connections, by the numbers that they have here.
    pub(crate) ends: Vec<EndId>,
    /// What it remembers of connections that are over, by the place of the other host.
    pub(crate) metrics: BTreeMap<usize, Metrics>,
    /// How long the program takes to come to what it wants done: a process is woken a moment after the kernel has
    /// done its own part.
    pub(crate) wakeup_latency: Duration,
    /// When it comes to it; [`Time::NEVER`] if there is nothing to do.
    pub(crate) due: Time,
    /// What it wants done and has not come to.
    pub(crate) pending: VecDeque<Action>,
}

/// An end of a connection, in as few bytes as there can be: each packet has it. The ends of all connections are
/// numbered, each client's before its server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndId(u32);

impl EndId {
    /// An end of the connection at this place of the world's list.
    #[inline]
    pub(crate) fn new(connection: usize, side: Side) -> EndId {
        EndId(2 * connection as u32 + side as u32)
    }

    /// The end of this number.
    pub(crate) fn numbered(number: usize) -> EndId {
        EndId(number as u32)
    }

    /// The place of its connection in the world's list.
    #[inline]
    pub(crate) fn connection(self) -> usize {
        self.0 as usize / 2
    }

    /// Which end it is.
    #[inline]
    pub(crate) fn side(self) -> Side {
        if self.0.is_multiple_of(2) { Side::Client } else { Side::Server }
    }

    /// The other end of the connection.
    #[inline]
    pub(crate) fn other(self) -> EndId {
        EndId(self.0 ^ 1)
    }
}

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The one that opened it.
    Client = 0,
    /// The one that accepted it.
    Server = 1,
}

/// The program of a host.
#[derive(Debug)]
pub(crate) enum Runs {
    Browser(Browser),
    Relay(Relay),
    Origin(Origin),
}

impl<'a> SimHost<'a> {
    /// A host whose program has not begun, and what it remembers.
    pub(crate) fn new(plan: &Plan, host: &'a PlannedHost, metrics: BTreeMap<usize, Metrics>) -> SimHost<'a> {
        let runs = match host.role {
            HostRole::Browser { page } => Runs::Browser(plan.browser(page)),
            HostRole::Relay => Runs::Relay(plan.relay()),
            HostRole::Origin { page, host } => Runs::Origin(plan.origin(page, host)),
        };
        SimHost {
            runs,
            tcp: &host.tcp,
            ways: &host.ways,
            ends: Vec::new(),
            metrics,
            wakeup_latency: host.tcp.wakeup_latency(),
            due: Time::NEVER,
            pending: VecDeque::new(),
        }
    }

    #[inline]
    pub(crate) fn program(&mut self) -> &mut dyn Program {
        match &mut self.runs {
            Runs::Browser(browser) => browser,
            Runs::Relay(relay) => relay,
            Runs::Origin(origin) => origin,
        }
    }

    /// Whether it is a browser that has not ended.
    #[inline]
    pub(crate) fn is_loading(&self) -> bool {
        matches!(&self.runs, Runs::Browser(browser) if browser.end().is_none())
    }

    /// When its program wants to be woken, or comes to what it wants done.
    #[inline]
    pub(crate) fn deadline(&mut self) -> Time {
        let due = self.due;
        self.program().poll_timeout().unwrap_or(Time::NEVER).min(due)
    }
}
