//! The connections of QUIC in a capture, and the rows of those that have ended.

use crate::cells::FilledTable;
use crate::open_connections::OpenConnections;
use crate::quic_columns::QUIC_COLUMNS;
use crate::quic_connection::{QuicConnection, QuicDatagram};
use crate::shard::AnalyzerLimits;

const SECOND: u64 = 1_000_000_000;
/// How often connections are looked through for those that are over.
const LOOKED_THROUGH: u64 = 16 * SECOND;

/// Follows connections of QUIC.
#[derive(Debug)]
pub(crate) struct QuicConnections {
    limits: AnalyzerLimits,
    open: OpenConnections<QuicConnection>,
    look_at: u64,
    opened: u64,
    ended: FilledTable<QuicConnection>,
}

impl QuicConnections {
    pub(crate) fn new(limits: AnalyzerLimits) -> QuicConnections {
        let ended = FilledTable::new(&QUIC_COLUMNS);
        QuicConnections { limits, open: OpenConnections::default(), look_at: 0, opened: 0, ended }
    }

    /// Connections that were seen until now.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// The rows of those that have ended since they were taken out.
    pub(crate) fn ended(&mut self) -> &mut FilledTable<QuicConnection> {
        &mut self.ended
    }

    /// Looks at a datagram: whether it is of a connection.
    pub(crate) fn handle_datagram(&mut self, datagram: &QuicDatagram) -> bool {
        let at = datagram.at;
        if at >= self.look_at {
            self.look_through(at);
        }
        if !datagram.opens() {
            let Some(connection) = self.open.find(&datagram.ends) else { return false };
            connection.handle_datagram(datagram);
            return true;
        }
        let opened = &mut self.opened;
        let mut open = || {
            *opened += 1;
            QuicConnection::new(datagram)
        };
        let connection = self.open.get(&datagram.ends, &mut open);
        if at.saturating_sub(connection.last_at) >= self.limits.idle.saturating_mul(SECOND) {
            self.ended.push(std::mem::replace(connection, open()));
        }
        connection.handle_datagram(datagram);
        true
    }

    fn look_through(&mut self, now: u64) {
        self.look_at = now.saturating_add(LOOKED_THROUGH);
        let mut idle = self.limits.idle.saturating_mul(SECOND);
        let ended = &mut self.ended;
        let is_over = |connection: &QuicConnection, idle: u64| now.saturating_sub(connection.last_at) >= idle;
        self.open.take(|connection| is_over(connection, idle), |connection| ended.push(connection));
        while self.open.len() > self.limits.open {
            idle /= 2;
            self.open.take(|connection| is_over(connection, idle), |connection| ended.push(connection));
        }
    }

    /// There are no more packets: so many connections end. Whether there are more.
    pub(crate) fn finish(&mut self, most: usize) -> bool {
        let ended = &mut self.ended;
        self.open.take_some(most, |_| true, |connection| ended.push(connection));
        self.open.len() > 0
    }
}
