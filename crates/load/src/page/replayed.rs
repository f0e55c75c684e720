//! A page as it may be asked of servers that belong to others: without secrets, and without requests that change
//! something.

use super::heads::REQUEST_FIELDS;
use super::redact::is_as_recorded;
use super::{Change, Field, ObjectSpec, PageFile, Secrets};
use std::collections::BTreeSet;

/// Fields by which a server knows its user. They are never replayed: what a recording has of them is mostly made up,
/// and what is real belongs to a session that the replay would disturb.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Methods that change nothing on a server (RFC 9110, section 9.2.1).
const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];

/// Requests of which methods are replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Methods {
    /// Those that are safe.
    #[default]
    Safe,
    /// All.
    Any,
}

/// A page to be replayed.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// What is left of it.
    pub page: PageFile,
    /// What was left out, each as method and URL.
    pub left_out: Vec<String>,
}

/// A page of which nothing can be replayed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the page begins with {0}, which may change something on the server: give --all-methods to send it")]
pub struct NoReplay(String);

impl PageFile {
    /// This page as it may be replayed. What waits for a request that is left out goes on at once, so that nothing else
    /// of the page is missing. `secrets` says whether fields that identify a user have been replaced when the page was
    /// imported; such values are not sent.
    ///
    /// # Errors
    /// If its first request would be left out.
    pub fn replayed(&self, methods: Methods, secrets: Secrets) -> Result<Replayed, NoReplay> {
        let is_out = |object: &ObjectSpec| methods == Methods::Safe && !SAFE.contains(&method(object));
        let places: BTreeSet<usize> = (0..self.objects.len()).filter(|at| is_out(&self.objects[*at])).collect();
        let left_out = places.iter().map(|at| &self.objects[*at]);
        let left_out: Vec<String> = left_out.map(|object| format!("{} {}", method(object), object.url)).collect();
        if let Some(root) = left_out.first().filter(|_| places.contains(&0)) {
            return Err(NoReplay(root.clone()));
        }
        let mut page = self.changed(Change::Cached, &places);
        for object in &mut page.objects {
            object.request_fields = Some(match object.request_fields.take() {
                Some(fields) => fields.into_iter().filter(|(name, _)| is_sent(name, secrets)).collect(),
                // A head of a stated size is filled up with cookies that no server has set.
                None => REQUEST_FIELDS.iter().map(|(name, value)| owned(name, value)).collect(),
            });
            object.request_header_bytes = None;
        }
        Ok(Replayed { page, left_out })
    }
}

fn method(object: &ObjectSpec) -> &str {
    object.method.as_deref().unwrap_or("GET")
}

fn is_sent(name: &str, secrets: Secrets) -> bool {
    let is_credential = CREDENTIALS.iter().any(|credential| credential.eq_ignore_ascii_case(name));
    !is_credential && (secrets == Secrets::Kept || is_as_recorded(name))
}

fn owned(name: &str, value: &str) -> Field {
    (name.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(root: &str) -> PageFile {
        let json = format!(
            r#"{{"objects": [
                {{"url": "https://a.test/", "bytes": 1, "method": "{root}"}},
                {{"url": "https://a.test/a", "bytes": 1, "request_fields":
                    [["Cookie", "id=7"], ["authorization", "Bearer x"], ["X-Token", "y"], ["accept", "*/*"],
                     ["referer", "https://a.test/"]]}},
                {{"url": "https://a.test/b", "bytes": 1, "method": "POST"}},
                {{"url": "https://a.test/c", "bytes": 1, "needs": [{{"node": "https://a.test/b"}}]}}
            ]}}"#
        );
        PageFile::from_json(json.as_bytes()).unwrap()
    }

    fn names(page: &PageFile, at: usize) -> Vec<&str> {
        page.objects[at].request_fields.iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn no_credentials_are_sent_nor_fields_whose_values_were_replaced() {
        let replayed = |secrets| page("GET").replayed(Methods::Safe, secrets).unwrap().page;
        assert_eq!(names(&replayed(Secrets::Replaced), 1), ["accept", "referer"]);
        assert_eq!(names(&replayed(Secrets::Kept), 1), ["X-Token", "accept", "referer"]);
        // Nor the cookies that fill up a head.
        let built = replayed(Secrets::Replaced).build().unwrap();
        assert!(built.fetches().all(|(_, fetch)| fetch.request.fields.get(b"cookie").is_none()));
        assert!(page("GET").build().unwrap().fetches().any(|(_, fetch)| fetch.request.fields.get(b"cookie").is_some()));
    }

    #[test]
    fn what_may_change_something_is_left_out_and_nothing_else() {
        let safe = page("GET").replayed(Methods::Safe, Secrets::Replaced).unwrap();
        assert_eq!(safe.left_out, ["POST https://a.test/b"]);
        let asked = safe.page.objects.iter().filter(|object| !object.cached);
        let urls: Vec<&str> = asked.map(|object| object.url.as_str()).collect();
        assert_eq!(urls, ["https://a.test/", "https://a.test/a", "https://a.test/c"]);
        assert!(safe.page.build().is_ok());
        let any = page("POST").replayed(Methods::Any, Secrets::Replaced).unwrap();
        assert_eq!((any.left_out.len(), any.page.objects.len()), (0, 4));
    }

    #[test]
    fn a_page_that_begins_with_such_a_request_is_refused() {
        let error = page("POST").replayed(Methods::Safe, Secrets::Replaced).unwrap_err().to_string();
        assert!(error.contains("POST https://a.test/") && error.contains("--all-methods"), "{error}");
    }
}
