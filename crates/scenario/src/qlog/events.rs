//! The events of a trace as qlog lays them out (draft-ietf-quic-qlog-quic-events-01).

use loadstone_net::tcp::{LossDetection, Repair};
use serde::Serialize;
use serde_json::json;
use std::io;

/// How TCP's packets are called where QUIC has several kinds.
const PACKET_TYPE: &str = "1RTT";

/// What a trace says before its events.
pub(super) struct TraceHead<'a> {
    pub(super) connection: usize,
    /// Whose view it is: `client` or `server`.
    pub(super) end: &'static str,
    /// The host to which the connection was opened.
    pub(super) host: &'a str,
}

impl TraceHead<'_> {
    /// Writes the trace up to its first event.
    pub(super) fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        let TraceHead { connection, end, host } = self;
        let title = format!("connection {connection} to {host}, {end}");
        let vantage = json!({"name": title, "type": end});
        let common = json!({
            "protocol_type": ["TCP"],
            "time_format": "relative",
            "reference_time": 0,
            "group_id": connection.to_string(),
        });
        let title = json!(title);
        write!(to, r#"{{"title":{title},"vantage_point":{vantage},"common_fields":{common},"events":["#)
    }
}

/// One event.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct TraceEvent {
    /// In ms.
    pub(super) time: f64,
    pub(super) name: &'static str,
    pub(super) data: EventData,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum EventData {
    Packet {
        header: PacketHeader,
        raw: RawInfo,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        frames: Vec<QlogFrame>,
        /// SYN, FIN, RST, ACK by their letters: no part of qlog, which allows more fields.
        tcp_flags: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'static str>,
    },
    Lost {
        header: PacketHeader,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'static str>,
    },
    Metrics(RecoveryMetrics),
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct PacketHeader {
    packet_type: &'static str,
    pub(super) packet_number: u64,
}

impl PacketHeader {
    pub(super) fn new(packet_number: u64) -> PacketHeader {
        PacketHeader { packet_type: PACKET_TYPE, packet_number }
    }
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct RawInfo {
    /// Bytes of the packet with its headers.
    pub(super) length: u32,
    pub(super) payload_length: u32,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
pub(super) enum QlogFrame {
    Stream { stream_id: u64, offset: u64, length: u32, fin: bool },
    Ack { acked_ranges: Vec<[u64; 2]> },
}

/// What has changed of these since they were told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct RecoveryMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_in_flight: Option<u64>,
}

/// Why a packet was sent, if to repair a loss.
pub(super) fn sent_trigger(repair: Option<Repair>) -> Option<&'static str> {
    Some(match repair? {
        Repair::Fast(_) => "retransmit_reordered",
        Repair::LossProbe | Repair::NewDataProbe => "pto_probe",
        Repair::Timeout | Repair::SlowStart | Repair::Handshake => "retransmit_timeout",
    })
}

/// By what those that it repeats were taken for lost.
pub(super) fn lost_trigger(repair: Option<Repair>) -> Option<&'static str> {
    Some(match repair? {
        Repair::Fast(LossDetection::Rack) => "time_threshold",
        Repair::Fast(LossDetection::DupThresh | LossDetection::Fack) => "reordering_threshold",
        Repair::LossProbe | Repair::NewDataProbe => return None,
        Repair::Timeout | Repair::SlowStart | Repair::Handshake => "pto_expired",
    })
}
