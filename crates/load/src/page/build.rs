//! From a page file to a page: every rule that a page has to obey is checked here, once.

use super::embedding;
use super::file::{
    ComputeSpec, DocumentSpec, HostSpec, LoadsSpec, Need, Needed, ObjectSpec, On, PageError, PageFile, Preconnect,
};
use super::heads::{self, TooSmall};
use super::merge::MOST_DEVIATION;
use super::{
    Activity, ActivityId, BroughtAhead, Dependency, Fetch, Host, HostId, Moment, Page, Raise, Task, Thread, Trigger,
};
use loadstone_http::{Body, BodyId, Priority, Scheme};
use loadstone_units::{Factors, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The most objects of a page.
const MAX_OBJECTS: usize = 20_000;
/// The largest body: 1 TB.
const MAX_BODY: u64 = 1_000_000_000_000;
/// The longest URL.
const MAX_URL: usize = 16 * 1024;
/// The largest head that a page may state.
const MAX_STATED_HEAD: u32 = 32 * 1024;
/// The longest computing: one hour.
const MAX_MS: f64 = 3_600_000.0;
/// The longest thinking of a server: less than what a browser waits for.
pub(super) const MAX_THINK_MS: f64 = 120_000.0;

/// A URL taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Url<'a> {
    pub(crate) secure: bool,
    pub(crate) authority: &'a str,
    pub(crate) path: &'a str,
}

