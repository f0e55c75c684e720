//! Frames as lines for people: see [`crate::decode`].

use super::block;
use super::frames::{Control, Lead};
use super::version::Version;
use super::zlib::Inflater;
use crate::PeerFault;
use crate::decode::{Dissect, EntryLine, FrameLine, latin1};
use crate::memory::Codec;
use bytes::Bytes;

/// Takes the frames of one direction apart.
pub(crate) struct Dissector {
    version: &'static Version,
    inflater: Inflater,
}

impl Dissector {
    pub(crate) fn new(version: &'static Version) -> Dissector {
        Dissector { version, inflater: Inflater::fresh(version.blocks) }
    }

    fn headers(&mut self, block: &[u8]) -> Result<Option<Vec<(String, String)>>, PeerFault> {
        let text = self.inflater.inflate(block)?;
        let pairs = block::pairs(self.version.blocks, &text).ok_or(PeerFault::MalformedHead)?;
        Ok(Some(latin1(pairs)))
    }
}

impl Dissect for Dissector {
    const HEAD: usize = 8;
    const PREFACE: &'static [u8] = b"";

    fn len(head: &[u8]) -> usize {
        match Lead::read(head) {
            Lead::Data { len, .. } | Lead::Control { len, .. } => len as usize,
        }
    }

    fn frame(&mut self, head: &[u8], payload: Bytes) -> Result<Option<FrameLine>, PeerFault> {
        let (kind, flags) = match Lead::read(head) {
            Lead::Data { stream, flags, len } => {
                return Ok(Some(FrameLine { length: Some(len), ..FrameLine::on("DATA", flags, stream) }));
            }
            Lead::Control { version, .. } if version != self.version.number => return Err(PeerFault::WrongVersion),
            Lead::Control { kind, flags, .. } => (kind, flags),
        };
        Ok(Some(match Control::read(self.version, kind, &payload)? {
            Control::SynStream { stream, associated, priority, block } => FrameLine {
                associated_to_stream_id: Some(associated),
                priority: Some(priority),
                headers: self.headers(&block)?,
                ..FrameLine::on("SYN_STREAM", flags, stream)
            },
            Control::SynReply { stream, block } => {
                FrameLine { headers: self.headers(&block)?, ..FrameLine::on("SYN_REPLY", flags, stream) }
            }
            Control::Headers { stream, block } => {
                FrameLine { headers: self.headers(&block)?, ..FrameLine::on("HEADERS", flags, stream) }
            }
            Control::RstStream { stream, status } => {
                FrameLine { status: Some(status), ..FrameLine::on("RST_STREAM", flags, stream) }
            }
            Control::Settings { entries } => {
                let lines = entries.iter().map(|e| EntryLine { id: e.id, flags: Some(e.flags), value: e.value });
                FrameLine { entries: Some(lines.collect()), ..FrameLine::new("SETTINGS", flags) }
            }
            Control::Noop => FrameLine::new("NOOP", flags),
            Control::Ping { id } => FrameLine { id: Some(u64::from(id)), ..FrameLine::new("PING", flags) },
            Control::GoAway { last_good, status } => {
                FrameLine { last_good_stream_id: Some(last_good), status, ..FrameLine::new("GOAWAY", flags) }
            }
            Control::WindowUpdate { stream, delta } => {
                FrameLine { delta: Some(delta), ..FrameLine::on("WINDOW_UPDATE", flags, stream) }
            }
            Control::Credential => FrameLine::new("CREDENTIAL", flags),
            Control::Unknown => FrameLine { length: Some(payload.len() as u32), ..FrameLine::new("UNKNOWN", flags) },
        }))
    }
}
