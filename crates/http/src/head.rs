//! The heads of requests and responses, apart from how a protocol writes them.

use bytes::{BufMut, Bytes, BytesMut};
use std::fmt;
use std::sync::OnceLock;

/// Bytes of name and value that few fields exceed.
const USUAL_FIELD: usize = 40;

/// Bytes of all fields that few heads exceed. For more, room is made as they come: a thousand small fields need little.
const USUAL_FIELDS: usize = 2048;

/// Header fields, in order.
///
/// One buffer holds all names and values, and spans point into it, so a parsed head needs one
/// allocation and no copy.
#[derive(Clone, Default)]
pub struct Fields {
    text: Bytes,
    spans: Vec<ByteSpan>,
}

/// A field's place in [`Fields::text`]: where name and value begin and end.
#[derive(Clone, Copy)]
struct ByteSpan {
    name: (u32, u32),
    value: (u32, u32),
}

impl Fields {
    /// Fields from pairs of name and value, copied into one buffer.
    pub fn from_pairs<N: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (N, V)>) -> Fields {
        let pairs = pairs.into_iter();
        // Room for all that usually comes, so that nothing has to be moved.
        let most = pairs.size_hint().1.unwrap_or(0);
        let mut text = BytesMut::with_capacity((most * USUAL_FIELD).min(USUAL_FIELDS));
        let mut spans = Vec::with_capacity(most);
        let mut put = |part: &[u8]| {
            let start = text.len() as u32;
            text.extend_from_slice(part);
            (start, text.len() as u32)
        };
        spans.extend(pairs.map(|(name, value)| ByteSpan { name: put(name.as_ref()), value: put(value.as_ref()) }));
        Fields { text: text.freeze(), spans }
    }

    /// No fields yet, and room for `count` that lie within `text`.
    pub(crate) fn within(text: &Bytes, count: usize) -> Fields {
        Fields { text: text.clone(), spans: Vec::with_capacity(count) }
    }

    /// Adds a field whose name and value are slices of the text.
    pub(crate) fn add_within(&mut self, name: &[u8], value: &[u8]) {
        let base = self.text.as_ptr() as usize;
        let place = |part: &[u8]| {
            // An empty value may be a slice from anywhere.
            let start = if part.is_empty() { 0 } else { part.as_ptr() as usize - base };
            (start as u32, (start + part.len()) as u32)
        };
        self.spans.push(ByteSpan { name: place(name), value: place(value) });
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| (self.part(span.name), self.part(span.value)))
    }

    fn part(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.text[start as usize..end as usize]
    }

    /// The first value of the field `name`, whatever its case.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// All values of the field `name`, whatever its case, in order.
    pub(crate) fn get_all(&self, name: &[u8]) -> impl Iterator<Item = &[u8]> {
        let is_it = move |span: &&ByteSpan| {
            let (start, end) = span.name;
            // Most names have another length or begin otherwise, so most of the text is not looked at.
            let begins = |text: &[u8]| text.first().map(u8::to_ascii_lowercase);
            let part = || self.part(span.name);
            (end - start) as usize == name.len() && begins(part()) == begins(name) && part().eq_ignore_ascii_case(name)
        };
        self.spans.iter().filter(is_it).map(|span| self.part(span.value))
    }

    /// Bytes of these fields as HTTP/1.1 writes them.
    pub(crate) fn http1_len(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len() + ": \r\n".len()).sum()
    }

    /// Writes them as HTTP/1.1 does.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        for (name, value) in self.iter() {
            out.put_slice(name);
            out.put_slice(b": ");
            out.put_slice(value);
            out.put_slice(b"\r\n");
        }
    }

    /// Bytes of memory that they take: the buffer in which they lie, with all else that lies there, and their places in it.
    pub(crate) fn memory_len(&self) -> usize {
        self.text.len() + self.spans.len() * size_of::<ByteSpan>()
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

/// A head as HTTP/1.1 writes it, kept once it was needed: it depends on nothing but the
/// head, and a page's heads are written in every run. A head does not change once it is shared.
#[derive(Clone, Default)]
struct Written(OnceLock<Bytes>);

impl PartialEq for Written {
    /// What is kept says nothing that the head does not say.
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

/// How a resource is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// Over TLS.
    #[default]
    Https,
}

impl Scheme {
    /// Its name in URLs.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    pub(crate) fn named(name: &[u8]) -> Option<Scheme> {
        [Scheme::Http, Scheme::Https].into_iter().find(|scheme| scheme.name().as_bytes() == name)
    }
}

/// A request's head. The host stands in `authority`, not among the fields.
#[derive(Clone, PartialEq)]
pub struct RequestHead {
    /// `GET`, `POST`, ...
    pub method: Bytes,
    /// `https` unless [`RequestHead::over`] says otherwise; HTTP/1.1 does not carry it.
    pub scheme: Scheme,
    /// Host and, if it is not the scheme's own, port.
    pub authority: Bytes,
    /// Path and query, beginning with `/`.
    pub path: Bytes,
    /// All other fields.
    pub fields: Fields,
    written: Written,
}

