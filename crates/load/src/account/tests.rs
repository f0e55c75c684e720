use super::*;
use crate::page::PageFile;
use crate::{Attempt, FoundBy};
use proptest::prelude::*;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn page(json: &str) -> Page {
    PageFile::from_json(json.as_bytes()).unwrap().build().unwrap()
}

/// One object.
fn lone() -> Page {
    page(r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#)
}

/// A root, an object that waits for it, a compute node that waits for the root.
fn three() -> Page {
    page(
        r#"{"objects": [{"url": "http://a.test/", "bytes": 1}, {"url": "http://a.test/1", "bytes": 1}],
            "compute": [{"name": "layout", "ms": 20}]}"#,
    )
}

/// A row on connection 0: found, sent, arrived, answered, first byte, last byte.
fn row(marks: [u64; 6]) -> Row {
    let [found, sent, arrived, answered, first_byte, last_byte] = marks.map(|mark| Some(at(mark)));
    Row {
        connection: Some(0),
        on: TransportStream::TCP,
        found,
        found_by: FoundBy::Page,
        retried: None,
        sent,
        arrived,
        answered,
        first_byte,
        last_byte,
        ..Row::default()
    }
}

/// A connection of which a packet takes 50 down.
fn connection(opened: u64, established: u64) -> ConnectionRecord {
    ConnectionRecord {
        opened: at(opened),
        established: Some(at(established)),
        min_owd: Duration::from_nanos(50),
        ..ConnectionRecord::default()
    }
}

fn stalls(stalls: &[(u64, u64)]) -> Vec<Range<Time>> {
    stalls.iter().map(|(from, to)| at(*from)..at(*to)).collect()
}

/// A connection that was ready at 100, and whose first stream stalled.
fn stalling(up: &[(u64, u64)], down: &[(u64, u64)]) -> ConnectionRecord {
    let of_first = StreamStalls { up: stalls(up), down: stalls(down) };
    ConnectionRecord { stalls: BTreeMap::from([(TransportStream::TCP, of_first)]), ..connection(0, 100) }
}

fn cause(on: u32, moment: u64) -> Option<Cause> {
    Some(Cause { on: ActivityId(on), at: at(moment) })
}

/// The path as activity, part and end of each span; that they touch is asserted.
fn drawn(page: &Page, marks: &Marks, connections: &[ConnectionRecord]) -> Vec<(u32, Part, u64)> {
    let path = critical_path(page, marks, connections);
    assert!(path.iter().all(|span| span.from < span.to));
    path.iter().map(|span| (span.activity.0, span.part, span.to.as_nanos())).collect()
}

/// The path of a page of one object, without its number.
fn of_one(row: Row, connection: ConnectionRecord) -> Vec<(Part, u64)> {
    let marks = Marks { rows: vec![row], causes: vec![None], ..Marks::default() };
    drawn(&lone(), &marks, &[connection]).into_iter().map(|(_, part, to)| (part, to)).collect()
}

use Part::{Handshakes, LossRecovery, PageItself, RequestRoundTrips, Server, Transfer, WaitingForConnection};

#[test]
fn an_object_goes_through_its_marks() {
    let path = of_one(row([0, 110, 160, 190, 250, 300]), connection(10, 110));
    let expected = [
        (WaitingForConnection, 10),
        (Handshakes, 110),
        (RequestRoundTrips, 160),
        (Server, 190),
        // The head came 60 after it was ready: 10 more than it needed.
        (Transfer, 200),
        (RequestRoundTrips, 250),
        (Transfer, 300),
    ];
    assert_eq!(path, expected);
}

#[test]
fn what_takes_no_time_has_no_span() {
    let path = of_one(row([0, 100, 150, 150, 200, 200]), connection(0, 100));
    assert_eq!(path, [(Handshakes, 100), (RequestRoundTrips, 200)]);
}

#[test]
fn a_head_that_came_in_less_than_the_way_down_leaves_nothing_to_transfer() {
    for (first_byte, transfer) in [(199, None), (200, None), (201, Some((Transfer, 151)))] {
        let path = of_one(row([0, 100, 150, 150, first_byte, first_byte]), connection(0, 100));
        assert_eq!(path.iter().copied().find(|(part, _)| *part == Transfer), transfer);
        assert_eq!(path.last(), Some(&(RequestRoundTrips, first_byte)));
    }
}

