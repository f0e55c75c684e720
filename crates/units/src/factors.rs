//! Small differences that a seed makes to what is not known exactly.

use crate::Seed;
use crate::seed::{fnv_1a, split_mix};
use std::time::Duration;

/// Factors about 1, one for each key. Under one seed a key has the same factor, whoever asks and whenever, so that
/// what varies varies alike in all variants of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Factors {
    base: u64,
    share: f64,
}

impl Factors {
    /// Nothing varies.
    pub const ONE: Factors = Factors { base: 0, share: 0.0 };

    /// The factors of the concern `name` under a seed: uniform from 1 - `share` to 1 + `share`.
    pub fn new(seed: Seed, name: &str, share: f64) -> Factors {
        Factors { base: seed.stream(name).next_u64(), share }
    }

    /// The same factors in another range; nothing varies where nothing did.
    #[must_use]
    pub fn with_share(self, share: f64) -> Factors {
        Factors { share: if self.share == 0.0 { 0.0 } else { share }, ..self }
    }

    /// The key of what has a name.
    pub fn key(name: &str) -> u64 {
        fnv_1a(name)
    }

    /// The factor of a key.
    pub fn of(self, key: u64) -> f64 {
        let mut state = self.base ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let uniform = (split_mix(&mut state) >> 11) as f64 * (2.0 / (1_u64 << 53) as f64) - 1.0;
        1.0 + self.share * uniform
    }

    /// A time multiplied by the factor of a key.
    pub fn scale(self, key: u64, span: Duration) -> Duration {
        if self.share == 0.0 || span.is_zero() { span } else { span.mul_f64(self.of(key)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_fill_their_range_evenly() {
        let factors = Factors::new(Seed(7), "x", 0.1);
        let all: Vec<f64> = (0..10_000).map(|key| factors.of(key)).collect();
        assert!(all.iter().all(|factor| (0.9..1.1).contains(factor)));
        let below = |limit: f64| all.iter().filter(|factor| **factor < limit).count();
        for tenth in 1..10 {
            let share = below(0.9 + 0.02 * f64::from(tenth)) as f64 / 10_000.0;
            assert!((share - f64::from(tenth) / 10.0).abs() < 0.02, "{tenth}: {share}");
        }
    }

    #[test]
    fn seeds_names_and_keys_tell_factors_apart() {
        let of = |seed, name, key| Factors::new(Seed(seed), name, 0.1).of(key);
        assert_eq!(of(1, "x", 2), of(1, "x", 2));
        assert!(of(1, "x", 2) != of(2, "x", 2) && of(1, "x", 2) != of(1, "y", 2) && of(1, "x", 2) != of(1, "x", 3));
    }

    #[test]
    fn another_range_stretches_the_same_draw() {
        let factors = Factors::new(Seed(7), "x", 0.1);
        for key in 0..100 {
            let (near, far) = (factors.of(key) - 1.0, factors.with_share(0.5).of(key) - 1.0);
            assert!((far - 5.0 * near).abs() < 1e-12);
        }
        assert_eq!(Factors::ONE.with_share(0.5), Factors::ONE);
    }

    #[test]
    fn nothing_varies_without_a_share() {
        let span = Duration::from_nanos(1_234_567);
        assert_eq!(Factors::ONE.scale(3, span), span);
        assert_eq!(Factors::new(Seed(1), "x", 0.0).scale(3, span), span);
        assert_ne!(Factors::new(Seed(1), "x", 0.01).scale(3, span), span);
    }
}
