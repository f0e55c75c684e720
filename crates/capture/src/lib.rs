//! What packet captures say of TCP's connections.
//!
//! A [`PacketReader`] reads packets of a capture file, one after the other. An [`Analyzer`] follows the connections
//! in them, in one pass, and fills tables: of connections ([`CONNECTION_COLUMNS`]), of what was sent again
//! ([`RETRANSMISSION_COLUMNS`]), of requests with their responses ([`EXCHANGE_COLUMNS`]) and, if asked, of the periods of
//! connections ([`PERIOD_COLUMNS`]) and the packets of one ([`PACKET_COLUMNS`]); and of QUIC's connections ([`QUIC_COLUMNS`]). It follows section 3 of the study `yahoo`, and counts what tcptrace counts.
//!
//! Elsewhere: opening and decompressing files, how tables are kept, what is concluded from them (Python).

mod analyzer;
mod cells;
mod connection;
mod connection_columns;
mod end_pair;
mod exchange;
mod exchange_columns;
mod file;
mod headers;
mod intake;
mod open_connections;
mod packet_columns;
mod period_columns;
mod quic_columns;
mod quic_connection;
mod quic_connections;
mod retransmission_columns;
mod seen_at;
mod segment;
mod shard;
mod shard_resources;

pub use analyzer::Analyzer;
pub use cells::{Cell, CellKind, CellValues, FilledColumn, FilledTable, TableColumn};
pub use connection::{CaptureSide, RetransmissionCause, TcpConnection};
pub use connection_columns::CONNECTION_COLUMNS;
pub use exchange::{ExchangeHeads, ExchangeKind, HeadFields, KeyLog, KeyLogError};
pub use exchange_columns::{EXCHANGE_COLUMNS, ExchangeRow};
pub use file::{PacketReader, RawPacket, ReadError, decompressed};
pub use intake::{CaptureTotals, Intake};
pub use packet_columns::{PACKET_COLUMNS, PacketRow};
pub use period_columns::{PERIOD_COLUMNS, PeriodRow};
pub use quic_columns::QUIC_COLUMNS;
pub use quic_connection::QuicConnection;
pub use retransmission_columns::{RETRANSMISSION_COLUMNS, RetransmissionRow};
pub use segment::{CapturedSegment, SegmentBatch};
pub use shard::{AnalyzerLimits, Shard, ToldPackets};
