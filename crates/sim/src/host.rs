//! One host of a run: its program, the time at which its queued actions run (wake-up latency), its connections by
//! [`ConnId`](loadstone_load::ConnId), and its TCP metrics cache.

use loadstone_load::{Action, Browser, Origin, Program, Relay};
use loadstone_net::tcp::{self, Metrics};
use loadstone_scenario::{HostRole, Plan, PlannedHost, Way};
use loadstone_units::{RandomStream, Seed, Time};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A host of a run.
#[derive(Debug)]
pub(crate) struct SimHost<'a> {
    pub(crate) hosted: HostedProgram,
    pub(crate) tcp: &'a tcp::Config,
    pub(crate) ways: &'a [Way],
    /// Its ends of connections, by `ConnId`.
    pub(crate) ends: Vec<EndId>,
    /// TCP metrics of closed connections, by the index of the other host.
    pub(crate) metrics: BTreeMap<usize, Metrics>,
    pub(crate) wakeup: Wakeup,
    /// When the pending actions run; [`Time::NEVER`] if there are none.
    pub(crate) actions_due: Time,
    /// Actions that wait for the wake-up latency.
    pub(crate) pending_actions: VecDeque<Action>,
}

/// How long after an event a program's actions run: a process is woken a moment after the kernel has done its own part.
#[derive(Debug)]
pub(crate) struct Wakeup {
    latency: Duration,
    /// Where each latency is drawn from, half to one and a half times as long as stated, if it varies: so that
    /// packets of several hosts do not meet in the same order in all runs.
    draws: Option<RandomStream>,
}

impl Wakeup {
    /// Whether actions run at once.
    #[inline]
    pub(crate) fn is_immediate(&self) -> bool {
        self.latency.is_zero()
    }

    /// How long it takes this time.
    pub(crate) fn next(&mut self) -> Duration {
        self.draws.as_mut().map_or(self.latency, |draws| self.latency.mul_f64(0.5 + draws.next_f64()))
    }
}

/// An end of a connection, in as few bytes as there can be: each packet has it. The ends of all connections are
/// numbered, each client's before its server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndId(u32);

impl EndId {
    /// An end of the connection at this index of the world's list.
    #[inline]
    pub(crate) fn new(connection: usize, side: Side) -> EndId {
        EndId(2 * connection as u32 + side as u32)
    }

    /// The end of this number.
    pub(crate) fn numbered(number: usize) -> EndId {
        EndId(number as u32)
    }

    /// The index of its connection in the world's list.
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
pub(crate) enum HostedProgram {
    Browser(Box<Browser>),
    Relay(Box<Relay>),
    Origin(Box<Origin>),
}

impl<'a> SimHost<'a> {
    /// A host whose program has not started, with its metrics cache.
    pub(crate) fn new(
        plan: &Plan,
        seed: Seed,
        host: &'a PlannedHost,
        metrics: BTreeMap<usize, Metrics>,
    ) -> SimHost<'a> {
        let hosted = match host.role {
            HostRole::Browser { page } | HostRole::EarlierBrowser { page } => {
                HostedProgram::Browser(Box::new(plan.browser_at(page, 0, seed)))
            }
            HostRole::Relay => HostedProgram::Relay(Box::new(plan.relay(host, seed))),
            HostRole::Origin { page, host } => HostedProgram::Origin(Box::new(plan.origin(page, host, seed))),
        };
        let draws = plan.spread().varies_moments().then(|| seed.stream(&format!("{}.wakeup", host.name)));
        SimHost {
            hosted,
            tcp: &host.tcp,
            ways: &host.ways,
            ends: Vec::new(),
            metrics,
            wakeup: Wakeup { latency: host.tcp.wakeup_latency(), draws },
            actions_due: Time::NEVER,
            pending_actions: VecDeque::new(),
        }
    }

    #[inline]
    pub(crate) fn program(&mut self) -> &mut dyn Program {
        match &mut self.hosted {
            HostedProgram::Browser(browser) => browser.as_mut(),
            HostedProgram::Relay(relay) => relay.as_mut(),
            HostedProgram::Origin(origin) => origin.as_mut(),
        }
    }

    /// Whether it is a browser that has not ended.
    #[inline]
    pub(crate) fn is_loading(&self) -> bool {
        matches!(&self.hosted, HostedProgram::Browser(browser) if browser.end().is_none())
    }

    /// When its program is to be woken: at its own deadline, or when its pending actions run.
    #[inline]
    pub(crate) fn deadline(&mut self) -> Time {
        let due = self.actions_due;
        self.program().poll_timeout().unwrap_or(Time::NEVER).min(due)
    }
}
