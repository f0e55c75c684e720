//! A certificate authority of one's own, and the TLS configurations of both ends that trust it.
//!
//! Handshakes are full ones, without tickets or resumption, and use the suites whose records cost
//! what [`Tls`] counts: AES-128-GCM, with ECDSA keys.

use crate::connection::alpn_name;
use crate::key_log::key_log;
use crate::{Error, Identity};
use loadstone_http::Protocol;
use loadstone_net::tls::Tls;
use rcgen::{BasicConstraints, CertificateParams, CustomExtension, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use std::sync::Arc;

/// How long a certificate chain servers send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Chain {
    /// The server's certificate alone, as short as it gets: some 400 bytes.
    Minimal,
    /// With an intermediate one, as long as usual ones: the server's flight is about 4,000 bytes with
    /// TLS 1.3 and 3,700 with 1.2, as the simulator has it.
    #[default]
    Usual,
    /// So long that the server's flight fills an initial window of ten segments, without exceeding it.
    Filled,
}

impl Chain {
    /// What the certificates amount to in bytes, give or take some, where that is settled.
    const fn bytes(self, tls: Tls) -> Option<usize> {
        match (self, tls) {
            (Chain::Minimal, _) => None,
            (Chain::Usual, Tls::V1_3) => Some(3_670),
            (Chain::Usual, _) => Some(3_474),
            (Chain::Filled, _) => Some(13_700),
        }
    }
}

/// Bytes that browsers make of the client's first flight, by padding, and the simulator has too.
const FIRST_FLIGHT: usize = 517;

/// Signs certificates for servers of any name, for the clients that it configures.
#[derive(Debug)]
pub struct Authority {
    chain: Chain,
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    /// What a server sends after its own certificate.
    intermediate: Option<CertificateDer<'static>>,
}

/// How a client speaks TLS with a server.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// What it offers and which certificates it trusts.
    pub config: Arc<ClientConfig>,
    /// The name that the server has to prove.
    pub name: ServerName<'static>,
}

impl ClientTls {
    /// A connection whose handshake is to come.
    pub(crate) fn connect(&self) -> rustls::Connection {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone());
        connection.expect("a configuration that was built can be used").into()
    }

    /// The client's first flight.
    pub(crate) fn first_flight(&self) -> Vec<u8> {
        let mut flight = Vec::new();
        self.connect().write_tls(&mut flight).expect("a Vec takes everything");
        flight
    }
}

impl Authority {
    /// A new authority, which no system trusts.
    ///
    /// # Panics
    /// If the system has no random numbers.
    pub fn new(chain: Chain) -> Authority {
        let (params, key) = (signing("Loadstone root"), random_key());
        let root = params.self_signed(&key).expect("what the authority writes can be signed").into();
        let issuer = Issuer::new(params, key);
        if chain == Chain::Minimal {
            return Authority { chain, root, issuer, intermediate: None };
        }
        let (params, key) = (signing("Loadstone intermediate"), random_key());
        let intermediate = params.signed_by(&key, &issuer).expect("what the authority writes can be signed").into();
        Authority { chain, root, issuer: Issuer::new(params, key), intermediate: Some(intermediate) }
    }

