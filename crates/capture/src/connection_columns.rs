//! The columns of `connections.parquet`: a row for each connection of TCP.
//!
//! `up` is what the end that opened the connection sent, `down` what the other one did. Where a name of tcptrace
//! (6.6.7) says the same, the help has it in brackets.

use crate::cells::{TableColumn, column, ms};
use crate::connection::HalfConnection;
use crate::connection::RetransmissionCause;
use crate::connection::TcpConnection;

/// The same of both directions.
macro_rules! both {
    ($up:literal, $down:literal, $kind:ident, $help:literal, $value:expr) => {
        [
            column!($up, $kind, concat!("From the client: ", $help), |connection| {
                let value: fn(&HalfConnection) -> _ = $value;
                value(connection.client())
            }),
            column!($down, $kind, concat!("From the server: ", $help), |connection| {
                let value: fn(&HalfConnection) -> _ = $value;
                value(connection.server())
            }),
        ]
    };
}

const OF_CONNECTION: [TableColumn<TcpConnection>; 15] = [
    column!(
        "connection",
        Integer,
        "The number of its first packet in the capture, from 1, as Wireshark has it.",
        |c| c.number
    ),
    column!(
        "client",
        Text,
        "The address of the end that opened it; of the higher port where that was not seen.",
        |c| c.client_end().0
    ),
    column!("client_port", Integer, "The port there.", |c| c.client_end().1),
    column!("server", Text, "The address of the other end.", |c| c.server_end().0),
    column!("server_port", Integer, "The port there.", |c| c.server_end().1),
    column!("server_name", Text, "The name that the client asked TLS for (SNI, RFC 6066).", |c| c.server_name()),
    column!("start_ms", Number, "When its first packet was captured, in ms since 1970 (UTC).", |c| ms(c.first_at)),
    column!("duration_ms", Number, "From its first packet to its last.", |c| ms(c.last_at - c.first_at)),
    column!("opened", Boolean, "Whether its SYN was captured, so that nothing before is missing.", |c| c
        .client()
        .counts
        .syns
        > 0),
    column!("closed", Boolean, "Whether both ends sent a FIN, or one a RST.", TcpConnection::is_closed),
    column!("server_handshake_ms", Number, "From the SYN to the SYN-ACK; missing if either was sent again.", |c| c
        .server_handshake()
        .map(ms)),
    column!(
        "client_handshake_ms",
        Number,
        "From the SYN-ACK to its acknowledgement; missing if either was sent again.",
        |c| c.client_handshake().map(ms)
    ),
    column!(
        "captured_at",
        Text,
        "Where it was captured, by which part of the handshake took time: client, server, between.",
        |c| c.capture_side().map(|side| side.name())
    ),
    column!(
        "initial_window_down",
        Integer,
        "The server's initial window in segments (RFC 6928), where a flight was ended by it.",
        TcpConnection::initial_window_down
    ),
    column!("sack", Boolean, "Whether both ends may use SACK (RFC 2018).", |c| {
        c.client().sack_permitted && c.server().sack_permitted
    }),
];

