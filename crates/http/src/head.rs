//! The heads of requests and responses, apart from how a protocol writes them.

use bytes::{BufMut, Bytes, BytesMut};
use std::fmt;

/// Header fields, in order.
///
/// One buffer holds all names and values, and spans point into it, so a parsed head needs one
/// allocation and no copy.
#[derive(Clone, Default)]
pub struct Fields {
    text: Bytes,
    spans: Vec<Span>,
}

/// A field's place in [`Fields::text`]: where name and value begin and end.
#[derive(Clone, Copy)]
struct Span {
    name: (u32, u32),
    value: (u32, u32),
}

impl Fields {
    /// Fields from pairs of name and value, copied into one buffer.
    pub fn from_pairs<N: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (N, V)>) -> Fields {
        let mut text = BytesMut::new();
        let mut put = |part: &[u8]| {
            let start = text.len() as u32;
            text.put_slice(part);
            (start, text.len() as u32)
        };
        let spans =
            pairs.into_iter().map(|(name, value)| Span { name: put(name.as_ref()), value: put(value.as_ref()) });
        let spans = spans.collect();
        Fields { text: text.freeze(), spans }
    }

    /// Fields that lie within `text`, as a parser found them.
    pub(crate) fn within<'a>(text: &Bytes, found: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>) -> Fields {
        let base = text.as_ptr() as usize;
        let place = |part: &[u8]| {
            // An empty value may be a slice from anywhere.
            let start = if part.is_empty() { 0 } else { part.as_ptr() as usize - base };
            (start as u32, (start + part.len()) as u32)
        };
        let spans = found.map(|(name, value)| Span { name: place(name), value: place(value) }).collect();
        Fields { text: text.clone(), spans }
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        let part = |(start, end): (u32, u32)| &self.text[start as usize..end as usize];
        self.spans.iter().map(move |span| (part(span.name), part(span.value)))
    }

    /// The first value of the field `name`, whatever its case.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        f.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

/// A request's head. The host stands in `authority`, not among the fields.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestHead {
    /// `GET`, `POST`, ...
    pub method: Bytes,
    /// Host and, if it is not the scheme's own, port.
    pub authority: Bytes,
    /// Path and query, beginning with `/`.
    pub path: Bytes,
    /// All other fields.
    pub fields: Fields,
}

impl RequestHead {
    /// A GET request.
    pub fn get(authority: &str, path: &str, fields: Fields) -> RequestHead {
        RequestHead {
            method: Bytes::from_static(b"GET"),
            authority: Bytes::copy_from_slice(authority.as_bytes()),
            path: Bytes::copy_from_slice(path.as_bytes()),
            fields,
        }
    }

    /// Bytes of this head as HTTP/1.1 writes it.
    pub fn http1_len(&self) -> usize {
        let line = self.method.len() + 1 + self.path.len() + " HTTP/1.1\r\n".len();
        line + "host: \r\n".len() + self.authority.len() + fields_len(&self.fields) + 2
    }
}

/// A response's head.
#[derive(Clone, PartialEq, Debug)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// All fields.
    pub fields: Fields,
}

impl ResponseHead {
    /// A head with this status.
    pub fn new(status: u16, fields: Fields) -> ResponseHead {
        ResponseHead { status, fields }
    }

    /// Bytes of this head as HTTP/1.1 writes it, with an empty reason phrase.
    pub fn http1_len(&self) -> usize {
        "HTTP/1.1 200 \r\n".len() + fields_len(&self.fields) + 2
    }
}

fn fields_len(fields: &Fields) -> usize {
    fields.iter().map(|(name, value)| name.len() + value.len() + ": \r\n".len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_are_found_whatever_their_case() {
        let fields = Fields::from_pairs([("Accept", "*/*"), ("x-empty", ""), ("accept", "second")]);
        assert_eq!(fields.get(b"ACCEPT"), Some(&b"*/*"[..]));
        assert_eq!(fields.get(b"X-Empty"), Some(&b""[..]));
        assert_eq!(fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), [&b"Accept"[..], b"x-empty", b"accept"]);
    }
}
