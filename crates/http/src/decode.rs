//! One direction of a connection as a list of its frames, for people who debug and for checks against
//! captures.
//!
//! What frames and header blocks say is read by the same code as in a session, the header compression
//! carried through; what they mean is nobody's concern here. `spdy::dissect` and `h2::dissect` say
//! which field of which frame is which of a [`FrameLine`].

use crate::{PeerFault, Protocol, h2, spdy};
use bytes::Bytes;
use serde::Serialize;

/// A frame. What its kind does not have is left out; text has one character for each byte (Latin-1).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FrameLine {
    /// The name of its kind in the draft or RFC, or `UNKNOWN`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its flags, as they are on the wire.
    pub flags: u8,
    /// Its stream; for PUSH_PROMISE the one that is promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_id: Option<u32>,
    /// The stream that a pushed one belongs to; 0 in a SYN_STREAM that is no push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub associated_to_stream_id: Option<u32>,
    /// SYN_STREAM: 0 is the highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// RST_STREAM and GOAWAY: the status, which HTTP/2 calls error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u32>,
    /// WINDOW_UPDATE: bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<u32>,
    /// PING; HTTP/2's eight bytes are one number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// GOAWAY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good_stream_id: Option<u32>,
    /// DATA, and what is unknown: bytes of the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// SETTINGS, in wire order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<EntryLine>>,
    /// Names and values in wire order; the values of one name in SPDY have NUL between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<(String, String)>>,
}

/// One of the settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EntryLine {
    /// Which one.
    pub id: u32,
    /// SPDY: 1 it is to be kept, 2 it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<u8>,
    /// Its value.
    pub value: u32,
}

impl FrameLine {
    pub(crate) fn new(kind: &'static str, flags: u8) -> FrameLine {
        FrameLine { kind, flags, ..FrameLine::default() }
    }

    pub(crate) fn on(kind: &'static str, flags: u8, stream: u32) -> FrameLine {
        FrameLine { stream_id: Some(stream), ..FrameLine::new(kind, flags) }
    }
}

/// Names and values as text.
pub(crate) fn latin1<'a>(pairs: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Vec<(String, String)> {
    let text = |part: &[u8]| part.iter().map(|byte| char::from(*byte)).collect();
    pairs.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// Why the rest of the input is no list of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The last frame is not all there.
    #[error("the input ends at byte {end}, within the frame that begins at byte {begin}")]
    Truncated {
        /// Where the frame begins: the bytes before it.
        begin: usize,
        /// Where the input ends.
        end: usize,
    },
    /// A frame that cannot be read.
    #[error("byte {begin}: {fault}")]
    Fault {
        /// Where the frame begins.
        begin: usize,
        /// What is wrong with it.
        fault: PeerFault,
    },
    /// HTTP/1.1 has no frames.
    #[error("{0} has no frames: give one of spdy/2, spdy/3, spdy/3.1, h2")]
    NoFrames(Protocol),
}

/// Takes frames apart.
pub(crate) trait Dissect {
    /// Bytes of a frame's head.
    const HEAD: usize;
    /// What may stand before the first frame.
    const PREFACE: &'static [u8];

    /// Bytes of the payload.
    fn len(head: &[u8]) -> usize;

    /// The frame, or nothing if it goes on in the next one.
    fn frame(&mut self, head: &[u8], payload: Bytes) -> Result<Option<FrameLine>, PeerFault>;
}

/// The frames of one direction of a connection that spoke `protocol`, and why they end before the input
/// does, if so.
pub fn decode(protocol: Protocol, input: &Bytes) -> (Vec<FrameLine>, Result<(), DecodeError>) {
    let mut lines = Vec::new();
    let result = match protocol {
        Protocol::Spdy2 => dissect(spdy::Dissector::new(&spdy::TWO), input, &mut lines),
        Protocol::Spdy3 => dissect(spdy::Dissector::new(&spdy::THREE), input, &mut lines),
        Protocol::Spdy31 => dissect(spdy::Dissector::new(&spdy::THREE_ONE), input, &mut lines),
        Protocol::H2 => dissect(h2::Dissector::new(), input, &mut lines),
        Protocol::Http1 | Protocol::Http1Pipelining => Err(DecodeError::NoFrames(protocol)),
    };
    (lines, result)
}

fn dissect<D: Dissect>(mut dissector: D, input: &Bytes, lines: &mut Vec<FrameLine>) -> Result<(), DecodeError> {
    let mut at = if input.starts_with(D::PREFACE) { D::PREFACE.len() } else { 0 };
    // Where the frame begins whose header block is not complete.
    let mut unfinished = None;
    while at < input.len() {
        let begin = unfinished.unwrap_or(at);
        let truncated = DecodeError::Truncated { begin, end: input.len() };
        let head = input.get(at..at + D::HEAD).ok_or(truncated)?;
        let next = at + D::HEAD + D::len(head);
        if next > input.len() {
            return Err(truncated);
        }
        let line = dissector.frame(head, input.slice(at + D::HEAD..next));
        match line.map_err(|fault| DecodeError::Fault { begin: at, fault })? {
            Some(line) => {
                lines.push(line);
                unfinished = None;
            }
            None => unfinished = Some(begin),
        }
        at = next;
    }
    unfinished.map_or(Ok(()), |begin| Err(DecodeError::Truncated { begin, end: input.len() }))
}

#[cfg(test)]
mod tests;
