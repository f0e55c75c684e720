//! Exchanges by who sends: what a client sends after a response is a request.

use super::{ExchangeKind, SeenExchange};

/// Who spoke last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    current: Option<SeenExchange>,
    count: u64,
    last_ended_at: Option<u64>,
}

impl Turns {
    /// Those after exchanges that were found in another way: how many, and when the last of their responses ended.
    pub(crate) fn after(count: u64, last_ended_at: Option<u64>) -> Turns {
        Turns { current: None, count, last_ended_at }
    }

    /// The client sent bytes: the exchange that has ended by that, if one has.
    pub(crate) fn handle_up(&mut self, kind: ExchangeKind, at: u64, bytes: u64) -> Option<SeenExchange> {
        let ended = self.current.take_if(|current| current.response_at.is_some());
        self.last_ended_at = ended.as_ref().map_or(self.last_ended_at, |ended| ended.response_end_at);
        let current = self.current.get_or_insert_with(|| {
            self.count += 1;
            let before_ended_at = self.last_ended_at;
            SeenExchange { before_ended_at, ..SeenExchange::new(kind, self.count, at) }
        });
        current.extend_request(at, bytes);
        ended
    }

    /// The server sent bytes. Without a request before they are none of an exchange.
    pub(crate) fn handle_down(&mut self, at: u64, bytes: u64, sent_again: u64) {
        if let Some(current) = &mut self.current {
            current.extend_response(at, bytes, sent_again);
        }
    }

    /// The connection is over: what was under way on it.
    pub(crate) fn close(&mut self) -> Option<SeenExchange> {
        self.current.take()
    }
}
