//! Frames as they are written, apart from what they mean to a session (draft 2, "Control frames";
//! draft 3, section 2.6; fields that differ between the versions are described by [`Version`]).

use super::version::Version;
use crate::PeerFault;
use bytes::{Buf, BufMut, Bytes, BytesMut};

pub(super) const STREAM_BITS: u32 = 0x7fff_ffff;

pub(super) const FLAG_FIN: u8 = 1;
pub(super) const FLAG_UNIDIRECTIONAL: u8 = 2;

/// SETTINGS: forget what was kept.
pub(super) const CLEAR_SETTINGS: u8 = 1;
/// An entry: to be kept for the next session.
pub(super) const PERSIST_VALUE: u8 = 1;
/// An entry: kept from an earlier one.
pub(super) const PERSISTED: u8 = 2;

pub(super) const SETTINGS_MAX_CONCURRENT_STREAMS: u32 = 4;
pub(super) const SETTINGS_INITIAL_WINDOW_SIZE: u32 = 7;

/// What kind of control frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    SynStream = 1,
    SynReply = 2,
    RstStream = 3,
    Settings = 4,
    Noop = 5,
    Ping = 6,
    GoAway = 7,
    Headers = 8,
    WindowUpdate = 9,
    /// The drawing of draft 3 says 11; all implementations that sent it wrote 10.
    Credential = 10,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::SynStream,
        Kind::SynReply,
        Kind::RstStream,
        Kind::Settings,
        Kind::Noop,
        Kind::Ping,
        Kind::GoAway,
        Kind::Headers,
        Kind::WindowUpdate,
        Kind::Credential,
    ];

    pub(super) fn of(number: u16) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u16 == number)
    }
}

/// The eight bytes before a frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lead {
    Data { stream: u32, flags: u8, len: u32 },
    Control { version: u16, kind: u16, flags: u8, len: u32 },
}

impl Lead {
    pub(super) fn read(mut head: &[u8]) -> Lead {
        let (first, second) = (head.get_u32(), head.get_u32());
        let (flags, len) = ((second >> 24) as u8, second & 0x00ff_ffff);
        match first & !STREAM_BITS {
            0 => Lead::Data { stream: first, flags, len },
            _ => Lead::Control { version: (first >> 16) as u16 & 0x7fff, kind: first as u16, flags, len },
        }
    }
}

/// A control frame's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Control {
    /// The priority is 0, the highest, to 3 in SPDY/2, to 7 in SPDY/3.
    SynStream {
        stream: u32,
        associated: u32,
        priority: u8,
        block: Bytes,
    },
    SynReply {
        stream: u32,
        block: Bytes,
    },
    RstStream {
        stream: u32,
        status: u32,
    },
    Settings {
        entries: Vec<SettingsEntry>,
    },
    Noop,
    Ping {
        id: u32,
    },
    /// SPDY/2 has no status.
    GoAway {
        last_good: u32,
        status: Option<u32>,
    },
    Headers {
        stream: u32,
        block: Bytes,
    },
    WindowUpdate {
        stream: u32,
        delta: u32,
    },
    Credential,
    /// Unknown types are to be ignored (draft 2, "Control frames"; draft 3 does not mention them).
    Unknown,
}

/// One of the settings. Flags say whether it is to be kept (1), or was (2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SettingsEntry {
    pub(super) id: u32,
    pub(super) flags: u8,
    pub(super) value: u32,
}

