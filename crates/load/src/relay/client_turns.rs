//! The requests that wait for a connection to a server: their clients take turns.

use super::StreamRef;
use super::requester::Requester;
use std::collections::{BTreeMap, VecDeque};

/// The requests that wait for a connection to a server: their clients take turns.
#[derive(Debug, Default)]
pub(super) struct ClientTurns {
    /// Those of each client, in the order in which they came.
    waiting: BTreeMap<Requester, VecDeque<StreamRef>>,
    /// The clients that have some, in the order of their turns.
    turns: VecDeque<Requester>,
    count: usize,
}

impl ClientTurns {
    /// A request waits, too.
    pub(super) fn push(&mut self, client: Requester, front: StreamRef) {
        let requests = self.waiting.entry(client).or_default();
        if requests.is_empty() {
            self.turns.push_back(client);
        }
        requests.push_back(front);
        self.count += 1;
    }

    /// The next request, of a client that may go on.
    pub(super) fn pop(&mut self, may_go_on: impl Fn(Requester) -> bool) -> Option<(Requester, StreamRef)> {
        let at = self.turns.iter().position(|client| may_go_on(*client))?;
        let client = self.turns.remove(at)?;
        let requests = self.waiting.get_mut(&client)?;
        let front = requests.pop_front()?;
        self.count -= 1;
        if requests.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        Some((client, front))
    }

    /// A request waits no longer.
    pub(super) fn forget(&mut self, client: Requester, front: StreamRef) {
        let Some(requests) = self.waiting.get_mut(&client) else { return };
        let before = requests.len();
        requests.retain(|waiting| *waiting != front);
        self.count -= before - requests.len();
        if requests.is_empty() {
            self.waiting.remove(&client);
            self.turns.retain(|known| *known != client);
        }
    }

    /// All of them, in turn; nobody waits any longer.
    pub(super) fn take(&mut self) -> Vec<StreamRef> {
        std::iter::from_fn(|| self.pop(|_| true)).map(|(_, front)| front).collect()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many of a client wait.
    pub(super) fn of(&self, client: Requester) -> usize {
        self.waiting.get(&client).map_or(0, VecDeque::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnId;
    use loadstone_http::RequestId;

    fn numbers(fronts: Vec<StreamRef>) -> Vec<(u32, u32)> {
        fronts.into_iter().map(|(ConnId(conn), RequestId(id))| (conn, id)).collect()
    }

    #[test]
    fn clients_take_turns_and_who_has_come_last_is_not_after_all_of_another_one() {
        let mut turns = ClientTurns::default();
        let front = |client: u8, number| (ConnId(client.into()), RequestId(number));
        let push =
            |turns: &mut ClientTurns, client, number| turns.push(Requester::client(client), front(client, number));
        (0..4).for_each(|number| push(&mut turns, 1, number));
        (0..2).for_each(|number| push(&mut turns, 2, number));
        push(&mut turns, 3, 0);
        let [first, third] = [1, 3].map(Requester::client);
        turns.forget(first, front(1, 1));
        turns.forget(third, front(3, 0));
        assert_eq!((turns.len(), turns.of(first), turns.of(third)), (5, 3, 0));
        let second = turns.pop(|client| client != first).map(|(_, front)| front);
        assert_eq!(numbers(second.into_iter().collect()), [(2, 0)], "the first may not");
        assert_eq!(numbers(turns.take()), [(1, 0), (2, 1), (1, 2), (1, 3)]);
        assert_eq!((turns.len(), turns.pop(|_| true)), (0, None));
    }
}
