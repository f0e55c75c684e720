//! The columns of `periods.parquet`: a row for each direction of a connection and each period of its life.

use crate::cells::{TableColumn, column, ms};
use crate::connection::EndedPeriod;

/// A period of a connection.
#[derive(Clone, Copy, Debug)]
pub struct PeriodRow {
    /// The connection's number.
    pub(crate) connection: u64,
    pub(crate) period: EndedPeriod,
}

/// A time in ms, where round trips were measured.
fn measured_ms(row: &PeriodRow, ns: u64) -> Option<f64> {
    (row.period.tally.rtt_samples > 0).then(|| ms(ns))
}

/// The columns of the table of periods.
pub static PERIOD_COLUMNS: [TableColumn<PeriodRow>; 13] = [
    column!("connection", Integer, "Its connection, as in the table of these.", |row| row.connection),
    column!("way", Text, "up: what the client sent; down: what the server sent.", |row| {
        if row.period.is_up { "up" } else { "down" }
    }),
    column!("period", Integer, "Its place in the connection's life, from 1.", |row| row.period.number),
    column!("begin_ms", Number, "When it began, since the connection's first packet.", |row| ms(row.period.begin)),
    column!("end_ms", Number, "When it ended: at twice the time, or with the connection.", |row| ms(row.period.end)),
    column!("bytes", Integer, "Bytes of data, each once.", |row| row.period.tally.bytes),
    column!("retransmitted_packets", Integer, "Packets with data that had been sent before.", |row| {
        row.period.tally.sent_again
    }),
    column!("rtt_samples", Integer, "Round trips measured: data to acknowledgement.", |row| {
        row.period.tally.rtt_samples
    }),
    column!("rtt_min_ms", Number, "The least of these.", |row| measured_ms(row, row.period.tally.rtt_min)),
    column!("rtt_mean_ms", Number, "Their mean.", |row| {
        measured_ms(row, row.period.tally.rtt_sum).map(|sum| sum / f64::from(row.period.tally.rtt_samples))
    }),
    column!("rtt_max_ms", Number, "The largest.", |row| measured_ms(row, row.period.tally.rtt_max)),
    column!("most_in_flight", Integer, "The most bytes on their way.", |row| row.period.tally.most_in_flight),
    column!("least_window", Integer, "The least receive window that this end announced, in bytes.", |row| {
        row.period.tally.least_window
    }),
];
