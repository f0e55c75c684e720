//! What is to be fetched: URLs made into requests, and the servers that they are on.

use crate::page::{Url, is_token, is_value, split_authority};
use bytes::Bytes;
use core::net::Ipv6Addr;
use loadstone_http::h1::{MAX_FIELDS, MAX_HEAD};
use loadstone_http::{Body, Fields, Priority, RequestHead, Scheme};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The most bytes that the fields given for all requests may have together.
const MAX_GIVEN: usize = MAX_HEAD / 2;

/// Fields that are this program's to write, with what to do instead of giving them.
const OURS: [(&str, &str); 5] = [
    ("content-length", "it is counted: leave it out"),
    ("host", "it is the URL's: say where that is to be found with --resolve"),
    ("priority", "it is written for every protocol: give --priority"),
    ("te", "what comes is shown as it is: leave it out"),
    ("transfer-encoding", "the body's length is known: leave it out"),
];

/// What is sent where no such field is given.
const USUAL: [(&str, &str); 2] = [("accept", "*/*"), ("user-agent", concat!("loadstone/", env!("CARGO_PKG_VERSION")))];

/// Why something cannot be fetched.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FetchListError {
    /// It is no URL of a web server.
    #[error(
        "'{0}' is no URL that can be fetched: write http:// or https://, a host, and a path in ASCII (%20 for a space)"
    )]
    Url(String),
    /// A method that no request line can hold.
    #[error("'{0}' is no method: use letters, as in PUT")]
    Method(String),
    /// A field that no head can hold.
    #[error("'{0}' is no header: write 'name: value', the name of letters, digits and hyphens")]
    Field(String),
    /// A field that cannot be given.
    #[error("header '{name}': {remedy}")]
    Ours {
        /// Its name.
        name: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// More fields than servers take.
    #[error("the headers are too many or too long: give at most {MAX_GIVEN} bytes and {limit} fields", limit = MAX_FIELDS / 2)]
    TooLong,
}

/// A server, as URLs name it (an origin: RFC 9110, section 4.3.1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ServerAddress {
    /// How it is reached.
    pub scheme: Scheme,
    /// Its name, or its address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServerAddress { scheme, host, port } = self;
        let scheme = scheme.name();
        if host.contains(':') { write!(f, "{scheme}://[{host}]:{port}") } else { write!(f, "{scheme}://{host}:{port}") }
    }
}

/// What was written names no server.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{0}' names no server: write http:// or https://, a host or an address, and a port if it has one, but no path"
)]
pub struct NoServerAddress(String);

impl FromStr for ServerAddress {
    type Err = NoServerAddress;

    /// Reads the URL of a server: one without a path, or with `/`.
    fn from_str(url: &str) -> Result<ServerAddress, NoServerAddress> {
        let named = parts(url).filter(|(_, _, path)| path == "/");
        named.map(|(server, _, _)| server).ok_or_else(|| NoServerAddress(url.to_owned()))
    }
}

/// One request of an errand.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its server's place in [`FetchList::servers`].
    pub server: usize,
    /// Its head.
    pub head: Arc<RequestHead>,
    /// What it sends.
    pub body: Body,
    /// How urgent its response is.
    pub priority: Priority,
}

/// What all requests of an errand have in common.
#[derive(Clone, Debug)]
pub struct RequestTemplate {
    method: Bytes,
    fields: Fields,
    body: Body,
}

impl RequestTemplate {
    /// Requests of this method and with these fields that send `body`, if any.
    ///
    /// # Errors
    /// If the method or a field cannot stand in a head, or is not the caller's to give.
    pub fn new(
        method: &str,
        given: &[(String, String)],
        body: Option<Body>,
    ) -> Result<RequestTemplate, FetchListError> {
        if !is_token(method) {
            return Err(FetchListError::Method(method.to_owned()));
        }
        for (name, value) in given {
            if !is_token(name) || !is_value(value) {
                return Err(FetchListError::Field(format!("{name}: {value}")));
            }
            if let Some((_, remedy)) = OURS.iter().find(|(ours, _)| ours.eq_ignore_ascii_case(name)) {
                return Err(FetchListError::Ours { name: name.clone(), remedy });
            }
        }
        if given.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > MAX_GIVEN
            || given.len() > MAX_FIELDS / 2
        {
            return Err(FetchListError::TooLong);
        }
        let is_given = |name: &str| given.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let usual = USUAL.into_iter().filter(|(name, _)| !is_given(name));
        let usual = usual.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let length = body.map(|body| ("content-length".to_owned(), body.len.to_string()));
        let fields = Fields::from_pairs(usual.chain(given.iter().cloned()).chain(length));
        Ok(RequestTemplate {
            method: Bytes::copy_from_slice(method.as_bytes()),
            fields,
            body: body.unwrap_or(Body::EMPTY),
        })
    }
}

