//! Which request a stored response answers: the same Host and target as the origin was asked for, and the same of what the
//! response varies by (RFC 9111, sections 2 and 4.1).

use super::of_name;
use bytes::{BufMut, Bytes, BytesMut};
use loadstone_http::{Fields, RequestHead};
use serde::{Deserialize, Serialize};

/// The names of fields by which an origin chooses its response.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Varies {
    names: Vec<Vec<u8>>,
    /// Responses that were stored under another list, or before the last change, are not found again.
    pub(super) generation: u64,
}

/// The key of what is asked for, whatever the response varies by. The Host is in lower case here, as the origin gets it; of the
/// rest each byte counts.
pub(super) fn target_key(authority: &[u8], path: &[u8]) -> Bytes {
    let mut key = BytesMut::with_capacity(authority.len() + 1 + path.len());
    key.extend(authority.iter().map(u8::to_ascii_lowercase));
    key.put_u8(0);
    key.put_slice(path);
    key.freeze()
}

impl Varies {
    /// What a response varies by, if it does.
    pub(super) fn of(response: &Fields, generation: u64) -> Option<Varies> {
        let values = of_name(response, b"vary").flat_map(|value| value.split(|byte| *byte == b','));
        let mut names: Vec<Vec<u8>> = values.map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then_some(Varies { names, generation })
    }

    pub(super) fn has_names_of(&self, other: &Varies) -> bool {
        self.names == other.names
    }

    /// The key of the response that is for a request like this.
    pub(super) fn key(&self, target: &Bytes, request: &RequestHead) -> Bytes {
        let mut key = BytesMut::from(&target[..]);
        key.put_u8(0);
        key.put_u64(self.generation);
        for name in &self.names {
            // No value has such bytes: so none can look like another name, or like none.
            key.put_u8(0);
            for (at, value) in of_name(&request.fields, name).enumerate() {
                key.put_slice(if at == 0 { b"\x01" } else { b"," });
                value.split(|byte| *byte == b',').enumerate().for_each(|(at, part)| {
                    key.put_slice(if at == 0 { b"" } else { b"," });
                    key.put_slice(part.trim_ascii());
                });
            }
        }
        key.freeze()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.names.iter().map(|name| name.len() as u64 + 24).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(names: &str, request: &[(&str, &str)]) -> Bytes {
        let varies = Varies::of(&Fields::from_pairs([("vary", names)]), 7).unwrap();
        let head = RequestHead::get("a.test", "/", Fields::from_pairs(request.iter().copied()));
        varies.key(&target_key(b"a.test", b"/"), &head)
    }

    #[test]
    fn requests_are_alike_if_all_that_the_response_varies_by_is_rfc9111_4_1() {
        let names = "Accept-Encoding, accept";
        let first = key(names, &[("accept", "a, b"), ("accept-encoding", "gzip")]);
        for alike in [
            &[("accept", "a,b"), ("Accept-Encoding", "gzip")][..],
            &[("accept", "a"), ("accept", "b"), ("accept-encoding", "gzip")],
            &[("accept-encoding", "gzip"), ("accept", "a, b"), ("cookie", "x")],
        ] {
            assert_eq!(key(names, alike), first, "{alike:?}");
        }
        let mut others = vec![
            key(names, &[]),
            key(names, &[("accept", "")]),
            key(names, &[("accept-encoding", "")]),
            key(names, &[("accept", "gzip"), ("accept-encoding", "a,b")]),
            key(names, &[("accept", "a,b")]),
            key("accept", &[("accept", "a,b"), ("accept-encoding", "gzip")]),
            first,
        ];
        let count = others.len();
        others.sort();
        others.dedup();
        assert_eq!(others.len(), count, "all are different");
    }

    #[test]
    fn the_host_is_the_same_in_any_case_and_a_target_only_byte_by_byte() {
        let own = target_key(b"A.test:81", b"/a?x=1&y=2");
        assert_eq!(target_key(b"a.TEST:81", b"/a?x=1&y=2"), own);
        for (authority, path) in [
            ("a.test", "/a?x=1&y=2"),
            ("a.test:81", "/a?y=2&x=1"),
            ("a.test:81", "/A?x=1&y=2"),
            ("a.test:8", "1/a?x=1&y=2"),
        ] {
            assert_ne!(target_key(authority.as_bytes(), path.as_bytes()), own, "{authority} {path}");
        }
    }
}
