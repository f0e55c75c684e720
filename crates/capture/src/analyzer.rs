//! Packets in, tables out: one pass, and memory for the connections that are open.

use crate::cells::FilledTable;
use crate::connection::TcpConnection;
use crate::connection_columns::CONNECTION_COLUMNS;
use crate::end_pair::EndPair;
use crate::exchange_columns::{EXCHANGE_COLUMNS, ExchangeRow};
use crate::file::RawPacket;
use crate::headers::IpPacket;
use crate::headers::TcpHeader;
use crate::headers::ip_packet;
use crate::open_connections::OpenConnections;
use crate::retransmission_columns::{RETRANSMISSION_COLUMNS, RetransmissionRow};

const TCP: u8 = 6;
const SECOND: u64 = 1_000_000_000;
/// How often connections are looked through for those that are over.
const LOOKED_THROUGH: u64 = 16 * SECOND;
/// A closed connection may still send something again for so long: twice the longest life of a segment on Linux.
const CLOSED: u64 = 60 * SECOND;

/// What keeps an analysis within bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnalyzerLimits {
    /// A connection without a packet for so long is over, in s.
    pub idle: u64,
    /// Connections that are open at a time. Where there are more, those that have been silent longest are over.
    pub open: usize,
}

impl Default for AnalyzerLimits {
    fn default() -> Self {
        AnalyzerLimits { idle: 900, open: 1_000_000 }
    }
}

/// What was in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureTotals {
    /// Packets, of whatever kind.
    pub packets: u64,
    /// Of these, segments of TCP.
    pub tcp_packets: u64,
    /// Packets of TCP whose header was not captured whole.
    pub cut_headers: u64,
    /// Bytes of all packets on the wire.
    pub bytes: u64,
    /// Connections of TCP.
    pub connections: u64,
    /// Connections that ended because too many were open.
    pub evicted: u64,
    /// When the first packet was captured, in ns since 1970.
    pub first_at: Option<u64>,
    /// When the last one was.
    pub last_at: Option<u64>,
}

/// Makes tables of packets.
#[derive(Debug)]
pub struct Analyzer {
    limits: AnalyzerLimits,
    open: OpenConnections,
    look_at: u64,
    totals: CaptureTotals,
    ended: Ended,
}

/// Rows of connections that have ended.
#[derive(Debug)]
struct Ended {
    connections: FilledTable<TcpConnection>,
    retransmissions: FilledTable<RetransmissionRow>,
    exchanges: FilledTable<ExchangeRow>,
}

impl Analyzer {
    /// Nothing seen yet.
    pub fn new(limits: AnalyzerLimits) -> Analyzer {
        Analyzer {
            limits,
            open: OpenConnections::default(),
            look_at: 0,
            totals: CaptureTotals::default(),
            ended: Ended {
                connections: FilledTable::new(&CONNECTION_COLUMNS),
                retransmissions: FilledTable::new(&RETRANSMISSION_COLUMNS),
                exchanges: FilledTable::new(&EXCHANGE_COLUMNS),
            },
        }
    }

    /// What was in it until now.
    pub fn totals(&self) -> &CaptureTotals {
        &self.totals
    }

    /// The rows of connections that have ended since they were taken out.
    pub fn connections(&mut self) -> &mut FilledTable<TcpConnection> {
        &mut self.ended.connections
    }

    /// The rows of what these connections sent again.
    pub fn retransmissions(&mut self) -> &mut FilledTable<RetransmissionRow> {
        &mut self.ended.retransmissions
    }

    /// The rows of requests whose responses are over.
    pub fn exchanges(&mut self) -> &mut FilledTable<ExchangeRow> {
        &mut self.ended.exchanges
    }

    /// Looks at the next packet.
    #[inline]
    pub fn handle_packet(&mut self, packet: &RawPacket<'_>) {
        if packet.at >= self.look_at {
            self.look_through(packet.at);
        }
        let totals = &mut self.totals;
        totals.packets += 1;
        totals.bytes += u64::from(packet.len);
        totals.first_at.get_or_insert(packet.at);
        totals.last_at = totals.last_at.max(Some(packet.at));
        let missing = (packet.len as usize).saturating_sub(packet.data.len()) as u32;
        let Some(ip) = ip_packet(packet.link, packet.data).and_then(|bytes| IpPacket::read(bytes, missing)) else {
            return;
        };
        if ip.protocol != TCP {
            return;
        }
        totals.tcp_packets += 1;
        match TcpHeader::read(ip.payload, ip.len) {
            Some(header) => self.handle_segment(packet.at, &ip, &header),
            None => totals.cut_headers += 1,
        }
    }

    #[inline]
    fn handle_segment(&mut self, at: u64, ip: &IpPacket<'_>, header: &TcpHeader<'_>) {
        let source = (ip.source, header.source_port);
        let (ends, from_low) = EndPair::of(source, (ip.destination, header.destination_port));
        let totals = &mut self.totals;
        let mut open = || {
            totals.connections += 1;
            TcpConnection::new(totals.connections, at, ends, from_low, header)
        };
        let connection = self.open.get(&ends, &mut open);
        let idle = self.limits.idle.saturating_mul(SECOND);
        if connection.is_begun_anew(from_low, header) || at.saturating_sub(connection.last_at) >= idle {
            let over = std::mem::replace(connection, open());
            self.ended.push(over);
        }
        connection.handle_segment(at, from_low, ip.id, header);
        if connection.has_rows() {
            self.ended.take_rows(connection);
        }
    }

    /// Takes out what is over by now.
    fn look_through(&mut self, now: u64) {
        self.look_at = now.saturating_add(LOOKED_THROUGH);
        let mut idle = self.limits.idle.saturating_mul(SECOND);
        let ended = &mut self.ended;
        let is_over = |connection: &TcpConnection, idle: u64| {
            let silent = now.saturating_sub(connection.last_at);
            silent >= idle || (silent >= CLOSED.min(idle) && connection.is_closed())
        };
        self.open.take(|connection| is_over(connection, idle), |connection| ended.push(connection));
        while self.open.len() > self.limits.open {
            let before = self.open.len();
            idle /= 2;
            self.open.take(|connection| is_over(connection, idle), |connection| ended.push(connection));
            self.totals.evicted += (before - self.open.len()) as u64;
        }
    }

    /// There are no more packets: all connections end.
    pub fn finish(&mut self) {
        let ended = &mut self.ended;
        self.open.take(|_| true, |connection| ended.push(connection));
    }
}

impl Ended {
    fn push(&mut self, mut connection: TcpConnection) {
        for (_, half) in connection.directions() {
            half.judged.extend(half.open.drain(..));
        }
        connection.close();
        self.take_rows(&mut connection);
        self.connections.push(&connection);
    }

    fn take_rows(&mut self, connection: &mut TcpConnection) {
        let number = connection.number;
        for exchange in connection.ended.drain(..) {
            self.exchanges.push(&ExchangeRow { connection: number, exchange });
        }
        for (is_up, half) in connection.directions() {
            let isn = half.isn;
            for again in half.judged.drain(..) {
                self.retransmissions.push(&RetransmissionRow { connection: number, is_up, isn, again });
            }
        }
    }
}
