//! What is asked of an edge that runs: above all, how it gets its settings anew.

use crate::edge::EdgeParts;
use crate::edge_source::{EdgeSource, SourceError};
use crate::forward_scope::ForwardScope;
use crate::front::{FrontSettings, OpenFront, secure};
use crate::{Authority, ServerError, SettingProblem};
use loadstone_load::page::HostId;
use loadstone_load::{FileNumber, KeptEntry, NoWay, Purge, ServerAddress};
use rustls::ServerConfig;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// What is asked of an edge that runs, or said to it. Few of them are on their way at a time: who asks waits, the cache's disk
/// is only asked for what there is room for, and few names are looked up at a time.
#[derive(Debug)]
pub(crate) enum EdgeOrder {
    /// To go on with other settings.
    Change(Box<EdgeChange>),
    /// To say what it has done and has.
    Report(SyncSender<String>),
    /// To forget responses, and to say how many it has forgotten.
    Purge(Purge, SyncSender<u64>),
    /// A file of the cache was read; nothing if it cannot be.
    Read(FileNumber, Option<KeptEntry>),
    /// A file of the cache was written, or could not be.
    Written(FileNumber, bool),
    /// A name that a client has chosen leads to these addresses, or nowhere.
    LookedUp(Arc<ServerAddress>, Result<Vec<SocketAddr>, NoWay>),
}

/// Settings with which an edge that runs goes on.
#[derive(Debug)]
pub(crate) struct EdgeChange {
    pub(crate) front: FrontSettings,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) parts: EdgeParts,
    /// Dropped when they hold: for that the other end waits.
    pub(crate) done: oneshot::Sender<Infallible>,
}

/// Gives an edge that runs its settings anew, from any thread.
#[derive(Clone, Debug)]
pub struct EdgeControl {
    /// The fields that only count at the start, as they were.
    fixed: Arc<[(&'static str, String)]>,
    /// Who signs its certificates, if none was given at the start.
    authority: Option<Arc<Authority>>,
    orders: UnboundedSender<EdgeOrder>,
}

impl EdgeControl {
    /// That of an edge with this front and these parts, and where its orders come out.
    pub(crate) fn new(front: &OpenFront, parts: &EdgeParts) -> (EdgeControl, UnboundedReceiver<EdgeOrder>) {
        let (orders, receiver) = unbounded_channel();
        let authority = front.authority().cloned();
        (EdgeControl { fixed: fixed(&front.settings, parts).into(), authority, orders }, receiver)
    }

    /// Where orders for the edge go.
    pub(crate) fn orders(&self) -> UnboundedSender<EdgeOrder> {
        self.orders.clone()
    }

    /// Reads the settings again, and returns when they hold. Connections and requests that come are served by them; what is
    /// under way ends with what it has. Where the edge is leaving nothing changes.
    ///
    /// # Errors
    /// If a setting cannot be used, or cannot change while the edge runs: then it goes on as it was.
    pub fn reload(&self, source: &EdgeSource) -> Result<(), SourceError> {
        let (done, held) = oneshot::channel();
        let found = EdgeParts::find(source.settings()?);
        let change = found.and_then(|(front, parts)| self.checked(front, parts, done));
        // An edge that is leaving drops it, and nothing waits for it.
        let change = change.map_err(|error| source.placed(error))?;
        drop(self.orders.send(EdgeOrder::Change(Box::new(change))));
        let Err(_) = held.blocking_recv();
        Ok(())
    }

    fn checked(
        &self,
        front: FrontSettings,
        parts: EdgeParts,
        done: oneshot::Sender<Infallible>,
    ) -> Result<EdgeChange, ServerError> {
        let mut fields = fixed(&front, &parts).into_iter().zip(self.fixed.iter());
        if let Some(((field, _), (_, old))) = fields.find(|(new, old)| new != *old) {
            return Err(ServerError::setting(field, SettingProblem::Fixed { old: old.clone() }));
        }
        let tls = secure(&front, &front.protocols()?, &parts.hosts(), self.authority.as_ref())?.tls;
        Ok(EdgeChange { front, tls, parts, done })
    }
}

/// The fields that only count at the start.
fn fixed(front: &FrontSettings, parts: &EdgeParts) -> Vec<(&'static str, String)> {
    let admin = parts.admin.clone().unwrap_or_else(|| "left out".to_owned());
    let disk = parts.cache_folder().map_or_else(|| "left out".to_owned(), |path| path.display().to_string());
    let forward = parts.forward().map_or("left out", ForwardScope::name).to_owned();
    let others = [("admin.listen", admin), ("cache.disk", disk), ("behind.forward", forward)];
    front.fixed().into_iter().chain(others).collect()
}

/// Which servers have which places among the destinations of an edge.
#[derive(Debug)]
pub(crate) struct ServerPlaces(Vec<ServerAddress>);

impl ServerPlaces {
    /// Those of an edge that begins.
    pub(crate) fn new(servers: Vec<ServerAddress>) -> ServerPlaces {
        ServerPlaces(servers)
    }

    /// What a server is called that has a place.
    pub(crate) fn name(&self, HostId(at): HostId) -> String {
        self.0.get(at as usize).map(ServerAddress::to_string).unwrap_or_default()
    }

    /// The places of the servers that there are now. One that has been there keeps its own; another one takes that of a server
    /// that has gone and is not in use any more, so that there are never many.
    pub(crate) fn find(&mut self, servers: &[ServerAddress], is_used: impl Fn(HostId) -> bool) -> Vec<HostId> {
        let mut places = Vec::new();
        for server in servers {
            let ServerPlaces(known) = self;
            let is_free = |at: usize| !servers.contains(&known[at]) && !is_used(HostId(at as u32));
            let own = known.iter().position(|known| known == server);
            let at = own.or_else(|| (0..known.len()).find(|at| is_free(*at))).unwrap_or(known.len());
            match known.get_mut(at) {
                Some(place) => place.clone_from(server),
                None => known.push(server.clone()),
            }
            places.push(HostId(at as u32));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_its_place_and_one_that_has_gone_leaves_it_when_it_is_not_in_use_any_more() {
        let servers = |numbers: &[u32]| -> Vec<ServerAddress> {
            numbers.iter().map(|number| format!("http://{number}.test").parse().unwrap()).collect()
        };
        let mut places = ServerPlaces::new(servers(&[0, 1]));
        let all_used = |_| true;
        assert_eq!(places.find(&servers(&[1, 2]), all_used), [HostId(1), HostId(2)]);
        assert_eq!(places.find(&servers(&[3, 1]), |HostId(at)| at != 0), [HostId(0), HostId(1)], "0 has gone");
        assert_eq!(places.find(&servers(&[2, 0]), |_| false), [HostId(2), HostId(0)]);
        assert_eq!(places.0, servers(&[0, 1, 2]));
    }
}
