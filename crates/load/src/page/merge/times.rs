//! How long computing takes, over several loads, and by how much that differs between them.
//!
//! A node of another load that is certainly the same says how long the same work took there. Of others, like layout that
//! was done three times in one load and four times in another, only the sum says something: such nodes are one unit.

use super::OtherLoad;
use super::nodes::Label;
use crate::page::PageFile;
use std::collections::BTreeMap;

/// The largest deviation, in percent: that of times from none to twice as long, all equally likely.
pub(in crate::page) const MOST_DEVIATION: f64 = 57.0;

/// Nodes of the base whose time is known together.
struct Unit {
    nodes: Vec<usize>,
    /// How long they took in each load that had them, the base first.
    ms: Vec<f64>,
}

/// Gives each node its median, and by how much it deviates by itself. By how much all do together, in percent.
pub(super) fn set(page: &mut PageFile, labels: &[Label], others: &[OtherLoad<'_>]) -> f64 {
    let units = units(page, labels, others);
    let everywhere: Vec<&Unit> = units.iter().filter(|unit| unit.ms.len() == others.len() + 1).collect();
    let common = common_variance(&everywhere);
    let own = |unit: &Unit| Some((unit.mean(), (unit.variance()? - common).max(0.0)));
    let known: Vec<(f64, f64)> = units.iter().filter_map(own).collect();
    let total: f64 = known.iter().map(|(ms, _)| ms).sum();
    // What was in the base alone is as unsure as a moment of computing is on average.
    let usual = known.iter().map(|(ms, own)| ms * own).sum::<f64>() / total.max(f64::MIN_POSITIVE);
    let evened = evened(&everywhere);
    for unit in &units {
        let own = own(unit).map_or(usual, |(_, own)| own);
        unit.apply(page, own, if unit.ms.len() > others.len() { evened } else { 1.0 });
    }
    percent(common)
}

impl Unit {
    fn mean(&self) -> f64 {
        sum(&self.ms) / self.ms.len() as f64
    }

    /// The variance of its time as a share of it. None with one load, or without any time.
    fn variance(&self) -> Option<f64> {
        relative_variance(&self.ms)
    }

    fn apply(&self, page: &mut PageFile, own: f64, evened: f64) {
        let of_base = self.ms[0];
        let factor = median(self.ms.clone()) / of_base * evened;
        // The parts of a sum deviate by themselves, and more than it: they have its variance together.
        let together: f64 = self.nodes.iter().map(|at| (page.compute[*at].ms / of_base).powi(2)).sum();
        for at in &self.nodes {
            let node = &mut page.compute[*at];
            if factor != 1.0 {
                node.ms = (node.ms * factor * 1e3).round() / 1e3;
            }
            node.deviation_percent = if node.ms > 0.0 { percent(own / together) } else { 0.0 };
        }
    }
}

fn units(page: &PageFile, labels: &[Label], others: &[OtherLoad<'_>]) -> Vec<Unit> {
    let is_sure = |at: &usize| others.iter().all(|other| other.nodes.is_sure[*at]);
    let (sure, unsure): (Vec<usize>, Vec<usize>) = (0..page.compute.len()).partition(is_sure);
    let mut pools: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    unsure.into_iter().for_each(|at| pools.entry(&labels[at].pool).or_default().push(at));
    let single = sure.into_iter().map(|at| {
        let theirs = others.iter().filter_map(|other| Some(other.page.compute[other.nodes.of_base[at]?].ms));
        Unit { nodes: vec![at], ms: std::iter::once(page.compute[at].ms).chain(theirs).collect() }
    });
    let pooled = pools.iter().map(|(pool, nodes)| {
        let ours = nodes.iter().map(|at| page.compute[*at].ms).sum();
        // A load without any has done that work elsewhere, or not at all.
        let theirs = others.iter().map(|other| pooled_in(other, pool, &is_sure)).filter(|ms| *ms > 0.0);
        Unit { nodes: nodes.clone(), ms: std::iter::once(ours).chain(theirs).collect() }
    });
    single.chain(pooled).filter(|unit| unit.ms[0] > 0.0).collect()
}

/// How long a load computed for what is in a pool.
fn pooled_in(other: &OtherLoad<'_>, pool: &str, is_sure: &impl Fn(&usize) -> bool) -> f64 {
    let is_in = |at: &usize| other.labels[*at].pool == pool && !other.nodes.of_other[*at].as_ref().is_some_and(is_sure);
    (0..other.page.compute.len()).filter(is_in).map(|at| other.page.compute[at].ms).sum()
}

/// How many times longer all computing together is in the load in the middle than the sum of the medians. In each load
/// something takes long now and then, and in each something else: in no median, but always in the sum.
fn evened(units: &[&Unit]) -> f64 {
    let medians: f64 = units.iter().map(|unit| median(unit.ms.clone())).sum();
    if medians > 0.0 { median(totals(units)) / medians } else { 1.0 }
}

/// How long all units took together in each load.
fn totals(units: &[&Unit]) -> Vec<f64> {
    let loads = units.first().map_or(0, |unit| unit.ms.len());
    (0..loads).map(|load| units.iter().map(|unit| unit.ms[load]).sum()).collect()
}

/// The part of the variance that all units share. If each deviated by itself, the variance of their sum would be the
/// sum of their variances: what it is more is shared.
fn common_variance(units: &[&Unit]) -> f64 {
    let totals = totals(units);
    let Some(variance) = relative_variance(&totals) else { return 0.0 };
    let total = sum(&totals) / totals.len() as f64;
    let share = |unit: &&Unit| (unit.mean() / total).powi(2);
    let single: f64 = units.iter().map(|unit| share(unit) * unit.variance().unwrap_or(0.0)).sum();
    let shares: f64 = units.iter().map(share).sum();
    if shares < 1.0 { ((variance - single) / (1.0 - shares)).max(0.0) } else { 0.0 }
}

fn relative_variance(values: &[f64]) -> Option<f64> {
    let mean = sum(values) / values.len() as f64;
    let squares: Vec<f64> = values.iter().map(|value| (value / mean - 1.0).powi(2)).collect();
    (values.len() > 1 && mean > 0.0).then(|| sum(&squares) / (values.len() - 1) as f64)
}

/// The sum, to the last bit the same in whatever order the loads are.
fn sum(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.iter().sum()
}

/// A variance as a deviation in percent, to a tenth.
fn percent(variance: f64) -> f64 {
    ((variance.sqrt() * 1e3).round() / 10.0).min(MOST_DEVIATION)
}

/// The value in the middle; of two in the middle their mean.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    if low == high { low } else { (low + high) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_the_same_in_any_order() {
        // Added up from left to right they differ in the last bit.
        assert_eq!(sum(&[0.1, 0.2, 0.3]), sum(&[0.3, 0.2, 0.1]));
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![7.0]), 7.0);
    }
}
