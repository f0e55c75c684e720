//! The browser's stub resolver (RFC 1034, section 5.3.1): which names of a page's hosts it knows, and which it asks for.
//!
//! One query is one packet, and so is its answer. A query without an answer is sent again. That a name does not exist is
//! believed after some answers that say so, and not remembered.

use crate::NameQuery;
use crate::page::{Host, HostId, split_authority};
use core::net::IpAddr;
use loadstone_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long it waits for the answer to its first query, as Chromium does (`kDnsDefaultFallbackPeriod`); twice as long
/// for each one after that.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// How many queries without an answer make a name fail.
const QUERIES: usize = 5;

/// What a browser knows of the names of a page's hosts when the load begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// The addresses of all: its cache has them.
    #[default]
    Cached,
    /// Nothing. Before the first connection to a host it asks a name server at the far end of its access link.
    LookedUp,
}

impl Names {
    /// Whether it is what is taken where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == Names::default()
    }
}

/// When the name of a host was looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookUp {
    /// The first query was sent.
    pub asked: Time,
    /// The query was sent that was answered. Others before it were lost; those after it were sent too early.
    pub answered_query: Time,
    /// The answer came.
    pub answered: Time,
}

/// What the resolver knows of the names of a page's hosts.
#[derive(Debug)]
pub(super) struct Resolver {
    /// For each host its name, by its place among the names: hosts with several ports or schemes have one.
    name_of: Vec<usize>,
    names: Vec<NameStage>,
    /// For each name how many answers say that it does not exist until that is believed; 0 if it does exist.
    name_errors: Vec<u8>,
    /// When the next answer will be overdue.
    next: Time,
}

#[derive(Clone, Copy, Debug)]
enum NameStage {
    Unknown,
    /// When each query was sent, as many as have been.
    Asked {
        at: [Time; QUERIES],
        queries: usize,
        /// How many answers have said that the name does not exist.
        errors: u8,
    },
    Known(Option<LookUp>),
    Failed,
}

/// What is to be done for a host before a connection to it is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resolution {
    /// Nothing: its address is known.
    Known,
    /// Send a query.
    Query,
    /// Wait for the answer to one.
    Wait,
    /// Give up: there was no answer.
    Failed,
}

/// What an answer means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answered {
    /// Nothing: it comes late.
    Nothing,
    /// These hosts have an address.
    Address(Vec<HostId>),
    /// The name does not exist; that is asked once more, by the query of this number.
    Again(u16),
    /// The name of these hosts does not exist (RFC 1035, section 4.1.1, Name Error).
    NameError(Vec<HostId>),
}

impl Resolver {
    pub(super) fn new(hosts: &[Host], names: Names) -> Resolver {
        let mut texts: Vec<(&str, Option<&str>, u8)> = Vec::new();
        let name_of = hosts.iter().map(|host| {
            // What one partition knows, another does not.
            let name = (host.dns_name().unwrap_or_default(), host.partition.as_deref(), host.name_error.unwrap_or(0));
            texts.iter().position(|known| *known == name).unwrap_or_else(|| {
                texts.push(name);
                texts.len() - 1
            })
        });
        let name_of = name_of.collect();
        let stage = |(name, _, errors): &(&str, Option<&str>, u8)| match names {
            _ if *errors > 0 => NameStage::Unknown,
            Names::LookedUp if !name.is_empty() => NameStage::Unknown,
            _ => NameStage::Known(None),
        };
        let stages = texts.iter().map(stage).collect();
        let name_errors = texts.iter().map(|(_, _, errors)| *errors).collect();
        Resolver { name_of, names: stages, name_errors, next: Time::NEVER }
    }

    /// What another one knows that it does not; its hosts are the first of this one's.
    pub(super) fn take_over(&mut self, other: Resolver) {
        for (host, of) in other.name_of.iter().zip(0..).map(|(of, host)| (HostId(host), *of)) {
            *self.name(host) = match other.names[of] {
                NameStage::Known(_) => NameStage::Known(None),
                stage => stage,
            };
        }
        self.next = self.earliest();
    }

    fn name(&mut self, host: HostId) -> &mut NameStage {
        &mut self.names[self.name_of[host.0 as usize]]
    }

