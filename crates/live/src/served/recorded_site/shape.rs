//! How alike two URLs are: what their queries share, and the shape of their paths.

/// The shortest run of hexadecimal digits, with a decimal one among them, that is taken for an id.
const SHORTEST_HEX: usize = 8;
/// The shortest word of letters and digits in turn that is taken for a hash.
const SHORTEST_HASH: usize = 16;
/// How often letters and digits take turns in a hash, at least: words with a number do so once or twice.
const TURNS_OF_A_HASH: usize = 4;

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

/// A path in which `#` stands for each number, hexadecimal id, UUID and hash.
pub(super) fn of_path(path: &[u8]) -> Vec<u8> {
    let mut shape = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(first) = rest.first() {
        if let Some(after) = after_uuid(rest) {
            shape.push(b'#');
            rest = after;
            continue;
        }
        let end = rest.iter().position(|byte| byte.is_ascii_alphanumeric() != first.is_ascii_alphanumeric());
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        if !first.is_ascii_alphanumeric() {
            shape.extend_from_slice(word);
        } else if is_id(word) {
            shape.push(b'#');
        } else {
            for run in word.chunk_by(|one, two| one.is_ascii_digit() == two.is_ascii_digit()) {
                shape.extend_from_slice(if run[0].is_ascii_digit() { b"#" } else { run });
            }
        }
    }
    shape
}

/// What comes after the UUID with which a text begins (RFC 9562, section 4).
fn after_uuid(text: &[u8]) -> Option<&[u8]> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let (uuid, after) = text.split_at_checked(36)?;
    let is_its = |(at, byte): (usize, &u8)| if DASHES.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    uuid.iter().enumerate().all(is_its).then_some(after)
}

/// Whether a word is no word: an id in hexadecimal, or a hash.
fn is_id(word: &[u8]) -> bool {
    let is_hex = word.len() >= SHORTEST_HEX && word.iter().all(u8::is_ascii_hexdigit);
    if is_hex && word.iter().any(u8::is_ascii_digit) {
        return true;
    }
    let turns = word.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    word.len() >= SHORTEST_HASH && turns >= TURNS_OF_A_HASH
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

    #[test]
    fn numbers_ids_and_hashes_of_a_path_are_left_out_of_its_shape() {
        for (path, shape) in [
            ("/a/12/b", "/a/#/b"),
            ("/img-0012x34.png", "/img-#x#.png"),
            ("/app.3f9ab01c.js", "/app.#.js"),
            // A word, though its letters are hexadecimal digits.
            ("/facade/deadbeef.css", "/facade/deadbeef.css"),
            ("/4a1c7b02-93de-4f00-a111-0123456789ab.js", "/#.js"),
            ("/assets/kq7x0Zb93mT5w2Lp.woff2", "/assets/#.woff#"),
            ("/internationalization2/", "/internationalization#/"),
            ("/", "/"),
        ] {
            assert_eq!(String::from_utf8_lossy(&of_path(path.as_bytes())), shape, "{path}");
        }
    }
}
