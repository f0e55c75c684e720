//! What one run is.

use crate::habits::Habits;
use crate::{
    ComputeFactor, Prefetch, Probing, ScenarioError, ScenarioProblem, SharedPage, Spread, Topology, earlier_pages,
};
use loadstone_http::{Multiplexing, Protocol};
use loadstone_load::page::{Priorities, Sharding};
use loadstone_load::{Closing, Foresight, Joining, Names, Work};
use loadstone_net::{
    Network, Trace, tcp,
    tls::{Tls, TlsFlights},
};
use loadstone_units::{Bounded, OutOfRange, json};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What one run is: a page, a network, a variant, a seed. It is complete in itself: the page is
/// inside it, not a path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What is loaded.
    #[serde(default)]
    pub page: SharedPage,
    /// Access link, if there is no topology.
    #[serde(default)]
    pub network: Network,
    /// The traces that the network follows, by the names that it gives them: each the text of a file
    /// in Mahimahi's format.
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(default, with = "trace_texts", skip_serializing_if = "BTreeMap::is_empty")]
    pub traces: BTreeMap<String, Arc<Trace>>,
    /// By which protocol and with which settings.
    #[serde(default)]
    pub variant: Variant,
    /// Pages that the browser has visited before, in this order, `visit_after` seconds from each to the next; if
    /// unset, this page itself, once. One page or a list.
    #[schemars(with = "earlier_pages::OneOrMore")]
    #[serde(default, with = "earlier_pages", skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SharedPage>,
    /// Page that the servers of the last page before expect next, with `prefetch`; if unset, they expect the right
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely_next: Option<SharedPage>,
    /// Who takes part and over which links, where it is not one browser behind one access link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// How much of what is not known exactly varies with the seed; nothing if it is left out.
    #[serde(default, skip_serializing_if = "Spread::is_none")]
    pub spread: Spread,
    /// Seed of the random decisions of the first run; each further run has the next number.
    #[serde(default = "first_seed")]
    pub seed: u64,
}

fn first_seed() -> u64 {
    1
}

/// Protocol and settings of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Variant {
    /// Protocol of all connections.
    #[schemars(with = "Protocol")]
    #[serde(with = "protocol_name")]
    pub protocol: Protocol,
    /// The protocol of connections to single hosts that speak another.
    #[schemars(with = "BTreeMap<String, Protocol>")]
    #[serde(with = "protocol_names", skip_serializing_if = "BTreeMap::is_empty")]
    pub protocol_of: BTreeMap<String, Protocol>,
    /// TLS version of all connections, or none. In a scenario file, if unset: 1.3 for https URLs, none for http.
    pub tls: Option<Tls>,
    /// Sizes of the flights in a TLS 1.3 handshake: those of a year, `2013` (if unset) or `2026`, or
    /// client/server/client in bytes, as in `1800/4000/80`, with a fourth number for session tickets.
    #[serde(skip_serializing_if = "TlsFlights::is_default")]
    pub tls_flights: TlsFlights,
    /// Distribute the objects over this many hosts in turn; if unset, they stay on their own hosts.
    pub servers: Option<Servers>,
    /// Hosts that the objects are on: as recorded (if unset), a server for each host name, one host for each
    /// registered domain, or one host for all.
    #[serde(skip_serializing_if = "Sharding::is_default")]
    pub sharding: Sharding,
    /// Priorities that the browser gives to requests: as recorded (if unset), all equal (`none`), by the kind of
    /// object, or by how many objects wait for it in a row (`dependencies`).
    #[serde(skip_serializing_if = "Priorities::is_default")]
    pub priorities: Priorities,
    /// Maximum number of simultaneous connections to a host.
    pub connections: Connections,
    /// Maximum number of simultaneous connections of the browser to all hosts; if unset, no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections_in_all: Option<Connections>,
    /// Maximum number of outstanding requests on a connection with HTTP/1.1 pipelining; if unset, no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipelined_requests: Option<Requests>,
    /// How a browser with pipelining finds out whether the path supports it: by a probe at the start, or not at all
    /// (if unset): it assumes support.
    #[serde(skip_serializing_if = "Probing::is_default")]
    pub pipelining_probe: Probing,
    /// Browser whose behaviour applies where nothing else is set: the recorded one (if unset), or Firefox of 2012, on
    /// a desktop or on a phone.
    #[serde(skip_serializing_if = "Habits::is_default")]
    pub browser: Habits,
    /// Maximum number of requests on a connection, which is then not used again; 1 disables persistent connections.
    /// If unset, no limit.
    pub requests_per_connection: Option<Requests>,
    /// Which end closes an HTTP/1.1 connection that carries no more requests.
    #[serde(skip_serializing_if = "Closing::is_default")]
    pub closing: Closing,
    /// What servers' processors have to do; nothing if it is left out.
    #[serde(skip_serializing_if = "Work::is_default")]
    pub work: Work,
    /// DNS when the load begins: the browser has all addresses in its cache (if unset), or looks up each name before
    /// it connects.
    #[serde(skip_serializing_if = "Names::is_default")]
    pub names: Names,
    /// Multiply the computing times of the browser by this factor; `phone` is 4. If unset, 1.
    #[serde(skip_serializing_if = "ComputeFactor::is_one")]
    pub compute: ComputeFactor,
    /// How requests come to the one connection of SPDY or HTTP/2. If it is left out: `racing` where the page's requests
    /// are scheduled as Chromium does, else `together`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joining: Option<Joining>,
    /// The browser has visited this page, or the pages of `before`, this many seconds ago; between two of those, the
    /// same time passes. It has the responses that it may cache, and the connections that are still open. If unset,
    /// it has neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit_after: Option<VisitAfter>,
    /// What servers do ahead for the next page: nothing (if unset); `next`: name all its objects for prefetching;
    /// `pushed`: push those on the server of the document, and name the others. Needs `visit_after`.
    #[serde(skip_serializing_if = "Prefetch::is_default")]
    pub prefetch: Prefetch,
    /// How many loads of the page, each with connections of its own, the servers' TCP remembers if it remembers
    /// any (`mechanisms.metrics`), 0 to 100.
    #[serde(skip_serializing_if = "EarlierLoads::is_none")]
    pub earlier_loads: EarlierLoads,
    /// How sessions of many streams behave (SPDY, HTTP/2).
    pub multiplexing: Multiplexing,
    /// What servers push and hint at.
    pub foresight: Foresight,
    /// The servers' TCP.
    pub tcp: tcp::Config,
    /// The TCP of single servers that have another, by the names of their hosts: all of it, not only what
    /// differs from the others'.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp_of: BTreeMap<String, tcp::Config>,
    /// The client's TCP.
    pub client_tcp: tcp::Config,
}

macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident: $min:literal to $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $name(Bounded<$min, $max>);

        impl $name {
            /// How many.
            pub fn get(self) -> u32 {
                self.0.get()
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                Bounded::<$min, $max>::json_schema(generator)
            }
        }

        impl TryFrom<i64> for $name {
            type Error = OutOfRange;

            fn try_from(count: i64) -> Result<$name, OutOfRange> {
                Bounded::new(count).map($name)
            }
        }

        impl From<$name> for i64 {
            fn from(count: $name) -> i64 {
                count.0.into()
            }
        }
    };
}

bounded! {
    /// A number of connections to one host, 1 to 256.
    Connections: 1 to 256
}
bounded! {
    /// A number of requests on one connection, 1 to 1,000,000.
    Requests: 1 to 1_000_000
}
bounded! {
    /// A number of seconds since the visit before, 0 to 31,536,000 (a year).
    VisitAfter: 0 to 31_536_000
}

impl VisitAfter {
    /// How long that is.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.get().into())
    }
}

bounded! {
    /// A number of loads that came before, 0 to 100.
    EarlierLoads: 0 to 100
}
bounded! {
    /// A number of hosts that a page is dealt over, 1 to 64.
    Servers: 1 to 64
}

impl Default for EarlierLoads {
    /// None.
    fn default() -> EarlierLoads {
        EarlierLoads(Bounded::known(0))
    }
}

impl EarlierLoads {
    fn is_none(&self) -> bool {
        self.get() == 0
    }
}

impl Default for Connections {
    /// 6, as browsers have it for HTTP/1.1.
    fn default() -> Connections {
        Connections(Bounded::known(6))
    }
}

mod trace_texts {
    use loadstone_net::Trace;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    type Traces = BTreeMap<String, Arc<Trace>>;