impl RequestHead {
    /// A request.
    pub fn new(method: Bytes, authority: Bytes, path: Bytes, fields: Fields) -> RequestHead {
        RequestHead { method, scheme: Scheme::Https, authority, path, fields, written: Written::default() }
    }

    /// The same request for a resource of this scheme.
    pub fn over(self, scheme: Scheme) -> RequestHead {
        RequestHead { scheme, ..self }
    }

    /// A copy in memory of its own, with those fields alone that are named in lower case: what a server keeps of a
    /// stranger's head while its exchange goes on.
    pub fn excerpt(&self, names: &[&[u8]]) -> RequestHead {
        let kept = |name: &[u8]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        RequestHead {
            method: Bytes::copy_from_slice(&self.method),
            scheme: self.scheme,
            authority: Bytes::copy_from_slice(&self.authority),
            path: Bytes::copy_from_slice(&self.path),
            fields: Fields::from_pairs(self.fields.iter().filter(|(name, _)| kept(name))),
            written: Written::default(),
        }
    }

    /// Bytes of memory that it takes.
    pub fn memory_len(&self) -> usize {
        self.method.len() + self.authority.len() + self.path.len() + self.fields.memory_len()
    }

    /// A GET request.
    pub fn get(authority: &str, path: &str, fields: Fields) -> RequestHead {
        let [authority, path] = [authority, path].map(|text| Bytes::copy_from_slice(text.as_bytes()));
        RequestHead::new(Bytes::from_static(b"GET"), authority, path, fields)
    }

    /// This head as HTTP/1.1 writes it (RFC 9112, section 3), written once.
    pub(crate) fn http1(&self) -> Bytes {
        self.written.0.get_or_init(|| self.http1_with(&self.fields, b"")).clone()
    }

    /// This head as HTTP/1.1 writes it before content that this line frames.
    pub(crate) fn http1_framed(&self, line: &[u8]) -> Bytes {
        self.http1_with(&without_coding(&self.fields), line)
    }

    fn http1_with(&self, fields: &Fields, line: &[u8]) -> Bytes {
        let mut out = BytesMut::with_capacity(self.http1_len() + line.len());
        for part in [&self.method[..], b" ", &self.path, b" HTTP/1.1\r\nhost: ", &self.authority, b"\r\n"] {
            out.put_slice(part);
        }
        fields.write(&mut out);
        out.put_slice(line);
        out.put_slice(b"\r\n");
        out.freeze()
    }

    /// Bytes of this head as HTTP/1.1 writes it.
    pub fn http1_len(&self) -> usize {
        let line = self.method.len() + 1 + self.path.len() + " HTTP/1.1\r\n".len();
        line + "host: \r\n".len() + self.authority.len() + self.fields.http1_len() + 2
    }
}

/// A response's head.
#[derive(Clone, PartialEq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// All fields.
    pub fields: Fields,
    written: Written,
}

impl ResponseHead {
    /// A head with this status.
    pub fn new(status: u16, fields: Fields) -> ResponseHead {
        ResponseHead { status, fields, written: Written::default() }
    }

    /// This head as HTTP/1.1 writes it (RFC 9112, section 4), written once.
    pub(crate) fn http1(&self) -> Bytes {
        self.written.0.get_or_init(|| self.http1_with(&self.fields, b"")).clone()
    }

    /// This head as HTTP/1.1 writes it before content that this line frames.
    pub(crate) fn http1_framed(&self, line: &[u8]) -> Bytes {
        self.http1_with(&without_coding(&self.fields), line)
    }

    fn http1_with(&self, fields: &Fields, line: &[u8]) -> Bytes {
        let mut out = BytesMut::with_capacity(self.http1_len() + line.len());
        let digit = |place: u16| b'0' + (self.status / place % 10) as u8;
        out.put_slice(b"HTTP/1.1 ");
        out.put_slice(&[digit(100), digit(10), digit(1), b' ', b'\r', b'\n']);
        fields.write(&mut out);
        out.put_slice(line);
        out.put_slice(b"\r\n");
        out.freeze()
    }

    /// Bytes of this head as HTTP/1.1 writes it, with an empty reason phrase.
    pub fn http1_len(&self) -> usize {
        "HTTP/1.1 200 \r\n".len() + self.fields.http1_len() + 2
    }
}

/// The session decides how a streamed body is framed: framing fields that the program copied from another message could
/// make two readers see two lengths.
fn without_coding(fields: &Fields) -> Fields {
    Fields::from_pairs(fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"transfer-encoding")))
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        write!(f, "{} {}{} {:?}", text(&self.method), text(&self.authority), text(&self.path), self.fields)
    }
}

impl fmt::Debug for ResponseHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.status, self.fields)
    }
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

    #[test]
    fn many_small_fields_take_little_room() {
        let fields = Fields::from_pairs(vec![("a", "b"); 1000]);
        assert_eq!(fields.memory_len(), 2_000 + 16_000, "their places count");
        let text = fields.text.try_into_mut().expect("nobody else has it");
        assert!((2000..=4096).contains(&text.capacity()), "{}", text.capacity());
    }
}
