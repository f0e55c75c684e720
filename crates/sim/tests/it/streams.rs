//! Protocols that carry many streams on a connection: what that wins, and how late it is decided
//! what goes next.

use crate::{FAST, load, object, page, variant};
use loadstone_http::{Event, Multiplexing, Protocol, Session, SessionFactory, TransportStream, Wire};
use loadstone_load::page::{Need, ObjectSpec, On, Page, PageFile};
use loadstone_scenario::Outcome;
use loadstone_units::Time;

const BOTH: [&str; 2] = ["spdy/3.1", "h2"];

fn over(protocol: &str, network: &str, page: PageFile, rest: &str) -> Outcome {
    let outcome = load(page, network, variant(&format!(r#"{{"protocol": "{protocol}", "tls": "none"{rest}}}"#)));
    assert!(outcome.completed);
    outcome
}

#[test]
fn one_connection_carries_all_that_wait_in_one_round_trip() {
    for protocol in BOTH {
        // 99 heads, compressed to well below 100 bytes, and as many bodies of 20: in both directions
        // less than the initial window of 14,480 bytes.
        let objects = (0..100).map(|at| object(&format!("/{at:03}"), 20));
        let outcome = over(protocol, FAST, page(objects), "");
        assert_eq!(outcome.connections, 1);
        let ms = outcome.plt.as_ms();
        assert!((300.0..300.1).contains(&ms), "{protocol}: {ms}");
    }
}

#[test]
fn beyond_a_hundred_streams_requests_wait_for_one_to_end() {
    for protocol in BOTH {
        let objects = (0..103).map(|at| object(&format!("/{at:03}"), 20));
        // 102 objects wait for the root; the server lets 100 of them be under way.
        let outcome = over(protocol, FAST, page(objects), "");
        let ms = outcome.plt.as_ms();
        // A second connection would take as long, but there is none.
        assert!(outcome.connections == 1 && (400.0..400.1).contains(&ms), "{protocol}: {ms}");
    }
}

#[test]
fn each_host_has_a_connection_of_its_own() {
    for protocol in BOTH {
        let objects = (0..40).map(|at| object(&format!("/{at:03}"), 1000));
        assert_eq!(over(protocol, FAST, page(objects), r#", "servers": 4"#).connections, 4);
    }
}

/// A large image that is found first, and a style sheet that a script asks for 300 ms later. Gives
/// when the last bytes of both arrive, in ms.
fn image_and_late_style(protocol: &str, rest: &str) -> [f64; 2] {
    let late = Need { node: "http://a.test/".to_owned(), on: On::End, bytes: None, ms: 300.0, ..Need::default() };
    let style = ObjectSpec { needs: Some(vec![late]), ..object("/late.css", 20_000) };
    let outcome = over(protocol, "10mbit,100ms", page([object("/", 1000), object("/big.png", 1_500_000), style]), rest);
    [1, 2].map(|at| outcome.waterfall[at].last_byte.unwrap().as_ms())
}

#[test]
fn a_late_style_sheet_overtakes_an_image_unless_the_socket_has_swallowed_it() {
    for protocol in BOTH {
        let [image, style] = image_and_late_style(protocol, "");
        // Found at 500 ms, it takes a round trip, a queue of 100 ms at most, the 16 KB that wait unsent
        // and its own 16 ms of transmission: far less than the 1,200 ms of the image.
        assert!((600.0..500.0 + 100.0 + 100.0 + 16.0 + 16.0 + 50.0).contains(&style), "{protocol}: {style}");
        assert!(style + 500.0 < image, "{protocol}: {style} {image}");
        // A socket that takes everything at once has taken the image before the style is known of.
        let [image, style] = image_and_late_style(protocol, r#", "tcp": {"notsent_lowat": 4000000}"#);
        assert!(style > image, "{protocol}: {style} {image}");
    }
}

#[test]
fn policies_change_the_order_and_not_the_end() {
    for protocol in BOTH {
        let with = |policy| image_and_late_style(protocol, &format!(r#", "multiplexing": {{"policy": "{policy}"}}"#));
        let [by_urgency, in_turn, by_arrival] = ["priority", "round-robin", "first-come-first-served"].map(with);
        assert!(by_urgency[1] < in_turn[1] && in_turn[1] < by_arrival[1], "{by_urgency:?} {in_turn:?} {by_arrival:?}");
        let [by_weight, by_tree] = ["weighted", "dependencies"].map(with);
        assert!(by_urgency[1] <= by_weight[1] && by_weight[1] <= in_turn[1], "{by_weight:?}");
        // Our clients say nothing of dependencies: then HTTP/2's streams share alike. SPDY has none.
        assert!(by_weight[1] <= by_tree[1] && by_tree[1] <= in_turn[1], "{by_weight:?} {by_tree:?} {in_turn:?}");
        assert!(protocol == "h2" || by_tree == by_weight);
        assert!(by_arrival[0] < by_arrival[1], "the image came first and is served first: {by_arrival:?}");
        let last = |times: [f64; 2]| times[0].max(times[1]);
        // The same bytes over the same link: only the heads of frames differ.
        assert!((last(by_urgency) - last(by_arrival)).abs() < 5.0, "{by_urgency:?} {by_arrival:?}");
    }
}

#[test]
fn smaller_frames_cost_their_heads() {
    for (protocol, head) in [("spdy/3.1", 8), ("h2", 9)] {
        let down = |frame: u32| {
            let rest = format!(
                r#", "multiplexing": {{"frame_bytes": {frame}}}, "tcp": {{"notsent_lowat": 4000000, "iw": 1000}}"#
            );
            over(protocol, "1gbit,10ms", page([object("/", 1_024_000)]), &rest)
        };
        // 1,000 frames instead of 250: the bytes, and the packets that they fill, at 52 a packet.
        let more = down(1024).bytes_down - down(4096).bytes_down;
        let heads = 750 * head;
        assert!((heads..heads + 52 * (heads / 1448 + 2)).contains(&more), "{protocol}: {more}");
    }
}

#[test]
fn a_session_window_limits_the_rate_of_a_distant_host() {
    for protocol in BOTH {
        // SPDY/3's window of 64 KiB a round trip of 100 ms: 1 MB takes some 15 round trips.
        let rest = r#", "multiplexing": {"stream_window": 65536, "session_window": 65536}"#;
        let limited = over(protocol, "100mbit,100ms", page([object("/", 1_000_000)]), rest).plt.as_ms();
        let free = over(protocol, "100mbit,100ms", page([object("/", 1_000_000)]), "").plt.as_ms();
        // Half a window is given back at a time, so the rate is below a window a round trip and
        // above half of one.
        let round_trips = 1_000_000.0 / 65_536.0;
        assert!(limited > 100.0 * round_trips && limited < 200.0 * round_trips + 500.0, "{protocol}: {limited}");
        assert!(free < limited / 1.5, "{protocol}: {free} {limited}");
    }
}

/// Puts the page through two sessions joined by a wire without length, one object after the other
/// or all at once, as the protocol lets it; gives the bytes that each end put out.
fn joined(page: &Page, protocol: Protocol) -> [u64; 2] {
    let sessions = SessionFactory::new(Multiplexing::default());
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    let mut fetches = page.fetches().map(|(_, fetch)| fetch);
    let mut bytes = [0, 0];
    // The root comes first and alone.
    let mut waiting: Vec<_> = fetches.next().into_iter().collect();
    loop {
        let count = client.capacity().min(waiting.len());
        for fetch in waiting.drain(..count) {
            client.request(fetch.request.clone(), fetch.upload.into(), fetch.priority);
        }
        let up = carry(client.as_mut(), server.as_mut());
        while let Some(event) = server.poll_event() {
            if let Event::Request { id, head } = event {
                let (_, fetch) = page.fetches().find(|(_, fetch)| fetch.request.path == head.path).unwrap();
                server.respond(id, fetch.response.clone(), fetch.body.into());
            }
        }
        let down = carry(server.as_mut(), client.as_mut());
        let ended =
            std::iter::from_fn(|| client.poll_event()).filter(|event| matches!(event, Event::End { .. })).count();
        if ended > 0 {
            waiting.extend(fetches.by_ref());
        }
        if up + down == 0 {
            return bytes;
        }
        bytes = [bytes[0] + up, bytes[1] + down];
    }
}

fn carry(from: &mut dyn Session, to: &mut dyn Session) -> u64 {
    let mut wire = Wire::default();
    from.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut wire);
    let len = wire.len();
    to.handle_input(Time::ZERO, TransportStream::TCP, &wire.take_all()).unwrap();
    len
}

#[test]
fn a_simulated_connection_carries_the_bytes_that_two_joined_sessions_put_out() {
    let objects = (0..80).map(|at: u64| ObjectSpec {
        bytes: 100 + at * at * 7,
        request_header_bytes: Some(300 + at as u32 * 11 % 200),
        response_header_bytes: Some(200 + at as u32 * 7 % 150),
        ..object(&format!("/img/{}/{at:03}.png", at % 7), 0)
    });
    let page = page(objects);
    for protocol in Protocol::ALL {
        // A socket that takes all at once cuts no frame; one connection takes everything.
        let variant = format!(
            r#"{{"protocol": "{protocol}", "tls": "none", "connections": 1, "tcp": {{"notsent_lowat": 4000000}}}}"#
        );
        let outcome = load(page.clone(), "10/1mbit,100ms,1%", crate::variant(&variant));
        let connection = &outcome.per_connection[0];
        assert!(outcome.completed && outcome.per_connection.len() == 1);
        let simulated = [connection.content_up, connection.content_down];
        assert_eq!(simulated, joined(&page.build().unwrap(), protocol), "{protocol}");
    }
}
