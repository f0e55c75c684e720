//! Heads of recorded responses as they are sent again: without what belonged to the recorded connection, without
//! what would lead a browser away, and with dates that are as old as they were then.

use loadstone_http::{RequestHead, Scheme};
use std::time::Duration;
use time::OffsetDateTime;
use time::PrimitiveDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// RFC 9110, section 5.6.7.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// Fields of a connection (RFC 9110, section 7.6.1), and those that are set anew.
const OF_CONNECTIONS: [&str; 10] = [
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields by which a browser goes elsewhere: to another port or protocol, or to those who collect reports.
const ELSEWHERE: [&str; 4] = ["alt-svc", "nel", "report-to", "reporting-endpoints"];

/// Which ports a recorded host has, and so to which a browser may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ports {
    /// Both of its own: plain HTTP, and TLS.
    Both,
    /// One of the server's, with this scheme alone.
    One(Scheme),
}

/// A recorded head as it can be sent again.
#[derive(Debug)]
pub(super) struct SentFields {
    /// Names in lower case.
    fields: Vec<(String, Vec<u8>)>,
    /// How long before it was sent it had been made: RFC 9111, section 4.2.3.
    made: Option<(OffsetDateTime, Duration)>,
    /// The one whom the recorded answer named as its reader.
    reader: Option<Vec<u8>>,
}

impl SentFields {
    pub(super) fn of(recorded: &[(Vec<u8>, Vec<u8>)]) -> SentFields {
        let mut fields = recorded.iter().flat_map(|(name, value)| lines(name, value)).collect::<Vec<_>>();
        let named = fields.iter().filter(|(name, _)| name == "connection");
        let named = named.flat_map(|(_, value)| words(value).map(<[u8]>::to_ascii_lowercase)).collect::<Vec<_>>();
        fields.retain(|(name, _)| {
            !OF_CONNECTIONS.contains(&&name[..])
                && !ELSEWHERE.contains(&&name[..])
                && !named.iter().any(|word| word == name.as_bytes())
        });
        let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| &value[..]);
        let age = value("age").and_then(|age| std::str::from_utf8(age).ok()?.trim().parse().ok());
        let made = value("date").and_then(date).map(|at| (at, Duration::from_secs(age.unwrap_or(0))));
        let reader = value("access-control-allow-origin").filter(|value| *value != b"*").map(<[u8]>::to_vec);
        SentFields { made, reader, fields }
    }

    /// The first value of a field, whose name is in lower case.
    pub(super) fn get(&self, wanted: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| &value[..])
    }

    /// The fields as the answer to a request has them at this time, where a host has these ports.
    pub(super) fn sent(&self, request: &RequestHead, now: OffsetDateTime, ports: Ports) -> Vec<(String, Vec<u8>)> {
        let made = |(at, age): (OffsetDateTime, Duration)| now - age - at;
        let shift = self.made.map(made);
        let sent = |(name, value): &(String, Vec<u8>)| {
            let value = match (&name[..], shift) {
                ("date" | "expires", Some(shift)) => moved(value, shift),
                ("set-cookie", Some(shift)) => cookie(value, shift),
                ("strict-transport-security", _) if ports != Ports::Both => return None,
                ("content-security-policy", _) if ports == Ports::One(Scheme::Http) => policy(value)?,
                ("access-control-allow-origin", _) => self.reader_now(request, value),
                _ => value.clone(),
            };
            Some((name.clone(), value))
        };
        self.fields.iter().filter_map(sent).collect()
    }

    /// The one who may read the answer: who asks, where the recorded answer named who asked then.
    fn reader_now(&self, request: &RequestHead, recorded: &[u8]) -> Vec<u8> {
        let asks = request.fields.get(b"origin").filter(|_| self.reader.is_some());
        asks.unwrap_or(recorded).to_vec()
    }
}

/// The fields that one of a recording stands for: DevTools join several of one name by line ends. None if it cannot be sent.
fn lines(name: &[u8], value: &[u8]) -> Vec<(String, Vec<u8>)> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(is_token) {
        return Vec::new();
    }
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let is_sent = |line: &&[u8]| !line.iter().any(|byte| matches!(byte, b'\r' | 0));
    value.split(|byte| *byte == b'\n').filter(is_sent).map(|line| (name.clone(), line.to_vec())).collect()
}

/// The words of a list, without those that are empty.
fn words(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty())
}

/// A policy of content without the demand for TLS, where there is none; none if that is all of it.
fn policy(value: &[u8]) -> Option<Vec<u8>> {
    let is_kept = |rule: &&[u8]| !rule.trim_ascii().eq_ignore_ascii_case(b"upgrade-insecure-requests");
    let kept = value.split(|byte| *byte == b';').filter(is_kept).collect::<Vec<_>>().join(&b';');
    (!kept.trim_ascii().is_empty()).then_some(kept)
}