/// Splits `host[:port]`; a colon within brackets belongs to an address (RFC 3986, section 3.2.2).
pub(crate) fn split_authority(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

impl<'a> Url<'a> {
    /// Splits `https://host[:port]/path?query#fragment`; the fragment is not part of a request.
    pub(crate) fn split(url: &'a str) -> Option<Url<'a>> {
        let (scheme, rest) = url.split_once("://")?;
        let secure = match scheme {
            s if s.eq_ignore_ascii_case("https") => true,
            s if s.eq_ignore_ascii_case("http") => false,
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let authority = authority.strip_suffix(if secure { ":443" } else { ":80" }).unwrap_or(authority);
        let plain = |text: &str| text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
        let usable = !authority.is_empty() && plain(authority) && plain(path) && url.len() <= MAX_URL;
        usable.then_some(Url { secure, authority, path })
    }

    /// Its origin (RFC 6454), in small letters.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", if self.secure { "https" } else { "http" }, self.authority.to_ascii_lowercase())
    }

    /// The target as a request line has it.
    fn target(&self) -> String {
        if self.path.starts_with('/') { self.path.to_owned() } else { format!("/{}", self.path) }
    }
}

impl PageFile {
    /// Reads a page file.
    ///
    /// # Errors
    /// If `text` is not JSON or has fields that a page file does not know.
    pub fn from_json(text: &[u8]) -> Result<PageFile, PageError> {
        Ok(json::from_slice(text)?)
    }

    /// Checks the page and makes it ready to be loaded.
    ///
    /// # Errors
    /// If the page breaks one of the rules of [`Page`] or of its own fields.
    pub fn build(&self) -> Result<Page, PageError> {
        self.build_with(HostsByName::of(self)?)
    }

    /// The same for a page that is visited after others: the hosts of those are the first, in the order of the visits.
    ///
    /// # Errors
    /// As for [`PageFile::build`].
    pub fn build_after(&self, earlier: &[PageFile]) -> Result<Page, PageError> {
        let mut hosts = HostsByName::of(self)?;
        for object in earlier.iter().flat_map(|before| &before.objects) {
            if let Some(url) = Url::split(&object.url) {
                hosts.id(&url, object.anonymous, object.partition.as_ref());
            }
        }
        self.build_with(hosts)
    }

    fn build_with(&self, mut hosts: HostsByName<'_>) -> Result<Page, PageError> {
        if self.objects.is_empty() {
            return Err(PageError::Empty);
        }
        for (what, found) in [("objects", self.objects.len()), ("compute nodes", self.compute.len())] {
            if found > MAX_OBJECTS {
                return Err(PageError::TooMany { what, found, limit: MAX_OBJECTS });
            }
        }
        let names = NodeNames::of(self)?;
        if self.objects[0].needs.as_ref().is_some_and(|needs| !needs.is_empty()) {
            return Err(PageError::RootWaits);
        }
        let mut activities = Vec::with_capacity(self.objects.len() + self.compute.len());
        for (index, object) in self.objects.iter().enumerate() {
            let document = self.document_of(object)?;
            let pushed_with = names.object(object.node(), object.pushed_with.as_deref(), self.objects.len())?;
            let task = Task::Fetch(Fetch { document, pushed_with, ..fetch(index, object, &mut hosts)? });
            let needs = names.needs(object.node(), object.needs.as_deref(), index == 0)?;
            let needed = if index == 0 { Needed::Always } else { object.needed.unwrap_or_default() };
            let name = object.node().to_owned();
            activities.push(Activity { key: key_of(&name), name, needs, any_need: false, needed, varies: None, task });
        }
        let (mut preconnects, mut view) = (BTreeMap::new(), Vec::new());
        for compute in &self.compute {
            let host = compute.preconnect.as_ref().and_then(|preconnect| hosts.known(preconnect));
            let id = ActivityId(activities.len() as u32);
            preconnects.extend(host.map(|host| (id, host)));
            view.extend(view_share(compute)?.map(|share| (id, share)));
            let ms = milliseconds(|| format!("compute node '{}'", compute.name), "ms", compute.ms)?;
            let needs = names.needs(&compute.name, compute.needs.as_deref(), false)?;
            let (key, name) = (Factors::key(&compute.name), compute.name.clone());
            let thread = if compute.main_thread { Thread::Main } else { Thread::Own };
            let needed = compute.needed.unwrap_or(Needed::Never);
            let varies = deviation(|| format!("compute node '{}'", compute.name), compute.deviation_percent)?;
            let (varies, task) = (self.loads.map(|_| varies), Task::Compute(ms, thread));
            let any_need = compute.any_need;
            activities.push(Activity { key, name, needs, any_need, needed, varies, task });
        }
        let body = |(document, spec): (&String, &DocumentSpec)| names.find(document, &spec.body);
        let bodies = self.documents.iter().map(body).collect::<Result<_, _>>()?;
        let raise = |(at, object): (usize, &ObjectSpec)| {
            let raised = object.raised.as_ref()?;
            let (object, urgency) = (ActivityId(at as u32), raised.urgency.get() as u8);
            Some(names.find(self.objects[at].node(), &raised.with).map(|with| Raise { object, urgency, with }))
        };
        let raises = self.objects.iter().enumerate().filter_map(raise).collect::<Result<_, _>>()?;
        let handshake = milliseconds(|| "the page".to_owned(), "handshake_ms", self.handshake_ms)?;
        let arrival = milliseconds(|| "the page".to_owned(), "arrival_ms", self.arrival_ms)?;
        let of_loads = |loads: LoadsSpec| deviation(|| "loads".to_owned(), loads.deviation_percent);
        let varies = self.loads.map(of_loads).transpose()?;
        let page = Page::new(hosts.list, activities, self.objects.len());
        let moments = Moment::ALL.map(|moment| names.compute(self, moment.name()));
        let page = Page {
            scheduling: self.scheduling,
            handshake,
            arrival,
            bodies,
            raises,
            varies,
            moments,
            view_pixels: self.view_pixels,
            view,
            preconnects,
            ahead: BroughtAhead::default(),
            ..page
        };
        acyclic(&page)?;
        Ok(Page { texts: embedding::texts(self, &page), ..page })
    }

    /// The place of the document that asks for an object.
    fn document_of(&self, object: &ObjectSpec) -> Result<Option<u32>, PageError> {
        let Some(document) = &object.document else { return Ok(None) };
        let place = self.documents.keys().position(|known| known == document);
        let unknown = || PageError::UnknownDocument { node: object.node().to_owned(), document: document.clone() };
        place.map(|at| Some(at as u32)).ok_or_else(unknown)
    }
}

impl ObjectSpec {
    /// What `needs` calls this object: its name, or its URL.
    pub fn node(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.url)
    }

    /// Puts the object elsewhere. What referred to it still finds it: without a name, it is now called by its old URL.
    pub(crate) fn move_to(&mut self, url: String) {
        let old = std::mem::replace(&mut self.url, url);
        self.name.get_or_insert(old);
    }
}

/// The activities' names.
struct NodeNames<'a> {
    places: BTreeMap<&'a str, ActivityId>,
}

