//! Bytes on the wire.

use super::model::{Entry, HeaderField, Request, Response};
use crate::page::file::Field;
use crate::page::loose::{List, Scalar};
use crate::page::redact::Redactor;

/// What is larger is a mistake of the file: 1 TB.
const MAX_BYTES: f64 = 1e12;

/// The first value of the field `name`.
pub(super) fn field<'f>(headers: &'f List<HeaderField<'_>>, name: &str) -> Option<&'f str> {
    let named = |field: &&HeaderField<'_>| field.name.text().is_some_and(|text| text.eq_ignore_ascii_case(name));
    headers.iter().find(named).and_then(|field| field.value.filled())
}

/// The fields of a head as a page file lists them, without HTTP/2's pseudo-fields; `None` where the
/// file lists none.
pub(super) fn fields(headers: &List<HeaderField<'_>>, redactor: &mut Redactor) -> Option<Vec<Field>> {
    let pair = |field: &HeaderField<'_>| {
        let name = field.name.filled().filter(|name| !name.starts_with(':'))?;
        // Chrome joins the values of repeated fields with line breaks.
        let value = redactor.field(name, &field.value.key().unwrap_or_default());
        Some((name.to_owned(), value.replace(['\n', '\r'], ", ")))
    };
    let fields: Vec<Field> = headers.iter().filter_map(pair).collect();
    (!fields.is_empty()).then_some(fields)
}

/// The size of a head in bytes, where the file states it.
pub(super) fn head(size: &Scalar<'_>) -> Option<u32> {
    size.positive().map(|size| size.min(32_768.0) as u32)
}

/// Bytes of a request's body.
pub(super) fn upload(request: &Request<'_>) -> u64 {
    let text = request.post_data.0.as_ref().and_then(|post| post.text.text());
    let stated = amount(&request.body_size).or_else(|| text.map(|text| text.len() as f64));
    stated.unwrap_or(0.0) as u64
}

/// A stated number of bytes, if it is one and not absurd.
fn amount(size: &Scalar<'_>) -> Option<f64> {
    size.positive().filter(|size| *size <= MAX_BYTES)
}

/// Bytes of a response's body on the wire.
pub(super) fn body(entry: &Entry<'_>, request: &Request<'_>, response: &Response<'_>) -> u64 {
    if !has_content(request, response) {
        return 0;
    }
    let content = response.content.0.as_ref();
    let (content_size, length) = (content_size(response), content_length(response));
    // Compression that doubles a body, or more, is a mistake of the file.
    let plausible = |size: &f64| content_size.is_none_or(|content| *size <= 2.0 * content + 65_536.0);
    let with_head = |total: f64| without_head(response, total, length, content_size);
    let body_size = || amount(&response.body_size);
    let transferred = amount(&response.transfer_size)
        .map(with_head)
        .or_else(|| body_size().map(|size| if head(&response.headers_size).is_some() { size } else { with_head(size) }))
        .or_else(|| amount(&entry.object_size))
        .or_else(|| amount(&entry.bytes_in).map(with_head))
        .filter(plausible);
    let compressed = || {
        let content_size = content_size?;
        let saved = content.and_then(|content| amount(&content.compression)).filter(|saved| *saved < content_size);
        Some(length.filter(plausible).unwrap_or(content_size - saved.unwrap_or(0.0)))
    };
    // Playwright counts the bytes of one packet of what HTTP/1.0 sends.
    let whole = length.filter(|length| is_identity(response) && content_size == Some(*length));
    let transferred = transferred.map(|size| whole.map_or(size, |whole| whole.max(size)));
    transferred.or_else(compressed).or(length).unwrap_or(0.0) as u64
}

/// Whether a body of so many bytes contradicts the size of its content, of which nothing says that it was compressed.
pub(super) fn is_contradicted(request: &Request<'_>, response: &Response<'_>, bytes: u64) -> bool {
    let is_small = |content: f64| 2.0 * (bytes as f64) < content;
    let is_stated = content_length(response) == Some(bytes as f64);
    let is_judged = has_content(request, response) && is_identity(response) && !is_stated;
    is_judged && content_size(response).is_some_and(is_small)
}

/// RFC 9110, section 6.4.1.
fn has_content(request: &Request<'_>, response: &Response<'_>) -> bool {
    !matches!(response.status_code(), 204 | 304) && request.method_name() != "HEAD"
}

fn content_size(response: &Response<'_>) -> Option<f64> {
    response.content.0.as_ref().and_then(|content| amount(&content.size))
}

fn content_length(response: &Response<'_>) -> Option<f64> {
    let length = field(&response.headers, "content-length")?.trim().parse::<u64>().ok()?;
    Some(length as f64).filter(|length| *length <= MAX_BYTES)
}

/// Whether the listed fields say that nothing encodes the content.
fn is_identity(response: &Response<'_>) -> bool {
    response.headers.iter().next().is_some() && field(&response.headers, "content-encoding").is_none()
}

/// What is left of `total` bytes on the wire without the response's head.
fn without_head(response: &Response<'_>, total: f64, length: Option<f64>, content_size: Option<f64>) -> f64 {
    // Chrome knows a head's size of HTTP/1 only, where it is exact.
    let transferred = response.transfer_size.positive().is_some();
    if let Some(size) = response.headers_size.positive().filter(|size| transferred && *size <= total) {
        return total - size;
    }
    if let Some(length) = length.filter(|length| *length <= total) {
        return length;
    }
    if let Some(size) = content_size.filter(|size| is_identity(response) && *size <= total) {
        return size;
    }
    // HPACK makes about 0.7 of a response's head: 0.64 to 0.75 in the middle half of 1,226 recorded
    // responses whose length is known.
    let part = |text: &Scalar<'_>| text.text().map_or(0, str::len) as f64;
    let head: f64 = response.headers.iter().map(|field| part(&field.name) + part(&field.value) + 4.0).sum();
    (total - (0.7 * head).round()).max(0.0)
}