const OF_DIRECTIONS: [[TableColumn<TcpConnection>; 2]; 47] = [
    both!("packets_up", "packets_down", Integer, "packets (total packets).", |h| h.counts.packets),
    both!("acks_up", "acks_down", Integer, "packets with ACK (ack pkts sent).", |h| h.counts.acks),
    both!("pure_acks_up", "pure_acks_down", Integer, "of these without data (pure acks sent).", |h| h.counts.pure_acks),
    both!("sack_packets_up", "sack_packets_down", Integer, "of these with SACK blocks (sack pkts sent).", |h| h
        .counts
        .sack_packets),
    both!("dsack_packets_up", "dsack_packets_down", Integer, "of these that tell of data got twice (RFC 2883).", |h| h
        .counts
        .dsack_packets),
    both!("data_packets_up", "data_packets_down", Integer, "packets with data (actual data pkts).", |h| h
        .counts
        .data_packets),
    both!("data_bytes_up", "data_bytes_down", Integer, "bytes of data (actual data bytes).", |h| h.counts.data_bytes),
    both!("bytes_up", "bytes_down", Integer, "bytes of data, each once (unique bytes sent).", |h| h.unique_bytes()),
    both!(
        "retransmitted_packets_up",
        "retransmitted_packets_down",
        Integer,
        "packets with data that had been sent before (rexmt data pkts).",
        |h| h.counts.retransmitted_packets
    ),
    both!(
        "retransmitted_bytes_up",
        "retransmitted_bytes_down",
        Integer,
        "bytes that had been sent before (rexmt data bytes).",
        |h| h.counts.retransmitted_bytes
    ),
    both!(
        "out_of_order_packets_up",
        "out_of_order_packets_down",
        Integer,
        "packets with data from before a gap (outoforder pkts).",
        |h| h.counts.out_of_order_packets
    ),
    both!("syn_retransmissions_up", "syn_retransmissions_down", Integer, "SYNs sent again.", |h| h
        .caused_by(RetransmissionCause::Syn)),
    both!("fast_up", "fast_down", Integer, "retransmissions because acknowledgements showed a loss.", |h| h
        .caused_by(RetransmissionCause::Fast)),
    both!("tail_loss_probes_up", "tail_loss_probes_down", Integer, "tail loss probes of data sent before.", |h| h
        .caused_by(RetransmissionCause::TailLossProbe)),
    both!("timeouts_up", "timeouts_down", Integer, "retransmissions because the timer expired.", |h| h
        .caused_by(RetransmissionCause::Timeout)),
    both!("window_probes_up", "window_probes_down", Integer, "probes of a closed window, keep-alives.", |h| h
        .caused_by(RetransmissionCause::WindowProbe)),
    both!("spurious_up", "spurious_down", Integer, "retransmissions of data that had arrived.", |h| h.counts.spurious),
    both!("duplicate_acks_up", "duplicate_acks_down", Integer, "duplicate acknowledgements.", |h| h
        .counts
        .duplicate_acks),
    both!("triple_duplicate_acks_up", "triple_duplicate_acks_down", Integer, "of these third ones.", |h| h
        .counts
        .triple_duplicate_acks),
    both!("captured_twice_up", "captured_twice_down", Integer, "packets captured twice, and counted once.", |h| h
        .counts
        .captured_twice),
    both!("unseen_bytes_up", "unseen_bytes_down", Integer, "bytes acknowledged that the capture has not.", |h| h
        .counts
        .unseen_bytes),
    both!("fins_up", "fins_down", Integer, "packets with FIN.", |h| h.counts.fins),
    both!("resets_up", "resets_down", Integer, "packets with RST (resets sent).", |h| h.counts.resets),
    both!("pushed_packets_up", "pushed_packets_down", Integer, "data packets with PSH (pushed data pkts).", |h| h
        .counts
        .pushed_packets),
    both!("mss_up", "mss_down", Integer, "the MSS that it accepts, in bytes (mss requested).", |h| h.mss),
    both!("window_scale_up", "window_scale_down", Integer, "bits by which its windows are shifted.", |h| h
        .window_scale),
    both!(
        "largest_segment_up",
        "largest_segment_down",
        Integer,
        "bytes of its largest segment (max segm size).",
        |h| h.largest_segment
    ),
    both!("smallest_segment_up", "smallest_segment_down", Integer, "bytes of its smallest (min segm size).", |h| h
        .smallest_segment),
    both!(
        "largest_window_up",
        "largest_window_down",
        Integer,
        "the largest receive window, bytes (max win adv).",
        |h| h.largest_window
    ),
    both!("smallest_window_up", "smallest_window_down", Integer, "the smallest, bytes.", |h| h.smallest_window),
    both!("zero_windows_up", "zero_windows_down", Integer, "times that it announced 0 (zero win adv).", |h| h
        .counts
        .zero_windows),
    both!("most_in_flight_up", "most_in_flight_down", Integer, "the most bytes on their way (max owin).", |h| h
        .most_in_flight),
    both!(
        "first_flight_packets_up",
        "first_flight_packets_down",
        Integer,
        "packets with new data before the first of them was acknowledged (initial window pkts).",
        |h| h.counts.first_flight_packets
    ),
    both!("first_flight_bytes_up", "first_flight_bytes_down", Integer, "bytes of these (initial window bytes).", |h| h
        .counts
        .first_flight_bytes),
    both!("rtt_samples_up", "rtt_samples_down", Integer, "round trips measured: data to acknowledgement.", |h| h
        .rtt
        .count()),
    both!("rtt_min_ms_up", "rtt_min_ms_down", Number, "the least of these (RTT min).", |h| h.rtt.min_ms()),
    both!("rtt_median_ms_up", "rtt_median_ms_down", Number, "their median.", |h| h.rtt.quantile_ms(0.5)),
    both!("rtt_p90_ms_up", "rtt_p90_ms_down", Number, "their 90th percentile.", |h| h.rtt.quantile_ms(0.9)),
    both!("rtt_mean_ms_up", "rtt_mean_ms_down", Number, "their mean (RTT avg).", |h| h.rtt.mean_ms()),
    both!("rtt_max_ms_up", "rtt_max_ms_down", Number, "the largest (RTT max).", |h| h.rtt.max_ms()),
    both!("rtt_deviation_ms_up", "rtt_deviation_ms_down", Number, "their standard deviation (RTT stdev).", |h| h
        .rtt
        .deviation_ms()),
    both!("timestamp_rtt_min_ms_up", "timestamp_rtt_min_ms_down", Number, "the least by timestamps (RFC 7323).", |h| h
        .timestamp_rtt
        .map(ms)),
    both!(
        "data_time_ms_up",
        "data_time_ms_down",
        Number,
        "from its first packet with data to its last (data xmit time).",
        |h| h.first_data_at.zip(h.last_data_at).map(|(first, last)| ms(last.since(first)))
    ),
    both!("busy_ms_up", "busy_ms_down", Number, "time with data on its way (Linux: tcpi_busy_time).", |h| ms(h.busy)),
    both!(
        "window_limited_ms_up",
        "window_limited_ms_down",
        Number,
        "time without room for a segment in the other end's receive window (Linux: tcpi_rwnd_limited).",
        |h| ms(h.without_room)
    ),
    both!("flights_up", "flights_down", Integer, "times that it sent when all before was acknowledged.", |h| h
        .flights
        .begun_count),
    both!(
        "cwnd_limited_flights_up",
        "cwnd_limited_flights_down",
        Integer,
        "of these those that the congestion window ended, and not the application.",
        |h| h.flights.ended_by_window
    ),
];

/// The columns of the table of connections.
pub static CONNECTION_COLUMNS: std::sync::LazyLock<Vec<TableColumn<TcpConnection>>> =
    std::sync::LazyLock::new(|| OF_CONNECTION.into_iter().chain(OF_DIRECTIONS.into_iter().flatten()).collect());
