//! The same load live and in the simulator: the same content on the connection, the same order of
//! events.

use crate::{EVERY_TLS, Run, Setting, object, page};
use loadstone_http::{Multiplexing, Protocol, SessionFactory};
use loadstone_live::{Lowat, Tls};
use loadstone_load::page::{ComputeSpec, Need, ObjectSpec, On, PageFile};
use loadstone_scenario::{Outcome, Plan, Row, Scenario};
use loadstone_units::Bounded;
use std::sync::Arc;

/// A socket that takes all at once, so that no frame is cut by the room there is.
const ALL: u32 = 4_000_000;

/// In the simulator, over one connection to each host. TCP is the textbook's, which waits for nothing.
fn simulated(file: &PageFile, protocol: Protocol, tls: Tls, multiplexing: Multiplexing, lowat: u32) -> Outcome {
    let tls = serde_json::to_string(&tls).unwrap();
    let multiplexing = serde_json::to_string(&multiplexing).unwrap();
    let variant = format!(
        r#"{{"protocol": "{protocol}", "tls": {tls}, "connections": 1, "multiplexing": {multiplexing},
            "tcp": {{"profile": "textbook", "notsent_lowat": {lowat}}},
            "client_tcp": {{"profile": "textbook", "notsent_lowat": {lowat}}}}}"#
    );
    let page = serde_json::to_string(file).unwrap();
    let text = format!(r#"{{"page": {page}, "network": "1gbit,1ms", "variant": {variant}}}"#);
    let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
    loadstone_sim::run(&plan, plan.seed())
}

/// Over loopback, with one connection to each host.
fn live(file: &PageFile, protocol: Protocol, tls: Tls, lowat: u32) -> Run {
    Setting { connections: 1, lowat: Lowat::known(lowat), ..Setting::new(file, protocol, tls) }.run()
}

#[test]
fn a_connection_carries_the_content_that_it_carries_in_the_simulator() {
    let objects = (0..80_u64).map(|at| ObjectSpec {
        request_header_bytes: Some(300 + at as u32 * 11 % 200),
        response_header_bytes: Some(200 + at as u32 * 7 % 150),
        ..object(&format!("http://a.test/img/{}/{at:03}.png", at % 7), 100 + at * at * 7)
    });
    let file = page(objects);
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let simulated = simulated(&file, protocol, tls, Multiplexing::default(), ALL).per_connection;
            let run = live(&file, protocol, tls, ALL);
            assert!(run.is_complete() && simulated.len() == 1 && run.connections.len() == 1);
            let (there, here) = (simulated[0], &run.connections[0]);
            assert_eq!(here.content_up, there.content_up, "{protocol} {tls:?}");
            // Records cut frames, each at the cost of another frame's head, and which ones depends on
            // what happened to be ready; without records nothing is cut.
            let cuts = if tls == Tls::None || !protocol.is_multiplexed() { 0 } else { here.content_down / 16_000 };
            let apart = here.content_down.abs_diff(there.content_down);
            assert!(apart <= cuts * 9, "{protocol} {tls:?}: {} {}", here.content_down, there.content_down);
        }
    }
}

