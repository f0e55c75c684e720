//! What the versions of SPDY differ in.

use super::dictionary;
use crate::streams::{OptionalPseudoHeaders, PseudoHeaderNames, PseudoHeaderPosition, Windows};

/// A version, as far as it is not like the others. Draft 2 describes SPDY/2, draft 3 SPDY/3 and, with
/// the session's window of draft 3.1, SPDY/3.1.
#[derive(Debug)]
pub(crate) struct Version {
    /// What control frames bear; 3.1 says 3 as well.
    pub(super) number: u16,
    /// How header blocks are written.
    pub(super) blocks: &'static Blocks,
    /// Bits of a priority, at the top of its byte (draft 2, "SYN_STREAM"; draft 3, section 2.6.1).
    pub(super) priority_bits: u32,
    /// Bytes between the stream's id and the header block of SYN_REPLY and HEADERS.
    pub(super) unused: usize,
    /// In SPDY/2 flow control is not there yet.
    pub(super) windows: Windows,
}

/// How header blocks are written, and what their compression begins with.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(super) names: PseudoHeaderNames,
    /// Bytes of a number.
    pub(super) number: usize,
    pub(super) empty_values: EmptyValues,
    pub(super) dictionary: fn() -> &'static [u8],
}

/// Whether a field may have an empty value (draft 2, "Name/value header block format", against draft 3,
/// section 2.6.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EmptyValues {
    Forbidden,
    Allowed,
}

static BLOCKS_2: Blocks = Blocks {
    names: PseudoHeaderNames {
        method: b"method",
        path: b"url",
        scheme: b"scheme",
        authority: b"host",
        status: b"status",
        version: Some(b"version"),
        optional: OptionalPseudoHeaders::SchemeAndHost,
        position: PseudoHeaderPosition::Anywhere,
    },
    number: 2,
    empty_values: EmptyValues::Forbidden,
    dictionary: dictionary::two,
};

static BLOCKS_3: Blocks = Blocks {
    names: PseudoHeaderNames {
        method: b":method",
        path: b":path",
        scheme: b":scheme",
        authority: b":host",
        status: b":status",
        version: Some(b":version"),
        optional: OptionalPseudoHeaders::None,
        position: PseudoHeaderPosition::Anywhere,
    },
    number: 4,
    empty_values: EmptyValues::Allowed,
    dictionary: dictionary::three,
};

/// The window that every stream has until someone says otherwise, and in SPDY/3.1 the session.
const WINDOW: u32 = 65_536;

pub(crate) static TWO: Version = Version {
    number: 2,
    blocks: &BLOCKS_2,
    priority_bits: 2,
    unused: 2,
    windows: Windows { stream: None, session: None },
};

pub(crate) static THREE: Version = Version {
    number: 3,
    blocks: &BLOCKS_3,
    priority_bits: 3,
    unused: 0,
    windows: Windows { stream: Some(WINDOW), session: None },
};

pub(crate) static THREE_ONE: Version = Version {
    number: 3,
    blocks: &BLOCKS_3,
    priority_bits: 3,
    unused: 0,
    windows: Windows { stream: Some(WINDOW), session: Some(WINDOW) },
};
