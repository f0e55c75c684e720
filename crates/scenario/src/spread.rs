//! What varies with the seed because nobody knows it exactly.
//!
//! A load is one draw even without random loss: whether a queue overflows, a timer fires or a trace delivers turns on a
//! single packet. Figures that hold for one round trip to the microsecond hold for no user.

use loadstone_net::Fabric;
use loadstone_units::{Bounded, Factors, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How much of what is not known exactly varies with the seed; nothing if it is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spread {
    /// Vary the rates of each link and the delay of each direction at random, by up to this many percent. Above 0,
    /// traces also begin at a random point, and programs wake up at random moments.
    pub network: Bounded<0, 50>,
    /// Vary the processing times of servers and the times of the page at random, by up to this many percent.
    /// Computing times of a page that was recorded several times vary as recorded instead, unless this is 0.
    pub times: Bounded<0, 50>,
}

impl Default for Spread {
    /// Nothing varies.
    fn default() -> Spread {
        Spread { network: Bounded::known(0), times: Bounded::known(0) }
    }
}

impl Spread {
    /// Whether nothing varies.
    pub fn is_none(&self) -> bool {
        *self == Spread::default()
    }

    /// The links and delays of one run.
    pub(crate) fn fabric(self, stated: &Arc<Fabric>, seed: Seed) -> Arc<Fabric> {
        match share(self.network) {
            0.0 => stated.clone(),
            share => Arc::new(stated.varied(share, seed)),
        }
    }

    /// What servers' times to think are multiplied by in one run, by the number of the object.
    pub(crate) fn thinking(self, seed: Seed) -> Factors {
        Factors::new(seed, "spread.thinking", share(self.times))
    }

    /// What the page's own times are multiplied by in one run.
    pub(crate) fn own_times(self, seed: Seed) -> Factors {
        Factors::new(seed, "spread.own", share(self.times))
    }

    /// Whether programs wake up at moments of their own.
    pub fn varies_moments(self) -> bool {
        self.network.get() > 0
    }
}

fn share(percent: Bounded<0, 50>) -> f64 {
    f64::from(percent.get()) / 100.0
}
