//! Which requests are passed on, and to which server.
//!
//! A request is written anew for its server, so all that HTTP/1.1 could read otherwise is refused here, whatever the
//! protocol in front has let pass (RFC 9112, section 11.2).

use super::RelayConfig;
use super::fields::{came_through_a_relay, max_forwards};
use super::rejection::Rejection;
use crate::ServerAddress;
use crate::page::HostId;
use loadstone_http::{RequestHead, Scheme};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most bytes of a name and its port (RFC 1035, section 3.1).
const MAX_AUTHORITY: usize = 255 + ":65535".len();

/// Where a request goes that may be passed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Admitted {
    /// To one of these, which the relay knows by its name.
    Known(Arc<[HostId]>),
    /// To the one that its client names, wherever that is.
    Chosen(ServerAddress),
}

/// Where a request goes, if it may be passed on.
pub(super) fn admit(head: &RequestHead, config: &RelayConfig) -> Result<Admitted, Rejection> {
    let method = &head.method[..];
    if matches!(method, b"CONNECT" | b"TRACE") {
        return Err(Rejection::Method);
    }
    let are_fields = head.fields.iter().all(|(name, value)| is_token(name) && is_field_value(value));
    if !is_token(method) || !is_target(method, &head.path) || !are_fields || names_two_hosts(head) {
        return Err(Rejection::Malformed);
    }
    let upgrades = head.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"upgrade"));
    // RFC 9110, section 7.8: it may be ignored. Clients that offer h2c go on without; all others do not.
    if upgrades.flat_map(|(_, value)| value.split(|byte| *byte == b',')).any(|it| it.trim_ascii() != b"h2c") {
        return Err(Rejection::Upgrade);
    }
    let admitted = match servers_of(&head.authority, &config.servers) {
        Some(servers) => Admitted::Known(servers),
        None if config.goes_anywhere => Admitted::Chosen(chosen(head)?),
        None => return Err(Rejection::Misdirected),
    };
    if max_forwards(head) == Some(0) { Err(Rejection::LastHop) } else { Ok(admitted) }
}

/// The server that a client names in full: by an absolute URL of http in HTTP/1.1 (RFC 9112, section 3.2.2). What a Host alone
/// says is for this relay.
fn chosen(head: &RequestHead) -> Result<ServerAddress, Rejection> {
    if head.scheme != Scheme::Http {
        return Err(Rejection::NotForwarded);
    }
    if came_through_a_relay(&head.fields) {
        return Err(Rejection::Loop);
    }
    let is_authority = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(byte);
    let authority = &head.authority[..];
    if authority.len() > MAX_AUTHORITY || !authority.iter().all(is_authority) {
        return Err(Rejection::Malformed);
    }
    format!("http://{}", String::from_utf8_lossy(authority)).parse().map_err(|_| Rejection::Malformed)
}

/// Whether a request may be repeated if its connection is lost (RFC 9110, section 9.2.2).
pub(super) fn is_idempotent(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"PUT" | b"DELETE")
}

/// The servers of an authority: those of the name with its port, else those of the name alone.
fn servers_of(authority: &[u8], servers: &BTreeMap<String, Arc<[HostId]>>) -> Option<Arc<[HostId]>> {
    let authority = std::str::from_utf8(authority).ok()?.to_ascii_lowercase();
    let name = || {
        let (name, port) = authority.rsplit_once(':')?;
        let is_port = !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
        servers.get(name).filter(|_| is_port)
    };
    servers.get(&authority).or_else(name).cloned()
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &[u8]) -> bool {
    let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_one)
}

/// Whether it is a path and a query, or `*` (RFC 9112, section 3.2.4).
fn is_target(method: &[u8], path: &[u8]) -> bool {
    is_path(path) || (method == b"OPTIONS" && path == b"*")
}

/// Whether it is a path and a query in visible ASCII (RFC 9112, section 3.2.1).
pub(super) fn is_path(path: &[u8]) -> bool {
    path.first() == Some(&b'/') && path.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#')
}

/// RFC 9110, section 5.5: no control characters but the tab.
fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t')
}