#[test]
fn a_wait_is_a_handshake_only_while_the_own_connection_is_being_opened() {
    let ready_before = ConnectionRecord { opened: at(0), ..connection(0, 0) };
    assert_eq!(of_one(row([0, 60, 150, 150, 200, 200]), ready_before)[0], (WaitingForConnection, 60));
    let in_between = of_one(row([0, 60, 150, 150, 200, 200]), connection(20, 40));
    assert_eq!(in_between[..3], [(WaitingForConnection, 20), (Handshakes, 40), (WaitingForConnection, 60)]);
}

#[test]
fn a_request_that_does_not_wait_for_the_handshake_is_no_handshake() {
    let early_data = of_one(row([0, 60, 150, 150, 200, 200]), connection(10, 100));
    assert_eq!(early_data[..3], [(WaitingForConnection, 10), (Handshakes, 60), (RequestRoundTrips, 200)]);
    // No connection of ours begins so late; a record that says so is not believed.
    assert_eq!(of_one(row([0, 60, 150, 150, 200, 200]), connection(70, 80))[0], (WaitingForConnection, 60));
}

#[test]
fn what_a_server_does_not_tell_is_a_request_s_round_trip() {
    let marks = row([0, 100, 150, 190, 250, 300]);
    let path = |row| of_one(row, connection(0, 100));
    let silent = path(Row { arrived: None, answered: None, ..marks });
    assert_eq!(silent, [(Handshakes, 100), (RequestRoundTrips, 250), (Transfer, 300)]);
    let unstated_arrival = path(Row { arrived: None, ..marks });
    assert_eq!(unstated_arrival[1..3], [(RequestRoundTrips, 190), (Transfer, 200)]);
    let never_sent = Row { last_byte: marks.last_byte, found: marks.found, ..Row::default() };
    assert_eq!(path(never_sent), [(WaitingForConnection, 300)]);
}

#[test]
fn stalls_take_precedence_each_in_its_direction() {
    let marks = row([0, 100, 200, 230, 330, 400]);
    let up = stalling(&[(10, 20), (120, 180), (210, 220), (240, 250), (350, 360)], &[]);
    let expected = [
        (Handshakes, 10),
        (LossRecovery, 20),
        (Handshakes, 100),
        (RequestRoundTrips, 120),
        (LossRecovery, 180),
        (RequestRoundTrips, 200),
        (Server, 230),
        (Transfer, 280),
        (RequestRoundTrips, 330),
        (Transfer, 400),
    ];
    assert_eq!(of_one(marks, up), expected, "up: in the handshake and while the request is on its way");

    let down = stalling(&[], &[(15, 25), (120, 180), (210, 240), (270, 290), (320, 350), (395, 500)]);
    let expected = [
        (Handshakes, 15),
        (LossRecovery, 25),
        (Handshakes, 100),
        (RequestRoundTrips, 200),
        (Server, 230),
        (LossRecovery, 240),
        (Transfer, 270),
        (LossRecovery, 290),
        (RequestRoundTrips, 320),
        (LossRecovery, 350),
        (Transfer, 395),
        (LossRecovery, 400),
    ];
    assert_eq!(of_one(marks, down), expected, "down: in the handshake and from the answer on");
}

#[test]
fn a_stall_of_a_stream_delays_nothing_on_another() {
    let other = TransportStream(4);
    let of_other = StreamStalls { up: stalls(&[(110, 120)]), down: stalls(&[(10, 20), (350, 360)]) };
    let mut connection = stalling(&[(130, 140)], &[(30, 40), (370, 380)]);
    connection.stalls.insert(other, of_other);
    let recovery = |on| {
        let path = of_one(Row { on, ..row([0, 100, 200, 230, 330, 400]) }, connection.clone());
        path.into_iter().filter(|(part, _)| *part == LossRecovery).map(|(_, to)| to).collect::<Vec<_>>()
    };
    assert_eq!(recovery(TransportStream::TCP), [40, 140, 380]);
    // The handshakes' are everybody's.
    assert_eq!(recovery(other), [40, 120, 360]);
}

