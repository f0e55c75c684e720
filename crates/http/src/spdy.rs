//! SPDY/2, SPDY/3 and SPDY/3.1 on the session core of [`crate::streams`]. Draft 2 describes the first,
//! draft 3 (draft-mbelshe-httpbis-spdy-00) the second, and draft 3.1 adds a window for the session. Draft 2
//! has no section numbers: its headings are named.
//!
//! `version` says what they differ in, `frames` how frames are written, `block` header blocks, `zlib`
//! their compression.

mod block;
mod dictionary;
mod dissect;
mod frames;
#[cfg(test)]
mod tests;
mod version;
mod zlib;

pub(crate) use dissect::Dissector;
pub(crate) use version::{THREE, THREE_ONE, TWO};

use crate::h1::MAX_HEAD;
use crate::memory::{Keeps, Memory, Remembering};
use crate::streams::{
    Client, Decoded, Frame, FrameHeader, Framing, GoAwayMode, LocalSettings, MessageHead, Multiplexing, Promise,
    ResetCause, StreamViolation,
};
use crate::streams::{ErrorAction, Perspective, Server, Windows};
use crate::{Chunk, Fields, PeerFault, PersistedSettings, Priority, RequestHead, ResponseHead, Wire};
use bytes::{Buf, BufMut, Bytes};
use frames::{Control, FLAG_FIN, FLAG_UNIDIRECTIONAL, Kind, Lead, SettingsEntry, control};
use std::sync::Arc;
use version::{Blocks, Version};
use zlib::{Deflater, Inflater};

#[cfg(test)]
pub(crate) fn dictionary(version: &str) -> &'static [u8] {
    if version == "two" { dictionary::two() } else { dictionary::three() }
}

/// The largest head that is sent in SPDY/2, in bytes as HTTP/1.1 would write it: a push has a scheme in addition.
const MAX_MESSAGE_HEAD_2: usize = 65_000;

/// The largest control frame that is taken. At least 8,192 bytes have to be (draft 3, section 2.2.1).
const MAX_CONTROL: u32 = 64 * 1024;
/// Bytes of the stream's id, with which the payload of frames with a header block begins.
const STREAM_ID: u32 = 4;

// Statuses of RST_STREAM (draft 3, section 2.6.3).
const PROTOCOL_ERROR: u32 = 1;
const INVALID_STREAM: u32 = 2;
const REFUSED_STREAM: u32 = 3;
const CANCEL: u32 = 5;
const FLOW_CONTROL_ERROR: u32 = 7;
const STREAM_IN_USE: u32 = 8;
const STREAM_ALREADY_CLOSED: u32 = 9;
const FRAME_TOO_LARGE: u32 = 11;

/// What the sessions of a page remember of their header compression.
#[derive(Debug)]
pub(crate) struct SpdyCaches {
    two: HeadCompression,
    /// SPDY/3 and SPDY/3.1 write the same blocks.
    three: HeadCompression,
}

#[derive(Debug)]
struct HeadCompression {
    deflated: Arc<Memory<Deflater>>,
    inflated: Arc<Memory<Inflater>>,
}

impl HeadCompression {
    fn new(blocks: &'static Blocks, keeps: Keeps) -> HeadCompression {
        HeadCompression { deflated: Memory::new(blocks, keeps), inflated: Memory::new(blocks, keeps) }
    }
}

impl SpdyCaches {
    pub(crate) fn new(keeps: Keeps) -> SpdyCaches {
        SpdyCaches { two: HeadCompression::new(TWO.blocks, keeps), three: HeadCompression::new(THREE.blocks, keeps) }
    }

    pub(crate) fn client(
        &self,
        version: &'static Version,
        config: &Multiplexing,
        persisted: &PersistedSettings,
    ) -> Client<Spdy> {
        let framing = Spdy { persisted: persisted.clone(), ..Spdy::new(Perspective::Client, version, self) };
        Client::new(framing, config)
    }

    pub(crate) fn server(&self, version: &'static Version, config: &Multiplexing) -> Server<Spdy> {
        Server::new(Spdy::new(Perspective::Server, version, self), config)
    }
}

