//! Why a program cannot be hosted.

use std::io;

/// Why a program cannot be hosted. The failure of a single connection is a [`crate::Failure`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system gives no event loop.
    #[error("cannot make an event loop: {0}; allow more open files (ulimit -n)")]
    Runtime(io::Error),
    /// The system gives no more connections.
    #[error("cannot accept a connection: {0}; allow more open files (ulimit -n)")]
    Accept(io::Error),
    /// A server has had as many connections as there are ids.
    #[error("all 2^32 connection ids have been used; start the server again")]
    ConnIdsExhausted,
    /// A kernel that tells too little of its connections.
    #[error("Linux {0} does not count segments that come out of order: use Linux 5.4 or later")]
    OldKernel(String),
    /// A host that no certificate can name.
    #[error("'{0}' is no name for a certificate: use letters, digits, hyphens and dots, or an address")]
    Name(String),
    /// What should be certificates in PEM is not.
    #[error("the file has no certificates in PEM: give the chain, the server's own certificate first")]
    Certificate,
    /// What should be a private key in PEM is not.
    #[error("the file has no private key in PEM: give the one that belongs to the certificate, not encrypted")]
    Key,
    /// A certificate and a key that do not fit, or not together.
    #[error("the certificate and the key cannot be used: {0}; give a key and the certificate that was made for it")]
    Identity(String),
    /// This machine trusts no certificates.
    #[error("this machine has no certificates to trust: install ca-certificates, or give --cacert FILE or --insecure")]
    NoRoots,
    /// Certificates that cannot be read.
    #[error("--cacert: {0}: give certificates in PEM, as in /etc/ssl/certs")]
    Roots(String),
}
