//! Bytes on the wire, and the server's think time.

use super::fetched::Fetched;
use super::loose::{List, Scalar};
use super::model::{HeaderField, Request};
use super::url;
use crate::page::build::MAX_THINK_MS;
use crate::page::file::Field;
use std::collections::BTreeMap;

/// What is larger is a mistake of the file: 1 TB.
const MAX_BYTES: f64 = 1e12;

/// The first value of the field `name`.
pub(super) fn field<'f>(headers: &'f List<HeaderField<'_>>, name: &str) -> Option<&'f str> {
    let named = |field: &&HeaderField<'_>| field.name.text().is_some_and(|text| text.eq_ignore_ascii_case(name));
    headers.iter().find(named).and_then(|field| field.value.filled())
}

/// The fields of a head as a page file lists them, without HTTP/2's pseudo-fields; `None` where the
/// file lists none.
pub(super) fn fields(headers: &List<HeaderField<'_>>) -> Option<Vec<Field>> {
    let pair = |field: &HeaderField<'_>| {
        let name = field.name.filled().filter(|name| !name.starts_with(':'))?;
        // Chrome joins the values of repeated fields with line breaks.
        let value = field.value.key().unwrap_or_default();
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
pub(super) fn body(fetched: &Fetched<'_>) -> u64 {
    // RFC 9110, section 6.4.1: these responses have no content.
    if matches!(fetched.status(), 204 | 304) || fetched.method() == "HEAD" {
        return 0;
    }
    let response = &fetched.response;
    let content = response.content.0.as_ref();
    let content_size = content.and_then(|content| amount(&content.size));
    let length = field(&response.headers, "content-length").and_then(|text| text.trim().parse::<u64>().ok());
    let length = length.map(|length| length as f64).filter(|length| *length <= MAX_BYTES);
    // Compression that doubles a body, or more, is a mistake of the file.
    let plausible = |size: &f64| content_size.is_none_or(|content| *size <= 2.0 * content + 65_536.0);
    let with_head = |total: f64| without_head(fetched, total, length, content_size);
    let body_size = || amount(&response.body_size);
    let transferred = amount(&response.transfer_size)
        .map(with_head)
        .or_else(|| body_size().map(|size| if head(&response.headers_size).is_some() { size } else { with_head(size) }))
        .or_else(|| amount(&fetched.entry.object_size))
        .or_else(|| amount(&fetched.entry.bytes_in).map(with_head))
        .filter(plausible);
    let compressed = || {
        let content_size = content_size?;
        let saved = content.and_then(|content| amount(&content.compression)).filter(|saved| *saved < content_size);
        Some(length.filter(plausible).unwrap_or(content_size - saved.unwrap_or(0.0)))
    };
    transferred.or_else(compressed).or(length).unwrap_or(0.0) as u64
}

/// What is left of `total` bytes on the wire without the response's head.
fn without_head(fetched: &Fetched<'_>, total: f64, length: Option<f64>, content_size: Option<f64>) -> f64 {
    let response = &fetched.response;
    // Chrome knows a head's size of HTTP/1 only, where it is exact.
    let transferred = response.transfer_size.positive().is_some();
    if let Some(size) = response.headers_size.positive().filter(|size| transferred && *size <= total) {
        return total - size;
    }
    if let Some(length) = length.filter(|length| *length <= total) {
        return length;
    }
    let identity = response.headers.iter().next().is_some() && field(&response.headers, "content-encoding").is_none();
    if let Some(size) = content_size.filter(|size| identity && *size <= total) {
        return size;
    }
    // HPACK makes about 0.7 of a response's head: 0.64 to 0.75 in the middle half of 1,226 recorded
    // responses whose length is known.
    let part = |text: &Scalar<'_>| text.text().map_or(0, str::len) as f64;
    let head: f64 = response.headers.iter().map(|field| part(&field.name) + part(&field.value) + 4.0).sum();
    (total - (0.7 * head).round()).max(0.0)
}

/// What is known of the way to the servers and their speed.
pub(super) struct Waits {
    hosts: BTreeMap<String, Least>,
    connect: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Least {
    connect: Option<f64>,
    wait: Option<f64>,
}

impl Waits {
    /// The smallest times of each host.
    pub(super) fn of(entries: &[Fetched<'_>]) -> Waits {
        let mut hosts: BTreeMap<String, Least> = BTreeMap::new();
        for fetched in entries.iter().filter(|fetched| fetched.skip.is_none()) {
            let least = hosts.entry(host(fetched)).or_default();
            least.connect = smaller(least.connect, connect(fetched));
            least.wait = smaller(least.wait, wait(fetched));
        }
        let connect = hosts.values().fold(None, |least, host| smaller(least, host.connect));
        Waits { hosts, connect }
    }

    /// How long the server thought about a response, in ms: the wait less a round trip.
    pub(super) fn think(&self, fetched: &Fetched<'_>) -> f64 {
        let least = self.hosts.get(&host(fetched)).copied().unwrap_or_default();
        let round_trip = least.connect.or(self.connect).or(least.wait).unwrap_or(0.0);
        (wait(fetched).unwrap_or(0.0) - round_trip).clamp(0.0, MAX_THINK_MS)
    }
}

fn host(fetched: &Fetched<'_>) -> String {
    url::parts(&fetched.url).0
}

fn wait(fetched: &Fetched<'_>) -> Option<f64> {
    fetched.timings.wait.number().filter(|wait| *wait >= 0.0)
}

/// The TCP handshake alone: `ssl` lies inside `connect`. Where both are equal the exporter did not
/// see the former. QUIC has none: its handshake is TLS's too, and what is left of it is nothing.
fn connect(fetched: &Fetched<'_>) -> Option<f64> {
    let protocols = [&fetched.response.http_version, &fetched.entry.protocol];
    if protocols.into_iter().filter_map(|protocol| protocol.text()).any(is_quic) {
        return None;
    }
    let tls = fetched.timings.ssl.positive().unwrap_or(0.0);
    fetched.timings.connect.positive().map(|connect| connect - tls).filter(|tcp| *tcp > 0.0)
}

/// Whether this names HTTP/3 or what came before it: `h3`, `h3-Q050`, `HTTP/3.0`, `http/2+quic/46`.
fn is_quic(protocol: &str) -> bool {
    let protocol = protocol.to_ascii_lowercase();
    ["h3", "http/3", "quic"].iter().any(|name| protocol.contains(name))
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
