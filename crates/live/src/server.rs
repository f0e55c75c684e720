//! The server of `loadstone serve`: its settings, and how it serves until it is shut down.

use crate::access_log::Log;
use crate::front::{self, FrontSettings, MAX_KEPT, OpenFront};
use crate::graceful::{Finished, Orders};
use crate::served::{Dotfiles, Manifest, Ports, PushOrHint, RecordedSite, ServedContent};
use crate::server_error::{ServerError, SettingProblem};
use crate::{Clock, Identity, Stop};
use loadstone_http::{Multiplexing, Protocol, Scheme, SessionFactory};
use loadstone_load::page::{Page, PageFile};
use loadstone_load::{Origin, OriginConfig};
use loadstone_units::json;
use loadstone_units::options::CommandOption;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

/// How a server is set up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// What clients meet.
    front: FrontSettings,
    /// The directory whose files it serves.
    #[serde(default)]
    directory: Option<PathBuf>,
    #[serde(default)]
    dotfiles: Dotfiles,
    /// The recorded page that it serves instead.
    #[serde(default)]
    page: Option<PageFile>,
    #[serde(default)]
    patterns: bool,
    #[serde(default)]
    manifest: Manifest,
    #[serde(default, rename = "telling")]
    announce: PushOrHint,
}

impl ServerSettings {
    /// The options that set its fields.
    pub fn options() -> Vec<CommandOption> {
        let schema = schema_for!(ServerSettings);
        front::OPTIONS.iter().map(|option| option.describe(&schema, &Value::Null)).collect()
    }

    /// Reads settings from JSON; the fields are the options of `loadstone serve`.
    ///
    /// # Errors
    /// If a field is unknown, or not in its range.
    pub fn from_json(text: &[u8]) -> Result<ServerSettings, ServerError> {
        json::from_slice(text).map_err(ServerError::json)
    }
}

/// A server that listens, and answers when it is run.
#[derive(Debug)]
pub struct Server {
    front: OpenFront,
    content: ContentSettings,
    recording: Option<Recording>,
    /// Which ports the recorded hosts have.
    ports: Ports,
}

/// What is served, but for recordings.
#[derive(Default, Debug)]
struct ContentSettings {
    directory: Option<PathBuf>,
    dotfiles: Dotfiles,
    patterns: bool,
    manifest: Manifest,
    announce: PushOrHint,
}

/// What was recorded, as servers have it.
#[derive(Clone, Debug)]
pub enum Recording {
    /// The objects of a page, whose content is the pattern.
    Page(Arc<Page>),
    /// Responses with their content.
    Site(Arc<RecordedSite>),
}

impl Recording {
    fn hosts(&self) -> Vec<&str> {
        match self {
            Recording::Page(page) => page.hosts.iter().map(|host| &host.name[..]).collect(),
            Recording::Site(site) => site.hosts().iter().map(String::as_str).collect(),
        }
    }
}

impl Server {
    /// Listens, and sees that all is there that it needs. If there is a recorded site, it is what is served.
    ///
    /// # Errors
    /// If something is not.
    pub fn open(settings: ServerSettings, site: Option<Arc<RecordedSite>>) -> Result<Server, ServerError> {
        let ServerSettings { front, directory, dotfiles, page, patterns, manifest, announce } = settings;
        front.protocols()?;
        let page = page.as_ref().map(PageFile::build).transpose()?;
        let recording = site.map(Recording::Site).or_else(|| page.map(|page| Recording::Page(Arc::new(page))));
        let ports = Ports::One(front.scheme());
        let content = ContentSettings { directory, dotfiles, patterns, manifest, announce };
        if let Some(missing) = content.served(recording.as_ref(), front.scheme(), ports)?.missing() {
            return Err(ServerError::Missing(missing));
        }
        let hosts: Vec<&str> = recording.iter().flat_map(Recording::hosts).collect();
        let front = OpenFront::open(front, &hosts)?;
        Ok(Server { front, content, recording, ports })
    }

    /// One that serves a recording at one of the two ports of its hosts, and speaks these protocols, the best first: by TLS if it has an
    /// identity, else the first of them alone.
    ///
    /// # Errors
    /// If it cannot listen there, or the identity's key is another's.
    pub fn of_recording(
        recording: Recording,
        address: SocketAddr,
        protocols: Vec<Protocol>,
        identity: Option<Identity>,
        multiplexing: Multiplexing,
    ) -> Result<Server, ServerError> {
        let front = OpenFront::at(address, protocols, identity, multiplexing)?;
        let (content, recording) = (ContentSettings::default(), Some(recording));
        Ok(Server { front, content, recording, ports: Ports::Both })
    }

    /// The same, announcing what a manifest lists.
    #[must_use]
    pub fn announcing(mut self, manifest: Manifest, announce: PushOrHint) -> Server {
        (self.content.manifest, self.content.announce) = (manifest, announce);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.front.address
    }

    /// What it speaks, the best first; without TLS the one that clients have to know.
    pub fn protocols(&self) -> &[Protocol] {
        &self.front.protocols
    }

    /// The certificate that clients have to trust, in DER; none if there is no TLS, or if it was given.
    pub fn root(&self) -> Option<&[u8]> {
        self.front.root()
    }

    /// Serves until `graceful` comes: then stops listening, announces the shutdown on all connections, and lets what
    /// is under way finish, until `immediate` comes or its grace is over.
    ///
    /// # Errors
    /// If the system has no files left for an event loop or for a first connection, or if the access log
    /// could not be written.
    pub fn run(self, graceful: &Stop, immediate: &Stop) -> Result<Finished, ServerError> {
        let Server { mut front, content, recording, ports } = self;
        let clock = Clock::start();
        let log = front.begin_log()?;
        let content = content.served(recording.as_ref(), front.settings.scheme(), ports)?;
        let content = content.with_log(log.as_ref().map(Log::entries));
        let (bodies, timeouts) = (content.bodies(), front.settings.timeouts());
        let sessions = Arc::new(SessionFactory::isolated(front.settings.multiplexing));
        let origin = Origin::new(content, OriginConfig { timeouts, max_kept: MAX_KEPT, ..OriginConfig::new(sessions) });
        // Nobody changes it.
        let (_, others) = unbounded_channel();
        front.run(&clock, origin, None, Rc::new(bodies), log, Orders { graceful, immediate, others })
    }
}

impl ContentSettings {
    /// What the server serves, without a log.
    fn served(
        &self,
        recording: Option<&Recording>,
        scheme: Scheme,
        ports: Ports,
    ) -> Result<ServedContent, ServerError> {
        let mut content = ServedContent::new().with_manifest(self.manifest.clone(), self.announce);
        if self.patterns {
            content = content.with_patterns();
        }
        match (&self.directory, recording) {
            (Some(path), None) => {
                let unreadable = |error| ServerError::Directory { path: path.clone(), error };
                content.with_files(path, self.dotfiles).map_err(unreadable)
            }
            (None, Some(Recording::Page(page))) => Ok(content.with_recording(page.clone())),
            (None, Some(Recording::Site(site))) => Ok(content.with_site(site.clone(), scheme, ports)),
            (None, None) => Ok(content),
            (Some(_), Some(_)) => Err(ServerError::setting("page", SettingProblem::FilesAndPage)),
        }
    }
}
