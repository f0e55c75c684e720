//! One direction of a connection as a list of its frames, for people who debug and for checks against
//! captures.
//!
//! What frames and header blocks say is read by the same code as in a session, the header compression
//! carried through; what they mean does not matter here. `spdy::dissect` and `h2::dissect` say
//! which field of which frame is which of a [`FrameLine`].

use crate::{PeerFault, Protocol, h2, spdy};
use bytes::{Bytes, BytesMut};
use serde::{Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;

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
    /// SPDY: why the header block says nothing. It went through the compression, so the next ones can be read.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    pub error: Option<PeerFault>,
}

fn in_words<S: Serializer>(fault: &Option<PeerFault>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&fault.as_ref().map(PeerFault::to_string).unwrap_or_default())
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
    /// The value of a field of its headers, if they have it.
    pub fn header(&self, name: &str) -> Option<&str> {
        let headers = self.headers.as_deref().unwrap_or_default();
        headers.iter().find(|(own, _)| own == name).map(|(_, value)| &value[..])
    }

    /// Whether its sender sends no more on its stream: END_STREAM, which SPDY calls FLAG_FIN.
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, "DATA" | "HEADERS" | "SYN_STREAM" | "SYN_REPLY") && self.flags & END_STREAM != 0
    }

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

/// Why the rest of the input is no list of frames. Places are counted in bytes from the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The last frame is not all there.
    #[error("the input ends at byte {end}, within the frame that begins at byte {begin}")]
    Truncated {
        /// Where the frame begins: the bytes before it.
        begin: u64,
        /// Where the input ends.
        end: u64,
    },
    /// A frame that cannot be read, or after which no other one can.
    #[error("byte {begin}: {fault}")]
    Fault {
        /// Where the frame begins.
        begin: u64,
        /// What is wrong with it.
        fault: PeerFault,
    },
    /// HTTP/1.1 has no frames.
    #[error("{0} has no frames: give one of spdy/2, spdy/3, spdy/3.1, h2")]
    NoFrames(Protocol),
    /// SPDY compresses without a table.
    #[error("{0} has no header table: leave its size out")]
    NoHeaderTable(Protocol),
}

/// Takes frames apart.
pub(crate) trait Dissect: fmt::Debug + Send + Sync {
    /// What may stand before the first frame.
    fn preface(&self) -> &'static [u8];

    /// Bytes of a frame's head.
    fn head_len(&self) -> usize;

    /// What follows a frame's head.
    fn payload(&self, head: &[u8]) -> FramePayload;

    /// The frame, or nothing if it goes on in the next one.
    fn frame(&mut self, head: &[u8], payload: Bytes) -> Result<Option<FrameLine>, PeerFault>;
}

/// What follows a frame's head, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FramePayload {
    /// A line has something of it: it is kept until it is complete.
    Read(usize),
    /// It is skipped.
    Skipped(usize),
}

/// The flag by which a sender ends a stream, in SPDY and HTTP/2.
const END_STREAM: u8 = 1;
/// The longest frame that is kept until it is complete, in bytes: no head of a message is longer.
const MAX_KEPT: usize = 128 << 10;

/// Takes one direction of a connection apart, however its bytes arrive.
///
/// It keeps a frame that is not complete, the state of header compression, and the lines that have not been polled.
/// After an error it returns the same error for any input.
#[derive(Debug)]
pub struct Decoder {
    dissector: Box<dyn Dissect>,
    stage: DecodeStage,
    /// The beginning of what the stage waits for.
    partial: BytesMut,
    /// Those that have not been polled, each with its bytes on the wire.
    lines: VecDeque<(FrameLine, u64)>,
    /// Bytes that have been taken in.
    at: u64,
    /// Where the frame begins.
    begin: u64,
    /// Where the frame begins whose header block is not complete.
    unfinished: Option<u64>,
    over: Option<DecodeError>,
}

/// What comes next.
#[derive(Clone, Debug)]
enum DecodeStage {
    /// As much of the preface as there is, or the first frame.
    Preface,
    Head,
    Payload {
        head: Bytes,
        len: usize,
    },
    /// This many bytes are skipped.
    Skipped {
        head: Bytes,
        left: usize,
    },
}

impl Decoder {
    /// For a direction of a connection that spoke `protocol`, from its beginning. `header_table` is
    /// HTTP/2's SETTINGS_HEADER_TABLE_SIZE of the *other* direction, which cannot be seen here: how many bytes
    /// the table may take when a block says so (RFC 7541, section 4.2); 4,096 where nothing is said.
    ///
    /// # Errors
    /// If the protocol has no frames, or no such table.
    pub fn new(protocol: Protocol, header_table: Option<u32>) -> Result<Decoder, DecodeError> {
        let spdy = |version| -> Box<dyn Dissect> { Box::new(spdy::Dissector::new(version)) };
        let dissector: Box<dyn Dissect> = match (protocol, header_table) {
            (Protocol::Http1 | Protocol::Http1Pipelining, _) => return Err(DecodeError::NoFrames(protocol)),
            (Protocol::H2, header_table) => Box::new(h2::Dissector::new(header_table)),
            (_, Some(_)) => return Err(DecodeError::NoHeaderTable(protocol)),
            (Protocol::Spdy2, None) => spdy(&spdy::TWO),
            (Protocol::Spdy3, None) => spdy(&spdy::THREE),
            (Protocol::Spdy31, None) => spdy(&spdy::THREE_ONE),
        };
        Ok(Decoder {
            dissector,
            stage: DecodeStage::Preface,
            partial: BytesMut::new(),
            lines: VecDeque::new(),
            at: 0,
            begin: 0,
            unfinished: None,
            over: None,
        })
    }

