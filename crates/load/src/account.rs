//! The exact account of a load: what each moment between its start and its finish went into.
//!
//! A load has a *critical path*: the activity with which it ended, what that began with, what that
//! began with in turn, and so on back to the start. [`critical_path`] cuts it into [`Span`]s without
//! gaps, each of one of seven [`Part`]s, so the parts add up to the page load time to the
//! nanosecond. Nothing here knows a protocol: all it needs are marks. `docs/model.md` has the
//! definitions in words.

use crate::page::{ActivityId, HostId, Needed, Page, Task};
use crate::{Cause, LoadEvent, LookUp, Marks, Row};
use loadstone_http::TransportStream;
use loadstone_units::Time;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// What time on the critical path goes into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The connection that will carry the request is being opened: the look-up of its host's name, TCP and TLS.
    Handshakes,
    /// The request is known and no connection takes it.
    WaitingForConnection,
    /// The request goes up to the server, the beginning of the response comes down.
    RequestRoundTrips,
    /// The response waits for its turn, for the window or for the link, or is arriving.
    Transfer,
    /// What would come next was lost and has not come again, or an attempt failed as a whole.
    LossRecovery,
    /// The server thinks.
    Server,
    /// The page makes itself wait: whatever lies between a cause and what follows from it in the browser.
    PageItself,
}

impl Part {
    /// All of them, in the order in which accounts are shown.
    pub const ALL: [Part; 7] = [
        Part::Handshakes,
        Part::WaitingForConnection,
        Part::RequestRoundTrips,
        Part::Transfer,
        Part::LossRecovery,
        Part::Server,
        Part::PageItself,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Handshakes => "handshakes",
            Part::WaitingForConnection => "waiting_for_connection",
            Part::RequestRoundTrips => "request_round_trips",
            Part::Transfer => "transfer",
            Part::LossRecovery => "loss_recovery",
            Part::Server => "server",
            Part::PageItself => "page_itself",
        }
    }

    /// Its name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Part::Handshakes => "Handshakes",
            Part::WaitingForConnection => "Waiting for a connection",
            Part::RequestRoundTrips => "Request round trips",
            Part::Transfer => "Transfer",
            Part::LossRecovery => "Loss recovery",
            Part::Server => "Server",
            Part::PageItself => "The page itself",
        }
    }

    /// How time is spent in it: what follows `12 ms less`.
    pub const fn spent(self) -> &'static str {
        match self {
            Part::Handshakes => "in handshakes",
            Part::WaitingForConnection => "waiting for a connection",
            Part::RequestRoundTrips => "in request round trips",
            Part::Transfer => "in transfer",
            Part::LossRecovery => "in loss recovery",
            Part::Server => "on the server",
            Part::PageItself => "in the page itself",
        }
    }

    /// What happens in it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Part::Handshakes => {
                "a new connection was being opened: the round trips of the name's look-up, of TCP and of TLS"
            }
            Part::WaitingForConnection => "an object was known, but every connection it could use was busy",
            Part::RequestRoundTrips => {
                "a request was on its way to the server, and the beginning of the answer on its way back"
            }
            Part::Transfer => "an answer was arriving, as fast as the link and TCP's window let it",
            Part::LossRecovery => "packets had been lost, and the load waited for their repetition",
            Part::Server => "the server was preparing its answer",
            Part::PageItself => {
                "the page made itself wait: parsing, scripts, timers, all that lies between what it had and what it asked for next"
            }
        }
    }
}

/// A stretch of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Whose it is.
    pub activity: ActivityId,
    /// What it went into.
    pub part: Part,
    /// When it begins.
    pub from: Time,
    /// When it ends, which is later.
    pub to: Time,
}

/// The spans of a critical path added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    nanos: [u64; Part::ALL.len()],
}

impl Account {
    /// The account of `path`.
    pub fn of(path: &[Span]) -> Account {
        let mut account = Account::default();
        for span in path {
            account.nanos[span.part as usize] += span.to.nanos_since(span.from);
        }
        account
    }

    /// Nanoseconds that went into `part`.
    pub fn nanos(&self, part: Part) -> u64 {
        self.nanos[part as usize]
    }

    /// Nanoseconds that went into all of them: the page load time.
    pub fn total(&self) -> u64 {
        self.nanos.iter().sum()
    }
}

/// What is known of a connection after a load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectionRecord {
    /// The first packet of its handshake was handed to the link.
    pub opened: Time,
    /// The browser was told that it may be used.
    pub established: Option<Time>,
    /// What a packet takes at least from the server to the browser.
    pub min_owd: Duration,
    /// When data was lost and missing, of each stream: what is lost of one makes no other wait. Handshakes count to
    /// the first, as they do in TCP.
    pub stalls: BTreeMap<TransportStream, StreamStalls>,
}

