//! Secrets of TLS's connections, as browsers and servers log them for those who debug (SSLKEYLOGFILE, RFC 9850).

use std::collections::BTreeMap;
use std::fmt;

/// What a ClientHello has drawn at random.
pub(crate) type ClientRandom = [u8; 32];

/// The secrets of connections, by their clients' random bytes.
#[derive(Clone, Default)]
pub struct KeyLog {
    by_random: BTreeMap<ClientRandom, TlsSecrets>,
}

/// What is known of a connection.
#[derive(Clone, Default)]
pub(crate) struct TlsSecrets {
    /// Of TLS 1.2: the master secret.
    pub(crate) master: Vec<u8>,
    /// Of TLS 1.3: the first secret for what the client sends after the handshake.
    pub(crate) client: Vec<u8>,
    /// The same of the server.
    pub(crate) server: Vec<u8>,
}

/// A line that is none of a key log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} is none of a key log: give a file that SSLKEYLOGFILE named")]
pub struct KeyLogError {
    /// Its number, from 1.
    pub line: usize,
}

impl KeyLog {
    /// Adds the secrets of a file: lines of a label, the client's random bytes and the secret, in hexadecimal. Labels of no
    /// use here are passed over.
    ///
    /// # Errors
    /// If a line has another form.
    pub fn add(&mut self, text: &[u8]) -> Result<(), KeyLogError> {
        for (line, text) in text.split(|byte| *byte == b'\n').enumerate() {
            let text = text.trim_ascii();
            if !text.is_empty() && !text.starts_with(b"#") {
                self.add_line(text).ok_or(KeyLogError { line: line + 1 })?;
            }
        }
        Ok(())
    }

    fn add_line(&mut self, text: &[u8]) -> Option<()> {
        let mut words = text.split(|byte| *byte == b' ');
        let (label, random, secret) = (words.next()?, words.next()?, words.next()?);
        let (random, secret) = (bytes_of(random)?, bytes_of(secret)?);
        if !label.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_') {
            return None;
        }
        // That of RSA has another form (RFC 9850, section 2.3).
        let Ok(random) = ClientRandom::try_from(random) else { return (label == b"RSA").then_some(()) };
        let secrets = self.by_random.entry(random).or_default();
        match label {
            b"CLIENT_RANDOM" => secrets.master = secret,
            b"CLIENT_TRAFFIC_SECRET_0" => secrets.client = secret,
            b"SERVER_TRAFFIC_SECRET_0" => secrets.server = secret,
            _ => {}
        }
        Some(())
    }

    /// Whether it has no secrets.
    pub fn is_empty(&self) -> bool {
        self.by_random.is_empty()
    }

    pub(crate) fn secrets(&self, random: &ClientRandom) -> Option<&TlsSecrets> {
        self.by_random.get(random)
    }
}

/// No secrets in messages.
impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secrets of {} connections", self.by_random.len())
    }
}

/// The bytes that hexadecimal digits say.
fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_labels_random_bytes_and_secrets() {
        let random = "ab".repeat(32);
        let text = format!(
            "# a comment\r\nCLIENT_RANDOM {random} 0102\nEXPORTER_SECRET {random} 03\n\nSERVER_TRAFFIC_SECRET_0 {random} fF\n"
        );
        let mut keys = KeyLog::default();
        keys.add(text.as_bytes()).unwrap();
        let secrets = keys.secrets(&[0xab; 32]).unwrap();
        assert_eq!((&secrets.master[..], &secrets.server[..], secrets.client.len()), (&[1, 2][..], &[255][..], 0));
        assert_eq!(format!("{keys:?}"), "secrets of 1 connections");
    }

    #[test]
    fn another_line_is_named() {
        let random = "ab".repeat(32);
        for bad in ["word".to_owned(), format!("CLIENT_RANDOM {random} 0"), format!("CLIENT_RANDOM {random} xy")] {
            let text = format!("CLIENT_RANDOM {random} 00\n{bad}\n");
            assert_eq!(KeyLog::default().add(text.as_bytes()), Err(KeyLogError { line: 2 }), "{bad}");
        }
        assert!(KeyLog::default().add(b"CLIENT_RANDOM abcd 00").is_err(), "random bytes are 32");
        assert_eq!(KeyLog::default().add(b"\x89PNG\r\n\x1a\n"), Err(KeyLogError { line: 1 }));
    }
}