impl Control {
    /// Reads the payload of a control frame of this kind.
    pub(super) fn read(version: &Version, kind: u16, payload: &Bytes) -> Result<Control, PeerFault> {
        let block = |fixed: usize| match payload.len() >= fixed {
            true => Ok(payload.slice(fixed..)),
            false => Err(PeerFault::MalformedFrame),
        };
        let mut rest = &payload[..];
        Ok(match Kind::of(kind) {
            Some(Kind::SynStream) => {
                let block = block(10)?;
                let (stream, associated) = (rest.get_u32() & STREAM_BITS, rest.get_u32() & STREAM_BITS);
                Control::SynStream { stream, associated, priority: rest.get_u8() >> (8 - version.priority_bits), block }
            }
            Some(Kind::SynReply) => {
                let block = block(4 + version.unused)?;
                Control::SynReply { stream: rest.get_u32() & STREAM_BITS, block }
            }
            Some(Kind::Headers) => {
                let block = block(4 + version.unused)?;
                Control::Headers { stream: rest.get_u32() & STREAM_BITS, block }
            }
            Some(Kind::RstStream) => {
                let [stream, status] = numbers(rest)?;
                Control::RstStream { stream: stream & STREAM_BITS, status }
            }
            Some(Kind::Settings) => Control::Settings { entries: read_settings(version, rest)? },
            Some(Kind::Noop) => Control::Noop,
            Some(Kind::Ping) => Control::Ping { id: numbers::<1>(rest)?[0] },
            // SPDY/2 writes four bytes; some of its implementations write SPDY/3's eight.
            Some(Kind::GoAway) if version.number == 2 && rest.len() == 4 => {
                Control::GoAway { last_good: rest.get_u32() & STREAM_BITS, status: None }
            }
            Some(Kind::GoAway) => {
                let [last_good, status] = numbers(rest)?;
                Control::GoAway { last_good: last_good & STREAM_BITS, status: Some(status) }
            }
            Some(Kind::WindowUpdate) => {
                let [stream, delta] = numbers(rest)?;
                Control::WindowUpdate { stream: stream & STREAM_BITS, delta: delta & STREAM_BITS }
            }
            Some(Kind::Credential) => Control::Credential,
            None => Control::Unknown,
        })
    }
}

fn read_settings(version: &Version, mut payload: &[u8]) -> Result<Vec<SettingsEntry>, PeerFault> {
    let count = payload.try_get_u32().map_err(|_| PeerFault::MalformedFrame)?;
    if payload.len() as u64 != u64::from(count) * 8 {
        return Err(PeerFault::MalformedFrame);
    }
    let entry = |entry: &[u8]| {
        let (mut name, mut value) = entry.split_at(4);
        let (id, flags) = match version.number {
            2 => (name.get_uint_le(3) as u32, name.get_u8()),
            _ => {
                let flags = name.get_u8();
                (name.get_uint(3) as u32, flags)
            }
        };
        SettingsEntry { id, flags, value: value.get_u32() }
    };
    Ok(payload.chunks_exact(8).map(entry).collect())
}

/// A payload of exactly `N` numbers.
fn numbers<const N: usize>(mut payload: &[u8]) -> Result<[u32; N], PeerFault> {
    if payload.len() != 4 * N {
        return Err(PeerFault::MalformedFrame);
    }
    Ok([(); N].map(|()| payload.get_u32()))
}

/// Begins a control frame with `len` bytes of payload.
pub(super) fn control(version: &Version, kind: Kind, flags: u8, len: usize) -> BytesMut {
    let mut frame = BytesMut::with_capacity(8 + len);
    frame.put_u16(0x8000 | version.number);
    frame.put_u16(kind as u16);
    frame.put_u32(u32::from(flags) << 24 | len as u32);
    frame
}

/// SETTINGS with these entries, ascending.
pub(super) fn settings(version: &Version, entries: &[SettingsEntry]) -> BytesMut {
    let mut frame = control(version, Kind::Settings, 0, 4 + 8 * entries.len());
    frame.put_u32(entries.len() as u32);
    for SettingsEntry { id, flags, value } in entries {
        match version.number {
            2 => {
                frame.put_uint_le((*id).into(), 3);
                frame.put_u8(*flags);
            }
            _ => {
                frame.put_u8(*flags);
                frame.put_uint((*id).into(), 3);
            }
        }
        frame.put_u32(*value);
    }
    frame
}

/// The head of a DATA frame.
pub(super) fn data(stream: u32, flags: u8, len: u32) -> Bytes {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&stream.to_be_bytes());
    out[4..].copy_from_slice(&(u32::from(flags) << 24 | len).to_be_bytes());
    Bytes::copy_from_slice(&out)
}
