//! Pages as they are written down: the page file (`.page.json`).

use loadstone_units::{Bounded, JsonError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A page file. In its smallest form `{"objects": [{"url": "https://a.test/", "bytes": 12800}]}`:
/// the first object is the root, and all others start when it has arrived.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageFile {
    /// The version of the format; 1 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Bounded<1, 1>>,
    /// The objects, in page order; the first is the root.
    pub objects: Vec<ObjectSpec>,
    /// What the browser computes between fetches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<ComputeSpec>,
    /// What is particular about some hosts, by the name in their URLs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostSpec>,
    /// How many pixels the first view has, if it is known what covers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_pixels: Option<u32>,
    /// In which order and when the browser sends the requests that it has found.
    #[serde(default, skip_serializing_if = "RequestScheduling::is_default")]
    pub scheduling: RequestScheduling,
    /// How long the browser computes for the TLS handshake of a connection, in ms.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handshake_ms: f64,
    /// How long what arrives takes to the browser's main thread, in ms: that long after its first byte, and in its turn,
    /// something holds the load event up that does so once it has begun to arrive.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arrival_ms: f64,
    /// When the documents of the page stop holding back requests of low priority, by what needs call each: the moment
    /// at which its body is inserted. Where `scheduling` is `chromium`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub documents: BTreeMap<String, DocumentSpec>,
    /// Of what loads the page was put together, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<LoadsSpec>,
}

/// The loads of a page that were put together to one.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadsSpec {
    /// How many.
    pub count: u32,
    /// By how much all computing of a load together is longer or shorter than that of others, since the machine was
    /// slower or faster: the standard deviation in percent, at most 57.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deviation_percent: f64,
    /// How many objects there were in other loads that the page does not have.
    #[serde(default, skip_serializing_if = "is_no_count")]
    pub left_out: u32,
}

/// In which order and when a browser sends the requests that it has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestScheduling {
    /// In the page's order, each as soon as a connection takes it.
    #[default]
    PageOrder,
    /// As Chromium does: the most urgent first, of equals the one that was found first; and requests of low priority
    /// are held back while a document's head is not done, and when many are under way over HTTP/1.1.
    Chromium,
}

impl RequestScheduling {
    /// Whether it is what is taken where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == RequestScheduling::default()
    }
}

/// What is particular about a document of a page.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentSpec {
    /// The node with whose beginning the document's body is there.
    pub body: String,
}

impl PageFile {
    /// The same page with hosts at distances of their own: what their round trips take, in ms. The nearest is where the
    /// network ends, and so is a host of which nothing is known.
    #[must_use]
    pub fn at_distances(mut self, round_trips_ms: &BTreeMap<String, f64>) -> PageFile {
        let nearest = round_trips_ms.values().copied().fold(f64::INFINITY, f64::min);
        for (host, ms) in round_trips_ms {
            self.hosts.entry(host.clone()).or_default().rtt_ms = ms - nearest;
        }
        self
    }
}

/// One object of a page file. Only `url` and `bytes` have to be given.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectSpec {
    /// Where it is: `https://host[:port]/path` or `http://...`. The host decides the server.
    pub url: String,
    /// Bytes of the response's body on the wire.
    pub bytes: u64,
    /// A name for `needs` to refer to where the URL alone is not unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What sort of thing it is: `html`, `css`, `js`, `image`, `font`, ... From the URL's ending if
    /// it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The request's method; GET if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The response's status; 200 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the request's body; 0 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_bytes: Option<u64>,
    /// Bytes of the request's head as HTTP/1.1 writes it, exactly; 400 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_header_bytes: Option<u32>,
    /// Bytes of the response's head as HTTP/1.1 writes it, exactly; 250 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_header_bytes: Option<u32>,
    /// The request's real fields, instead of a size. Host and Content-Length are set by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_fields: Option<Vec<Field>>,
    /// The response's real fields, instead of a size. Content-Length is set by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_fields: Option<Vec<Field>>,
    /// How long the server thinks about it, in ms, at most 120000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ms: Option<f64>,
    /// What has to happen before it is asked for. If it is left out: the end of the root. An empty
    /// list: it is asked for at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<Need>>,
    /// How urgent the browser takes it to be, 0 (most) to 7 (RFC 9218); by its kind if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Bounded<0, 7>>,
    /// How urgent it is from a moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<RaiseSpec>,
    /// The object of the same server with whose response it is pushed or hinted at, where servers do that as the page
    /// lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed_with: Option<String>,
    /// Whether its response is of use in parts, so that it is sent in turn with others that are as urgent (RFC 9218,
    /// section 4.2).
    #[serde(default, skip_serializing_if = "is_false")]
    pub incremental: bool,
    /// Whether the page is not loaded without it; `true` if it is left out, and for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,
    /// Whether the browser has it in its cache, and asks no server for it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// The document that asks for it, as needs call it; where the page says when its documents' bodies are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Whether it is asked for without credentials. Such requests have connections of their own (Fetch, section 2.7).
    #[serde(default, skip_serializing_if = "is_false")]
    pub anonymous: bool,
    /// Its network partition (Fetch, section 2.6): requests of different ones have connections and look-ups of names of
    /// their own. For instance that of frames from other sites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// In how many loads of the page it was, if not in all that were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u32>,
    /// Whether its URL was another one in other loads.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changes: bool,
    /// Of an image: how many pixels of the first view it covers; none if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_pixels: Option<u32>,
    /// Whether the page does not have it, but the one that is visited after.
    #[serde(skip)]
    pub is_ahead: bool,
}

