//! Which fields of a head a relay passes on, and what it adds.

use super::Forwarding;
use super::rejection::Rejection;
use super::requester::Requester;
use bytes::Bytes;
use core::net::IpAddr;
use loadstone_http::{Fields, Protocol, RequestHead, ResponseHead, content_length};
use std::borrow::Cow;
use std::sync::Arc;

/// What it calls itself (RFC 9110, section 7.6.3).
const PSEUDONYM: &str = "loadstone";
/// RFC 9110, sections 7.6.1 and 11.7: these are for the connection on which they come, as what Connection names.
const HOP_BY_HOP: [&[u8]; 9] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-authorization",
    b"te",
    b"transfer-encoding",
    b"upgrade",
];
/// What servers believe of a client: its own words about it are not passed on.
const OF_THE_CLIENT: [&[u8]; 6] =
    [b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-port", b"x-real-ip"];
/// Fields that programs behind may take for those with `-`, since they know both by one name (RFC 3875, section 4.1.18).
const LOOKALIKES: [&[u8]; 3] = [b"content-length", b"transfer-encoding", b"host"];

/// The client of a connection in front.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontClient {
    pub(super) protocol: Protocol,
    pub(super) address: IpAddr,
}

impl FrontClient {
    /// On whose behalf its requests are.
    pub(super) fn requester(self) -> Requester {
        Requester::at(self.address)
    }
}

/// A request as it goes on to its server, and the length that it announces for its content.
#[derive(Debug)]
pub(super) struct Forwarded {
    pub(super) head: Arc<RequestHead>,
    pub(super) length: Option<u64>,
}

/// A request as it goes on to its server. It has a memory of its own, one Content-Length, and one Cookie (RFC 9113, section
/// 8.2.3).
///
/// # Errors
/// If its lengths differ.
pub(super) fn forwarded(
    head: &RequestHead,
    client: FrontClient,
    forwarding: Forwarding,
) -> Result<Forwarded, Rejection> {
    let length = content_length(&head.fields).map_err(|_| Rejection::Malformed)?;
    let mut kept: Vec<(&[u8], Cow<'_, [u8]>)> = Vec::with_capacity(head.fields.len() + 3);
    let mut cookies: Vec<&[u8]> = Vec::new();
    let mut cookie_at = None;
    for (name, value) in passed_on(&head.fields) {
        let is_own = name.eq_ignore_ascii_case(b"host") || name.eq_ignore_ascii_case(b"content-length");
        if is_own || (forwarding != Forwarding::Via && is_about_client(name)) {
            continue;
        }
        if name.eq_ignore_ascii_case(b"max-forwards")
            && let Some(hops) = max_forwards(head)
        {
            kept.push((name, Cow::Owned(hops.saturating_sub(1).to_string().into())));
            continue;
        }
        if name.eq_ignore_ascii_case(b"cookie") {
            cookies.push(value);
            if cookie_at.is_some() {
                continue;
            }
            cookie_at = Some(kept.len());
        }
        kept.push((name, Cow::Borrowed(value)));
    }
    if let Some(at) = cookie_at.filter(|_| cookies.len() > 1) {
        kept[at].1 = Cow::Owned(cookies.join(&b"; "[..]));
    }
    kept.extend(length.map(|length| (&b"content-length"[..], Cow::Owned(length.to_string().into()))));
    kept.push((b"via", Cow::Owned(via(client.protocol))));
    if let Forwarding::Client(scheme) = forwarding {
        kept.push((b"forwarded", Cow::Owned(forwarded_element(head, client.address, scheme.name()))));
    }
    let [method, path] = [&head.method, &head.path].map(|part| Bytes::copy_from_slice(part));
    // Names of hosts are the same in any case: what a cache takes for one request is one for the origin, too.
    let authority = head.authority.to_ascii_lowercase().into();
    let head = RequestHead::new(method, authority, path, Fields::from_pairs(kept)).over(head.scheme);
    Ok(Forwarded { head: Arc::new(head), length })
}

/// The same request, which says that it has no content (RFC 9110, section 8.6).
pub(super) fn without_content(head: &RequestHead) -> Arc<RequestHead> {
    let fields = head.fields.iter().chain([(&b"content-length"[..], &b"0"[..])]);
    let (method, authority, path) = (head.method.clone(), head.authority.clone(), head.path.clone());
    Arc::new(RequestHead::new(method, authority, path, Fields::from_pairs(fields)).over(head.scheme))
}

/// A response as it goes back to its client, from a server that speaks this.
///
/// # Errors
/// If two readers could see two lengths of it (RFC 9112, section 6.3), or if it is of another protocol.
pub(super) fn returned(head: &ResponseHead, protocol: Protocol) -> Result<Arc<ResponseHead>, Rejection> {
    let has = |name: &[u8]| head.fields.get(name).is_some();
    let has_two_lengths = has(b"transfer-encoding") && has(b"content-length");
    if has_two_lengths || content_length(&head.fields).is_err() || head.status == 101 {
        return Err(Rejection::Unreadable);
    }
    // RFC 9110, section 8.6: these have no Content-Length; of several equal ones the first is enough.
    let mut takes_length = !matches!(head.status, 100..=199 | 204);
    let via = via(protocol);
    let kept = passed_on(&head.fields)
        .filter(|(name, _)| !name.eq_ignore_ascii_case(b"content-length") || std::mem::take(&mut takes_length));
    Ok(Arc::new(ResponseHead::new(head.status, Fields::from_pairs(kept.chain([(&b"via"[..], &via[..])])))))
}

/// Trailers as they go on: what the head may not say, they may not say either.
pub(super) fn passed_trailers(fields: &Fields) -> Fields {
    Fields::from_pairs(passed_on(fields).filter(|(name, _)| !is_about_client(name)))
}

/// What Via says of a message that came over this protocol (RFC 9110, section 7.6.3).
fn via(received: Protocol) -> Vec<u8> {
    let received = match received {
        Protocol::Http1 | Protocol::Http1Pipelining => "1.1",
        Protocol::H2 => "2",
        Protocol::Spdy2 => "SPDY/2",
        Protocol::Spdy3 => "SPDY/3",
        Protocol::Spdy31 => "SPDY/3.1",
    };
    [received, PSEUDONYM].join(" ").into()
}

/// By how many intermediaries a request may still be passed on (RFC 9110, section 7.6.2).
pub(super) fn max_forwards(head: &RequestHead) -> Option<u64> {
    let value = head.fields.get(b"max-forwards").filter(|_| &head.method[..] == b"OPTIONS")?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Whether a message says that it has come through a relay like this one (RFC 9110, section 7.6.3).
pub(super) fn came_through_a_relay(fields: &Fields) -> bool {
    let via = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"via"));
    let mut relays = via.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    relays.any(|relay| {
        let mut words = relay.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.nth(1).is_some_and(|received_by| received_by.eq_ignore_ascii_case(PSEUDONYM.as_bytes()))
    })
}