/// A cookie that expires as long after the answer as it did then.
fn cookie(value: &[u8], shift: time::Duration) -> Vec<u8> {
    let parts = value.split(|byte| *byte == b';').map(|part| {
        let trimmed = part.trim_ascii_start();
        match trimmed.split_at_checked(b"expires=".len()) {
            Some((name, at)) if name.eq_ignore_ascii_case(b"expires=") => {
                let spaces = &part[..part.len() - trimmed.len()];
                [spaces, name, &moved(at, shift)].concat()
            }
            _ => part.to_vec(),
        }
    });
    parts.collect::<Vec<_>>().join(&b';')
}

/// A date, moved; other text as it is.
fn moved(value: &[u8], shift: time::Duration) -> Vec<u8> {
    let moved = date(value).and_then(|at| at.checked_add(shift)?.format(HTTP_DATE).ok());
    moved.map_or_else(|| value.to_vec(), String::into_bytes)
}

/// Reads a date in the form that is sent, and with the dashes that cookies have.
fn date(value: &[u8]) -> Option<OffsetDateTime> {
    let text = std::str::from_utf8(value).ok()?.trim().replace('-', " ");
    PrimitiveDateTime::parse(&text, HTTP_DATE).ok().map(PrimitiveDateTime::assume_utc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::served::reply;
    use loadstone_http::Fields;

    fn fields(recorded: &[(&str, &str)]) -> SentFields {
        let pairs = recorded.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        SentFields::of(&pairs.collect::<Vec<_>>())
    }

    fn sent(recorded: &[(&str, &str)], ports: Ports) -> Vec<String> {
        let now = date(b"Sat, 10 Jan 2026 00:00:10 GMT").unwrap();
        let sent = fields(recorded).sent(&reply::request("GET", "a.test", "/"), now, ports);
        sent.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value))).collect()
    }

    #[test]
    fn what_belongs_to_a_connection_or_leads_elsewhere_is_left_out() {
        let recorded = [
            ("Connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Alt-Svc", "h3=\":443\""),
            ("NEL", "{}"),
            ("Set-Cookie", "a=1\nb=2"),
            ("bad name", "x"),
            ("x-bad", "1\r"),
        ];
        assert_eq!(sent(&recorded, Ports::Both), ["set-cookie: a=1", "set-cookie: b=2"]);
    }

    #[test]
    fn demands_for_tls_stay_where_it_is() {
        let recorded = [
            ("strict-transport-security", "max-age=1"),
            ("content-security-policy", "img-src *; Upgrade-Insecure-Requests"),
            ("content-security-policy", "upgrade-insecure-requests"),
        ];
        assert_eq!(sent(&recorded, Ports::Both).len(), 3);
        assert_eq!(sent(&recorded, Ports::One(Scheme::Https)).len(), 2);
        assert_eq!(sent(&recorded, Ports::One(Scheme::Http)), ["content-security-policy: img-src *"]);
    }

    #[test]
    fn dates_are_as_old_as_they_were_when_it_was_recorded() {
        let recorded = [
            ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("age", "10"),
            ("expires", "Thu, 01 Jan 2026 00:01:00 GMT"),
            ("last-modified", "Wed, 31 Dec 2025 00:00:00 GMT"),
            ("set-cookie", "a=1; Expires=Thu, 01-Jan-2026 00:00:30 GMT; path=/"),
        ];
        let expected = [
            "date: Sat, 10 Jan 2026 00:00:00 GMT",
            "age: 10",
            "expires: Sat, 10 Jan 2026 00:01:00 GMT",
            "last-modified: Wed, 31 Dec 2025 00:00:00 GMT",
            "set-cookie: a=1; Expires=Sat, 10 Jan 2026 00:00:30 GMT; path=/",
        ];
        assert_eq!(sent(&recorded, Ports::Both), expected);
        assert_eq!(sent(&[("expires", "0")], Ports::Both), ["expires: 0"]);
        assert_eq!(sent(&[recorded[0], ("expires", "-1")], Ports::Both)[1], "expires: -1");
    }

    #[test]
    fn who_asks_may_read_what_who_asked_then_could() {
        let asks = Fields::from_pairs([("Origin", "https://a.test:8443")]);
        let request = RequestHead::get("cdn.test", "/", asks);
        for (recorded, expected) in [("https://a.test", "https://a.test:8443"), ("*", "*")] {
            let fields = fields(&[("access-control-allow-origin", recorded)]);
            let sent = fields.sent(&request, OffsetDateTime::UNIX_EPOCH, Ports::Both);
            assert_eq!(sent[0].1, expected.as_bytes());
        }
    }
}
