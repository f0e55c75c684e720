//! The headers in a captured packet, from the link up to TCP and QUIC.

mod frame;
mod ip_packet;
mod quic_header;
mod tcp_header;

pub(crate) use frame::ip_packet;
pub(crate) use ip_packet::IpPacket;
pub(crate) use quic_header::{LongKind, QuicHeader};
pub(crate) use tcp_header::TcpHeader;
