//! Heads that were read before, by the memory that they were read from.
//!
//! A page's heads are written once and shared by all runs ([`crate::RequestHead`] remembers how
//! HTTP/1.1 writes it), so a head that arrives in one piece is most often the very same bytes in
//! the very same place as in the run before. What is known is kept alive, so a place means one text.

use super::head::Parsed;
use crate::memory::Keeps;
use crate::{PeerFault, RequestHead, ResponseHead};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// The most heads that are kept.
const MAX_KNOWN: usize = 2048;
/// The longest head that is kept, in bytes.
const MAX_LEN: usize = 4096;

/// What the sessions of a page know of heads.
#[derive(Debug)]
pub(crate) struct Known {
    pub(super) requests: Heads<RequestHead>,
    pub(super) responses: Heads<ResponseHead>,
}

impl Known {
    /// Sessions of strangers have no heads in common, so nothing is kept for them.
    pub(crate) fn new(keeps: Keeps) -> Known {
        let max_heads = if keeps == Keeps::Steps { MAX_KNOWN } else { 0 };
        Known { requests: Heads::new(max_heads), responses: Heads::new(max_heads) }
    }
}

impl Default for Known {
    /// For a session by itself.
    fn default() -> Known {
        Known::new(Keeps::Nothing)
    }
}

/// Where a text begins, and its length.
type Place = (usize, usize);

/// Heads by the place of their text.
pub(super) struct Heads<H> {
    /// How many are kept.
    max_heads: usize,
    heads: RwLock<BTreeMap<Place, (Bytes, Parsed<H>)>>,
}

impl<H> fmt::Debug for Heads<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Heads")
    }
}

/// Reads the head at the beginning of a text; `None` if it is not all there.
type Parse<H> = fn(&Bytes) -> Result<Option<Parsed<H>>, PeerFault>;

impl<H> Heads<H> {
    fn new(max_heads: usize) -> Heads<H> {
        Heads { max_heads, heads: RwLock::default() }
    }

    /// What `parse` makes of `text`.
    pub(super) fn read(&self, text: &Bytes, parse: Parse<H>) -> Result<Option<Parsed<H>>, PeerFault> {
        if self.max_heads == 0 {
            return parse(text);
        }
        let place = (text.as_ptr() as usize, text.len());
        let heads = self.heads.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = heads.get(&place) {
            return Ok(Some(known.clone()));
        }
        let is_full = heads.len() >= self.max_heads;
        drop(heads);
        let parsed = parse(text)?;
        if let Some(parsed) = parsed.as_ref().filter(|parsed| parsed.len == text.len())
            && !is_full
            && text.len() <= MAX_LEN
        {
            let mut heads = self.heads.write().unwrap_or_else(PoisonError::into_inner);
            heads.insert(place, (text.clone(), parsed.clone()));
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::head::parse_request;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_same_bytes_in_the_same_place_are_one_head_and_elsewhere_they_are_read_anew() {
        let known = Known::new(Keeps::Steps);
        let read = |text: &Bytes| known.requests.read(text, parse_request).unwrap().unwrap().head;
        let text = Bytes::from(b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n".to_vec());
        let first = read(&text);
        assert!(Arc::ptr_eq(&first, &read(&text.clone())));
        let elsewhere = Bytes::from(text.to_vec());
        assert!(!Arc::ptr_eq(&first, &read(&elsewhere)));
        assert_eq!(first, read(&elsewhere));
    }

    #[test]
    fn what_is_kept_is_bounded_and_errors_are_not_kept() {
        let known = Known::new(Keeps::Steps);
        for at in 0..MAX_KNOWN + 10 {
            let text = Bytes::from(format!("GET /{at} HTTP/1.1\r\nhost: a\r\n\r\n"));
            known.requests.read(&text, parse_request).unwrap();
        }
        assert_eq!(known.requests.heads.read().unwrap().len(), MAX_KNOWN);
        let bad = Bytes::from_static(b"GET\r\n\r\n");
        assert!(known.responses.heads.read().unwrap().is_empty() && known.requests.read(&bad, parse_request).is_err());
    }
}
