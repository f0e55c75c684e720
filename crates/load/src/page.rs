//! Pages: what a browser has to fetch and compute, and what has to wait for what.
//!
//! A [`PageFile`] is a page as it is written down; [`Page`] is the same page checked and ready to
//! be loaded. [`har`] and [`synthetic`] make page files from other things; what a recording has of a user's secrets is
//! replaced on the way ([`Secrets`]).

mod build;
mod change;
mod compressed;
mod depths;
mod early_hints;
mod embedding;
mod file;
pub mod har;
mod heads;
mod loose;
mod markup;
mod merge;
mod moment;
mod paint;
mod path_shape;
mod pipelining_probe;
mod policy;
mod prefetch;
mod preflights;
mod private_cache;
mod recorded_object;
pub mod recording;
mod redact;
mod replayed;
mod service_worker;
mod summary;
pub mod synthetic;
mod visits;
pub mod zstd;

pub(crate) use build::{Url, split_authority};
pub use change::{Change, UnknownChange};
pub use compressed::HeaderBytes;
pub use depths::{ObjectDepth, depths};
pub use file::{
    ComputeSpec, DocumentSpec, Field, HostSpec, LoadsSpec, Need, Needed, ObjectSpec, On, PageError, PageFile,
    Preconnect, RaiseSpec, RequestScheduling, Why,
};
pub(crate) use heads::{is_token, is_value};
pub(crate) use moment::LOAD_EVENT;
pub use moment::Moment;
pub use paint::{Paint, PaintSource};
pub use path_shape::path_shape;
pub use pipelining_probe::PROBED_HOST;
pub use policy::{Priorities, Sharding, registrable_domain};
pub use prefetch::{BroughtAhead, NextPage};
pub use redact::Secrets;
pub use replayed::{Methods, NoReplay, Replayed};
pub use summary::{KindSummary, Summary};
pub use visits::Visits;

use bytes::Bytes;
use loadstone_http::{Body, Priority, RequestHead, ResponseHead};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An activity of a page: an index into [`Page::activities`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ActivityId(pub u32);

/// A server of a page: an index into [`Page::hosts`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostId(pub u32);

/// A page as a graph of activities.
///
/// Invariants, established by [`PageFile::build`] and re-checked nowhere: there is at least one
/// object; [`Page::activities`] holds the objects first, in page order, then the compute nodes;
/// every dependency names an activity of the page; there is no cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    /// The servers, in the order in which the page first names them.
    pub hosts: Vec<Host>,
    /// Objects first, in page order, then compute nodes.
    pub activities: Vec<Activity>,
    /// How many of the activities are objects.
    pub objects: usize,
    /// In which order and when requests are sent.
    pub scheduling: RequestScheduling,
    /// How long the browser computes for the TLS handshake of a connection.
    pub handshake: Duration,
    /// How long what arrives takes to the browser's main thread.
    pub arrival: Duration,
    /// With whose beginning the body of each document is there.
    pub bodies: Vec<ActivityId>,
    /// Objects that become more urgent with the beginning of an activity.
    pub raises: Vec<Raise>,
    /// By what share all computing together takes more or less in a run, where several loads say so.
    pub varies: Option<f64>,
    /// Which activity each of [`Moment::ALL`] is, if the page knows.
    pub moments: [Option<ActivityId>; 3],
    /// How many pixels the first view has.
    pub view_pixels: Option<u32>,
    /// The activities with which it becomes more complete, and each one's share of the whole.
    pub view: Vec<(ActivityId, f64)>,
    /// With which compute nodes a connection is opened, and to which host.
    pub preconnects: BTreeMap<ActivityId, HostId>,
    /// What pages visited before have brought ahead.
    pub ahead: BroughtAhead,
    /// For each object the one in which it stands.
    texts: Vec<Option<ActivityId>>,
    /// For each host its objects by path, ascending: no two have the same one.
    shelves: Vec<Vec<(Bytes, ActivityId)>>,
}

