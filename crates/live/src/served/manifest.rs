//! What a server pushes or hints with its answers: a list of resources for each, written by hand.

use super::recording::name_of;
use bytes::Bytes;
use loadstone_http::{Fields, Priority, RequestHead, ResponseHead, Scheme};
use loadstone_load::page::Preconnect;
use loadstone_load::{Destination, Hint, Pushed};
use loadstone_units::Bounded;
use mime_guess::mime;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most resources for one answer.
const MAX_LISTED: usize = 100;

/// Resources, by what they are announced with: a path, or `https://host/path` where there are
/// several hosts. In JSON `{"/": ["/a.css", {"path": "/b.js", "urgency": 1}, {"preconnect": "https://cdn.test"}]}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "WrittenManifest")]
pub struct Manifest(BTreeMap<(Option<String>, String), Announcement>);

/// What is announced with one answer.
#[derive(Clone, Debug, Default, PartialEq)]
struct Announcement {
    mentions: Vec<Mention>,
    /// Connections to open: of hints alone.
    connections: Vec<Preconnect>,
}

/// How a manifest is written.
type WrittenManifest = BTreeMap<String, Vec<ManifestEntry>>;

impl JsonSchema for Manifest {
    fn schema_name() -> Cow<'static, str> {
        "Manifest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        WrittenManifest::json_schema(generator)
    }
}

/// One resource of a manifest.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum ManifestEntry {
    Path(String),
    Described(DescribedEntry),
    Connection(ConnectionEntry),
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DescribedEntry {
    path: String,
    urgency: Option<Bounded<0, 7>>,
    #[serde(rename = "as")]
    destination: Option<Destination>,
    crossorigin: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConnectionEntry {
    preconnect: String,
    #[serde(default)]
    crossorigin: bool,
}

/// Where a resource is.
#[derive(Clone, PartialEq, Debug)]
struct ManifestPlace {
    /// None: on whichever host is asked.
    origin: Option<(Scheme, String)>,
    path: String,
}

#[derive(Clone, PartialEq, Debug)]
struct Mention {
    place: ManifestPlace,
    priority: Priority,
    /// As it is stated, else by its ending.
    destination: Option<Destination>,
    is_cors: bool,
}

/// Why a manifest cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ManifestError {
    /// Something that is no place.
    #[error("'{0}' is neither a path nor a URL: write /path or https://host/path")]
    Place(String),
    /// Something that is no origin.
    #[error("'{0}' is not where a connection is opened: write https://host")]
    Connection(String),
    /// More than clients take.
    #[error("{count} resources are listed for '{response}': give at most {MAX_LISTED}")]
    TooMany {
        /// For which response.
        response: String,
        /// How many.
        count: usize,
    },
}

impl TryFrom<BTreeMap<String, Vec<ManifestEntry>>> for Manifest {
    type Error = ManifestError;

    fn try_from(written: BTreeMap<String, Vec<ManifestEntry>>) -> Result<Manifest, ManifestError> {
        let mut announcements = BTreeMap::new();
        for (response, entries) in written {
            if entries.len() > MAX_LISTED {
                return Err(ManifestError::TooMany { response, count: entries.len() });
            }
            let mut announcement = Announcement::default();
            for entry in entries {
                announcement.add(entry)?;
            }
            // HTTP/1.1 does not say which scheme is meant, so it makes no difference here.
            let ManifestPlace { origin, path } = ManifestPlace::parse(&response)?;
            announcements.insert((origin.map(|(_, host)| host), path), announcement);
        }
        Ok(Manifest(announcements))
    }
}

impl Announcement {
    fn add(&mut self, entry: ManifestEntry) -> Result<(), ManifestError> {
        let described = match entry {
            ManifestEntry::Path(path) => DescribedEntry { path, ..DescribedEntry::default() },
            ManifestEntry::Described(described) => described,
            ManifestEntry::Connection(ConnectionEntry { preconnect, crossorigin }) => {
                let place = ManifestPlace::parse(&preconnect).ok().filter(|place| place.path == "/");
                let Some((scheme, host)) = place.and_then(|place| place.origin) else {
                    return Err(ManifestError::Connection(preconnect));
                };
                let url = format!("{}://{host}", scheme.name());
                self.connections.push(Preconnect { url, anonymous: crossorigin });
                return Ok(());
            }
        };
        self.mentions.push(described.try_into()?);
        Ok(())
    }
}

