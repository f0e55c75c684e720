//! What happened when, object by object: the form in which every runner tells it.

use crate::page::ActivityId;
use crate::{ConnId, LookUp};
use loadstone_http::TransportStream;
use loadstone_units::Time;

/// The marks of one object's load; what has not happened is `None`.
///
/// Of an object that had to be asked for again these are the marks of the last attempt, and `found`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The connection it was asked for on: counts from 0 in the order of opening.
    pub connection: Option<u32>,
    /// The stream of that connection's transport.
    pub on: TransportStream,
    /// The browser knew that it has to fetch it, or that it is being pushed.
    pub found: Option<Time>,
    /// How it knew.
    pub found_by: FoundBy,
    /// It was asked for again, because the connection of the attempt before had failed.
    pub retried: Option<Time>,
    /// The first byte of its request was handed to the transport.
    pub sent: Option<Time>,
    /// The last byte of its request was at the server.
    pub arrived: Option<Time>,
    /// The server had the response ready.
    pub answered: Option<Time>,
    /// The head of its response was there.
    pub first_byte: Option<Time>,
    /// The last byte of its response was there.
    pub last_byte: Option<Time>,
    /// The status of its response.
    pub status: Option<u16>,
    /// How many bytes of the response's body have come.
    pub body_bytes: u64,
}

/// How a browser came to know that it needs an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FoundBy {
    /// From the page itself.
    #[default]
    Page,
    /// By a server's hint, ahead of the page.
    Hint,
    /// The server announced to push it.
    Push,
}

impl FoundBy {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            FoundBy::Page => "page",
            FoundBy::Hint => "hint",
            FoundBy::Push => "push",
        }
    }
}

/// What an activity began with: the dependency that came true last, its delay counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cause {
    /// The activity that was waited for.
    pub on: ActivityId,
    /// When that about it which was waited for happened. From then to the beginning there was
    /// computing.
    pub at: Time,
}

/// An attempt at an object whose connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The object.
    pub object: ActivityId,
    /// How far it had come.
    pub row: Row,
}

/// All that a browser has noted of a load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// One row for each object, in page order.
    pub rows: Vec<Row>,
    /// The attempts that failed, so that their objects had to be asked for again, in that order.
    pub failed: Vec<Attempt>,
    /// For each activity, objects first, what it began with: `None` if it waited for nothing. Of one
    /// that has not begun it is what is known so far.
    pub causes: Vec<Option<Cause>>,
    /// For each host of the page the look-up of its name, if there was one. Where it is left out there was none.
    pub look_ups: Vec<Option<LookUp>>,
    /// The load event, where the load ended with it instead of with an object.
    pub load_event: Option<LoadEvent>,
    /// Bytes of bodies that came although the browser had refused them.
    pub discarded: u64,
    /// When each of [`crate::page::Moment::ALL`] was, if the page knows, and if it came before the load ended.
    pub moments: [Option<Time>; 3],
    /// When each of [`crate::page::Page::view`] was, if it came before the load ended.
    pub view: Vec<Option<Time>>,
}

/// The load event of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadEvent {
    /// What held it up for longest.
    pub last: ActivityId,
    /// When that was complete.
    pub ended: Time,
    /// When the main thread dispatched it.
    pub at: Time,
}

/// What a server reports of a request for one of its objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    /// The connection it came on.
    pub conn: ConnId,
    /// What was asked for.
    pub object: ActivityId,
    /// Whether nobody asked: the server pushed it.
    pub is_pushed: bool,
    /// The request was complete.
    pub arrived: Time,
    /// The response was ready, if it ever was.
    pub answered: Option<Time>,
}

impl Row {
    /// The same with every time counted from `origin`.
    fn counted_from(self, origin: Time) -> Row {
        let mark = |mark: Option<Time>| mark.map(|time| time.counted_from(origin));
        Row {
            connection: self.connection,
            on: self.on,
            found: mark(self.found),
            found_by: self.found_by,
            retried: mark(self.retried),
            sent: mark(self.sent),
            arrived: mark(self.arrived),
            answered: mark(self.answered),
            first_byte: mark(self.first_byte),
            last_byte: mark(self.last_byte),
            status: self.status,
            body_bytes: self.body_bytes,
        }
    }
}

impl Marks {
    /// The same with every time counted from `origin`; earlier times become 0.
    #[must_use]
    pub fn counted_from(mut self, origin: Time) -> Marks {
        let attempts = self.failed.iter_mut().map(|attempt| &mut attempt.row);
        attempts.chain(&mut self.rows).for_each(|row| *row = row.counted_from(origin));
        self.causes.iter_mut().flatten().for_each(|cause| cause.at = cause.at.counted_from(origin));
        for LookUp { asked, answered_query, answered } in self.look_ups.iter_mut().flatten() {
            [asked, answered_query, answered].into_iter().for_each(|time| *time = time.counted_from(origin));
        }
        self.moments.iter_mut().chain(&mut self.view).flatten().for_each(|time| *time = time.counted_from(origin));
        if let Some(LoadEvent { ended, at, .. }) = &mut self.load_event {
            [ended, at].into_iter().for_each(|time| *time = time.counted_from(origin));
        }
        self
    }

