//! Decrypts the records of one direction of TLS 1.2 and 1.3.

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{self, HKDF_SHA256, HKDF_SHA384, KeyType, Prk};
use ring::hmac::{self, HMAC_SHA256, HMAC_SHA384};

/// Bytes of a nonce.
const NONCE: usize = 12;
/// Bytes of a nonce that TLS 1.2 sends with each record (RFC 5288, section 3).
const EXPLICIT: usize = 8;

/// The parts of a cipher suite that protect records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CipherSuite {
    aead: &'static Algorithm,
    hkdf: hkdf::Algorithm,
    hmac: hmac::Algorithm,
    pub(crate) is_1_3: bool,
}

impl CipherSuite {
    /// That of a number of IANA's, if it is an AEAD of TLS 1.2 or 1.3. CBC and RC4 are not read.
    pub(crate) fn numbered(number: u16) -> Option<CipherSuite> {
        let aead = match number {
            0x1301 | 0xc02b | 0xc02f | 0x009c | 0x009e => &AES_128_GCM,
            0x1302 | 0xc02c | 0xc030 | 0x009d | 0x009f => &AES_256_GCM,
            0x1303 | 0xcca8 | 0xcca9 | 0xccaa => &CHACHA20_POLY1305,
            _ => return None,
        };
        let (hkdf, hmac) = if aead == &AES_256_GCM { (HKDF_SHA384, HMAC_SHA384) } else { (HKDF_SHA256, HMAC_SHA256) };
        Some(CipherSuite { aead, hkdf, hmac, is_1_3: number >> 8 == 0x13 })
    }

    /// Bytes of a nonce that both ends know beforehand.
    fn fixed_iv(self) -> usize {
        if self.is_1_3 || self.aead == &CHACHA20_POLY1305 { NONCE } else { NONCE - EXPLICIT }
    }
}

/// Opens records, one after the other.
#[derive(Debug)]
pub(crate) struct RecordOpener {
    suite: CipherSuite,
    key: LessSafeKey,
    /// What of the nonce is known beforehand.
    iv: Vec<u8>,
    /// Of TLS 1.3: what the keys come from.
    secret: Vec<u8>,
    /// The number of the next record.
    number: u64,
}

/// A record that was opened.
pub(crate) struct OpenedRecord {
    pub(crate) kind: u8,
    pub(crate) content: Vec<u8>,
}

/// How many bytes are wanted of HKDF.
struct OutputBytes(usize);

impl KeyType for OutputBytes {
    fn len(&self) -> usize {
        self.0
    }
}

impl RecordOpener {
    /// That of TLS 1.3, by a secret for application data (RFC 8446, section 7.3).
    pub(crate) fn of_1_3(suite: CipherSuite, secret: &[u8]) -> Option<RecordOpener> {
        let key = expand_label(suite, secret, b"key", suite.aead.key_len())?;
        let iv = expand_label(suite, secret, b"iv", NONCE)?;
        RecordOpener::new(suite, &key, iv, secret.to_vec())
    }

    /// Those of TLS 1.2 for the client and the server, by the master secret (RFC 5246, section 6.3).
    pub(crate) fn of_1_2(
        suite: CipherSuite,
        master: &[u8],
        client_random: &[u8],
        server_random: &[u8],
    ) -> Option<[RecordOpener; 2]> {
        let (key, iv) = (suite.aead.key_len(), suite.fixed_iv());
        let seed = [b"key expansion", server_random, client_random].concat();
        let block = pseudorandom(suite, master, &seed, 2 * (key + iv));
        let (keys, ivs) = block.split_at(2 * key);
        let opener = |key, iv: &[u8]| RecordOpener::new(suite, key, iv.to_vec(), Vec::new());
        let ((client, server), (client_iv, server_iv)) = (keys.split_at(key), ivs.split_at(iv));
        Some([opener(client, client_iv)?, opener(server, server_iv)?])
    }

    fn new(suite: CipherSuite, key: &[u8], iv: Vec<u8>, secret: Vec<u8>) -> Option<RecordOpener> {
        let key = LessSafeKey::new(UnboundKey::new(suite.aead, key).ok()?);
        Some(RecordOpener { suite, key, iv, secret, number: 0 })
    }

