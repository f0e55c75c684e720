//! Programs on real sockets: hosts a [`Program`](loadstone_load::Program) over the kernel's TCP, plain or
//! with real TLS.
//!
//! Read first: [`load`] and [`serve`], which host a browser and an origin; [`Clock`]. The programs are
//! those of the simulator. This crate decides nothing: it passes bytes and time between them and
//! sockets, and content only when a socket has room for it, so that what goes next is decided late.
//! Bodies are made here: byte `i` of every body is (131 i + 7 floor(i / 256) + 13) mod 256.
//!
//! ```
//! use loadstone_live::{Clock, Limits, Destinations, Listener, PathNotes, RecordKeeping, Stopper, Target, join, listen, load, serve};
//! use loadstone_http::{Multiplexing, Protocol, SessionFactory};
//! use loadstone_load::page::{HostId, PageFile};
//! use loadstone_load::{Browser, BrowserConfig, Catalogue, Foresight, Graph, Hints, Joining, Names, Origin, OriginConfig};
//! use std::{sync::Arc, thread, time::Duration};
//!
//! let page = br#"{"objects": [{"url": "http://a.test/", "bytes": 12800}]}"#;
//! let page = Arc::new(PageFile::from_json(page).unwrap().build().unwrap());
//! let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
//! let (protocol, notsent_lowat) = (Protocol::H2, loadstone_live::NOTSENT_LOWAT);
//!
//! let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
//! let address = listener.local_addr().unwrap();
//! let (clock, (stopper, stop)) = (Clock::start(), Stopper::new());
//! let (loaded, served) = thread::scope(|scope| {
//!     let server = scope.spawn(|| {
//!         let catalogue = Catalogue::all(&page, Foresight::default()).remove(0);
//!         let origin = Origin::new(Arc::new(catalogue), OriginConfig::new(sessions.clone()));
//!         let (limits, records) = (Limits::UNLIMITED, RecordKeeping::Collect);
//!         let listener = Listener { host: HostId(0), listener, tls: None, protocol, notsent_lowat, limits, records };
//!         serve(&clock, origin, listener, &stop)
//!     });
//!     let (joining, hints) = (Joining::Together, Hints::Ignore);
//!     let (connections, connections_in_all, names) = (6, None, Names::Cached);
//!     let config = BrowserConfig { connections, connections_in_all, protocol, joining, sessions: sessions.clone(), hints, names };
//!     let browser = Browser::new(page.clone(), Arc::new(Graph::new(&page)), config);
//!     let targets = vec![Target { address, tls: None, protocol }];
//!     let destinations = Destinations { targets, names: None, notsent_lowat, timeout: Duration::from_secs(10), limits: Limits::UNLIMITED, path_notes: PathNotes::None };
//!     let loaded = load(&clock, browser, &destinations, &stop, || {}).unwrap();
//!     stopper.stop();
//!     (loaded, server.join().unwrap().unwrap())
//! });
//! assert!(loaded.end.unwrap().completed);
//! let (marks, connections) = join(loaded, &[served]);
//! assert!(marks.rows[0].answered.is_some() && connections[0].content_down > 12800);
//! ```
//!
//! Elsewhere: what is loaded and how (crate `load`), the same in virtual time (crate `sim`).

mod acceptor;
mod access_log;
mod admin;
mod authority;
mod cache_disk;
mod cache_folder;
mod clock;
mod connection;
mod connection_log;
mod connection_table;
mod content;
mod descriptors;
mod edge;
mod edge_change;
mod edge_metrics;
mod edge_proxy;
mod edge_source;
mod error;
mod fetch;
mod forward_scope;
mod forwarder;
mod front;
mod graceful;
mod host;
mod identity;
mod join;
mod key_log;
mod limits;
mod load;
mod name_client;
mod opening;
mod origin_urls;
mod output_queue;
mod path;
mod pattern;
mod probe;
mod ready_set;
mod record;
mod relay;
mod resolver;
mod save;
mod serve;
mod served;
mod server;
mod server_error;
mod sleep;
mod socket;
mod stop;
mod tls_layer;
mod trust;

pub use access_log::LogError;
pub use authority::{Authority, Chain, ClientTls};
pub use clock::Clock;
pub use connection_log::RecordKeeping;
pub use content::{Bodies, Pattern};
pub use edge::EdgeSettings;
pub use edge_change::EdgeControl;
pub use edge_proxy::EdgeProxy;
pub use edge_source::{EdgeSource, FileProblem, SourceError};
pub use error::Error;
pub use fetch::{Fetched, Reach, fetch};
pub use graceful::Finished;
pub use identity::Identity;
pub use join::{Joined, join};
pub use limits::Limits;
pub use load::{Destinations, Loaded, Target, load};
pub use loadstone_net::tls::Tls;
pub use name_client::NameServer;
pub use opening::opening;
pub use path::{PathNotes, PathRecord, busiest_of_paths};
pub use probe::{Probes, Unprobed, first_reachable, probe};
pub use record::{Failure, SocketRecord};
pub use relay::{Relayed, relay};
pub use resolver::{NoResolvedAddress, ResolvedAddress, find};
pub use save::{Digest, Folder};
pub use serve::{Listener, Served, serve};
pub use served::{
    Likeness, LongerResponse, Manifest, ManifestError, MatchReport, NoWebUrl, PushOrHint, Queries, RecordedResponse,
    RecordedSite, SentAs,
};
pub use server::{Recording, Server, ServerSettings};
pub use server_error::{ServerError, SettingProblem};
pub use socket::{Lowat, NOTSENT_LOWAT, TcpCounts, listen};
pub use stop::{Stop, Stopper};
pub use trust::Trust;
