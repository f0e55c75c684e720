//! Frames written and read by hand, with as little of ours as can be: what a peer might send, and what
//! we said to it.

use crate::Protocol;
use flate2::{Compress, Compression, FlushCompress};

/// Names and values of a header block.
pub(super) type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Writes one direction of a connection.
pub(super) struct FrameWriter {
    pub(super) protocol: Protocol,
    zlib: Compress,
}

impl FrameWriter {
    pub(super) fn new(protocol: Protocol) -> FrameWriter {
        let mut zlib = Compress::new(Compression::fast(), true);
        let dictionary = if protocol == Protocol::Spdy2 { "two" } else { "three" };
        zlib.set_dictionary(crate::spdy::dictionary(dictionary)).unwrap();
        FrameWriter { protocol, zlib }
    }

    fn is_h2(&self) -> bool {
        self.protocol == Protocol::H2
    }

    fn is_2(&self) -> bool {
        self.protocol == Protocol::Spdy2
    }

    /// A control frame of SPDY.
    pub(super) fn spdy(&self, kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let version = if self.is_2() { 2 } else { 3 };
        let len = (payload.len() as u32).to_be_bytes();
        [&[0x80, version, 0, kind, flags, len[1], len[2], len[3]], payload].concat()
    }

    /// A frame of HTTP/2.
    pub(super) fn h2(&self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let len = (payload.len() as u32).to_be_bytes();
        [&[len[1], len[2], len[3], kind, flags], &stream.to_be_bytes()[..], payload].concat()
    }

    /// A header block, compressed. HTTP/2's are literals without Huffman coding or table (RFC 7541,
    /// section 6.2.2).
    fn block(&mut self, pairs: Pairs) -> Vec<u8> {
        let mut text = Vec::new();
        if self.is_h2() {
            for (name, value) in pairs {
                text.push(0);
                for part in [name, value] {
                    assert!(part.len() < 127);
                    text.push(part.len() as u8);
                    text.extend_from_slice(part.as_bytes());
                }
            }
            return text;
        }
        let width = if self.is_2() { 2 } else { 4 };
        let put =
            |text: &mut Vec<u8>, number: usize| text.extend_from_slice(&(number as u32).to_be_bytes()[4 - width..]);
        put(&mut text, pairs.len());
        for (name, value) in pairs {
            for part in [name, value] {
                put(&mut text, part.len());
                text.extend_from_slice(part.as_bytes());
            }
        }
        let mut out = Vec::with_capacity(text.len() + 1000);
        self.zlib.compress_vec(&text, &mut out, FlushCompress::Sync).unwrap();
        out
    }

    /// A request with these pairs, FIN or not.
    pub(super) fn open(&mut self, stream: u32, pairs: Pairs, end: bool) -> Vec<u8> {
        let block = self.block(pairs);
        match self.is_h2() {
            true => self.h2(1, 4 | u8::from(end), stream, &block),
            false => {
                let fixed = [&stream.to_be_bytes()[..], &[0; 6]].concat();
                self.spdy(1, u8::from(end), &[fixed, block].concat())
            }
        }
    }

    /// A response, or further fields in SPDY's HEADERS.
    fn on(&mut self, kind: u8, stream: u32, pairs: Pairs, end: bool) -> Vec<u8> {
        let block = self.block(pairs);
        match self.is_h2() {
            true => self.h2(1, 4 | u8::from(end), stream, &block),
            false => {
                let unused = if self.is_2() { &[0; 2][..] } else { &[] };
                self.spdy(kind, u8::from(end), &[&stream.to_be_bytes(), unused, &block].concat())
            }
        }
    }

    pub(super) fn reply(&mut self, stream: u32, pairs: Pairs, end: bool) -> Vec<u8> {
        self.on(2, stream, pairs, end)
    }

    pub(super) fn fields(&mut self, stream: u32, pairs: Pairs, end: bool) -> Vec<u8> {
        self.on(8, stream, pairs, end)
    }

