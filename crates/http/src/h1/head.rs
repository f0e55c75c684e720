//! Heads as HTTP/1.1 writes them: reading, by `httparse`.

use crate::content_length::with_another;
use crate::request_target::AbsoluteForm;
use crate::trailers::trailers;
use crate::{Fields, PeerFault, RequestHead, ResponseHead, Scheme};
use bytes::{BufMut, Bytes, BytesMut};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The longest head that is sent and accepted in any protocol, in bytes as HTTP/1.1 writes it: a compressed head costs
/// the receiver what it is once it is decompressed.
pub const MAX_HEAD: usize = 64 * 1024;
/// The most fields that are accepted in a head.
pub const MAX_FIELDS: usize = 256;

/// How long the body of a message is (RFC 9112, section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Length {
    /// This many bytes.
    Known(u64),
    /// In chunks that say their size.
    Chunked,
    /// As long as the connection lasts.
    UntilClose,
}

/// What becomes of the connection after a message (RFC 9112, section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum After {
    #[default]
    Persists,
    Closes,
}

/// Which HTTP/1 a message is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Version {
    Old,
    #[default]
    Usual,
}

/// A head that was read: itself, its length in the stream, and what it says of the body's and of the
/// connection.
#[derive(Debug)]
pub(super) struct Parsed<H> {
    pub(super) head: Arc<H>,
    pub(super) len: usize,
    pub(super) body: Option<Length>,
    pub(super) after: After,
    pub(super) version: Version,
}

impl<H> Clone for Parsed<H> {
    fn clone(&self) -> Parsed<H> {
        Parsed { head: self.head.clone(), ..*self }
    }
}

type Slots<'h> = [MaybeUninit<httparse::Header<'h>>; MAX_FIELDS];

const fn slots<'h>() -> Slots<'h> {
    [const { MaybeUninit::uninit() }; MAX_FIELDS]
}

fn fault(error: httparse::Error) -> PeerFault {
    match error {
        httparse::Error::TooManyHeaders => PeerFault::HeadTooLarge,
        _ => PeerFault::MalformedHead,
    }
}

/// How long a head is, by what was read of `text`; `None` if it is not all there.
fn head_len(status: httparse::Status<usize>, text: &Bytes) -> Result<Option<usize>, PeerFault> {
    let (read, len) = match status {
        httparse::Status::Complete(len) => (len, Some(len)),
        httparse::Status::Partial => (text.len(), None),
    };
    if read > MAX_HEAD { Err(PeerFault::HeadTooLarge) } else { Ok(len) }
}

/// Reads a request's head at the beginning of `text`; `None` if it is not all there.
pub(super) fn parse_request(text: &Bytes) -> Result<Option<Parsed<RequestHead>>, PeerFault> {
    let mut slots = slots();
    let mut request = httparse::Request::new(&mut []);
    let status = match request.parse_with_uninit_headers(text, &mut slots) {
        // Which fault it is shows at the end of the line.
        Err(httparse::Error::Version) if !text.contains(&b'\n') => return Ok(None),
        Err(httparse::Error::Version) if names_version(text) => return Err(PeerFault::UnsupportedVersion),
        result => result.map_err(fault)?,
    };
    let Some(len) = head_len(status, text)? else { return Ok(None) };
    let found = sort(text, request.headers)?;
    let method = match request.method.unwrap_or_default() {
        "GET" => Bytes::from_static(b"GET"),
        other => text.slice_ref(other.as_bytes()),
    };
    let target = request.path.unwrap_or_default().as_bytes();
    // RFC 9112, section 3.2: a request without Host, or with several, is bad.
    let is_old = request.version == Some(0);
    let host = found.host.or(is_old.then_some(b"")).filter(|_| found.hosts == 1 || (is_old && found.hosts == 0));
    let mut host = host.filter(|host| is_authority(host)).ok_or(PeerFault::MalformedHead)?;
    let (mut scheme, mut path) = (Scheme::default(), text.slice_ref(target));
    if let Some(absolute) = AbsoluteForm::read(target) {
        // RFC 9112, section 3.2.2: a server takes this form, and its authority in place of Host.
        host = Some(absolute.authority).filter(|host| is_authority(host)).ok_or(PeerFault::MalformedHead)?;
        (scheme, path) = (absolute.scheme, with_path(text, absolute.rest));
    }
    // RFC 9112, section 6.3, rule 3: two lengths in a request are an attempt to smuggle another one.
    if found.is_chunked && found.content_length.is_some() {
        return Err(PeerFault::InvalidLength);
    }
    let (body, after) = (found.body(), found.after(is_old));
    let host = if host.is_empty() { Bytes::new() } else { text.slice_ref(host) };
    let head = RequestHead::new(method, host, path, found.fields).over(scheme);
    let version = if is_old { Version::Old } else { Version::Usual };
    Ok(Some(Parsed { head: Arc::new(head), len, body, after, version }))
}

/// Whether a Host or an authority can be one, as far as it matters: nothing in it ends an authority (RFC 3986, section
/// 3.2), and HTTP gives no user (RFC 9110, section 4.2.4).
fn is_authority(host: &[u8]) -> bool {
    !host.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'/' | b'?' | b'#' | b'@' | b'\\'))
}

