//! When one more connection to a server is worth its cost: a pool grows with what that saves.
//!
//! Connections that are opened for each request that finds none free share the same path, each begins with a small window, and
//! together they fill queues (`yahoo` 4.3, against thirty connections of a browser). So a request waits for one of those that there
//! are, if one is likely to be free sooner than a new one would be of as much use.

use loadstone_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How many times as long as opening it takes until a new connection is of as much use as one that is free: its first response comes
/// through a small window (slow start). Of 1 to 5 times, 2 and 3 were the best in studies/edge/pool_growth.py.
const USEFUL_AFTER: u32 = 2;
/// The share of a new measurement in what is remembered (RFC 6298, section 2).
const SHARE: u32 = 8;

/// When a pool opens one more connection of HTTP/1.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolGrowth {
    /// At once for each request that finds none free.
    #[default]
    AtOnce,
    /// When it is likely to be of use before another one is free, or a request has waited for as long as that takes.
    AsItSaves,
}

/// How long things have taken lately on the connections to a server.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PoolPace {
    /// To open one.
    opening: Option<Duration>,
    /// To be done with one request.
    turn: Option<Duration>,
}

impl PoolPace {
    /// A connection was open after so long.
    pub(super) fn note_opening(&mut self, took: Duration) {
        note(&mut self.opening, took);
    }

    /// A request has had a connection for so long.
    pub(super) fn note_turn(&mut self, took: Duration) {
        note(&mut self.turn, took);
    }

    /// How long it takes until a new connection is of use, if that is known.
    pub(super) fn cost(&self) -> Option<Duration> {
        self.opening.map(|opening| opening * USEFUL_AFTER)
    }

    /// Whether a new connection is likely to be of use before one of those that there are is free for who waits behind so many
    /// others. Some of these have been `taken` since then, others have been `opening`, each for a request.
    pub(super) fn is_saved_by_one_more(
        &self,
        now: Time,
        taken: impl Iterator<Item = Time>,
        opening: impl Iterator<Item = Time>,
        waiting: usize,
    ) -> bool {
        let (Some(to_open), Some(cost), Some(turn)) = (self.opening, self.cost(), self.turn) else { return true };
        let of_use = now + cost;
        // Of one that takes longer than usual nothing is known but that.
        let free = taken.map(|since| if since + turn < now { now + turn } else { since + turn });
        let free = free.chain(opening.map(|since| (since + to_open).max(now) + turn));
        let mut turns = 0;
        for free in free {
            // By then it may have been free for several, one after the other.
            if free <= of_use {
                turns += 1 + (of_use.nanos_since(free) / (turn.as_nanos() as u64).max(1)) as usize;
            }
            if turns > waiting {
                return false;
            }
        }
        true
    }
}

fn note(mean: &mut Option<Duration>, took: Duration) {
    *mean = Some(mean.map_or(took, |mean| (mean * (SHARE - 1) + took) / SHARE));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn one_more_is_worth_it_if_it_is_of_use_before_another_one_is_free() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut pace = PoolPace::default();
        pace.note_opening(100 * MS);
        let worth = |pace: &PoolPace, taken: &[u64], opening: &[u64], waiting| {
            let [taken, opening] = [taken, opening].map(|since| since.iter().map(|since| at(*since)));
            pace.is_saved_by_one_more(at(1000), taken, opening, waiting)
        };
        assert!(worth(&pace, &[1000; 5], &[], 0), "nothing is known of turns");
        pace.note_turn(60 * MS);
        assert!(worth(&pace, &[], &[], 0), "there is none");
        // Of use at 1200. A turn that has just begun is over at 1060, the next ones at 1120, 1180, 1240.
        assert_eq!([2, 3].map(|waiting| worth(&pace, &[1000], &[], waiting)), [false, true]);
        assert_eq!([8, 9].map(|waiting| worth(&pace, &[1000; 3], &[], waiting)), [false, true]);
        // One that has lasted 50 ms leaves time for a fourth one.
        assert_eq!([3, 4].map(|waiting| worth(&pace, &[950], &[], waiting)), [false, true]);
        let later = worth(&pace, &[900], &[], 2);
        assert!(!later && worth(&pace, &[900], &[], 3), "one that lasts longer is taken to be over at 1060");
        // One that is being opened has a request of its own: it is free at 1160, or at 1010 + 60.
        assert_eq!([0, 1].map(|waiting| worth(&pace, &[], &[1000], waiting)), [false, true]);
        assert_eq!([2, 3].map(|waiting| worth(&pace, &[], &[910], waiting)), [false, true]);
    }

    #[test]
    fn what_was_measured_last_counts_an_eighth() {
        let mut pace = PoolPace::default();
        [80, 160].into_iter().for_each(|ms| pace.note_opening(ms * MS));
        assert_eq!(pace.cost(), Some(180 * MS));
    }
}