    /// The pairs of a GET, and more.
    pub(super) fn get<'a>(&self, more: Pairs<'a>) -> Vec<(&'a str, &'a str)> {
        let line: &[(&str, &str)] = match self.protocol {
            Protocol::H2 => &[(":method", "GET"), (":path", "/"), (":scheme", "http"), (":authority", "a")],
            Protocol::Spdy2 => {
                &[("method", "GET"), ("url", "/"), ("version", "HTTP/1.1"), ("host", "a"), ("scheme", "http")]
            }
            _ => &[(":method", "GET"), (":path", "/"), (":version", "HTTP/1.1"), (":host", "a"), (":scheme", "http")],
        };
        [line, more].concat()
    }

    /// The pairs of a response with status 200, and more.
    pub(super) fn ok<'a>(&self, more: Pairs<'a>) -> Vec<(&'a str, &'a str)> {
        let line: &[(&str, &str)] = match self.protocol {
            Protocol::H2 => &[(":status", "200")],
            Protocol::Spdy2 => &[("status", "200"), ("version", "HTTP/1.1")],
            _ => &[(":status", "200"), (":version", "HTTP/1.1")],
        };
        [line, more].concat()
    }

    pub(super) fn data(&self, stream: u32, len: usize, end: bool) -> Vec<u8> {
        let payload = vec![b'x'; len];
        if self.is_h2() {
            return self.h2(0, u8::from(end), stream, &payload);
        }
        let size = (len as u32).to_be_bytes();
        [&stream.to_be_bytes()[..], &[u8::from(end), size[1], size[2], size[3]], &payload].concat()
    }

    pub(super) fn reset(&self, stream: u32, status: u32) -> Vec<u8> {
        match self.is_h2() {
            true => self.h2(3, 0, stream, &status.to_be_bytes()),
            false => self.spdy(3, 0, &[stream.to_be_bytes(), status.to_be_bytes()].concat()),
        }
    }

    pub(super) fn window(&self, stream: u32, delta: u32) -> Vec<u8> {
        match self.is_h2() {
            true => self.h2(8, 0, stream, &delta.to_be_bytes()),
            false => self.spdy(9, 0, &[stream.to_be_bytes(), delta.to_be_bytes()].concat()),
        }
    }

    /// A push: SPDY's SYN_STREAM with the flag UNIDIRECTIONAL, HTTP/2's PUSH_PROMISE.
    pub(super) fn push(&mut self, stream: u32, associated: u32) -> Vec<u8> {
        let pairs = self.get(&[("x", "pushed")]);
        self.push_of(stream, associated, &pairs, 2)
    }

    /// A push with these pairs and, in SPDY, these flags.
    pub(super) fn push_of(&mut self, stream: u32, associated: u32, pairs: Pairs, flags: u8) -> Vec<u8> {
        let block = self.block(pairs);
        match self.is_h2() {
            true => self.h2(5, 4, associated, &[&stream.to_be_bytes()[..], &block].concat()),
            false => {
                let fixed = [&stream.to_be_bytes()[..], &associated.to_be_bytes(), &[0; 2]].concat();
                self.spdy(1, flags, &[fixed, block].concat())
            }
        }
    }

    /// The pairs of a push of `path`, associated with a request to `host`: in SPDY with the head of the
    /// answer, if that is wanted.
    pub(super) fn pushed<'a>(
        &self,
        host: &'a str,
        url: &'a str,
        path: &'a str,
        answer: bool,
    ) -> Vec<(&'a str, &'a str)> {
        let (line, status): (Vec<(&str, &str)>, _) = match self.protocol {
            Protocol::H2 => {
                return vec![(":method", "GET"), (":path", path), (":scheme", "https"), (":authority", host)];
            }
            Protocol::Spdy2 => (vec![("url", url)], [("status", "200"), ("version", "HTTP/1.1")]),
            _ => {
                let line = vec![(":path", path), (":scheme", "https"), (":host", host)];
                (line, [(":status", "200"), (":version", "HTTP/1.1")])
            }
        };
        if answer { [line, status.to_vec()].concat() } else { line }
    }
}

/// What a session says to a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentFrame {
    /// RST_STREAM of this stream with this status.
    Reset(u32, u32),
    /// GOAWAY with this last stream and status; SPDY/2's has none.
    GoAway(u32, Option<u32>),
    /// The head of a response on this stream, which ends it.
    Reply(u32),
}

/// The frames of these kinds among what was sent; of DATA none has to be there.
pub(super) fn sent_frames(protocol: Protocol, mut text: &[u8]) -> Vec<SentFrame> {
    let long = |text: &[u8], at: usize| u32::from_be_bytes(text[at..at + 4].try_into().unwrap());
    let mut all = Vec::new();
    while !text.is_empty() {
        let (kind, end, len, at) = match protocol {
            Protocol::H2 => (text[3], text[4] & 1 == 1, long(text, 0) >> 8, 9),
            _ => (text[3], text[4] & 1 == 1, long(text, 4) & 0xff_ffff, 8),
        };
        let (frame, rest) = text.split_at(at + len as usize);
        text = rest;
        let payload = &frame[at..];
        match (protocol, kind) {
            (Protocol::H2, 3) => all.push(SentFrame::Reset(long(frame, 5), long(payload, 0))),
            (Protocol::H2, 7) => all.push(SentFrame::GoAway(long(payload, 0), Some(long(payload, 4)))),
            (Protocol::H2, 1) if end => all.push(SentFrame::Reply(long(frame, 5))),
            (Protocol::H2, _) => {}
            (_, 3) => all.push(SentFrame::Reset(long(payload, 0), long(payload, 4))),
            (Protocol::Spdy2, 7) => {
                assert_eq!(len, 4);
                all.push(SentFrame::GoAway(long(payload, 0), None));
            }
            (_, 7) => all.push(SentFrame::GoAway(long(payload, 0), Some(long(payload, 4)))),
            (_, 2) if end => all.push(SentFrame::Reply(long(payload, 0))),
            _ => {}
        }
    }
    all
}
