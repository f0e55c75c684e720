//! How far the servers were, and how long they thought: what was waited for a response, less the
//! way there and back.

use super::fetched::{HarFetch, MAX_MS};
use super::spoken::{self, RecordedProtocol};
use super::url;
use crate::page::build::MAX_THINK_MS;
use std::collections::BTreeMap;

/// Less is no round trip to a server, but what the browser needs to take a connection that it has, in ms.
const SHORTEST_MS: f64 = 1.0;
/// Bytes of content in a segment.
const SEGMENT: u64 = 1448;
/// Segments of the first flight of a connection (RFC 6928).
const FLIGHT: u64 = 10;
/// Bytes of the first flight: the head of a longer response comes a round trip later on a new connection, because
/// servers put 16 KB into a record of TLS, which can be read only as a whole.
const INITIAL_WINDOW: u64 = FLIGHT * SEGMENT;
/// Bytes of the longest record of TLS (RFC 8446, section 5.1).
const RECORD: u64 = 16_384;
/// How many responses before another one are looked at: servers send no more at a time (SETTINGS_MAX_CONCURRENT_STREAMS).
const AT_ONCE: usize = 100;
/// A response that comes so soon after another one was waiting for it.
const RIGHT_BEHIND_MS: f64 = 3.0;
/// Bytes that a server has written on a connection before the client has them: what is ready only then has to wait for
/// them, however urgent it is. So many Linux takes at the beginning of a connection, in whole records of TLS.
const WRITTEN_AHEAD: f64 = 4.0 * RECORD as f64;

/// What is known of the way to the servers and their speed.
pub(super) struct Waits {
    hosts: BTreeMap<String, Least>,
    connect: Option<f64>,
    /// The responses of each connection that carries many.
    shared: BTreeMap<String, Vec<Arrival>>,
    /// The usual thinking of each host about a response that nothing kept waiting.
    usual: BTreeMap<String, f64>,
}

#[derive(Clone, Copy, Default)]
struct Least {
    connect: Option<f64>,
    wait: Option<f64>,
}

/// A response on a connection with others.
#[derive(Clone, Copy)]
struct Arrival {
    /// When its request was sent, and when it came, from and until.
    sent: f64,
    from: f64,
    until: f64,
    urgency: u32,
    bytes: u64,
}

impl Arrival {
    fn of(fetched: &HarFetch<'_>) -> Option<Arrival> {
        let parts = [&fetched.timings.blocked, &fetched.timings.dns, &fetched.timings.connect, &fetched.timings.send];
        let before: f64 = parts.iter().filter_map(|part| part.positive()).sum();
        let sent = fetched.began + before;
        let from = sent + wait(fetched)?;
        let urgency = fetched.urgency().map_or(u32::MAX, |urgency| urgency.get());
        Some(Arrival { sent, from, until: from.max(fetched.ended), urgency, bytes: fetched.bytes })
    }

    /// What share of it came between two moments, if it came evenly.
    fn share(&self, from: f64, until: f64) -> f64 {
        let span = self.until - self.from;
        if span <= 0.0 {
            return f64::from(u8::from((from..=until).contains(&self.from)));
        }
        ((self.until.min(until) - self.from.max(from)) / span).clamp(0.0, 1.0)
    }

    /// In how many segments: the last one is not full, since the server has written it by itself.
    fn segments(&self) -> f64 {
        (self.bytes / SEGMENT + 1) as f64
    }

    /// How many of them had come by a moment: the first record of TLS at once.
    fn segments_until(&self, at: f64) -> f64 {
        if at < self.from { 0.0 } else { self.first_record().max(self.segments() * self.share(self.from, at)) }
    }

    /// In how many segments its first record of TLS is.
    fn first_record(&self) -> f64 {
        (self.bytes.min(RECORD) / SEGMENT + 1) as f64
    }

    /// Whether a server that sends by urgency, and of equals in the order of requests, sends it before another.
    fn goes_before(&self, other: &Arrival) -> bool {
        (self.urgency, self.sent) < (other.urgency, other.sent)
    }
}

