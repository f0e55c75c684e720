//! How long it took until an acknowledgement was answered, by timestamps (RFC 7323, section 4): round trips of an end
//! that only receives, as far as the other one sends at once.

use crate::headers::TcpHeader;
use std::collections::VecDeque;

/// Timestamps of each end that are awaited at most; older ones are forgotten.
const MOST_AWAITED: usize = 1024;

/// A timestamp that an end has sent.
#[derive(Clone, Copy, Debug)]
struct SentTimestamp {
    value: u32,
    /// When it was first captured, in ns since 1970.
    at: u64,
    /// Whether something with data had it: the other end may have had to think about that.
    has_data: bool,
}

/// The timestamps that both ends of a connection have sent.
#[derive(Debug, Default)]
pub(crate) struct Echoes([VecDeque<SentTimestamp>; 2]);

impl Echoes {
    /// An end, 0 or 1, sent a segment: how long ago the acknowledgement was captured that its echo answers, in ns. None if it
    /// answers data, or nothing that is known.
    pub(crate) fn handle_segment(&mut self, at: u64, sender: usize, header: &TcpHeader<'_>) -> Option<u64> {
        let (value, echo) = header.options.timestamps?;
        let own = &mut self.0[sender];
        let carries = header.len > 0 || header.has(TcpHeader::SYN) || header.has(TcpHeader::FIN);
        match own.back_mut().filter(|latest| latest.value == value) {
            Some(latest) => latest.has_data |= carries,
            None => {
                if own.len() == MOST_AWAITED {
                    own.pop_front();
                }
                own.push_back(SentTimestamp { value, at, has_data: carries });
            }
        }
        let others = &self.0[1 - sender];
        let answered = others.iter().rev().find(|sent| sent.value == echo).filter(|sent| !sent.has_data)?;
        header.has(TcpHeader::ACK).then(|| at.saturating_sub(answered.at))
    }
}
