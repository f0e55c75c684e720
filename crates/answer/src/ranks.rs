//! How the loads of a variant rank among those of its baseline.

use crate::normal;
use std::ops::Range;

/// Of so many loads in all, the distribution of ranks is counted out; of more, the normal one says well enough.
const COUNTED: usize = 50;

/// In how many pairs of loads, one of each side, the variant is faster, and whether chance does that.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranks {
    /// Under the same seeds; or else each load of the one with each of the other.
    pub pairs: usize,
    /// Whether pairs share a seed.
    pub is_paired: bool,
    /// Pairs in which the variant is faster.
    pub faster: usize,
    /// Pairs in which it is slower.
    pub slower: usize,
    /// How often chance would make the sides differ so much or more if they did not: Wilcoxon's signed ranks of ln of
    /// the ratios for pairs, else Mann-Whitney's U. 1 where all pairs are equal.
    pub p_value: f64,
}

impl Ranks {
    /// Compares times in ms under the same seeds: the same place means the same seed. `None` where there are none.
    ///
    /// Equal pairs have ranks, though no sign (Pratt 1959).
    pub fn of_pairs(baseline: &[f64], variant: &[f64]) -> Option<Ranks> {
        let ratios = baseline.iter().zip(variant).map(|(one, other)| libm::log(*one) - libm::log(*other));
        let ratios: Vec<f64> = ratios.collect();
        let (faster, slower) =
            (ratios.iter().filter(|ratio| **ratio > 0.0).count(), ratios.iter().filter(|ratio| **ratio < 0.0).count());
        let p_value = signed_ranks(&ratios, COUNTED);
        (!ratios.is_empty()).then_some(Ranks { pairs: ratios.len(), is_paired: true, faster, slower, p_value })
    }

    /// Compares times in ms under seeds apart; `None` where a side has none.
    pub fn of_sides(baseline: &[f64], variant: &[f64]) -> Option<Ranks> {
        let pairs = baseline.len() * variant.len();
        let count = |is: fn(f64, f64) -> bool| -> usize {
            baseline.iter().map(|one| variant.iter().filter(|other| is(*one, **other)).count()).sum()
        };
        let (faster, slower) = (count(|one, other| one > other), count(|one, other| one < other));
        (pairs > 0).then(|| Ranks {
            pairs,
            is_paired: false,
            faster,
            slower,
            p_value: rank_sums(baseline, variant, COUNTED),
        })
    }

    /// The share of pairs in which the variant is faster, an equal one counting half.
    pub fn share_faster(&self) -> f64 {
        let equal = self.pairs - self.faster - self.slower;
        (self.faster as f64 + equal as f64 / 2.0) / self.pairs as f64
    }
}

/// The p-value of Wilcoxon's signed ranks of these differences, counted out if there are at most `counted`.
fn signed_ranks(differences: &[f64], counted: usize) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let (ranks, ties) = doubled_ranks(&sizes);
    let signed = || ranks.iter().zip(differences).filter(|(_, difference)| **difference != 0.0);
    let positive: usize = signed().filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| *rank).sum();
    let all: usize = signed().map(|(rank, _)| *rank).sum();
    if all == 0 {
        return 1.0;
    }
    if differences.len() <= counted {
        // Each sign is + or - with the same chance: how many of them give each sum.
        let mut ways = vec![0.0; all + 1];
        ways[0] = 1.0;
        for (rank, _) in signed() {
            for sum in (*rank..=all).rev() {
                ways[sum] += ways[sum - rank];
            }
        }
        return two_sided(&ways, positive);
    }
    let (count, zeros) = (differences.len() as f64, differences.iter().filter(|one| **one == 0.0).count());
    let squares = |n: f64| n * (n + 1.0) * (2.0 * n + 1.0);
    let of_ties: f64 = ties.iter().filter(|tie| tie.start >= zeros).map(|tie| cubes(tie.len())).sum();
    let variance = (squares(count) - squares(zeros as f64) - of_ties / 2.0) / 24.0;
    let z = (positive as f64 - all as f64 / 2.0) / 2.0 / libm::sqrt(variance);
    (2.0 * normal::cdf(-z.abs())).min(1.0)
}