#[test]
fn stalls_of_both_directions_may_overlap_in_a_handshake() {
    let both = stalling(&[(10, 30)], &[(20, 40), (40, 50)]);
    let path = of_one(row([0, 100, 150, 150, 200, 200]), both);
    assert_eq!(path[..3], [(Handshakes, 10), (LossRecovery, 50), (Handshakes, 100)]);
}

#[test]
fn the_path_leads_from_cause_to_cause_and_delays_are_the_page_itself() {
    let rows = [row([0, 0, 50, 50, 100, 100]), row([135, 140, 190, 190, 240, 250])];
    let connections = [connection(0, 0)];
    let path = |causes: [Option<Cause>; 3]| {
        let marks = Marks { rows: rows.to_vec(), causes: causes.to_vec(), ..Marks::default() };
        drawn(&three(), &marks, &connections)
    };
    let object = [(1, WaitingForConnection, 140), (1, RequestRoundTrips, 240), (1, Transfer, 250)];
    let through_the_layout = [(0, RequestRoundTrips, 100), (2, PageItself, 130), (1, PageItself, 135)];
    let found = path([None, cause(2, 130), cause(0, 100)]);
    assert_eq!(found, [&through_the_layout[..], &object].concat());
    // The root was left when it had come, and not later.
    let early = [(0, RequestRoundTrips, 95), (1, PageItself, 135)];
    assert_eq!(path([None, cause(0, 95), None]), [&early[..], &object].concat());
    // And here when it was found: it has no part in the path at all.
    assert_eq!(path([None, cause(0, 0), None]), [&[(1, PageItself, 135)][..], &object].concat());
}

#[test]
fn the_load_ends_with_the_last_object_that_is_needed() {
    let page = page(
        r#"{"objects": [{"url": "http://a.test/", "bytes": 1}, {"url": "http://a.test/1", "bytes": 1},
                        {"url": "http://a.test/2", "bytes": 1, "needed": false}]}"#,
    );
    let early = row([0, 100, 150, 150, 200, 200]);
    let late = row([200, 300, 350, 350, 400, 400]);
    let unneeded = row([200, 300, 350, 350, 450, 500]);
    let connections = [connection(0, 100)];
    let of = |rows: [Row; 3]| {
        let causes = vec![None, cause(0, 200), cause(0, 200)];
        drawn(&page, &Marks { rows: rows.to_vec(), causes, ..Marks::default() }, &connections)
    };
    assert_eq!(of([early, late, unneeded]).last(), Some(&(1, RequestRoundTrips, 400)));
    assert_eq!(of([early, late, Row::default()]).last(), Some(&(1, RequestRoundTrips, 400)));
    let together = Row { last_byte: late.last_byte, ..early };
    assert_eq!(of([together, late, unneeded]).last(), Some(&(1, RequestRoundTrips, 400)), "the later on the page");
    let missing = Row { last_byte: None, ..late };
    assert!(of([early, missing, unneeded]).is_empty(), "a load that is not complete has no path");
}

#[test]
fn an_attempt_that_failed_is_loss_recovery_unless_the_object_was_left_before_that() {
    let first = Row { last_byte: None, ..row([0, 100, 150, 150, 200, 0]) };
    let second = Row { connection: Some(1), retried: Some(at(500)), ..row([0, 600, 650, 650, 700, 720]) };
    let connections = [connection(0, 100), connection(500, 600)];
    let next = row([720, 720, 770, 770, 820, 820]);
    let path = |left: Option<Cause>| {
        let failed = vec![Attempt { object: ActivityId(0), row: first }];
        drawn(
            &three(),
            &Marks { rows: vec![second, next], failed, causes: vec![None, left, None], ..Marks::default() },
            &connections,
        )
    };
    let retried = [(0, LossRecovery, 500), (0, Handshakes, 600), (0, RequestRoundTrips, 700), (0, Transfer, 720)];
    let last = (1, RequestRoundTrips, 820);
    assert_eq!(path(cause(0, 720)), [&retried[..], &[last]].concat());
    // The bytes that were waited for were the last that the first attempt brought.
    let until_it_failed = path(cause(0, 500));
    assert_eq!(until_it_failed[2..4], [(0, Transfer, 500), (1, PageItself, 720)]);
    // Its first bytes came in the first attempt, and that was enough.
    let first = [(0, Handshakes, 100), (0, RequestRoundTrips, 200), (0, Transfer, 230)];
    assert_eq!(path(cause(0, 230)), [&first[..], &[(1, PageItself, 720), last]].concat());
}

