//! Pages as graphs, the browser that loads them and the origin that serves them.
//!
//! Read first: [`page::Page`] (what is to be fetched and what waits for what), the trait [`Program`]
//! (the seam between programs and transports), [`Browser`]. Programs are machines: they never read
//! a clock or open a socket.
//!
//! ```
//! use loadstone_load::page::{PageFile, Trigger};
//!
//! let file = PageFile::from_json(
//!     br#"{"objects": [{"url": "https://a.test/", "bytes": 12800}, {"url": "https://a.test/1", "bytes": 2600}]}"#,
//! ).unwrap();
//! let page = file.build().unwrap();
//! assert_eq!(page.objects, 2);
//! assert_eq!(page.activities[1].needs[0].trigger, Trigger::End);
//! ```
//!
//! Elsewhere: the protocols (crate `http`), what carries their bytes (crate `net`), the driver of the
//! programs (crate `sim`).

mod account;
mod browser;
mod catalogue;
mod edge_file;
mod fetcher;
mod foresight;
mod hint;
mod origin;
pub mod page;
mod placement;
mod program;
mod relay;
mod shut;
mod site;
mod slack;
mod unchanged;
mod waterfall;
mod work;
mod zone;

pub use account::{Account, ConnectionRecord, Part, Span, StreamStalls, critical_path};
pub use browser::{Browser, Config as BrowserConfig, Graph, Hints, Joining, LoadEnd, LookUp, Names};
pub use catalogue::Catalogue;
pub use edge_file::{EdgeFile, EdgeFileError};
pub use fetcher::{
    BodyPiece, Config as FetcherConfig, FetchList, FetchListError, Fetcher, NoServerAddress, Ping, Request,
    RequestTemplate, ServerAddress, Transfer, TransferId, Unanswered, UrlFile, UrlListError, Use, header_field,
    urls_with_priorities,
};
pub use foresight::{
    Announced, AnnouncedConnection, AnnouncedObject, Foresight, HintBy, PreconnectTo, Scope, announced,
};
pub use hint::{Destination, Hint};
pub use origin::{Closing, Config as OriginConfig, MaxKept, Origin, Timeouts};
pub use placement::{Placement, PlacementError};
pub use program::{Action, Closed, ConnId, NameQuery, Opened, Opener, Program, Tag};
pub use relay::{
    AdoptedFile, CacheFile, CacheGauges, CacheLimits, CacheOutcome, DiskGauges, DiskTask, ExchangeNotes, FileNumber,
    Forwarding, HealthCheck, HealthRules, KeptEntry, NoWay, Pipelined, PoolGauges, PoolGrowth, PoolLimits, Purge,
    Rejection, Relay, RelayConfig, RelayGauges, ServerProtocol, ServerTimeouts, StatedHits, windows_behind,
    windows_in_front,
};
pub use site::{Answer, Ending, Exchange, Pushed, Site, Ticket};
pub use slack::{ActivitySpan, PathLeg, activity_spans, path_legs};
pub use unchanged::{CONDITIONS, is_unchanged, not_modified};
pub use waterfall::{Attempt, Cause, FoundBy, LoadEvent, Marks, Row, Service};
pub use work::Work;
pub use zone::{NoName, Record, Zone, address_in, address_query, is_name_error};
