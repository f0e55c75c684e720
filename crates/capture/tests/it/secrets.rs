//! TLS whose secrets are known: connections of rustls, decrypted again.

use crate::recording::{Seen, Told, exchanges, exchanges_with_keys, in_packets};
use proptest::prelude::*;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, KeyLog, RootCertStore, ServerConfig, ServerConnection,
};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

/// Lines of a key log.
#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        writeln!(self.0.lock().unwrap(), "{label} {} {}", hex(client_random), hex(secret)).unwrap();
    }
}

/// A client and a server, what each said, and their secrets.
struct Talk {
    client: Connection,
    server: Connection,
    keys: Arc<Lines>,
    said: Vec<(bool, u64, Vec<u8>)>,
}

impl Talk {
    /// With the one cipher suite, after the handshake.
    fn new(suite: CipherSuite) -> Talk {
        let keys = Arc::new(Lines::default());
        let mut provider = rustls::crypto::ring::default_provider();
        provider.cipher_suites.retain(|one| one.suite() == suite);
        let provider = Arc::new(provider);
        let version =
            if provider.cipher_suites[0].tls13().is_some() { &rustls::version::TLS13 } else { &rustls::version::TLS12 };
        let made = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]).unwrap();
        let mut client = builder.with_root_certificates(roots).with_no_client_auth();
        client.key_log = keys.clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let server = builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let mut talk = Talk {
            client: ClientConnection::new(Arc::new(client), "a.test".try_into().unwrap()).unwrap().into(),
            server: ServerConnection::new(Arc::new(server)).unwrap().into(),
            keys,
            said: Vec::new(),
        };
        for us in 0..4 {
            talk.pass(52_000 + us);
        }
        talk
    }

    /// Passes what both have to say.
    fn pass(&mut self, us: u64) {
        for is_down in [false, true] {
            let (from, to) =
                if is_down { (&mut self.server, &mut self.client) } else { (&mut self.client, &mut self.server) };
            let mut text = Vec::new();
            while from.wants_write() {
                from.write_tls(&mut text).unwrap();
            }
            let mut rest = &text[..];
            while !rest.is_empty() {
                to.read_tls(&mut rest).unwrap();
                to.process_new_packets().unwrap();
                _ = to.reader().read_to_end(&mut Vec::new());
            }
            if !text.is_empty() {
                self.said.push((is_down, us, text));
            }
        }
    }

    /// The client asks at a time in us, and the server answers with so many bytes 10 ms later.
    fn exchange(&mut self, us: u64, path: &str, len: usize) {
        self.client.writer().write_all(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n").as_bytes()).unwrap();
        self.pass(us);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n");
        self.server.writer().write_all(&[head.as_bytes(), &vec![b'x'; len]].concat()).unwrap();
        self.pass(us + 10_000);
    }

    fn packets(&self, size: usize) -> Vec<Told> {
        in_packets(&self.said, size)
    }

    fn seen(&self, packets: &[Told]) -> Seen {
        exchanges_with_keys(packets, self.keys.0.lock().unwrap().as_bytes())
    }
}

const SUITES: [CipherSuite; 6] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

#[test]
fn requests_are_read_under_tls_whose_secrets_are_known() {
    for suite in SUITES {
        let mut talk = Talk::new(suite);
        talk.exchange(100_000, "/1", 5_000);
        talk.exchange(200_000, "/2", 40_000);
        let seen = talk.seen(&talk.packets(1_400));
        assert_eq!(seen.texts("kind"), ["http/1.1", "http/1.1"], "{suite:?}");
        assert_eq!((seen.integer("body_bytes", 0), seen.integer("body_bytes", 1)), (5_000, 40_000));
        assert_eq!((seen.number("response_wait_ms", 1), seen.number("gap_ms", 1)), (Some(10.0), Some(90.0)));
        assert!((0..seen.rows()).all(|row| seen.boolean("encrypted", row)));
        let unread = exchanges(&talk.packets(1_400));
        assert_eq!((unread.text("kind", 0), unread.boolean("encrypted", 0)), ("tls", true), "without the secrets");
    }
}