/// The framing of a version of SPDY, at one end of a session.
#[derive(Debug)]
pub(crate) struct Spdy {
    role: Perspective,
    version: &'static Version,
    deflater: Remembering<Deflater>,
    inflater: Remembering<Inflater>,
    persisted: PersistedSettings,
}

impl Spdy {
    fn new(role: Perspective, version: &'static Version, memories: &SpdyCaches) -> Spdy {
        let compression = if version.number == 2 { &memories.two } else { &memories.three };
        let deflater = Remembering::new(&compression.deflated);
        let inflater = Remembering::new(&compression.inflated);
        Spdy { role, version, deflater, inflater, persisted: PersistedSettings::default() }
    }

    fn compressed(&mut self, head: &MessageHead) -> Bytes {
        self.deflater.step(head).expect("any head can be compressed")
    }

    /// SETTINGS; of several entries with one id the first counts.
    fn read_settings(&mut self, flags: u8, entries: &[SettingsEntry]) -> Frame {
        // Draft 3, section 2.6.4: a server asks, a client sends back. Values sent back are not settings of the client.
        let (asked, is_client) = (frames::PERSIST_VALUE, self.role == Perspective::Client);
        if is_client && flags & frames::CLEAR_SETTINGS != 0 {
            self.persisted.clear();
        }
        let flag = if is_client { asked } else { frames::PERSISTED };
        entries
            .iter()
            .filter(|entry| entry.flags & flag != 0)
            .for_each(|entry| self.persisted.persist(entry.id, entry.value));
        let own = || entries.iter().filter(|entry| entry.flags & frames::PERSISTED == 0);
        let first = |id| own().find(|entry| entry.id == id).map(|entry| entry.value);
        Frame::Settings {
            stream_window: self.version.windows.stream.and(first(frames::SETTINGS_INITIAL_WINDOW_SIZE)),
            streams: first(frames::SETTINGS_MAX_CONCURRENT_STREAMS),
            push: None,
        }
    }

    fn ping_frame(&self, id: u32) -> Bytes {
        let mut ping = control(self.version, Kind::Ping, 0, 4);
        ping.put_u32(id);
        ping.freeze()
    }

    /// The byte of a priority.
    fn priority_bits(&self, priority: Priority) -> u8 {
        let bits = self.version.priority_bits;
        priority.urgency() >> (3 - bits) << (8 - bits)
    }

    /// Whether one of these that is too large is answered with RST_STREAM. In SPDY/2 there is no code for it.
    fn is_reset_if_too_large(&self, kind: u16) -> bool {
        let has_block = matches!(Kind::of(kind), Some(Kind::SynStream | Kind::SynReply | Kind::Headers));
        has_block && self.version.number > 2
    }

    /// Answers a frame that is too large, of which the stream's id has been read. Its block has not gone through
    /// the compression, so the session has to end as well (draft 3, sections 2.6.1 to 2.6.3).
    fn refuse_too_large(&self, mut stream: &[u8], out: &mut Wire) -> PeerFault {
        let stream = stream.get_u32() & frames::STREAM_BITS;
        if stream > 0 {
            out.push(Chunk::Bytes(self.reset(stream, FRAME_TOO_LARGE)));
        }
        PeerFault::FrameTooLarge
    }

    /// A priority as the version writes it: urgencies that its bits cannot tell apart are one.
    fn priority(&self, written: u8) -> Priority {
        let lost = 3 - self.version.priority_bits;
        Priority::at(written << lost | ((1 << lost) - 1))
    }
}

fn fin(end: bool) -> u8 {
    if end { FLAG_FIN } else { 0 }
}

impl Framing for Spdy {
    const FRAME_HEADER_LEN: usize = 8;
    const PREFACE: &'static [u8] = b"";
    const CANCEL: u32 = CANCEL;
    const PUSHES_HEADS: bool = true;
    const HAS_DEPENDENCIES: bool = false;

    fn max_message_head(&self) -> usize {
        // SPDY/2 has 16 bits for the length of a part, and none is longer than all together.
        if self.version.number == 2 { MAX_MESSAGE_HEAD_2 } else { MAX_HEAD }
    }

