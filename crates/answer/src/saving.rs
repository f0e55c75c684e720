//! What one median run saves against another, part by part, rounded so that it adds up.

use crate::words::{grouped, list, shown};
use loadstone_load::Part;

/// What a run's page load time went into, in ms, in the order of [`Part::ALL`].
pub type AccountMs = [f64; Part::ALL.len()];

/// What the named parts have to explain, unless there are too many of them.
const MOST: f64 = 0.8;
const MOST_NAMED: usize = 3;
/// What speaks against the winner is named from this share of what speaks for it.
const SUBSTANTIAL: f64 = 0.1;
/// Below this, times are shown with a decimal.
const TENTHS_BELOW_MS: f64 = 100.0;

/// What one median run saves against another, in steps of a millisecond or of a tenth.
///
/// Rounded like the medians that are shown, and so that the parts sum to the total as nearly as they can.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TimeSaving {
    is_in_tenths: bool,
    total: i64,
    parts: [i64; Part::ALL.len()],
}

/// A part and its steps.
type Named = (Part, i64);

impl TimeSaving {
    /// Compares two median runs: the times, and what they went into.
    pub(crate) fn between(slow: (f64, &AccountMs), fast: (f64, &AccountMs)) -> TimeSaving {
        let is_in_tenths = slow.0.min(fast.0) < TENTHS_BELOW_MS;
        let scale = if is_in_tenths { 10.0 } else { 1.0 };
        let steps = |ms: f64| (shown(ms, usize::from(is_in_tenths)) * scale).round_ties_even() as i64;
        let total = steps(slow.0) - steps(fast.0);
        let (slow, fast) = (netted(slow.1), netted(fast.1));
        let exact = std::array::from_fn(|at| (slow[at] - fast[at]) * scale);
        TimeSaving { is_in_tenths, total, parts: apportioned(total, &exact) }
    }

    /// Whether nothing is saved, as times are shown.
    pub(crate) fn is_nothing(&self) -> bool {
        self.total == 0
    }

    /// All that is saved, as a time.
    pub(crate) fn total(&self) -> String {
        self.ms(self.total)
    }

    fn ms(&self, steps: i64) -> String {
        let steps = steps as f64;
        if self.is_in_tenths { format!("{} ms", grouped(steps / 10.0, 1)) } else { format!("{} ms", grouped(steps, 0)) }
    }

    fn parts(&self) -> impl Iterator<Item = Named> {
        Part::ALL.into_iter().zip(self.parts).filter(|(_, steps)| *steps != 0)
    }

    /// How two that take equally long differ, after their names.
    pub(crate) fn of_equals(&self) -> String {
        let to_what = if self.is_in_tenths { "a tenth of a millisecond" } else { "the millisecond" };
        let parts =
            if self.parts().next().is_none() { ", part by part".to_owned() } else { format!(": {}", self.explained()) };
        format!("take equally long to {to_what}{parts}.")
    }

    /// What the saving consists of, after it.
    pub(crate) fn explanation(&self) -> String {
        let named: Vec<Named> = self.parts().collect();
        match named[..] {
            [] => ", spread over several parts".to_owned(),
            [(part, steps)] if steps == self.total => format!(", all of it {}", spent(part)),
            _ => format!(": {}", self.explained()),
        }
    }

    /// The parts that explain most of the saving, and what works against it if it is much.
    fn explained(&self) -> String {
        let gains: Vec<Named> = self.parts().filter(|(_, steps)| *steps > 0).collect();
        let losses: Vec<Named> =
            self.parts().filter(|(_, steps)| *steps < 0).map(|(part, steps)| (part, -steps)).collect();
        let is_much = sum(&losses) as f64 >= SUBSTANTIAL * sum(&gains) as f64;
        let gains = largest(gains);
        let losses = if is_much { largest(losses) } else { Vec::new() };
        let rest = self.total - sum(&gains) + sum(&losses);
        let said = |(part, steps): &Named, word: &str| format!("{} {word} {}", self.ms(*steps), spent(*part));
        let mut less: Vec<String> = gains.iter().map(|named| said(named, "less")).collect();
        let mut more: Vec<String> = losses.iter().map(|named| said(named, "more")).collect();
        if rest > 0 {
            less.push(format!("{} less elsewhere", self.ms(rest)));
        } else if rest < 0 {
            more.push(format!("{} more elsewhere", self.ms(-rest)));
        }
        if more.is_empty() { list(&less) } else { format!("{}, against {}", list(&less), list(&more)) }
    }
}

