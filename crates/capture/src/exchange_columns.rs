//! The columns of `exchanges.parquet`: a row for each request.

use crate::cells::{CellKind, TableColumn};
use crate::exchange::SeenExchange;

/// An exchange of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeRow {
    /// The connection's number.
    pub(crate) connection: u64,
    pub(crate) exchange: SeenExchange,
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

macro_rules! column {
    ($name:literal, $kind:ident, $help:literal, $value:expr) => {
        TableColumn {
            name: $name,
            kind: CellKind::$kind,
            help: $help,
            value: |row| {
                let value: fn(&SeenExchange) -> _ = $value;
                value(&row.exchange).into()
            },
        }
    };
}

/// The columns of the table of exchanges.
pub static EXCHANGE_COLUMNS: [TableColumn<ExchangeRow>; 16] = [
    TableColumn {
        name: "connection",
        kind: CellKind::Integer,
        help: "Its connection, as in the table of these.",
        value: |row| row.connection.into(),
    },
    column!("exchange", Integer, "Its place on the connection, from 1.", |e| e.number),
    column!(
        "kind",
        Text,
        "By what it was found: http/1.1 by heads, tls by records, h2, spdy and other by turns.",
        |e| e.kind.name()
    ),
    column!("method", Text, "The method, where heads are to be seen.", |e| e.method),
    column!("status", Integer, "The status, where heads are to be seen.", |e| e.status),
    column!("request_ms", Number, "When the request's first byte was captured, in ms since 1970 (UTC).", |e| ms(
        e.request_at
    )),
    column!("request_time_ms", Number, "From its first byte to its last.", |e| ms(e.request_end_at - e.request_at)),
    column!("request_bytes", Integer, "Its bytes, with head or records.", |e| e.request_bytes),
    column!("response_wait_ms", Number, "From its last byte to the first of the response.", |e| e
        .response_at
        .map(|at| ms(at.saturating_sub(e.request_end_at)))),
    column!("response_time_ms", Number, "From the response's first byte to its last.", |e| e
        .response_at
        .zip(e.response_end_at)
        .map(|(first, last)| ms(last.saturating_sub(first)))),
    column!("response_bytes", Integer, "Bytes of the response, with head or records.", |e| e.response_bytes),
    column!("body_bytes", Integer, "Bytes of its body, if its head says how many.", |e| e.body_bytes),
    column!("gap_ms", Number, "From the end of the response before to this request; missing of the first one.", |e| e
        .before_ended_at
        .map(|before| ms(e.request_at.saturating_sub(before)))),
    column!("pipelined", Boolean, "Whether the request came before the end of the response before.", |e| {
        e.before_ended_at.is_some_and(|before| before > e.request_at)
    }),
    column!("answered", Boolean, "Whether anything of a response was captured.", |e| e.response_at.is_some()),
    column!("retransmitted_packets", Integer, "Packets that the server sent again during the response.", |e| e
        .sent_again),
];