    /// What is to be done for a host now; a query counts as sent.
    pub(super) fn resolve(&mut self, now: Time, host: HostId) -> Resolution {
        let name = self.name(host);
        match *name {
            NameStage::Unknown => {
                *name = NameStage::Asked { at: [now; QUERIES], queries: 1, errors: 0 };
                self.next = self.earliest();
                Resolution::Query
            }
            NameStage::Asked { .. } => Resolution::Wait,
            NameStage::Known(_) => Resolution::Known,
            NameStage::Failed => Resolution::Failed,
        }
    }

    /// A query is answered.
    pub(super) fn handle_answer(&mut self, now: Time, NameQuery { host, number }: NameQuery) -> Answered {
        let of = self.name_of[host.0 as usize];
        let NameStage::Asked { at, queries, errors } = self.names[of] else { return Answered::Nothing };
        let Some(place) = usize::from(number).checked_sub(first_query(errors)).filter(|place| *place < QUERIES) else {
            return Answered::Nothing;
        };
        let (stage, answered) = match self.name_errors[of] {
            0 => {
                let look_up = LookUp { asked: at[0], answered_query: at[place.min(queries - 1)], answered: now };
                (NameStage::Known(Some(look_up)), Answered::Address(self.hosts_of(of)))
            }
            enough if errors + 1 < enough => {
                let errors = errors + 1;
                let again = Answered::Again(first_query(errors) as u16);
                (NameStage::Asked { at: [now; QUERIES], queries: 1, errors }, again)
            }
            _ => (NameStage::Unknown, Answered::NameError(self.hosts_of(of))),
        };
        self.names[of] = stage;
        self.next = self.earliest();
        answered
    }

    /// Names whose answer is overdue: for each the hosts that have it, and the number of the query that is to be sent;
    /// if there is none it has failed.
    pub(super) fn expire(&mut self, now: Time) -> Vec<(Vec<HostId>, Option<u16>)> {
        let overdue: Vec<usize> = (0..self.names.len()).filter(|at| deadline(&self.names[*at]) <= now).collect();
        let expired = overdue.into_iter().map(|at| (self.hosts_of(at), self.ask_again(now, at))).collect();
        self.next = self.earliest();
        expired
    }

    fn ask_again(&mut self, now: Time, name: usize) -> Option<u16> {
        let NameStage::Asked { at, queries, errors } = &mut self.names[name] else { return None };
        let Some(next) = at.get_mut(*queries) else {
            self.names[name] = NameStage::Failed;
            return None;
        };
        *next = now;
        *queries += 1;
        Some((first_query(*errors) + *queries - 1) as u16)
    }

    fn hosts_of(&self, name: usize) -> Vec<HostId> {
        let hosts = self.name_of.iter().zip(0..).filter(|(of, _)| **of == name);
        hosts.map(|(_, host)| HostId(host)).collect()
    }

    /// When an answer will be overdue; [`Time::NEVER`] if none is waited for.
    pub(super) fn deadline(&self) -> Time {
        self.next
    }

    fn earliest(&self) -> Time {
        self.names.iter().map(deadline).min().unwrap_or(Time::NEVER)
    }

    /// For each host the look-up of its name, if there was one that was answered.
    pub(super) fn look_ups(&self) -> Vec<Option<LookUp>> {
        let of = |name: &usize| match self.names[*name] {
            NameStage::Known(look_up) => look_up,
            _ => None,
        };
        self.name_of.iter().map(of).collect()
    }
}

/// The number of the first query after so many answers.
fn first_query(answers: u8) -> usize {
    usize::from(answers) * QUERIES
}

fn deadline(name: &NameStage) -> Time {
    match name {
        NameStage::Asked { at, queries, .. } => at[queries - 1] + FIRST_WAIT * (1 << (queries - 1)),
        _ => Time::NEVER,
    }
}

impl Host {
    /// The name by which a name server knows it; none if it is an address.
    pub fn dns_name(&self) -> Option<&str> {
        let (name, _) = split_authority(&self.name);
        let is_address = name.starts_with('[') || name.parse::<IpAddr>().is_ok();
        (!is_address).then_some(name)
    }
}
