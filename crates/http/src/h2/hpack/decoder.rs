//! Decompressing header blocks.

use super::huffman;
use super::integer;
use super::table::{Table, TableField};
use super::{Form, TABLE_BYTES};
use crate::PeerFault;
use crate::h1::MAX_HEAD;
use bytes::Bytes;

/// The most fields of a list.
const MAX_FIELDS: usize = 1024;

/// Decompresses the header blocks of one direction of a session.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: Table,
    /// The most bytes that a block may let the table have.
    limit: usize,
}

impl Decoder {
    pub(crate) fn new() -> Decoder {
        Decoder::limited(TABLE_BYTES)
    }

    /// One that has let the other end make the table as large as `limit` bytes. The table has its usual size
    /// until a block says otherwise (RFC 7541, section 4.2).
    pub(crate) fn limited(limit: usize) -> Decoder {
        Decoder { table: Table::new(TABLE_BYTES), limit }
    }

    /// The fields of a block, in order.
    pub(crate) fn decode(&mut self, block: &[u8]) -> Result<Vec<TableField>, PeerFault> {
        let mut input = block;
        let (mut fields, mut bytes) = (Vec::new(), 0);
        while let Some(first) = input.first() {
            let form = Form::of(*first);
            let number = integer::decode(&mut input, form.shape().1)?;
            let field = match form {
                Form::TableSize => {
                    // RFC 7541, section 4.2: at the beginning of a block, and within the limit.
                    if !fields.is_empty() || number > self.limit {
                        return Err(PeerFault::Compression);
                    }
                    self.table.resize(number);
                    continue;
                }
                Form::Indexed => self.table.get(number).ok_or(PeerFault::Compression)?,
                Form::Indexing | Form::Plain => {
                    let name = match number {
                        0 => take_string(&mut input)?,
                        _ => self.table.get(number).ok_or(PeerFault::Compression)?.0,
                    };
                    (name, take_string(&mut input)?)
                }
            };
            if form == Form::Indexing {
                self.table.add(field.clone());
            }
            bytes += field.0.len() + field.1.len() + ": \r\n".len();
            fields.push(field);
            if bytes > MAX_HEAD || fields.len() > MAX_FIELDS {
                return Err(PeerFault::HeadTooLarge);
            }
        }
        Ok(fields)
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }
}

/// RFC 7541, section 5.2.
fn take_string(input: &mut &[u8]) -> Result<Bytes, PeerFault> {
    let is_coded = input.first().is_some_and(|first| first & 0x80 != 0);
    let len = integer::decode(input, 7)?;
    let (text, rest) = input.split_at_checked(len).ok_or(PeerFault::Compression)?;
    *input = rest;
    if !is_coded {
        return Ok(Bytes::copy_from_slice(text));
    }
    let mut out = Vec::with_capacity(len * 8 / 5);
    huffman::decode(text, &mut out)?;
    Ok(out.into())
}
