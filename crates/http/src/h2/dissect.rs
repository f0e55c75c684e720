//! Frames as lines for people: see [`crate::decode`]. A header block of several frames is one line, that
//! of the frame which begins it.

use super::H2;
use super::frames::{Control, Kind, Lead};
use super::hpack::Decoder;
use super::joiner::Joiner;
use crate::PeerFault;
use crate::decode::{Dissect, EntryLine, FrameLine, FramePayload, latin1};
use crate::streams::Framing;
use bytes::Bytes;

/// Takes the frames of one direction apart.
#[derive(Debug)]
pub(crate) struct Dissector {
    decoder: Decoder,
    joiner: Joiner<FrameLine>,
}

impl Dissector {
    /// `header_table` is the other end's SETTINGS_HEADER_TABLE_SIZE, if it has said any.
    pub(crate) fn new(header_table: Option<u32>) -> Dissector {
        let decoder = header_table.map_or_else(Decoder::new, |bytes| Decoder::limited(bytes as usize));
        Dissector { decoder, joiner: Joiner::default() }
    }

    /// The line of a header block that is complete.
    fn whole(&mut self, line: FrameLine, block: &[u8]) -> Result<FrameLine, PeerFault> {
        let fields = self.decoder.decode(block)?;
        let headers = latin1(fields.iter().map(|(name, value)| (&name[..], &value[..])));
        Ok(FrameLine { headers: Some(headers), ..line })
    }
}

impl Dissect for Dissector {
    fn preface(&self) -> &'static [u8] {
        H2::PREFACE
    }

    fn head_len(&self) -> usize {
        Lead::LEN
    }

    fn payload(&self, head: &[u8]) -> FramePayload {
        let lead = Lead::read(head);
        match lead.kind() {
            Some(Kind::Data) | None => FramePayload::Skipped(lead.len),
            Some(_) => FramePayload::Read(lead.len),
        }
    }

    fn frame(&mut self, head: &[u8], payload: Bytes) -> Result<Option<FrameLine>, PeerFault> {
        let lead = Lead::read(head);
        self.joiner.check(lead)?;
        let on = |kind| FrameLine::on(kind, lead.flags, lead.stream);
        let length = Some(lead.len as u32);
        if lead.is(Kind::Data) {
            return Ok(Some(FrameLine { length, ..on("DATA") }));
        }
        let block = match Control::read(lead, payload)? {
            Control::Headers { fragment, .. } => self.joiner.begin(lead, on("HEADERS"), fragment),
            Control::PushPromise { promised, fragment } => {
                let associated_to_stream_id = Some(lead.stream);
                let line = FrameLine::on("PUSH_PROMISE", lead.flags, promised);
                self.joiner.begin(lead, FrameLine { associated_to_stream_id, ..line }, fragment)
            }
            Control::Continuation { fragment } => self.joiner.go_on(lead, &fragment)?,
            Control::PriorityUpdate { prioritised, field } => {
                let headers = Some(latin1([(&b"priority"[..], &field[..])]));
                return Ok(Some(FrameLine { headers, ..FrameLine::on("PRIORITY_UPDATE", lead.flags, prioritised) }));
            }
            Control::Priority { .. } => return Ok(Some(on("PRIORITY"))),
            Control::RstStream { code } => return Ok(Some(FrameLine { status: Some(code), ..on("RST_STREAM") })),
            Control::Settings { entries } => {
                let lines =
                    entries.iter().map(|(id, value)| EntryLine { id: u32::from(*id), flags: None, value: *value });
                return Ok(Some(FrameLine { entries: Some(lines.collect()), ..on("SETTINGS") }));
            }
            Control::Ping { opaque } => {
                return Ok(Some(FrameLine { id: Some(u64::from_be_bytes(opaque)), ..on("PING") }));
            }
            Control::GoAway { last, code } => {
                return Ok(Some(FrameLine { last_good_stream_id: Some(last), status: Some(code), ..on("GOAWAY") }));
            }
            Control::WindowUpdate { increment } => {
                return Ok(Some(FrameLine { delta: Some(increment), ..on("WINDOW_UPDATE") }));
            }
            Control::Unknown => return Ok(Some(FrameLine { length, ..on("UNKNOWN") })),
        };
        block.map(|(_, line, block)| self.whole(line, &block)).transpose()
    }
}
