//! Why a variant wins: one sentence, computed from the accounts of two median runs.

use crate::comparison::{Compared, Comparison};
use crate::saving::TimeSaving;

impl Comparison {
    /// Says why the fastest is that; `None` where there is nothing to compare or no account.
    pub(crate) fn sentence(&self, is_random: bool) -> Option<String> {
        let best = &self.variants[self.fastest?];
        let opponent = self.opponent(best)?;
        let other = &self.variants[opponent];
        let (fast, slow) = (best.median_ms.zip(best.account)?, other.median_ms.zip(other.account)?);
        if slow.0 < fast.0 {
            return Some(format!(
                "{} is ahead because {} of its runs were completed, against {} of {}.",
                best.name,
                best.completion(),
                other.completion(),
                other.name
            ));
        }
        let saving = TimeSaving::between((slow.0, &slow.1), (fast.0, &fast.1));
        if saving.is_nothing() {
            return Some(format!("{} and {} {}", best.name, other.name, saving.of_equals()));
        }
        let standing = match opponent {
            0 => "",
            _ if other.protocol == best.protocol => ", the next best",
            _ => ", the best of another protocol",
        };
        let (against, total, why) = (format!("{}{standing}", other.name), saving.total(), saving.explanation());
        Some(if is_random && self.rivals.contains(&opponent) {
            format!(
                "In the median runs {} saves {total} against {against}, which chance alone may explain{why}.",
                best.name
            )
        } else {
            format!("{} saves {total} against {against}{why}.", best.name)
        })
    }

    /// With which variant the best is compared: the baseline, the best of another protocol, or the next.
    fn opponent(&self, best: &Compared) -> Option<usize> {
        let is_other = |at: &usize| Some(*at) != self.fastest && self.variants[*at].completed > 0;
        let mut others: Vec<usize> = (0..self.variants.len()).filter(is_other).collect();
        others.sort_by(|one, other| {
            let (one, other) = (&self.variants[*one], &self.variants[*other]);
            let median = |variant: &Compared| variant.median_ms.unwrap_or(0.0);
            other.completed.cmp(&one.completed).then(median(one).total_cmp(&median(other)))
        });
        if others.contains(&0) {
            return Some(0);
        }
        let foreign = others.iter().find(|at| self.variants[**at].protocol != best.protocol);
        foreign.or(others.first()).copied()
    }
}
