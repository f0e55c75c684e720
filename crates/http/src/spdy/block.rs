//! Header blocks: names and values in the form that is compressed (draft 2, "Name/value header
//! block format"; draft 3, section 2.6.10).

use super::version::{Blocks, EmptyValues};
use crate::Fields;
use crate::h1::MAX_FIELDS;
use crate::streams::{
    Decoded, MessageHead, OptionalPseudoHeaders, assemble, digits, is_connection_specific, sendable_fields,
};
use bytes::Bytes;

const HTTP: &[u8] = b"HTTP/1.1";

/// Writes the block of a head.
pub(super) fn write(blocks: &Blocks, head: &MessageHead, out: &mut Vec<u8>) {
    let names = &blocks.names;
    let version = names.version.map(|name| (name, HTTP));
    let (status, url);
    let no_fields = Fields::default();
    let (line, fields): (Vec<(&[u8], &[u8])>, _) = match head {
        MessageHead::Request(head, _) => {
            let parts = [Some((names.method, &head.method[..])), Some((names.path, &head.path)), version];
            let origin = [(names.authority, &head.authority[..]), (names.scheme, head.scheme.name().as_bytes())];
            (parts.into_iter().flatten().chain(origin).collect(), &head.fields)
        }
        MessageHead::Response(head) => {
            status = digits(head.status);
            ([Some((names.status, &status[..])), version].into_iter().flatten().collect(), &head.fields)
        }
        MessageHead::Pushed(request, response) => {
            // Draft 2, "Server Implementation": the url is absolute.
            url = match names.optional {
                OptionalPseudoHeaders::SchemeAndHost => {
                    [request.scheme.name().as_bytes(), b"://", &request.authority, &request.path].concat()
                }
                OptionalPseudoHeaders::None => request.path.to_vec(),
            };
            let origin = [(names.authority, &request.authority[..]), (names.scheme, request.scheme.name().as_bytes())];
            let mut line = vec![(names.method, &request.method[..]), (names.path, &url)];
            line.extend(origin);
            if let Some(response) = response {
                status = digits(response.status);
                line.push((names.status, &status));
                line.extend(version);
            }
            (line, response.as_ref().map_or(&no_fields, |response| &response.fields))
        }
        MessageHead::Trailers(fields) => (Vec::new(), &**fields),
    };
    // A name stands once; the values of a name that comes several times are joined by NUL.
    let mut named: Vec<(Vec<u8>, Vec<u8>)> = line.into_iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
    let may_be_empty = blocks.empty_values == EmptyValues::Allowed;
    let is_line = |name: &[u8]| named_in_line(blocks, name);
    sendable_fields(fields, |name, value| {
        if is_line(name) || (value.is_empty() && !may_be_empty) {
            return;
        }
        match named.iter_mut().find(|(known, _)| known == name) {
            // NUL never stands at the ends of a value or next to another NUL.
            Some((_, values)) if values.is_empty() => values.extend_from_slice(value),
            Some(_) if value.is_empty() => {}
            Some((_, values)) => {
                values.push(0);
                values.extend_from_slice(value);
            }
            None => named.push((name.to_vec(), value.to_vec())),
        }
    });
    let put_number = |out: &mut Vec<u8>, number: usize| {
        let bytes = (number as u64).to_be_bytes();
        let (zeros, written) = bytes.split_at(8 - blocks.number);
        assert!(zeros.iter().all(|byte| *byte == 0), "a part of a head too long for its length");
        out.extend_from_slice(written);
    };
    put_number(out, named.len());
    for (name, value) in named {
        for part in [name, value] {
            put_number(out, part.len());
            out.extend_from_slice(&part);
        }
    }
}

/// Whether a field would be taken for a part of the line: SPDY/2 has no mark that tells them apart.
fn named_in_line(blocks: &Blocks, name: &[u8]) -> bool {
    let names = &blocks.names;
    [names.method, names.path, names.scheme, names.authority, names.status].contains(&name)
        || names.version == Some(name)
}

/// Reads a block as a head.
pub(super) fn read(blocks: &Blocks, text: &Bytes) -> Decoded {
    match split(blocks, text) {
        Some(pairs) => assemble(text, &pairs, &blocks.names),
        None => Decoded::Malformed,
    }
}

/// Names and values as a head has them: one pair for each value, without what HTTP/1.1 says of a
/// connection.
fn split<'a>(blocks: &Blocks, text: &'a [u8]) -> Option<Vec<(&'a [u8], &'a [u8])>> {
    let may_be_empty = blocks.empty_values == EmptyValues::Allowed;
    let written = pairs(blocks, text)?;
    let mut split: Vec<(&[u8], &[u8])> = Vec::with_capacity(written.len());
    for (at, (name, value)) in written.iter().enumerate() {
        let values = || value.split(|byte| *byte == 0);
        let count = values().count();
        let is_twice = written[..at].iter().any(|(known, _)| known == name);
        let has_gap = (count > 1 || !may_be_empty) && values().any(<[u8]>::is_empty);
        if is_twice || has_gap || split.len() + count > MAX_FIELDS {
            return None;
        }
        if !is_connection_specific(name) || *name == blocks.names.authority {
            split.extend(values().map(|value| (*name, value)));
        }
    }
    Some(split)
}

/// Names and values as they are written.
pub(super) fn pairs<'a>(blocks: &Blocks, text: &'a [u8]) -> Option<Vec<(&'a [u8], &'a [u8])>> {
    let mut rest = text;
    let count = take_number(blocks, &mut rest)?;
    let mut pairs = Vec::new();
    for _ in 0..count {
        pairs.push((take_part(blocks, &mut rest)?, take_part(blocks, &mut rest)?));
        if pairs.len() > MAX_PAIRS {
            return None;
        }
    }
    rest.is_empty().then_some(pairs)
}

/// The most pairs that a block may have: each is compared with those before it.
const MAX_PAIRS: usize = MAX_FIELDS;

fn take_number(blocks: &Blocks, rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_at_checked(blocks.number)?;
    *rest = after;
    Some(number.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn take_part<'a>(blocks: &Blocks, rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_number(blocks, rest)?;
    let (part, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(part)
}
