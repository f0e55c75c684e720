//! Where a request goes: which servers may answer it, and where it has been.

use super::requester::Requester;
use crate::ServerAddress;
use crate::page::HostId;
use std::sync::Arc;

/// How often a request is given a connection that is lost before anything of it is sent, or of its response comes.
const MAX_TRIES: u32 = 2;

/// Where a request goes: which servers may answer it, and where it has been.
#[derive(Clone, Debug)]
pub(super) struct RequestRoute {
    /// On whose behalf.
    pub(super) requester: Requester,
    /// The name that its client has chosen, if it is not one that the relay was given.
    pub(super) name: Option<Arc<ServerAddress>>,
    /// The servers of its name, each of which has all that may be asked for. None as long as that is not known.
    pub(super) servers: Arc<[HostId]>,
    /// The one that it was given to last.
    pub(super) server: Option<HostId>,
    /// Those to which no connection could be opened for it.
    unreached: Vec<HostId>,
    /// How many connections it has had.
    tries: u32,
}

impl RequestRoute {
    /// That of a request which has been nowhere yet.
    pub(super) fn new(requester: Requester, servers: Arc<[HostId]>) -> RequestRoute {
        RequestRoute { requester, name: None, servers, server: None, unreached: Vec::new(), tries: 0 }
    }

    /// That of a request whose client says where it goes.
    pub(super) fn chosen_by(requester: Requester, name: ServerAddress) -> RequestRoute {
        RequestRoute { name: Some(Arc::new(name)), ..RequestRoute::new(requester, Arc::default()) }
    }

    /// Whether its client says where it goes: what comes from there is for this client alone, since nobody answers for the name.
    pub(super) fn is_clients(&self) -> bool {
        self.name.is_some()
    }

    /// It has got a connection.
    pub(super) fn note_connection(&mut self) {
        self.tries += 1;
    }

    /// No connection to its server could be opened: it has been nowhere, and need not go there again.
    pub(super) fn note_unreached(&mut self) {
        self.unreached.extend(self.server);
    }

    /// Whether it has had no connection yet, or may have another one.
    pub(super) fn goes_on(&self) -> bool {
        self.tries < MAX_TRIES
    }

    /// The servers that it may still go to.
    pub(super) fn open(&self) -> impl Iterator<Item = HostId> {
        self.servers.iter().copied().filter(|server| !self.unreached.contains(server))
    }
}
