//! Heads as header blocks (RFC 9113, section 8.3).

use super::hpack::{Decoder, Encoder};
use crate::content_length::with_another;
use crate::memory::Codec;
use crate::streams::{
    Decoded, MessageHead, OptionalPseudoHeaders, PseudoHeaderNames, PseudoHeaderPosition, assemble, digits,
    is_connection_specific, sendable_fields,
};
use crate::{Fields, PeerFault, Priority};
use bytes::{Bytes, BytesMut};

static NAMES: PseudoHeaderNames = PseudoHeaderNames {
    method: b":method",
    path: b":path",
    scheme: b":scheme",
    authority: b":authority",
    status: b":status",
    version: None,
    optional: OptionalPseudoHeaders::None,
    position: PseudoHeaderPosition::First,
};

/// Cookies of more parts than these go as the fields that they are: each part costs the peer an
/// entry, and receivers limit those.
const MAX_CRUMBS: usize = 100;

/// Compresses the heads of one direction.
#[derive(Debug)]
pub(crate) struct Packer {
    encoder: Encoder,
}

impl Packer {
    /// The peer's SETTINGS_HEADER_TABLE_SIZE.
    pub(super) fn set_table_limit(&mut self, bytes: u32) {
        self.encoder.set_limit(bytes);
    }

    fn fields(&mut self, fields: &Fields, out: &mut Vec<u8>) {
        let crumbs = |value: &[u8]| value.split(|byte| *byte == b';').count();
        let cookies = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"cookie"));
        let may_crumble = cookies.map(|(_, value)| crumbs(value)).sum::<usize>() <= MAX_CRUMBS;
        sendable_fields(fields, |name, value| {
            // RFC 9113, section 8.2.1: what HTTP/1.1 takes for white space around a value is not sent.
            let value = value.trim_ascii();
            if name == b"cookie" && may_crumble {
                // RFC 9113, section 8.2.3: crumbs that stay the same compress better.
                let crumbs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
                crumbs.for_each(|crumb| self.encoder.encode(name, crumb, out));
            } else {
                self.encoder.encode(name, value, out);
            }
        });
    }
}

impl Codec for Packer {
    type Start = ();
    type Input = MessageHead;
    type Output = Bytes;

    fn fresh((): ()) -> Packer {
        Packer { encoder: Encoder::new() }
    }

    fn step(&mut self, head: &MessageHead) -> Result<Bytes, PeerFault> {
        let mut out = Vec::with_capacity(256);
        self.encoder.begin(&mut out);
        match head {
            MessageHead::Request(head, priority) => {
                self.encoder.encode(NAMES.method, &head.method, &mut out);
                self.encoder.encode(NAMES.scheme, head.scheme.name().as_bytes(), &mut out);
                self.encoder.encode(NAMES.authority, &head.authority, &mut out);
                self.encoder.encode(NAMES.path, &head.path, &mut out);
                self.fields(&head.fields, &mut out);
                if *priority != Priority::default() && head.fields.get(b"priority").is_none() {
                    self.encoder.encode(b"priority", priority.to_string().as_bytes(), &mut out);
                }
            }
            MessageHead::Pushed(..) => unreachable!("HTTP/2 announces a push by its request alone"),
            MessageHead::Response(head) => {
                self.encoder.encode(NAMES.status, &digits(head.status), &mut out);
                self.fields(&head.fields, &mut out);
            }
            MessageHead::Trailers(fields) => self.fields(fields, &mut out),
        }
        Ok(out.into())
    }

    fn is_same(one: &MessageHead, other: &MessageHead) -> bool {
        one.is_same(other)
    }

    fn size(head: &MessageHead, compressed: &Bytes) -> usize {
        head.size() + compressed.len()
    }
}

/// Whether a value begins or ends with white space (RFC 9113, section 8.2.1).
fn has_blank_ends(value: &[u8]) -> bool {
    [value.first(), value.last()].into_iter().flatten().any(|byte| matches!(byte, b' ' | b'\t'))
}

/// Decompresses the heads of one direction.
#[derive(Debug)]
pub(crate) struct Unpacker {
    decoder: Decoder,
}

impl Codec for Unpacker {
    type Start = ();
    type Input = Bytes;
    type Output = Decoded;

    fn fresh((): ()) -> Unpacker {
        Unpacker { decoder: Decoder::new() }
    }

    fn step(&mut self, block: &Bytes) -> Result<Decoded, PeerFault> {
        let fields = self.decoder.decode(block)?;
        // RFC 9113, section 8.2.2: what belongs to one connection of HTTP/1.1 has no place here.
        let is_odd = |name: &[u8], value: &[u8]| match name {
            b"te" => value != b"trailers",
            // Section 8.2.1.
            _ if has_blank_ends(value) => true,
            // Section 8.3.1 allows it in addition to `:authority`.
            b"host" => false,
            _ => is_connection_specific(name),
        };
        let mut lengths = fields.iter().filter(|(name, _)| name[..] == *b"content-length");
        let length = lengths.try_fold(None, |before, (_, value)| with_another(before, value).map(Some));
        if length.is_err() || fields.iter().any(|(name, value)| is_odd(name, value)) {
            return Ok(Decoded::Malformed);
        }
        let mut text = BytesMut::new();
        fields.iter().for_each(|(name, value)| {
            text.extend_from_slice(name);
            text.extend_from_slice(value);
        });
        let text = text.freeze();
        let mut rest = &text[..];
        let mut take = |len: usize| {
            let (part, after) = rest.split_at(len);
            rest = after;
            part
        };
        let pairs: Vec<(&[u8], &[u8])> =
            fields.iter().map(|(name, value)| (take(name.len()), take(value.len()))).collect();
        Ok(assemble(&text, &pairs, &NAMES))
    }

    fn is_same(one: &Bytes, other: &Bytes) -> bool {
        one == other
    }

    fn size(compressed: &Bytes, decoded: &Decoded) -> usize {
        compressed.len() + decoded.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestHead;

    #[test]
    fn white_space_around_a_value_is_not_sent_rfc9113_8_2_1() {
        let fields = Fields::from_pairs([("x", " y z\t"), ("cookie", " a=b ;c=d ; "), ("empty", " ")]);
        let head = MessageHead::Request(RequestHead::get("a.test", "/", fields).into(), Priority::default());
        let block = Packer::fresh(()).step(&head).unwrap();
        let Decoded::Request(head, _) = Unpacker::fresh(()).step(&block).unwrap() else { panic!("it is a request") };
        let sent: Vec<_> = head.fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        let expected = [("x", "y z"), ("cookie", "a=b"), ("cookie", "c=d"), ("cookie", ""), ("empty", "")];
        assert_eq!(sent, expected.map(|(name, value)| (name.into(), value.into())));
    }
}