    fn windows(&self) -> Windows {
        self.version.windows
    }

    fn connection_preface(&mut self, settings: &LocalSettings) -> Bytes {
        let streams = (frames::SETTINGS_MAX_CONCURRENT_STREAMS, settings.streams);
        // SPDY/2 has no windows, but a kept implementation (node's) gives streams of SPDY/2 one of 65,536
        // bytes, and never opens it but for this.
        let window = self.version.windows.stream.map_or(frames::STREAM_BITS, |_| settings.stream_window);
        // What would be taken for this end's own is not returned.
        let own = [streams.0, frames::SETTINGS_INITIAL_WINDOW_SIZE];
        let returned = self.persisted.iter().filter(|(id, _)| !own.contains(id));
        let entry = |flags| move |(id, value)| SettingsEntry { id, flags, value };
        let mut entries: Vec<SettingsEntry> = returned.map(entry(frames::PERSISTED)).collect();
        entries.extend([streams, (frames::SETTINGS_INITIAL_WINDOW_SIZE, window)].map(entry(0)));
        entries.sort_by_key(|entry| entry.id);
        let mut out = frames::settings(self.version, &entries);
        if let Some(window) = self.version.windows.session.filter(|window| settings.session_window > *window) {
            out.put(self.window_update(0, settings.session_window - window));
        }
        out.freeze()
    }

    fn parse_frame_header(&self, head: &[u8]) -> Result<FrameHeader, PeerFault> {
        match Lead::read(head) {
            Lead::Data { stream, flags, len } => {
                Ok(FrameHeader::Data { stream, len, end: flags & FLAG_FIN != 0, padded: false })
            }
            Lead::Control { version, .. } if version != self.version.number => Err(PeerFault::WrongVersion),
            Lead::Control { len, .. } if len <= MAX_CONTROL => Ok(FrameHeader::Control { len }),
            Lead::Control { kind, .. } if self.is_reset_if_too_large(kind) => {
                Ok(FrameHeader::Control { len: STREAM_ID })
            }
            Lead::Control { .. } => Err(PeerFault::FrameTooLarge),
        }
    }

    fn control(&mut self, head: &[u8], payload: Bytes, out: &mut Wire) -> Result<Option<Frame>, PeerFault> {
        let Lead::Control { kind, flags, len, .. } = Lead::read(head) else { return Ok(None) };
        if len > MAX_CONTROL {
            return Err(self.refuse_too_large(&payload, out));
        }
        let end = flags & FLAG_FIN != 0;
        let windows = self.version.windows;
        Ok(Some(match Control::read(self.version, kind, &payload)? {
            Control::SynStream { stream, associated, priority, block } => {
                match (self.inflater.step(&block)?, self.role) {
                    (head, Perspective::Client) => Frame::Push { stream, associated, head, end },
                    (head, Perspective::Server) => {
                        // Draft 3, section 2.3.2.1: nothing is sent on such a stream, so no request comes on it.
                        let head = if flags & FLAG_UNIDIRECTIONAL == 0 { head } else { Decoded::Malformed };
                        Frame::SynStream { stream, head, priority: self.priority(priority), end }
                    }
                }
            }
            Control::SynReply { stream, block } => Frame::SynReply { stream, head: self.inflater.step(&block)?, end },
            Control::Headers { stream, block } => Frame::SpdyHeaders { stream, head: self.inflater.step(&block)?, end },
            Control::RstStream { stream, status } => {
                let cause = match status {
                    REFUSED_STREAM => ResetCause::Refused,
                    CANCEL => ResetCause::Cancelled,
                    _ => ResetCause::Other,
                };
                Frame::Reset { stream, cause }
            }
            Control::Settings { entries } => self.read_settings(flags, &entries),
            Control::GoAway { last_good, .. } => Frame::GoAway { last: last_good },
            Control::WindowUpdate { stream, delta } => match if stream == 0 { windows.session } else { windows.stream }
            {
                Some(_) => Frame::WindowUpdate { stream, delta },
                None => return Ok(None),
            },
            // Clients ask with odd numbers, servers with even ones.
            Control::Ping { id } if (id % 2 == 1) == (self.role == Perspective::Server) => {
                out.push(Chunk::Bytes(self.ping_frame(id)));
                return Ok(None);
            }
            Control::Ping { id } => Frame::PingAck { number: id / 2 },
            Control::Noop | Control::Credential | Control::Unknown => return Ok(None),
        }))
    }

    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes {
        // The priority stands in the frame, so a block is the same for all of them.
        let block = self.compressed(&MessageHead::Request(head.clone(), Priority::default()));
        let mut out = control(self.version, Kind::SynStream, fin(end), 10 + block.len());
        out.put_u32(stream);
        out.put_u32(0);
        out.put_u8(self.priority_bits(priority));
        out.put_u8(0);
        out.put(block);
        out.freeze()
    }

    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes {
        let block = self.compressed(&MessageHead::Response(head.clone()));
        // The head of a push follows the stream that is open already (draft 3, section 3.3.1).
        let kind = if stream.is_multiple_of(2) { Kind::Headers } else { Kind::SynReply };
        // HEADERS has no flags in SPDY/2.
        let ends_apart = end && kind == Kind::Headers && self.version.number == 2;
        let end = end && !ends_apart;
        let mut out = control(self.version, kind, fin(end), 4 + self.version.unused + block.len());
        out.put_u32(stream);
        out.put_bytes(0, self.version.unused);
        out.put(block);
        if ends_apart {
            out.put(frames::data(stream, FLAG_FIN, 0));
        }
        out.freeze()
    }