    /// Bytes have arrived, in order.
    ///
    /// # Errors
    /// If they cannot be read; the frames before it can still be read.
    pub fn handle_input(&mut self, mut input: &[u8]) -> Result<(), DecodeError> {
        while self.over.is_none() && !input.is_empty() {
            if let Err(fault) = self.step(&mut input) {
                self.over = Some(DecodeError::Fault { begin: self.begin, fault });
            }
        }
        self.over.map_or(Ok(()), Err)
    }

    /// Bytes have arrived that nobody has: whether they are within content that is skipped anyway, so that what comes after
    /// them can be read. Else nothing is done.
    pub fn handle_missing(&mut self, bytes: u64) -> bool {
        let DecodeStage::Skipped { head, left } = &self.stage else { return false };
        let Some(left) = usize::try_from(bytes).ok().and_then(|bytes| left.checked_sub(bytes)) else { return false };
        let head = head.clone();
        self.at += bytes;
        if left > 0 {
            self.stage = DecodeStage::Skipped { head, left };
            return true;
        }
        let read = self.read_frame(&head, Bytes::new());
        self.over = self.over.or(read.err().map(|fault| DecodeError::Fault { begin: self.begin, fault }));
        true
    }

    /// Bytes before the first frame that is not complete.
    pub fn complete_bytes(&self) -> u64 {
        self.unfinished.unwrap_or(self.begin)
    }

    /// Whether a frame has begun and not ended.
    pub fn is_within_frame(&self) -> bool {
        let is_in_payload = matches!(self.stage, DecodeStage::Payload { .. } | DecodeStage::Skipped { .. });
        !self.partial.is_empty() || is_in_payload || self.unfinished.is_some()
    }

    /// No more comes.
    ///
    /// # Errors
    /// If a frame is cut short by it.
    pub fn handle_close(&mut self) -> Result<(), DecodeError> {
        let begin = self.unfinished.or(self.is_within_frame().then_some(self.begin));
        let truncated = begin.map(|begin| DecodeError::Truncated { begin, end: self.at });
        self.over = self.over.or(truncated);
        self.over.map_or(Ok(()), Err)
    }

    /// The next frame, until `None`.
    pub fn poll_line(&mut self) -> Option<FrameLine> {
        self.poll_frame().map(|(line, _)| line)
    }

    /// The next frame, and how many bytes it has on the wire, with its head and with the frames that continue it.
    pub fn poll_frame(&mut self) -> Option<(FrameLine, u64)> {
        self.lines.pop_front()
    }

    /// Goes on with what the stage waits for.
    fn step(&mut self, input: &mut &[u8]) -> Result<(), PeerFault> {
        match self.stage.clone() {
            DecodeStage::Preface => return self.read_preface(input),
            DecodeStage::Head => {
                let Some(head) = self.gather(self.dissector.head_len(), input) else { return Ok(()) };
                match self.dissector.payload(&head) {
                    FramePayload::Read(0) | FramePayload::Skipped(0) => return self.read_frame(&head, Bytes::new()),
                    FramePayload::Read(len) if len > MAX_KEPT => return Err(PeerFault::FrameTooLarge),
                    FramePayload::Read(len) => self.stage = DecodeStage::Payload { head, len },
                    FramePayload::Skipped(left) => self.stage = DecodeStage::Skipped { head, left },
                }
            }
            DecodeStage::Payload { head, len } => {
                if let Some(payload) = self.gather(len, input) {
                    return self.read_frame(&head, payload);
                }
            }
            DecodeStage::Skipped { head, left } => {
                let left = left - self.take(left, input).len();
                if left == 0 {
                    return self.read_frame(&head, Bytes::new());
                }
                self.stage = DecodeStage::Skipped { head, left };
            }
        }
        Ok(())
    }

    /// Leaves the preface out; what only begins like it is a frame.
    fn read_preface(&mut self, input: &mut &[u8]) -> Result<(), PeerFault> {
        let preface = self.dissector.preface();
        let rest = &preface[self.partial.len()..];
        let same = rest.iter().zip(input.iter()).take_while(|(one, other)| one == other).count();
        if same == rest.len() {
            self.take(same, input);
            self.partial.clear();
            (self.stage, self.begin) = (DecodeStage::Head, self.at);
        } else if same == input.len() {
            let beginning = self.take(same, input);
            self.partial.extend_from_slice(beginning);
        } else {
            let begun = self.partial.split();
            (self.stage, self.at) = (DecodeStage::Head, 0);
            let mut begun = &begun[..];
            while !begun.is_empty() {
                self.step(&mut begun)?;
            }
        }
        Ok(())
    }

    /// A frame is complete.
    fn read_frame(&mut self, head: &[u8], payload: Bytes) -> Result<(), PeerFault> {
        match self.dissector.frame(head, payload)? {
            Some(line) => {
                let begin = self.unfinished.take().unwrap_or(self.begin);
                self.lines.push_back((line, self.at - begin));
            }
            None => self.unfinished = self.unfinished.or(Some(self.begin)),
        }
        (self.stage, self.begin) = (DecodeStage::Head, self.at);
        Ok(())
    }

    /// Takes from the input towards a piece of `len` bytes; the piece, once it is complete.
    fn gather(&mut self, len: usize, input: &mut &[u8]) -> Option<Bytes> {
        let part = self.take(len - self.partial.len(), input);
        self.partial.extend_from_slice(part);
        (self.partial.len() == len).then(|| self.partial.split().freeze())
    }

    /// Takes at most `count` bytes from the input.
    fn take<'a>(&mut self, count: usize, input: &mut &'a [u8]) -> &'a [u8] {
        let (part, rest) = input.split_at(count.min(input.len()));
        *input = rest;
        self.at += part.len() as u64;
        part
    }
}

#[cfg(test)]
mod tests;
