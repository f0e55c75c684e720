//! What the operator of an edge may ask of it: `/metrics`, `/health`, and `POST /purge`.

use super::body_store::{BodyStore, StoredBody};
use super::reply;
use crate::Stop;
use crate::edge_change::EdgeOrder;
use loadstone_http::{Chunk, RequestHead, ResponseHead};
use loadstone_load::{Answer, Exchange, Purge, Site, Ticket};
use percent_encoding::percent_decode;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How long an edge may take to say what is asked of it.
const PATIENCE: Duration = Duration::from_secs(5);

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const USAGE: &str =
    "write one of /purge?url=URL, /purge?prefix=URL and /purge?host=NAME, with % for what is special in queries\n";

/// What the operator of an edge may ask of it.
#[derive(Debug)]
pub(crate) struct EdgeAdmin {
    orders: UnboundedSender<EdgeOrder>,
    /// When it has come, the edge is leaving.
    leave: Stop,
    bodies: BodyStore,
}

impl EdgeAdmin {
    /// That of an edge that takes these orders, and leaves when it is told to.
    pub(crate) fn new(orders: UnboundedSender<EdgeOrder>, leave: Stop, bodies: BodyStore) -> EdgeAdmin {
        EdgeAdmin { orders, leave, bodies }
    }

    fn answer_to(&self, request: &RequestHead) -> Answer {
        match reply::path(request) {
            b"/health" | b"/metrics" if !reply::is_to_get(request) => reply::not_allowed(),
            b"/health" if self.leave.is_stopped() => reply::bare(503, &[]),
            b"/health" => self.text(request, TEXT, "serving\n".to_owned()),
            b"/metrics" => match self.ask(EdgeOrder::Report) {
                Some(text) => self.text(request, METRICS, text),
                None => reply::bare(503, &[]),
            },
            b"/purge" if request.method != b"POST"[..] => reply::bare(405, &[("allow", "POST")]),
            b"/purge" => self.purge(request),
            _ => reply::bare(404, &[]),
        }
    }

    fn purge(&self, request: &RequestHead) -> Answer {
        let query = request.path.iter().position(|byte| *byte == b'?').map_or(&b""[..], |at| &request.path[at + 1..]);
        let Some(purge) = purge_of(query) else {
            let answer = self.text(request, TEXT, USAGE.to_owned());
            let head = ResponseHead::new(400, answer.head.fields.clone());
            return Answer { head: Arc::new(head), ..answer };
        };
        match self.ask(|reply| EdgeOrder::Purge(purge, reply)) {
            Some(count) => self.text(request, TEXT, format!("{count} forgotten\n")),
            None => reply::bare(503, &[]),
        }
    }

    /// What the edge says to an order; none if it is gone, or busy for too long.
    fn ask<T>(&self, order: impl FnOnce(SyncSender<T>) -> EdgeOrder) -> Option<T> {
        let (reply, said) = sync_channel(1);
        self.orders.send(order(reply)).ok()?;
        said.recv_timeout(PATIENCE).ok()
    }

    fn text(&self, request: &RequestHead, kind: &str, text: String) -> Answer {
        let len = text.len() as u64;
        let id = self.bodies.put(StoredBody::Memory(Box::new(text)));
        if reply::is_head(request) {
            self.bodies.finish(id);
        }
        reply::content(request, kind, id, len)
    }
}

/// What a query wants forgotten.
fn purge_of(query: &[u8]) -> Option<Purge> {
    let (name, value) = query.split_at_checked(query.iter().position(|byte| *byte == b'=')?)?;
    let value: Vec<u8> = percent_decode(&value[1..]).collect();
    let url = value.windows(3).position(|three| three == b"://").map_or(&value[..], |at| &value[at + 3..]);
    let (authority, path) = url.split_at(url.iter().position(|byte| *byte == b'/').unwrap_or(url.len()));
    match name {
        _ if authority.is_empty() => None,
        b"url" => Some(Purge::url(authority, if path.is_empty() { b"/" } else { path })),
        b"prefix" => Some(Purge::prefix(authority, path)),
        b"host" if path.is_empty() => Some(Purge::prefix(authority, b"")),
        _ => None,
    }
}

impl Site for EdgeAdmin {
    type Asked = Arc<RequestHead>;

    fn ask(&mut self, head: &Arc<RequestHead>) -> Arc<RequestHead> {
        head.clone()
    }

    fn take(&mut self, _: &mut Arc<RequestHead>, _: Chunk) {}

    fn answer(&mut self, asked: Arc<RequestHead>, _: Ticket) -> Option<Answer> {
        Some(self.answer_to(&asked))
    }

    fn done(&mut self, exchange: &Exchange) {
        if let Some((_, body)) = exchange.response {
            self.bodies.finish(body.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_url_what_begins_like_it_or_a_host() {
        for (query, expected) in [
            ("url=https%3A%2F%2Fa.test%2Fx%3Fy", Some(Purge::url(b"a.test", b"/x?y"))),
            ("url=http://a.test", Some(Purge::url(b"a.test", b"/"))),
            ("prefix=a.test:81/x", Some(Purge::prefix(b"a.test:81", b"/x"))),
            ("host=a.test", Some(Purge::prefix(b"a.test", b""))),
            ("host=a.test/x", None),
            ("url=", None),
            ("url", None),
            ("", None),
            ("all=a.test", None),
        ] {
            assert_eq!(purge_of(query.as_bytes()), expected, "{query}");
        }
    }
}