/// Reads `name: value`.
///
/// # Errors
/// If there is no name or no colon. What a head can hold is [`RequestTemplate::new`]'s to judge.
pub fn header_field(written: &str) -> Result<(String, String), FetchListError> {
    let field = written.split_once(':').filter(|(name, _)| !name.is_empty());
    let (name, value) = field.ok_or_else(|| FetchListError::Field(written.to_owned()))?;
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// What is to be fetched, in order.
#[derive(Clone, Debug)]
pub struct FetchList {
    template: RequestTemplate,
    servers: Vec<ServerAddress>,
    requests: Vec<Request>,
}

impl FetchList {
    /// Nothing yet.
    pub fn new(template: RequestTemplate) -> FetchList {
        FetchList { template, servers: Vec::new(), requests: Vec::new() }
    }

    /// Adds a request for `url`.
    ///
    /// # Errors
    /// If it is no URL of a web server.
    pub fn add(&mut self, url: &str, priority: Priority) -> Result<(), FetchListError> {
        let (server, authority, path) = parts(url).ok_or_else(|| FetchListError::Url(url.to_owned()))?;
        let RequestTemplate { method, fields, body } = self.template.clone();
        let head = RequestHead::new(method, authority.into(), path.into(), fields).over(server.scheme);
        let known = self.servers.iter().position(|known| *known == server);
        let place = known.unwrap_or_else(|| {
            self.servers.push(server);
            self.servers.len() - 1
        });
        self.requests.push(Request { server: place, head: Arc::new(head), body, priority });
        Ok(())
    }

    /// The servers of all requests, in the order in which they came first.
    pub fn servers(&self) -> &[ServerAddress] {
        &self.servers
    }

    /// The requests.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }
}

/// A URL's server, and its authority and path as a request has them.
fn parts(url: &str) -> Option<(ServerAddress, String, String)> {
    let Url { secure, authority, path } = Url::split(url).filter(|_| url.is_ascii())?;
    let scheme = if secure { Scheme::Https } else { Scheme::Http };
    let (host, port) = split_authority(authority);
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port > 0)?,
        None if secure => 443,
        None => 80,
    };
    let is_name = |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let host = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').filter(|address| address.parse::<Ipv6Addr>().is_ok())?,
        None => Some(host).filter(|host| !host.is_empty() && is_name(host))?,
    };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some((ServerAddress { scheme, host: host.to_ascii_lowercase(), port }, authority.to_ascii_lowercase(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errand(method: &str, given: &[(&str, &str)]) -> Result<FetchList, FetchListError> {
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        RequestTemplate::new(method, &given, None).map(FetchList::new)
    }

    #[test]
    fn urls_on_one_scheme_host_and_port_share_a_server() {
        let mut errand = errand("GET", &[]).unwrap();
        let urls = ["http://a.test/x?y#z", "http://A.test:80", "https://a.test/", "http://[::1]:81/é"];
        let added: Vec<bool> = urls.iter().map(|url| errand.add(url, Priority::default()).is_ok()).collect();
        assert_eq!(added, [true, true, true, false]);
        errand.add("http://[::1]:81?q", Priority::default()).unwrap();
        let servers: Vec<String> = errand.servers().iter().map(ServerAddress::to_string).collect();
        assert_eq!(servers, ["http://a.test:80", "https://a.test:443", "http://[::1]:81"]);
        let line = |request: &Request| {
            let part = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
            (request.server, part(&request.head.authority), part(&request.head.path))
        };
        let expected = [(0, "a.test", "/x?y"), (0, "a.test", "/"), (1, "a.test", "/"), (2, "[::1]:81", "/?q")];
        let expected = expected.map(|(server, host, path)| (server, host.to_owned(), path.to_owned()));
        assert_eq!(errand.requests().iter().map(line).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_no_url_of_a_web_server_is_refused_with_a_remedy() {
        let mut errand = errand("GET", &[]).unwrap();
        for url in [
            "",
            "a.test",
            "ftp://a.test/",
            "http://",
            "http://a.test:x/",
            "http://a.test:0/",
            "http://a b/",
            "http://[::g]/",
            "http://a.test/ b",
            "http://a.test:99999/",
            "http://:80/",
        ] {
            let error = errand.add(url, Priority::default()).unwrap_err().to_string();
            assert!(error.contains(&format!("'{url}'")) && error.contains("write http://"), "{error}");
        }
    }

    #[test]
    fn a_head_that_a_server_would_misread_is_refused() {
        assert!(matches!(errand("G T", &[]), Err(FetchListError::Method(_))));
        for (name, value) in [("", "x"), ("a b", "x"), ("a", "x\r\nb: y"), ("a", "\0")] {
            assert!(matches!(errand("GET", &[(name, value)]), Err(FetchListError::Field(_))), "{name}: {value}");
        }
        for name in ["Content-Length", "host", "transfer-encoding"] {
            assert!(matches!(errand("GET", &[(name, "1")]), Err(FetchListError::Ours { .. })), "{name}");
        }
        assert_eq!(errand("GET", &[("a", &"x".repeat(MAX_HEAD))]).unwrap_err(), FetchListError::TooLong);
    }

    #[test]
    fn given_fields_stand_in_place_of_the_usual_ones() {
        let mut errand = errand("GET", &[("Accept", "text/html")]).unwrap();
        errand.add("http://a.test/", Priority::default()).unwrap();
        let fields = &errand.requests()[0].head.fields;
        assert_eq!((fields.len(), fields.get(b"accept")), (2, Some(&b"text/html"[..])));
    }
}