#[test]
fn the_parts_are_in_the_order_of_their_names() {
    assert!(Part::ALL.iter().enumerate().all(|(at, part)| *part as usize == at));
    let names: Vec<&str> = Part::ALL.into_iter().map(Part::name).collect();
    let expected = [
        "handshakes",
        "waiting_for_connection",
        "request_round_trips",
        "transfer",
        "loss_recovery",
        "server",
        "page_itself",
    ];
    assert_eq!(names, expected);
}

/// Any marks at all, in any order, some missing.
fn any_row() -> impl Strategy<Value = Row> {
    let mark = || prop::option::weighted(0.8, (0_u64..100).prop_map(at));
    let marks = (mark(), mark(), mark(), mark(), mark(), mark(), mark());
    (prop::option::of(0_u32..3), marks, 0_u64..100).prop_map(|(connection, marks, finish)| {
        let (found, retried, sent, arrived, answered, first_byte, last_byte) = marks;
        let last_byte = last_byte.or(Some(at(finish)));
        Row {
            connection,
            on: TransportStream::TCP,
            found,
            found_by: FoundBy::Page,
            retried,
            sent,
            arrived,
            answered,
            first_byte,
            last_byte,
            ..Row::default()
        }
    })
}

fn any_connection() -> impl Strategy<Value = ConnectionRecord> {
    let lengths = || prop::collection::vec((1_u64..10, 1_u64..10), 0..6);
    (0_u64..50, prop::option::of(0_u64..100), 0_u64..30, lengths(), lengths()).prop_map(
        |(opened, established, way_down, up, down)| {
            let laid = |lengths: Vec<(u64, u64)>| {
                let mut now = 0;
                let lay = |(gap, len)| {
                    let from = now + gap;
                    now = from + len;
                    at(from)..at(now)
                };
                lengths.into_iter().map(lay).collect()
            };
            ConnectionRecord {
                opened: at(opened),
                established: established.map(at),
                min_owd: Duration::from_nanos(way_down),
                stalls: BTreeMap::from([(TransportStream::TCP, StreamStalls { up: laid(up), down: laid(down) })]),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No simulator makes such records; a path through them has no gaps all the same.
    #[test]
    fn whatever_the_marks_the_path_is_whole(
        rows in prop::collection::vec(any_row(), 2),
        failed in prop::collection::vec((0_u32..2, any_row()), 0..3),
        connections in prop::collection::vec(any_connection(), 0..3),
        causes in (prop::option::of((0_u32..2, 0_u64..100)), 0_u64..100),
    ) {
        let failed: Vec<Attempt> =
            failed.into_iter().map(|(object, row)| Attempt { object: ActivityId(object), row }).collect();
        // Object 1 began with object 0 or with the layout, which began with object 0.
        let causes = vec![None, causes.0.and_then(|(on, moment)| cause(on * 2, moment)), cause(0, causes.1)];
        let marks = Marks { rows, failed, causes, ..Marks::default() };
        let path = critical_path(&three(), &marks, &connections);
        let finish = marks.rows.iter().filter_map(|row| row.last_byte).max().unwrap();
        let mut now = Time::ZERO;
        for span in &path {
            prop_assert_eq!(span.from, now);
            prop_assert!(span.to > span.from);
            now = span.to;
        }
        prop_assert_eq!(now, finish);
        prop_assert_eq!(Account::of(&path).total(), finish.as_nanos());
        prop_assert!(path.windows(2).all(|pair| (pair[0].activity, pair[0].part) != (pair[1].activity, pair[1].part)));
    }
}
