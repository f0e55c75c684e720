//! The objects of one host of a page, as its server offers them.

use crate::foresight::{Foreseen, Foresight};
use crate::page::{ActivityId, HostId, Page};
use crate::site::{Answer, Exchange, Pushed, Site, Ticket};
use crate::unchanged::{is_unchanged, not_modified};
use loadstone_http::{Body, Chunk, Fields, RequestHead, ResponseHead};
use std::sync::Arc;
use std::time::Duration;

/// What the server of a host has to offer: the host's objects by path, and those of others with its address and
/// certificate. Made once for all runs of a page.
#[derive(Debug)]
pub struct Catalogue {
    page: Arc<Page>,
    host: HostId,
    /// What the page's servers tell ahead.
    foreseen: Arc<Foreseen>,
}

/// The object that a request asks for.
#[derive(Clone, Copy, Debug)]
pub struct AskedObject {
    object: ActivityId,
    /// The client has it, and asks only if it is still right.
    is_known: bool,
}

impl Catalogue {
    /// The catalogues of all hosts of `page`, in their order, whose servers see ahead as `foresight`
    /// says.
    pub fn all(page: &Arc<Page>, foresight: Foresight) -> Vec<Catalogue> {
        let foreseen = Arc::new(Foreseen::new(page, foresight));
        (0..page.hosts.len() as u32)
            .map(HostId)
            .map(|host| Catalogue { page: page.clone(), host, foreseen: foreseen.clone() })
            .collect()
    }

    fn think(&self, object: ActivityId) -> Duration {
        let fetch = self.page.fetch(object);
        self.page.hosts[fetch.host.0 as usize].think + fetch.think
    }

    fn object(&self, object: ActivityId) -> Answer {
        let fetch = self.page.fetch(object);
        Answer {
            think: self.think(object),
            key: self.page.activities[object.0 as usize].key,
            object: Some(object),
            ..Answer::new(self.foreseen.head(object).unwrap_or(&fetch.response).clone(), fetch.body)
        }
    }

    /// The same where the client has it already: only that it is still right.
    fn confirmed(&self, object: ActivityId) -> Answer {
        let answer = self.object(object);
        let head = Arc::new(not_modified(&answer.head));
        Answer { head, body: Body::EMPTY, ..answer }
    }

    fn pushed(&self, object: ActivityId) -> Pushed {
        let fetch = self.page.fetch(object);
        Pushed { request: fetch.request.clone(), priority: fetch.priority }
    }
}

impl Site for Arc<Catalogue> {
    type Asked = Option<AskedObject>;

    fn ask(&mut self, head: &Arc<RequestHead>) -> Option<AskedObject> {
        let object = self.page.find_served(self.host, head)?;
        Some(AskedObject { object, is_known: is_unchanged(head, &self.page.fetch(object).response) })
    }

    fn take(&mut self, _: &mut Option<AskedObject>, _: Chunk) {}

    fn answer(&mut self, asked: Option<AskedObject>, _: Ticket) -> Option<Answer> {
        let Some(AskedObject { object, is_known }) = asked else {
            let head = ResponseHead::new(404, Fields::from_pairs([("content-length", "0")]));
            return Some(Answer::new(Arc::new(head), Body::EMPTY));
        };
        if is_known {
            return Some(self.confirmed(object));
        }
        let foreseen = &self.foreseen;
        let pushes = foreseen.pushes(object).iter().map(|pushed| self.pushed(*pushed)).collect();
        Some(Answer { hint: foreseen.hint(object).cloned(), pushes, ..self.object(object) })
    }

    fn done(&mut self, _: &Exchange) {}
}
