//! What one run is ([`Scenario`]), what all runs of it share ([`Plan`]) and what one gave
//! ([`Outcome`]): the contract of all runners and of Python.
//!
//! ```
//! use loadstone_scenario::Scenario;
//!
//! let scenario = Scenario::from_json(
//!     br#"{"page": {"objects": [{"url": "https://a.test/", "bytes": 12800}]}, "network": "10/1mbit,100ms"}"#,
//! ).unwrap();
//! assert_eq!(scenario.variant.tcp.initial_window().segments(), 10);
//!
//! let error = Scenario::from_json(br#"{"page": {"objects": []}, "netwrk": "dsl"}"#).unwrap_err();
//! assert!(error.to_string().contains("netwrk"));
//! ```
//!
//! Elsewhere: how a run is carried out (crate `sim`), how two runs compare (Python).

mod capture;
mod capture_point;
mod checksum;
pub mod columns;
mod compute_factor;
mod divergence;
mod earlier_pages;
mod error;
mod habits;
mod hosts;
mod name_server;
mod options;
mod outcome;
mod pcapng;
mod plan;
mod prefetch;
mod qlog;
mod relaying;
mod repetition;
mod scenario;
mod seen;
mod segment_header;
mod shared_page;
mod spread;
mod timeline;
mod topology;
mod transcript;

pub use capture::{Capture, Captured, CapturedConnection, CapturedFlags, Timestamps};
pub use capture_point::{CapturePoint, UnknownCapturePoint};
pub use checksum::checksum;
pub use compute_factor::ComputeFactor;
pub use divergence::{CaptureComparison, CaptureTable, CaptureTableError};
pub use error::{ScenarioError, ScenarioProblem, TopologyError};
pub use habits::{Habits, Probing};
pub use hosts::{HostRole, MAX_HOSTS, PlannedHost, Way, address};
pub use loadstone_load::{Account, Part, Row, Span};
pub use loadstone_net::Fate;
pub use name_server::NameServerPlan;
pub use outcome::{Conditions, ConnectionOutcome, Outcome};
pub use pcapng::SNAP_LENGTH;
pub use plan::{KEEP_ALIVE, Plan};
pub use prefetch::Prefetch;
pub use relaying::Relaying;
pub use repetition::Repetition;
pub use scenario::{Connections, EarlierLoads, Requests, Scenario, Servers, Variant, VisitAfter};
pub use segment_header::SegmentHeader;
pub use shared_page::SharedPage;
pub use spread::Spread;
pub use timeline::{CongestionWindowAt, Timeline};
pub use topology::{ProgramKind, Topology, TopologyHost, TopologyLink};
pub use transcript::Transcript;
