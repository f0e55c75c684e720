//! The content of a TLS connection whose secrets are known (RFC 8446, RFC 5246).

use super::SaidBytes;
use super::key_log::{ClientRandom, KeyLog, TlsSecrets};
use super::record_opener::{CipherSuite, RecordOpener};

const HEADER: usize = 5;
const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// The types of a handshake's messages that matter here (RFC 8446, section 4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const KEY_UPDATE: u8 = 24;
/// Where a hello has its random bytes, behind the type, the length and the version of the message.
const RANDOM: usize = 6;
/// Bytes of a handshake that cannot be opened at most. Certificates take a few thousand.
const LONGEST_HANDSHAKE: usize = 1 << 17;

/// The records cannot be read any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Undecrypted;

/// Decrypts both directions of a connection.
pub(crate) struct Decryption {
    client_random: ClientRandom,
    secrets: TlsSecrets,
    up: TlsDirection,
    down: TlsDirection,
}

/// What one end sends.
#[derive(Default)]
struct TlsDirection {
    /// The beginning of the next record.
    begun: Vec<u8>,
    opener: Option<RecordOpener>,
    /// Records are protected from here on.
    is_protected: bool,
    /// The opener has opened a record.
    has_opened: bool,
    /// Bytes of records that it has not.
    unopened: usize,
}

impl std::fmt::Debug for Decryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decryption")
    }
}

impl Decryption {
    /// That of a connection whose client says this first, if its secrets are known.
    pub(crate) fn of(first: &[u8], keys: &KeyLog) -> Option<Decryption> {
        let hello = first.get(HEADER..).filter(|_| first[0] == HANDSHAKE)?;
        let random = random_of(hello, CLIENT_HELLO)?;
        let secrets = keys.secrets(&random)?.clone();
        Some(Decryption { client_random: random, secrets, up: TlsDirection::default(), down: TlsDirection::default() })
    }

    /// The content that the records in these bytes complete.
    pub(crate) fn handle(&mut self, is_up: bool, piece: &SaidBytes<'_>) -> Result<Vec<u8>, Undecrypted> {
        if piece.skipped > 0 || piece.captured.len() as u64 != piece.len {
            return Err(Undecrypted);
        }
        let mut begun = std::mem::take(&mut self.direction(is_up).begun);
        begun.extend_from_slice(piece.captured);
        let (mut at, mut content) = (0, Vec::new());
        while let Some(header) = begun[at..].first_chunk::<HEADER>().copied() {
            let end = at + HEADER + usize::from(u16::from_be_bytes([header[3], header[4]]));
            let Some(payload) = begun.get(at + HEADER..end) else { break };
            self.handle_record(is_up, header, payload, &mut content)?;
            at = end;
        }
        begun.drain(..at);
        self.direction(is_up).begun = begun;
        Ok(content)
    }

    fn direction(&mut self, is_up: bool) -> &mut TlsDirection {
        if is_up { &mut self.up } else { &mut self.down }
    }

    fn handle_record(
        &mut self,
        is_up: bool,
        header: [u8; HEADER],
        payload: &[u8],
        content: &mut Vec<u8>,
    ) -> Result<(), Undecrypted> {
        let direction = self.direction(is_up);
        match header[0] {
            // TLS 1.3 sends it for the sake of others (RFC 8446, appendix D.4).
            CHANGE_CIPHER_SPEC => direction.is_protected = true,
            HANDSHAKE if !direction.is_protected && !is_up => {
                if let Some(random) = random_of(payload, SERVER_HELLO) {
                    self.agree(&random, payload).ok_or(Undecrypted)?;
                }
            }
            kind if direction.is_protected || kind == APPLICATION_DATA => direction.open(header, payload, content)?,
            _ => {}
        }
        Ok(())
    }

    /// The server has chosen: how records are protected from the end of the handshake on.
    fn agree(&mut self, server_random: &[u8], hello: &[u8]) -> Option<()> {
        let session = RANDOM + server_random.len();
        let chosen = session + 1 + usize::from(*hello.get(session)?);
        let suite = CipherSuite::numbered(u16::from_be_bytes([*hello.get(chosen)?, *hello.get(chosen + 1)?]))?;
        let [up, down] = if suite.is_1_3 {
            [RecordOpener::of_1_3(suite, &self.secrets.client)?, RecordOpener::of_1_3(suite, &self.secrets.server)?]
        } else {
            RecordOpener::of_1_2(suite, &self.secrets.master, &self.client_random, server_random)?
        };
        (self.up.opener, self.down.opener) = (Some(up), Some(down));
        Some(())
    }
}

impl TlsDirection {
    fn open(&mut self, header: [u8; HEADER], payload: &[u8], content: &mut Vec<u8>) -> Result<(), Undecrypted> {
        let opener = self.opener.as_mut().ok_or(Undecrypted)?;
        let Some(opened) = opener.open(header, payload) else {
            // In TLS 1.3, the handshake has other keys.
            self.unopened += payload.len();
            let is_handshake = opener.is_1_3() && !self.has_opened && self.unopened <= LONGEST_HANDSHAKE;
            return if is_handshake { Ok(()) } else { Err(Undecrypted) };
        };
        self.has_opened = true;
        match opened.kind {
            APPLICATION_DATA => content.extend(opened.content),
            HANDSHAKE if opened.content.first() == Some(&KEY_UPDATE) => opener.update().ok_or(Undecrypted)?,
            _ => {}
        }
        Ok(())
    }
}

/// The random bytes of a hello.
fn random_of(message: &[u8], kind: u8) -> Option<ClientRandom> {
    let is_hello = message.first() == Some(&kind);
    is_hello.then(|| message.get(RANDOM..)?.first_chunk().copied()).flatten()
}
