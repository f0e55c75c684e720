//! What all connections of a shard have in common.

use crate::exchange::KeyLog;
use std::sync::Arc;

/// Bytes that came before others and wait for these, of all connections of a shard.
const MOST_WAITING: usize = 8 << 20;

/// Room and secrets.
#[derive(Debug)]
pub(crate) struct ShardResources {
    /// How many more bytes may wait for those before them.
    pub(crate) room: usize,
    /// Secrets of TLS.
    pub(crate) keys: Arc<KeyLog>,
}

impl Default for ShardResources {
    fn default() -> ShardResources {
        ShardResources { room: MOST_WAITING, keys: Arc::default() }
    }
}