    /// When the first request was sent, whatever became of it.
    pub fn first_request(&self) -> Option<Time> {
        let attempts = self.failed.iter().map(|attempt| &attempt.row);
        attempts.chain(&self.rows).filter_map(|row| row.sent).min()
    }

    /// Notes what a server reports of the requests, in their order. A row gets the marks of the last
    /// request for its object on its own connection, or those of the push by which it came.
    pub fn note(&mut self, services: &[Service]) {
        for service in services {
            let former = self.failed.iter_mut().filter(|attempt| attempt.object == service.object);
            let last = self.rows.get_mut(service.object.0 as usize);
            let attempts = former.map(|attempt| &mut attempt.row).chain(last);
            let is_of = |row: &Row| {
                row.connection == Some(service.conn.0) && (row.found_by == FoundBy::Push) == service.is_pushed
            };
            for row in attempts.filter(|row| is_of(row)) {
                (row.arrived, row.answered) = (Some(service.arrived), service.answered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_can_be_counted_from_another_moment() {
        let at = Time::from_nanos;
        let row = |found| Row { found: Some(at(found)), last_byte: Some(at(found + 5)), ..Row::default() };
        let marks = Marks {
            rows: vec![row(100), row(3)],
            failed: vec![Attempt { object: ActivityId(0), row: row(60) }],
            causes: vec![None, Some(Cause { on: ActivityId(0), at: at(70) })],
            look_ups: vec![Some(LookUp { asked: at(5), answered_query: at(12), answered: at(20) })],
            load_event: Some(LoadEvent { last: ActivityId(1), ended: at(80), at: at(82) }),
            discarded: 7,
            moments: [None, Some(at(90)), None],
            view: vec![None, Some(at(95))],
        };
        let moved = marks.counted_from(at(10));
        assert_eq!(moved.rows, [row(90), Row { found: Some(at(0)), last_byte: Some(at(0)), ..Row::default() }]);
        assert_eq!((moved.failed[0].row, moved.causes[1].map(|cause| cause.at)), (row(50), Some(at(60))));
        assert_eq!(moved.look_ups, [Some(LookUp { asked: at(0), answered_query: at(2), answered: at(10) })]);
        assert_eq!(moved.load_event, Some(LoadEvent { last: ActivityId(1), ended: at(70), at: at(72) }));
        assert_eq!(moved.moments, [None, Some(at(80)), None]);
        assert_eq!(moved.view, [None, Some(at(85))]);
    }

    #[test]
    fn the_first_request_counts_also_if_it_failed_and_a_later_one_was_answered() {
        let sent = |nanos| Row { sent: Some(Time::from_nanos(nanos)), ..Row::default() };
        let rows = vec![Row::default(), sent(80), sent(90)];
        assert_eq!(Marks { rows: rows.clone(), ..Marks::default() }.first_request(), Some(Time::from_nanos(80)));
        let failed = vec![Attempt { object: ActivityId(1), row: sent(30) }];
        assert_eq!(Marks { rows, failed, ..Marks::default() }.first_request(), Some(Time::from_nanos(30)));
        assert_eq!(Marks { rows: vec![Row::default()], ..Marks::default() }.first_request(), None);
    }

    #[test]
    fn each_attempt_gets_the_marks_of_its_own_connection() {
        let at = Time::from_nanos;
        let on = |conn| Row { connection: Some(conn), ..Row::default() };
        let rows = vec![on(0), on(2), Row::default()];
        let failed = vec![Attempt { object: ActivityId(1), row: on(1) }];
        let mut marks = Marks { rows, failed, ..Marks::default() };
        let service = |conn, object, arrived, answered| Service {
            conn: ConnId(conn),
            object: ActivityId(object),
            is_pushed: false,
            arrived: at(arrived),
            answered,
        };
        marks.note(&[service(0, 0, 5, Some(at(6))), service(1, 1, 7, None)]);
        marks.note(&[service(2, 1, 80, Some(at(90))), service(2, 1, 81, Some(at(91))), service(0, 1, 99, None)]);
        let noted = |row: &Row| (row.arrived, row.answered);
        assert_eq!(noted(&marks.rows[0]), (Some(at(5)), Some(at(6))));
        assert_eq!(noted(&marks.failed[0].row), (Some(at(7)), None));
        assert_eq!(noted(&marks.rows[1]), (Some(at(81)), Some(at(91))), "the last on its connection");
        assert_eq!(noted(&marks.rows[2]), (None, None));
    }

    #[test]
    fn a_push_that_was_refused_is_not_what_was_asked_for() {
        let at = Time::from_nanos;
        let service = |is_pushed, arrived| {
            let (conn, object) = (ConnId(0), ActivityId(0));
            Service { conn, object, is_pushed, arrived: at(arrived), answered: None }
        };
        for (found_by, arrived) in [(FoundBy::Page, 5), (FoundBy::Hint, 5), (FoundBy::Push, 7)] {
            let mut marks =
                Marks { rows: vec![Row { connection: Some(0), found_by, ..Row::default() }], ..Marks::default() };
            marks.note(&[service(false, 5), service(true, 7)]);
            assert_eq!(marks.rows[0].arrived, Some(at(arrived)), "{found_by:?}");
        }
    }
}
