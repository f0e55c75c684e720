//! What runs say: medians, gains over a baseline, how sure they are ([`Gain`], [`Resampled`]) and how single loads
//! rank ([`Ranks`]).
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
mod gain;
mod normal;
mod ranks;
mod summary;

pub use bootstrap::{Draws, NotPairs, Pairing, RESAMPLES, Resampled};
pub use gain::{CONFIDENCE, Gain, LEAST_PAIRS};
pub use ranks::Ranks;
pub use summary::TimeSummary;
