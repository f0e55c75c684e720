//! Header blocks: names and values in the form that is compressed (draft 3, section 2.6.10).

use crate::h1::MAX_FIELDS;
use crate::streams::{Decoded, Head, assemble, sendable};
use bytes::Bytes;

/// The name of the part of the request line that bears the authority.
const HOST: &[u8] = b":host";

/// Writes the block of a head.
pub(super) fn write(head: &Head, out: &mut Vec<u8>) {
    let mut status = [0; 3];
    let (line, fields) = match head {
        Head::Request(head, _) => (
            vec![
                (&b":method"[..], &head.method[..]),
                (b":path", &head.path),
                (b":version", b"HTTP/1.1"),
                (HOST, &head.authority),
                (b":scheme", head.scheme.name().as_bytes()),
            ],
            &head.fields,
        ),
        Head::Response(head) => {
            for (digit, place) in status.iter_mut().zip([100, 10, 1]) {
                *digit = b'0' + (head.status / place % 10) as u8;
            }
            (vec![(&b":status"[..], &status[..]), (b":version", b"HTTP/1.1")], &head.fields)
        }
    };
    // A name stands once; the values of a name that comes several times are joined by NUL.
    let mut named: Vec<(Vec<u8>, Vec<u8>)> = line.into_iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
    for (name, value) in sendable(fields) {
        match named.iter_mut().find(|(known, _)| *known == name) {
            // NUL never stands at the ends of a value or beside another one.
            Some((_, values)) if values.is_empty() => values.extend_from_slice(value),
            Some(_) if value.is_empty() => {}
            Some((_, values)) => {
                values.push(0);
                values.extend_from_slice(value);
            }
            None => named.push((name, value.to_vec())),
        }
    }
    let put_number = |out: &mut Vec<u8>, number: usize| out.extend_from_slice(&(number as u32).to_be_bytes());
    put_number(out, named.len());
    for (name, value) in named {
        for part in [name, value] {
            put_number(out, part.len());
            out.extend_from_slice(&part);
        }
    }
}

/// Reads a block.
pub(super) fn read(text: &Bytes) -> Decoded {
    let Some(pairs) = pairs(text) else { return Decoded::Malformed };
    assemble(text, &pairs, HOST)
}

/// Names and values; a name with several values comes several times.
fn pairs(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut rest = text;
    let count = take_number(&mut rest)?;
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    for _ in 0..count {
        let (name, value) = (take_part(&mut rest)?, take_part(&mut rest)?);
        let values = value.split(|byte| *byte == 0).count();
        let is_odd = pairs.iter().any(|(known, _)| *known == name) || pairs.len() + values > MAX_FIELDS;
        if is_odd || (values > 1 && value.split(|byte| *byte == 0).any(<[u8]>::is_empty)) {
            return None;
        }
        pairs.extend(value.split(|byte| *byte == 0).map(|value| (name, value)));
    }
    rest.is_empty().then_some(pairs)
}

fn take_number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_be_bytes(*number))
}

fn take_part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_number(rest)? as usize;
    let (part, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(part)
}
