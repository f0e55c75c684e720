//! What the two ends of a connection say to one another.

use super::client_hello::{Hello, HelloReader};
use super::decryption::Decryption;
use super::http1::{Http1, method_of};
use super::key_log::KeyLog;
use super::streams::{StreamExchanges, Unread};
use super::tls_records::TlsRecords;
use super::turns::Turns;
use super::{ExchangeKind, SeenExchange};
use loadstone_http::Protocol;

/// How a client begins with HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

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
#[derive(Debug, Default)]
pub(crate) struct Dialogue {
    speech: Option<Speech>,
    /// Exchanges have their heads.
    tells_heads: bool,
    /// The hello of TLS, while it comes.
    hello: Option<Box<HelloReader>>,
    /// The name of the server, if TLS was asked for it.
    server_name: Option<Box<str>>,
}

#[derive(Debug)]
enum Speech {
    Http1(Box<Http1>),
    Streams(Box<StreamExchanges>),
    Tls(Box<Encrypted>),
    Decrypted(Box<Decrypted>),
    Turns(ExchangeKind, Box<Turns>),
}

#[derive(Clone, Debug, Default)]
struct Encrypted {
    turns: Turns,
    up: TlsRecords,
    down: TlsRecords,
}

impl Encrypted {
    /// What comes after exchanges that were found in another way.
    fn after(turns: Turns) -> Encrypted {
        Encrypted { turns, up: TlsRecords::lost(), down: TlsRecords::lost() }
    }
}

/// TLS whose secrets are known.
#[derive(Debug)]
struct Decrypted {
    decryption: Decryption,
    within: Dialogue,
}

impl Decrypted {
    /// Hands on what is said under TLS: whether it could be decrypted.
    fn handle(&mut self, is_up: bool, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) -> bool {
        let Ok(content) = self.decryption.handle(is_up, piece) else { return false };
        if !content.is_empty() {
            let within = SaidBytes { captured: &content, len: content.len() as u64, ..*piece };
            // TLS within TLS is not decrypted: a file with secrets could nest it as deep as it likes.
            self.act_within(ended, |dialogue, ended| dialogue.handle(is_up, &within, &KeyLog::default(), ended));
        }
        true
    }

    /// What ends by something that is said within went through TLS.
    fn act_within<T>(
        &mut self,
        ended: &mut Vec<SeenExchange>,
        act: impl FnOnce(&mut Dialogue, &mut Vec<SeenExchange>) -> T,
    ) -> T {
        let before = ended.len();
        let acted = act(&mut self.within, ended);
        ended[before..].iter_mut().for_each(|exchange| exchange.encrypted = true);
        acted
    }
}

impl Speech {
    fn of(is_up: bool, captured: &[u8], keys: &KeyLog, tells_heads: bool) -> Speech {
        if (is_up && captured.starts_with(PREFACE)) || (!is_up && is_settings(captured)) {
            Speech::Streams(Box::new(StreamExchanges::new(ExchangeKind::H2, Protocol::H2, tells_heads)))
        } else if let Some(version) = spdy_version(captured) {
            Speech::Streams(Box::new(StreamExchanges::new(ExchangeKind::Spdy, version, tells_heads)))
        } else if is_up && method_of(captured).is_some() {
            Speech::Http1(Box::new(Http1::new(tells_heads)))
        } else if let Some(decryption) = Decryption::of(captured, keys).filter(|_| is_up) {
            Speech::Decrypted(Box::new(Decrypted { decryption, within: Dialogue::new(tells_heads) }))
        } else if TlsRecords::is_header(captured) {
            Speech::Tls(Box::default())
        } else {
            Speech::Turns(ExchangeKind::Other, Box::default())
        }
    }
}

/// Whether bytes begin with HTTP/2's SETTINGS, as servers do (RFC 9113, section 6.5).
fn is_settings(bytes: &[u8]) -> bool {
    let Some([0, 0, len, 4, 0, 0, 0, 0, 0]) = bytes.first_chunk::<9>() else { return false };
    len % 6 == 0
}

/// The version of SPDY whose SYN_STREAM or SETTINGS bytes begin with; SPDY/3.1 looks like SPDY/3.
fn spdy_version(bytes: &[u8]) -> Option<Protocol> {
    match bytes.first_chunk::<4>()? {
        [0x80, 2, 0, 1 | 4] => Some(Protocol::Spdy2),
        [0x80, 3, 0, 1 | 4] => Some(Protocol::Spdy31),
        _ => None,
    }
}

