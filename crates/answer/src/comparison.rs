//! Variants of one load compared: which is fastest, how sure that is, and why.

use crate::bootstrap::{Draws, NotPairs, Pairing};
use crate::effect::effect;
use crate::gain::Gain;
use crate::ranks::Ranks;
use crate::saving::AccountMs;
use crate::summary::{TimeSummary, median};
use loadstone_load::Part;

/// A run as it is compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimedRun {
    /// Its seed.
    pub seed: u64,
    /// Page load time in ms; `None` if it was not completed.
    pub plt_ms: Option<f64>,
    /// What that went into.
    pub account: Option<AccountMs>,
}

/// A variant with its runs, in order of seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// What it speaks: a winner is explained against the best of another protocol where it can.
    pub protocol: String,
    /// Its runs: the same place means the same seed.
    pub runs: Vec<TimedRun>,
}

/// Variants of one load, compared. The first is the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Each of them, as they came.
    pub variants: Vec<Compared>,
    /// The one with the least median of those with the most completed runs, of equals the first; `None` if nothing was
    /// completed.
    pub fastest: Option<usize>,
    /// The variants whose runs took exactly as long as the fastest's.
    pub equals: Vec<usize>,
    /// The others that the fastest is not clearly faster than.
    pub rivals: Vec<usize>,
    /// Whether every variant is known to be as fast as the baseline but for 1 %.
    pub is_alike: bool,
    /// The fastest, if it is clearly faster than every other but its equals, and not alike with all of them.
    pub best: Option<usize>,
    /// Which is best and how sure that is, in words.
    pub verdict: String,
    /// Why the fastest is that, in words; `None` where there is nothing to compare or no account.
    pub reason: Option<String>,
}

/// A variant, compared with the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// What it speaks.
    pub protocol: String,
    /// How many runs there are.
    pub runs: usize,
    /// How many of them were completed.
    pub completed: usize,
    /// The median of the completed runs in ms.
    pub median_ms: Option<f64>,
    /// Which run is the median one, of two the faster.
    pub middle: Option<usize>,
    /// What the median run's time went into; of two around the median the mean. It sums to the median.
    pub account: Option<AccountMs>,
    /// How much faster it is than the baseline; `None` of the baseline.
    pub gain: Option<Gain>,
    /// How its loads rank among the baseline's, where chance has a part.
    pub ranks: Option<Ranks>,
    /// What it is worth against the baseline, in words; `None` of the baseline.
    pub effect: Option<String>,
}

impl Compared {
    /// A variant by itself.
    fn alone(contender: &Contender) -> Compared {
        let mut completed: Vec<(f64, u64, usize)> = Vec::new();
        for (at, run) in contender.runs.iter().enumerate() {
            completed.extend(run.plt_ms.map(|ms| (ms, run.seed, at)));
        }
        completed.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let count = completed.len();
        let middle = &completed[count.saturating_sub(1) / 2..(count / 2 + 1).min(count)];
        let accounts: Vec<AccountMs> = middle.iter().filter_map(|(.., at)| contender.runs[*at].account).collect();
        Compared {
            name: contender.name.clone(),
            protocol: contender.protocol.clone(),
            runs: contender.runs.len(),
            completed: count,
            median_ms: median(&completed.iter().map(|(ms, ..)| *ms).collect::<Vec<_>>()),
            middle: middle.first().map(|(.., at)| *at),
            account: mean(&accounts),
            gain: None,
            ranks: None,
            effect: None,
        }
    }

    /// How many of its runs were completed, in words.
    pub(crate) fn completion(&self) -> String {
        format!("{} of {}", self.completed, self.runs)
    }
}

fn mean(accounts: &[AccountMs]) -> Option<AccountMs> {
    let mut sums = *accounts.first()?;
    for account in &accounts[1..] {
        for at in 0..Part::ALL.len() {
            sums[at] += account[at];
        }
    }
    Some(sums.map(|sum| sum / accounts.len() as f64))
}

