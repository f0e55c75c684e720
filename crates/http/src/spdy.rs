//! SPDY/3.1 (draft-mbelshe-httpbis-spdy-00, "draft 3" below, with the session window of draft 3.1):
//! its frames, on the session core of [`crate::streams`].

mod block;
mod dictionary;
mod zlib;

use crate::memory::{Memory, Remembering};
use crate::streams::{Client, Decoded, Frame, FrameHead, Framing, Head, Limits, Multiplexing, Reason, Role, Server};
use crate::{Chunk, PeerFault, Priority, RequestHead, ResponseHead, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::sync::Arc;
use zlib::{Deflater, Inflater};

/// 3.1 writes 3 as well.
const VERSION: u16 = 3;
/// The largest control frame that is taken. At least 8,192 bytes have to be (draft 3, section 2.2.1).
const MAX_CONTROL: u32 = 64 * 1024;
const STREAM_BITS: u32 = 0x7fff_ffff;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const SETTINGS: u16 = 4;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;
const WINDOW_UPDATE: u16 = 9;

const FLAG_FIN: u8 = 1;

const SETTINGS_MAX_CONCURRENT_STREAMS: u32 = 4;
const SETTINGS_INITIAL_WINDOW_SIZE: u32 = 7;

/// What the sessions of a page remember of their header compression.
#[derive(Debug)]
pub(crate) struct Memories {
    deflated: Arc<Memory<Deflater>>,
    inflated: Arc<Memory<Inflater>>,
}

impl Memories {
    pub(crate) fn new() -> Memories {
        Memories { deflated: Memory::new(), inflated: Memory::new() }
    }

    pub(crate) fn client(&self, config: &Multiplexing) -> Client<Spdy> {
        Client::new(Spdy::new(Role::Client, self), config)
    }

    pub(crate) fn server(&self, config: &Multiplexing) -> Server<Spdy> {
        Server::new(Spdy::new(Role::Server, self), config)
    }
}

/// The framing of SPDY/3.1, at one end of a session.
#[derive(Debug)]
pub(crate) struct Spdy {
    role: Role,
    deflater: Remembering<Deflater>,
    inflater: Remembering<Inflater>,
}

impl Spdy {
    fn new(role: Role, memories: &Memories) -> Spdy {
        let deflater = Remembering::new(&memories.deflated);
        Spdy { role, deflater, inflater: Remembering::new(&memories.inflated) }
    }

    fn compressed(&mut self, head: &Head) -> Bytes {
        self.deflater.step(head).expect("any head can be compressed")
    }

    /// The head behind `fixed` bytes of a frame's payload.
    fn read_head(&mut self, payload: &Bytes, fixed: usize) -> Result<Decoded, PeerFault> {
        if payload.len() < fixed {
            return Err(PeerFault::MalformedFrame);
        }
        self.inflater.step(&payload.slice(fixed..))
    }

    /// The limits that SETTINGS bring; of several entries of one name the first counts.
    fn read_settings(mut payload: &[u8]) -> Result<Frame, PeerFault> {
        let count = payload.try_get_u32().map_err(|_| PeerFault::MalformedFrame)?;
        if payload.len() as u64 != u64::from(count) * 8 {
            return Err(PeerFault::MalformedFrame);
        }
        let (mut stream_window, mut streams) = (None, None);
        while payload.has_remaining() {
            let (id, value) = (payload.get_u32() & 0x00ff_ffff, payload.get_u32());
            match id {
                SETTINGS_INITIAL_WINDOW_SIZE => stream_window = stream_window.or(Some(value)),
                SETTINGS_MAX_CONCURRENT_STREAMS => streams = streams.or(Some(value)),
                _ => {}
            }
        }
        Ok(Frame::Limits { stream_window, streams })
    }
}

/// Begins a control frame.
fn control(kind: u16, flags: u8, len: usize) -> BytesMut {
    let mut frame = BytesMut::with_capacity(8 + len);
    frame.put_u16(0x8000 | VERSION);
    frame.put_u16(kind);
    frame.put_u32(u32::from(flags) << 24 | len as u32);
    frame
}

fn fin(end: bool) -> u8 {
    if end { FLAG_FIN } else { 0 }
}

/// A payload of exactly two numbers.
fn two_numbers(mut payload: &[u8]) -> Result<(u32, u32), PeerFault> {
    if payload.len() != 8 {
        return Err(PeerFault::MalformedFrame);
    }
    Ok((payload.get_u32() & STREAM_BITS, payload.get_u32()))
}

impl Framing for Spdy {
    const HEAD: usize = 8;
    const PREFACE: &'static [u8] = b"";
    const WINDOW: u32 = 65_536;

    fn opening(&mut self, limits: &Limits) -> Bytes {
        let mut out = control(SETTINGS, 0, 20);
        out.put_u32(2);
        out.put_u32(SETTINGS_MAX_CONCURRENT_STREAMS);
        out.put_u32(limits.streams);
        out.put_u32(SETTINGS_INITIAL_WINDOW_SIZE);
        out.put_u32(limits.stream_window);
        if limits.session_window > Spdy::WINDOW {
            out.put(self.window_update(0, limits.session_window - Spdy::WINDOW));
        }
        out.freeze()
    }

    fn head(&self, mut head: &[u8]) -> Result<FrameHead, PeerFault> {
        let (first, second) = (head.get_u32(), head.get_u32());
        let (flags, len) = ((second >> 24) as u8, second & 0x00ff_ffff);
        if first & !STREAM_BITS == 0 {
            return Ok(FrameHead::Data { stream: first, len, end: flags & FLAG_FIN != 0, padded: false });
        }
        if first >> 16 & 0x7fff != u32::from(VERSION) {
            return Err(PeerFault::WrongVersion);
        }
        if len > MAX_CONTROL { Err(PeerFault::FrameTooLarge) } else { Ok(FrameHead::Control { len }) }
    }

    fn control(&mut self, mut head: &[u8], payload: Bytes, answers: &mut Wire) -> Result<Option<Frame>, PeerFault> {
        let (kind, end) = (head.get_u32() as u16, head.get_u8() & FLAG_FIN != 0);
        let stream = payload.get(..4).map_or(0, |mut id| id.get_u32() & STREAM_BITS);
        let frame = match kind {
            SYN_STREAM => match self.read_head(&payload, 10)? {
                Decoded::Request(head, _) => {
                    Frame::Request { stream, head, priority: Priority::at(payload[8] >> 5), end }
                }
                _ => Frame::Malformed { stream },
            },
            SYN_REPLY => match self.read_head(&payload, 4)? {
                Decoded::Response(head) => Frame::Response { stream, head, end },
                _ => Frame::Malformed { stream },
            },
            HEADERS => match self.read_head(&payload, 4)? {
                Decoded::Trailers => Frame::Trailers { stream, end },
                _ => Frame::Malformed { stream },
            },
            RST_STREAM => Frame::Reset { stream: two_numbers(&payload)?.0 },
            SETTINGS => Spdy::read_settings(&payload)?,
            GOAWAY => Frame::GoAway { last: two_numbers(&payload)?.0 },
            WINDOW_UPDATE => match two_numbers(&payload)? {
                (_, 0) => return Err(PeerFault::MalformedFrame),
                (stream, delta) => Frame::Window { stream, delta: delta & STREAM_BITS },
            },
            PING => {
                let id = <[u8; 4]>::try_from(&payload[..]).map_err(|_| PeerFault::MalformedFrame)?;
                // Clients ask with odd numbers, servers with even ones; answers are not answered.
                let is_clients = id[3] % 2 == 1;
                if is_clients == (self.role == Role::Server) {
                    let mut pong = control(PING, 0, 4);
                    pong.put_slice(&id);
                    answers.push(Chunk::Bytes(pong.freeze()));
                }
                return Ok(None);
            }
            // NOOP, CREDENTIAL, and what nobody knows (draft 3, section 2.2.1).
            _ => return Ok(None),
        };
        Ok(Some(frame))
    }

    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes {
        // The priority stands in the frame, so a block is the same for all of them.
        let block = self.compressed(&Head::Request(head.clone(), Priority::default()));
        let mut out = control(SYN_STREAM, fin(end), 10 + block.len());
        out.put_u32(stream);
        out.put_u32(0);
        out.put_u8(priority.urgency() << 5);
        out.put_u8(0);
        out.put(block);
        out.freeze()
    }

    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes {
        let block = self.compressed(&Head::Response(head.clone()));
        let mut out = control(SYN_REPLY, fin(end), 4 + block.len());
        out.put_u32(stream);
        out.put(block);
        out.freeze()
    }

    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes {
        let mut out = [0; 8];
        out[..4].copy_from_slice(&stream.to_be_bytes());
        out[4..].copy_from_slice(&(u32::from(fin(end)) << 24 | len).to_be_bytes());
        Bytes::copy_from_slice(&out)
    }

    fn window_update(&self, stream: u32, delta: u32) -> Bytes {
        let mut out = control(WINDOW_UPDATE, 0, 8);
        out.put_u32(stream);
        out.put_u32(delta);
        out.freeze()
    }

    fn reset(&self, stream: u32, reason: Reason) -> Bytes {
        let mut out = control(RST_STREAM, 0, 8);
        out.put_u32(stream);
        // Draft 3, section 2.6.3.
        out.put_u32(match reason {
            Reason::Protocol => 1,
            Reason::Refused => 3,
            Reason::FlowControl => 7,
            Reason::Closed => 9,
        });
        out.freeze()
    }
}