/// When data of a stream was lost on its way and missing: ascending, not touching.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamStalls {
    /// On the way to the server.
    pub up: Vec<Range<Time>>,
    /// On the way to the browser.
    pub down: Vec<Range<Time>>,
}

impl ConnectionRecord {
    /// The same with every time counted from `origin`, without what was over by then.
    #[must_use]
    pub fn counted_from(mut self, origin: Time) -> ConnectionRecord {
        self.opened = self.opened.counted_from(origin);
        self.established = self.established.map(|time| time.counted_from(origin));
        for StreamStalls { up, down } in self.stalls.values_mut() {
            for stalls in [up, down] {
                stalls.retain(|stall| stall.end > origin);
                let moved = |stall: &Range<Time>| stall.start.counted_from(origin)..stall.end.counted_from(origin);
                stalls.iter_mut().for_each(|stall| *stall = moved(stall));
            }
        }
        self
    }

    /// The stalls of a stream, up and down.
    fn stalls(&self, on: TransportStream) -> [&[Range<Time>]; 2] {
        self.stalls.get(&on).map_or([&[], &[]], |stalls| [&stalls.up, &stalls.down])
    }
}

/// The critical path of a load from its start, time zero, to the last byte that the page needed. The
/// spans touch, none is empty, and neighbours differ in activity or part. The connections have the
/// numbers that the rows name. A load that was not completed has no path.
pub fn critical_path(page: &Page, marks: &Marks, connections: &[ConnectionRecord]) -> Vec<Span> {
    let load = Load { page, marks, connections };
    let Some((last, ended, finish)) = load.finish() else { return Vec::new() };
    let mut pen = PathBuilder { path: Vec::new(), activity: last, at: Time::ZERO, left: Time::ZERO };
    for leg in load.legs(last, ended).into_iter().rev() {
        (pen.activity, pen.left) = (leg.activity, leg.left);
        match load.page.activities[leg.activity.0 as usize].task {
            Task::Compute(..) => pen.go_on(Some(leg.left), Part::PageItself, &[]),
            Task::Fetch(ref fetch) if fetch.is_cached => pen.go_on(Some(leg.left), Part::PageItself, &[]),
            Task::Fetch(ref fetch) => load.add_object(fetch.host, load.row(&leg), &mut pen),
        }
    }
    // The load event waits for its turn on the main thread.
    pen.left = finish;
    pen.go_on(Some(finish), Part::PageItself, &[]);
    debug_assert!(pen.path.first().is_none_or(|first| first.from == Time::ZERO), "{load:?}");
    debug_assert!(pen.path.windows(2).all(|pair| pair[0].to == pair[1].from), "{load:?}");
    debug_assert!(pen.at == finish, "{load:?}");
    pen.path
}

/// What the path is drawn from.
#[derive(Clone, Copy, Debug)]
struct Load<'a> {
    page: &'a Page,
    marks: &'a Marks,
    /// By the numbers that the rows have.
    connections: &'a [ConnectionRecord],
}

/// An activity on the critical path, and the moment for which the next one had waited.
struct PathStep {
    activity: ActivityId,
    left: Time,
}

