//! HTTP/2 (RFC 9113) on the session core of [`crate::streams`].
//!
//! `frames` says how frames are written, `joiner` makes header blocks whole, `heads` and `hpack`
//! compress them.

mod dissect;
mod frames;
mod heads;
mod hpack;
mod joiner;

pub(crate) use dissect::Dissector;

use crate::h1::MAX_HEAD;
use crate::memory::{Keeps, Memory, Remembering};
use crate::streams::{
    Client, Decoded, Frame, FrameHeader, Framing, GoAwayMode, LocalSettings, MessageHead, Multiplexing, ResetCause,
    StreamDependency, StreamViolation,
};
use crate::streams::{ErrorAction, Perspective, Policy, Promise, Push, Server, Windows};
use crate::{Chunk, Fields, PeerFault, PersistedSettings, Priority, RequestHead, ResponseHead, Wire};
use bytes::{BufMut, Bytes, BytesMut};
use frames::{ACK, Control, END_HEADERS, END_STREAM, Kind, Lead, PADDED, frame};
use frames::{SETTINGS_ENABLE_PUSH, SETTINGS_HEADER_TABLE_SIZE, SETTINGS_INITIAL_WINDOW_SIZE};
use frames::{SETTINGS_MAX_CONCURRENT_STREAMS, SETTINGS_MAX_FRAME_SIZE, SETTINGS_NO_RFC7540_PRIORITIES};
use heads::{Packer, Unpacker};
use joiner::Joiner;
use std::sync::Arc;

// Error codes (RFC 9113, section 7).
const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

/// The largest frame that is sent and taken (RFC 9113, section 4.2).
const MAX_FRAME: usize = 16_384;
/// The flow-control windows until SETTINGS say otherwise (RFC 9113, section 6.9.2).
const WINDOW: u32 = 65_535;

/// What the sessions of a page remember of their header compression.
#[derive(Debug)]
pub(crate) struct HpackCaches {
    packed: Arc<Memory<Packer>>,
    unpacked: Arc<Memory<Unpacker>>,
}

impl HpackCaches {
    pub(crate) fn new(keeps: Keeps) -> HpackCaches {
        HpackCaches { packed: Memory::new((), keeps), unpacked: Memory::new((), keeps) }
    }

    pub(crate) fn client(&self, config: &Multiplexing) -> Client<H2> {
        Client::new(H2::new(Perspective::Client, self), config)
    }

    pub(crate) fn server(&self, config: &Multiplexing) -> Server<H2> {
        Server::new(H2::new(Perspective::Server, self), config)
    }
}

/// The framing of HTTP/2, at one end of a session.
#[derive(Debug)]
pub(crate) struct H2 {
    role: Perspective,
    packer: Remembering<Packer>,
    unpacker: Remembering<Unpacker>,
    /// The peer's SETTINGS_HEADER_TABLE_SIZE.
    peer_table: u32,
    /// Whether the peer has sent its first SETTINGS.
    is_begun: bool,
    push: Push,
    joiner: Joiner<Block>,
}

/// What a header block is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Block {
    /// HEADERS, with the dependency of its priority fields.
    Head(Option<StreamDependency>),
    /// HEADERS of a stream that depends on itself.
    SelfDependent,
    /// PUSH_PROMISE, with the promised stream.
    Promise(u32),
}

impl H2 {
    fn new(role: Perspective, memories: &HpackCaches) -> H2 {
        H2 {
            role,
            packer: Remembering::new(&memories.packed),
            unpacker: Remembering::new(&memories.unpacked),
            peer_table: hpack::TABLE_BYTES as u32,
            is_begun: false,
            push: Push::Forbid,
            joiner: Joiner::default(),
        }
    }

    /// A head as HEADERS and as many CONTINUATION frames as it takes.
    fn head_frames(&mut self, stream: u32, head: &MessageHead, end: bool) -> Bytes {
        self.block_frames(Kind::Headers, if end { END_STREAM } else { 0 }, stream, &[], head)
    }