impl Dialogue {
    /// One of which nothing was said yet.
    pub(crate) fn new(tells_heads: bool) -> Dialogue {
        Dialogue { tells_heads, ..Dialogue::default() }
    }

    /// The client or the server sent something: exchanges that have ended by that are added to `ended`.
    pub(crate) fn handle(&mut self, is_up: bool, piece: &SaidBytes<'_>, keys: &KeyLog, ended: &mut Vec<SeenExchange>) {
        if self.speech.is_none() {
            let speech = Speech::of(is_up, piece.captured, keys, self.tells_heads);
            self.hello = (is_up && matches!(speech, Speech::Tls(_) | Speech::Decrypted(_))).then(Box::default);
            self.speech = Some(speech);
        }
        if is_up {
            self.note_hello(piece);
        }
        let Some(speech) = &mut self.speech else { return };
        if let Speech::Decrypted(decrypted) = speech {
            if !decrypted.handle(is_up, piece, ended) {
                let turns = decrypted.act_within(ended, |dialogue, ended| dialogue.give_up(piece.sent_again, ended));
                self.speech = Some(Speech::Tls(Box::new(Encrypted::after(turns))));
            }
        } else if is_up {
            self.handle_up(piece, ended);
        } else {
            self.handle_down(piece, ended);
        }
    }

    fn note_hello(&mut self, piece: &SaidBytes<'_>) {
        let Some(reader) = &mut self.hello else { return };
        let is_cut = piece.skipped > 0 || (piece.captured.len() as u64) < piece.len;
        if let Hello::Read(name) = reader.handle(piece.captured, is_cut) {
            (self.hello, self.server_name) = (None, name);
        }
    }

    /// The name of the server that TLS was asked for.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    fn handle_up(&mut self, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) {
        let Some(speech) = &mut self.speech else { return };
        match speech {
            Speech::Decrypted(_) => {}
            Speech::Http1(http1) => http1.handle_up(piece.at, piece.captured, piece.len, piece.skipped),
            Speech::Streams(streams) => {
                if let Some(Unread(bytes)) = streams.handle_up(piece, ended) {
                    let mut turns = streams.give_up(piece.sent_again, ended);
                    turns.handle_up(streams.kind(), piece.at, bytes);
                    self.speech = Some(Speech::Turns(streams.kind(), Box::new(turns)));
                }
            }
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

    fn handle_down(&mut self, piece: &SaidBytes<'_>, ended: &mut Vec<SeenExchange>) {
        let Some(speech) = &mut self.speech else { return };
        match speech {
            Speech::Decrypted(_) => {}
            Speech::Http1(http1) => {
                let SaidBytes { at, captured, len, skipped, sent_again } = *piece;
                http1.handle_down(at, captured, len, skipped, sent_again, ended);
            }
            Speech::Streams(streams) => {
                if streams.handle_down(piece, ended).is_some() {
                    let turns = streams.give_up(piece.sent_again, ended);
                    self.speech = Some(Speech::Turns(streams.kind(), Box::new(turns)));
                }
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

    /// What is said cannot be read any more: goes on by who sends.
    fn give_up(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) -> Turns {
        self.close(sent_again, ended);
        match &mut self.speech {
            Some(Speech::Http1(http1)) => http1.turns(),
            Some(Speech::Streams(streams)) => streams.turns(),
            Some(Speech::Turns(_, turns)) => std::mem::take(turns),
            Some(Speech::Tls(_) | Speech::Decrypted(_)) | None => Turns::default(),
        }
    }

    /// The connection is over.
    pub(crate) fn close(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) {
        match &mut self.speech {
            Some(Speech::Http1(http1)) => http1.close(sent_again, ended),
            Some(Speech::Streams(streams)) => streams.close(sent_again, ended),
            Some(Speech::Decrypted(decrypted)) => {
                decrypted.act_within(ended, |dialogue, ended| dialogue.close(sent_again, ended));
            }
            Some(Speech::Tls(encrypted)) => ended.extend(last(&mut encrypted.turns, sent_again)),
            Some(Speech::Turns(_, turns)) => ended.extend(last(turns, sent_again)),
            None => {}
        }
    }
}

fn turn(turns: &mut Turns, kind: ExchangeKind, piece: &SaidBytes<'_>, bytes: u64) -> Option<SeenExchange> {
    turns.handle_up(kind, piece.at, bytes).map(|ended| ended.counted(piece.sent_again))
}

fn last(turns: &mut Turns, sent_again: u64) -> Option<SeenExchange> {
    turns.close().map(|ended| ended.counted(sent_again))
}
