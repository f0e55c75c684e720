//! The columns of `retransmissions.parquet`: a row for each segment that was sent again.

use crate::cells::{TableColumn, column, ms};
use crate::connection::Retransmission;

/// A retransmission of a connection.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionRow {
    /// The connection's number.
    pub(crate) connection: u64,
    /// Whether the client sent it.
    pub(crate) is_up: bool,
    /// The first number of its direction.
    pub(crate) isn: u64,
    pub(crate) again: Retransmission,
}

/// The columns of the table of retransmissions.
pub static RETRANSMISSION_COLUMNS: [TableColumn<RetransmissionRow>; 8] = [
    column!("connection", Integer, "Its connection, as in the table of these.", |row| row.connection),
    column!("at_ms", Number, "When it was captured, in ms since 1970 (UTC).", |row| ms(row.again.at)),
    column!("way", Text, "up: from the client; down: from the server.", |row| if row.is_up { "up" } else { "down" }),
    column!("seq", Integer, "The number of its first byte, counted from the SYN's 0.", |row| {
        row.again.start.saturating_sub(row.isn)
    }),
    column!("bytes", Integer, "Bytes of it that had been sent before; a SYN and a FIN count as one.", |row| {
        row.again.bytes
    }),
    column!("cause", Text, "Why: syn, fast, tail_loss_probe, timeout, window_probe.", |row| row.again.cause.name()),
    column!("spurious", Boolean, "Whether the receiver said that it had it already.", |row| { row.again.spurious }),
    column!(
        "after_ms",
        Number,
        "Since it was sent the last time before; missing if that is not known, or was acknowledged.",
        |row| row.again.after.map(ms)
    ),
];