impl TryFrom<DescribedEntry> for Mention {
    type Error = ManifestError;

    fn try_from(entry: DescribedEntry) -> Result<Mention, ManifestError> {
        let DescribedEntry { path, urgency, destination: stated, crossorigin } = entry;
        let priority = urgency.map_or_else(Priority::default, |urgency| Priority::at(urgency.get() as u8));
        let place = ManifestPlace::parse(&path)?;
        let destination = stated.or_else(|| destination(&place.path));
        let is_cors = crossorigin.unwrap_or_else(|| destination.is_some_and(Destination::is_cors));
        Ok(Mention { place, priority, destination, is_cors })
    }
}

impl ManifestPlace {
    fn parse(text: &str) -> Result<ManifestPlace, ManifestError> {
        let wrong = || ManifestError::Place(text.to_owned());
        // It goes into heads, and into the quotes of a Link field.
        if text.bytes().any(|byte| !(b'!'..=b'~').contains(&byte) || b"<>\"".contains(&byte)) {
            return Err(wrong());
        }
        if text.starts_with('/') && !text.starts_with("//") {
            return Ok(ManifestPlace { origin: None, path: text.to_owned() });
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let scheme = [Scheme::Http, Scheme::Https].into_iter().find(|it| it.name() == scheme).ok_or_else(wrong)?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if host.is_empty() || host.contains(['?', '#', '@']) {
            return Err(wrong());
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(ManifestPlace { origin: Some((scheme, host.to_ascii_lowercase())), path: path.to_owned() })
    }
}

impl Manifest {
    /// What is listed for the answer to `request`.
    fn listed_for(&self, request: &RequestHead) -> Option<&Announcement> {
        if self.0.is_empty() {
            return None;
        }
        let path = std::str::from_utf8(&request.path).ok()?;
        let authority = String::from_utf8_lossy(&request.authority).to_ascii_lowercase();
        let at = |host: Option<&str>| self.0.get(&(host.map(str::to_owned), path.to_owned()));
        // A server of another port stands for the recorded one.
        let hosts = [Some(&authority[..]), Some(name_of(&authority)), None];
        hosts.into_iter().find_map(at)
    }

    /// All resources that are listed, as they would be asked for.
    pub(super) fn listed(&self) -> impl Iterator<Item = RequestHead> {
        let of_host = |(host, announcement): (&Option<String>, &Announcement)| {
            let host = host.clone().unwrap_or_default();
            announcement
                .mentions
                .iter()
                .map(|mention| mention.request(&RequestHead::get(&host, "/", Fields::default())))
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(move |((host, _), announcement)| of_host((host, announcement)))
    }

    /// The pushes for the answer to `request`.
    pub(super) fn pushes(&self, request: &RequestHead) -> Vec<Pushed> {
        let pushed =
            |mention: &Mention| Pushed { request: Arc::new(mention.request(request)), priority: mention.priority };
        self.listed_for(request).map_or(Vec::new(), |listed| listed.mentions.iter().map(pushed).collect())
    }

    /// The same, and connections, as an interim response (RFC 8297).
    pub(super) fn hint(&self, request: &RequestHead) -> Option<Arc<ResponseHead>> {
        let listed = self.listed_for(request)?;
        let hints = listed.hints(request);
        let is_any = !hints.is_empty() || !listed.connections.is_empty();
        is_any.then(|| Arc::new(Hint::early(&hints, &listed.connections)))
    }

    /// The same as the value of `X-Subresource`, which clients of SPDY ask for, and which knows no connections.
    pub(super) fn subresources(&self, request: &RequestHead) -> Option<String> {
        let hints = self.listed_for(request)?.hints(request);
        (!hints.is_empty()).then(|| Hint::subresources(&hints))
    }
}

impl Announcement {
    fn hints(&self, request: &RequestHead) -> Vec<Hint> {
        let hint = |mention: &Mention| Hint {
            url: mention.place.url(request),
            destination: mention.destination,
            is_cors: mention.is_cors,
            media_type: mime_guess::from_path(mention.place.file()).first_or_octet_stream().essence_str().to_owned(),
        };
        self.mentions.iter().map(hint).collect()
    }
}

impl Mention {
    /// The request for it that is promised with the answer to `parent`.
    fn request(&self, parent: &RequestHead) -> RequestHead {
        let (scheme, authority) = self.place.origin(parent);
        let path = Bytes::copy_from_slice(self.place.path.as_bytes());
        RequestHead::new(Bytes::from_static(b"GET"), authority, path, Fields::default()).over(scheme)
    }
}

impl ManifestPlace {
    /// Its origin with the answer to `request`: at the same port, if it is the same host.
    fn origin(&self, request: &RequestHead) -> (Scheme, Bytes) {
        match &self.origin {
            Some((scheme, host)) if !is_same_name(host, &request.authority) => {
                (*scheme, host.clone().into_bytes().into())
            }
            _ => (request.scheme, request.authority.clone()),
        }
    }

    /// How a field refers to it.
    fn url(&self, request: &RequestHead) -> String {
        match &self.origin {
            Some((scheme, host)) if !is_same_name(host, &request.authority) => {
                format!("{}://{host}{}", scheme.name(), self.path)
            }
            _ => self.path.clone(),
        }
    }

    /// The path without its query.
    fn file(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

fn is_same_name(host: &str, authority: &[u8]) -> bool {
    let authority = String::from_utf8_lossy(authority).to_ascii_lowercase();
    name_of(host) == name_of(&authority)
}

/// What a resource is fetched for, by the ending of its path.
fn destination(path: &str) -> Option<Destination> {
    let kind = mime_guess::from_path(path.split('?').next().unwrap_or_default()).first()?;
    match (kind.type_(), kind.subtype()) {
        (mime::TEXT, mime::CSS) => Some(Destination::Style),
        (_, mime::JAVASCRIPT) => Some(Destination::Script),
        (mime::IMAGE, _) => Some(Destination::Image),
        (mime::FONT, _) => Some(Destination::Font),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(json: &str) -> Manifest {
        serde_json::from_str(json).unwrap()
    }

    fn get(authority: &str, path: &str) -> RequestHead {
        RequestHead::get(authority, path, Fields::default())
    }

    fn pushed(manifest: &Manifest, request: &RequestHead) -> Vec<String> {
        let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
        let line = |pushed: Pushed| format!("{}{}", text(&pushed.request.authority), text(&pushed.request.path));
        manifest.pushes(request).into_iter().map(line).collect()
    }

    #[test]
    fn what_is_listed_for_a_path_is_pushed_from_the_host_that_was_asked() {
        let manifest = manifest(r#"{"/": ["/a.css", {"path": "/b.js", "urgency": 1}], "/other": []}"#);
        assert_eq!(pushed(&manifest, &get("localhost:4433", "/")), ["localhost:4433/a.css", "localhost:4433/b.js"]);
        let urgencies = manifest.pushes(&get("a.test", "/")).into_iter().map(|pushed| pushed.priority.urgency());
        assert_eq!(urgencies.collect::<Vec<_>>(), [3, 1]);
        assert!(pushed(&manifest, &get("a.test", "/other")).is_empty());
        assert!(pushed(&manifest, &get("a.test", "/a.css")).is_empty());
    }

    #[test]
    fn with_several_hosts_each_has_its_own_list_whatever_port_the_server_has() {
        let manifest = manifest(
            r#"{"https://www.a.test/": ["https://www.a.test/a.css", "https://cdn.test/1.png"], "/": ["/x.js"]}"#,
        );
        let expected = ["www.a.test:4433/a.css", "cdn.test/1.png"];
        assert_eq!(pushed(&manifest, &get("www.a.test:4433", "/")), expected);
        assert_eq!(pushed(&manifest, &get("b.test", "/")), ["b.test/x.js"]);
    }

    #[test]
    fn hints_say_where_and_what_for_rfc8297() {
        let manifest = manifest(r#"{"/": ["/a.css", "/b.js?1", "/c.bin", "https://cdn.test/d.woff2"]}"#);
        let hint = manifest.hint(&get("a.test", "/")).unwrap();
        assert_eq!(hint.status, 103);
        let link = String::from_utf8(hint.fields.get(b"link").unwrap().to_vec()).unwrap();
        let expected = "</a.css>; rel=preload; as=style, </b.js?1>; rel=preload; as=script, </c.bin>; rel=preload, \
                        <https://cdn.test/d.woff2>; rel=preload; as=font; crossorigin";
        assert_eq!(link, expected);
        let subresources = manifest.subresources(&get("a.test", "/")).unwrap();
        assert!(subresources.starts_with("text/css; /a.css; "), "{subresources}");
        assert!(subresources.ends_with("; font/woff2; https://cdn.test/d.woff2"), "{subresources}");
        assert!(manifest.hint(&get("a.test", "/a.css")).is_none());
    }

    #[test]
    fn connections_are_hinted_and_never_pushed() {
        let manifest = manifest(
            r#"{"/": [{"preconnect": "https://CDN.test"}, "/a.css", {"preconnect": "http://b.test:81/", "crossorigin": true}],
                "/b": [{"preconnect": "https://cdn.test"}]}"#,
        );
        let links = |path: &str| -> Vec<String> {
            let hint = manifest.hint(&get("a.test", path)).unwrap();
            hint.fields.iter().map(|(_, value)| String::from_utf8(value.to_vec()).unwrap()).collect()
        };
        let expected = [
            "</a.css>; rel=preload; as=style",
            "<https://cdn.test>; rel=preconnect, <http://b.test:81>; rel=preconnect; crossorigin",
        ];
        assert_eq!(links("/"), expected);
        assert_eq!(links("/b"), ["<https://cdn.test>; rel=preconnect"]);
        assert_eq!(pushed(&manifest, &get("a.test", "/")), ["a.test/a.css"]);
        assert_eq!(manifest.subresources(&get("a.test", "/b")), None);
        assert_eq!(manifest.listed().count(), 1, "of a connection there is nothing to look for");
    }

    #[test]
    fn what_is_no_manifest_is_refused_with_the_remedy() {
        for (json, remedy) in [
            (r#"{"": ["/a"]}"#, "write /path or https://host/path"),
            (r#"{"/": ["a.css"]}"#, "'a.css' is neither"),
            (r#"{"/": ["//a.test/"]}"#, "neither"),
            (r#"{"/": ["/a>b"]}"#, "neither"),
            (r#"{"/": ["/a\nb"]}"#, "neither"),
            (r#"{"/": ["ftp://a.test/"]}"#, "neither"),
            (r#"{"/": ["https://a@b/"]}"#, "neither"),
            (r#"{"/": [{"path": "/a", "urgency": 8}]}"#, ""),
            (r#"{"/": [{"path": "/a", "urgent": 1}]}"#, ""),
            (r#"{"/": [{"preconnect": "/a"}]}"#, "write https://host"),
            (r#"{"/": [{"preconnect": "https://a.test/b"}]}"#, "'https://a.test/b' is not where"),
            (r#"{"/": [{"preconnect": "https://a.test", "path": "/b"}]}"#, ""),
            (r#"["/"]"#, ""),
        ] {
            let error = serde_json::from_str::<Manifest>(json).unwrap_err().to_string();
            assert!(error.contains(remedy), "{json}: {error}");
        }
        let many: Vec<String> = (0..101).map(|at| format!("/{at}")).collect();
        let error = serde_json::from_value::<Manifest>(serde_json::json!({"/": many})).unwrap_err();
        assert!(error.to_string().contains("at most 100"), "{error}");
    }
}