impl Load<'_> {
    /// With what the load ended, when that was complete, and when the load was; `None` if an object that is needed is
    /// missing.
    fn finish(&self) -> Option<(ActivityId, Time, Time)> {
        if let Some(LoadEvent { last, ended, at }) = self.marks.load_event {
            return Some((last, ended, at));
        }
        let objects = self.page.fetches().zip(&self.marks.rows).zip(0..);
        let mut needed = objects.filter(|(((object, _), _), _)| object.needed == Needed::Always);
        needed.try_fold((ActivityId(0), Time::ZERO, Time::ZERO), |latest, ((_, row), at)| {
            let end = row.last_byte?;
            Some(if end >= latest.1 { (ActivityId(at), end, end) } else { latest })
        })
    }

    /// The way back from `last`, which was complete at `finish`, to an activity that waited for
    /// nothing.
    fn legs(&self, last: ActivityId, finish: Time) -> Vec<PathStep> {
        let mut leg = PathStep { activity: last, left: finish };
        let mut legs = Vec::new();
        // No page waits in a circle, so this ends.
        while let Some(cause) = self.cause(leg.activity) {
            let before = PathStep { activity: cause.on, left: cause.at.min(leg.left) };
            legs.push(std::mem::replace(&mut leg, before));
        }
        legs.push(leg);
        legs
    }

    fn cause(&self, activity: ActivityId) -> Option<Cause> {
        self.marks.causes.get(activity.0 as usize).copied().flatten()
    }

    /// The marks of the attempt during which an object was left.
    fn row(&self, leg: &PathStep) -> Row {
        let former = self.marks.failed.iter().filter(|attempt| attempt.object == leg.activity);
        let attempts = former.map(|attempt| attempt.row).chain(self.marks.rows.get(leg.activity.0 as usize).copied());
        let mut begun = attempts.filter(|row| row.retried.is_none_or(|again| again < leg.left));
        begun.next_back().unwrap_or_default()
    }

    /// Draws an object, from the moment at which its cause was left.
    fn add_object(&self, host: HostId, row: Row, pen: &mut PathBuilder) {
        let nothing = ConnectionRecord::default();
        let conn = row.connection.and_then(|conn| self.connections.get(conn as usize)).unwrap_or(&nothing);
        pen.go_on(row.found, Part::PageItself, &[]);
        pen.go_on(row.retried, Part::LossRecovery, &[]);
        if self.page.hosts[host.0 as usize].name_error.is_some() {
            // Nothing but its name is asked for.
            return pen.go_on(Some(pen.left), Part::Handshakes, &[]);
        }

        // A mark that is missing leaves its time to what comes next.
        let sent = row.sent.unwrap_or(pen.left);
        if let Some(LookUp { asked, answered_query, answered }) =
            self.marks.look_ups.get(host.0 as usize).copied().flatten()
        {
            pen.go_on(Some(asked.min(sent)), Part::WaitingForConnection, &[]);
            pen.go_on(Some(answered_query.min(sent)), Part::LossRecovery, &[]);
            pen.go_on(Some(answered.min(sent)), Part::Handshakes, &[]);
        }
        pen.go_on(Some(conn.opened.min(sent)), Part::WaitingForConnection, &[]);
        pen.go_on(
            conn.established.map(|established| established.min(sent)),
            Part::Handshakes,
            &conn.stalls(TransportStream::TCP),
        );
        pen.go_on(Some(sent), Part::WaitingForConnection, &[]);
        let [up, down] = conn.stalls(row.on);

        let arrived = row.arrived.or(row.answered).or(row.first_byte);
        pen.go_on(arrived, Part::RequestRoundTrips, &[up]);
        pen.go_on(row.answered, Part::Server, &[]);

        // The last stretch before the head of the response is the way down, which cannot be shorter.
        let min_owd = conn.min_owd.as_nanos() as u64;
        let off = row.first_byte.map(|first| Time::from_nanos(first.as_nanos().saturating_sub(min_owd)));
        pen.go_on(off, Part::Transfer, &[down]);
        pen.go_on(row.first_byte, Part::RequestRoundTrips, &[down]);
        pen.go_on(Some(row.last_byte.unwrap_or(pen.left)), Part::Transfer, &[down]);
        // What came before the page wanted it.
        pen.go_on(Some(pen.left), Part::PageItself, &[]);
    }
}

/// Draws a path from left to right.
struct PathBuilder {
    path: Vec<Span>,
    /// Whose spans are being drawn.
    activity: ActivityId,
    /// How far the path has been drawn.
    at: Time,
    /// How far it may be drawn for this activity.
    left: Time,
}

impl PathBuilder {
    /// Goes on to `mark`, if it is there and lies ahead, but not beyond the moment at which the
    /// activity was left. Where one of the stalls lies that is loss recovery, elsewhere `part`.
    fn go_on(&mut self, mark: Option<Time>, part: Part, stalls: &[&[Range<Time>]]) {
        let to = mark.map_or(self.at, |mark| mark.min(self.left));
        while self.at < to {
            // Of each direction the first stall that is not over.
            let next = stalls.iter().filter_map(|stalls| {
                let at = stalls.partition_point(|stall| stall.end <= self.at);
                stalls.get(at)
            });
            let (mut stalled_to, mut free_to) = (self.at, to);
            for stall in next {
                if stall.start <= self.at {
                    stalled_to = stalled_to.max(stall.end.min(to));
                } else {
                    free_to = free_to.min(stall.start);
                }
            }
            if stalled_to > self.at {
                self.draw(stalled_to, Part::LossRecovery);
            } else {
                self.draw(free_to, part);
            }
        }
    }

    fn draw(&mut self, to: Time, part: Part) {
        match self.path.last_mut() {
            Some(last) if (last.activity, last.part) == (self.activity, part) => last.to = to,
            _ => self.path.push(Span { activity: self.activity, part, from: self.at, to }),
        }
        self.at = to;
    }
}

#[cfg(test)]
mod tests;
