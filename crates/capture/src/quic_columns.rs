//! The columns of `quic.parquet`: a row for each connection of QUIC.

use crate::cells::{Cell, TableColumn, column, ms};
use crate::quic_connection::QuicConnection;

/// The columns of the table of QUIC's connections.
pub static QUIC_COLUMNS: [TableColumn<QuicConnection>; 29] = [
    column!("connection", Integer, "The number of its first packet in the capture, from 1.", |c| c.number),
    column!("client", Text, "The address of the end that opened it.", |c| c.client_end().0),
    column!("client_port", Integer, "The port there.", |c| c.client_end().1),
    column!("server", Text, "The address of the other end.", |c| c.server_end().0),
    column!("server_port", Integer, "The port there.", |c| c.server_end().1),
    column!("start_ms", Number, "When its first packet was captured, in ms since 1970 (UTC).", |c| ms(c.first_at)),
    column!("duration_ms", Number, "From its first packet to its last.", |c| ms(c.last_at - c.first_at)),
    column!(
        "version",
        Integer,
        "Its version as a number: 1 (RFC 9000), 1798521807 (2, RFC 9369), others of drafts.",
        |c| { c.version }
    ),
    column!("retry", Boolean, "Whether the server asked for a token first (RFC 9000, section 8.1.2).", |c| c.retry),
    column!("version_negotiation", Boolean, "Whether the server named other versions.", |c| c.version_negotiation),
    column!("server_handshake_ms", Number, "From the client's first datagram to the server's first.", |c| {
        c.server_handshake().map(ms)
    }),
    column!("client_handshake_ms", Number, "From the server's first datagram to the client's answer.", |c| {
        c.client_handshake().map(ms)
    }),
    column!("captured_at", Text, "Where it was captured, by these two: client, server, between.", |c| {
        c.capture_side().map_or(Cell::Missing, |side| side.name().into())
    }),
    column!("datagrams_up", Integer, "From the client: datagrams.", |c| c.up.datagrams),
    column!("datagrams_down", Integer, "From the server: datagrams.", |c| c.down.datagrams),
    column!("bytes_up", Integer, "From the client: bytes in them.", |c| c.up.bytes),
    column!("bytes_down", Integer, "From the server: bytes in them.", |c| c.down.bytes),
    column!("largest_datagram_up", Integer, "From the client: bytes in the largest.", |c| c.up.largest),
    column!("largest_datagram_down", Integer, "From the server: bytes in the largest.", |c| c.down.largest),
    column!("initial_datagrams_up", Integer, "From the client: those that begin with an Initial packet.", |c| {
        c.up.initials
    }),
    column!("initial_datagrams_down", Integer, "From the server: those that begin with an Initial packet.", |c| {
        c.down.initials
    }),
    column!("handshake_datagrams_up", Integer, "From the client: with a Handshake packet.", |c| c.up.handshakes),
    column!("handshake_datagrams_down", Integer, "From the server: with a Handshake packet.", |c| c.down.handshakes),
    column!("zero_rtt_datagrams_up", Integer, "From the client: with a 0-RTT packet.", |c| c.up.zero_rtt),
    column!("spin_rtt_samples", Integer, "Whole round trips by the spin bit (RFC 9000, section 17.4).", |c| {
        c.spin_rtt().map_or(0, |samples| samples.count())
    }),
    column!("spin_rtt_min_ms", Number, "The least of these; missing where the bit does not spin.", |c| {
        c.spin_rtt().and_then(|samples| samples.min_ms())
    }),
    column!("spin_rtt_median_ms", Number, "Their median.", |c| {
        c.spin_rtt().and_then(|samples| samples.quantile_ms(0.5))
    }),
    column!("spin_rtt_mean_ms", Number, "Their mean.", |c| c.spin_rtt().and_then(|samples| samples.mean_ms())),
    column!("spin_rtt_max_ms", Number, "The largest.", |c| c.spin_rtt().and_then(|samples| samples.max_ms())),
];
