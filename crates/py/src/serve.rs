//! A server or an edge of one's own.

use crate::error::Failure;
use crate::kernel::Stopper;
use crate::recorded_site::RecordedSite;
use loadstone_http::Protocol;
use loadstone_live::{EdgeControl, EdgeProxy, EdgeSettings, EdgeSource, Finished, ServerError, ServerSettings, Stop};
use pyo3::prelude::*;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The options that set fields of a server's settings, as JSON.
#[pyfunction]
pub(crate) fn server_options_json() -> PyResult<String> {
    Ok(serde_json::to_string(&ServerSettings::options()).map_err(Failure::from)?)
}

/// The options that set fields of an edge's settings, as JSON.
#[pyfunction]
pub(crate) fn edge_options_json() -> PyResult<String> {
    Ok(serde_json::to_string(&EdgeSettings::options()).map_err(Failure::from)?)
}

/// What listens.
enum Listening {
    Origin(Box<loadstone_live::Server>),
    Edge(Box<EdgeProxy>),
}

impl Listening {
    fn run(self, leave: &Stop, end: &Stop) -> Result<Finished, ServerError> {
        match self {
            Listening::Origin(server) => server.run(leave, end),
            Listening::Edge(edge) => edge.run(leave, end),
        }
    }
}

/// A server or an edge that listens, and answers when it is run.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Server {
    /// Gone when it has been run.
    server: Mutex<Option<Listening>>,
    port: u16,
    address: String,
    protocols: Vec<&'static str>,
    root: Option<Vec<u8>>,
    /// What gives an edge its settings anew, and from where.
    control: Option<(EdgeControl, EdgeSource)>,
}

#[pymethods]
impl Server {
    /// Listens as the settings say, which are JSON. If there is a site, it is what is served.
    #[new]
    #[pyo3(signature = (json, site=None))]
    fn new(py: Python<'_>, json: &str, site: Option<&RecordedSite>) -> PyResult<Server> {
        let site = site.map(|site| site.site.clone());
        let server = py.detach(|| {
            let settings = ServerSettings::from_json(json.as_bytes())?;
            loadstone_live::Server::open(settings, site).map_err(Failure::from)
        })?;
        let (address, protocols, root) =
            (server.address(), server.protocols().to_vec(), server.root().map(<[u8]>::to_vec));
        Ok(Server::of(Listening::Origin(Box::new(server)), address, &protocols, root))
    }

    /// An edge, which listens as its file and options say: origins as NAME=URL, and as JSON what others set, by the
    /// paths of their fields.
    #[staticmethod]
    fn edge(py: Python<'_>, file: Option<PathBuf>, origins: Vec<String>, given: &str) -> PyResult<Server> {
        let given = serde_json::from_str(given).map_err(Failure::from)?;
        let source = EdgeSource { file, origins, given };
        let edge = py.detach(|| EdgeProxy::of(&source).map_err(Failure::from))?;
        let control = (edge.control(), source);
        let (address, protocols, root) = (edge.address(), edge.protocols().to_vec(), edge.root().map(<[u8]>::to_vec));
        Ok(Server { control: Some(control), ..Server::of(Listening::Edge(Box::new(edge)), address, &protocols, root) })
    }

    /// What an edge speaks, where each name leads, and where it listens, a line for each.
    #[getter]
    fn ways(&self) -> Vec<String> {
        self.of_edge(EdgeProxy::ways).unwrap_or_default()
    }

    /// Whether an edge's access log goes to standard output.
    #[getter]
    fn logs_to_standard_output(&self) -> bool {
        self.of_edge(EdgeProxy::logs_to_standard_output).unwrap_or_default()
    }

    /// Where it listens: address and port.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// The port at which it listens.
    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    /// What it speaks, the best first.
    #[getter]
    fn protocols(&self) -> Vec<&'static str> {
        self.protocols.clone()
    }

    /// The certificate that clients have to trust, in DER; `None` if there is no TLS, or if it was given.
    #[getter]
    fn root(&self) -> Option<&[u8]> {
        self.root.as_deref()
    }

    /// Gives an edge that runs its settings anew: its file and what options name are read again.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        let Some((control, source)) = &self.control else { return Ok(()) };
        Ok(py.detach(|| control.reload(source).map_err(Failure::from))?)
    }

    /// Serves, once, until `leave` stops it, and then on until what is under way is over or `end` stops
    /// it. Gives how many connections were cut off at the end.
    fn run(&self, py: Python<'_>, leave: &Stopper, end: &Stopper) -> PyResult<usize> {
        let Some(server) = self.server.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(0);
        };
        let (leave, end) = (leave.signal(), end.signal());
        let finished = py.detach(|| server.run(leave, end).map_err(Failure::from))?;
        Ok(finished.still_open)
    }
}

impl Server {
    /// What is to be known of an edge that has not been run.
    fn of_edge<T>(&self, ask: impl FnOnce(&EdgeProxy) -> T) -> Option<T> {
        match self.server.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(Listening::Edge(edge)) => Some(ask(edge)),
            _ => None,
        }
    }

    fn of(listening: Listening, address: SocketAddr, protocols: &[Protocol], root: Option<Vec<u8>>) -> Server {
        Server {
            port: address.port(),
            address: address.to_string(),
            protocols: protocols.iter().copied().map(Protocol::name).collect(),
            root,
            server: Mutex::new(Some(listening)),
            control: None,
        }
    }
}