/// RFC 9113, section 8.3.1: a Host beside the authority has to be the same.
fn names_two_hosts(head: &RequestHead) -> bool {
    let mut hosts = head.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    hosts.any(|(_, value)| !value.eq_ignore_ascii_case(&head.authority))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use loadstone_http::{Fields, Multiplexing, SessionFactory};

    /// A relay that knows two names.
    fn config(goes_anywhere: bool) -> RelayConfig {
        let servers = [("a.test", 1), ("b.test:81", 2)].map(|(name, at)| (name.to_owned(), HostId(at))).into();
        let sessions = Arc::new(SessionFactory::isolated(Multiplexing::default()));
        RelayConfig { goes_anywhere, ..RelayConfig::new(servers, sessions) }
    }

    fn admitted(method: &[u8], authority: &[u8], path: &[u8], fields: &[(&[u8], &[u8])]) -> Result<u32, u16> {
        let [method, authority, path] = [method, authority, path].map(Bytes::copy_from_slice);
        let head = RequestHead::new(method, authority, path, Fields::from_pairs(fields.iter().copied()));
        match admit(&head, &config(false)).map_err(Rejection::status)? {
            Admitted::Known(servers) => Ok(servers[0].0),
            Admitted::Chosen(server) => panic!("{server} was not given"),
        }
    }

    #[test]
    fn a_relay_that_goes_anywhere_goes_to_names_that_it_was_given_first_and_else_by_urls_of_http() {
        let via = ("via", "1.1 other, 2 loadstone");
        for (scheme, authority, fields, expected) in [
            (Scheme::Https, "A.test:8443", &[via][..], Ok("known")),
            (Scheme::Http, "b.test:81", &[], Ok("known")),
            (Scheme::Http, "B.test:82", &[("via", "1.1 other")], Ok("http://b.test:82")),
            (Scheme::Http, "c.test", &[], Ok("http://c.test:80")),
            (Scheme::Http, "[::1]:81", &[], Ok("http://[::1]:81")),
            (Scheme::Http, "2130706433", &[], Ok("http://2130706433:80")),
            (Scheme::Https, "c.test", &[], Err(421)),
            (Scheme::Http, "c.test", &[via], Err(508)),
            (Scheme::Http, "", &[], Err(400)),
            (Scheme::Http, "c.test:0", &[], Err(400)),
            (Scheme::Http, "c.test:65536", &[], Err(400)),
            (Scheme::Http, "c.test/", &[], Err(400)),
            (Scheme::Http, "a@c.test", &[], Err(400)),
            (Scheme::Http, "c.test%00", &[], Err(400)),
            (Scheme::Http, "[fe80::1%25lo]", &[], Err(400)),
            (Scheme::Http, &"c".repeat(300), &[], Err(400)),
        ] {
            let fields = Fields::from_pairs(fields.iter().copied());
            let head = RequestHead::get(authority, "/", fields).over(scheme);
            let admitted = admit(&head, &config(true)).map(|admitted| match admitted {
                Admitted::Known(_) => "known".to_owned(),
                Admitted::Chosen(server) => server.to_string(),
            });
            assert_eq!(admitted.map_err(Rejection::status), expected.map(str::to_owned), "{authority}");
        }
    }

    #[test]
    fn a_name_is_meant_with_any_port_and_one_with_a_port_with_that_one_alone() {
        for (authority, server) in [
            (&b"a.test"[..], Ok(1)),
            (b"A.Test:8443", Ok(1)),
            (b"b.test:81", Ok(2)),
            (b"b.test", Err(421)),
            (b"a.test:", Err(421)),
            (b"a.test:1x", Err(421)),
            (b"a.test:123456", Err(421)),
            (b"x.a.test", Err(421)),
            (b"", Err(421)),
            (b"a.test\xff", Err(421)),
        ] {
            assert_eq!(admitted(b"GET", authority, b"/", &[]), server, "{authority:?}");
        }
    }

    #[test]
    fn what_http1_could_read_otherwise_is_refused() {
        for (method, path, status) in [
            (&b"GET"[..], &b"/"[..], Ok(1)),
            (b"OPTIONS", b"*", Ok(1)),
            (b"GET", b"*", Err(400)),
            (b"GET\t/", b"/", Err(400)),
            (b"GET /", b"/", Err(400)),
            (b"", b"/", Err(400)),
            (b"GET", b"a.test:443", Err(400)),
            (b"GET", b"/ HTTP/1.1", Err(400)),
            (b"GET", b"/\x0b", Err(400)),
            (b"GET", b"/\x85", Err(400)),
            (b"GET", b"/a#b", Err(400)),
            (b"CONNECT", b"a.test:443", Err(405)),
            (b"TRACE", b"/", Err(405)),
        ] {
            assert_eq!(admitted(method, b"a.test", path, &[]), status, "{method:?} {path:?}");
        }
        for (name, value, status) in [
            (&b"x"[..], &b"a\tb"[..], Ok(1)),
            (b"x", b"\xe4", Ok(1)),
            (b"x y", b"1", Err(400)),
            (b"x:", b"1", Err(400)),
            (b"x", b"1\r\ny: 2", Err(400)),
            (b"x", b"1\0", Err(400)),
            (b"host", b"a.test", Ok(1)),
            (b"host", b"b.test:81", Err(400)),
            (b"upgrade", b"h2c", Ok(1)),
            (b"Upgrade", b"h2c, websocket", Err(501)),
            (b"max-forwards", b"0", Ok(1)),
        ] {
            assert_eq!(admitted(b"GET", b"a.test", b"/", &[(name, value)]), status, "{name:?} {value:?}");
        }
        for (value, status) in [(&b"0"[..], Err(200)), (b"1", Ok(1)), (b"x", Ok(1))] {
            assert_eq!(admitted(b"OPTIONS", b"a.test", b"*", &[(b"Max-Forwards", value)]), status, "{value:?}");
        }
    }
}