/// The times of loads that both completed, and which places among the seeds they have.
struct Pairs {
    firsts: Vec<f64>,
    seconds: Vec<f64>,
    pairing: Pairing,
}

impl Pairs {
    fn of(first: &Contender, second: &Contender) -> Result<Pairs, NotPairs> {
        if first.runs.len() != second.runs.len() {
            return Err(NotPairs { baseline: first.runs.len(), variant: second.runs.len() });
        }
        let both = first.runs.iter().zip(&second.runs).enumerate();
        let both: Vec<_> = both.filter_map(|(at, (one, other))| Some((at, one.plt_ms?, other.plt_ms?))).collect();
        Ok(Pairs {
            firsts: both.iter().map(|(_, first, _)| *first).collect(),
            seconds: both.iter().map(|(.., second)| *second).collect(),
            pairing: Pairing::SameSeeds(both.iter().map(|(at, ..)| *at).collect()),
        })
    }

    fn gain(&self, draws: Option<&mut Draws>, confidence: f64) -> Result<Option<Gain>, NotPairs> {
        let Some(draws) = draws else { return Ok(Gain::exact(&self.firsts, &self.seconds)) };
        Ok(Gain::of(&self.firsts, &self.seconds, &self.pairing, draws, confidence)?.map(|(gain, _)| gain))
    }
}

impl Comparison {
    /// Compares variants, the first of which is the baseline. `draws` are those of the intervals; `None` where chance
    /// has no part.
    ///
    /// # Errors
    /// If one has more runs than another.
    pub fn of(
        contenders: &[Contender],
        mut draws: Option<&mut Draws>,
        confidence: f64,
    ) -> Result<Comparison, NotPairs> {
        let is_random = draws.is_some();
        let mut variants: Vec<Compared> = contenders.iter().map(Compared::alone).collect();
        for (variant, contender) in variants.iter_mut().zip(contenders).skip(1) {
            let pairs = Pairs::of(&contenders[0], contender)?;
            variant.gain = pairs.gain(draws.as_deref_mut(), confidence)?;
            variant.ranks = is_random.then(|| Ranks::of_pairs(&pairs.firsts, &pairs.seconds)).flatten();
            let sides = TimeSummary::of(&pairs.firsts).zip(TimeSummary::of(&pairs.seconds));
            let sides = sides.as_ref().map(|(baseline, variant)| (baseline, variant));
            variant.effect = Some(effect(variant.gain.as_ref(), sides, variant.ranks.as_ref()));
        }
        let fastest = fastest(&variants);
        let (mut equals, mut rivals) = (Vec::new(), Vec::new());
        for (at, contender) in contenders.iter().enumerate() {
            if let Some(fastest) = fastest.filter(|fastest| *fastest != at) {
                let times = |contender: &Contender| contender.runs.iter().map(|run| run.plt_ms).collect::<Vec<_>>();
                if times(contender) == times(&contenders[fastest]) {
                    equals.push(at);
                    continue;
                }
                let gain = Pairs::of(contender, &contenders[fastest])?.gain(draws.as_deref_mut(), confidence)?;
                rivals.extend(gain.is_some_and(|gain| !gain.is_clear()).then_some(at));
            }
        }
        let is_alike = Comparison::all_alike(&variants);
        let best = fastest.filter(|_| rivals.is_empty() && !is_alike);
        let (verdict, reason) = (String::new(), None);
        let mut comparison = Comparison { variants, fastest, equals, rivals, is_alike, best, verdict, reason };
        comparison.verdict = comparison.verdict();
        comparison.reason = comparison.sentence(is_random);
        Ok(comparison)
    }
}

fn fastest(variants: &[Compared]) -> Option<usize> {
    let finished = variants.iter().map(|variant| variant.completed).max()?;
    let able = variants.iter().enumerate().filter(|(_, variant)| variant.completed == finished && finished > 0);
    let median = |variant: &Compared| variant.median_ms.unwrap_or(0.0);
    able.min_by(|(_, one), (_, other)| median(one).total_cmp(&median(other))).map(|(at, _)| at)
}

#[cfg(test)]
mod tests;