    /// Opens the next record; nothing if it was not protected by this key.
    pub(crate) fn open(&mut self, header: [u8; 5], protected: &[u8]) -> Option<OpenedRecord> {
        let number = self.number.to_be_bytes();
        let is_explicit = self.iv.len() < NONCE;
        let (explicit, sealed) = protected.split_at_checked(if is_explicit { EXPLICIT } else { 0 })?;
        let mut nonce = [0; NONCE];
        nonce[..self.iv.len()].copy_from_slice(&self.iv);
        if is_explicit {
            nonce[NONCE - EXPLICIT..].copy_from_slice(explicit);
        } else {
            nonce[NONCE - EXPLICIT..].iter_mut().zip(number).for_each(|(byte, other)| *byte ^= other);
        }
        let additional = if self.suite.is_1_3 {
            header.to_vec()
        } else {
            let len = u16::try_from(sealed.len().checked_sub(self.suite.aead.tag_len())?).ok()?;
            [&number[..], &header[..3], &len.to_be_bytes()].concat()
        };
        let mut content = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let len = self.key.open_in_place(nonce, Aad::from(additional), &mut content).ok()?.len();
        content.truncate(len);
        self.number += 1;
        if !self.suite.is_1_3 {
            return Some(OpenedRecord { kind: header[0], content });
        }
        // The type stands behind the content, and zeros behind that (RFC 8446, section 5.4).
        let end = content.iter().rposition(|byte| *byte != 0)?;
        let kind = content[end];
        content.truncate(end);
        Some(OpenedRecord { kind, content })
    }

    /// Whether it is of TLS 1.3.
    pub(crate) fn is_1_3(&self) -> bool {
        self.suite.is_1_3
    }

    /// The sender has changed its key (RFC 8446, section 7.2).
    pub(crate) fn update(&mut self) -> Option<()> {
        let secret = expand_label(self.suite, &self.secret, b"traffic upd", self.secret.len())?;
        *self = RecordOpener::of_1_3(self.suite, &secret)?;
        Some(())
    }
}

/// HKDF-Expand-Label with an empty context (RFC 8446, section 7.1).
fn expand_label(suite: CipherSuite, secret: &[u8], label: &[u8], len: usize) -> Option<Vec<u8>> {
    let name = [b"tls13 ", label].concat();
    let info = [&(len as u16).to_be_bytes()[..], &[name.len() as u8], &name, &[0]].concat();
    let mut out = vec![0; len];
    Prk::new_less_safe(suite.hkdf, secret).expand(&[&info], OutputBytes(len)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// TLS 1.2's PRF (RFC 5246, section 5); the label is the beginning of the seed.
fn pseudorandom(suite: CipherSuite, secret: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
    let key = hmac::Key::new(suite.hmac, secret);
    let mut chained = hmac::sign(&key, seed);
    let mut out = Vec::new();
    while out.len() < len {
        out.extend(hmac::sign(&key, &[chained.as_ref(), seed].concat()).as_ref());
        chained = hmac::sign(&key, chained.as_ref());
    }
    out.truncate(len);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    /// RFC 8448, section 3: what the server sends at last.
    #[test]
    fn records_are_opened_as_in_the_example_of_rfc8448_3() {
        let suite = CipherSuite::numbered(0x1301).unwrap();
        let secret = bytes("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");
        let key = expand_label(suite, &secret, b"key", 16).unwrap();
        assert_eq!(key, bytes("9f02283b6c9c07efc26bb9f2ac92e356"));
        assert_eq!(expand_label(suite, &secret, b"iv", 12).unwrap(), bytes("cf782b88dd83549aadf1e984"));
    }

    #[test]
    fn what_was_sealed_is_opened_in_order_and_nothing_else() {
        let suite = CipherSuite::numbered(0x1303).unwrap();
        let mut opener = RecordOpener::of_1_3(suite, &[7; 32]).unwrap();
        let seal = |number: u8, text: &[u8]| {
            let len = text.len() + 16;
            let header = [23, 3, 3, (len >> 8) as u8, len as u8];
            let sealer = RecordOpener::of_1_3(suite, &[7; 32]).unwrap();
            let mut nonce = [0; NONCE];
            nonce.copy_from_slice(&sealer.iv);
            nonce[NONCE - 1] ^= number;
            let mut sealed = text.to_vec();
            let nonce = Nonce::assume_unique_for_key(nonce);
            sealer.key.seal_in_place_append_tag(nonce, Aad::from(header), &mut sealed).unwrap();
            (header, sealed)
        };
        let (header, first) = seal(0, b"GET /\x17\0\0");
        let opened = opener.open(header, &first).unwrap();
        assert_eq!((opened.kind, &opened.content[..]), (23, &b"GET /"[..]));
        assert!(opener.open(header, &first).is_none(), "it has another number");
        let (header, second) = seal(1, b"more\x17");
        assert!(opener.open(header, &second).is_some());
        assert!(opener.open(header, &[0; 3]).is_none());
    }
}
