//! The columns of `exchanges.parquet`: a row for each request.

use crate::cells::{TableColumn, column, ms};
use crate::exchange::{ExchangeHeads, SeenExchange};

/// An exchange of a connection.
#[derive(Clone, Debug)]
pub struct ExchangeRow {
    /// The connection's number.
    pub(crate) connection: u64,
    pub(crate) exchange: SeenExchange,
}

impl ExchangeRow {
    /// Connection and place on it, as in the table.
    pub fn place(&self) -> (u64, u64) {
        (self.connection, self.exchange.number)
    }

    /// Its heads, where these are asked for and were captured.
    pub fn heads(&self) -> Option<&ExchangeHeads> {
        self.exchange.heads.as_deref()
    }
}

/// The columns of the table of exchanges.
pub static EXCHANGE_COLUMNS: [TableColumn<ExchangeRow>; 18] = [
    column!("connection", Integer, "Its connection, as in the table of these.", |row| row.connection),
    column!("exchange", Integer, "Its place on the connection, from 1.", |row| row.exchange.number),
    column!(
        "kind",
        Text,
        "By what it was found: http/1.1 by heads, h2 and spdy by frames (without a method by turns), tls by records, other by turns; in qlog h3 and quic by streams.",
        |row| row.exchange.kind.name()
    ),
    column!("encrypted", Boolean, "Whether it went through TLS.", |row| row.exchange.encrypted),
    column!("method", Text, "The method, where heads are to be seen.", |row| row.exchange.method),
    column!("status", Integer, "The status, where heads are to be seen.", |row| row.exchange.status),
    column!("request_ms", Number, "When the request's first byte was captured, in ms since 1970 (UTC).", |row| ms(row
        .exchange
        .request_at)),
    column!("request_time_ms", Number, "From its first byte to its last.", |row| ms(
        row.exchange.request_end_at - row.exchange.request_at
    )),
    column!("request_bytes", Integer, "Its bytes, with head or records.", |row| row.exchange.request_bytes),
    column!("response_wait_ms", Number, "From its last byte to the first of the response.", |row| row
        .exchange
        .response_at
        .map(|at| ms(at.saturating_sub(row.exchange.request_end_at)))),
    column!("response_time_ms", Number, "From the response's first byte to its last.", |row| row
        .exchange
        .response_at
        .zip(row.exchange.response_end_at)
        .map(|(first, last)| ms(last.saturating_sub(first)))),
    column!("response_bytes", Integer, "Bytes of the response, with head or records.", |row| row
        .exchange
        .response_bytes),
    column!("body_bytes", Integer, "Bytes of its body, if its head or frames say how many.", |row| row
        .exchange
        .body_bytes),
    column!(
        "gap_ms",
        Number,
        "From the end of the response before to this request; missing of the first one, and where several streams overlap.",
        |row| row.exchange.before_ended_at.map(|before| ms(row.exchange.request_at.saturating_sub(before)))
    ),
    column!("pipelined", Boolean, "Whether the request came while others had not been answered.", |row| row
        .exchange
        .overlaps),
    column!("pushed", Boolean, "Whether the server sent the response without a request.", |row| row.exchange.pushed),
    column!("answered", Boolean, "Whether anything of a response was captured.", |row| row
        .exchange
        .response_at
        .is_some()),
    column!("retransmitted_packets", Integer, "Packets that the server sent again during the response.", |row| row
        .exchange
        .sent_again),
];
