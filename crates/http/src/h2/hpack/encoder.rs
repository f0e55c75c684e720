//! Compressing header lists.

use super::huffman;
use super::integer;
use super::table::{Match, Table};
use super::{Form, TABLE_BYTES};
use bytes::Bytes;

/// Fields whose values hardly ever come again, so that they would only drive others out of the
/// table. The same choice as nghttp2's, which most servers run.
const FLEETING: [&[u8]; 8] =
    [b":path", b"age", b"content-length", b"etag", b"if-modified-since", b"if-none-match", b"location", b"set-cookie"];

/// Compresses the header lists of one direction of a session.
#[derive(Debug)]
pub(crate) struct Encoder {
    table: Table,
    /// The smallest size since the last block, if it changed: the next block begins with it, and
    /// then with the size as it is (RFC 7541, section 4.2).
    smallest: Option<usize>,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder { table: Table::new(TABLE_BYTES), smallest: None }
    }

    /// The peer lets the table have this many bytes (SETTINGS_HEADER_TABLE_SIZE). More than the
    /// usual size is not made use of.
    pub(crate) fn set_limit(&mut self, bytes: u32) {
        let bytes = TABLE_BYTES.min(bytes as usize);
        self.table.resize(bytes);
        self.smallest = Some(self.smallest.map_or(bytes, |smallest| smallest.min(bytes)));
    }

    /// Begins a header block.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(smallest) = self.smallest.take() {
            put_number(Form::TableSize, smallest, out);
            if smallest < self.table.max_bytes() {
                put_number(Form::TableSize, self.table.max_bytes(), out);
            }
        }
    }

    /// Appends a field to the block.
    pub(crate) fn encode(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let form = if FLEETING.contains(&name) { Form::Plain } else { Form::Indexing };
        match self.table.find(name, value) {
            Some((index, Match::Field)) => return put_number(Form::Indexed, index, out),
            Some((index, Match::Name)) => put_number(form, index, out),
            None => {
                put_number(form, 0, out);
                put_string(name, out);
            }
        }
        put_string(value, out);
        if form == Form::Indexing {
            self.table.add((Bytes::copy_from_slice(name), Bytes::copy_from_slice(value)));
        }
    }
}

fn put_number(form: Form, number: usize, out: &mut Vec<u8>) {
    let (first, bits) = form.shape();
    integer::encode(number, first, bits, out);
}

/// RFC 7541, section 5.2: Huffman-coded where that is shorter.
fn put_string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::encode(coded, 0x80, 7, out);
        huffman::encode(text, out);
    } else {
        integer::encode(text.len(), 0, 7, out);
        out.extend_from_slice(text);
    }
}
