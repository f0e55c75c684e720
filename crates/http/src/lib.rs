//! Web protocols as machines without I/O: bytes of one connection in, bytes and events out.
//!
//! Read first: the trait [`Session`] with [`ClientSession`] and [`ServerSession`], what they carry
//! ([`Chunk`], [`Wire`]), and [`Event`]. A session never reads a clock or a socket; it makes bytes
//! only when asked, and only as many as there is room for.
//!
//! ```
//! use loadstone_http::{Body, BodyId, Event, Fields, Multiplexing, Priority, Protocol};
//! use loadstone_http::{RequestHead, ResponseHead, SessionFactory, TransportStream, Wire};
//! use loadstone_units::Time;
//!
//! let sessions = SessionFactory::new(Multiplexing::default());
//! let (mut client, mut server) = (sessions.client(Protocol::H2), sessions.server(Protocol::H2));
//! let head = RequestHead::get("a.test", "/", Fields::default());
//! client.request(head.into(), Body::EMPTY.into(), Priority::default());
//!
//! let mut wire = Wire::default();
//! client.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut wire);
//! server.handle_input(Time::ZERO, TransportStream::TCP, &wire.take_all()).unwrap();
//! let Some(Event::Request { id, head, .. }) = server.poll_event() else { panic!() };
//! assert_eq!(&head.path[..], b"/");
//! server.respond(id, ResponseHead::new(200, Fields::default()).into(), Body { id: BodyId(0), len: 5 }.into());
//! ```
//!
//! `examples/client.rs` and `examples/server.rs` are the loop around a session, over blocking sockets.
//!
//! [`decode`] lists the frames of one direction of a connection, for people who debug.
//!
//! Elsewhere: who opens connections and decides what to ask for (crate `load`), what carries the
//! bytes (crates `net` and `sim`).

mod chunk;
mod content_length;
pub mod decode;
mod error;
mod event;
pub mod h1;
mod h2;
mod head;
mod held;
mod memory;
mod pending;
mod persisted;
mod priority;
mod protocol;
mod request_target;
mod session;
mod spdy;
mod streams;
mod trailers;

pub use chunk::{Body, BodyId, Chunk, Wire};
pub use content_length::content_length;
pub use error::{Error, PeerFault};
pub use event::{Event, RequestId};
pub use head::{Fields, RequestHead, ResponseHead, Scheme};
pub use persisted::PersistedSettings;
pub use priority::{Priority, UnknownPriority};
pub use protocol::{Protocol, SessionFactory, UnknownProtocol};
pub use session::{ClientSession, Content, ServerSession, Session, TransportStream};
pub use streams::{FrameBytes, MaxStreams, Multiplexing, Policy, Push, RequestOrder, RequestWrites, Window};