/// What is known of a client (RFC 7239, section 4).
fn forwarded_element(head: &RequestHead, address: IpAddr, scheme: &str) -> Vec<u8> {
    let node = match address.to_canonical() {
        IpAddr::V4(address) => format!("for={address};host=\""),
        IpAddr::V6(address) => format!("for=\"[{address}]\";host=\""),
    };
    [node.as_bytes(), &head.authority.to_ascii_lowercase(), b"\";proto=", scheme.as_bytes()].concat()
}

/// Whether it is what servers believe of a client, or looks like what frames and routes a message.
fn is_about_client(name: &[u8]) -> bool {
    OF_THE_CLIENT.into_iter().chain(LOOKALIKES).any(|known| is_alike(name, known))
}

/// Whether a name may be taken for one that is known, with `_` in place of `-` too (RFC 3875, section 4.1.18).
pub(super) fn is_alike(name: &[u8], known: &[u8]) -> bool {
    let same = |one: &u8, other: &u8| one.eq_ignore_ascii_case(other) || (*one == b'_' && *other == b'-');
    name.len() == known.len() && name.iter().zip(known).all(|(one, other)| same(one, other))
}

/// The fields that are not for one connection, without white space around their values.
fn passed_on(fields: &Fields) -> impl Iterator<Item = (&[u8], &[u8])> {
    let named = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"));
    let named: Vec<&[u8]> =
        named.flat_map(|(_, value)| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii).collect();
    let is_for_us = move |name: &[u8]| {
        HOP_BY_HOP.iter().chain(&named).any(|own| name.eq_ignore_ascii_case(own))
            // What frames a message is not the other end's to take away.
            && !name.eq_ignore_ascii_case(b"content-length")
    };
    fields.iter().filter(move |(name, _)| !is_for_us(name)).map(|(name, value)| (name, value.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use loadstone_http::Scheme;

    fn names(fields: &Fields) -> Vec<String> {
        fields.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    fn request(fields: &[(&str, &str)], protocol: Protocol, address: IpAddr) -> Result<Forwarded, Rejection> {
        let head = RequestHead::get("a.test", "/", Fields::from_pairs(fields.iter().copied()));
        forwarded(&head, FrontClient { protocol, address }, Forwarding::Client(Scheme::Https))
    }

    #[test]
    fn what_is_for_one_connection_is_not_passed_on_and_the_relay_names_itself_rfc9110_7_6() {
        let fields = [
            ("accept", "*/*"),
            ("Connection", "close, X-Own, content-length"),
            ("keep-alive", "timeout=5"),
            ("x-own", "1"),
            ("via", "1.0 other"),
            ("content-length", "5"),
            ("content-length", "5"),
        ];
        let passed = returned(&ResponseHead::new(200, Fields::from_pairs(fields)), Protocol::H2).unwrap();
        assert_eq!(names(&passed.fields), ["accept", "via", "content-length", "via"]);
        assert_eq!(passed.fields.iter().last(), Some((&b"via"[..], &b"2 loadstone"[..])));
    }

    #[test]
    fn a_response_with_two_lengths_or_of_another_protocol_is_not_passed_on_rfc9112_6_3() {
        for (status, fields) in [
            (200, &[("transfer-encoding", "chunked"), ("content-length", "5")][..]),
            (200, &[("content-length", "5"), ("content-length", "6")]),
            (101, &[]),
        ] {
            let head = ResponseHead::new(status, Fields::from_pairs(fields.iter().copied()));
            assert_eq!(returned(&head, Protocol::Http1), Err(Rejection::Unreadable), "{status} {fields:?}");
        }
        let head = ResponseHead::new(204, Fields::from_pairs([("content-length", "5")]));
        assert_eq!(names(&returned(&head, Protocol::Http1).unwrap().fields), ["via"]);
    }

    #[test]
    fn the_server_hears_who_asks_from_the_relay_and_not_from_the_client_rfc7239_4() {
        let own = [
            ("Forwarded", "for=6.6.6.6"),
            ("X_Forwarded-For", "6.6.6.6"),
            ("x-real-ip", "6.6.6.6"),
            ("content_length", "7"),
        ];
        for (protocol, address, via, element) in [
            (
                Protocol::Http1,
                IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
                "1.1 loadstone",
                "for=192.0.2.1;host=\"a.test\";proto=https",
            ),
            (
                Protocol::H2,
                Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().into(),
                "2 loadstone",
                "for=192.0.2.1;host=\"a.test\";proto=https",
            ),
            (
                Protocol::Spdy31,
                Ipv6Addr::LOCALHOST.into(),
                "SPDY/3.1 loadstone",
                "for=\"[::1]\";host=\"a.test\";proto=https",
            ),
        ] {
            let head = request(&own, protocol, address).unwrap().head;
            assert_eq!(head.fields, Fields::from_pairs([("via", via), ("forwarded", element)]));
        }
        let trailers = Fields::from_pairs(own.into_iter().chain([("x-sum", "1")]));
        assert_eq!(passed_trailers(&trailers), Fields::from_pairs([("x-sum", "1")]));
    }

    #[test]
    fn one_intermediary_less_may_pass_options_on_rfc9110_7_6_2() {
        let fields = Fields::from_pairs([("max-forwards", "7")]);
        let head = RequestHead::new("OPTIONS".into(), "a.test".into(), "*".into(), fields);
        let client = FrontClient { protocol: Protocol::H2, address: Ipv4Addr::LOCALHOST.into() };
        let passed = forwarded(&head, client, Forwarding::Via).unwrap().head;
        assert_eq!(passed.fields.get(b"max-forwards"), Some(&b"6"[..]));
    }

    #[test]
    fn there_is_one_length_and_one_cookie_and_no_second_host_rfc9113_8_2_3() {
        let fields = [
            ("cookie", "a=b"),
            ("content-length", "3"),
            ("cookie", "c=d"),
            ("content-length", "03"),
            ("host", "a.test"),
            ("x", " y "),
        ];
        let head = RequestHead::get("a.test", "/", Fields::from_pairs(fields));
        let client = FrontClient { protocol: Protocol::H2, address: Ipv4Addr::LOCALHOST.into() };
        let via = forwarded(&head, client, Forwarding::Via).unwrap().head;
        assert_eq!(names(&via.fields), ["cookie", "x", "content-length", "via"]);
        let Forwarded { head, length } = request(&fields, Protocol::H2, Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!(names(&head.fields), ["cookie", "x", "content-length", "via", "forwarded"]);
        let values = [&b"cookie"[..], b"x", b"content-length"].map(|name| head.fields.get(name).unwrap());
        assert_eq!((values, length), ([&b"a=b; c=d"[..], b"y", b"3"], Some(3)));
        let differ =
            request(&[("content-length", "3"), ("content-length", "4")], Protocol::H2, Ipv4Addr::LOCALHOST.into());
        assert_eq!(differ.unwrap_err(), Rejection::Malformed);
    }
}
