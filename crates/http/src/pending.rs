//! Content to be sent: a counted body, or a streamed one with its buffer.

use crate::content_length::content_length;
use crate::trailers::trailers;
use crate::{Body, Chunk, Content, Fields, RequestHead, ResponseHead, Wire};

/// What is sent after a head.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Whole(Body),
    /// Boxed, since nearly all bodies are counted.
    Streamed(Box<Pending>),
}

impl Outgoing {
    /// What follows this head.
    pub(crate) fn of_request(head: &RequestHead, content: Content) -> Outgoing {
        Outgoing::new(content, || announced(&head.fields))
    }

    /// What follows this head; after some methods and statuses there is no content.
    pub(crate) fn of_response(head: &ResponseHead, method: Method, content: Content) -> Outgoing {
        // RFC 9110, section 6.4.1: these have no content, whatever their fields say.
        let is_empty = method == Method::Head || matches!(head.status, 204 | 304);
        Outgoing::new(content, || if is_empty { Some(0) } else { announced(&head.fields) })
    }

    fn new(content: Content, len: impl Fn() -> Option<u64>) -> Outgoing {
        match content {
            Content::Whole(body) => Outgoing::Whole(body),
            Content::Streamed => Outgoing::Streamed(Box::new(Pending::new(len()))),
        }
    }

    /// Whether the message ends with its head.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Outgoing::Whole(body) => body.len == 0,
            Outgoing::Streamed(pending) => pending.is_nothing(),
        }
    }

    /// The buffer, if the body is streamed.
    pub(crate) fn pending(&mut self) -> Option<&mut Pending> {
        match self {
            Outgoing::Whole(_) => None,
            Outgoing::Streamed(pending) => Some(pending),
        }
    }

    /// Bytes that were appended and not sent.
    pub(crate) fn buffered(&self) -> u64 {
        match self {
            Outgoing::Whole(_) => 0,
            Outgoing::Streamed(pending) => pending.len(),
        }
    }
}

/// The request's method, as far as it decides whether the response has content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Method {
    Head,
    #[default]
    Other,
}

impl Method {
    pub(crate) fn of(head: &RequestHead) -> Method {
        if &head.method[..] == b"HEAD" { Method::Head } else { Method::Other }
    }
}

/// The value of `content-length`; an invalid one is the maximum, which no content reaches.
pub(crate) fn announced(fields: &Fields) -> Option<u64> {
    content_length(fields).unwrap_or(Some(u64::MAX))
}

/// There is more or less content than `content-length` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WrongLength;

/// A streamed body: what was appended and not sent.
#[derive(Debug)]
pub(crate) struct Pending {
    waiting: Wire,
    /// Bytes that have yet to be appended, if the head has a `content-length`.
    missing: Option<u64>,
    /// The trailers, once the body is finished.
    end: Option<Fields>,
}

impl Pending {
    fn new(len: Option<u64>) -> Pending {
        Pending { waiting: Wire::default(), missing: len, end: None }
    }

    pub(crate) fn append(&mut self, chunk: Chunk) -> Result<(), WrongLength> {
        assert!(self.end.is_none(), "content behind the end of a message");
        if let Some(missing) = &mut self.missing {
            *missing = missing.checked_sub(chunk.len()).ok_or(WrongLength)?;
        }
        self.waiting.push(chunk);
        Ok(())
    }

    pub(crate) fn finish(&mut self, fields: &Fields) -> Result<(), WrongLength> {
        assert!(self.end.is_none(), "a second end of a message");
        self.end = Some(trailers(fields));
        if self.missing.unwrap_or(0) == 0 { Ok(()) } else { Err(WrongLength) }
    }

    /// Bytes in the buffer.
    pub(crate) fn len(&self) -> u64 {
        self.waiting.len()
    }

    /// Whether the head has a `content-length`.
    pub(crate) fn is_counted(&self) -> bool {
        self.missing.is_some()
    }

    /// Whether only trailers or the end of the message remain to be sent.
    pub(crate) fn is_at_end(&self) -> bool {
        self.waiting.is_empty() && self.end.is_some()
    }

    /// Whether all is sent, and no trailers follow.
    pub(crate) fn is_nothing(&self) -> bool {
        self.waiting.is_empty() && self.end.as_ref().is_some_and(Fields::is_empty)
    }

    /// Takes the first `len` bytes of the buffer.
    pub(crate) fn take(&mut self, len: u64, out: &mut Wire) {
        self.waiting.move_to(len, out);
    }

    /// The trailers, once the body is finished.
    pub(crate) fn trailers(&self) -> Option<&Fields> {
        self.end.as_ref()
    }

    /// Takes the trailers, if the content is sent.
    pub(crate) fn take_trailers(&mut self) -> Option<Fields> {
        self.end.take_if(|_| self.waiting.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BodyId;

    fn run(offset: u64, len: u64) -> Chunk {
        Chunk::Run { body: BodyId(0), offset, len }
    }

    fn pending(fields: &[(&str, &str)], method: Method, status: u16) -> Pending {
        let head = ResponseHead::new(status, Fields::from_pairs(fields.iter().copied()));
        match Outgoing::of_response(&head, method, Content::Streamed) {
            Outgoing::Streamed(pending) => *pending,
            Outgoing::Whole(_) => unreachable!("it was asked to be open"),
        }
    }

    #[test]
    fn content_is_as_long_as_the_head_says_or_of_any_length() {
        // What the head says; how much is appended; what becomes of it.
        let (short, exact) = (Err(WrongLength), Ok(()));
        for (fields, len, outcome) in [
            (&[("content-length", "10")][..], 9, short),
            (&[("content-length", "10")], 10, exact),
            (&[("content-length", "10")], 11, short),
            (&[("Content-Length", "0")], 0, exact),
            (&[("content-length", "ten")], 10, short),
            (&[], 10, exact),
        ] {
            let mut pending = pending(fields, Method::Other, 200);
            let appended = pending.append(run(0, len)).and_then(|()| pending.finish(&Fields::default()));
            assert_eq!(appended, outcome, "{fields:?}, {len}");
        }
    }

    #[test]
    fn the_answer_to_head_and_some_statuses_have_no_content_whatever_they_say_rfc9110_6_4_1() {
        for (method, status) in [(Method::Head, 200), (Method::Other, 204), (Method::Other, 304)] {
            let said = [("content-length", "10")];
            assert_eq!(pending(&said, method, status).finish(&Fields::default()), Ok(()), "{status}");
            assert_eq!(pending(&said, method, status).append(run(0, 1)), Err(WrongLength), "{status}");
        }
    }

    #[test]
    #[should_panic(expected = "content behind the end")]
    fn nothing_is_appended_behind_the_end() {
        let mut pending = pending(&[], Method::Other, 200);
        pending.finish(&Fields::default()).unwrap();
        let _ = pending.append(run(0, 1));
    }
}