/// One object after the other, so that nothing depends on what happens to be ready at the same time: what is
/// compared is every byte of content (heads, SETTINGS, frames' heads, bodies, WINDOW_UPDATE; what is within TLS, or
/// within TCP where there is none), for each connection and direction, and it is the same to the byte. Windows of
/// 1 MiB are given back several times on the way, and never keep anyone waiting.
#[test]
fn a_chain_of_objects_takes_the_same_content_to_the_byte() {
    let (host, other) = ("http://a.test", "http://b.test");
    let after = |node: &str| Some(vec![Need { node: node.to_owned(), ..Need::default() }]);
    let sizes =
        [(0, 0), (1, 0), (100, 700_000), (16_384, 1), (16_375, 0), (600_000, 0), (50_000, 40_000), (600_000, 0)];
    let mut objects = vec![object(&format!("{host}/"), 3_000)];
    for (at, (bytes, upload)) in sizes.into_iter().enumerate() {
        let host = if at % 4 == 3 { other } else { host };
        let object = object(&format!("{host}/{at}"), bytes);
        let needs = after(&objects[at].url);
        let method = (upload > 0).then(|| "POST".to_owned());
        objects.push(ObjectSpec { needs, method, upload_bytes: Some(upload), ..object });
    }
    let file = page(objects);
    let window = Bounded::known(1 << 20);
    let multiplexing = Multiplexing { stream_window: window, session_window: window, ..Multiplexing::default() };
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let there = simulated(&file, protocol, tls, multiplexing, ALL).per_connection;
            let sessions = Arc::new(SessionFactory::new(multiplexing));
            let setting = Setting::new(&file, protocol, tls);
            let run = Setting { connections: 1, lowat: Lowat::known(ALL), sessions, ..setting }.run();
            assert!(run.is_complete(), "{protocol} {tls:?}");
            let here: Vec<_> = run.connections.iter().map(|it| (it.host, it.content_up, it.content_down)).collect();
            let there: Vec<_> = there.iter().map(|it| (it.host, it.content_up, it.content_down)).collect();
            assert_eq!(here, there, "{protocol} {tls:?}");
        }
    }
}

/// What happened to which object, in the order of time.
fn order(rows: &[Row]) -> Vec<(usize, &'static str)> {
    let mut marks = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for (rank, (name, mark)) in [
            ("found", row.found),
            ("sent", row.sent),
            ("arrived", row.arrived),
            ("answered", row.answered),
            ("first byte", row.first_byte),
            ("last byte", row.last_byte),
        ]
        .into_iter()
        .enumerate()
        {
            marks.push((mark.unwrap(), at, rank, name));
        }
    }
    // Of one time: by object, and then in the order in which things must happen.
    marks.sort();
    marks.into_iter().map(|(_, at, _, name)| (at, name)).collect()
}

#[test]
fn events_come_in_the_order_in_which_they_come_in_the_simulator() {
    let host = "http://a.test";
    let need = |node: String, on, ms| Some(vec![Need { node, on, bytes: Some(1_000), ms, ..Need::default() }]);
    let think = |ms: f64| Some(ms);
    // Between any two moments of different objects lie milliseconds.
    let objects = vec![
        object(&format!("{host}/"), 5_000),
        ObjectSpec { needs: need(format!("{host}/"), On::Bytes, 20.0), ..object(&format!("{host}/a.css"), 4_000) },
        ObjectSpec { think_ms: think(60.0), ..object(&format!("{host}/b.js"), 800) },
        ObjectSpec { needs: need("run".to_owned(), On::End, 0.0), ..object(&format!("{host}/c.png"), 2_000) },
        ObjectSpec { needs: need(format!("{host}/c.png"), On::End, 15.0), ..object("http://b.test/d", 50_000) },
    ];
    let compute = vec![ComputeSpec {
        name: "run".to_owned(),
        ms: 25.0,
        needs: need(format!("{host}/b.js"), On::End, 0.0),
        ..ComputeSpec::default()
    }];
    let file = PageFile { objects, compute, ..PageFile::default() };
    for protocol in Protocol::ALL {
        for tls in EVERY_TLS {
            let simulated = simulated(&file, protocol, tls, Multiplexing::default(), 16_384);
            let expected = order(&simulated.waterfall);
            // A pause of the machine can bring two moments together: then it is tried again.
            let runs = (0..3).map(|_| live(&file, protocol, tls, 16_384)).inspect(|run| assert!(run.is_complete()));
            let mut seen = runs.map(|run| (order(&run.marks.rows), run.connections));
            let same = seen.find(|(order, _)| *order == expected);
            let (_, connections) = same.unwrap_or_else(|| panic!("{protocol} {tls:?}: not {expected:?}"));
            let hosts = simulated.per_connection.iter().map(|connection| connection.host);
            assert!(connections.iter().map(|connection| connection.host).eq(hosts), "{protocol} {tls:?}");
        }
    }
}