/// A server of a page.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    /// Host and, if it is not the scheme's own, port; lower case.
    pub name: String,
    /// Whether its URLs are `https`.
    pub secure: bool,
    /// Whether the requests to it are without credentials.
    pub anonymous: bool,
    /// The network partition of the requests to it, if that is not the page's own.
    pub partition: Option<String>,
    /// What its round trip takes beyond the access link's.
    pub extra_rtt: Duration,
    /// How long it thinks before each response, besides the object's own time.
    pub think: Duration,
    /// If its name does not exist: after how many queries, one after another, a browser believes that.
    pub name_error: Option<u8>,
    /// The first of the hosts that have its address and certificate, so that connections carry requests to all of them;
    /// often itself.
    pub server: HostId,
}

impl Host {
    /// Its URL's scheme, name and port (RFC 6454, section 6.2).
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.secure { "https" } else { "http" }, self.name)
    }
}

/// One thing that a page load consists of.
#[derive(Clone, PartialEq, Debug)]
pub struct Activity {
    /// The URL of an object, the name of a compute node; unique on the page.
    pub name: String,
    /// By which factors know it: the same on every page that has an activity of this name, wherever it stands there.
    pub key: u64,
    /// What has to happen before it begins. Empty: it begins with the load.
    pub needs: Vec<Dependency>,
    /// Whether the first of them that happens is enough.
    pub any_need: bool,
    /// Whether the page is not loaded without it.
    pub needed: Needed,
    /// By what share its computing takes more or less in a run, besides what all computing does, where several loads
    /// say so.
    pub varies: Option<f64>,
    /// Fetch or compute.
    pub task: Task,
}

/// That an object becomes more urgent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Raise {
    /// Which one.
    pub object: ActivityId,
    /// How urgent.
    pub urgency: u8,
    /// With whose beginning.
    pub with: ActivityId,
}

/// What an activity does.
#[derive(Clone, PartialEq, Debug)]
pub enum Task {
    /// Fetches an object.
    Fetch(Fetch),
    /// Keeps a processor of the browser busy for this span.
    Compute(Duration, Thread),
}

/// On what computing is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thread {
    /// On a processor of its own.
    Own,
    /// On the browser's main thread, which does one thing at a time.
    Main,
}

/// What there is to know about fetching an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetch {
    /// From which server.
    pub host: HostId,
    /// What sort of thing it is, for people: `html`, `css`, `js`, `image`, `font`, ...
    pub kind: String,
    /// How urgent the browser takes it to be.
    pub priority: Priority,
    /// The head of the request.
    pub request: Arc<RequestHead>,
    /// The body of the request, nearly always empty.
    pub upload: Body,
    /// The head of the response.
    pub response: Arc<ResponseHead>,
    /// The body of the response.
    pub body: Body,
    /// How long the server thinks about this object, besides the host's time.
    pub think: Duration,
    /// The document that asks for it: an index into [`Page::bodies`].
    pub document: Option<u32>,
    /// Whether its path was changed, since another object of the host has it.
    pub is_renamed: bool,
    /// How many pixels of the first view it covers.
    pub view_pixels: u32,
    /// Whether the browser has it in its cache.
    pub is_cached: bool,
    /// Whether the page does not have it, but the one that is visited after.
    pub is_ahead: bool,
    /// The object with whose response it is pushed or hinted at, where the page lists that.
    pub pushed_with: Option<ActivityId>,
}

/// One reason to wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dependency {
    /// The activity that is waited for.
    pub on: ActivityId,
    /// What about it.
    pub trigger: Trigger,
    /// Computing between the trigger and the beginning of the activity that waits.
    pub delay: Duration,
    /// A timer between the two, which no processor makes faster.
    pub timer: Duration,
}

/// The moment of an activity that another waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// It begins: for an object, when the browser has found it.
    Start,
    /// This many bytes of the object's body have arrived (or all, if it has fewer).
    Bytes(u64),
    /// It is complete.
    End,
}