/// Whether a load waits for an activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Needed {
    /// It does.
    #[default]
    Always,
    /// It does if the activity begins before everything else that the load waits for is there, as with what delays
    /// the load event of a document (HTML, section 13.2.7).
    WhenFound,
    /// It does if some of its body arrives before that, as with lazy images in Chromium. For objects alone.
    WhenArriving,
    /// It does not.
    Never,
}

impl Serialize for Needed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Needed::Always => serializer.serialize_bool(true),
            Needed::WhenFound => serializer.serialize_str(WHEN_FOUND),
            Needed::WhenArriving => serializer.serialize_str(WHEN_ARRIVING),
            Needed::Never => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for Needed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Needed, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Flag(bool),
            Text(String),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Flag(true)) => Ok(Needed::Always),
            Ok(Written::Flag(false)) => Ok(Needed::Never),
            Ok(Written::Text(text)) if text == WHEN_FOUND => Ok(Needed::WhenFound),
            Ok(Written::Text(text)) if text == WHEN_ARRIVING => Ok(Needed::WhenArriving),
            _ => Err(D::Error::custom(format!("give true, false, \"{WHEN_FOUND}\" or \"{WHEN_ARRIVING}\""))),
        }
    }
}

impl JsonSchema for Needed {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Needed".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": [true, false, WHEN_FOUND, WHEN_ARRIVING]})
    }
}

/// How page files write [`Needed::WhenFound`].
const WHEN_FOUND: &str = "when-found";
/// How page files write [`Needed::WhenArriving`].
const WHEN_ARRIVING: &str = "when-arriving";

/// A header field: name and value.
pub type Field = (String, String);

/// A compute node of a page file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeSpec {
    /// Its name, for `needs` to refer to.
    pub name: String,
    /// How long it takes, in ms.
    pub ms: f64,
    /// What has to happen before it begins. If it is left out: the end of the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<Need>>,
    /// Whether it begins with the first of its needs that happens, and not when all have.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_need: bool,
    /// What it is: `parse`, `script`, `style`, `layout`, `timer`, ...; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it keeps the browser's main thread busy, which does one thing at a time, in the order in which they
    /// could begin.
    #[serde(default, skip_serializing_if = "is_false")]
    pub main_thread: bool,
    /// That the browser opens a connection with it, if it has none to that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconnect: Option<Preconnect>,
    /// Whether the page is not loaded without it; `false` if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,
    /// In how many loads of the page it was, if not in all that were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u32>,
    /// By how much it takes longer or shorter in other loads, besides what all computing does: the standard deviation in
    /// percent, at most 57.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deviation_percent: f64,
    /// By what share of the whole the first view is more complete when it is over, as the Speed Index counts it: from 0 to
    /// 1. Where no node says so, it is taken from `view_pixels` of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_share: Option<f64>,
}

/// A connection that is opened before anything is asked for there (HTML, section 4.6.7.12).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preconnect {
    /// To where: `https://host[:port]`. If no object of the page is there, nothing is opened.
    pub url: String,
    /// Whether it is for requests without credentials.
    #[serde(default, skip_serializing_if = "is_false")]
    pub anonymous: bool,
}

/// That a request becomes more urgent: images do that turn out to be in the view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RaiseSpec {
    /// How urgent it is then.
    pub urgency: Bounded<0, 7>,
    /// The node with whose beginning it is.
    pub with: String,
}

