//! What a server tells a client of objects that it has not asked for: pushes and hints, as a policy.

use crate::hint::Hint;
use crate::page::{ActivityId, HostId, Page};
use loadstone_http::{Fields, ResponseHead};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What servers push, and what they hint at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Foresight {
    /// What servers push with a response (SPDY, HTTP/2).
    pub push: Scope,
    /// What servers tell the client to fetch by itself.
    pub hint: Scope,
    /// How they tell it: by a response 103, by Link or by X-Subresource in the response.
    pub hint_by: HintBy,
}

/// Which objects of the same server a response brings along. Objects of other servers never do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// None.
    #[default]
    Nothing,
    /// Those that wait for something of this object itself (`nsdi` 5.3.3: one level of embedding).
    Embedded,
    /// Of those, the ones that others wait for (`nsdi` 5.3.3: by dependency).
    Dependencies,
    /// With the first object of the page on this server, all others.
    All,
}

/// How a client is told what to fetch by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HintBy {
    /// `Link: <...>; rel=preload` in a response 103 that comes before the server thinks (RFC 8297); SPDY
    /// has no such responses, and there nothing is said.
    #[default]
    EarlyHints,
    /// `Link: <...>; rel=preload` in the head of the response.
    Link,
    /// `X-Subresource: TYPE; URL; ...` in the head of the response, as SPDY's server hint had it.
    Subresource,
}

/// What one server of a page tells ahead.
#[derive(Debug, Default)]
pub(crate) struct Foreseen {
    pushes: BTreeMap<ActivityId, Vec<ActivityId>>,
    hints: BTreeMap<ActivityId, Arc<ResponseHead>>,
    /// The heads of responses in which hints stand.
    heads: BTreeMap<ActivityId, Arc<ResponseHead>>,
}

impl Foreseen {
    pub(crate) fn new(page: &Page, host: HostId, foresight: Foresight) -> Foreseen {
        let mut foreseen = Foreseen { pushes: by_response(page, host, foresight.push), ..Foreseen::default() };
        for (object, hinted) in by_response(page, host, foresight.hint) {
            let response = &page.fetch(object).response;
            let extended = |field: (&str, String)| {
                let field = [(field.0.as_bytes(), field.1.as_bytes())];
                Arc::new(ResponseHead::new(response.status, Fields::from_pairs(response.fields.iter().chain(field))))
            };
            let hints = references(page, &hinted);
            match foresight.hint_by {
                HintBy::EarlyHints => drop(foreseen.hints.insert(object, Arc::new(Hint::early(&hints)))),
                HintBy::Link => drop(foreseen.heads.insert(object, extended(("link", Hint::links(&hints))))),
                HintBy::Subresource => {
                    drop(foreseen.heads.insert(object, extended(("x-subresource", Hint::subresources(&hints)))));
                }
            }
        }
        foreseen
    }

    pub(crate) fn pushes(&self, object: ActivityId) -> &[ActivityId] {
        self.pushes.get(&object).map_or(&[], Vec::as_slice)
    }

    /// The interim response that goes ahead of an object.
    pub(crate) fn hint(&self, object: ActivityId) -> Option<&Arc<ResponseHead>> {
        self.hints.get(&object)
    }

    /// The head of an object's response, if it is not the page's.
    pub(crate) fn head(&self, object: ActivityId) -> Option<&Arc<ResponseHead>> {
        self.heads.get(&object)
    }
}

/// Which objects of `host` are pushed or hinted with which, in page order.
fn by_response(page: &Page, host: HostId, scope: Scope) -> BTreeMap<ActivityId, Vec<ActivityId>> {
    let mut by_response: BTreeMap<ActivityId, Vec<ActivityId>> = BTreeMap::new();
    let ours: Vec<ActivityId> = objects_of(page, host).collect();
    if scope == Scope::All {
        if let [first, rest @ ..] = &ours[..] {
            by_response.insert(*first, rest.to_vec());
        }
        return by_response;
    }
    let is_awaited =
        |object: ActivityId| page.activities.iter().any(|other| other.needs.iter().any(|need| need.on == object));
    for object in ours {
        let wanted = match scope {
            Scope::Nothing | Scope::All => false,
            Scope::Embedded => true,
            Scope::Dependencies => is_awaited(object),
        };
        if wanted && let Some(parent) = parent(page, object).filter(|parent| page.fetch(*parent).host == host) {
            by_response.entry(parent).or_default().push(object);
        }
    }
    by_response
}

