//! A connection of TCP, as its packets show it.

mod acknowledgement;
mod disorder;
mod echoes;
mod flights;
mod half_connection;
mod holes;
mod periods;
mod retransmission;
mod rtt_samples;
mod sacked;
mod sent_segments;
mod tcp_connection;

pub(crate) use half_connection::HalfConnection;
pub(crate) use periods::EndedPeriod;
pub(crate) use retransmission::Retransmission;
pub use retransmission::RetransmissionCause;
pub(crate) use rtt_samples::RttSamples;
pub use tcp_connection::{CaptureSide, TcpConnection};
