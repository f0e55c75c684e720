//! What a server tells a client of objects that it has not asked for: pushes and hints, as a policy.

use crate::hint::{Destination, Hint};
use crate::page::{Activity, ActivityId, Fetch, Host, HostId, LOAD_EVENT, Page, Preconnect};
use loadstone_http::{Fields, ResponseHead};
use loadstone_units::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What servers push, and what they hint at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Foresight {
    /// Objects that servers push with a response (SPDY, HTTP/2): those embedded in it, of these only the ones that
    /// others wait for (`dependencies`), all, or those that the page lists.
    pub push: Scope,
    /// Levels of embedding that are pushed: with 2, also what is embedded in an object that is embedded in the
    /// response.
    pub push_levels: Bounded<1, 16>,
    /// Objects that servers announce, so that the client requests them early; the values are those of `push`.
    pub hint: Scope,
    /// Hosts to which the first response tells the client to open connections, by Link: none, or all hosts of the
    /// page.
    pub preconnect: PreconnectTo,
    /// How servers announce objects: by a 103 (Early Hints) response, or in the response by its field Link or
    /// X-Subresource.
    pub hint_by: HintBy,
}

/// To which hosts a client is told to open connections ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreconnectTo {
    /// To none.
    #[default]
    Nothing,
    /// To all that the page has besides its document's.
    Hosts,
}

/// Which objects of the same server a response brings along. Objects of other servers never do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// None.
    #[default]
    Nothing,
    /// Those that stand in this object (`nsdi` 5.3.3: one level of embedding).
    Embedded,
    /// Of those, the ones that other objects wait for (`nsdi` 5.3.3: by dependency).
    Dependencies,
    /// With the first object of the page on this server, all others.
    All,
    /// What the page lists: with each object those that name it in `pushed_with`.
    Listed,
}

impl Default for Foresight {
    /// Nothing is pushed and nothing hinted at.
    fn default() -> Foresight {
        let (push, hint, hint_by) = (Scope::default(), Scope::default(), HintBy::default());
        Foresight { push, push_levels: Bounded::known(1), hint, preconnect: PreconnectTo::Nothing, hint_by }
    }
}

impl Foresight {
    /// Whether a client has to follow what responses tell.
    pub fn is_told(self) -> bool {
        self.hint != Scope::Nothing || self.preconnect != PreconnectTo::Nothing
    }

    /// The places of the objects of which a response 103 to the first request tells.
    pub fn hinted_early(self, page: &Page) -> BTreeSet<usize> {
        if self.hint_by != HintBy::EarlyHints {
            return BTreeSet::new();
        }
        let mut by_response = by_response(page, self.hint, 1, TellsOf::AnyHost);
        let told = by_response.remove(&ActivityId(0)).unwrap_or_default().into_iter();
        told.filter(|object| is_preloadable(page.fetch(*object))).map(|object| object.0 as usize).collect()
    }
}

/// How a client is told what to fetch by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HintBy {
    /// `Link: <...>; rel=preload` in a response 103 that comes before the server thinks (RFC 8297), with the page's
    /// first object alone; SPDY has no such responses, and there nothing is said.
    #[default]
    EarlyHints,
    /// `Link: <...>; rel=preload` in the head of the response.
    Link,
    /// `X-Subresource: TYPE; URL; ...` in the head of the response, as SPDY's server hint had it.
    Subresource,
}

/// What the servers of a page tell ahead.
#[derive(Debug, Default)]
pub(crate) struct Foreseen {
    pushes: BTreeMap<ActivityId, Vec<ActivityId>>,
    hints: BTreeMap<ActivityId, Arc<ResponseHead>>,
    /// The heads of responses in which hints stand.
    heads: BTreeMap<ActivityId, Arc<ResponseHead>>,
}

