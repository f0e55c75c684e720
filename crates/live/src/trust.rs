//! Which certificates a client of foreign servers trusts.

use crate::connection::alpn_name;
use crate::key_log::key_log;
use crate::{ClientTls, Error};
use loadstone_http::Protocol;
use loadstone_net::tls::Tls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ALL_VERSIONS, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedProtocolVersion,
    version,
};
use std::sync::Arc;

/// Which certificates are accepted as proof of a server's name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Trust {
    /// The authorities that this machine trusts.
    #[default]
    System,
    /// These, as certificates in PEM, and no other.
    Only(Vec<u8>),
    /// Any certificate: whatever answers is taken for the server.
    Anyone,
}

impl Trust {
    /// How a client speaks TLS that offers these protocols, in this order; in this version of TLS, or
    /// in any. Handshakes are full ones.
    ///
    /// # Errors
    /// If there are no certificates to trust.
    pub fn config(&self, tls: Option<Tls>, offers: &[Protocol]) -> Result<Arc<ClientConfig>, Error> {
        let provider = Arc::new(ring::default_provider());
        let versions = match tls {
            Some(Tls::V1_0 | Tls::V1_2) => &[&version::TLS12][..],
            Some(Tls::V1_3) => &[&version::TLS13],
            Some(Tls::None) | None => ALL_VERSIONS,
        };
        let mut config = self.trusting(provider, versions)?;
        config.alpn_protocols = offers.iter().map(|offer| alpn_name(*offer).to_vec()).collect();
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }

    fn trusting(
        &self,
        provider: Arc<CryptoProvider>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<ClientConfig, Error> {
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions);
        let builder = builder.expect("the suites fit the versions").dangerous();
        let verifier: Arc<dyn ServerCertVerifier> = match self {
            Trust::Anyone => Arc::new(NoVerifier(provider)),
            Trust::System => by_roots(roots_of_the_system()?, provider),
            Trust::Only(pem) => by_roots(roots_in(pem)?, provider),
        };
        let mut config = builder.with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.key_log = key_log();
        Ok(config)
    }
}

impl ClientTls {
    /// How a client speaks TLS with the server `host`: a name, or an address without brackets.
    ///
    /// # Errors
    /// If no certificate can name `host`.
    pub fn named(config: Arc<ClientConfig>, host: &str) -> Result<ClientTls, Error> {
        let name = ServerName::try_from(host).map_err(|_| Error::Name(host.to_owned()))?.to_owned();
        Ok(ClientTls { config, name })
    }
}

fn by_roots(roots: RootCertStore, provider: Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    verifier.expect("there are roots, and no lists of revoked certificates")
}

fn roots_of_the_system() -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    // Some of a system's may be of a kind that cannot be parsed.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(Error::NoRoots) } else { Ok(roots) }
}

fn roots_in(pem: &[u8]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| Error::Roots(error.to_string()))?;
        roots.add(certificate).map_err(|error| Error::Roots(error.to_string()))?;
    }
    if roots.is_empty() { Err(Error::Roots("there is none in it".to_owned())) } else { Ok(roots) }
}

/// Accepts every certificate. Signatures are verified with it all the same: a server without the key fails the
/// handshake.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_refused_with_a_remedy() {
        let garbage = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for pem in [&b""[..], b"nothing", garbage] {
            let error = Trust::Only(pem.to_vec()).config(None, &[Protocol::H2]).unwrap_err().to_string();
            assert!(error.contains("--cacert") && error.contains("PEM"), "{error}");
        }
    }
}