impl Page {
    /// A page of these parts, for which the invariants hold.
    fn new(hosts: Vec<Host>, activities: Vec<Activity>, objects: usize) -> Page {
        let shelves = vec![Vec::new(); hosts.len()];
        let (scheduling, handshake, arrival) = (RequestScheduling::default(), Duration::ZERO, Duration::ZERO);
        let (bodies, raises, varies, texts) = (Vec::new(), Vec::new(), None, vec![None; objects]);
        let moments = [None; 3];
        let mut page = Page {
            hosts,
            activities,
            objects,
            scheduling,
            handshake,
            arrival,
            bodies,
            raises,
            varies,
            moments,
            view_pixels: None,
            view: Vec::new(),
            preconnects: BTreeMap::new(),
            ahead: BroughtAhead::default(),
            texts,
            shelves,
        };
        let mut shelves = std::mem::take(&mut page.shelves);
        for (at, (_, fetch)) in page.fetches().enumerate() {
            shelves[fetch.host.0 as usize].push((fetch.request.path.clone(), ActivityId(at as u32)));
        }
        shelves.iter_mut().for_each(|shelf| shelf.sort_unstable());
        Page { shelves, ..page }
    }

    /// The object that `host` has at `path`.
    pub fn find(&self, host: HostId, path: &[u8]) -> Option<ActivityId> {
        let shelf = &self.shelves[host.0 as usize];
        let at = shelf.binary_search_by(|(shelved, _)| shelved[..].cmp(path)).ok()?;
        Some(shelf[at].1)
    }

    /// The object to which a response of `host` refers: by path, or by its URL if it is another host's.
    pub(crate) fn find_referred(&self, host: HostId, reference: &[u8]) -> Option<ActivityId> {
        let Some(url) = std::str::from_utf8(reference).ok().and_then(Url::split) else {
            return self.find(host, reference);
        };
        let is_meant = |host: &Host| (&host.name[..], host.secure) == (url.authority, url.secure);
        let hosts = (0..).map(HostId).zip(&self.hosts).filter(|(_, host)| is_meant(host));
        hosts.into_iter().find_map(|(id, _)| self.find(id, url.path.as_bytes()))
    }

    /// The host to which a connection is to be opened ahead, if the page has something there.
    pub(crate) fn find_host(&self, Preconnect { url, anonymous }: &Preconnect) -> Option<HostId> {
        let url = Url::split(url)?;
        let is_meant = |host: &Host| {
            (host.secure, host.anonymous, &host.partition) == (url.secure, *anonymous, &None)
                && host.name.eq_ignore_ascii_case(url.authority)
        };
        self.hosts.iter().position(is_meant).map(|at| HostId(at as u32))
    }

    /// The object that a request means that has come to the server of `host`: of that host, or of another one for which
    /// the server has a certificate.
    pub(crate) fn find_served(&self, host: HostId, request: &RequestHead) -> Option<ActivityId> {
        let is_meant = |host: &Host| host.name.as_bytes() == &request.authority[..];
        let Host { server, .. } = self.hosts[host.0 as usize];
        let mut others = self.hosts.iter().zip(0..).filter(|(other, _)| other.server == server && is_meant(other));
        let meant = if is_meant(&self.hosts[host.0 as usize]) { None } else { others.next() };
        self.find(meant.map_or(host, |(_, at)| HostId(at)), &request.path)
    }

    /// The object of this number.
    ///
    /// # Panics
    /// If it is a compute node, or not of this page.
    pub fn fetch(&self, object: ActivityId) -> &Fetch {
        match &self.activities[object.0 as usize].task {
            Task::Fetch(fetch) => fetch,
            Task::Compute(..) => panic!("activity {object:?} is no object"),
        }
    }

    /// The object in which one stands, from which a browser hears of it; none for what waits for nothing.
    pub fn text_of(&self, object: ActivityId) -> Option<ActivityId> {
        self.texts[object.0 as usize]
    }

    /// The activities' numbers, each after all that it needs.
    pub(crate) fn order(&self) -> Vec<usize> {
        summary::in_order(&self.activities)
    }

    /// The objects, in page order.
    pub fn fetches(&self) -> impl ExactSizeIterator<Item = (&Activity, &Fetch)> {
        self.activities[..self.objects].iter().map(|activity| match &activity.task {
            Task::Fetch(fetch) => (activity, fetch),
            Task::Compute(..) => unreachable!("objects come first"),
        })
    }
}
