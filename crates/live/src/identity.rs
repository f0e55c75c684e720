//! A server's certificate chain and key, and its TLS configuration for any client.

use crate::Error;
use crate::connection::alpn_name;
use crate::key_log::key_log;
use loadstone_http::Protocol;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// A chain of certificates and the key that belongs to it.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    pub(crate) fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Identity {
        Identity { chain, key }
    }

    /// Reads a chain, the server's own certificate first, and its key, both in PEM.
    ///
    /// # Errors
    /// If there is none.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Identity, Error> {
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(|_| Error::Certificate)?;
        if chain.is_empty() {
            return Err(Error::Certificate);
        }
        Ok(Identity { chain, key: PrivateKeyDer::from_pem_slice(key).map_err(|_| Error::Key)? })
    }

    /// The chain, the server's own certificate first, and the key, in DER.
    pub fn der(&self) -> (Vec<&[u8]>, &[u8]) {
        (self.chain.iter().map(|one| &one[..]).collect(), self.key.secret_der())
    }

    /// The configuration of a server that speaks TLS 1.2 and 1.3 with whatever suites its clients have,
    /// and selects by ALPN from `protocols`, in this order of preference. A client that offers none of
    /// them is refused (RFC 7301, section 3.2); one without ALPN is not.
    ///
    /// # Errors
    /// If the key is not the certificate's.
    pub fn server(self, protocols: &[Protocol]) -> Result<Arc<ServerConfig>, Error> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("the suites fit the versions");
        let config = builder.with_no_client_auth().with_single_cert(self.chain, self.key);
        let mut config = config.map_err(|error| Error::Identity(error.to_string()))?;
        config.key_log = key_log();
        config.alpn_protocols = protocols.iter().map(|protocol| alpn_name(*protocol).to_vec()).collect();
        Ok(Arc::new(config))
    }
}
