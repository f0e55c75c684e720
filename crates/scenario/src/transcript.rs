//! What one end of a connection wrote, as the bytes of its segments.

use loadstone_http::Chunk;
use loadstone_net::tls::Tls;
use std::ops::Range;

/// The types of TLS's records (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// Bytes before what a record carries.
const HEADER: u64 = 5;
/// What a record carries at most; the flights of a handshake stand in as few as there have to be.
const LONGEST: u64 = 1 << 14;

/// What an end wrote on TCP's stream, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transcript {
    writes: Vec<TranscriptWrite>,
    /// The number after all that was written.
    end: u64,
}

/// Content that was written at once.
#[derive(Clone, PartialEq, Eq, Debug)]
struct TranscriptWrite {
    /// The sequence number of its first byte, or of the record in which it begins.
    number: u64,
    content: Vec<Chunk>,
}

impl TranscriptWrite {
    /// The number after its last byte.
    fn end(&self, tls: Tls) -> u64 {
        self.number + tls.records(self.len()).map(|content| content + tls.overhead()).sum::<u64>()
    }

    fn len(&self) -> u64 {
        self.content.iter().map(Chunk::len).sum()
    }
}

impl Transcript {
    /// Content is written: its first byte has this sequence number, or the record in which it begins.
    pub fn note(&mut self, number: u64, content: Vec<Chunk>) {
        self.writes.push(TranscriptWrite { number, content });
    }

    /// Nothing is written any more; the sequence number of what would be written next.
    pub fn close(&mut self, number: u64) {
        self.end = number;
    }

    /// The bytes with these numbers, as far as they are known; all others are zeros. Bodies are counted and not carried, and
    /// nothing is encrypted: of TLS only the headers of records are known. What was not written as content are the flights of
    /// the handshake.
    pub(crate) fn bytes(&self, tls: Tls, numbers: Range<u64>) -> Vec<u8> {
        let mut known = NumberedBytes { from: numbers.start, bytes: vec![0; (numbers.end - numbers.start) as usize] };
        let first = self.writes.partition_point(|write| write.number <= numbers.start).saturating_sub(1);
        let mut after = first.checked_sub(1).map_or(1, |before| self.writes[before].end(tls));
        for write in &self.writes[first..] {
            known.put_handshake(tls, after..write.number);
            if write.number >= numbers.end {
                return known.bytes;
            }
            known.put_content(tls, write);
            after = write.end(tls);
        }
        known.put_handshake(tls, after..self.end);
        known.bytes
    }
}

/// Bytes from a sequence number on.
struct NumberedBytes {
    from: u64,
    bytes: Vec<u8>,
}

impl NumberedBytes {
    /// Puts a text at a number, as far as it is within.
    fn put(&mut self, number: u64, text: &[u8]) {
        let skipped = self.from.saturating_sub(number).min(text.len() as u64) as usize;
        let at = number.saturating_sub(self.from).min(self.bytes.len() as u64) as usize;
        for (byte, own) in self.bytes[at..].iter_mut().zip(&text[skipped..]) {
            *byte = *own;
        }
    }

    fn put_header(&mut self, number: u64, tls: Tls, kind: u8, len: u64) {
        // The version of a record is 1.2 at most (RFC 8446, section 5.1).
        let minor = if tls == Tls::V1_0 { 1 } else { 3 };
        self.put(number, &[&[kind, 3, minor][..], &(len as u16).to_be_bytes()].concat());
    }

    /// Flights, in as few records as there have to be.
    fn put_handshake(&mut self, tls: Tls, numbers: Range<u64>) {
        let mut number = numbers.start;
        while number + HEADER < numbers.end {
            let len = (numbers.end - number - HEADER).min(LONGEST);
            self.put_header(number, tls, HANDSHAKE, len);
            number += HEADER + len;
        }
    }

    fn put_content(&mut self, tls: Tls, write: &TranscriptWrite) {
        let mut number = write.number;
        if tls == Tls::None {
            for chunk in &write.content {
                if let Chunk::Bytes(text) = chunk {
                    self.put(number, text);
                }
                number += chunk.len();
            }
            return;
        }
        for content in tls.records(write.len()) {
            let len = content + tls.overhead();
            self.put_header(number, tls, APPLICATION_DATA, len - HEADER);
            number += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::BodyId;

    fn head(text: &'static str) -> Chunk {
        Chunk::Bytes(text.as_bytes().into())
    }

    fn body(len: u64) -> Chunk {
        Chunk::Run { body: BodyId(1), offset: 0, len }
    }

    #[test]
    fn heads_stand_where_they_were_written_and_bodies_are_zeros() {
        let mut said = Transcript::default();
        said.note(1, vec![head("GET /1"), head("\r\n")]);
        said.note(9, vec![head("PUT"), body(3), head("end")]);
        said.close(18);
        assert_eq!(said.bytes(Tls::None, 1..18), b"GET /1\r\nPUT\0\0\0end");
        for (from, to) in [(1, 4), (3, 12), (8, 9), (9, 9), (16, 18)] {
            let whole = said.bytes(Tls::None, 1..18);
            assert_eq!(said.bytes(Tls::None, from..to), whole[from as usize - 1..to as usize - 1], "{from} to {to}");
        }
    }

    #[test]
    fn under_tls_there_are_records_of_the_handshake_and_of_content() {
        let mut said = Transcript::default();
        // A flight of 100 bytes, content of 20,000 bytes in two records, a flight of 30.
        said.note(101, vec![head("HTTP/1.1 200 OK"), body(19_985)]);
        let end = 101 + 20_000 + 2 * 22;
        said.close(end + 30);
        let all = said.bytes(Tls::V1_3, 1..end + 30);
        assert_eq!(all[..5], [22, 3, 3, 0, 95]);
        assert_eq!(all[100..105], [23, 3, 3, 0x40, 17]);
        let second = 100 + 16_384 + 22;
        assert_eq!(all[second..second + 5], [23, 3, 3, 14, 49]);
        assert_eq!(all[end as usize - 1..][..5], [22, 3, 3, 0, 25]);
        assert_eq!(all.iter().filter(|byte| **byte != 0).count(), 4 + 5 + 5 + 4, "nothing else is known");
        for from in [1, 50, 102, 104, 5_000, 16_500, end - 1] {
            let part = said.bytes(Tls::V1_3, from..from + 30);
            assert_eq!(part, all[from as usize - 1..][..30], "from {from}");
        }
    }
}
