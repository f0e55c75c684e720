//! What one run gave.

use loadstone_load::Row;
use loadstone_units::Time;

/// What one run gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The run's seed.
    pub seed: u64,
    /// Whether everything that the page needs has arrived.
    pub completed: bool,
    /// Page load time: from the first SYN's entry into the link to the delivery of the last packet
    /// that completes the last object the page needs. Where the load was not completed, to the
    /// moment when the browser gave up.
    pub plt: Time,
    /// IP packets that were offered to the link towards the client, lost and dropped ones included.
    pub packets_down: u64,
    /// The same towards the servers.
    pub packets_up: u64,
    /// Bytes of those packets towards the client.
    pub bytes_down: u64,
    /// Bytes of those packets towards the servers.
    pub bytes_up: u64,
    /// Data segments that were sent again, by either side.
    pub retransmissions: u64,
    /// Connections that the browser opened.
    pub connections: u32,
    /// One row for each object, in page order.
    pub waterfall: Vec<Row>,
}