fn objects_of(page: &Page, host: HostId) -> impl Iterator<Item = ActivityId> + '_ {
    // Only what a client could ask for without content is told ahead.
    let is_ours = move |at: &u32| {
        let fetch = page.fetch(ActivityId(*at));
        fetch.host == host && fetch.request.method == "GET" && fetch.upload.len == 0
    };
    (0..page.objects as u32).filter(is_ours).map(ActivityId)
}

/// The object in which another stands: of those that it waits for, through whatever is computed between,
/// the last in page order.
fn parent(page: &Page, object: ActivityId) -> Option<ActivityId> {
    let mut waiting: Vec<ActivityId> = page.activities[object.0 as usize].needs.iter().map(|need| need.on).collect();
    let mut seen = Vec::new();
    let mut parent = None;
    while let Some(on) = waiting.pop() {
        if (on.0 as usize) < page.objects {
            parent = parent.max(Some(on));
        } else if !seen.contains(&on) {
            seen.push(on);
            waiting.extend(page.activities[on.0 as usize].needs.iter().map(|need| need.on));
        }
    }
    parent
}

/// How a server refers to objects of its own.
fn references(page: &Page, objects: &[ActivityId]) -> Vec<Hint> {
    let reference = |object: &ActivityId| {
        let fetch = page.fetch(*object);
        Hint {
            url: String::from_utf8_lossy(&fetch.request.path).into_owned(),
            destination: Some(destination(&fetch.kind)),
            media_type: media_type(&fetch.kind).to_owned(),
        }
    };
    objects.iter().map(reference).collect()
}

/// What the Fetch standard calls a kind.
fn destination(kind: &str) -> &'static str {
    match kind {
        "html" => "document",
        "css" => "style",
        "js" => "script",
        "image" => "image",
        "font" => "font",
        _ => "fetch",
    }
}

fn media_type(kind: &str) -> &'static str {
    match kind {
        "html" => "text/html",
        "css" => "text/css",
        "js" => "text/javascript",
        "image" => "image/*",
        "font" => "font/*",
        _ => "*/*",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::hinted;
    use crate::page::PageFile;

    fn page() -> Page {
        let json = br#"{"objects": [
            {"url": "https://a.test/", "bytes": 10, "kind": "html"},
            {"url": "https://a.test/a.css", "bytes": 10, "kind": "css"},
            {"url": "https://a.test/b.js", "bytes": 10, "kind": "js", "needs": [{"node": "parse"}]},
            {"url": "https://b.test/c.png", "bytes": 10, "kind": "image"},
            {"url": "https://a.test/d.woff", "bytes": 10, "kind": "font", "needs": [{"node": "https://a.test/a.css"}]},
            {"url": "https://a.test/e,f.png", "bytes": 10, "kind": "image"}],
            "compute": [{"name": "parse", "ms": 5, "needs": [{"node": "https://a.test/"}]}]}"#;
        PageFile::from_json(json).unwrap().build().unwrap()
    }

    fn pushed(scope: Scope) -> Vec<(u32, Vec<u32>)> {
        let numbers = |objects: Vec<ActivityId>| objects.into_iter().map(|object| object.0).collect();
        by_response(&page(), HostId(0), scope)
            .into_iter()
            .map(|(parent, objects)| (parent.0, numbers(objects)))
            .collect()
    }

    #[test]
    fn each_scope_has_its_objects_of_the_same_server_in_page_order() {
        assert_eq!(pushed(Scope::Nothing), []);
        assert_eq!(pushed(Scope::Embedded), [(0, vec![1, 2, 5]), (1, vec![4])]);
        assert_eq!(pushed(Scope::Dependencies), [(0, vec![1])], "the font alone waits for something");
        assert_eq!(pushed(Scope::All), [(0, vec![1, 2, 4, 5])]);
    }

    #[test]
    fn what_a_server_hints_at_is_what_a_client_reads_rfc8288() {
        let page = Arc::new(page());
        for hint_by in [HintBy::EarlyHints, HintBy::Link, HintBy::Subresource] {
            let foresight = Foresight { hint: Scope::Embedded, hint_by, ..Foresight::default() };
            let foreseen = Foreseen::new(&page, HostId(0), foresight);
            let head = foreseen.hint(ActivityId(0)).or(foreseen.head(ActivityId(0))).unwrap();
            assert_eq!(hinted(head), [&b"/a.css"[..], b"/b.js", b"/e,f.png"], "{hint_by:?}");
            assert_eq!(head.status, if hint_by == HintBy::EarlyHints { 103 } else { 200 });
        }
    }
}
