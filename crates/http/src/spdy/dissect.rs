//! Frames as lines for people: see [`crate::decode`].

use super::block;
use super::frames::{Control, Kind, Lead};
use super::version::Version;
use super::zlib::Inflater;
use crate::PeerFault;
use crate::decode::{Dissect, EntryLine, FrameLine, FramePayload, latin1};
use crate::memory::Codec;
use bytes::Bytes;

/// Takes the frames of one direction apart.
#[derive(Debug)]
pub(crate) struct Dissector {
    version: &'static Version,
    inflater: Inflater,
}

impl Dissector {
    pub(crate) fn new(version: &'static Version) -> Dissector {
        Dissector { version, inflater: Inflater::fresh(version.blocks) }
    }

    /// The line of a frame with a header block.
    fn headed(&mut self, line: FrameLine, block: &[u8]) -> Result<FrameLine, PeerFault> {
        let text = self.inflater.inflate(block)?;
        Ok(match block::pairs(self.version.blocks, &text) {
            Some(pairs) => FrameLine { headers: Some(latin1(pairs)), ..line },
            None => FrameLine { error: Some(PeerFault::MalformedHead), ..line },
        })
    }
}

impl Dissect for Dissector {
    fn preface(&self) -> &'static [u8] {
        b""
    }

    fn head_len(&self) -> usize {
        8
    }

    fn payload(&self, head: &[u8]) -> FramePayload {
        match Lead::read(head) {
            Lead::Control { kind, len, .. } if Kind::of(kind).is_some() => FramePayload::Read(len as usize),
            Lead::Data { len, .. } | Lead::Control { len, .. } => FramePayload::Skipped(len as usize),
        }
    }

    fn frame(&mut self, head: &[u8], payload: Bytes) -> Result<Option<FrameLine>, PeerFault> {
        let (kind, flags, len) = match Lead::read(head) {
            Lead::Data { stream, flags, len } => {
                return Ok(Some(FrameLine { length: Some(len), ..FrameLine::on("DATA", flags, stream) }));
            }
            Lead::Control { version, .. } if version != self.version.number => return Err(PeerFault::WrongVersion),
            Lead::Control { kind, flags, len, .. } => (kind, flags, len),
        };
        Ok(Some(match Control::read(self.version, kind, &payload)? {
            Control::SynStream { stream, associated, priority, block } => {
                let line = FrameLine::on("SYN_STREAM", flags, stream);
                let associated_to_stream_id = Some(associated);
                self.headed(FrameLine { associated_to_stream_id, priority: Some(priority), ..line }, &block)?
            }
            Control::SynReply { stream, block } => self.headed(FrameLine::on("SYN_REPLY", flags, stream), &block)?,
            Control::Headers { stream, block } => self.headed(FrameLine::on("HEADERS", flags, stream), &block)?,
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
            Control::Unknown => FrameLine { length: Some(len), ..FrameLine::new("UNKNOWN", flags) },
        }))
    }
}
