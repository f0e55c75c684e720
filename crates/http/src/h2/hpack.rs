//! HPACK, the header compression of HTTP/2 (RFC 7541).
//!
//! Written here because no maintained library does what is needed: of those published, one cannot
//! Huffman-encode and the others have not been touched for years. Tested against the RFC's own
//! examples (appendix C).

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;
mod tables;

pub(crate) use decoder::Decoder;
pub(crate) use encoder::Encoder;

/// Bytes of a dynamic table unless SETTINGS say otherwise (RFC 9113, section 6.5.2).
pub(super) const TABLE_BYTES: usize = 4096;

/// How a field is represented (RFC 7541, section 6): the bits that begin it, and how many bits of
/// the first byte its number has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Indexed,
    /// A literal that enters the dynamic table.
    Indexing,
    /// A literal that does not.
    Plain,
    TableSize,
}

impl Form {
    /// First bits, and bits of the number.
    const fn shape(self) -> (u8, u8) {
        match self {
            Form::Indexed => (0b1000_0000, 7),
            Form::Indexing => (0b0100_0000, 6),
            Form::TableSize => (0b0010_0000, 5),
            Form::Plain => (0b0000_0000, 4),
        }
    }

    /// The form that a first byte begins. A literal that is never to be indexed (section 6.2.3) is
    /// for intermediaries to heed; here it is as good as one that is not indexed.
    const fn of(first: u8) -> Form {
        match first {
            0b1000_0000.. => Form::Indexed,
            0b0100_0000.. => Form::Indexing,
            0b0010_0000.. => Form::TableSize,
            _ => Form::Plain,
        }
    }
}

#[cfg(test)]
mod tests;