/// What is particular about a host.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// What its round trip takes beyond the network's, in ms.
    pub rtt_ms: f64,
    /// How long it thinks before each response, in ms, at most 120000.
    pub think_ms: f64,
    /// The host that has the same address and a certificate for both: over HTTP/2, the connections of one carry the
    /// requests to the other (RFC 9113, section 9.1.1). Itself if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_by: Option<String>,
    /// That its name does not exist (RFC 1035, section 4.1.1, Name Error), so that requests to it fail: after how many
    /// queries, one after another, a browser believes that. It does not remember it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_error: Option<Bounded<1, 6>>,
}

/// A dependency of a page file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// The URL or name of an object, or the name of a compute node.
    pub node: String,
    /// Which moment of it; its end if it is left out.
    #[serde(default)]
    pub on: On,
    /// With `"on": "bytes"`: how many bytes of its body have to have arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Computing after that moment, in ms; 0 if it is left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ms: f64,
    /// How long a timer runs from that moment, in ms, on any processor; 0 if it is left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timer_ms: f64,
    /// Why it waits; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// In how many loads of the page it was so, if not in all that had what waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u32>,
}

/// Why an activity waits for another: the kinds of edges that a recorded page has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The response sends the browser there (Fetch, section 4.4).
    Redirect,
    /// The parser, or the scanner ahead of it, finds it in a document.
    Markup,
    /// A script asks for it.
    Script,
    /// A style sheet asks for it.
    Style,
    /// A script evaluates it as a module that it imports.
    Import,
    /// It is what has been fetched.
    Fetched,
    /// The parser goes on where it stopped.
    Parser,
    /// A script runs after the style sheets before it (HTML, "has no style sheet that is blocking scripts").
    StyleSheet,
    /// Scripts with `defer`, and modules, run in their order after the document was parsed.
    Order,
    /// A timer that a script has set.
    Timer,
    /// An event that a script listens to.
    Event,
    /// The browser's cache has another request for the same URL.
    Cache,
    /// The server is asked first whether the request may be made (Fetch, section 4.8).
    Preflight,
}

fn is_zero(ms: &f64) -> bool {
    *ms == 0.0
}

fn is_no_count(count: &u32) -> bool {
    *count == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Which moment of an activity is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// It begins: for an object, when the browser has found it.
    Start,
    /// A number of bytes of the object's body have arrived.
    Bytes,
    /// It is complete.
    #[default]
    End,
}

/// Why a page cannot be used. The message says what and where; the caller adds the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    /// Not JSON, or not of this form.
    #[error("not a page file: {0}")]
    Json(#[from] JsonError),
    /// No object at all.
    #[error("the page has no objects: give at least one with url and bytes")]
    Empty,
    /// More than the program is made for.
    #[error("the page has {found} {what}; at most {limit} are supported")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A URL that names no web server.
    #[error("object {index}: '{url}' is not a URL of the form https://host/path or http://host/path")]
    Url {
        /// The object's place, from 0.
        index: usize,
        /// What was given.
        url: String,
    },
    /// A value out of its range.
    #[error("{place}: {field} is {value}; {remedy}")]
    Value {
        /// Which object, compute node or host.
        place: String,
        /// Which of its fields.
        field: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        remedy: &'static str,
    },
    /// Two activities with one name.
    #[error("two nodes are called '{0}': give one of them another \"name\"")]
    Duplicate(String),
    /// A dependency on nothing.
    #[error("'{node}' needs '{missing}', which is not on the page")]
    UnknownNeed {
        /// The activity that needs it.
        node: String,
        /// What is missing.
        missing: String,
    },
    /// Computing that cannot bring an object along.
    #[error("'{node}' is said to be pushed with '{named}', which is no object")]
    NoObject {
        /// The object that would be pushed.
        node: String,
        /// What its `pushed_with` names.
        named: String,
    },
    /// A document of which the page knows nothing.
    #[error("'{node}' is said to be asked for by '{document}', which \"documents\" does not have")]
    UnknownDocument {
        /// The object that it asks for.
        node: String,
        /// What is missing.
        document: String,
    },
    /// A root that waits for something.
    #[error("objects[0] is the root, with which the load begins: it cannot have needs")]
    RootWaits,
    /// A second visit to a page of which nothing says what a browser keeps.
    #[error(
        "no object has \"response_fields\", which say how long a browser keeps it: give them, or take a HAR or a recording"
    )]
    NoHeads,
    /// Activities that wait for one another.
    #[error("'{0}' waits for itself, through its needs")]
    Cycle(String),
}
