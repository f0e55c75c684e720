//! Exchanges of SPDY and HTTP/2 by their frames, each on its stream.

use super::heads::{self, ExchangeHeads};
use super::http1::method_named;
use super::turns::Turns;
use super::{ExchangeKind, SaidBytes, SeenExchange};
use loadstone_http::Protocol;
use loadstone_http::decode::{Decoder, FrameLine};
use std::collections::BTreeMap;

/// Exchanges under way at most; those beyond are not followed.
const MOST_OPEN: usize = 1000;
/// A header table of HTTP/2 that is larger is taken for damage, in bytes. Browsers ask for 65,536.
const LARGEST_TABLE: u32 = 1 << 20;

/// A frame.
struct SeenFrame {
    /// When its first byte was captured.
    began_at: u64,
    line: FrameLine,
    /// Bytes on the wire.
    bytes: u64,
}

/// Frames cannot be read any more, and so many of the last bytes were not.
pub(crate) struct Unread(pub(crate) u64);

/// The frames of one direction.
#[derive(Debug)]
struct FrameReader {
    decoder: Decoder,
    /// When the frame began that is not complete.
    begun_at: Option<u64>,
    /// Bytes that were said until now.
    said: u64,
}

/// The requests and responses of a connection.
#[derive(Debug)]
pub(crate) struct StreamExchanges {
    kind: ExchangeKind,
    up: FrameReader,
    down: FrameReader,
    /// By stream.
    open: BTreeMap<u32, SeenExchange>,
    /// The client's last stream: each has a higher number than those before.
    last_asked: u32,
    count: u64,
    last_ended_at: Option<u64>,
    tells_heads: bool,
}

impl FrameReader {
    fn new(protocol: Protocol) -> FrameReader {
        let table = (protocol == Protocol::H2).then_some(LARGEST_TABLE);
        let decoder = Decoder::new(protocol, table).expect("a protocol with frames, and a table where it has one");
        FrameReader { decoder, begun_at: None, said: 0 }
    }

    /// The frames that bytes complete, and what could not be read.
    fn handle(&mut self, piece: &SaidBytes<'_>) -> (Vec<SeenFrame>, Option<Unread>) {
        self.said += piece.skipped + piece.len;
        let lacks = piece.len - piece.captured.len() as u64;
        let is_read = (piece.skipped == 0 || self.decoder.handle_missing(piece.skipped))
            && self.decoder.handle_input(piece.captured).is_ok()
            && (lacks == 0 || self.decoder.handle_missing(lacks));
        let mut frames = Vec::new();
        while let Some((line, bytes)) = self.decoder.poll_frame() {
            frames.push(SeenFrame { began_at: self.begun_at.take().unwrap_or(piece.at), line, bytes });
        }
        self.begun_at = self.decoder.is_within_frame().then(|| self.begun_at.unwrap_or(piece.at));
        let unread = (self.said - self.decoder.complete_bytes()).min(piece.len);
        (frames, (!is_read).then_some(Unread(unread)))
    }
}

impl StreamExchanges {
    /// A connection on which nothing was said yet; whether exchanges have their heads.
    pub(crate) fn new(kind: ExchangeKind, protocol: Protocol, tells_heads: bool) -> StreamExchanges {
        StreamExchanges {
            kind,
            up: FrameReader::new(protocol),
            down: FrameReader::new(protocol),
            open: BTreeMap::new(),
            last_asked: 0,
            count: 0,
            last_ended_at: None,
            tells_heads,
        }
    }

    /// By what exchanges are found here.
    pub(crate) fn kind(&self) -> ExchangeKind {
        self.kind
    }

    /// The client sent bytes: those that could not be read. Exchanges that have ended are added to `ended`.
    pub(crate) fn handle_up(&mut self, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) -> Option<Unread> {
        let (frames, unread) = self.up.handle(piece);
        for frame in frames {
            let Some(stream) = frame.line.stream_id else { continue };
            match frame.line.kind {
                "RST_STREAM" => self.end(stream, piece.sent_again, ended),
                "HEADERS" | "SYN_STREAM" | "DATA" => {
                    if frame.line.kind != "DATA" && stream > self.last_asked {
                        self.last_asked = stream;
                        self.begin(stream, &frame);
                    }
                    if let Some(exchange) = self.open.get_mut(&stream) {
                        exchange.extend_request(piece.at, frame.bytes);
                    }
                }
                _ => {}
            }
        }
        unread
    }

