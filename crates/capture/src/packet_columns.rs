//! The columns of `packets.parquet`: a row for each packet of one connection, or of all.

use crate::cells::{TableColumn, column, ms};
use crate::headers::TcpHeader;

/// A packet of a connection, with what is known after it.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// The connection's number.
    pub(crate) connection: u64,
    /// In ns since 1970.
    pub(crate) at: u64,
    /// Whether the client sent it.
    pub(crate) is_up: bool,
    pub(crate) flags: u8,
    /// Counted from its sender's first number.
    pub(crate) seq: u64,
    pub(crate) len: u32,
    /// Counted from the other end's first number.
    pub(crate) ack: Option<u64>,
    pub(crate) window: u32,
    pub(crate) in_flight_up: u64,
    pub(crate) in_flight_down: u64,
    /// In ns.
    pub(crate) round_trip: Option<u64>,
    /// Since the acknowledgement that its timestamp answers, in ns.
    pub(crate) echoed: Option<u64>,
}

/// The columns of the table of packets.
pub static PACKET_COLUMNS: [TableColumn<PacketRow>; 14] = [
    column!("connection", Integer, "Its connection, as in the table of these.", |row| row.connection),
    column!("at_ms", Number, "When it was captured, in ms since 1970 (UTC).", |row| ms(row.at)),
    column!("way", Text, "up: from the client; down: from the server.", |row| if row.is_up { "up" } else { "down" }),
    column!("seq", Integer, "The number of its first byte, counted from the SYN's 0.", |row| row.seq),
    column!("bytes", Integer, "Bytes of data in it.", |row| row.len),
    column!("ack", Integer, "The number that it acknowledges up to, counted alike; missing without ACK.", |row| row
        .ack),
    column!("window", Integer, "The receive window of its sender, in bytes.", |row| row.window),
    column!("syn", Boolean, "Whether it has a SYN.", |row| row.flags & TcpHeader::SYN != 0),
    column!("fin", Boolean, "Whether it has a FIN.", |row| row.flags & TcpHeader::FIN != 0),
    column!("rst", Boolean, "Whether it has a RST.", |row| row.flags & TcpHeader::RST != 0),
    column!("in_flight_up", Integer, "What of the client's was on its way after it, in bytes.", |row| row.in_flight_up),
    column!("in_flight_down", Integer, "What of the server's was on its way after it, in bytes.", |row| {
        row.in_flight_down
    }),
    column!("rtt_ms", Number, "The round trip that its acknowledgement completes.", |row| row.round_trip.map(ms)),
    column!(
        "echo_ms",
        Number,
        "Since the acknowledgement without data whose timestamp it echoes (RFC 7323): at a receiver a round trip, and how long the sender paused.",
        |row| row.echoed.map(ms)
    ),
];
