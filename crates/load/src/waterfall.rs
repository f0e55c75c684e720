//! What happened when, object by object: the form in which every runner tells it.

use loadstone_units::Time;

/// The marks of one object's load; what has not happened is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The connection it was asked for on: counts from 0 in the order of opening.
    pub connection: Option<u32>,
    /// The browser knew that it has to fetch it.
    pub found: Option<Time>,
    /// The first byte of its request was handed to the transport.
    pub sent: Option<Time>,
    /// The head of its response was there.
    pub first_byte: Option<Time>,
    /// The last byte of its response was there.
    pub last_byte: Option<Time>,
}