/// The p-value of Mann-Whitney's U of two sides, which is that of the sum of the ranks of one of them; counted out
/// if there are at most `counted` values.
fn rank_sums(baseline: &[f64], variant: &[f64], counted: usize) -> f64 {
    let both: Vec<f64> = baseline.iter().chain(variant).copied().collect();
    let (ranks, ties) = doubled_ranks(&both);
    let (first, second, count) = (baseline.len(), variant.len(), both.len());
    let sum: usize = ranks[..first].iter().sum();
    if count <= counted {
        // Any `first` of all ranks may be the baseline's: how many choices give each sum.
        let all: usize = ranks.iter().sum();
        let mut ways = vec![vec![0.0; all + 1]; first + 1];
        ways[0][0] = 1.0;
        for rank in &ranks {
            for chosen in (1..=first).rev() {
                let (fewer, more) = ways.split_at_mut(chosen);
                for (sum, ways) in more[0].iter_mut().enumerate().skip(*rank) {
                    *ways += fewer[chosen - 1][sum - rank];
                }
            }
        }
        return two_sided(&ways[first], sum);
    }
    let (first, second, count) = (first as f64, second as f64, count as f64);
    let of_ties: f64 = ties.iter().map(|tie| cubes(tie.len())).sum();
    let variance = first * second / 12.0 * (count + 1.0 - of_ties / (count * (count - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let away = (sum as f64 / 2.0 - first * (count + 1.0) / 2.0).abs();
    (2.0 * normal::cdf(-((away - 0.5) / libm::sqrt(variance)))).min(1.0)
}

/// How often chance gives `found` or what is further out, of sums that come about in so many ways.
fn two_sided(ways: &[f64], found: usize) -> f64 {
    let all: f64 = ways.iter().sum();
    let (below, above): (f64, f64) = (ways[..=found].iter().sum(), ways[found..].iter().sum());
    (2.0 * below.min(above) / all).min(1.0)
}

fn cubes(count: usize) -> f64 {
    let count = count as f64;
    count * count * count - count
}

/// Twice the rank of each value, from 2 on, equal ones sharing the mean of theirs; and the places in order of those
/// that are equal.
fn doubled_ranks(values: &[f64]) -> (Vec<usize>, Vec<Range<usize>>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let (mut ranks, mut ties, mut from) = (vec![0; values.len()], Vec::new(), 0);
    for group in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let to = from + group.len();
        group.iter().for_each(|at| ranks[*at] = from + 1 + to);
        ties.push(from..to);
        from = to;
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    #[test]
    fn pairs_are_counted_and_their_signs_tested() {
        let ranks = Ranks::of_pairs(&[3.0, 2.0, 5.0, 4.0], &[1.0, 2.0, 6.0, 2.0]).unwrap();
        assert_eq!((ranks.pairs, ranks.faster, ranks.slower, ranks.share_faster()), (4, 2, 1, 0.625));
        // Eight pairs of one sign: of 256 patterns of signs two are as far out.
        let slow: Vec<f64> = (0..8).map(|at| 1000.0 + 10.0 * f64::from(at)).collect();
        let fast: Vec<f64> = slow.iter().map(|ms| ms * 0.9 - libm::sqrt(*ms)).collect();
        assert!(is_near(Ranks::of_pairs(&slow, &fast).unwrap().p_value, 2.0 / 256.0));
        assert_eq!(Ranks::of_pairs(&[], &[]), None);
    }

    #[test]
    fn sides_apart_compare_each_load_with_each() {
        let ranks = Ranks::of_sides(&[3.0, 5.0], &[1.0, 3.0, 4.0]).unwrap();
        // 3 beats 1 and ties with 3; 5 beats all.
        assert_eq!((ranks.pairs, ranks.faster, ranks.slower, ranks.share_faster()), (6, 4, 1, 0.75));
        // Two of five ranks are the highest: one choice of ten, and as many at the other end.
        assert!(is_near(Ranks::of_sides(&[4.0, 5.0], &[1.0, 2.0, 3.0]).unwrap().p_value, 0.2));
        assert_eq!(Ranks::of_sides(&[], &[1.0]), None);
    }

    #[test]
    fn all_equal_is_no_difference() {
        for count in [9, 90] {
            let same = vec![7.0; count];
            for ranks in [Ranks::of_pairs(&same, &same), Ranks::of_sides(&same, &same)] {
                assert_eq!(ranks.map(|ranks| (ranks.p_value, ranks.share_faster())), Some((1.0, 0.5)));
            }
        }
    }

    #[test]
    fn what_is_counted_out_and_the_normal_distribution_meet() {
        let values = |from: f64| (0..25).map(|at| from + f64::from(at * 37 % 25)).collect::<Vec<f64>>();
        let is_near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.05;
        // Further out the normal distribution says too much: 0.0011 for 0.0008.
        for shift in [1.5, 3.0, 4.0] {
            // Some are equal, and with a shift of 3 or 4 some differences are 0.
            let (one, other) = (values(100.0), values(100.0 + shift));
            let apart = |counted| rank_sums(&one, &other, counted);
            assert!(is_near(apart(50), apart(0)), "{shift}: {} {}", apart(50), apart(0));
            let differences: Vec<f64> = (0..50).map(|at| f64::from(at * 37 % 50 - 25) + shift).collect();
            let pairs = |counted| signed_ranks(&differences, counted);
            assert!(is_near(pairs(50), pairs(0)), "{shift}: {} {}", pairs(50), pairs(0));
        }
    }
}