    /// A head as frames of which the first is of this kind and has `before` in front of the block.
    fn block_frames(&mut self, kind: Kind, flags: u8, stream: u32, before: &[u8], head: &MessageHead) -> Bytes {
        let block = self.packer.step(head).expect("any head can be compressed");
        let mut out = BytesMut::with_capacity(H2::FRAME_HEADER_LEN + before.len() + block.len());
        let (first, rest) = block.split_at(block.len().min(MAX_FRAME - before.len()));
        let ends = |rest: &[u8]| if rest.is_empty() { END_HEADERS } else { 0 };
        Lead::new(kind, flags | ends(rest), stream, before.len() + first.len()).write(&mut out);
        out.put_slice(before);
        out.put_slice(first);
        let mut pieces = rest.chunks(MAX_FRAME).peekable();
        while let Some(piece) = pieces.next() {
            let flags = ends(pieces.peek().copied().unwrap_or_default());
            Lead::new(Kind::Continuation, flags, stream, piece.len()).write(&mut out);
            out.put_slice(piece);
        }
        out.freeze()
    }

    /// A header block is complete.
    fn read_block(&mut self, lead: Lead, what: Block, block: &Bytes) -> Result<Frame, PeerFault> {
        let decoded = self.unpacker.step(block)?;
        let (stream, end) = (lead.stream, lead.has(END_STREAM));
        let dependency = if let Block::Head(dependency) = what { dependency } else { None };
        let head = match (decoded, self.role, what) {
            (head, _, Block::Promise(promised)) => {
                return Ok(Frame::Push { stream: promised, associated: stream, head, end: false });
            }
            // RFC 9113, section 8.1: trailers end the message.
            (Decoded::Trailers(_), ..) if !end => Decoded::Malformed,
            (_, _, Block::SelfDependent) | (Decoded::Response(_), Perspective::Server, _) => Decoded::Malformed,
            (head, ..) => head,
        };
        Ok(Frame::Headers { stream, head, dependency, end })
    }

    /// SETTINGS (RFC 9113, section 6.5): of several entries of one name the last counts.
    fn read_settings(&mut self, entries: &[(u16, u32)]) -> Result<Frame, PeerFault> {
        let (mut stream_window, mut streams, mut push) = (None, None, None);
        for (id, value) in entries.iter().copied() {
            match id {
                SETTINGS_INITIAL_WINDOW_SIZE => stream_window = Some(value),
                SETTINGS_MAX_CONCURRENT_STREAMS => streams = Some(value),
                // What is said again without need changes nothing, and so nothing that is remembered.
                SETTINGS_HEADER_TABLE_SIZE if value == self.peer_table => {}
                SETTINGS_HEADER_TABLE_SIZE => {
                    self.peer_table = value;
                    self.packer.alone().set_table_limit(value);
                }
                // A server must not allow it at all (section 6.5.2).
                SETTINGS_ENABLE_PUSH if value > u32::from(self.role == Perspective::Server) => {
                    return Err(PeerFault::MalformedFrame);
                }
                SETTINGS_ENABLE_PUSH => push = Some(if value == 0 { Push::Forbid } else { Push::Accept }),
                SETTINGS_MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                    return Err(PeerFault::MalformedFrame);
                }
                SETTINGS_NO_RFC7540_PRIORITIES if value > 1 => return Err(PeerFault::MalformedFrame),
                _ => {}
            }
        }
        Ok(Frame::Settings { stream_window, streams, push })
    }

    /// PRIORITY (RFC 7540, section 6.3). RFC 9113 deprecates it: a server that ignores it still checks it for errors.
    fn read_priority(stream: u32, dependency: Option<StreamDependency>) -> Frame {
        match dependency {
            None => Frame::Malformed { stream, violation: StreamViolation::FrameSize },
            Some(dependency) if dependency.parent == stream => {
                Frame::Malformed { stream, violation: StreamViolation::Malformed }
            }
            Some(dependency) => Frame::Priority { stream, dependency },
        }
    }
}

