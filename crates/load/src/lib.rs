//! Pages as graphs, the browser that loads them and the origin that serves them.
//!
//! Read first: [`page::Page`] (what is to be fetched and what waits for what), the trait [`Peer`]
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
//! Elsewhere: the protocols (crate `http`), what carries their bytes (crate `net`), who drives the
//! programs (crate `sim`).

mod account;
mod browser;
mod catalogue;
mod fetcher;
mod foresight;
mod hint;
mod origin;
pub mod page;
mod peer;
mod site;
mod waterfall;
mod work;

pub use account::{Account, ConnectionRecord, Part, Span, critical_path};
pub use browser::{Browser, Config as BrowserConfig, End, Graph, Hints, Joining};
pub use catalogue::Catalogue;
pub use fetcher::{
    Config as FetcherConfig, Content, Errand, ErrandError, Fetcher, Ping, Request, Server, Template, Transfer,
    TransferId, Unanswered, Use,
};
pub use foresight::{Foresight, HintBy, Scope};
pub use hint::Hint;
pub use origin::{Closing, Origin, Patience};
pub use peer::{Action, Closed, ConnId, Peer};
pub use site::{Answer, Ending, Exchange, Pushed, Site};
pub use waterfall::{Attempt, Cause, FoundBy, Marks, Row, Service};
pub use work::Work;
