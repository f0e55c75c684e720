//! Cuts one direction of a session into frames, however the bytes arrive.

use crate::{Chunk, PeerFault};
use bytes::{Bytes, BytesMut};

/// What a reader reports to its session, and asks it.
pub(super) trait Frames {
    /// Bytes of a frame header.
    fn frame_header_len(&self) -> usize;
    fn parse_frame_header(&self, head: &[u8]) -> Result<FrameHeader, PeerFault>;
    /// A frame that is not DATA, complete.
    fn control(&mut self, head: &[u8], payload: Bytes) -> Result<(), PeerFault>;
    /// A DATA frame of `len` bytes, padding included.
    fn data_begins(&mut self, stream: u32, len: u32) -> Result<(), PeerFault>;
    /// Content of it.
    fn data(&mut self, stream: u32, content: Chunk);
    /// All `len` bytes of it have arrived; `end` is END_STREAM.
    fn data_ends(&mut self, stream: u32, len: u32, end: bool) -> Result<(), PeerFault>;
}

/// A frame header (RFC 9113, section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameHeader {
    /// DATA: content of a stream.
    Data { stream: u32, len: u32, end: bool, padded: bool },
    /// Any other frame, handled when it is complete.
    Control { len: u32 },
}

/// Bytes of the longest frame header: HTTP/2's.
const MAX_FRAME_HEADER: usize = 9;

/// Cuts input into frames.
#[derive(Default, Debug)]
pub(super) struct Reader {
    /// The rest of the fixed string that the peer has to send before its first frame.
    preface: &'static [u8],
    state: FrameReaderState,
    /// The beginning of a frame header, or of a control frame's payload, whose rest has not arrived.
    partial: BytesMut,
}

#[derive(Clone, Copy, Default, Debug)]
enum FrameReaderState {
    #[default]
    Head,
    Control {
        head: [u8; MAX_FRAME_HEADER],
        len: usize,
    },
    /// The Pad Length field.
    Padding {
        stream: u32,
        len: u32,
        end: bool,
    },
    Data {
        stream: u32,
        len: u32,
        /// Content that has not arrived.
        left: u64,
        /// Padding that has not arrived.
        padding: u64,
        end: bool,
    },
}

impl Reader {
    pub(super) fn new(preface: &'static [u8]) -> Reader {
        Reader { preface, ..Reader::default() }
    }

    /// Reads input and reports its frames.
    pub(super) fn read(&mut self, input: &[Chunk], frames: &mut impl Frames) -> Result<(), PeerFault> {
        for chunk in input {
            let mut chunk = chunk.clone();
            while !chunk.is_empty() {
                match (self.state, &mut chunk) {
                    (FrameReaderState::Data { .. }, chunk) => self.read_data(chunk, frames)?,
                    (_, Chunk::Run { .. }) => return Err(PeerFault::BodyInsteadOfHead),
                    (FrameReaderState::Head, Chunk::Bytes(bytes)) => {
                        if !self.preface.is_empty() {
                            self.read_preface(bytes)?;
                        } else if let Some(head) = self.gather(frames.frame_header_len(), bytes) {
                            self.begin(&head, frames)?;
                        }
                    }
                    (FrameReaderState::Control { head, len }, Chunk::Bytes(bytes)) => {
                        if let Some(payload) = self.gather(len, bytes) {
                            self.state = FrameReaderState::Head;
                            frames.control(&head[..frames.frame_header_len()], payload)?;
                        }
                    }
                    (FrameReaderState::Padding { stream, len, end }, Chunk::Bytes(bytes)) => {
                        let padding = u32::from(bytes.split_to(1)[0]);
                        // RFC 9113, section 6.1: padding that does not fit is a connection error.
                        let content = (len - 1).checked_sub(padding).ok_or(PeerFault::MalformedFrame)?;
                        let (left, padding) = (u64::from(content), u64::from(padding));
                        self.state = FrameReaderState::Data { stream, len, left, padding, end };
                        self.end_data_if_complete(frames)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the input ends within the preface or a frame.
    pub(super) fn is_partial(&self) -> bool {
        let is_between = matches!(self.state, FrameReaderState::Head) && self.partial.is_empty();
        !self.preface.is_empty() || !is_between
    }

    fn read_preface(&mut self, bytes: &mut Bytes) -> Result<(), PeerFault> {
        let (expected, rest) = self.preface.split_at(bytes.len().min(self.preface.len()));
        if bytes.split_to(expected.len()) != expected {
            return Err(PeerFault::Preface);
        }
        self.preface = rest;
        Ok(())
    }

    /// Collects `len` bytes; returns them once they are complete.
    fn gather(&mut self, len: usize, bytes: &mut Bytes) -> Option<Bytes> {
        if self.partial.is_empty() && bytes.len() >= len {
            return Some(bytes.split_to(len));
        }
        let missing = len - self.partial.len();
        self.partial.extend_from_slice(&bytes.split_to(missing.min(bytes.len())));
        (self.partial.len() == len).then(|| self.partial.split().freeze())
    }

    /// A frame begins.
    fn begin(&mut self, head: &[u8], frames: &mut impl Frames) -> Result<(), PeerFault> {
        match frames.parse_frame_header(head)? {
            FrameHeader::Control { len: 0 } => frames.control(head, Bytes::new())?,
            FrameHeader::Control { len } => {
                let mut header = [0; MAX_FRAME_HEADER];
                header[..head.len()].copy_from_slice(head);
                self.state = FrameReaderState::Control { head: header, len: len as usize };
            }
            FrameHeader::Data { stream, len, end, padded } => {
                frames.data_begins(stream, len)?;
                if padded && len == 0 {
                    return Err(PeerFault::MalformedFrame);
                }
                self.state = match padded {
                    true => FrameReaderState::Padding { stream, len, end },
                    false => FrameReaderState::Data { stream, len, left: u64::from(len), padding: 0, end },
                };
                self.end_data_if_complete(frames)?;
            }
        }
        Ok(())
    }

    fn read_data(&mut self, chunk: &mut Chunk, frames: &mut impl Frames) -> Result<(), PeerFault> {
        let FrameReaderState::Data { stream, left, padding, .. } = &mut self.state else { return Ok(()) };
        if *left > 0 {
            let content = chunk.split_to(chunk.len().min(*left));
            *left -= content.len();
            frames.data(*stream, content);
        } else {
            let taken = chunk.split_to(chunk.len().min(*padding)).len();
            *padding -= taken;
        }
        self.end_data_if_complete(frames)
    }

    fn end_data_if_complete(&mut self, frames: &mut impl Frames) -> Result<(), PeerFault> {
        match self.state {
            FrameReaderState::Data { stream, len, left: 0, padding: 0, end } => {
                self.state = FrameReaderState::Head;
                frames.data_ends(stream, len, end)
            }
            _ => Ok(()),
        }
    }
}