    /// The configuration of a server of `hosts`, whose ports do not matter, that speaks these protocols
    /// through `tls`; none for plain TCP.
    ///
    /// # Errors
    /// If one of them is no name.
    pub fn server(&self, hosts: &[&str], tls: Tls, protocols: &[Protocol]) -> Result<Option<Arc<ServerConfig>>, Error> {
        let Some(version) = version_of(tls) else { return Ok(None) };
        let (chain, key) = self.certify(hosts, tls)?;
        let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[version]);
        let mut config = builder
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .expect("the suites fit the version, and the key the certificate");
        config.key_log = key_log();
        config.alpn_protocols = protocols.iter().map(|protocol| alpn_name(*protocol).to_vec()).collect();
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Some(Arc::new(config)))
    }

    /// How a client that trusts this authority speaks `protocol` with `host` through `tls`; none for
    /// plain TCP.
    ///
    /// # Errors
    /// If `host` is no name.
    pub fn client(&self, host: &str, tls: Tls, protocol: Protocol) -> Result<Option<ClientTls>, Error> {
        let Some(version) = version_of(tls) else { return Ok(None) };
        let name = ServerName::try_from(name_of(host)).map_err(|_| Error::Name(host.to_owned()))?.to_owned();
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).expect("the authority's own certificate is one");
        let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[version]);
        let builder = builder.expect("the suites fit the version");
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.key_log = key_log();
        config.alpn_protocols = vec![alpn_name(protocol).to_vec()];
        config.resumption = Resumption::disabled();
        let bare = ClientTls { config: Arc::new(config.clone()), name };
        config.alpn_protocols.extend(padding(FIRST_FLIGHT.saturating_sub(bare.first_flight().len())));
        Ok(Some(ClientTls { config: Arc::new(config), ..bare }))
    }

    /// What a server proves by that it is each of `hosts`, whose ports do not matter. Chains are of
    /// TLS 1.3's length.
    ///
    /// # Errors
    /// If one of them is no name.
    pub fn identity(&self, hosts: &[&str]) -> Result<Identity, Error> {
        let (chain, key) = self.certify(hosts, Tls::V1_3)?;
        Ok(Identity::new(chain, key))
    }

    /// The certificate that clients have to trust, in DER.
    pub fn root(&self) -> &[u8] {
        &self.root
    }

    /// A chain for `hosts` of the length that was chosen, and its key.
    fn certify(
        &self,
        hosts: &[&str],
        tls: Tls,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        let key = random_key();
        let mut params = CertificateParams::default();
        for host in hosts {
            let named = CertificateParams::new([name_of(host).to_owned()]);
            params.subject_alt_names.extend(named.map_err(|_| Error::Name((*host).to_owned()))?.subject_alt_names);
        }
        params.distinguished_name.push(DnType::CommonName, "Loadstone server");
        params.use_authority_key_identifier_extension = true;
        let sign = |params: &CertificateParams| -> CertificateDer<'static> {
            params.signed_by(&key, &self.issuer).expect("what the authority writes can be signed").into()
        };
        let mut chain = vec![sign(&params)];
        chain.extend(self.intermediate.clone());
        let bytes = chain.iter().map(|certificate| certificate.len()).sum();
        if let Some(padding) = self.chain.bytes(tls).and_then(|wanted| wanted.checked_sub(bytes)) {
            // An unknown extension, under the number set aside for examples (RFC 5612).
            let number = [1, 3, 6, 1, 4, 1, 32_473, 1];
            params.custom_extensions.push(CustomExtension::from_oid_content(&number, vec![0; padding]));
            chain[0] = sign(&params);
        }
        Ok((chain, key.into()))
    }
}

/// Names of unknown protocols, which have this length together: rustls does not pad (RFC 7685), but servers
/// ignore such names (RFC 8701).
fn padding(mut missing: usize) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    // A name has 1 to 255 bytes, and one more for its length.
    while missing >= 2 {
        let len = if missing == 257 { 200 } else { missing.min(256) };
        names.push(vec![b'x'; len - 1]);
        missing -= len;
    }
    names
}

fn random_key() -> KeyPair {
    KeyPair::generate().expect("the system has random numbers")
}

/// What stands in the certificate of one that signs others.
fn signing(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// A host without its port, and without the brackets of an address (RFC 3986, section 3.2.2).
fn name_of(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    };
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

fn version_of(tls: Tls) -> Option<&'static SupportedProtocolVersion> {
    match tls {
        Tls::None => None,
        // rustls has no 1.0.
        Tls::V1_0 | Tls::V1_2 => Some(&version::TLS12),
        Tls::V1_3 => Some(&version::TLS13),
    }
}

