//! The protocols, and the factory of their sessions.

use crate::memory::Keeps;
use crate::{ClientSession, Multiplexing, PersistedSettings, ServerSession, h1, h2, spdy};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Which protocol a connection speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a persistent connection.
    #[default]
    Http1,
    /// HTTP/1.1 with pipelining (RFC 9112, section 9.3.2).
    Http1Pipelining,
    /// SPDY/2 (draft 2).
    Spdy2,
    /// SPDY/3 (draft-mbelshe-httpbis-spdy-00).
    Spdy3,
    /// SPDY/3.1: SPDY/3 with a flow-control window for the session.
    Spdy31,
    /// HTTP/2 (RFC 9113).
    H2,
}

impl Protocol {
    /// All of them, in the order in which they are named to people.
    pub const ALL: [Protocol; 6] =
        [Protocol::Http1, Protocol::Http1Pipelining, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Http1 => "http/1.1",
            Protocol::Http1Pipelining => "http/1.1+pipelining",
            Protocol::Spdy2 => "spdy/2",
            Protocol::Spdy3 => "spdy/3",
            Protocol::Spdy31 => "spdy/3.1",
            Protocol::H2 => "h2",
        }
    }

    /// Whether it is a version of SPDY.
    pub const fn is_spdy(self) -> bool {
        matches!(self, Protocol::Spdy2 | Protocol::Spdy3 | Protocol::Spdy31)
    }

    /// Whether one connection carries many requests side by side.
    pub const fn is_multiplexed(self) -> bool {
        !matches!(self, Protocol::Http1 | Protocol::Http1Pipelining)
    }
}

impl JsonSchema for Protocol {
    fn schema_name() -> Cow<'static, str> {
        "Protocol".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Protocol::ALL.map(Protocol::name)})
    }
}

/// Makes sessions. Those of [`SessionFactory::new`] share what they remember of heads: a page's sessions read
/// and compress the same heads in the same order, run after run.
#[derive(Debug)]
pub struct SessionFactory {
    multiplexing: Multiplexing,
    h1: Arc<h1::Known>,
    spdy: spdy::SpdyCaches,
    h2: h2::HpackCaches,
}

impl SessionFactory {
    /// A maker of sessions that behave as `multiplexing` says, where the protocol has many streams.
    pub fn new(multiplexing: Multiplexing) -> SessionFactory {
        SessionFactory::keeping(Keeps::Steps, multiplexing)
    }

    /// The same for sessions of unrelated peers, which must not slow down one another, nor find out what others have
    /// sent.
    pub fn isolated(multiplexing: Multiplexing) -> SessionFactory {
        SessionFactory::keeping(Keeps::Nothing, multiplexing)
    }

    fn keeping(keeps: Keeps, multiplexing: Multiplexing) -> SessionFactory {
        let (spdy, h2) = (spdy::SpdyCaches::new(keeps), h2::HpackCaches::new(keeps));
        SessionFactory { multiplexing, h1: Arc::new(h1::Known::new(keeps)), spdy, h2 }
    }

    /// A new client's end.
    pub fn client(&self, protocol: Protocol) -> Box<dyn ClientSession> {
        self.client_with_settings(protocol, &PersistedSettings::default())
    }

    /// A new client's end of a connection to a server that, in an earlier session, asked to persist these settings:
    /// the client sends them back.
    pub fn client_with_settings(&self, protocol: Protocol, kept: &PersistedSettings) -> Box<dyn ClientSession> {
        match protocol {
            Protocol::Http1 => Box::new(h1::Client::persistent().knowing(&self.h1)),
            Protocol::Http1Pipelining => Box::new(h1::Client::pipelining().knowing(&self.h1)),
            Protocol::Spdy2 => Box::new(self.spdy.client(&spdy::TWO, &self.multiplexing, kept)),
            Protocol::Spdy3 => Box::new(self.spdy.client(&spdy::THREE, &self.multiplexing, kept)),
            Protocol::Spdy31 => Box::new(self.spdy.client(&spdy::THREE_ONE, &self.multiplexing, kept)),
            Protocol::H2 => Box::new(self.h2.client(&self.multiplexing)),
        }
    }

    /// A new server's end.
    pub fn server(&self, protocol: Protocol) -> Box<dyn ServerSession> {
        match protocol {
            Protocol::Http1 | Protocol::Http1Pipelining => Box::new(h1::Server::new().knowing(&self.h1)),
            Protocol::Spdy2 => Box::new(self.spdy.server(&spdy::TWO, &self.multiplexing)),
            Protocol::Spdy3 => Box::new(self.spdy.server(&spdy::THREE, &self.multiplexing)),
            Protocol::Spdy31 => Box::new(self.spdy.server(&spdy::THREE_ONE, &self.multiplexing)),
            Protocol::H2 => Box::new(self.h2.server(&self.multiplexing)),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`Protocol`] has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown protocol '{0}': use {names}", names = Protocol::ALL.map(Protocol::name).join(", "))]
pub struct UnknownProtocol(pub String);

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    /// In any case, and also as people write them: `HTTP/2`, `h1`, `spdy`.
    fn from_str(name: &str) -> Result<Protocol, UnknownProtocol> {
        let lower = name.trim().to_ascii_lowercase();
        let known = match lower.as_str() {
            "h1" | "http/1" | "http1" | "http1.1" => "http/1.1",
            "http/2" | "http/2.0" | "http2" => "h2",
            "spdy" | "spdy/3.1" => "spdy/3.1",
            other => other,
        };
        let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == known);
        found.ok_or_else(|| UnknownProtocol(name.to_owned()))
    }
}