/// A path and its query; a missing path is `/`.
fn with_path(text: &Bytes, rest: &[u8]) -> Bytes {
    match rest {
        [b'/', ..] => text.slice_ref(rest),
        _ => [b"/", rest].concat().into(),
    }
}

/// The words of a request line, which may be any bytes.
fn request_line(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let begin = text.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(text.len());
    let line = text[begin..].split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    line.split(|byte| *byte == b' ')
}

/// Whether a request line ends with a version of HTTP, supported or not (RFC 9112, section 2.3).
fn names_version(text: &[u8]) -> bool {
    matches!(request_line(text).nth(2), Some([b'H', b'T', b'T', b'P', b'/', major, b'.', minor])
        if major.is_ascii_digit() && minor.is_ascii_digit())
}

/// What can be read of a request's head that is malformed: method and target.
pub(super) fn salvage_request(text: &Bytes) -> RequestHead {
    let mut words = request_line(text).map(|word| text.slice_ref(word));
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    RequestHead::new(method, Bytes::new(), target, Fields::default())
}

/// Reads a response's head at the beginning of `text`; `None` if it is not all there.
pub(super) fn parse_response(text: &Bytes) -> Result<Option<Parsed<ResponseHead>>, PeerFault> {
    let mut slots = slots();
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let status = config.parse_response_with_uninit_headers(&mut response, text, &mut slots).map_err(fault)?;
    let Some(len) = head_len(status, text)? else { return Ok(None) };
    // RFC 9110, section 15: statuses begin at 100.
    let status = response.code.filter(|code| *code >= 100).ok_or(PeerFault::MalformedHead)?;
    let found = sort(text, response.headers)?;
    let is_old = response.version == Some(0);
    let (body, after) = (found.body(), found.after(is_old));
    let head = ResponseHead::new(status, found.fields);
    let version = if is_old { Version::Old } else { Version::Usual };
    Ok(Some(Parsed { head: Arc::new(head), len, body, after, version }))
}

/// Reads the lines behind the last chunk (RFC 9112, section 7.1.2), without the empty one that ends them. What may
/// not stand there is left out.
pub(super) fn parse_trailers(mut text: BytesMut) -> Result<Fields, PeerFault> {
    text.put_slice(b"\r\n");
    let text = text.freeze();
    let mut slots = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let httparse::Status::Complete((_, lines)) = httparse::parse_headers(&text, &mut slots).map_err(fault)? else {
        return Err(PeerFault::MalformedHead);
    };
    let mut fields = Fields::within(&text, lines.len());
    lines.iter().for_each(|line| fields.add_within(line.name.as_bytes(), line.value));
    Ok(trailers(&fields))
}

/// What a head's fields say of the message itself, and the rest of them.
struct Found<'h> {
    fields: Fields,
    /// The last value of Host, and how many there are.
    host: Option<&'h [u8]>,
    hosts: u32,
    content_length: Option<u64>,
    is_chunked: bool,
    /// What Connection says, if anything.
    after: Option<After>,
}

impl Found<'_> {
    /// HTTP/1.0 has to ask for a connection that persists, HTTP/1.1 for one that does not.
    fn after(&self, is_old: bool) -> After {
        self.after.unwrap_or(if is_old { After::Closes } else { After::Persists })
    }

    /// RFC 9112, section 6.3, rule 3: Transfer-Encoding overrides Content-Length.
    fn body(&self) -> Option<Length> {
        if self.is_chunked { Some(Length::Chunked) } else { self.content_length.map(Length::Known) }
    }
}

/// Sorts the fields of a head in one pass.
///
/// RFC 9112, section 6.3: values of Content-Length that differ or cannot be read are an error, and so
/// is a transfer coding that we do not decode.
fn sort<'h>(text: &Bytes, headers: &[httparse::Header<'h>]) -> Result<Found<'h>, PeerFault> {
    let fields = Fields::within(text, headers.len());
    let mut found = Found { fields, host: None, hosts: 0, content_length: None, is_chunked: false, after: None };
    for field in headers {
        match field.name.len() {
            4 if field.name.eq_ignore_ascii_case("host") => {
                found.host = Some(field.value);
                found.hosts += 1;
                continue;
            }
            10 if field.name.eq_ignore_ascii_case("connection") => {
                let says = |option: &[u8]| {
                    field.value.split(|byte| *byte == b',').any(|said| said.trim_ascii().eq_ignore_ascii_case(option))
                };
                if says(b"close") {
                    found.after = Some(After::Closes);
                } else if says(b"keep-alive") {
                    found.after.get_or_insert(After::Persists);
                }
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                found.content_length = Some(with_another(found.content_length, field.value)?);
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                if found.is_chunked || !field.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(PeerFault::UnsupportedTransferCoding);
                }
                found.is_chunked = true;
            }
            _ => {}
        }
        found.fields.add_within(field.name.as_bytes(), field.value);
    }
    Ok(found)
}