    pub(super) fn serialize<S: Serializer>(traces: &Traces, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(traces.iter().map(|(name, trace)| (name, trace.to_string())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Traces, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        let read = |(name, text): (String, String)| match text.parse() {
            Ok(trace) => Ok((name, Arc::new(trace))),
            Err(why) => Err(D::Error::custom(format!("{name}: {why}"))),
        };
        texts.into_iter().map(read).collect()
    }
}

mod protocol_name {
    use loadstone_http::Protocol;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(protocol: &Protocol, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(protocol.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Protocol, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

mod protocol_names {
    use loadstone_http::Protocol;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::collections::BTreeMap;

    pub(super) fn serialize<S: Serializer>(
        protocols: &BTreeMap<String, Protocol>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(protocols.iter().map(|(host, protocol)| (host, protocol.name())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Protocol>, D::Error> {
        let named = BTreeMap::<String, String>::deserialize(deserializer)?;
        let parsed = named.into_iter().map(|(host, name)| Ok((host, name.parse()?)));
        parsed.collect::<Result<_, _>>().map_err(D::Error::custom::<loadstone_http::UnknownProtocol>)
    }
}

impl Variant {
    /// What connections to a host speak.
    pub fn protocol_to(&self, host: &str) -> Protocol {
        self.protocol_of.get(host).copied().unwrap_or(self.protocol)
    }

    /// Whether the browser probes whether pipelines come through.
    pub(crate) fn probes(&self) -> bool {
        self.pipelining_probe == Probing::AtStart && self.protocol == Protocol::Http1Pipelining
    }

    /// Whether servers push what the next page has.
    pub(crate) fn pushes_ahead(&self) -> bool {
        self.prefetch == Prefetch::Pushed && self.protocol.is_multiplexed()
    }
}

impl Scenario {
    /// A load of `page` with everything else as it is by default.
    pub fn of(page: impl Into<SharedPage>) -> Scenario {
        let page = page.into();
        let (network, variant) = (Network::default(), Variant::default());
        let (traces, spread) = (BTreeMap::new(), Spread::default());
        Scenario {
            page,
            network,
            traces,
            variant,
            before: Vec::new(),
            likely_next: None,
            topology: None,
            spread,
            seed: first_seed(),
        }
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// If `text` is not JSON, or a field is unknown, missing or out of its range.
    pub fn from_json(text: &[u8]) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario = json::from_slice(text)?;
        let Variant { tcp, tcp_of, client_tcp, .. } = &mut scenario.variant;
        let own = scenario.topology.iter_mut().flat_map(|topology| &mut topology.hosts);
        let own = own.filter_map(|host| host.tcp.as_mut());
        for config in [tcp, client_tcp].into_iter().chain(tcp_of.values_mut()).chain(own) {
            *config = config.stated();
        }
        Ok(scenario)
    }

    /// Reads what a scenario of `page` has besides: with many scenarios of a page, it is read and checked once.
    ///
    /// # Errors
    /// As with [`Scenario::from_json`], and if `settings` has a page of its own.
    pub fn of_page(page: SharedPage, settings: &[u8]) -> Result<Scenario, ScenarioError> {
        let scenario = Scenario::from_json(settings)?;
        if scenario.page != SharedPage::default() {
            return Err(ScenarioError::new("page", ScenarioProblem::SecondPage));
        }
        Ok(Scenario { page, ..scenario })
    }

    /// Writes the scenario, every field stated.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario has only keys that are text")
    }

    /// Writes the scenario without what can be large: its page and its traces.
    pub fn settings_json(&self) -> String {
        #[derive(Serialize)]
        struct Settings<'a> {
            network: &'a Network,
            variant: &'a Variant,
            #[serde(skip_serializing_if = "Option::is_none")]
            topology: &'a Option<Topology>,
            #[serde(skip_serializing_if = "Spread::is_none")]
            spread: Spread,
            seed: u64,
        }
        let Scenario { network, variant, topology, spread, seed, .. } = self;
        let settings = Settings { network, variant, topology, spread: *spread, seed: *seed };
        serde_json::to_string(&settings).expect("settings have only keys that are text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(rest: &str) -> Result<Scenario, ScenarioError> {
        let page = r#""page": {"objects": [{"url": "https://a.test/", "bytes": 1}]}"#;
        Scenario::from_json(format!("{{{page}{rest}}}").as_bytes())
    }

    #[test]
    fn what_is_written_is_read_back() {
        let scenario = with(
            r#", "network": "cable", "seed": 7, "variant": {"protocol": "http/1.1+pipelining", "tls": "1.2",
                "servers": 2, "sharding": "domains", "priorities": "none", "requests_per_connection": 1, "closing": "client", "joining": "one-by-one",
                "work": {"response_us": 2000}, "earlier_loads": 3, "tcp": {"iw": 3, "cc": "reno"}, "tcp_of": {"s1.a.test": {"cc": "bbr"}}}"#,
        )
        .unwrap();
        assert_eq!(Scenario::from_json(scenario.to_json().as_bytes()), Ok(scenario));
    }

    #[test]
    fn settings_are_what_is_left_without_the_page() {
        let scenario = with(r#", "network": "dsl-lossy", "variant": {"tcp": {"iw": 3}}, "seed": 7"#).unwrap();
        let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let mut whole = read(scenario.to_json());
        whole.as_object_mut().unwrap().remove("page").unwrap();
        assert_eq!(read(scenario.settings_json()), whole);
    }

    #[test]
    fn errors_name_the_field_and_the_remedy() {
        for (rest, field, why) in [
            (r#", "variant": {"tcp": {"iw": 0}}"#, "variant.tcp.iw", "give 1 to 1000"),
            (r#", "variant": {"tcp": {"iww": 3}}"#, "variant.tcp.iww", "there is no field 'iww'"),
            (r#", "variant": {"tcp_of": {"a.test": {"iw": 0}}}"#, "variant.tcp_of.a.test.iw", "give 1 to 1000"),
            (r#", "variant": {"tcp": {"profile": "plan9"}}"#, "variant.tcp.profile", "textbook"),
            (r#", "variant": {"protocol": "gopher"}"#, "variant.protocol", "use http/1.1"),
            (r#", "variant": {"connections": 0}"#, "variant.connections", "give 1 to 256"),
            (r#", "variant": {"requests_per_connection": 0}"#, "variant.requests_per_connection", "give 1 to 1000000"),
            (r#", "network": "10mbit,100ms,120%""#, "network", "percentage"),
            (r#", "seed": -1"#, "seed", "-1"),
            (r#", "traces": {"t": "5\n4"}"#, "traces", "t: line 2"),
            ("} x", "", "not JSON from line 1, column"),
        ] {
            let error = with(rest).unwrap_err();
            assert_eq!(error.field, field, "{error}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