    fn trailers(&mut self, stream: u32, fields: &Arc<Fields>) -> Bytes {
        let block = self.compressed(&MessageHead::Trailers(fields.clone()));
        // HEADERS has no flags in SPDY/2.
        let ends_apart = self.version.number == 2;
        let mut out = control(self.version, Kind::Headers, fin(!ends_apart), 4 + self.version.unused + block.len());
        out.put_u32(stream);
        out.put_bytes(0, self.version.unused);
        out.put(block);
        if ends_apart {
            out.put(frames::data(stream, FLAG_FIN, 0));
        }
        out.freeze()
    }

    fn interim(&mut self, _: u32, _: &Arc<ResponseHead>) -> Bytes {
        Bytes::new()
    }

    fn promise(&mut self, promise: &Promise, response: Option<(Arc<ResponseHead>, bool)>) -> Bytes {
        let (response, end) = response.map_or((None, false), |(head, end)| (Some(head), end));
        let block = self.compressed(&MessageHead::Pushed(promise.head.clone(), response));
        let mut out = control(self.version, Kind::SynStream, FLAG_UNIDIRECTIONAL | fin(end), 10 + block.len());
        out.put_u32(promise.stream);
        out.put_u32(promise.parent);
        out.put_u8(self.priority_bits(promise.priority));
        out.put_u8(0);
        out.put(block);
        out.freeze()
    }

    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes {
        frames::data(stream, fin(end), len)
    }

    fn window_update(&self, stream: u32, delta: u32) -> Bytes {
        let mut out = control(self.version, Kind::WindowUpdate, 0, 8);
        out.put_u32(stream);
        out.put_u32(delta);
        out.freeze()
    }

    fn reset(&self, stream: u32, status: u32) -> Bytes {
        let mut out = control(self.version, Kind::RstStream, 0, 8);
        out.put_u32(stream);
        out.put_u32(status);
        out.freeze()
    }

    fn go_away(&self, last: u32, fault: Option<PeerFault>) -> Bytes {
        let is_2 = self.version.number == 2;
        let mut out = control(self.version, Kind::GoAway, 0, if is_2 { 4 } else { 8 });
        out.put_u32(last);
        if !is_2 {
            // Draft 3, section 2.6.6, has one status for all that a peer can do wrong.
            out.put_u32(fault.map_or(0, |_| PROTOCOL_ERROR));
        }
        out.freeze()
    }

    fn ping(&self, number: u32) -> Bytes {
        self.ping_frame(number.wrapping_mul(2).wrapping_add(u32::from(self.role == Perspective::Client)))
    }