fn provider() -> Arc<CryptoProvider> {
    use ring::cipher_suite::{TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS13_AES_128_GCM_SHA256};
    let cipher_suites = vec![TLS13_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
    Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{Connection, ServerConnection};

    /// Carries one flight; how many bytes it has.
    fn carry(from: &mut Connection, to: &mut Connection) -> usize {
        let mut flight = Vec::new();
        while from.wants_write() {
            from.write_tls(&mut flight).unwrap();
        }
        let mut rest = &flight[..];
        while !rest.is_empty() {
            to.read_tls(&mut rest).unwrap();
            to.process_new_packets().unwrap();
        }
        flight.len()
    }

    /// The flights of a handshake in bytes, the client's first.
    fn flights(chain: Chain, tls: Tls) -> Vec<usize> {
        let authority = Authority::new(chain);
        let mut client = authority.client("www.a.test:8443", tls, Protocol::H2).unwrap().unwrap().connect();
        let server = authority.server(&["www.a.test"], tls, &[Protocol::H2]).unwrap().unwrap();
        let mut server = Connection::from(ServerConnection::new(server).unwrap());
        let mut flights = Vec::new();
        loop {
            let (up, down) = (carry(&mut client, &mut server), carry(&mut server, &mut client));
            flights.extend([up, down].into_iter().filter(|bytes| *bytes > 0));
            if up + down == 0 {
                assert!(!client.is_handshaking() && !server.is_handshaking());
                assert_eq!(client.alpn_protocol(), Some(&b"h2"[..]));
                return flights;
            }
        }
    }

    #[test]
    fn flights_are_as_many_and_about_as_long_as_the_model_s() {
        for (tls, expected) in [
            (Tls::V1_2, vec![517..=517, 3_600..=3_800, 90..=160, 50..=75]),
            (Tls::V1_3, vec![517..=517, 3_900..=4_100, 60..=90]),
        ] {
            let flights = flights(Chain::Usual, tls);
            println!("{tls:?}: {flights:?}");
            assert_eq!(flights.len(), expected.len(), "{tls:?}: {flights:?}");
            let fits = flights.iter().zip(&expected).all(|(bytes, range)| range.contains(bytes));
            assert!(fits, "{tls:?}: {flights:?}");
        }
    }

    #[test]
    fn a_chain_can_be_short_and_can_fill_an_initial_window() {
        for tls in [Tls::V1_2, Tls::V1_3] {
            let server = |chain| flights(chain, tls)[1];
            let (minimal, usual, filled) = (server(Chain::Minimal), server(Chain::Usual), server(Chain::Filled));
            assert!((500..1_000).contains(&minimal) && minimal < usual, "{tls:?}: {minimal} {usual}");
            assert!((9 * 1448..=10 * 1448).contains(&filled), "{tls:?}: {filled}");
        }
    }

    #[test]
    fn records_cost_what_the_model_says() {
        for (tls, overhead) in [(Tls::V1_2, 29), (Tls::V1_3, 22)] {
            let authority = Authority::new(Chain::Minimal);
            let mut client = authority.client("a.test", tls, Protocol::H2).unwrap().unwrap().connect();
            let server = authority.server(&["a.test"], tls, &[Protocol::H2]).unwrap().unwrap();
            let mut server = Connection::from(ServerConnection::new(server).unwrap());
            while carry(&mut client, &mut server) + carry(&mut server, &mut client) > 0 {}
            std::io::Write::write_all(&mut client.writer(), &[7; 1000]).unwrap();
            assert_eq!(carry(&mut client, &mut server), 1000 + overhead, "{tls:?}");
        }
    }

    #[test]
    fn padding_has_any_length_that_names_can_have() {
        for missing in (2..600).chain([65_000]) {
            let names = padding(missing);
            assert_eq!(names.iter().map(|name| name.len() + 1).sum::<usize>(), missing);
            assert!(names.iter().all(|name| (1..=255).contains(&name.len())), "{missing}");
        }
        assert!(padding(0).is_empty() && padding(1).is_empty());
    }

    #[test]
    fn one_identity_is_good_for_names_and_addresses() {
        let authority = Authority::new(Chain::Minimal);
        let hosts = ["localhost", "127.0.0.1", "[::1]:8443", "::1", "www.a.test:8443"];
        let server = authority.identity(&hosts).unwrap().server(&[Protocol::H2]).unwrap();
        for (host, is_named) in
            [("localhost", true), ("127.0.0.1", true), ("[::1]:443", true), ("www.a.test", true), ("b.test", false)]
        {
            let mut client = authority.client(host, Tls::V1_3, Protocol::H2).unwrap().unwrap().connect();
            let mut server = Connection::from(ServerConnection::new(server.clone()).unwrap());
            carry(&mut client, &mut server);
            let mut flight = Vec::new();
            server.write_tls(&mut flight).unwrap();
            client.read_tls(&mut &flight[..]).unwrap();
            assert_eq!(client.process_new_packets().is_ok(), is_named, "{host}");
        }
    }

    #[test]
    fn a_host_that_is_no_name_is_refused_with_a_remedy() {
        let authority = Authority::new(Chain::Minimal);
        let error = authority.client("a b", Tls::V1_3, Protocol::H2).unwrap_err();
        assert!(error.to_string().contains("'a b'") && error.to_string().contains("use letters"), "{error}");
        assert!(authority.server(&["ä.test"], Tls::V1_3, &[Protocol::H2]).is_err());
        assert!(authority.server(&["a b"], Tls::None, &[Protocol::H2]).unwrap().is_none());
    }
}