impl<'a> NodeNames<'a> {
    fn of(file: &'a PageFile) -> Result<NodeNames<'a>, PageError> {
        let names = file.objects.iter().map(ObjectSpec::node).chain(file.compute.iter().map(ComputeSpec::node));
        let mut places = BTreeMap::new();
        for (at, name) in names.enumerate() {
            if places.insert(name, ActivityId(at as u32)).is_some() {
                return Err(PageError::Duplicate(name.to_owned()));
            }
        }
        Ok(NodeNames { places })
    }

    /// The compute node of a name, if there is one.
    fn compute(&self, file: &PageFile, name: &str) -> Option<ActivityId> {
        self.places.get(name).copied().filter(|id| id.0 as usize >= file.objects.len())
    }

    /// The dependencies of `node`. Without any stated, all but the root wait for the root's end.
    fn needs(&self, node: &str, needs: Option<&[Need]>, root: bool) -> Result<Vec<Dependency>, PageError> {
        let Some(needs) = needs else {
            let (delay, timer) = (Duration::ZERO, Duration::ZERO);
            let after_root = Dependency { on: ActivityId(0), trigger: Trigger::End, delay, timer };
            return Ok(if root { Vec::new() } else { vec![after_root] });
        };
        let dependency = |need: &Need| {
            let on = self.find(node, &need.node)?;
            let delay = milliseconds(|| format!("'{node}'"), "needs.ms", need.ms)?;
            let timer = milliseconds(|| format!("'{node}'"), "needs.timer_ms", need.timer_ms)?;
            let trigger = match need.on {
                On::Start => Trigger::Start,
                On::End => Trigger::End,
                On::Bytes => Trigger::Bytes(need.bytes.unwrap_or(1)),
            };
            Ok(Dependency { on, trigger, delay, timer })
        };
        needs.iter().map(dependency).collect()
    }

    /// The object, of so many, that `node` calls `name`.
    fn object(&self, node: &str, name: Option<&str>, objects: usize) -> Result<Option<ActivityId>, PageError> {
        let found = name.map(|name| self.find(node, name)).transpose()?;
        match found.filter(|found| found.0 as usize >= objects) {
            Some(_) => Err(PageError::NoObject { node: node.to_owned(), named: name.unwrap_or_default().to_owned() }),
            None => Ok(found),
        }
    }

    /// What `node` calls `name`.
    fn find(&self, node: &str, name: &str) -> Result<ActivityId, PageError> {
        let unknown = || PageError::UnknownNeed { node: node.to_owned(), missing: name.to_owned() };
        self.places.get(name).copied().ok_or_else(unknown)
    }
}

impl ComputeSpec {
    fn node(&self) -> &str {
        &self.name
    }
}

/// What makes a host one of its own: its name, whether it is secure, whether requests are without credentials, and the
/// network partition.
type HostKey = (String, bool, bool, Option<String>);

/// The hosts in the order in which they are first named. One name under `http` and `https` is two, and so it is with
/// and without credentials, and in each network partition.
struct HostsByName<'a> {
    list: Vec<Host>,
    places: BTreeMap<HostKey, HostId>,
    /// The first host of those that are served by the one of this name, with the rest of the key.
    servers: BTreeMap<HostKey, HostId>,
    /// How many objects have each path of each host.
    targets: BTreeMap<(HostId, String), u32>,
    specs: &'a BTreeMap<String, HostSpec>,
}