/// An account in which what cannot differ between two variants of a page is one part, [`Part::PageItself`]: under the same
/// seed servers and the page take the same time for each object. If their sums differ, it is because the paths lead
/// through other objects.
fn netted(account: &AccountMs) -> AccountMs {
    let mut netted = *account;
    netted[Part::PageItself as usize] += std::mem::take(&mut netted[Part::Server as usize]);
    netted
}

/// How time is spent in a part: what follows `12 ms less`.
fn spent(part: Part) -> &'static str {
    if part == Part::PageItself { "because another object came last" } else { part.spent() }
}

fn sum(parts: &[Named]) -> i64 {
    parts.iter().map(|(_, steps)| steps).sum()
}

/// The parts that make up most; the last one too if it alone would be left out.
fn largest(mut parts: Vec<Named>) -> Vec<Named> {
    parts.sort_by_key(|(_, steps)| -steps);
    let most = MOST * sum(&parts) as f64;
    let mut named = 0;
    while named < parts.len().min(MOST_NAMED) && (sum(&parts[..named]) as f64) < most {
        named += 1;
    }
    if named + 1 == parts.len() && named < MOST_NAMED {
        named += 1;
    }
    parts.truncate(named);
    parts
}

/// Rounds the parts up or down, those nearest to the next step up, so that they sum to the total.
///
/// Parts of less than half a step are left out; what they and the rounding of the total amount to is left over.
fn apportioned(total: i64, exact: &AccountMs) -> [i64; Part::ALL.len()] {
    let small: f64 = exact.iter().filter(|steps| steps.abs() < 0.5).sum();
    let mut parts = exact.map(|steps| if steps.abs() < 0.5 { 0 } else { steps.floor() as i64 });
    let missing = total - small.round_ties_even() as i64 - parts.iter().sum::<i64>();
    let is_rounded_down = |at: &usize| exact[*at].abs() >= 0.5 && exact[*at] > parts[*at] as f64;
    let mut by_fraction: Vec<usize> = (0..exact.len()).filter(is_rounded_down).collect();
    by_fraction.sort_by(|one, other| {
        let above = |at: &usize| parts[*at] as f64 - exact[*at];
        above(one).total_cmp(&above(other))
    });
    for at in by_fraction.into_iter().take(usize::try_from(missing).unwrap_or(0)) {
        parts[at] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ms;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = AccountMs> {
        prop::array::uniform7(prop_oneof![Just(0.0), 0.0..3.0_f64, 0.0..5000.0_f64, (0..900).prop_map(f64::from)])
    }

    proptest! {
        #[test]
        fn the_numbers_never_contradict_one_another(first in times(), second in times()) {
            let of = |parts: AccountMs| (parts.iter().sum::<f64>(), parts);
            let (mut fast, mut slow) = (of(first), of(second));
            if slow.0 < fast.0 {
                (fast, slow) = (slow, fast);
            }
            let saving = TimeSaving::between((slow.0, &slow.1), (fast.0, &fast.1));
            let scale = if saving.is_in_tenths { 10.0 } else { 1.0 };
            // The total is the difference of the medians as they are shown.
            if !saving.is_in_tenths {
                let shown = |value: f64| ms(value).replace([',', ' ', 'm', 's'], "").parse::<i64>().unwrap();
                prop_assert_eq!(saving.total, shown(slow.0) - shown(fast.0));
            }
            let (slow, fast) = (netted(&slow.1), netted(&fast.1));
            for (at, steps) in saving.parts.into_iter().enumerate().filter(|(_, steps)| *steps != 0) {
                let exact = (slow[at] - fast[at]) * scale;
                prop_assert!((steps as f64 - exact).abs() < 1.001, "{steps} of {exact}");
                prop_assert!(steps as f64 * exact > 0.0);
            }
        }

        /// Of times without thousands: a comma stands between items alone.
        #[test]
        fn what_is_named_sums_to_the_total(slow in prop::array::uniform7(0.0..140.0), share in prop::array::uniform7(0.0..1.2)) {
            let fast: Vec<f64> = slow.iter().zip(share).map(|(ms, share): (&f64, f64)| ms * share).collect();
            let fast: AccountMs = fast.try_into().unwrap();
            let saving = TimeSaving::between((slow.iter().sum(), &slow), (fast.iter().sum(), &fast));
            if saving.parts().next().is_some() {
                let mut sum = 0;
                let said = saving.explained();
                for item in said.replace("against ", "").replace(" and ", ", ").split(", ") {
                    let (number, rest) = item.split_once(" ms ").unwrap();
                    let steps = number.parse::<f64>().unwrap() * if saving.is_in_tenths { 10.0 } else { 1.0 };
                    sum += if rest.starts_with("less") { steps } else { -steps }.round() as i64;
                }
                prop_assert_eq!(sum, saving.total, "{}", said);
            }
        }
    }
}