impl Foreseen {
    pub(crate) fn new(page: &Page, foresight: Foresight) -> Foreseen {
        let mut pushes = by_response(page, foresight.push, foresight.push_levels.get(), TellsOf::OwnHost);
        for (object, fetch) in (0..).map(ActivityId).zip(page.fetches()).filter(|(_, (_, fetch))| fetch.is_ahead) {
            if let Some(with) = fetch.1.pushed_with.filter(|with| page.fetch(*with).host == fetch.1.host) {
                pushes.entry(with).or_default().push(object);
            }
        }
        let mut foreseen = Foreseen { pushes, ..Foreseen::default() };
        let by_link = foresight.hint_by != HintBy::Subresource;
        let tells_of = if by_link { TellsOf::AnyHost } else { TellsOf::OwnHost };
        let mut told = by_response(page, foresight.hint, 1, tells_of);
        let mut connections = connections(page, foresight.preconnect);
        if !connections.is_empty() {
            told.entry(ActivityId(0)).or_default();
        }
        for (object, mut hinted) in told {
            if by_link {
                hinted.retain(|object| is_preloadable(page.fetch(*object)));
            }
            // Browsers read Early Hints of navigations alone.
            if object != ActivityId(0) && foresight.hint_by == HintBy::EarlyHints {
                continue;
            }
            let hints = references(page, page.fetch(object).host, &hinted);
            let connections = std::mem::take(&mut connections);
            let fields = match foresight.hint_by {
                HintBy::EarlyHints | HintBy::Link => Hint::link_fields(&hints, &connections),
                HintBy::Subresource => {
                    let subresources = Some(Hint::subresources(&hints)).filter(|value| !value.is_empty());
                    let subresources = subresources.map(|value| ("x-subresource", value));
                    subresources.into_iter().chain(Hint::link_fields(&[], &connections)).collect()
                }
            };
            if fields.is_empty() {
                continue;
            }
            if foresight.hint_by == HintBy::EarlyHints {
                foreseen.hints.insert(object, Arc::new(ResponseHead::new(103, Fields::from_pairs(fields))));
            } else {
                let response = &page.fetch(object).response;
                let more = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
                let fields = Fields::from_pairs(response.fields.iter().chain(more));
                foreseen.heads.insert(object, Arc::new(ResponseHead::new(response.status, fields)));
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

/// What a server tells ahead with a response.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Announced {
    /// An object.
    Object(AnnouncedObject),
    /// A connection to open.
    Connection(AnnouncedConnection),
}

/// An object that a server tells of, by its URL.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AnnouncedObject {
    /// Where it is.
    #[serde(rename = "path")]
    pub url: String,
    /// How urgent it is, 0 (most) to 7.
    pub urgency: u8,
    /// What it is fetched for, if browsers preload such things.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// Whether it is fetched by CORS.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub crossorigin: bool,
}

/// A connection that a server tells to open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AnnouncedConnection {
    /// To which origin.
    pub preconnect: String,
    /// Whether it is for requests without credentials.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub crossorigin: bool,
}

/// With the URL of each response, what servers push by this policy; if they push nothing, what they hint at by Link, first
/// connections, then objects. Of several objects of one URL only the first is there: a server does not know which is meant.
pub fn announced(page: &Page, foresight: Foresight) -> BTreeMap<String, Vec<Announced>> {
    let is_hinted = foresight.push == Scope::Nothing;
    let url = |object: ActivityId| (!page.fetch(object).is_renamed).then(|| url(page, object));
    let one = |object: ActivityId| {
        let fetch = page.fetch(object);
        let destination = destination(&fetch.kind);
        let is_told = !is_hinted || destination.is_some();
        let (url, urgency) = (url(object).filter(|_| is_told)?, fetch.priority.urgency());
        Some(Announced::Object(AnnouncedObject { url, urgency, destination, crossorigin: is_cors(fetch) }))
    };
    let by_response = if is_hinted {
        by_response(page, foresight.hint, 1, TellsOf::AnyHost)
    } else {
        by_response(page, foresight.push, foresight.push_levels.get(), TellsOf::OwnHost)
    };
    let hinted_connections = if is_hinted { connections(page, foresight.preconnect) } else { Vec::new() };
    let connection = |Preconnect { url, anonymous }| {
        Announced::Connection(AnnouncedConnection { preconnect: url, crossorigin: anonymous })
    };
    let mut announced: BTreeMap<String, Vec<Announced>> = BTreeMap::new();
    if let Some(root) = url(ActivityId(0)).filter(|_| !hinted_connections.is_empty()) {
        announced.insert(root, hinted_connections.into_iter().map(connection).collect());
    }
    for (with, told) in by_response {
        let told: Vec<Announced> = told.into_iter().filter_map(one).collect();
        if let Some(with) = url(with).filter(|_| !told.is_empty()) {
            announced.entry(with).or_default().extend(told);
        }
    }
    announced
}

/// Of whose objects a server tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TellsOf {
    OwnHost,
    AnyHost,
}

