//! HTTP/2 (RFC 9113): its frames, on the session core of [`crate::streams`].

mod heads;
mod hpack;

use crate::memory::{Memory, Remembering};
use crate::streams::{
    Client, Decoded, Frame, FrameHead, Framing, Head, Limits, Multiplexing, Reason, Role, Server, Windows,
};
use crate::{Chunk, PeerFault, Priority, RequestHead, ResponseHead, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use heads::{Packer, Unpacker};
use std::sync::Arc;

/// The largest frame that is sent and taken (RFC 9113, section 4.2).
const MAX_FRAME: usize = 16_384;
/// The largest header block that is taken, all its frames together.
const MAX_BLOCK: usize = 64 * 1024;
/// The flow-control windows until SETTINGS say otherwise (RFC 9113, section 6.9.2).
const WINDOW: u32 = 65_535;
const STREAM_BITS: u32 = 0x7fff_ffff;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const HAS_PRIORITY: u8 = 0x20;

const SETTINGS_HEADER_TABLE_SIZE: u16 = 1;
const SETTINGS_ENABLE_PUSH: u16 = 2;
const SETTINGS_MAX_CONCURRENT_STREAMS: u16 = 3;
const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
const SETTINGS_MAX_FRAME_SIZE: u16 = 5;

/// What the sessions of a page remember of their header compression.
#[derive(Debug)]
pub(crate) struct Memories {
    packed: Arc<Memory<Packer>>,
    unpacked: Arc<Memory<Unpacker>>,
}

impl Memories {
    pub(crate) fn new() -> Memories {
        Memories { packed: Memory::new(()), unpacked: Memory::new(()) }
    }

    pub(crate) fn client(&self, config: &Multiplexing) -> Client<H2> {
        Client::new(H2::new(Role::Client, self), config)
    }

    pub(crate) fn server(&self, config: &Multiplexing) -> Server<H2> {
        Server::new(H2::new(Role::Server, self), config)
    }
}

/// The framing of HTTP/2, at one end of a session.
#[derive(Debug)]
pub(crate) struct H2 {
    role: Role,
    packer: Remembering<Packer>,
    unpacker: Remembering<Unpacker>,
    /// How large the peer lets the table of the packer be.
    peer_table: u32,
    /// A header block whose last frame has not come: nothing else may come before it.
    partial: Option<Partial>,
}

#[derive(Debug)]
struct Partial {
    stream: u32,
    end: bool,
    block: BytesMut,
}

/// A frame's head, taken apart (RFC 9113, section 4.1).
#[derive(Clone, Copy)]
struct Lead {
    len: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Lead {
    fn read(mut head: &[u8]) -> Lead {
        let len = head.get_uint(3) as usize;
        Lead { len, kind: head.get_u8(), flags: head.get_u8(), stream: head.get_u32() & STREAM_BITS }
    }

    fn write(self, out: &mut BytesMut) {
        out.put_uint(self.len as u64, 3);
        out.put_u8(self.kind);
        out.put_u8(self.flags);
        out.put_u32(self.stream);
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl H2 {
    fn new(role: Role, memories: &Memories) -> H2 {
        let packer = Remembering::new(&memories.packed);
        let unpacker = Remembering::new(&memories.unpacked);
        H2 { role, packer, unpacker, peer_table: hpack::TABLE_BYTES as u32, partial: None }
    }

    /// A head as HEADERS and as many CONTINUATION frames as it takes.
    fn head_frames(&mut self, stream: u32, head: &Head, end: bool) -> Bytes {
        let block = self.packer.step(head).expect("any head can be compressed");
        let mut out = BytesMut::with_capacity(H2::HEAD + block.len());
        let pieces = block.len().div_ceil(MAX_FRAME).max(1);
        for (at, piece) in block.chunks(MAX_FRAME).enumerate() {
            let kind = if at == 0 { HEADERS } else { CONTINUATION };
            let mut flags = if end && at == 0 { END_STREAM } else { 0 };
            flags |= if at + 1 == pieces { END_HEADERS } else { 0 };
            Lead { len: piece.len(), kind, flags, stream }.write(&mut out);
            out.put_slice(piece);
        }
        out.freeze()
    }

    /// HEADERS (RFC 9113, section 6.2).
    fn read_headers(&mut self, lead: Lead, mut payload: Bytes) -> Result<Option<Frame>, PeerFault> {
        if lead.stream == 0 {
            return Err(PeerFault::UnexpectedFrame);
        }
        if lead.has(PADDED) {
            let padding = usize::from(payload.try_get_u8().map_err(|_| PeerFault::MalformedFrame)?);
            let len = payload.len().checked_sub(padding).ok_or(PeerFault::MalformedFrame)?;
            payload.truncate(len);
        }
        if lead.has(HAS_PRIORITY) {
            // RFC 7540's priorities, which RFC 9113 deprecates: read over.
            if payload.len() < 5 {
                return Err(PeerFault::MalformedFrame);
            }
            payload.advance(5);
        }
        if lead.has(END_HEADERS) {
            return self.read_block(lead.stream, lead.has(END_STREAM), &payload).map(Some);
        }
        self.partial = Some(Partial { stream: lead.stream, end: lead.has(END_STREAM), block: payload.into() });
        Ok(None)
    }

    fn read_continuation(&mut self, lead: Lead, payload: &[u8]) -> Result<Option<Frame>, PeerFault> {
        let mut partial = self.partial.take().ok_or(PeerFault::UnexpectedFrame)?;
        partial.block.put_slice(payload);
        if partial.block.len() > MAX_BLOCK {
            return Err(PeerFault::HeadTooLarge);
        }
        if lead.has(END_HEADERS) {
            return self.read_block(partial.stream, partial.end, &partial.block.freeze()).map(Some);
        }
        self.partial = Some(partial);
        Ok(None)
    }

    fn read_block(&mut self, stream: u32, end: bool, block: &Bytes) -> Result<Frame, PeerFault> {
        Ok(match (self.unpacker.step(block)?, self.role) {
            (Decoded::Request(head, priority), Role::Server) => Frame::Request { stream, head, priority, end },
            (Decoded::Response(head), Role::Client) => Frame::Response { stream, head, end },
            (Decoded::Trailers, _) if end => Frame::Trailers { stream, end },
            _ => Frame::Malformed { stream },
        })
    }

    /// SETTINGS (RFC 9113, section 6.5).
    fn read_settings(
        &mut self,
        lead: Lead,
        mut payload: &[u8],
        answers: &mut Wire,
    ) -> Result<Option<Frame>, PeerFault> {
        if lead.stream != 0 || !payload.len().is_multiple_of(6) || (lead.has(ACK) && !payload.is_empty()) {
            return Err(PeerFault::MalformedFrame);
        }
        if lead.has(ACK) {
            return Ok(None);
        }
        let (mut stream_window, mut streams) = (None, None);
        while payload.has_remaining() {
            match (payload.get_u16(), payload.get_u32()) {
                (SETTINGS_INITIAL_WINDOW_SIZE, value) => stream_window = Some(value),
                (SETTINGS_MAX_CONCURRENT_STREAMS, value) => streams = Some(value),
                // What is said anew without need changes nothing, and so nothing that is remembered.
                (SETTINGS_HEADER_TABLE_SIZE, bytes) if bytes == self.peer_table => {}
                (SETTINGS_HEADER_TABLE_SIZE, bytes) => {
                    self.peer_table = bytes;
                    self.packer.alone().set_table_limit(bytes);
                }
                (SETTINGS_ENABLE_PUSH, value) if value > 1 => return Err(PeerFault::MalformedFrame),
                (SETTINGS_MAX_FRAME_SIZE, value) if !(16_384..1 << 24).contains(&value) => {
                    return Err(PeerFault::MalformedFrame);
                }
                _ => {}
            }
        }
        answers.push(Chunk::Bytes(frame(SETTINGS, ACK, 0, b"")));
        Ok(Some(Frame::Limits { stream_window, streams }))
    }
}

/// A frame whose payload is at hand.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(H2::HEAD + payload.len());
    Lead { len: payload.len(), kind, flags, stream }.write(&mut out);
    out.put_slice(payload);
    out.freeze()
}

fn number(payload: &[u8]) -> Result<u32, PeerFault> {
    Ok(u32::from_be_bytes(payload.try_into().map_err(|_| PeerFault::MalformedFrame)?))
}

impl Framing for H2 {
    const HEAD: usize = 9;
    const PREFACE: &'static [u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    fn windows(&self) -> Windows {
        Windows { stream: Some(WINDOW), session: Some(WINDOW) }
    }

    fn opening(&mut self, limits: &Limits) -> Bytes {
        let mut settings = BytesMut::new();
        if self.role == Role::Client {
            settings.put_u16(SETTINGS_ENABLE_PUSH);
            settings.put_u32(0);
        }
        settings.put_u16(SETTINGS_MAX_CONCURRENT_STREAMS);
        settings.put_u32(limits.streams);
        settings.put_u16(SETTINGS_INITIAL_WINDOW_SIZE);
        settings.put_u32(limits.stream_window);
        let mut out = BytesMut::new();
        if self.role == Role::Client {
            out.put_slice(H2::PREFACE);
        }
        out.put(frame(SETTINGS, 0, 0, &settings));
        if limits.session_window > WINDOW {
            out.put(self.window_update(0, limits.session_window - WINDOW));
        }
        out.freeze()
    }

    fn head(&self, head: &[u8]) -> Result<FrameHead, PeerFault> {
        let lead = Lead::read(head);
        if lead.len > MAX_FRAME {
            return Err(PeerFault::FrameTooLarge);
        }
        // RFC 9113, section 6.10: a header block is not interrupted.
        if self.partial.as_ref().is_some_and(|partial| lead.kind != CONTINUATION || lead.stream != partial.stream) {
            return Err(PeerFault::UnexpectedFrame);
        }
        let len = lead.len as u32;
        Ok(match lead.kind {
            DATA => FrameHead::Data { stream: lead.stream, len, end: lead.has(END_STREAM), padded: lead.has(PADDED) },
            _ => FrameHead::Control { len },
        })
    }

    fn control(&mut self, head: &[u8], payload: Bytes, answers: &mut Wire) -> Result<Option<Frame>, PeerFault> {
        let lead = Lead::read(head);
        match lead.kind {
            HEADERS => self.read_headers(lead, payload),
            CONTINUATION => self.read_continuation(lead, &payload),
            SETTINGS => self.read_settings(lead, &payload, answers),
            // Deprecated and read over, but for its stream (RFC 9113, section 6.3).
            PRIORITY if lead.stream == 0 => Err(PeerFault::UnexpectedFrame),
            RST_STREAM if lead.stream == 0 => Err(PeerFault::UnexpectedFrame),
            RST_STREAM => {
                number(&payload)?;
                Ok(Some(Frame::Reset { stream: lead.stream }))
            }
            PING if lead.stream != 0 => Err(PeerFault::UnexpectedFrame),
            PING if payload.len() != 8 => Err(PeerFault::MalformedFrame),
            PING => {
                if !lead.has(ACK) {
                    answers.push(Chunk::Bytes(frame(PING, ACK, 0, &payload)));
                }
                Ok(None)
            }
            GOAWAY if lead.stream != 0 => Err(PeerFault::UnexpectedFrame),
            GOAWAY if payload.len() < 8 => Err(PeerFault::MalformedFrame),
            GOAWAY => Ok(Some(Frame::GoAway { last: number(&payload[..4])? & STREAM_BITS })),
            WINDOW_UPDATE => match number(&payload)? & STREAM_BITS {
                0 => Err(PeerFault::MalformedFrame),
                delta => Ok(Some(Frame::Window { stream: lead.stream, delta })),
            },
            // It was forbidden (RFC 9113, section 8.4).
            PUSH_PROMISE => Err(PeerFault::UnexpectedFrame),
            _ => Ok(None),
        }
    }

    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes {
        self.head_frames(stream, &Head::Request(head.clone(), priority), end)
    }

    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes {
        self.head_frames(stream, &Head::Response(head.clone()), end)
    }

    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes {
        let mut out = [0; H2::HEAD];
        out[..3].copy_from_slice(&len.to_be_bytes()[1..]);
        (out[3], out[4]) = (DATA, if end { END_STREAM } else { 0 });
        out[5..].copy_from_slice(&stream.to_be_bytes());
        Bytes::copy_from_slice(&out)
    }

    fn window_update(&self, stream: u32, delta: u32) -> Bytes {
        frame(WINDOW_UPDATE, 0, stream, &delta.to_be_bytes())
    }

    fn reset(&self, stream: u32, reason: Reason) -> Bytes {
        // RFC 9113, section 7.
        let code: u32 = match reason {
            Reason::Protocol => 1,
            Reason::FlowControl => 3,
            Reason::Closed => 5,
            Reason::Refused => 7,
        };
        frame(RST_STREAM, 0, stream, &code.to_be_bytes())
    }
}
