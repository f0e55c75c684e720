//! Files of packets.

mod compressed;
mod packet_reader;

pub use compressed::decompressed;
pub use packet_reader::{PacketReader, RawPacket, ReadError};