    /// The server sent bytes: those that could not be read.
    pub(crate) fn handle_down(&mut self, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) -> Option<Unread> {
        let (frames, unread) = self.down.handle(piece);
        for frame in frames {
            let Some(stream) = frame.line.stream_id else { continue };
            match frame.line.kind {
                "RST_STREAM" => self.end(stream, piece.sent_again, ended),
                "PUSH_PROMISE" => self.push(stream, &frame),
                "SYN_STREAM" | "SYN_REPLY" | "HEADERS" | "DATA" => {
                    if frame.line.kind == "SYN_STREAM" {
                        self.push(stream, &frame);
                    }
                    self.note_response(stream, piece, &frame);
                    if frame.line.ends_stream() {
                        self.end(stream, piece.sent_again, ended);
                    }
                }
                _ => {}
            }
        }
        unread
    }

    fn begin(&mut self, stream: u32, frame: &SeenFrame) {
        self.count += 1;
        if self.open.len() >= MOST_OPEN {
            return;
        }
        let method = frame.line.header(":method").or_else(|| frame.line.header("method"));
        let request = self.tells_heads.then(|| heads::of_frame(&frame.line));
        let exchange = SeenExchange {
            heads: request.map(|request| {
                Box::new(ExchangeHeads { request, request_head_bytes: frame.bytes, ..ExchangeHeads::default() })
            }),
            method: method.and_then(method_named),
            overlaps: !self.open.is_empty(),
            before_ended_at: self.last_ended_at.filter(|_| self.open.is_empty()),
            ..SeenExchange::new(self.kind, self.count, frame.began_at)
        };
        self.open.insert(stream, exchange);
    }

    /// The server begins a response that nobody has asked for.
    fn push(&mut self, stream: u32, frame: &SeenFrame) {
        if stream.is_multiple_of(2) && !self.open.contains_key(&stream) {
            self.begin(stream, frame);
            if let Some(exchange) = self.open.get_mut(&stream) {
                exchange.pushed = true;
            }
        }
    }

    fn note_response(&mut self, stream: u32, piece: &SaidBytes<'_>, frame: &SeenFrame) {
        let Some(exchange) = self.open.get_mut(&stream) else { return };
        let SeenFrame { began_at, ref line, bytes } = *frame;
        let status = line.header(":status").or_else(|| line.header("status")).and_then(status_of);
        if status.is_some_and(|status| (100..200).contains(&status)) {
            return;
        }
        exchange.status = exchange.status.or(status);
        if let Some(heads) = exchange.heads.as_mut().filter(|heads| status.is_some() && heads.response.is_empty()) {
            (heads.response, heads.response_head_bytes) = (heads::of_frame(line), bytes);
        }
        if exchange.response_at.is_none() {
            exchange.extend_response(began_at, 0, piece.sent_again);
        }
        exchange.extend_response(piece.at, bytes, piece.sent_again);
        if line.kind == "DATA" {
            exchange.body_bytes = Some(exchange.body_bytes.unwrap_or(0) + u64::from(line.length.unwrap_or(0)));
        } else if line.ends_stream() {
            exchange.body_bytes = exchange.body_bytes.or(Some(0));
        }
    }

    fn end(&mut self, stream: u32, sent_again: u64, ended: &mut Vec<SeenExchange>) {
        let Some(exchange) = self.open.remove(&stream) else { return };
        self.last_ended_at = exchange.response_end_at.or(self.last_ended_at);
        ended.push(exchange.counted(sent_again));
    }

    /// The connection is over: all exchanges are.
    pub(crate) fn close(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) {
        while let Some(stream) = self.open.keys().next().copied() {
            self.end(stream, sent_again, ended);
        }
    }

    /// Frames cannot be read any more: goes on by who sends.
    pub(crate) fn give_up(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) -> Turns {
        self.close(sent_again, ended);
        self.turns()
    }

    /// What comes after these exchanges, by who sends.
    pub(crate) fn turns(&self) -> Turns {
        Turns::after(self.count, self.last_ended_at)
    }
}

/// A status such as `200` or, in SPDY, `200 OK`.
fn status_of(text: &str) -> Option<u16> {
    text.get(..3)?.parse().ok()
}
