//! Student's t distribution, for means of few values.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Halvings of an angle after which a double does not change any more.
const HALVINGS: usize = 60;

/// The value beyond which, on either side of 0, a variable of so many degrees of freedom lies with the probability
/// 1 - `confidence` in all.
pub(crate) fn critical(confidence: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if within(middle, degrees) < confidence { low = middle } else { high = middle }
    }
    libm::sqrt(degrees as f64) * libm::tan(low)
}

/// The probability that the variable's size is below √`degrees` · tan(`angle`): Abramowitz and Stegun, 26.7.3 and
/// 26.7.4.
fn within(angle: f64, degrees: usize) -> f64 {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let is_odd = !degrees.is_multiple_of(2);
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    for place in 1..=degrees / 2 {
        sum += term;
        let two = 2.0 * place as f64;
        term *= cosine * cosine * if is_odd { two / (two + 1.0) } else { (two - 1.0) / two };
    }
    if is_odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (degrees, expected) in
            [(1, 12.706_205), (2, 4.302_653), (3, 3.182_446), (6, 2.446_912), (29, 2.045_230), (1000, 1.962_339)]
        {
            assert!((critical(0.95, degrees) - expected).abs() < 1e-5, "{degrees}: {}", critical(0.95, degrees));
        }
        assert!((critical(0.99, 4) - 4.604_095).abs() < 1e-5);
    }
}
