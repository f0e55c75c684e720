//! What the two ends of a connection say to one another.

use super::http1::{Http1, method_of};
use super::tls_records::TlsRecords;
use super::turns::Turns;
use super::{ExchangeKind, SeenExchange};

/// How HTTP/2 begins (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// A control frame of SPDY/2 or 3: SYN_STREAM or SETTINGS.
const SPDY: [[u8; 4]; 4] = [[0x80, 2, 0, 1], [0x80, 3, 0, 1], [0x80, 2, 0, 4], [0x80, 3, 0, 4]];

/// Bytes that one end sent, in order and for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SaidBytes<'a> {
    /// When, in ns since 1970.
    pub(crate) at: u64,
    /// Those that were captured, from the first on.
    pub(crate) captured: &'a [u8],
    /// All of them.
    pub(crate) len: u64,
    /// Bytes before them that the capture has not.
    pub(crate) skipped: u64,
    /// Packets that the server has sent again until now.
    pub(crate) sent_again: u64,
}

/// The exchanges of a connection, found in the way that what is said on it allows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialogue {
    speech: Option<Speech>,
}

#[derive(Clone, Debug)]
enum Speech {
    Http1(Box<Http1>),
    Tls(Box<Encrypted>),
    Turns(ExchangeKind, Box<Turns>),
}

#[derive(Clone, Debug, Default)]
struct Encrypted {
    turns: Turns,
    up: TlsRecords,
    down: TlsRecords,
}

impl Speech {
    fn of(is_up: bool, captured: &[u8]) -> Speech {
        if is_up && captured.starts_with(PREFACE) {
            Speech::Turns(ExchangeKind::H2, Box::default())
        } else if is_up && SPDY.iter().any(|frame| captured.starts_with(frame)) {
            Speech::Turns(ExchangeKind::Spdy, Box::default())
        } else if is_up && method_of(captured).is_some() {
            Speech::Http1(Box::default())
        } else if TlsRecords::is_header(captured) {
            Speech::Tls(Box::default())
        } else {
            Speech::Turns(ExchangeKind::Other, Box::default())
        }
    }
}

impl Dialogue {
    /// The client sent something: exchanges that have ended by that are added to `ended`.
    pub(crate) fn handle_up(&mut self, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) {
        let speech = self.speech.get_or_insert_with(|| Speech::of(true, piece.captured));
        match speech {
            Speech::Http1(http1) => http1.handle_up(piece.at, piece.captured, piece.len, piece.skipped),
            Speech::Tls(encrypted) => {
                let in_handshake = encrypted.down.had_data();
                let data = encrypted.up.handle(piece.captured, piece.len, piece.skipped, in_handshake);
                if data > 0 {
                    ended.extend(turn(&mut encrypted.turns, ExchangeKind::Tls, piece, data));
                }
            }
            Speech::Turns(kind, turns) => ended.extend(turn(turns, *kind, piece, piece.len)),
        }
    }

    /// The server sent something.
    pub(crate) fn handle_down(&mut self, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) {
        let speech = self.speech.get_or_insert_with(|| Speech::of(false, piece.captured));
        match speech {
            Speech::Http1(http1) => {
                let SaidBytes { at, captured, len, skipped, sent_again } = *piece;
                http1.handle_down(at, captured, len, skipped, sent_again, ended);
            }
            Speech::Tls(encrypted) => {
                let data = encrypted.down.handle(piece.captured, piece.len, piece.skipped, false);
                if data > 0 {
                    encrypted.turns.handle_down(piece.at, data, piece.sent_again);
                }
            }
            Speech::Turns(_, turns) => turns.handle_down(piece.at, piece.len, piece.sent_again),
        }
    }

    /// The connection is over.
    pub(crate) fn close(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) {
        match &mut self.speech {
            Some(Speech::Http1(http1)) => http1.close(sent_again, ended),
            Some(Speech::Tls(encrypted)) => ended.extend(last(&mut encrypted.turns, sent_again)),
            Some(Speech::Turns(_, turns)) => ended.extend(last(turns, sent_again)),
            None => {}
        }
    }
}

fn turn(turns: &mut Turns, kind: ExchangeKind, piece: &SaidBytes<'_>, bytes: u64) -> Option<SeenExchange> {
    turns.handle_up(kind, piece.at, bytes).map(|ended| counted(ended, piece.sent_again))
}

fn last(turns: &mut Turns, sent_again: u64) -> Option<SeenExchange> {
    turns.close().map(|ended| counted(ended, sent_again))
}

/// An exchange whose packets that were sent again are counted from its beginning.
fn counted(ended: SeenExchange, sent_again: u64) -> SeenExchange {
    let during = if ended.response_at.is_some() { sent_again - ended.sent_again } else { 0 };
    SeenExchange { sent_again: during, ..ended }
}
