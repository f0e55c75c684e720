//! What becomes of the records of connections.

use crate::Connected;
use std::sync::mpsc::{SyncSender, TrySendError};

/// What becomes of the records of a server's connections.
#[derive(Clone, Debug)]
pub enum RecordKeeping {
    /// All are kept, for [`crate::Served::connections`]: for measurements, which come to an end.
    Kept,
    /// Each is passed on when its connection begins, and again when it is over ([`Connected::over`]):
    /// for an access log, which finds a peer's address by the connection's name. The server does not
    /// wait for whoever receives them: what does not fit in the channel is lost, and counted in
    /// [`crate::Served::lost`].
    Passed(SyncSender<Connected>),
    /// They are forgotten.
    Forgotten,
}

/// Enters records as [`Records`] says.
#[derive(Debug)]
pub(crate) struct ConnectionLog {
    records: RecordKeeping,
    kept: Vec<Connected>,
    lost: u64,
}

impl ConnectionLog {
    /// An empty one.
    pub(crate) fn new(records: RecordKeeping) -> ConnectionLog {
        ConnectionLog { records, kept: Vec::new(), lost: 0 }
    }

    /// A connection has begun.
    pub(crate) fn begin(&mut self, record: &Connected) {
        if let RecordKeeping::Passed(to) = &self.records {
            // Whoever does not receive any more has lost nothing.
            self.lost += u64::from(matches!(to.try_send(record.clone()), Err(TrySendError::Full(_))));
        }
    }

    /// A connection is over.
    pub(crate) fn end(&mut self, record: Connected) {
        match &self.records {
            RecordKeeping::Kept => self.kept.push(record),
            RecordKeeping::Passed(to) => {
                self.lost += u64::from(matches!(to.try_send(record), Err(TrySendError::Full(_))))
            }
            RecordKeeping::Forgotten => {}
        }
    }

    /// The records that were kept, by their names, and how many were lost.
    pub(crate) fn finish(mut self) -> (Vec<Connected>, u64) {
        self.kept.sort_unstable_by_key(|record| record.conn);
        (self.kept, self.lost)
    }
}
