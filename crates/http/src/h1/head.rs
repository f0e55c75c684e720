//! Heads as HTTP/1.1 writes them: reading (by `httparse`) and writing.

use crate::{Fields, PeerFault, RequestHead, ResponseHead};
use bytes::{BufMut, Bytes, BytesMut};
use std::mem::MaybeUninit;

/// The longest head that is accepted, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;
/// The most fields that are accepted in a head.
pub const MAX_FIELDS: usize = 256;

/// How long the body of a message is (RFC 9112, section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Length {
    /// This many bytes.
    Known(u64),
    /// As long as the connection lasts.
    UntilClose,
}

/// A head that was read: itself, its length in the stream, and what Content-Length says.
pub(super) struct Parsed<H> {
    pub(super) head: H,
    pub(super) len: usize,
    pub(super) content_length: Option<u64>,
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

/// Reads a request's head at the beginning of `text`; `None` if it is not all there.
pub(super) fn parse_request(text: &Bytes) -> Result<Option<Parsed<RequestHead>>, PeerFault> {
    let mut slots = slots();
    let mut request = httparse::Request::new(&mut []);
    let status = request.parse_with_uninit_headers(text, &mut slots).map_err(fault)?;
    let httparse::Status::Complete(len) = status else { return Ok(None) };
    let content_length = framing(request.headers)?;
    let method = text.slice_ref(request.method.unwrap_or_default().as_bytes());
    let path = text.slice_ref(request.path.unwrap_or_default().as_bytes());
    let is_host = |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case("host");
    let host = request.headers.iter().position(|field| is_host(&field));
    // RFC 9112, section 3.2: a request without Host, or with several, is bad.
    let host = host.filter(|at| !request.headers[at + 1..].iter().any(|field| is_host(&field)));
    let authority = text.slice_ref(request.headers[host.ok_or(PeerFault::MalformedHead)?].value);
    let fields = Fields::within(text, without(request.headers, host));
    Ok(Some(Parsed { head: RequestHead { method, authority, path, fields }, len, content_length }))
}

/// Reads a response's head at the beginning of `text`; `None` if it is not all there.
pub(super) fn parse_response(text: &Bytes) -> Result<Option<Parsed<ResponseHead>>, PeerFault> {
    let mut slots = slots();
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let status = config.parse_response_with_uninit_headers(&mut response, text, &mut slots).map_err(fault)?;
    let httparse::Status::Complete(len) = status else { return Ok(None) };
    let content_length = framing(response.headers)?;
    let fields = Fields::within(text, without(response.headers, None));
    let head = ResponseHead { status: response.code.unwrap_or_default(), fields };
    Ok(Some(Parsed { head, len, content_length }))
}

/// The fields less the one at `skip`, as pairs.
fn without<'a>(
    headers: &'a [httparse::Header<'a>],
    skip: Option<usize>,
) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> {
    let split = skip.unwrap_or(headers.len());
    let rest = headers.get(split + 1..).unwrap_or_default();
    let (before, count) = (&headers[..split], split + rest.len());
    (0..count).map(move |at| {
        let field = if at < split { &before[at] } else { &rest[at - split] };
        (field.name.as_bytes(), field.value)
    })
}

/// What Content-Length says. RFC 9112, section 6.3: differing or unreadable values are an error,
/// and so is a transfer coding that we do not decode.
fn framing(headers: &[httparse::Header<'_>]) -> Result<Option<u64>, PeerFault> {
    let mut length = None;
    for field in headers {
        if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(PeerFault::UnsupportedTransferCoding);
        }
        if field.name.eq_ignore_ascii_case("content-length") {
            let digits = field.value.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(field.value).ok().filter(|_| digits);
            let value = text.and_then(|text| text.parse().ok()).ok_or(PeerFault::InvalidLength)?;
            if length.is_some_and(|before| before != value) {
                return Err(PeerFault::InvalidLength);
            }
            length = Some(value);
        }
    }
    Ok(length)
}

/// Writes a request's head to `out`.
pub(super) fn write_request(head: &RequestHead, out: &mut BytesMut) {
    out.reserve(head.http1_len());
    for part in [&head.method[..], b" ", &head.path, b" HTTP/1.1\r\nhost: ", &head.authority, b"\r\n"] {
        out.put_slice(part);
    }
    write_fields(&head.fields, out);
}

/// Writes a response's head to `out`.
pub(super) fn write_response(head: &ResponseHead, out: &mut BytesMut) {
    out.reserve(head.http1_len());
    let digit = |place: u16| b'0' + (head.status / place % 10) as u8;
    out.put_slice(b"HTTP/1.1 ");
    out.put_slice(&[digit(100), digit(10), digit(1), b' ', b'\r', b'\n']);
    write_fields(&head.fields, out);
}

fn write_fields(fields: &Fields, out: &mut BytesMut) {
    for (name, value) in fields.iter() {
        out.put_slice(name);
        out.put_slice(b": ");
        out.put_slice(value);
        out.put_slice(b"\r\n");
    }
    out.put_slice(b"\r\n");
}
