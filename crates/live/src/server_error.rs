//! Why a server or an edge cannot be set up, or could not go on.

use crate::{Error, LogError};
use loadstone_load::NoServerAddress;
use loadstone_load::page::PageError;
use loadstone_units::JsonError;
use loadstone_units::json::Mismatch;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server or an edge cannot be set up, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A setting cannot be used.
    #[error("{problem}")]
    Setting {
        /// The path of the field that is at fault; empty for the whole.
        field: String,
        /// What is wrong with it.
        problem: SettingProblem,
    },
    /// The recorded page is none.
    #[error(transparent)]
    Page(#[from] PageError),
    /// It cannot listen there.
    #[error("cannot listen on {address}: {error}; give HOST:PORT of this machine with a port that is free, or port 0")]
    Listen {
        /// What was given.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// There are no files to give.
    #[error("{}: {error}; give a directory that can be read", path.display())]
    Directory {
        /// What was given.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The manifest lists something that the server does not have.
    #[error("the manifest lists '{0}', which is not there: correct it, or leave it out")]
    Missing(String),
    /// The access log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It cannot be hosted.
    #[error(transparent)]
    Hosting(#[from] Error),
}

/// Why a setting cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SettingProblem {
    /// It is not JSON.
    #[error(transparent)]
    Json(JsonError),
    /// A field is unknown or missing, or its value is not one of its own.
    #[error(transparent)]
    Value(Mismatch),
    /// A protocol that no server speaks.
    #[error("unknown protocol '{name}': use {known}")]
    UnknownProtocol {
        /// What was given.
        name: String,
        /// What there is.
        known: String,
    },
    /// Two things to serve.
    #[error("either files are served or a recording: leave one out")]
    FilesAndPage,
    /// An edge without origins.
    #[error(
        "there is no origin: give the name that clients ask for and where its server is, as in a.test=http://127.0.0.1:8080"
    )]
    NoOrigins,
    /// A name without a server.
    #[error("no URL: give one, as in http://127.0.0.1:8080")]
    NoUrl,
    /// A path that no request can have.
    #[error("'{0}' is no path: write it as in URLs, as in /healthz")]
    CheckPath(String),
    /// A name that no request can have.
    #[error("'{0}' is no name of a host: write it as in URLs, as in www.a.test or a.test:8443")]
    OriginName(String),
    /// No URL of a server.
    #[error(transparent)]
    Origin(#[from] NoServerAddress),
    /// What only counts at the start.
    #[error("it cannot change while the edge runs, and stays {old}: put that back, or start the edge again")]
    Fixed {
        /// What it was.
        old: String,
    },
    /// A folder for a cache that cannot be used.
    #[error("{0}; give a folder that can be written, or one that can be made")]
    CacheFolder(String),
    /// A folder for a cache that is taken.
    #[error("{0} is in use by another edge: give each its own")]
    CacheFolderInUse(String),
    /// A disk without memory.
    #[error("what is on the disk is answered from memory: give the cache bytes of that, too (cache.bytes, --cache)")]
    DiskWithoutMemory,
    /// An edge that goes anywhere, for clients from anywhere.
    #[error(
        "it goes where its clients say, so these have to be on this machine, but it listens on {0}: listen on 127.0.0.1 or [::1]"
    )]
    ForwardForOthers(SocketAddr),
    /// A server that is nowhere.
    #[error("no address is known for '{0}': correct the name of the origin's host, or give its address")]
    Unresolved(String),
}

impl ServerError {
    pub(crate) fn setting(field: &str, problem: SettingProblem) -> ServerError {
        ServerError::Setting { field: field.to_owned(), problem }
    }

    /// Settings that could not be read from JSON.
    pub(crate) fn json(error: JsonError) -> ServerError {
        match error {
            JsonError::Mismatch { path, mismatch } => ServerError::setting(&path, SettingProblem::Value(mismatch)),
            other => ServerError::setting("", SettingProblem::Json(other)),
        }
    }
}