/// Which objects are told of with which response, in page order.
fn by_response(page: &Page, scope: Scope, levels: u32, tells_of: TellsOf) -> BTreeMap<ActivityId, Vec<ActivityId>> {
    let host = |object: ActivityId| page.fetch(object).host;
    let is_in_reach = |of: ActivityId, object: ActivityId| tells_of == TellsOf::AnyHost || host(of) == host(object);
    let awaited = if scope == Scope::Dependencies { awaited(page) } else { BTreeSet::new() };
    // The outermost text around an object, of so many.
    let outer_text = |object: ActivityId| {
        let around = |text: &ActivityId| page.text_of(*text).filter(|outer| is_in_reach(*outer, object));
        std::iter::successors(around(&object), around).take(levels as usize).last()
    };
    let with = |object: ActivityId| match scope {
        Scope::Nothing => None,
        Scope::Embedded => outer_text(object),
        Scope::Dependencies => outer_text(object).filter(|_| awaited.contains(&object)),
        Scope::All => objects(page).find(|first| is_in_reach(*first, object)).filter(|first| *first != object),
        Scope::Listed => page.fetch(object).pushed_with.filter(|with| is_in_reach(*with, object)),
    };
    let mut by_response: BTreeMap<ActivityId, Vec<ActivityId>> = BTreeMap::new();
    for object in objects(page) {
        if let Some(with) = with(object) {
            by_response.entry(with).or_default().push(object);
        }
    }
    by_response
}

/// What other objects wait for, themselves or by what is computed before; but what only the load event waits for is
/// awaited by nothing that comes after it.
fn awaited(page: &Page) -> BTreeSet<ActivityId> {
    let needs = |activity: &Activity| activity.needs.iter().map(|need| need.on).collect::<Vec<_>>();
    let mut next: Vec<ActivityId> = page.fetches().flat_map(|(activity, _)| needs(activity)).collect();
    let mut awaited = BTreeSet::new();
    while let Some(before) = next.pop() {
        let activity = &page.activities[before.0 as usize];
        if activity.name != LOAD_EVENT && awaited.insert(before) {
            next.extend(needs(activity));
        }
    }
    awaited
}

/// The page's own objects that a client could ask for without content: only these are told of.
fn objects(page: &Page) -> impl Iterator<Item = ActivityId> + '_ {
    let is_plain = |fetch: &Fetch| fetch.request.method == "GET" && fetch.upload.len == 0;
    let is_told = move |fetch: &Fetch| is_plain(fetch) && !fetch.is_ahead;
    (0..).map(ActivityId).zip(page.fetches()).filter(move |(_, (_, fetch))| is_told(fetch)).map(|(id, _)| id)
}

/// The connections that a page's first response tells of, in page order: to other hosts than its own. Frames of other sites
/// have connections of their own, which their documents ask for.
fn connections(page: &Page, to: PreconnectTo) -> Vec<Preconnect> {
    if to == PreconnectTo::Nothing {
        return Vec::new();
    }
    let own = page.fetch(ActivityId(0)).host.0 as usize;
    let others = page.hosts.iter().enumerate().filter(|(at, host)| *at != own && host.partition.is_none());
    let connection = |(_, host): (usize, &Host)| Preconnect { url: host.origin(), anonymous: host.anonymous };
    others.map(connection).collect()
}

/// How a server of `host` refers to objects.
fn references(page: &Page, host: HostId, objects: &[ActivityId]) -> Vec<Hint> {
    let reference = |object: &ActivityId| {
        let fetch = page.fetch(*object);
        let own = || String::from_utf8_lossy(&fetch.request.path).into_owned();
        Hint {
            url: if fetch.host == host { own() } else { url(page, *object) },
            destination: destination(&fetch.kind),
            is_cors: is_cors(fetch),
            media_type: media_type(&fetch.kind).to_owned(),
        }
    };
    objects.iter().map(reference).collect()
}

/// Where an object is.
fn url(page: &Page, object: ActivityId) -> String {
    let fetch = page.fetch(object);
    let host = &page.hosts[fetch.host.0 as usize];
    format!("{}{}", host.origin(), String::from_utf8_lossy(&fetch.request.path))
}

