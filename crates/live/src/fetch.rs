//! Fetches what an errand names: a fetcher on sockets, whose bodies are hashed and, if wanted, written.

use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::host::{HostLoop, block_on};
use crate::resolver::{ResolvedAddress, look_up};
use crate::save::{Digest, Folder, Saved, Saving};
use crate::{
    Bodies, ClientTls, Clock, Destinations, Error, Limits, NOTSENT_LOWAT, PathNotes, RecordKeeping, SocketRecord, Stop,
    Target,
};
use bytes::Bytes;
use loadstone_http::{BodyId, Protocol, Scheme};
use loadstone_load::{FetchList, Fetcher, FetcherConfig, ServerAddress, Transfer, TransferId, Unanswered, Use};
use loadstone_units::Time;
use nix::time::{ClockId, clock_gettime};
use rustls::ClientConfig;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take until it can be used. Then a server is looked for at its next address.
const FETCH_LIMITS: Limits = Limits { handshake_timeout: Duration::from_secs(10), ..Limits::UNLIMITED };

/// How servers are reached, and what is done with what they send.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Servers that are elsewhere than their names say.
    pub places: Vec<ResolvedAddress>,
    /// How TLS is spoken: [`crate::Trust::config`] makes one.
    pub tls: Arc<ClientConfig>,
    /// The body that requests send.
    pub payload: Bytes,
    /// Where bodies are written to.
    pub folder: Option<Folder>,
    /// For how long it may go on.
    pub timeout: Duration,
}

/// What came of an errand. Times are the clock's.
#[derive(Debug)]
pub struct Fetched {
    /// All transfers, by their [`TransferId`]s.
    pub transfers: Vec<Transfer>,
    /// SHA-256 of each one's body; `None` where it is not complete.
    pub digests: Vec<Option<Digest>>,
    /// Bodies that could not be written, and why.
    pub unwritten: BTreeMap<TransferId, io::Error>,
    /// The connections, by `ConnId`.
    pub connections: Vec<(SocketRecord, Use)>,
    /// When it began, with names to be looked up.
    pub began: Time,
    /// When it was over.
    pub over: Time,
    /// The CPU time that it took.
    pub cpu: Duration,
}

/// Carries out `errand`. Returns when nothing more is to come, the timeout is reached, or it is told to stop: what
/// has come until then is returned in any case. It runs on this thread; names are looked up on others.
///
/// # Errors
/// If no certificate can have a server's name, or the system has no files left for an event loop.
pub fn fetch(
    clock: &Clock,
    errand: FetchList,
    config: FetcherConfig,
    reach: &Reach,
    stop: &Stop,
) -> Result<Fetched, Error> {
    block_on(async {
        let (servers, tls, protocol) = (errand.servers().to_vec(), tls_of(&errand, reach)?, config.protocol);
        let fetcher = Fetcher::new(errand, config);
        let (began, cpu) = (clock.now(), cpu_time());
        let until = began + reach.timeout;
        let found = look_up(&servers, &reach.places, (clock, until, stop)).await?;
        let destinations = destinations(&tls, found.as_deref().unwrap_or_default(), protocol, reach.timeout);
        let (saving, connections) = (
            Saving::new(fetcher, reach.folder.clone()),
            ConnectionTable::new(destinations.limits, RecordKeeping::Collect),
        );
        let mut host = HostLoop::new(clock, saving, Some(&destinations), Vec::new(), connections)?;
        host.bodies = Rc::new(UploadedBytes(reach.payload.clone()));
        if let Some(found) = found {
            host.program.start(&found.iter().map(|addresses| addresses.len() as u32).collect::<Vec<_>>());
            host.run_actions(clock.now())?;
            host.run(until, stop.wait(), |host| host.program.is_over()).await?;
        }
        let (over, cpu) = (clock.now(), cpu_time().saturating_sub(cpu));
        let (saving, ClosedTable { records, .. }) = host.finish();
        let why = if stop.is_stopped() { Unanswered::Interrupted } else { Unanswered::TimedOut };
        let Saved { transfers, uses, digests, unwritten } = saving.finish(why);
        let used = |record: SocketRecord| {
            let used = uses[record.conn.0 as usize];
            (record, used)
        };
        let connections = records.into_iter().map(used).collect();
        Ok(Fetched { transfers, digests, unwritten, connections, began, over, cpu })
    })
}

/// Each server's TLS; none for plain TCP.
fn tls_of(errand: &FetchList, reach: &Reach) -> Result<Vec<Option<ClientTls>>, Error> {
    let tls = |server: &ServerAddress| match server.scheme {
        Scheme::Http => Ok(None),
        Scheme::Https => ClientTls::named(reach.tls.clone(), &server.host).map(Some),
    };
    errand.servers().iter().map(tls).collect()
}

/// How to get to where the servers were found.
fn destinations(
    tls: &[Option<ClientTls>],
    found: &[Vec<SocketAddr>],
    protocol: Option<Protocol>,
    timeout: Duration,
) -> Destinations {
    let places = tls.iter().zip(found).flat_map(|(tls, found)| found.iter().map(move |address| (tls, *address)));
    let protocol = protocol.unwrap_or(Protocol::Http1);
    let targets = places.map(|(tls, address)| Target { address, tls: tls.clone(), protocol }).collect();
    let (limits, path_notes) = (FETCH_LIMITS, PathNotes::None);
    Destinations { targets, names: None, notsent_lowat: NOTSENT_LOWAT, timeout, limits, path_notes }
}

/// The one body that all requests send.
#[derive(Debug)]
struct UploadedBytes(Bytes);

impl Bodies for UploadedBytes {
    fn append(&self, _: BodyId, offset: u64, len: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0[offset as usize..(offset + len) as usize]);
    }
}

/// The CPU time of this thread so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
