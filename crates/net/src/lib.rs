//! What carries bytes between hosts, as machines without I/O: links and TCP.
//!
//! Read first: the trait [`Device`] (packets in, packets out later), [`Network`] (an access link in
//! words), [`tcp::Endpoint`] (one end of a connection). Nothing here knows what the bytes mean:
//! TCP counts them, and a packet is only asked its length.
//!
//! ```
//! use loadstone_net::{Device, Link, Network, Packet};
//! use loadstone_units::{Seed, Time};
//!
//! struct Datagram(u32);
//! impl Packet for Datagram {
//!     fn len(&self) -> u32 { self.0 }
//! }
//!
//! let network: Network = "10/1mbit,100ms".parse().unwrap();
//! let mut down = Link::new(&network.down(), Seed(1), "down");
//! down.handle_packet(Time::ZERO, Datagram(1500));
//! // 1.2 ms to put 1,500 bytes on a link of 10 Mbit/s, then half of the round trip.
//! assert_eq!(down.poll_timeout(), Some(Time::from_nanos(51_200_000)));
//! assert!(down.poll_packet(Time::from_nanos(51_199_999)).is_none());
//! assert!(down.poll_packet(Time::from_nanos(51_200_000)).is_some());
//! ```
//!
//! Elsewhere: what the bytes mean (crate `http`), and what drives the machines (crate `sim`).

mod aqm;
mod assembler;
mod busiest;
mod delay_line;
mod device;
mod fabric;
mod link;
mod loss;
mod network;
mod packet_log;
mod path;
mod stall;
pub mod tcp;
pub mod tls;
mod trace;

pub use aqm::Aqm;
pub use assembler::Assembler;
pub use busiest::{ArrivalGap, BUSIEST_MOMENT, Busiest, ByteArrival, busiest};
pub use device::{Device, Packet};
pub use fabric::{Cycle, Fabric, LinkId, NamedLink, NodeId, Route, RouteEnds};
pub use link::{Link, LinkCounts, NotAccepted};
pub use loss::{GilbertElliott, Loss};
pub use network::{Direction, Network, NetworkError, QueueLimit};
pub use packet_log::{Fate, Logged, PacketLog};
pub use path::{Carried, Due, LostPacket, Path, Transit};
pub use stall::Stalls;
pub use trace::{OPPORTUNITY, Trace, TraceError};
