//! Which fields of a head a relay passes on, and what it answers itself.

use bytes::Bytes;
use loadstone_http::{Fields, RequestHead, ResponseHead};
use std::sync::Arc;

/// What it calls itself (RFC 9110, section 7.6.3).
const VIA: (&[u8], &[u8]) = (b"via", b"1.1 loadstone");
/// RFC 9110, section 7.6.1: these are for the connection on which they come, as what Connection names.
const HOP_BY_HOP: [&[u8]; 7] =
    [b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"te", b"transfer-encoding", b"upgrade"];

/// A request as it goes on to its server.
pub(super) fn forwarded(head: &RequestHead) -> Arc<RequestHead> {
    let (method, authority, path) = (head.method.clone(), head.authority.clone(), head.path.clone());
    Arc::new(RequestHead::new(method, authority, path, passed_on(&head.fields)))
}

/// A response as it goes back to its client.
pub(super) fn returned(head: &ResponseHead) -> Arc<ResponseHead> {
    Arc::new(ResponseHead::new(head.status, passed_on(&head.fields)))
}

/// The answer in place of a server that cannot be reached or does not answer (RFC 9110, section 15.6.3).
pub(super) fn bad_gateway() -> Arc<ResponseHead> {
    empty(502)
}

/// The answer to a request for a server that the relay does not know (RFC 9110, section 15.5.20).
pub(super) fn misdirected() -> Arc<ResponseHead> {
    empty(421)
}

fn empty(status: u16) -> Arc<ResponseHead> {
    Arc::new(ResponseHead::new(status, Fields::from_pairs([("content-length", "0")])))
}

fn passed_on(fields: &Fields) -> Fields {
    let named = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"));
    let named: Vec<Bytes> = named.flat_map(|(_, value)| value.split(|byte| *byte == b',')).map(trimmed).collect();
    let is_for_us = |name: &[u8]| {
        HOP_BY_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop))
            || named.iter().any(|own| name.eq_ignore_ascii_case(own))
    };
    Fields::from_pairs(fields.iter().filter(|(name, _)| !is_for_us(name)).chain([VIA]))
}

fn trimmed(text: &[u8]) -> Bytes {
    Bytes::copy_from_slice(text.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_one_connection_is_not_passed_on_and_the_relay_names_itself_rfc9110_7_6() {
        let fields = [
            ("accept", "*/*"),
            ("Connection", "close, X-Own"),
            ("keep-alive", "timeout=5"),
            ("x-own", "1"),
            ("via", "1.0 other"),
            ("Transfer-Encoding", "chunked"),
        ];
        let head = ResponseHead::new(200, Fields::from_pairs(fields));
        let passed = returned(&head);
        let kept: Vec<_> = passed.fields.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
        assert_eq!(kept, ["accept", "via", "via"]);
    }
}