impl Waits {
    /// The smallest times of each host.
    pub(super) fn of(entries: &[HarFetch<'_>]) -> Waits {
        let answered = || entries.iter().filter(|fetched| fetched.skip.is_none() && !fetched.is_name_error);
        let mut hosts: BTreeMap<String, Least> = BTreeMap::new();
        let mut shared: BTreeMap<String, Vec<Arrival>> = BTreeMap::new();
        for fetched in answered() {
            let min = hosts.entry(host(fetched)).or_default();
            min.connect = smaller(min.connect, connect(fetched));
            min.wait = smaller(min.wait, wait(fetched));
            if let (Some(connection), Some(arrival)) = (shared_connection(fetched), Arrival::of(fetched)) {
                shared.entry(connection).or_default().push(arrival);
            }
        }
        shared.values_mut().for_each(|arrivals| arrivals.sort_by(|a, b| a.from.total_cmp(&b.from)));
        let connect = hosts.values().fold(None, |min, host| smaller(min, host.connect));
        let mut waits = Waits { hosts, connect, shared, usual: BTreeMap::new() };
        let mut known: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for fetched in answered() {
            let (least, most) = waits.bounds(fetched);
            if least == most {
                known.entry(host(fetched)).or_default().push(most);
            }
        }
        waits.usual = known.into_iter().map(|(host, thinks)| (host, lower_median(thinks))).collect();
        waits
    }

    /// The shortest handshake with each host that has one, in ms.
    pub(super) fn handshakes_ms(&self) -> BTreeMap<String, f64> {
        self.hosts.iter().filter_map(|(host, least)| Some((host.clone(), least.connect?))).collect()
    }

    /// What is waited at least for an answer from anywhere, in ms: a round trip.
    pub(super) fn round_trip_ms(&self) -> Option<f64> {
        self.connect.or_else(|| self.hosts.values().fold(None, |least, host| smaller(least, host.wait)))
    }

    /// How long the server thought about a response, in ms. Of one that came behind others nobody knows how long it has
    /// been ready; the server is taken to think as long as it usually does, as far as that may be.
    pub(super) fn think(&self, fetched: &HarFetch<'_>) -> f64 {
        let (least, most) = self.bounds(fetched);
        let usual = self.usual.get(&host(fetched)).copied().unwrap_or(0.0);
        usual.clamp(least, most)
    }

    /// How long the server thought at least and at most: the wait less a round trip, less what slow start and what goes
    /// before it on its connection kept it waiting, and less the time for which it may have been ready behind others.
    fn bounds(&self, fetched: &HarFetch<'_>) -> (f64, f64) {
        let min = self.hosts.get(&host(fetched)).copied().unwrap_or_default();
        let round_trip = min.connect.or(self.connect).or(min.wait).unwrap_or(0.0);
        let wait = wait(fetched).unwrap_or(0.0);
        let Some((own, others)) = self.before(fetched) else {
            // One round trip more if its first record of TLS is longer than the first flight.
            let is_new = fetched.timings.ssl.positive().is_some();
            let is_long = is_new && fetched.bytes.min(RECORD) > INITIAL_WINDOW && wait >= 2.0 * round_trip;
            let way = if is_long { 2.0 } else { 1.0 } * round_trip;
            let think = (wait - way).clamp(0.0, MAX_THINK_MS);
            return (think, think);
        };
        let way = way(own, others, round_trip);
        let most = (wait - way - queued(own, others, way)).clamp(0.0, MAX_THINK_MS);
        match hidden(own, others, round_trip) {
            0.0 => (most, most),
            hidden => ((wait - round_trip - hidden).clamp(0.0, most), most),
        }
    }

    /// When a response came on its connection, and those that came before it there.
    fn before(&self, fetched: &HarFetch<'_>) -> Option<(Arrival, &[Arrival])> {
        let arrivals = self.shared.get(&shared_connection(fetched)?)?;
        let own = Arrival::of(fetched)?;
        Some((own, &arrivals[..arrivals.partition_point(|other| other.from < own.from)]))
    }
}

/// How long its first record of TLS was on the way: a round trip, and more where the slow start of its connection let
/// no more out (RFC 5681, section 3.1). The congestion window is the initial one and what has come until the request;
/// flights begin with the first request of those that are answered since.
fn way(own: Arrival, before: &[Arrival], round_trip: f64) -> f64 {
    let is_on = |other: &Arrival| other.from < own.sent && other.until > own.sent;
    if before.iter().any(is_on) {
        return round_trip;
    }
    let (mut window, mut segments, mut began) = (FLIGHT as f64, own.first_record(), own.sent);
    for other in before {
        let earlier = other.segments_until(own.sent);
        window += earlier;
        segments += other.segments_until(own.from) - earlier;
        if other.from > own.sent {
            began = began.min(other.sent);
        }
    }
    let mut flights = round_trip;
    while segments > window && began + flights + round_trip <= own.from {
        segments -= window;
        window *= 2.0;
        flights += round_trip;
    }
    // It was not ready when something was asked for that it would have gone before.
    let overtaken = before.iter().filter(|other| other.from > own.sent && own.goes_before(other));
    let ready = overtaken.map(|other| other.sent).fold(own.sent, f64::max);
    (began + flights - own.sent).min(own.from - ready).max(round_trip)
}

/// For how long of its wait, after `way`, others came that go before it.
fn queued(own: Arrival, before: &[Arrival], way: f64) -> f64 {
    let (mut counted, mut queued) = (own.sent + way, 0.0);
    for other in before.iter().filter(|other| other.goes_before(&own)) {
        let until = other.until.min(own.from);
        queued += (until - other.from.max(counted)).max(0.0);
        counted = counted.max(until);
    }
    queued
}

/// For how long, at most, it may have been ready behind others that were written before: they have come without a pause
/// of a round trip, and were a flight at least.
fn hidden(own: Arrival, before: &[Arrival], round_trip: f64) -> f64 {
    let near = before.iter().rev().take(AT_ONCE);
    let mut others: Vec<&Arrival> = near.filter(|other| other.until > own.sent).collect();
    others.sort_by(|one, other| other.until.total_cmp(&one.until));
    let mut began = own.from;
    let is_on = |other: &&&Arrival| {
        let is_on = began - other.until.min(own.from) < round_trip + RIGHT_BEHIND_MS;
        // The first record of TLS can be read when all of it is there.
        let held = if other.bytes > INITIAL_WINDOW { round_trip } else { 0.0 };
        began = if is_on { began.min((other.from - held).max(own.sent)) } else { began };
        is_on
    };
    let busy: Vec<&Arrival> = others.iter().take_while(is_on).copied().collect();
    let segments: f64 = busy.iter().map(|other| other.segments() * other.share(own.sent, own.from)).sum();
    if segments < FLIGHT as f64 {
        return 0.0;
    }
    // When one was written that it would have gone before, it was not ready.
    let overtaken = busy.iter().filter(|other| own.goes_before(other)).map(|other| other.sent + round_trip);
    let not_before = overtaken.fold(began, f64::max);
    let bytes = |since: f64| busy.iter().map(|other| other.bytes as f64 * other.share(since, own.from)).sum::<f64>();
    let mut begins: Vec<f64> = busy.iter().map(|other| other.from.max(own.sent)).collect();
    begins.sort_by(|one, other| other.total_cmp(one));
    let written_ahead = begins.iter().find(|from| bytes(**from) >= WRITTEN_AHEAD);
    let ahead = written_ahead.map(|from| own.from - (own.from - from) * WRITTEN_AHEAD / bytes(*from));
    (own.from - not_before.max(ahead.unwrap_or(not_before))).max(0.0)
}

/// Which connection with many streams it came on, if it did. Several hosts may be at one address.
fn shared_connection(fetched: &HarFetch<'_>) -> Option<String> {
    let is_shared = matches!(spoken::protocol(fetched), Some(RecordedProtocol::H2 | RecordedProtocol::Spdy));
    let connection = fetched.entry.connection.key().filter(|_| is_shared)?;
    let address = fetched.entry.server_address.filled().map_or_else(|| host(fetched), str::to_owned);
    Some(format!("{address} {connection}"))
}

fn host(fetched: &HarFetch<'_>) -> String {
    url::parts(&fetched.url).0
}

fn wait(fetched: &HarFetch<'_>) -> Option<f64> {
    fetched.timings.wait.number().filter(|wait| *wait >= 0.0)
}

/// The TCP handshake alone: `ssl` lies inside `connect`. Where both are equal the exporter did not
/// see the former. QUIC has none: its handshake is TLS's too, and what is left of it is nothing.
fn connect(fetched: &HarFetch<'_>) -> Option<f64> {
    if spoken::protocol(fetched) == Some(RecordedProtocol::H3) {
        return None;
    }
    let tls = fetched.timings.ssl.positive().unwrap_or(0.0);
    fetched.timings.connect.positive().map(|connect| connect - tls).filter(|tcp| (SHORTEST_MS..=MAX_MS).contains(tcp))
}

/// The median; of an even number the lower of the two in the middle.
fn lower_median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[(of.len() - 1) / 2]
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
