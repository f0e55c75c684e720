//! What a variant is worth against its baseline, in words instead of bare p-values.

use crate::gain::{Gain, LEAST_PAIRS};
use crate::ranks::Ranks;
use crate::summary::TimeSummary;
use crate::words::{count, grouped, ms, shown};

/// Says what a variant is worth against its baseline, without a full stop. All are of the same runs; `sides` are the
/// baseline's and the variant's. Without `ranks` nothing is said of single loads.
pub fn effect(gain: Option<&Gain>, sides: Option<(&TimeSummary, &TimeSummary)>, ranks: Option<&Ranks>) -> String {
    let Some((gain, (baseline, variant))) = gain.zip(sides) else {
        return "no load was completed by both, so nothing can be compared".to_owned();
    };
    let times = format!("{:.2} times as fast", gain.ratio);
    let runs = count(baseline.count.min(variant.count), "run");
    if gain.is_exact {
        return if gain.ratio == 1.0 { equal() } else { format!("{times}: {}", saving(baseline, variant)) };
    }
    let Some((low, high)) = gain.interval else {
        return format!("{times} in {runs}, which say nothing of chance: that takes {LEAST_PAIRS}");
    };
    if low == 1.0 && high == 1.0 {
        return equal();
    }
    if !gain.is_clear() {
        return format!("no difference that {runs} could show; {}", at_most(low, high));
    }
    let clear = format!("{times} (95 %: {low:.2} to {high:.2}): {}", saving(baseline, variant));
    ranks.map_or(clear.clone(), |ranks| format!("{clear}; {}", pairs(ranks, gain.ratio > 1.0)))
}

fn equal() -> String {
    "exactly as fast".to_owned()
}

/// Of the medians as they are shown elsewhere, so that they add up.
fn saving(baseline: &TimeSummary, variant: &TimeSummary) -> String {
    let decimals = usize::from(baseline.median.min(variant.median) < 100.0);
    let saved = shown(baseline.median, decimals) - shown(variant.median, decimals);
    if saved >= 0.0 {
        format!("{} of {} saved", ms(saved), ms(baseline.median))
    } else {
        format!("{} more than {}", ms(-saved), ms(baseline.median))
    }
}

/// How large a difference may have gone unseen, rounded up.
fn at_most(low: f64, high: f64) -> String {
    let percent = 100.0 * (high.max(1.0 / low) - 1.0);
    let bound = if percent < 1.0 { format!("{}", (10.0 * percent).ceil() / 10.0) } else { grouped(percent.ceil(), 0) };
    format!("at most {bound} % either way")
}

fn pairs(ranks: &Ranks, is_faster: bool) -> String {
    let (word, number) = if is_faster { ("faster", ranks.faster) } else { ("slower", ranks.slower) };
    if ranks.is_paired {
        return format!("{word} under {} of {}", grouped(number as f64, 0), count(ranks.pairs, "seed"));
    }
    format!("{word} in {:.0} % of pairs of loads", 100.0 * number as f64 / ranks.pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CONFIDENCE, Draws, Pairing};

    fn spread() -> Vec<f64> {
        (0..21).map(|at| 1000.0 + 10.0 * f64::from(at)).collect()
    }

    fn said(baseline: &[f64], variant: &[f64], pairing: &Pairing) -> String {
        let gain = Gain::of(baseline, variant, pairing, &mut Draws::new(1), CONFIDENCE).unwrap().map(|(gain, _)| gain);
        let is_apart = *pairing == Pairing::Apart;
        let ranks = if is_apart { Ranks::of_sides } else { Ranks::of_pairs }(baseline, variant);
        let sides = TimeSummary::of(baseline).zip(TimeSummary::of(variant));
        effect(gain.as_ref(), sides.as_ref().map(|(one, other)| (one, other)), ranks.as_ref())
    }

    fn of_pairs(baseline: &[f64], variant: &[f64]) -> String {
        said(baseline, variant, &Pairing::same_seeds(baseline.len()))
    }

    #[test]
    fn a_clear_difference_is_a_factor_a_saving_and_a_share_of_seeds() {
        let faster: Vec<f64> = spread().iter().map(|ms| ms / 1.25).collect();
        assert_eq!(
            of_pairs(&spread(), &faster),
            "1.25 times as fast (95 %: 1.25 to 1.25): 220 ms of 1,100 ms saved; faster under 21 of 21 seeds"
        );
        assert_eq!(
            of_pairs(&faster, &spread()),
            "0.80 times as fast (95 %: 0.80 to 0.80): 220 ms more than 880 ms; slower under 21 of 21 seeds"
        );
    }

    #[test]
    fn without_seeds_in_common_it_is_a_share_of_pairs_of_loads() {
        let faster: Vec<f64> = spread()[1..].iter().map(|ms| ms / 2.0).collect();
        assert!(said(&spread(), &faster, &Pairing::Apart).ends_with("; faster in 100 % of pairs of loads"));
    }

    #[test]
    fn no_difference_says_what_may_have_gone_unseen() {
        let reversed: Vec<f64> = spread().into_iter().rev().collect();
        let unclear = said(&spread(), &reversed, &Pairing::Apart);
        assert!(unclear.starts_with("no difference that 21 runs could show; at most "), "{unclear}");
        let summary = TimeSummary::of(&spread()).unwrap();
        // 1 / 0.98 is 1.0204: rounded up, since it is a bound.
        for (low, high, bound) in [(0.98, 1.01, "3"), (0.999, 1.0042, "0.5"), (0.04, 1.0, "2,400")] {
            let gain = Gain { ratio: 1.0, interval: Some((low, high)), is_exact: false, saved: None };
            let said = effect(Some(&gain), Some((&summary, &summary)), None);
            assert!(said.ends_with(&format!("; at most {bound} % either way")), "{said}");
        }
    }

    #[test]
    fn what_is_alike_is_exactly_as_fast_and_without_chance_there_is_no_interval() {
        let exact = |baseline: f64, variant: f64| {
            let gain = Gain::exact(&[baseline], &[variant]);
            let sides = TimeSummary::of(&[baseline]).zip(TimeSummary::of(&[variant]));
            effect(gain.as_ref(), sides.as_ref().map(|(one, other)| (one, other)), None)
        };
        assert_eq!(
            (exact(5.0, 5.0).as_str(), of_pairs(&spread(), &spread()).as_str()),
            ("exactly as fast", "exactly as fast")
        );
        assert_eq!(exact(300.0, 200.0), "1.50 times as fast: 100 ms of 300 ms saved");
        assert_eq!(exact(30.25, 20.0), "1.51 times as fast: 10.2 ms of 30.2 ms saved");
    }

    #[test]
    fn few_runs_and_no_runs_claim_nothing() {
        assert_eq!(
            of_pairs(&[300.0; 3], &[200.0; 3]),
            "1.50 times as fast in 3 runs, which say nothing of chance: that takes 6"
        );
        assert_eq!(effect(None, None, None), "no load was completed by both, so nothing can be compared");
    }
}
