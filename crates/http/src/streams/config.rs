//! The configuration of a session of many streams.

use super::PRESUMED_STREAMS;
use loadstone_units::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration of one end of a session of many streams: the server's order of sending, and the
/// flow-control windows that this end grants its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Multiplexing {
    /// Which of the responses that are ready a server sends next (SPDY, HTTP/2).
    pub policy: Policy,
    /// Which of the requests that are ready at the same time a client sends next (SPDY, HTTP/2).
    pub request_order: RequestOrder,
    /// Maximum payload of a DATA frame, in bytes (SPDY, HTTP/2).
    pub frame_bytes: FrameBytes,
    /// The window of each stream in bytes, 65,536 to 2^31 - 1.
    pub stream_window: Window,
    /// The window of the whole session in bytes, 65,536 to 2^31 - 1.
    pub session_window: Window,
    /// Whether a client takes pushes. It is no key of a scenario: there pushes happen where servers push.
    #[serde(skip)]
    pub push: Push,
    /// Maximum number of concurrent streams that the peer may open (SPDY, HTTP/2).
    pub streams: MaxStreams,
    /// How a client hands requests to the transport. It is no key of a scenario: that depends on the browser.
    #[serde(skip)]
    pub request_writes: RequestWrites,
}

/// The most bytes of content in a DATA frame.
pub type FrameBytes = Bounded<256, 16_384>;
/// A flow-control window in bytes.
pub type Window = Bounded<65_536, 0x7fff_ffff>;
/// How many streams may be open at a time.
pub type MaxStreams = Bounded<1, 10_000>;

/// Whether a client takes pushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Push {
    /// HTTP/2: SETTINGS_ENABLE_PUSH is 0 (RFC 9113, section 6.5.2). SPDY has no such setting, and each push is reset.
    #[default]
    Forbid,
    /// Each push is reset; header compression has processed its head all the same.
    Decline,
    /// Pushes are taken, up to the limit of open streams.
    Accept,
}

/// How a client hands the requests to the transport that it has at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RequestWrites {
    /// All in one write.
    #[default]
    Together,
    /// A write for each frame, as Chromium does (`SpdySession::DoWrite`): each goes out as a segment of its own, as
    /// long as the congestion window has room.
    Apart,
}

/// Which of the responses that are ready goes next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The most urgent; of one urgency whole responses in the order of the requests, then
    /// incremental ones frame by frame in turn (RFC 9218, section 10).
    #[default]
    Priority,
    /// One frame of each in turn, whatever the urgency.
    RoundRobin,
    /// Weighted fair queueing by urgency. The weights of urgencies 0 to 7 are 256, 220, 183, 147, 110, 74, 37, 1.
    Weighted,
    /// Whole responses, in the order in which they became ready.
    FirstComeFirstServed,
    /// By the client's dependencies and weights (RFC 7540, section 5.3). SPDY has none: there it is
    /// [`Policy::Weighted`].
    #[serde(rename = "dependencies")]
    Tree,
}

/// Which of the requests that wait goes next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOrder {
    /// The most urgent, as browsers do.
    #[default]
    Priority,
    /// The one that was made first: in page order. So did simple clients of 2012.
    FirstComeFirstServed,
}

impl Policy {
    /// All of them.
    pub const ALL: [Policy; 5] =
        [Policy::Priority, Policy::RoundRobin, Policy::Weighted, Policy::FirstComeFirstServed, Policy::Tree];
}

impl Default for Multiplexing {
    /// By priority, frames as large as HTTP/2 lets them be without asking (RFC 9113, section 4.2),
    /// the windows that Chromium grants (6 MB a stream, 15 MB a session), and 100 streams, as servers do.
    fn default() -> Multiplexing {
        Multiplexing {
            policy: Policy::Priority,
            request_order: RequestOrder::Priority,
            frame_bytes: Bounded::known(16_384),
            stream_window: Bounded::known(6 * 1024 * 1024),
            session_window: Bounded::known(15 * 1024 * 1024),
            push: Push::Forbid,
            streams: Bounded::known(PRESUMED_STREAMS),
            request_writes: RequestWrites::Together,
        }
    }
}
