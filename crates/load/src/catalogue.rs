//! The objects of one host of a page, as its server offers them.

use crate::foresight::{Foreseen, Foresight};
use crate::page::{ActivityId, HostId, Page};
use crate::site::{Answer, Exchange, Pushed, Site, Ticket};
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

/// Fields that a 304 has of the response in whose place it comes (RFC 9110, section 15.4.5).
const OF_NOT_MODIFIED: [&[u8]; 7] =
    [b"cache-control", b"content-location", b"date", b"etag", b"expires", b"last-modified", b"vary"];

fn same(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Whether a condition of a request says that what the client has is this response (RFC 9110, section 13.2.2): by its entity
/// tag, or else by when it was changed.
fn is_known(request: &RequestHead, response: &ResponseHead) -> bool {
    let is_equal = |condition: &[u8], validator: &[u8]| {
        let (asked, own) = (request.fields.get(condition), response.fields.get(validator));
        asked.zip(own).is_some_and(|(asked, own)| asked == own)
    };
    let is_read = matches!(&request.method[..], b"GET" | b"HEAD") && response.status == 200;
    let has_tag = request.fields.get(b"if-none-match").is_some();
    let (tag, date) = ((&b"if-none-match"[..], &b"etag"[..]), (&b"if-modified-since"[..], &b"last-modified"[..]));
    let (condition, validator) = if has_tag { tag } else { date };
    is_read && is_equal(condition, validator)
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
        let fields = answer.head.fields.iter().filter(|(name, _)| OF_NOT_MODIFIED.iter().any(|own| same(name, own)));
        let head = Arc::new(ResponseHead::new(304, Fields::from_pairs(fields)));
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
        Some(AskedObject { object, is_known: is_known(head, &self.page.fetch(object).response) })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_has_is_known_by_its_tag_or_else_by_its_date_rfc9110_13_2_2() {
        let response = |status| {
            let fields = [("etag", "\"1\""), ("last-modified", "Mon, 02 Mar 2026 10:15:00 GMT")];
            ResponseHead::new(status, Fields::from_pairs(fields))
        };
        let asked = |method: &'static str, fields: &[(&str, &str)]| {
            let fields = Fields::from_pairs(fields.iter().copied());
            is_known(&RequestHead::new(method.into(), "a.test".into(), "/".into(), fields), &response(200))
        };
        let (tag, date) = ("if-none-match", "if-modified-since");
        let same_date = (date, "Mon, 02 Mar 2026 10:15:00 GMT");
        assert!(asked("GET", &[(tag, "\"1\"")]) && asked("HEAD", &[same_date]));
        assert!(!asked("GET", &[]) && !asked("POST", &[(tag, "\"1\"")]));
        assert!(!asked("GET", &[(tag, "\"2\""), same_date]), "the tag comes first");
        assert!(!asked("GET", &[(date, "Mon, 02 Mar 2026 10:15:01 GMT")]));
        let request = RequestHead::new("GET".into(), "a.test".into(), "/".into(), Fields::from_pairs([(tag, "\"1\"")]));
        assert!(!is_known(&request, &response(304)), "what was recorded is a 304 already");
    }
}
