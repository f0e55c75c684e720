//! What runs say: variants compared ([`Comparison`]): which is fastest, its gain over the baseline, how sure that is
//! ([`Gain`], [`Resampled`]), how single loads rank ([`Ranks`]), and, by the accounts of two runs, why it wins.
//!
//! Pure: the same figures on any machine. Logarithms and the like are those of `libm`, in Rust, because a platform's
//! own differ in the last bit. docs/statistics.md says why it is computed so, and how often the intervals hold the
//! truth.
//!
//! ```
//! use loadstone_answer::{Draws, Gain, Pairing};
//!
//! let baseline = [110.0, 120.0, 100.0, 130.0, 105.0, 115.0, 125.0];
//! let variant = baseline.map(|ms| ms / 2.0);
//! let mut draws = Draws::new(1);
//! let compared = Gain::of(&baseline, &variant, &Pairing::same_seeds(7), &mut draws, 0.95).unwrap();
//! let (gain, _) = compared.unwrap();
//! assert_eq!((gain.ratio, gain.is_clear()), (2.0, true));
//! ```
//!
//! Elsewhere: what is run (crate `scenario`), how it is shown (Python).

mod bootstrap;
mod comparison;
mod effect;
mod gain;
mod normal;
mod ranks;
mod reason;
mod saving;
mod sessions;
mod student;
mod summary;
mod verdict;
mod words;

pub use bootstrap::{Draws, NotPairs, Pairing, RESAMPLES, Resampled};
pub use comparison::{Compared, Comparison, Contender, TimedRun};
pub use effect::effect;
pub use gain::{CONFIDENCE, Gain, LEAST_PAIRS};
pub use ranks::Ranks;
pub use saving::AccountMs;
pub use sessions::OverPages;
pub use summary::TimeSummary;
pub use verdict::ALIKE;
