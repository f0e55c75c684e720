//! Frames as they are written, apart from what they mean to a session (RFC 9113, section 6).

use crate::PeerFault;
use crate::streams::StreamDependency;
use bytes::{Buf, BufMut, Bytes, BytesMut};

pub(super) const STREAM_BITS: u32 = 0x7fff_ffff;

pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
const HAS_PRIORITY: u8 = 0x20;

pub(super) const SETTINGS_HEADER_TABLE_SIZE: u16 = 1;
pub(super) const SETTINGS_ENABLE_PUSH: u16 = 2;
pub(super) const SETTINGS_MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const SETTINGS_MAX_FRAME_SIZE: u16 = 5;
/// RFC 9218, section 2.1.
pub(super) const SETTINGS_NO_RFC7540_PRIORITIES: u16 = 9;

/// What kind of frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Data = 0,
    Headers = 1,
    Priority = 2,
    RstStream = 3,
    Settings = 4,
    PushPromise = 5,
    Ping = 6,
    GoAway = 7,
    WindowUpdate = 8,
    Continuation = 9,
    /// RFC 9218, section 7.1.
    PriorityUpdate = 0x10,
}

impl Kind {
    pub(super) const ALL: [Kind; 11] = [
        Kind::Data,
        Kind::Headers,
        Kind::Priority,
        Kind::RstStream,
        Kind::Settings,
        Kind::PushPromise,
        Kind::Ping,
        Kind::GoAway,
        Kind::WindowUpdate,
        Kind::Continuation,
        Kind::PriorityUpdate,
    ];
}

/// The nine bytes before a frame's payload (RFC 9113, section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lead {
    pub(super) len: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Lead {
    pub(super) const LEN: usize = 9;

    pub(super) fn new(kind: Kind, flags: u8, stream: u32, len: usize) -> Lead {
        Lead { len, kind: kind as u8, flags, stream }
    }

    pub(super) fn read(mut head: &[u8]) -> Lead {
        let len = head.get_uint(3) as usize;
        Lead { len, kind: head.get_u8(), flags: head.get_u8(), stream: head.get_u32() & STREAM_BITS }
    }

    pub(super) fn write(self, out: &mut BytesMut) {
        out.put_uint(self.len as u64, 3);
        out.put_u8(self.kind);
        out.put_u8(self.flags);
        out.put_u32(self.stream);
    }

    /// The kind, if it is known.
    pub(super) fn kind(self) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == self.kind)
    }

    pub(super) fn is(self, kind: Kind) -> bool {
        self.kind == kind as u8
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A frame whose payload is at hand.
pub(super) fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(Lead::LEN + payload.len());
    Lead::new(kind, flags, stream, payload.len()).write(&mut out);
    out.put_slice(payload);
    out.freeze()
}

/// The content of a frame other than DATA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Control {
    /// A header block or its beginning, and what the stream depends on (RFC 7540, section 6.2).
    Headers {
        fragment: Bytes,
        dependency: Option<StreamDependency>,
    },
    /// What the stream depends on, if the frame has the length of its kind.
    Priority {
        dependency: Option<StreamDependency>,
    },
    /// A value of the field `priority` for a stream.
    PriorityUpdate {
        prioritised: u32,
        field: Bytes,
    },
    RstStream {
        code: u32,
    },
    Settings {
        entries: Vec<(u16, u32)>,
    },
    PushPromise {
        promised: u32,
        fragment: Bytes,
    },
    Ping {
        opaque: [u8; 8],
    },
    GoAway {
        last: u32,
        code: u32,
    },
    WindowUpdate {
        increment: u32,
    },
    Continuation {
        fragment: Bytes,
    },
    /// Unknown types are to be ignored (RFC 9113, section 4.1).
    Unknown,
}

impl Control {
    /// Reads the payload of a frame.
    pub(super) fn read(lead: Lead, mut payload: Bytes) -> Result<Control, PeerFault> {
        let Some(kind) = lead.kind() else { return Ok(Control::Unknown) };
        let is_sessions = matches!(kind, Kind::Settings | Kind::Ping | Kind::GoAway | Kind::PriorityUpdate);
        if kind != Kind::WindowUpdate && is_sessions != (lead.stream == 0) {
            return Err(PeerFault::UnexpectedFrame);
        }
        if matches!(kind, Kind::Headers | Kind::PushPromise) && lead.has(PADDED) {
            let padding = usize::from(payload.try_get_u8().map_err(|_| PeerFault::FrameSize)?);
            // RFC 9113, section 6.2: not the length of the frame is wrong, but that of the padding.
            let len = payload.len().checked_sub(padding).ok_or(PeerFault::MalformedFrame)?;
            payload.truncate(len);
        }
        let long = |payload: &mut Bytes| payload.try_get_u32().map_err(|_| PeerFault::FrameSize);
        let alone = |payload: &Bytes| if payload.is_empty() { Ok(()) } else { Err(PeerFault::FrameSize) };
        Ok(match kind {
            Kind::Headers if lead.has(HAS_PRIORITY) => {
                let on = long(&mut payload)?;
                let weight = payload.try_get_u8().map_err(|_| PeerFault::FrameSize)?;
                Control::Headers { fragment: payload, dependency: Some(dependency(on, weight)) }
            }
            Kind::Headers => Control::Headers { fragment: payload, dependency: None },
            Kind::Priority if payload.len() != 5 => Control::Priority { dependency: None },
            Kind::Priority => Control::Priority { dependency: Some(dependency(payload.get_u32(), payload.get_u8())) },
            Kind::PriorityUpdate => {
                let prioritised = long(&mut payload)? & STREAM_BITS;
                Control::PriorityUpdate { prioritised, field: payload }
            }
            Kind::RstStream => {
                let code = long(&mut payload)?;
                alone(&payload)?;
                Control::RstStream { code }
            }
            Kind::Settings if !payload.len().is_multiple_of(6) || (lead.has(ACK) && !payload.is_empty()) => {
                return Err(PeerFault::FrameSize);
            }
            Kind::Settings => {
                let entry = |mut entry: &[u8]| (entry.get_u16(), entry.get_u32());
                Control::Settings { entries: payload.chunks_exact(6).map(entry).collect() }
            }
            Kind::PushPromise => {
                let promised = long(&mut payload)? & STREAM_BITS;
                Control::PushPromise { promised, fragment: payload }
            }
            Kind::Ping => {
                let opaque = <[u8; 8]>::try_from(&payload[..]).map_err(|_| PeerFault::FrameSize)?;
                Control::Ping { opaque }
            }
            Kind::GoAway => Control::GoAway { last: long(&mut payload)? & STREAM_BITS, code: long(&mut payload)? },
            Kind::WindowUpdate => {
                let increment = long(&mut payload)? & STREAM_BITS;
                alone(&payload)?;
                Control::WindowUpdate { increment }
            }
            Kind::Continuation => Control::Continuation { fragment: payload },
            // DATA is never read as a whole.
            Kind::Data => Control::Unknown,
        })
    }
}

/// The fields of a priority as they are written (RFC 7540, section 6.3).
fn dependency(on: u32, weight: u8) -> StreamDependency {
    StreamDependency { parent: on & STREAM_BITS, exclusive: on & !STREAM_BITS != 0, weight: u16::from(weight) + 1 }
}
