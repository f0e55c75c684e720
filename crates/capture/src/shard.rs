//! A part of all connections: what is known of them, and the rows of those that have ended.

use crate::cells::FilledTable;
use crate::connection::TcpConnection;
use crate::connection_columns::CONNECTION_COLUMNS;
use crate::exchange::{ExchangeHeads, KeyLog};
use crate::exchange_columns::{EXCHANGE_COLUMNS, ExchangeRow};
use crate::open_connections::OpenConnections;
use crate::packet_columns::{PACKET_COLUMNS, PacketRow};
use crate::period_columns::{PERIOD_COLUMNS, PeriodRow};
use crate::retransmission_columns::{RETRANSMISSION_COLUMNS, RetransmissionRow};
use crate::segment::{CapturedSegment, SegmentBatch};
use crate::shard_resources::ShardResources;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
/// How often connections are looked through for those that are over.
const LOOKED_THROUGH: u64 = 16 * SECOND;
/// A closed connection may still send something again for so long: twice the longest life of a segment on Linux.
const CLOSED: u64 = 60 * SECOND;
/// Bytes of heads that are kept of a part of all connections.
const MOST_HEAD_BYTES: usize = 16 << 20;

/// What an analysis tells, and what keeps it within bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnalyzerLimits {
    /// A connection without a packet for so long is over, in s.
    pub idle: u64,
    /// Connections that are open at a time, in all parts. Where there are more, those that have been silent longest are
    /// over.
    pub open: usize,
    /// Whether the periods of connections are told.
    pub periods: bool,
    /// The packets that are told.
    pub packets: ToldPackets,
    /// Whether exchanges have their heads ([`ExchangeRow::heads`]).
    pub heads: bool,
}

/// Which packets have rows of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ToldPackets {
    /// None.
    #[default]
    None,
    /// Those of the connection of this number.
    Of(u64),
    /// All.
    All,
}

impl ToldPackets {
    fn include(self, connection: u64) -> bool {
        self == ToldPackets::All || self == ToldPackets::Of(connection)
    }
}

impl Default for AnalyzerLimits {
    fn default() -> Self {
        AnalyzerLimits { idle: 900, open: 1_000_000, periods: false, packets: ToldPackets::None, heads: false }
    }
}

/// Follows the connections of a part of all pairs of ends.
#[derive(Debug)]
pub struct Shard {
    limits: AnalyzerLimits,
    open: OpenConnections<TcpConnection>,
    look_at: u64,
    opened: u64,
    evicted: u64,
    resources: ShardResources,
    ended: Ended,
}

/// Rows of connections that have ended.
#[derive(Debug)]
struct Ended {
    connections: FilledTable<TcpConnection>,
    retransmissions: FilledTable<RetransmissionRow>,
    exchanges: FilledTable<ExchangeRow>,
    periods: FilledTable<PeriodRow>,
    packets: FilledTable<PacketRow>,
    /// Exchanges with their heads, and how many bytes more these may take.
    with_heads: Vec<ExchangeRow>,
    head_room: usize,
}

impl Shard {
    pub(crate) fn new(limits: AnalyzerLimits) -> Shard {
        Shard {
            limits,
            open: OpenConnections::default(),
            look_at: 0,
            opened: 0,
            evicted: 0,
            resources: ShardResources::default(),
            ended: Ended {
                connections: FilledTable::new(&CONNECTION_COLUMNS),
                retransmissions: FilledTable::new(&RETRANSMISSION_COLUMNS),
                exchanges: FilledTable::new(&EXCHANGE_COLUMNS),
                periods: FilledTable::new(&PERIOD_COLUMNS),
                packets: FilledTable::new(&PACKET_COLUMNS),
                with_heads: Vec::new(),
                head_room: MOST_HEAD_BYTES,
            },
        }
    }

    /// Connections that were seen until now, and those that ended because too many were open.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.opened, self.evicted)
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

    /// The rows of periods that are over, if these are asked for.
    pub fn periods(&mut self) -> &mut FilledTable<PeriodRow> {
        &mut self.ended.periods
    }

    /// Decrypts with these secrets from now on.
    pub(crate) fn set_keys(&mut self, keys: Arc<KeyLog>) {
        self.resources.keys = keys;
    }

