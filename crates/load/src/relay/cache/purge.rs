//! Which responses an operator has the cache forget.

use super::key::target_key;
use bytes::Bytes;

/// Which responses an operator has the cache forget: those to a URL, in all variants, or those to all that begin like it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Purge {
    beginning: Bytes,
    is_whole: bool,
}

impl Purge {
    /// Of what is asked for by this Host, with the port that clients name, and this path with its query.
    pub fn url(authority: &[u8], path: &[u8]) -> Purge {
        Purge { beginning: target_key(authority, path), is_whole: true }
    }

    /// Of what is asked for by this Host and by paths that begin so; with an empty one it is all of a host.
    pub fn prefix(authority: &[u8], path: &[u8]) -> Purge {
        Purge { beginning: target_key(authority, path), is_whole: false }
    }

    pub(super) fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// Whether a key that begins so is meant: what follows a whole target is told from it by a zero.
    pub(super) fn is_meant(&self, key: &[u8]) -> bool {
        let rest = key.strip_prefix(&self.beginning[..]);
        rest.is_some_and(|rest| !self.is_whole || rest.is_empty() || rest[0] == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_meant_in_all_variants_and_a_prefix_with_all_that_begins_like_it() {
        let [target, variant, longer, other] =
            [&b"a.test\0/x"[..], b"a.test\0/x\0\x01", b"a.test\0/xy", b"a.test:81\0/x"];
        let meant = |purge: Purge| [target, variant, longer, other].map(|key| purge.is_meant(key));
        assert_eq!(meant(Purge::url(b"A.test", b"/x")), [true, true, false, false]);
        assert_eq!(meant(Purge::prefix(b"a.test", b"/x")), [true, true, true, false]);
        assert_eq!(meant(Purge::prefix(b"a.test", b"")), [true, true, true, false]);
        assert_eq!(meant(Purge::prefix(b"a.test:81", b"")), [false, false, false, true]);
    }
}