    fn persisted(&self) -> PersistedSettings {
        self.persisted.clone()
    }

    fn persist(&self, settings: &PersistedSettings) -> Bytes {
        let entry = |(id, value)| SettingsEntry { id, flags: frames::PERSIST_VALUE, value };
        frames::settings(self.version, &settings.iter().map(entry).collect::<Vec<_>>()).freeze()
    }

    fn goaway_mode(&self) -> GoAwayMode {
        // A kept implementation of SPDY/2 (node's) expects SPDY/3's longer GOAWAY, and closes at the short one.
        if self.version.number == 2 { GoAwayMode::WhenIdle } else { GoAwayMode::Immediate }
    }

    fn error_action(&self, violation: StreamViolation) -> ErrorAction {
        match self.version.number {
            2 => Spdy::reaction_2(violation),
            _ => Spdy::reaction_3(self.role, violation),
        }
    }
}

impl Spdy {
    /// Headings of draft 2.
    fn reaction_2(violation: StreamViolation) -> ErrorAction {
        match violation {
            // "Data frames": "should close the connection".
            StreamViolation::BeforeHead => ErrorAction::End(PeerFault::UnexpectedFrame),
            // "SYN_REPLY" and "Stream half-close"; SPDY/3's own codes for these are not there yet.
            StreamViolation::SecondHead | StreamViolation::AfterEnd => ErrorAction::Reset(PROTOCOL_ERROR),
            // "Stream close": data after the teardown is ignored.
            StreamViolation::AfterReset | StreamViolation::AfterClose => ErrorAction::Ignore,
            // "Request" does not say that they have to agree.
            StreamViolation::Length => ErrorAction::Ignore,
            _ => Spdy::reaction_3(Perspective::Server, violation),
        }
    }

    /// Sections of draft 3.
    fn reaction_3(role: Perspective, violation: StreamViolation) -> ErrorAction {
        match violation {
            // 2.2.2 and 2.6.3: a stream that is not active; draft 2, "Client Implementation": a push that belongs
            // to none.
            StreamViolation::Idle | StreamViolation::BadAssociatedStream => ErrorAction::Reset(INVALID_STREAM),
            StreamViolation::ControlOnIdle => ErrorAction::Ignore,
            // 2.2.2: before SYN_REPLY; 2.3.7: after both ends are closed; 2.3.2: one id twice.
            StreamViolation::BeforeHead
            | StreamViolation::AfterReset
            | StreamViolation::AfterClose
            | StreamViolation::Reopened
            | StreamViolation::PromisedIdReused => ErrorAction::Reset(PROTOCOL_ERROR),
            // 2.6.2.
            StreamViolation::SecondHead => ErrorAction::Reset(STREAM_IN_USE),
            // 2.3.6.
            StreamViolation::AfterEnd => ErrorAction::Reset(STREAM_ALREADY_CLOSED),
            // 2.6.10: duplicates, upper case, NUL out of place; 3.2.2: a response without its line.
            StreamViolation::Malformed | StreamViolation::FrameSize => ErrorAction::Reset(PROTOCOL_ERROR),
            // 3.2.1; a client takes what came of a response (3.2.2).
            StreamViolation::Length if role == Perspective::Client => ErrorAction::Ignore,
            StreamViolation::MissingPseudoHeader | StreamViolation::Length => ErrorAction::BadRequest,
            // 2.3.2: a stream that is rejected.
            StreamViolation::TooMany | StreamViolation::UnwantedPush => ErrorAction::Reset(REFUSED_STREAM),
            // 3.3.2: what "HTTP_PROTOCOL_ERROR" would be, which has no number.
            StreamViolation::NotPromisable => ErrorAction::Reset(PROTOCOL_ERROR),
            // 2.6.8.
            StreamViolation::WindowExceeded | StreamViolation::WindowOverflow => ErrorAction::Reset(FLOW_CONTROL_ERROR),
            StreamViolation::ZeroDelta => ErrorAction::Reset(PROTOCOL_ERROR),
        }
    }
}