    /// The rows of packets of the connection of which these are asked for.
    pub fn packets(&mut self) -> &mut FilledTable<PacketRow> {
        &mut self.ended.packets
    }

    /// Takes out the exchanges that have heads, if these are asked for: the first ones, up to 16 MB of a part.
    pub fn take_heads(&mut self) -> Vec<ExchangeRow> {
        std::mem::take(&mut self.ended.with_heads)
    }

    /// Looks at the segments of a batch.
    pub fn handle_batch(&mut self, batch: &SegmentBatch) {
        for segment in batch.iter() {
            self.handle_segment(&segment);
        }
    }

    #[inline]
    pub(crate) fn handle_segment(&mut self, segment: &CapturedSegment<'_>) {
        let at = segment.at;
        if at >= self.look_at {
            self.look_through(at);
        }
        let (opened, limits) = (&mut self.opened, self.limits);
        let mut open = || {
            *opened += 1;
            let mut connection = TcpConnection::new(segment);
            if limits.periods {
                connection.tell_periods();
            }
            if limits.heads {
                connection.tell_heads();
            }
            if limits.packets.include(connection.number) {
                connection.tell_echoes();
            }
            connection
        };
        let connection = self.open.get(&segment.ends, &mut open);
        let idle = self.limits.idle.saturating_mul(SECOND);
        if connection.is_begun_anew(segment) || at.saturating_sub(connection.last_at) >= idle {
            let over = std::mem::replace(connection, open());
            self.ended.push(over, &mut self.resources);
        }
        if limits.packets.include(connection.number) {
            let before = connection.round_trip_sums();
            connection.handle_segment(segment, &mut self.resources);
            self.ended.packets.push(connection.packet_row(segment, before));
        } else {
            connection.handle_segment(segment, &mut self.resources);
        }
        if connection.has_rows() {
            self.ended.take_rows(connection);
        }
    }

    /// Takes out what is over by now.
    fn look_through(&mut self, now: u64) {
        self.look_at = now.saturating_add(LOOKED_THROUGH);
        let mut idle = self.limits.idle.saturating_mul(SECOND);
        let (ended, resources) = (&mut self.ended, &mut self.resources);
        let is_over = |connection: &TcpConnection, idle: u64| {
            let silent = now.saturating_sub(connection.last_at);
            silent >= idle || (silent >= CLOSED.min(idle) && connection.is_closed())
        };
        self.open.take(|connection| is_over(connection, idle), |connection| ended.push(connection, resources));
        while self.open.len() > self.limits.open {
            let before = self.open.len();
            idle /= 2;
            self.open.take(|connection| is_over(connection, idle), |connection| ended.push(connection, resources));
            self.evicted += (before - self.open.len()) as u64;
        }
    }

    /// There are no more packets: so many connections end. Whether there are more.
    pub fn finish(&mut self, most: usize) -> bool {
        let (ended, resources) = (&mut self.ended, &mut self.resources);
        self.open.take_some(most, |_| true, |connection| ended.push(connection, resources));
        self.open.len() > 0
    }
}

impl Ended {
    fn push(&mut self, mut connection: TcpConnection, resources: &mut ShardResources) {
        connection.close(resources);
        self.take_rows(&mut connection);
        self.connections.push(connection);
    }

    fn take_rows(&mut self, connection: &mut TcpConnection) {
        let number = connection.number;
        for period in connection.periods.iter_mut().flat_map(|periods| std::mem::take(&mut periods.ended)) {
            self.periods.push(PeriodRow { connection: number, period });
        }
        for exchange in std::mem::take(&mut connection.ended) {
            let row = ExchangeRow { connection: number, exchange };
            let size = row.heads().map(ExchangeHeads::size);
            if let Some(room) = size.and_then(|size| self.head_room.checked_sub(size)) {
                self.head_room = room;
                self.with_heads.push(row.clone());
            }
            self.exchanges.push(row);
        }
        for (is_up, half) in connection.directions() {
            let isn = half.isn;
            for again in half.disorder.iter_mut().flat_map(|disorder| disorder.judged.drain(..)) {
                self.retransmissions.push(RetransmissionRow { connection: number, is_up, isn, again });
            }
        }
    }
}
