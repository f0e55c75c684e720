//! Errors of the engine as one Python exception.

use loadstone_answer::NotPairs;
#[cfg(target_os = "linux")]
use loadstone_bed::{BedError, BedHost, CommandBedError, ReplayError, RunError};
use loadstone_capture::{KeyLogError, ReadError};
use loadstone_http::UnknownProtocol;
use loadstone_http::decode::DecodeError;
#[cfg(target_os = "linux")]
use loadstone_live::{ServerError, SourceError};
use loadstone_load::page::har::HarError;
use loadstone_load::page::recording::RecordingError;
use loadstone_load::page::synthetic::SyntheticError;
use loadstone_load::page::zstd::ZstdError;
use loadstone_load::page::{NoReplay, PageError, UnknownChange};
use loadstone_load::{EdgeFileError, FetchListError, UrlListError};
use loadstone_net::NetworkError;
use loadstone_scenario::{CaptureTableError, ScenarioError, UnknownCapturePoint};
use loadstone_units::JsonError;
use pyo3::PyErr;
use pyo3::exceptions::PyException;

pyo3::create_exception!(
    _native,
    LoadstoneError,
    PyException,
    "What was given cannot be used. The first argument says why, in one sentence; the second is the\n\
     path of the scenario's field that is at fault, for instance `variant.tcp.iw`, or is empty."
);

/// An error on its way to Python.
pub(crate) struct Failure {
    why: String,
    field: String,
}

impl Failure {
    /// What was given cannot be used, for this reason.
    pub(crate) fn new(why: String) -> Failure {
        Failure { why, field: String::new() }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        LoadstoneError::new_err((failure.why, failure.field))
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Failure {
        Failure { why: error.problem.to_string(), field: error.field }
    }
}

macro_rules! without_a_field {
    ($($error:ty),+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure { why: error.to_string(), field: String::new() }
            }
        }
    )+};
}

without_a_field!(
    PageError,
    HarError,
    RecordingError,
    ZstdError,
    NotPairs,
    SyntheticError,
    UnknownProtocol,
    UnknownChange,
    NoReplay,
    NetworkError,
    DecodeError,
    rayon::ThreadPoolBuildError,
    EdgeFileError,
    FetchListError,
    UrlListError,
    CaptureTableError,
    ReadError,
    KeyLogError,
    UnknownCapturePoint,
    JsonError,
    serde_json::Error
);

#[cfg(target_os = "linux")]
without_a_field!(loadstone_live::Error, loadstone_live::NoWebUrl, ReplayError, SourceError);

#[cfg(target_os = "linux")]
impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let field = match &error {
            RunError::Unsupported { field, what } => return Failure { why: what.to_string(), field: field.clone() },
            RunError::Bed(BedError::Congestion { host: BedHost::CLIENT, .. }) => "variant.client_tcp.cc",
            RunError::Bed(BedError::Congestion { .. }) => "variant.tcp.cc",
            _ => "",
        };
        Failure { why: error.to_string(), field: field.to_owned() }
    }
}

#[cfg(target_os = "linux")]
impl From<BedError> for Failure {
    fn from(error: BedError) -> Failure {
        RunError::from(error).into()
    }
}

#[cfg(target_os = "linux")]
impl From<CommandBedError> for Failure {
    fn from(error: CommandBedError) -> Failure {
        match error {
            CommandBedError::Run(error) => error.into(),
            error => Failure::new(error.to_string()),
        }
    }
}

#[cfg(target_os = "linux")]
impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Failure {
        match error {
            ServerError::Setting { field, problem } => Failure { why: problem.to_string(), field },
            error => Failure { why: error.to_string(), field: String::new() },
        }
    }
}
