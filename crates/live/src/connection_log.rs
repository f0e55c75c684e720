//! What becomes of the records of connections.

use crate::SocketRecord;
use std::sync::mpsc::{SyncSender, TrySendError};

/// What becomes of the records of a server's connections.
#[derive(Clone, Debug)]
pub enum RecordKeeping {
    /// All are collected in [`crate::Served::connections`]: for measurements, which end.
    Collect,
    /// Each is sent to a channel when its connection begins, and again when it has closed
    /// ([`SocketRecord::closed_at`]): for an access log, which finds a peer's address by `ConnId`. The server does not
    /// wait for the receiver: records that do not fit in the channel are dropped, and counted in
    /// [`crate::Served::records_dropped`].
    Forward(SyncSender<SocketRecord>),
    /// They are discarded.
    Discard,
}

/// Treats records as [`RecordKeeping`] says.
#[derive(Debug)]
pub(crate) struct ConnectionLog {
    records: RecordKeeping,
    kept: Vec<SocketRecord>,
    dropped: u64,
}

impl ConnectionLog {
    /// An empty one.
    pub(crate) fn new(records: RecordKeeping) -> ConnectionLog {
        ConnectionLog { records, kept: Vec::new(), dropped: 0 }
    }

    /// A connection has begun.
    pub(crate) fn begin(&mut self, record: &SocketRecord) {
        if let RecordKeeping::Forward(to) = &self.records {
            // A closed receiver is not counted as loss.
            self.dropped += u64::from(matches!(to.try_send(record.clone()), Err(TrySendError::Full(_))));
        }
    }

    /// A connection has closed.
    pub(crate) fn end(&mut self, record: SocketRecord) {
        match &self.records {
            RecordKeeping::Collect => self.kept.push(record),
            RecordKeeping::Forward(to) => {
                self.dropped += u64::from(matches!(to.try_send(record), Err(TrySendError::Full(_))))
            }
            RecordKeeping::Discard => {}
        }
    }

    /// The records that were collected, by `ConnId`, and how many were dropped.
    pub(crate) fn finish(mut self) -> (Vec<SocketRecord>, u64) {
        self.kept.sort_unstable_by_key(|record| record.conn);
        (self.kept, self.dropped)
    }
}
