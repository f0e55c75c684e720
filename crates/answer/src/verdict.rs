//! Which variant is best, or that none is: one sentence.

use crate::comparison::{Compared, Comparison};
use crate::gain::Gain;
use crate::words::list;

/// A gain or a loss below this is none that anybody would change a server for.
pub const ALIKE: f64 = 0.01;

impl Comparison {
    /// Says which variant is best, and how sure that is.
    pub(crate) fn verdict(&self) -> String {
        let (Some(fastest), Some(base)) = (self.fastest.map(|at| &self.variants[at]), self.variants.first()) else {
            return "No run was completed: nothing can be compared.".to_owned();
        };
        let name = &fastest.name;
        let names =
            |places: &[usize]| -> Vec<String> { places.iter().map(|at| self.variants[*at].name.clone()).collect() };
        let (equals, rivals) = (names(&self.equals), names(&self.rivals));
        let equals = if equals.is_empty() { String::new() } else { format!("; so is {}", equals.join(" or ")) };
        let Some(effect) = fastest.effect.as_ref() else {
            return match &rivals[..] {
                _ if self.is_alike => self.nothing_matters(base),
                [] => format!("Best: {name}, the baseline{equals}."),
                _ => format!(
                    "No clear winner: {name}, the baseline, has the least median, but is not clearly faster than {}.",
                    rivals.join(" or ")
                ),
            };
        };
        if self.is_alike {
            return self.nothing_matters(base);
        }
        if fastest.gain.is_none() {
            return format!("Best: {name}; the baseline has no completed run to compare with.");
        }
        let against = format!("against {} {effect}", base.name);
        match &rivals[..] {
            [] => format!("Best: {name}, {against}{equals}."),
            _ if self.rivals.contains(&0) => format!("No clear winner: {name} has the least median; {against}."),
            _ => {
                let together: Vec<String> =
                    std::iter::once(name.clone()).chain(names(&self.equals)).chain(rivals).collect();
                format!(
                    "Better than {}: {}, which are not clearly apart; {name} is {effect}.",
                    base.name,
                    list(&together)
                )
            }
        }
    }

    fn nothing_matters(&self, base: &Compared) -> String {
        let percent = 100.0 * ALIKE;
        format!("It hardly matters here: every variant is within {percent} % of {}.", base.name)
    }

    /// Whether every variant is known to be as fast as the baseline but for [`ALIKE`].
    pub(crate) fn all_alike(variants: &[Compared]) -> bool {
        let is_alike = |gain: &Gain| {
            let (low, high) =
                if gain.is_exact { (gain.ratio, gain.ratio) } else { gain.interval.unwrap_or((0.0, f64::INFINITY)) };
            low >= 1.0 - ALIKE && high <= 1.0 + ALIKE
        };
        let completed = |variant: &Compared| variant.completed == variant.runs;
        variants.len() > 1
            && variants.iter().all(completed)
            && variants[1..].iter().all(|variant| variant.gain.as_ref().is_some_and(is_alike))
    }
}