#[test]
fn other_secrets_than_those_of_the_connection_are_no_harm() {
    let mut talk = Talk::new(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
    talk.exchange(100_000, "/1", 5_000);
    let log = talk.keys.0.lock().unwrap().replace(['a', 'b', 'c'], "0");
    // The client's random bytes are as they were.
    let random = |log: &str| log.split(' ').nth(1).unwrap().to_owned();
    let log = log.replace(&random(&log), &random(&talk.keys.0.lock().unwrap()));
    let seen = exchanges_with_keys(&talk.packets(1_400), log.as_bytes());
    assert_eq!((seen.texts("kind"), seen.boolean("answered", 0)), (vec!["tls"], true));
}

#[test]
fn tls_within_tls_is_read_by_its_records() {
    let mut within = Talk::new(SUITES[0]);
    within.exchange(100_000, "/1", 5_000);
    let mut talk = Talk::new(SUITES[0]);
    for (is_down, us, text) in within.said.clone() {
        let end = if is_down { &mut talk.server } else { &mut talk.client };
        end.writer().write_all(&text).unwrap();
        talk.pass(us);
    }
    let keys = [&talk, &within].map(|talk| talk.keys.0.lock().unwrap().clone()).concat();
    assert_eq!(exchanges_with_keys(&talk.packets(1_400), keys.as_bytes()).texts("kind"), ["tls"]);
}

#[test]
fn keys_may_change() {
    let mut talk = Talk::new(CipherSuite::TLS13_AES_128_GCM_SHA256);
    talk.exchange(100_000, "/1", 10);
    talk.server.refresh_traffic_keys().unwrap();
    talk.client.refresh_traffic_keys().unwrap();
    talk.exchange(200_000, "/2", 20);
    let seen = talk.seen(&talk.packets(1_400));
    assert_eq!((seen.rows(), seen.integer("body_bytes", 1)), (2, 20));
}

#[test]
fn where_records_are_missing_they_are_read_by_their_headers() {
    for suite in SUITES {
        let mut talk = Talk::new(suite);
        talk.exchange(100_000, "/1", 5_000);
        talk.exchange(200_000, "/2", 20_000);
        talk.exchange(300_000, "/3", 300);
        let mut packets = talk.packets(1_400);
        let missing = packets.iter().rposition(|packet| packet.us == 210_000).unwrap() - 2;
        packets.remove(missing);
        let seen = talk.seen(&packets);
        assert_eq!(seen.texts("kind"), ["http/1.1", "http/1.1", "tls"], "{suite:?}");
        assert_eq!((seen.integer("exchange", 2), seen.boolean("answered", 2)), (3, true));
        assert!((0..seen.rows()).all(|row| seen.boolean("encrypted", row)));
    }
}

proptest! {
    /// Damage to any byte is no harm, and cuts into packets change nothing.
    #[test]
    fn damaged_records_are_no_harm(suite in 0_usize..6, at in 0_usize..8_000, bit in 0_u8..8, size in 200_usize..3_000) {
        let mut talk = Talk::new(SUITES[suite]);
        talk.exchange(100_000, "/1", 5_000);
        let whole = talk.seen(&talk.packets(size));
        prop_assert_eq!((whole.rows(), whole.text("kind", 0)), (1, "http/1.1"));
        if let Some(byte) = talk.said.iter_mut().flat_map(|(_, _, text)| text).nth(at) {
            *byte ^= 1 << bit;
        }
        let packets = talk.packets(size);
        let seen = talk.seen(&packets);
        let told = |name| (0..seen.rows()).map(|row| seen.integer(name, row)).sum::<u64>();
        let data: u64 = packets.iter().map(|packet| u64::from(packet.len)).sum();
        prop_assert!(told("request_bytes") + told("response_bytes") <= data);
    }
}
