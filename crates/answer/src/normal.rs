//! The normal distribution.

use std::f64::consts::{PI, SQRT_2};

/// The probability of less than `x`.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// The inverse of [`cdf`], for a probability between 0 and 1.
pub(crate) fn quantile(probability: f64) -> f64 {
    if probability > 0.5 {
        return -quantile(1.0 - probability);
    }
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // Below 0 the distribution is convex, so Newton's steps from 0 come down to the root and not beyond it.
    let mut x = 0.0;
    loop {
        let density = libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI);
        let next = x - (cdf(x) - probability) / density;
        if next >= x {
            return x;
        }
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (probability, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.025, -1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813_5),
            (1e-12, -7.034_483_825_301_132),
        ] {
            let found = quantile(probability);
            assert!((found - expected).abs() < 1e-9, "{probability}: {found}");
            assert!((cdf(found) / probability - 1.0).abs() < 1e-9, "{probability}");
        }
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
    }
}
