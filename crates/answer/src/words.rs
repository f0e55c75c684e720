//! Numbers and times as people read them, with a comma between thousands.

/// A time: below 100 ms with a decimal.
pub(crate) fn ms(value: f64) -> String {
    if value >= 100.0 { format!("{} ms", grouped(value, 0)) } else { format!("{value:.1} ms") }
}

/// A number with a comma between thousands.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    let written = format!("{value:.decimals$}");
    let (whole, rest) = written.split_at(written.find('.').unwrap_or(written.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut said = sign.to_owned();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            said.push(',');
        }
        said.push(digit);
    }
    said + rest
}

/// A number of things: `1 run`, `21 runs`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number as f64, 0), if number == 1 { "" } else { "s" })
}

/// A value as it is shown with so many decimals; of two that are as near the even one.
pub(crate) fn shown(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().expect("a number that was written is one")
}

/// `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_decimal_below_a_hundred_and_commas_above_a_thousand() {
        for (value, said) in [(0.0, "0.0 ms"), (99.94, "99.9 ms"), (100.5, "100 ms"), (1_234_567.5, "1,234,568 ms")] {
            assert_eq!(ms(value), said);
        }
        assert_eq!((grouped(-1234.56, 1), grouped(-123.0, 0)), ("-1,234.6".to_owned(), "-123".to_owned()));
        assert_eq!((count(1, "run"), count(1000, "seed")), ("1 run".to_owned(), "1,000 seeds".to_owned()));
        assert_eq!((shown(2.5, 0), shown(3.5, 0), shown(0.25, 1)), (2.0, 4.0, 0.2));
    }
}