impl<'a> HostsByName<'a> {
    fn of(file: &'a PageFile) -> Result<HostsByName<'a>, PageError> {
        for (name, spec) in &file.hosts {
            let place = || format!("host '{name}'");
            milliseconds(place, "rtt_ms", spec.rtt_ms)?;
            thinking(place, spec.think_ms)?;
            let other = |name: &str| {
                let by =
                    file.hosts.get(name).and_then(|spec| spec.served_by.as_ref()).map(|by| by.to_ascii_lowercase());
                by.filter(|by| by != name)
            };
            if let Some(by) = other(name).filter(|by| other(by).is_some()) {
                let (field, remedy) = ("served_by", "that one is served by another itself: name the same one for both");
                return Err(PageError::Value { place: place(), field, value: format!("'{by}'"), remedy });
            }
        }
        let (list, places, servers, targets) = (Vec::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(HostsByName { list, places, servers, targets, specs: &file.hosts })
    }

    /// The host of the page to which a connection is opened ahead, if an object is there.
    fn known(&self, Preconnect { url, anonymous }: &Preconnect) -> Option<HostId> {
        let url = Url::split(url)?;
        self.places.get(&(url.authority.to_ascii_lowercase(), url.secure, *anonymous, None)).copied()
    }

    fn id(&mut self, url: &Url<'_>, anonymous: bool, partition: Option<&String>) -> HostId {
        let name = url.authority.to_ascii_lowercase();
        let key = |name: &str| (name.to_owned(), url.secure, anonymous, partition.cloned());
        let (list, servers) = (&mut self.list, &mut self.servers);
        let specs = self.specs;
        *self.places.entry(key(&name)).or_insert_with(|| {
            let span = |ms: f64| Duration::from_nanos((ms * 1e6).round() as u64);
            let absent = HostSpec::default();
            let spec = specs.get(&name).unwrap_or(&absent);
            let (extra_rtt, think) = (span(spec.rtt_ms), span(spec.think_ms));
            let name_error = spec.name_error.map(|queries| queries.get() as u8);
            let id = HostId(list.len() as u32);
            let server = *servers
                .entry(key(&spec.served_by.as_ref().map_or(name.clone(), |by| by.to_ascii_lowercase())))
                .or_insert(id);
            let (secure, partition) = (url.secure, partition.cloned());
            list.push(Host { name, secure, anonymous, partition, extra_rtt, think, name_error, server });
            id
        })
    }

    /// A path that no other object of the host has: the second object of one path gets `?2`, the
    /// third `?3`. A server tells objects apart by their paths, and the order in which requests
    /// arrive differs from run to run.
    fn target(&mut self, host: HostId, path: String) -> String {
        let count = self.targets.entry((host, path.clone())).or_default();
        *count += 1;
        if *count == 1 {
            return path;
        }
        let mark = if path.contains('?') { '&' } else { '?' };
        let unique = format!("{path}{mark}{count}");
        // The page may have that path too; then it is the turn of the next number.
        self.target(host, unique)
    }
}

fn fetch(index: usize, object: &ObjectSpec, hosts: &mut HostsByName<'_>) -> Result<Fetch, PageError> {
    let place = || format!("object {index} ('{}')", shorten(&object.url));
    let value = |field, value: String, remedy| PageError::Value { place: place(), field, value, remedy };
    let url = Url::split(&object.url).ok_or_else(|| PageError::Url { index, url: shorten(&object.url) })?;
    let upload_len = object.upload_bytes.unwrap_or(0);
    for (field, bytes) in [("bytes", object.bytes), ("upload_bytes", upload_len)] {
        if bytes > MAX_BODY {
            return Err(value(field, bytes.to_string(), "at most 1 TB is supported"));
        }
    }
    let method = object.method.as_deref().unwrap_or("GET");
    if method.is_empty() || method.len() > 32 || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(value("method", method.to_owned(), "write it in capital letters, for instance GET"));
    }
    let status = object.status.unwrap_or(200);
    if !(200..600).contains(&status) {
        return Err(value("status", status.to_string(), "a final response has a status from 200 to 599"));
    }
    // RFC 9110, section 6.4.1: these responses have no content.
    let bodiless = method == "HEAD" || status == 204 || status == 304;
    let body_len = if bodiless { 0 } else { object.bytes };
    let authority = url.authority.to_ascii_lowercase();
    let host = hosts.id(&url, object.anonymous, object.partition.as_ref());
    let path = hosts.target(host, url.target());
    let is_renamed = path != url.target();
    for (field, size) in
        [("request_header_bytes", object.request_header_bytes), ("response_header_bytes", object.response_header_bytes)]
    {
        if let Some(size) = size.filter(|size| *size > MAX_STATED_HEAD) {
            return Err(value(field, size.to_string(), "at most 32768 bytes of head are supported"));
        }
    }
    let too_small = |field, size: Option<u32>, TooSmall { min }: TooSmall| {
        let size = format!("{}, but {min} is the least for this URL", size.unwrap_or_default());
        value(field, size, "make it larger, or leave it out")
    };
    let request = match &object.request_fields {
        Some(fields) => heads::real_request(method, &authority, &path, upload_len, fields),
        None => heads::sized_request(method, &authority, &path, upload_len, object.request_header_bytes)
            .map_err(|error| too_small("request_header_bytes", object.request_header_bytes, error))?,
    };
    let response = match &object.response_fields {
        Some(fields) => heads::real_response(status, body_len, fields),
        None => heads::sized_response(status, &authority, body_len, object.response_header_bytes)
            .map_err(|error| too_small("response_header_bytes", object.response_header_bytes, error))?,
    };
    let kind = object.kind.clone().unwrap_or_else(|| kind_of(&path, index).to_owned());
    let mut priority = object.urgency.map_or_else(|| priority_of(&kind), |urgency| Priority::at(urgency.get() as u8));
    priority.incremental = object.incremental;
    Ok(Fetch {
        host,
        priority,
        kind,
        request: Arc::new(request.over(if url.secure { Scheme::Https } else { Scheme::Http })),
        upload: Body { id: BodyId(index as u32), len: upload_len },
        response: Arc::new(response),
        body: Body { id: BodyId(index as u32), len: body_len },
        think: thinking(place, object.think_ms.unwrap_or(0.0))?,
        document: None,
        is_renamed,
        is_cached: object.cached,
        is_ahead: object.is_ahead,
        pushed_with: None,
        view_pixels: object.view_pixels.unwrap_or(0),
    })
}

/// By which factors know an object: its URL without what differs from one state of a page to the next, and without what
/// may be a secret. Both are the query, the fragment, path parameters, and the name and password.
fn key_of(name: &str) -> u64 {
    let Some((scheme, rest)) = name.split_once("://") else { return Factors::key(name) };
    let public = rest.split(['?', '#', ';']).next().unwrap_or(rest);
    let (authority, path) = public.split_at(public.find('/').unwrap_or(public.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    Factors::key(&format!("{scheme}://{host}{path}"))
}

/// The sort of an object, by the ending of its path.
pub(super) fn kind_of(path: &str, index: usize) -> &'static str {
    let path = path.split('?').next().unwrap_or_default();
    match path.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default() {
        "html" | "htm" => "html",
        "css" => "css",
        "js" | "mjs" => "js",
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "svg" | "ico" => "image",
        "woff" | "woff2" | "ttf" | "otf" => "font",
        "json" => "json",
        _ if index == 0 => "html",
        _ => "other",
    }
}

/// How urgent an object of this sort is: as Chromium has it, counted from its most urgent class,
/// for scripts and styles that stand in the document's head and for images out of view.
fn priority_of(kind: &str) -> Priority {
    Priority::at(match kind {
        "html" | "css" => 0,
        "js" | "font" | "xhr" | "json" => 1,
        _ => 3,
    })
}

/// A URL as an error shows it.
fn shorten(url: &str) -> String {
    if url.chars().count() <= 80 { url.to_owned() } else { url.chars().take(77).chain("...".chars()).collect() }
}

/// A span given in ms, from 0 to one hour.
fn milliseconds(place: impl Fn() -> String, field: &'static str, ms: f64) -> Result<Duration, PageError> {
    if (0.0..=MAX_MS).contains(&ms) {
        return Ok(Duration::from_nanos((ms * 1e6).round() as u64));
    }
    let remedy = "give milliseconds from 0 to 3600000";
    Err(PageError::Value { place: place(), field, value: ms.to_string(), remedy })
}

/// By what share times are more or less that have this standard deviation in percent and are all equally likely.
fn deviation(place: impl Fn() -> String, percent: f64) -> Result<f64, PageError> {
    if (0.0..=MOST_DEVIATION).contains(&percent) {
        // The standard deviation of an even distribution is its half width by the root of 3.
        return Ok(3_f64.sqrt() * percent / 100.0);
    }
    let remedy = "give a percentage from 0 to 57, with which no time is below 0";
    Err(PageError::Value { place: place(), field: "deviation_percent", value: percent.to_string(), remedy })
}

/// How much a node completes the first view, from 0 to 1.
fn view_share(compute: &ComputeSpec) -> Result<Option<f64>, PageError> {
    if compute.view_share.is_none_or(|share| (0.0..=1.0).contains(&share)) {
        return Ok(compute.view_share);
    }
    let place = format!("compute node '{}'", compute.name);
    let value = compute.view_share.unwrap_or_default().to_string();
    Err(PageError::Value { place, field: "view_share", value, remedy: "give a share from 0 to 1" })
}

/// A server's thinking time, from 0 to two minutes.
fn thinking(place: impl Fn() -> String, ms: f64) -> Result<Duration, PageError> {
    if (0.0..=MAX_THINK_MS).contains(&ms) {
        return milliseconds(place, "think_ms", ms);
    }
    let remedy = "give milliseconds from 0 to 120000, which browsers have the patience for";
    Err(PageError::Value { place: place(), field: "think_ms", value: ms.to_string(), remedy })
}

/// Refuses a page whose activities wait for one another (Kahn's algorithm: take away, again and
/// again, what waits for nothing; what is left waits for itself).
fn acyclic(page: &Page) -> Result<(), PageError> {
    let mut missing: Vec<usize> = page.activities.iter().map(|activity| activity.needs.len()).collect();
    let mut followers = vec![Vec::new(); page.activities.len()];
    for (at, activity) in page.activities.iter().enumerate() {
        for need in &activity.needs {
            followers[need.on.0 as usize].push(at);
        }
    }
    let mut free: Vec<usize> = (0..missing.len()).filter(|at| missing[*at] == 0).collect();
    while let Some(at) = free.pop() {
        for follower in &followers[at] {
            missing[*follower] -= 1;
            if missing[*follower] == 0 {
                free.push(*follower);
            }
        }
    }
    match missing.iter().position(|count| *count > 0) {
        Some(at) => Err(PageError::Cycle(shorten(&page.activities[at].name))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
