//! A connection of the browser's, and what was asked for on it.

use crate::page::{ActivityId, HostId};
use loadstone_http::{ClientSession, RequestId, Wire};
use loadstone_units::Time;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct BrowserConnection {
    pub(super) host: HostId,
    /// Other hosts whose requests it carries.
    pub(super) guests: Vec<HostId>,
    /// Whether it may carry those of others: it is secure, and of a protocol with many streams.
    pub(super) is_shared: bool,
    pub(super) stage: BrowserStage,
    /// The objects asked for, by the numbers of their streams; none where the stream was reset.
    pub(super) streams: Vec<Option<ActivityId>>,
    /// The objects that are being pushed.
    pub(super) pushes: BTreeMap<RequestId, ActivityId>,
    /// It takes no more requests.
    pub(super) is_retired: bool,
    /// The browser still computes for its handshake: until then it takes none.
    pub(super) is_settling: bool,
    /// Whether the other end has answered.
    pub(super) is_connected: bool,
    /// Whether it was opened since another one was not answered for long.
    pub(super) is_backup: bool,
    /// When something last came or went out.
    pub(super) heard: Time,
    /// What a session that is over still has to say: why.
    pub(super) farewell: Wire,
}

#[derive(Debug)]
pub(super) enum BrowserStage {
    Connecting,
    Established(Box<dyn ClientSession>),
    Ended,
}

impl BrowserConnection {
    /// A connection that is being opened.
    pub(super) fn to(host: HostId, now: Time) -> BrowserConnection {
        BrowserConnection {
            host,
            guests: Vec::new(),
            is_shared: false,
            stage: BrowserStage::Connecting,
            streams: Vec::new(),
            pushes: BTreeMap::new(),
            is_retired: false,
            is_settling: false,
            is_connected: false,
            is_backup: false,
            heard: now,
            farewell: Wire::default(),
        }
    }

    /// The hosts whose requests it carries, its own the last.
    pub(super) fn hosts(&self) -> impl Iterator<Item = HostId> + Clone + use<> {
        self.guests.clone().into_iter().chain([self.host])
    }

    /// The object that comes on a stream.
    pub(super) fn object(&self, id: RequestId) -> Option<ActivityId> {
        if id.is_pushed() { self.pushes.get(&id).copied() } else { self.streams[id.0 as usize] }
    }

    /// What is to come on a stream does not.
    pub(super) fn let_go(&mut self, id: RequestId) {
        if id.is_pushed() {
            self.pushes.remove(&id);
        } else {
            self.streams[id.0 as usize] = None;
        }
    }

    /// Nothing comes on it any more.
    pub(super) fn forget(&mut self) {
        self.streams.clear();
        self.pushes.clear();
    }

    /// The objects that were asked for or announced here.
    pub(super) fn objects(&self) -> impl Iterator<Item = ActivityId> + '_ {
        self.streams.iter().flatten().chain(self.pushes.values()).copied()
    }

    /// Whether the server leaves, and has taken some of what it was asked for: what it has refused it might have
    /// taken, too, had it come earlier.
    pub(super) fn leaves_after_work(&self) -> bool {
        matches!(&self.stage, BrowserStage::Established(session) if session.is_closing())
            && self.objects().next().is_some()
    }

    pub(super) fn session(&mut self) -> Option<&mut dyn ClientSession> {
        match &mut self.stage {
            BrowserStage::Established(session) => Some(session.as_mut()),
            BrowserStage::Connecting | BrowserStage::Ended => None,
        }
    }
}
