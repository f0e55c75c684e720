//! The options that set fields of a scenario, in the order in which people read them.

use crate::{Scenario, Variant};
use loadstone_load::page::PageFile;
use loadstone_units::options::{CommandOption, OptionOf};
use schemars::{Schema, schema_for};
use serde_json::Value;

/// All options: what a field may be, what it is by default and what it does, its type says.
const OPTIONS: [OptionOf; 40] = [
    OptionOf::new("network", "network", "NETWORK"),
    OptionOf::new("protocol", "variant.protocol", "PROTOCOL"),
    OptionOf::new("iw", "variant.tcp.iw", "N").of(SERVERS),
    OptionOf::new("tls", "variant.tls", "VERSION"),
    OptionOf::new("tls-flights", "variant.tls_flights", "FLIGHTS"),
    OptionOf::new("servers", "variant.servers", "N"),
    OptionOf::new("sharding", "variant.sharding", "HOSTS"),
    OptionOf::new("connections", "variant.connections", "N"),
    OptionOf::new("connections-in-all", "variant.connections_in_all", "N"),
    OptionOf::new("pipelined-requests", "variant.pipelined_requests", "N"),
    OptionOf::new("pipelining-probe", "variant.pipelining_probe", "PROBE"),
    OptionOf::new("browser", "variant.browser", "BROWSER"),
    OptionOf::new("requests-per-connection", "variant.requests_per_connection", "N"),
    OptionOf::new("names", "variant.names", "NAMES"),
    OptionOf::new("visit-after", "variant.visit_after", "SECONDS"),
    OptionOf::new("prefetch", "variant.prefetch", "WHAT"),
    OptionOf::new("compute", "variant.compute", "FACTOR"),
    OptionOf::new("cc", "variant.tcp.cc", "CC").of(SERVERS),
    OptionOf::new("policy", "variant.multiplexing.policy", "POLICY"),
    OptionOf::new("request-order", "variant.multiplexing.request_order", "ORDER"),
    OptionOf::new("frame-bytes", "variant.multiplexing.frame_bytes", "BYTES"),
    OptionOf::new("max-streams", "variant.multiplexing.streams", "N"),
    OptionOf::new("priorities", "variant.priorities", "PRIORITIES"),
    OptionOf::new("push", "variant.foresight.push", "SCOPE"),
    OptionOf::new("push-levels", "variant.foresight.push_levels", "N"),
    OptionOf::new("hint", "variant.foresight.hint", "SCOPE"),
    OptionOf::new("preconnect", "variant.foresight.preconnect", "HOSTS"),
    OptionOf::new("hint-by", "variant.foresight.hint_by", "WAY"),
    OptionOf::new("notsent-lowat", "variant.tcp.notsent_lowat", "BYTES").of(SERVERS),
    OptionOf::new("receive-window", "variant.tcp.receive_window", "BYTES").of(SERVERS),
    OptionOf::new("tcp", "variant.tcp.profile", "PROFILE").of(SERVERS),
    OptionOf::new("flows", "variant.tcp.flows", "N").of(SERVERS),
    OptionOf::new("client-iw", "variant.client_tcp.iw", "N").of(CLIENT),
    OptionOf::new("client-cc", "variant.client_tcp.cc", "CC").of(CLIENT),
    OptionOf::new("client-receive-window", "variant.client_tcp.receive_window", "BYTES").of(CLIENT),
    OptionOf::new("client-tcp", "variant.client_tcp.profile", "PROFILE").of(CLIENT).following("tcp"),
    OptionOf::new("client-flows", "variant.client_tcp.flows", "N").of(CLIENT).following("flows"),
    OptionOf::new("spread", "spread.network", "PERCENT"),
    OptionOf::new("spread-times", "spread.times", "PERCENT"),
    OptionOf::new("seed", "seed", "S"),
];

const SERVERS: &str = "Servers: ";
const CLIENT: &str = "Client: ";

impl Scenario {
    /// What a scenario may say, as a JSON schema.
    pub fn schema() -> Schema {
        schema_for!(Scenario)
    }

    /// The options that set its fields.
    pub fn options() -> Vec<CommandOption> {
        let mut stated = Scenario::of(PageFile::default());
        let Variant { tcp, client_tcp, .. } = &mut stated.variant;
        (*tcp, *client_tcp) = (tcp.stated(), client_tcp.stated());
        let defaults: Value = serde_json::from_str(&stated.settings_json()).expect("settings are JSON");
        let schema = Scenario::schema();
        OPTIONS.iter().map(|option| option.describe(&schema, &defaults)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::Protocol;

    #[test]
    fn every_option_says_what_its_field_may_be() {
        let options = Scenario::options();
        let named = |name: &str| options.iter().find(|option| option.name == name).unwrap();
        assert_eq!(named("protocol").choices, Protocol::ALL.map(Protocol::name));
        assert_eq!((named("iw").minimum, named("iw").maximum, &named("iw").default), (Some(1), Some(1000), &10.into()));
        assert_eq!(named("tls").choices, ["none", "1.0", "1.2", "1.3"]);
        assert_eq!(named("network").default, "10/1mbit,100ms");
        assert!(options.iter().all(|option| option.help.ends_with('.')), "{options:#?}");
        let is_bounded = |option: &CommandOption| option.minimum.is_some() || !option.choices.is_empty();
        assert!(
            options.iter().all(|option| is_bounded(option) || matches!(&*option.name, "network" | "tls_flights")),
            "{options:#?}"
        );
    }
}
