//! Where packets of a run are seen: at hosts, as by tcpdump, or at a link.

use crate::{Capture, Captured};
use loadstone_net::{Fate, LinkId};
use loadstone_units::Time;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Where packets are captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapturePoint {
    /// At the browsers: what they send, and what arrives there.
    Client,
    /// At the hosts to which connections are opened, each of them: what they send, and what arrives there.
    Server,
    /// At the access link of the first browser: all that comes to it, in either direction, also what it loses.
    Link,
}

/// No capture point has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no such place for a capture: give client, server or link")]
pub struct UnknownCapturePoint;

/// A packet where it is captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sighting {
    /// When, from the beginning of the file's clock on.
    pub(crate) at: Duration,
    /// Its place in [`Capture::packets`].
    pub(crate) packet: usize,
}

impl CapturePoint {
    /// All of them, the default first.
    pub const ALL: [CapturePoint; 3] = [CapturePoint::Client, CapturePoint::Server, CapturePoint::Link];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CapturePoint::Client => "client",
            CapturePoint::Server => "server",
            CapturePoint::Link => "link",
        }
    }
}

impl fmt::Display for CapturePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CapturePoint {
    type Err = UnknownCapturePoint;

    fn from_str(name: &str) -> Result<CapturePoint, UnknownCapturePoint> {
        CapturePoint::ALL.into_iter().find(|point| point.name() == name).ok_or(UnknownCapturePoint)
    }
}

impl Capture {
    /// The packets that are seen at a point, in the order of time; the run's time 0 is at `epoch`. A packet that a
    /// server sent just before that is seen before it.
    pub(crate) fn sightings(&self, point: CapturePoint, epoch: Duration) -> Vec<Sighting> {
        let since = |at: Time| epoch + Duration::from_nanos(at.as_nanos());
        let sighting = |(place, packet): (usize, &Captured)| {
            let at = match point {
                CapturePoint::Link => (packet.link.link() == self.access_link).then(|| since(packet.entered)),
                CapturePoint::Client | CapturePoint::Server => self.seen_at_host(packet, point, since),
            };
            Some(Sighting { at: at?, packet: place })
        };
        let mut sightings: Vec<Sighting> = self.packets.iter().enumerate().filter_map(sighting).collect();
        // Stable: what is sent at the moment of an arrival comes after it, as it came to its link later.
        sightings.sort_by_key(|sighting| sighting.at);
        sightings
    }

    /// When a packet leaves the host at this end of its connection, or arrives there.
    fn seen_at_host(
        &self,
        packet: &Captured,
        point: CapturePoint,
        since: impl Fn(Time) -> Duration,
    ) -> Option<Duration> {
        let connection = self.connections.get(packet.connection as usize)?;
        let ends = self.route_ends(packet)?;
        let is_at_client = point == CapturePoint::Client;
        if is_at_client && connection.client as usize >= self.browsers {
            return None;
        }
        let is_at = |link: LinkId| link == packet.link;
        if (packet.sender == connection.client) == is_at_client {
            return is_at(ends.first).then(|| since(packet.entered) - ends.before_first);
        }
        match packet.fate {
            Fate::Delivered(due) if is_at(ends.last) => Some(since(due)),
            _ => None,
        }
    }
}
