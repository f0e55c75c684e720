//! The headers in a captured packet, from the link up to TCP.

mod frame;
mod ip_packet;
mod tcp_header;

pub(crate) use frame::ip_packet;
pub(crate) use ip_packet::IpPacket;
pub(crate) use tcp_header::TcpHeader;
