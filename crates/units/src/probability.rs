//! The probability of an independent event, such as a packet's loss.

use crate::seed::RandomStream;

/// A number from 0 to 1, both included.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Probability(f64);

impl Probability {
    /// It never happens.
    pub const ZERO: Probability = Probability(0.0);

    /// It always happens.
    pub const CERTAIN: Probability = Probability(1.0);

    /// `None` unless `value` lies between 0 and 1.
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }

    /// The number between 0 and 1.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Whether it happens this time: one draw from `stream`, also when the answer is certain, so
    /// that a sequence of draws does not shift when the probability changes.
    pub fn draw(self, stream: &mut RandomStream) -> bool {
        stream.next_f64() < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn only_numbers_from_zero_to_one_are_probabilities() {
        assert!(Probability::new(1.2).is_none() && Probability::new(-0.1).is_none());
        assert!(Probability::new(f64::NAN).is_none());
        assert_eq!(Probability::new(1.0).map(Probability::value), Some(1.0));
    }

    #[test]
    fn one_percent_happens_one_time_in_a_hundred() {
        let mut stream = Seed(1).stream("test");
        let one_percent = Probability::new(0.01).unwrap();
        let hits = (0..100_000).filter(|_| one_percent.draw(&mut stream)).count();
        // Four standard deviations of the binomial: sqrt(1e5 * 0.01 * 0.99) = 31.5.
        assert!((874..=1126).contains(&hits), "{hits}");
    }
}