/// Whether an object is fetched by CORS: as its request says (Fetch Metadata, `Sec-Fetch-Mode`), else by its kind. That
/// is so of scripts that are modules.
fn is_cors(fetch: &Fetch) -> bool {
    let mode = fetch.request.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"sec-fetch-mode"));
    mode.map_or_else(|| destination(&fetch.kind).is_some_and(Destination::is_cors), |(_, mode)| mode == b"cors")
}

/// Whether Link can tell of an object: what it is fetched for is known, and its URL means no other one.
fn is_preloadable(fetch: &Fetch) -> bool {
    !fetch.is_renamed && destination(&fetch.kind).is_some()
}

/// What objects of a kind are fetched for; none for documents, which browsers do not preload.
pub(crate) fn destination(kind: &str) -> Option<Destination> {
    Some(match kind {
        "html" => return None,
        "css" => Destination::Style,
        "js" => Destination::Script,
        "image" => Destination::Image,
        "font" => Destination::Font,
        _ => Destination::Fetch,
    })
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
    use crate::page::{ObjectSpec, PageFile};

    fn file() -> PageFile {
        let json = br#"{"objects": [
            {"url": "https://a.test/", "bytes": 10, "kind": "html"},
            {"url": "https://a.test/a.css", "bytes": 10, "kind": "css"},
            {"url": "https://a.test/b.js", "bytes": 10, "kind": "js", "needs": [{"node": "parse"}],
             "pushed_with": "https://a.test/a.css"},
            {"url": "https://b.test/c.png", "bytes": 10, "kind": "image", "pushed_with": "https://a.test/"},
            {"url": "https://a.test/d.woff", "bytes": 10, "kind": "font", "needs": [{"node": "https://a.test/a.css"}],
             "pushed_with": "https://b.test/c.png"},
            {"url": "https://a.test/e,f.png", "bytes": 10, "kind": "image"}],
            "compute": [{"name": "parse", "ms": 5, "needs": [{"node": "https://a.test/"}]}]}"#;
        PageFile::from_json(json).unwrap()
    }

    fn page() -> Page {
        file().build().unwrap()
    }

    fn pushed(scope: Scope, levels: u32) -> Vec<(u32, Vec<u32>)> {
        let numbers = |objects: Vec<ActivityId>| objects.into_iter().map(|object| object.0).collect();
        by_response(&page(), scope, levels, TellsOf::OwnHost)
            .into_iter()
            .map(|(parent, objects)| (parent.0, numbers(objects)))
            .collect()
    }

    #[test]
    fn each_scope_has_its_objects_of_the_same_server_in_page_order() {
        assert_eq!(pushed(Scope::Nothing, 1), []);
        assert_eq!(pushed(Scope::Embedded, 1), [(0, vec![1, 2, 5]), (1, vec![4])]);
        assert_eq!(pushed(Scope::Dependencies, 1), [(0, vec![1])], "the font alone waits for something");
        assert_eq!(pushed(Scope::All, 1), [(0, vec![1, 2, 4, 5])]);
        assert_eq!(
            pushed(Scope::Listed, 1),
            [(1, vec![2])],
            "the picture is of another server, and so is what brings the font"
        );
    }

    #[test]
    fn what_only_computing_or_the_load_event_waits_for_is_no_dependency() {
        let mut file = file();
        let waits = |name: &str, on: &str| -> crate::page::ComputeSpec {
            serde_json::from_value(serde_json::json!({"name": name, "ms": 1, "needs": [{"node": on}]})).unwrap()
        };
        let e = "https://a.test/e,f.png";
        file.compute.extend([waits("receive", e), waits("load event", "receive")]);
        let late = serde_json::json!({"url": "https://a.test/late.js", "bytes": 1, "needs": [{"node": "load event"}]});
        file.objects.push(serde_json::from_value(late).unwrap());
        let told = |file: &PageFile| by_response(&file.build().unwrap(), Scope::Dependencies, 1, TellsOf::OwnHost);
        assert_eq!(told(&file)[&ActivityId(0)], [ActivityId(1)], "the style sheet, for which the font waits");
        file.objects[6].needs.as_mut().unwrap()[0].node = "receive".to_owned();
        assert_eq!(told(&file)[&ActivityId(0)], [ActivityId(1), ActivityId(5)]);
    }

    #[test]
    fn down_to_the_second_level_the_root_brings_what_its_style_sheet_embeds() {
        assert_eq!(pushed(Scope::Embedded, 2), [(0, vec![1, 2, 4, 5])]);
        assert_eq!(pushed(Scope::Dependencies, 2), pushed(Scope::Dependencies, 1));
    }

    #[test]
    fn what_is_announced_has_urls_and_each_once() {
        let mut file = file();
        let again = ObjectSpec { name: Some("again".to_owned()), ..file.objects[1].clone() };
        file.objects.push(again);
        let foresight = Foresight { push: Scope::Embedded, ..Foresight::default() };
        let announced = announced(&file.build().unwrap(), foresight);
        let said = |(with, listed): (&String, &Vec<Announced>)| {
            let listed = listed.iter().map(|one| match one {
                Announced::Object(AnnouncedObject { url, urgency, .. }) => format!("{url} {urgency}"),
                Announced::Connection(_) => panic!("{one:?}: nobody asked for it"),
            });
            format!("{with}: {}", listed.collect::<Vec<_>>().join(", "))
        };
        let expected = [
            "https://a.test/: https://a.test/a.css 0, https://a.test/b.js 1, https://a.test/e,f.png 3",
            "https://a.test/a.css: https://a.test/d.woff 1",
        ];
        assert_eq!(announced.iter().map(said).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn connections_are_announced_before_objects_and_with_no_push() {
        let mut file = file();
        file.objects[3].anonymous = true;
        let page = file.build().unwrap();
        let foresight = Foresight { preconnect: PreconnectTo::Hosts, hint: Scope::Listed, ..Foresight::default() };
        let written = serde_json::to_value(announced(&page, foresight)).unwrap();
        let expected = serde_json::json!([
            {"preconnect": "https://b.test", "crossorigin": true},
            {"path": "https://b.test/c.png", "urgency": 3, "as": "image"},
        ]);
        assert_eq!(written["https://a.test/"], expected);
        let pushed = announced(&page, Foresight { push: Scope::Embedded, ..foresight });
        let is_object = |one: &Announced| matches!(one, Announced::Object(_));
        assert!(pushed.values().flatten().all(is_object), "{pushed:?}");
    }

    #[test]
    fn what_a_server_hints_at_is_what_a_client_reads_rfc8288() {
        let page = Arc::new(page());
        let links = (&["/a.css", "/b.js", "https://b.test/c.png", "/e,f.png"][..], &[1, 2, 3, 5][..]);
        let own = (&["/a.css", "/b.js", "/e,f.png"][..], &[1, 2, 5][..]);
        for (hint_by, (urls, objects)) in
            [(HintBy::EarlyHints, links), (HintBy::Link, links), (HintBy::Subresource, own)]
        {
            let foresight = Foresight { hint: Scope::Embedded, hint_by, ..Foresight::default() };
            let foreseen = Foreseen::new(&page, foresight);
            let head = foreseen.hint(ActivityId(0)).or(foreseen.head(ActivityId(0))).unwrap();
            let read = hinted(head);
            assert!(read.iter().eq(urls.iter().map(|url| url.as_bytes())), "{hint_by:?}: {read:?}");
            let found = read.iter().map(|url| page.find_referred(HostId(0), url).unwrap().0);
            assert!(found.eq(objects.iter().copied()), "{hint_by:?}");
            assert_eq!(head.status, if hint_by == HintBy::EarlyHints { 103 } else { 200 });
        }
    }

    #[test]
    fn nobody_preloads_documents_and_reads_early_hints_of_subresources() {
        let frame =
            br#"{"objects": [{"url": "https://a.test/", "bytes": 10}, {"url": "https://a.test/f.html", "bytes": 10},
            {"url": "https://a.test/f.png", "bytes": 10, "needs": [{"node": "https://a.test/f.html"}]}]}"#;
        let page = PageFile::from_json(frame).unwrap().build().unwrap();
        let with = |hint_by| {
            let foreseen = Foreseen::new(&page, Foresight { hint: Scope::Embedded, hint_by, ..Foresight::default() });
            [0, 1].map(|at| foreseen.hint(ActivityId(at)).is_some() || foreseen.head(ActivityId(at)).is_some())
        };
        assert_eq!(with(HintBy::EarlyHints), [false, false]);
        assert_eq!(with(HintBy::Link), [false, true]);
        assert_eq!(with(HintBy::Subresource), [true, true]);
    }
}