impl Framing for H2 {
    const FRAME_HEADER_LEN: usize = Lead::LEN;
    const CANCEL: u32 = CANCEL;
    const PUSHES_HEADS: bool = false;
    const HAS_DEPENDENCIES: bool = true;
    const PREFACE: &'static [u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    fn max_message_head(&self) -> usize {
        MAX_HEAD
    }

    fn windows(&self) -> Windows {
        Windows { stream: Some(WINDOW), session: Some(WINDOW) }
    }

    fn connection_preface(&mut self, local: &LocalSettings) -> Bytes {
        self.push = local.push;
        let mut settings = BytesMut::new();
        if self.role == Perspective::Client && self.push == Push::Forbid {
            settings.put_u16(SETTINGS_ENABLE_PUSH);
            settings.put_u32(0);
        }
        settings.put_u16(SETTINGS_MAX_CONCURRENT_STREAMS);
        settings.put_u32(local.streams);
        settings.put_u16(SETTINGS_INITIAL_WINDOW_SIZE);
        settings.put_u32(local.stream_window);
        // RFC 9218, section 2.1.1: a server that goes by urgencies says that it does not by dependencies.
        if self.role == Perspective::Server && local.policy != Policy::Tree {
            settings.put_u16(SETTINGS_NO_RFC7540_PRIORITIES);
            settings.put_u32(1);
        }
        let mut out = BytesMut::new();
        if self.role == Perspective::Client {
            out.put_slice(H2::PREFACE);
        }
        out.put(frame(Kind::Settings, 0, 0, &settings));
        if local.session_window > WINDOW {
            out.put(self.window_update(0, local.session_window - WINDOW));
        }
        out.freeze()
    }

    fn parse_frame_header(&self, head: &[u8]) -> Result<FrameHeader, PeerFault> {
        let lead = Lead::read(head);
        // RFC 9113, section 3.4.
        if !self.is_begun && (!lead.is(Kind::Settings) || lead.has(ACK)) {
            return Err(PeerFault::Preface);
        }
        if lead.len > MAX_FRAME {
            return Err(PeerFault::FrameTooLarge);
        }
        self.joiner.check(lead)?;
        let len = lead.len as u32;
        Ok(match lead.kind() {
            Some(Kind::Data) => {
                FrameHeader::Data { stream: lead.stream, len, end: lead.has(END_STREAM), padded: lead.has(PADDED) }
            }
            _ => FrameHeader::Control { len },
        })
    }

    fn control(&mut self, head: &[u8], payload: Bytes, out: &mut Wire) -> Result<Option<Frame>, PeerFault> {
        let lead = Lead::read(head);
        let stream = lead.stream;
        let block = match Control::read(lead, payload)? {
            Control::Headers { fragment, dependency } => {
                let is_odd = dependency.is_some_and(|dependency| dependency.parent == stream);
                let what = if is_odd { Block::SelfDependent } else { Block::Head(dependency) };
                self.joiner.begin(lead, what, fragment)
            }
            // RFC 9113, section 8.4: no client may send it, and no server to whom it is forbidden.
            Control::PushPromise { .. } if self.role == Perspective::Server || self.push == Push::Forbid => {
                return Err(PeerFault::UnexpectedFrame);
            }
            Control::PushPromise { promised, fragment } => self.joiner.begin(lead, Block::Promise(promised), fragment),
            Control::Continuation { fragment } => self.joiner.go_on(lead, &fragment)?,
            Control::Settings { .. } if lead.has(ACK) => return Ok(None),
            Control::Settings { entries } => {
                self.is_begun = true;
                let settings = self.read_settings(&entries)?;
                out.push(Chunk::Bytes(frame(Kind::Settings, ACK, 0, b"")));
                return Ok(Some(settings));
            }
            Control::Ping { opaque } if lead.has(ACK) => {
                let [.., a, b, c, d] = opaque;
                return Ok(Some(Frame::PingAck { number: u32::from_be_bytes([a, b, c, d]) }));
            }
            Control::Ping { opaque } => {
                out.push(Chunk::Bytes(frame(Kind::Ping, ACK, 0, &opaque)));
                return Ok(None);
            }
            Control::Priority { dependency } => return Ok(Some(H2::read_priority(stream, dependency))),
            // RFC 9218, section 7.1: servers do not send it, and 0 is no stream.
            Control::PriorityUpdate { prioritised, .. } if self.role == Perspective::Client || prioritised == 0 => {
                return Err(PeerFault::UnexpectedFrame);
            }
            Control::PriorityUpdate { prioritised, field } => {
                let priority = Priority::parse(&field);
                return Ok(Some(Frame::PriorityUpdate { stream: prioritised, priority }));
            }
            Control::RstStream { code } => {
                let cause = if code == REFUSED_STREAM { ResetCause::Refused } else { ResetCause::Other };
                return Ok(Some(Frame::Reset { stream, cause }));
            }
            Control::GoAway { last, .. } => return Ok(Some(Frame::GoAway { last })),
            Control::WindowUpdate { increment } => return Ok(Some(Frame::WindowUpdate { stream, delta: increment })),
            Control::Unknown => return Ok(None),
        };
        block.map(|(lead, what, block)| self.read_block(lead, what, &block)).transpose()
    }

    fn is_within_block(&self) -> bool {
        self.joiner.is_within()
    }

    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes {
        self.head_frames(stream, &MessageHead::Request(head.clone(), priority), end)
    }

    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes {
        self.head_frames(stream, &MessageHead::Response(head.clone()), end)
    }

    fn trailers(&mut self, stream: u32, fields: &Arc<Fields>) -> Bytes {
        self.head_frames(stream, &MessageHead::Trailers(fields.clone()), true)
    }

    fn interim(&mut self, stream: u32, head: &Arc<ResponseHead>) -> Bytes {
        self.head_frames(stream, &MessageHead::Response(head.clone()), false)
    }

    fn promise(&mut self, promise: &Promise, _: Option<(Arc<ResponseHead>, bool)>) -> Bytes {
        let head = MessageHead::Request(promise.head.clone(), promise.priority);
        self.block_frames(Kind::PushPromise, 0, promise.parent, &promise.stream.to_be_bytes(), &head)
    }

    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes {
        let mut out = [0; H2::FRAME_HEADER_LEN];
        out[..3].copy_from_slice(&len.to_be_bytes()[1..]);
        (out[3], out[4]) = (Kind::Data as u8, if end { END_STREAM } else { 0 });
        out[5..].copy_from_slice(&stream.to_be_bytes());
        Bytes::copy_from_slice(&out)
    }

    fn window_update(&self, stream: u32, delta: u32) -> Bytes {
        frame(Kind::WindowUpdate, 0, stream, &delta.to_be_bytes())
    }

    fn reset(&self, stream: u32, error_code: u32) -> Bytes {
        frame(Kind::RstStream, 0, stream, &error_code.to_be_bytes())
    }

    fn go_away(&self, last: u32, fault: Option<PeerFault>) -> Bytes {
        let code = fault.map_or(NO_ERROR, |fault| match fault {
            PeerFault::FlowControl => FLOW_CONTROL_ERROR,
            PeerFault::StreamClosed => STREAM_CLOSED,
            PeerFault::FrameSize | PeerFault::FrameTooLarge => FRAME_SIZE_ERROR,
            PeerFault::Compression => COMPRESSION_ERROR,
            PeerFault::Flood | PeerFault::HeadTooLarge => ENHANCE_YOUR_CALM,
            _ => PROTOCOL_ERROR,
        });
        frame(Kind::GoAway, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
    }

    fn ping(&self, number: u32) -> Bytes {
        frame(Kind::Ping, 0, 0, &u64::from(number).to_be_bytes())
    }

    fn persisted(&self) -> PersistedSettings {
        PersistedSettings::default()
    }

    fn persist(&self, _: &PersistedSettings) -> Bytes {
        Bytes::new()
    }

    fn goaway_mode(&self) -> GoAwayMode {
        GoAwayMode::TwoPhase
    }

    fn error_action(&self, violation: StreamViolation) -> ErrorAction {
        match violation {
            // Section 5.1, "idle".
            StreamViolation::Idle | StreamViolation::ControlOnIdle => ErrorAction::End(PeerFault::UnexpectedFrame),
            // Section 5.1, "half-closed (remote)".
            StreamViolation::AfterEnd | StreamViolation::AfterReset | StreamViolation::Reopened => {
                ErrorAction::Reset(STREAM_CLOSED)
            }
            // RFC 7540, section 5.1, "closed": the peer has itself sent END_STREAM.
            StreamViolation::AfterClose => ErrorAction::End(PeerFault::StreamClosed),
            // Section 8.1.1: what is malformed, also for the content that it has.
            StreamViolation::BeforeHead
            | StreamViolation::SecondHead
            | StreamViolation::Malformed
            | StreamViolation::MissingPseudoHeader
            | StreamViolation::Length => ErrorAction::Reset(PROTOCOL_ERROR),
            // Sections 5.1.2 and 8.7.
            StreamViolation::TooMany | StreamViolation::UnwantedPush => ErrorAction::Reset(REFUSED_STREAM),
            // Sections 8.4 and 8.4.1: what is not safe, or of another origin.
            StreamViolation::NotPromisable => ErrorAction::Reset(PROTOCOL_ERROR),
            // Section 6.6: a promise on a stream that is not open; 5.1.1: of one that was promised before.
            StreamViolation::BadAssociatedStream | StreamViolation::PromisedIdReused => {
                ErrorAction::End(PeerFault::UnexpectedFrame)
            }
            // Section 6.9.
            StreamViolation::WindowExceeded | StreamViolation::WindowOverflow => ErrorAction::Reset(FLOW_CONTROL_ERROR),
            StreamViolation::ZeroDelta => ErrorAction::Reset(PROTOCOL_ERROR),
            // Section 6.3.
            StreamViolation::FrameSize => ErrorAction::Reset(FRAME_SIZE_ERROR),
        }
    }
}
