//! Which packets a link loses at random.

use loadstone_units::{Probability, RandomStream};

/// How a direction of a link loses packets at random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    /// Each packet by itself.
    Independent(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// A link that is good or bad, and changes from packet to packet (Gilbert 1960, Elliott 1963), as `tc netem loss
/// gemodel` does it: a packet is lost by the state that it meets, which then may change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GilbertElliott {
    /// The probability to become bad: netem's p.
    pub p: Probability,
    /// The probability to become good: netem's r.
    pub r: Probability,
    /// The probability of loss while it is bad: netem's 1-h.
    pub bad: Probability,
    /// The probability of loss while it is good: netem's 1-k.
    pub good: Probability,
}

impl Loss {
    /// Nothing is lost.
    pub const NONE: Loss = Loss::Independent(Probability::ZERO);

    /// Whether anything is ever lost.
    pub fn is_none(&self) -> bool {
        match self {
            Loss::Independent(loss) => *loss == Probability::ZERO,
            Loss::GilbertElliott(GilbertElliott { p, bad, good, .. }) => {
                *good == Probability::ZERO && (*p == Probability::ZERO || *bad == Probability::ZERO)
            }
        }
    }

    /// The share of packets that are lost in the long run.
    pub fn mean(&self) -> f64 {
        match self {
            Loss::Independent(loss) => loss.value(),
            Loss::GilbertElliott(GilbertElliott { p, r, bad, good }) => {
                let (p, r) = (p.value(), r.value());
                let share = if p + r > 0.0 { p / (p + r) } else { 0.0 };
                share * bad.value() + (1.0 - share) * good.value()
            }
        }
    }
}

/// Loss as it goes on.
#[derive(Debug)]
pub(crate) struct LossProcess {
    loss: Loss,
    is_bad: bool,
    draws: RandomStream,
}

impl LossProcess {
    /// It begins good.
    pub(crate) fn new(loss: Loss, draws: RandomStream) -> LossProcess {
        LossProcess { loss, is_bad: false, draws }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(crate) fn takes(&mut self) -> bool {
        match self.loss {
            Loss::Independent(loss) => loss > Probability::ZERO && loss.draw(&mut self.draws),
            Loss::GilbertElliott(model) => self.takes_in_state(model),
        }
    }

    fn takes_in_state(&mut self, model: GilbertElliott) -> bool {
        let (lost, changes) = if self.is_bad { (model.bad, model.r) } else { (model.good, model.p) };
        self.is_bad ^= changes.draw(&mut self.draws);
        lost.draw(&mut self.draws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_units::Seed;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn bursts_are_as_long_and_as_frequent_as_the_model_says() {
        let model = GilbertElliott {
            p: probability(0.01),
            r: probability(0.25),
            bad: probability(1.0),
            good: Probability::ZERO,
        };
        let loss = Loss::GilbertElliott(model);
        let mut process = LossProcess::new(loss, Seed(1).stream("loss"));
        let lost: Vec<bool> = (0..1_000_000).map(|_| process.takes()).collect();
        let total = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // p / (p + r) of all packets, 1 / r at a time; 1 % is more than three standard deviations of both.
        assert!((total / 1e6 / loss.mean() - 1.0).abs() < 0.03, "{total}");
        assert!((total / bursts * 0.25 - 1.0).abs() < 0.03, "{bursts}");
    }

    #[test]
    fn each_state_loses_by_its_own_probability() {
        let always_bad = GilbertElliott {
            p: probability(1.0),
            r: Probability::ZERO,
            bad: probability(0.3),
            good: Probability::ZERO,
        };
        let mut process = LossProcess::new(Loss::GilbertElliott(always_bad), Seed(2).stream("loss"));
        assert!(!process.takes(), "the first packet meets a good link");
        let lost = (0..100_000).filter(|_| process.takes()).count() as f64;
        assert!((lost / 3e4 - 1.0).abs() < 0.03, "{lost}");
    }

    #[test]
    fn what_never_loses_is_none() {
        let model = |p, bad, good| {
            let [p, bad, good] = [p, bad, good].map(probability);
            Loss::GilbertElliott(GilbertElliott { p, r: probability(0.5), bad, good })
        };
        assert!(Loss::NONE.is_none() && model(0.0, 1.0, 0.0).is_none() && model(0.5, 0.0, 0.0).is_none());
        assert!(!model(0.1, 1.0, 0.0).is_none() && !model(0.0, 1.0, 0.1).is_none());
    }
}
