//! How alike two queries are: what they share.

/// The pairs of a query in order, with those that occur several times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct QueryPairs(Vec<Vec<u8>>);

/// Which share of their pairs two queries have in common: 2 M / T, for M equal pairs of T in both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    common: u64,
    all: u64,
}

impl QueryPairs {
    /// The pairs of a request target; none without a query.
    pub(super) fn of(target: &[u8]) -> QueryPairs {
        let (_, query) = split(target);
        let pairs = query.unwrap_or_default().split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let mut pairs = pairs.map(<[u8]>::to_vec).collect::<Vec<_>>();
        pairs.sort_unstable();
        QueryPairs(pairs)
    }

    /// What they have in common with others.
    pub(super) fn share(&self, other: &QueryPairs) -> Share {
        let (mut one, mut two, mut equal) = (&self.0[..], &other.0[..], 0);
        while let ([first, rest @ ..], [second, more @ ..]) = (one, two) {
            match first.cmp(second) {
                std::cmp::Ordering::Less => one = rest,
                std::cmp::Ordering::Greater => two = more,
                std::cmp::Ordering::Equal => {
                    equal += 1;
                    (one, two) = (rest, more);
                }
            }
        }
        Share { common: 2 * equal, all: (self.0.len() + other.0.len()) as u64 }
    }
}

impl Share {
    /// Whether it is more than another; no pairs at all are all equal.
    pub(super) fn is_more_than(self, other: Share) -> bool {
        let part = |share: Share| if share.all == 0 { (1, 1) } else { (share.common, share.all) };
        let ((common, all), (least, of)) = (part(self), part(other));
        u128::from(common) * u128::from(of) > u128::from(least) * u128::from(all)
    }
}

/// Path and query of a request target.
pub(super) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match target.iter().position(|byte| *byte == b'?') {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(one: &str, other: &str) -> Share {
        QueryPairs::of(one.as_bytes()).share(&QueryPairs::of(other.as_bytes()))
    }

    #[test]
    fn queries_share_what_pairs_are_equal_whatever_their_order() {
        for (one, other, common, all) in [
            ("/?a=1&b=2", "/?b=2&a=1", 4, 4),
            ("/?a=1&b=2&c=3", "/?a=1&b=9", 2, 5),
            ("/?a=1&a=1", "/?a=1", 2, 3),
            ("/", "/?a=1", 0, 1),
            ("/?", "/", 0, 0),
            ("/?&&a", "/x?a", 2, 2),
        ] {
            let found = share(one, other);
            assert_eq!((found.common, found.all), (common, all), "{one} {other}");
        }
    }

    #[test]
    fn shares_are_compared_as_fractions() {
        let (half, third) = (share("/?a=1&b=2", "/?a=1&b=3"), share("/?a=1&b&c", "/?a=1&d&e"));
        assert!(half.is_more_than(third) && !third.is_more_than(half) && !half.is_more_than(half));
        let (nothing, unlike) = (share("/", "/?"), share("/?a", "/?b"));
        assert!(nothing.is_more_than(half) && half.is_more_than(unlike));
    }
}
