//! Programs that take their time to use what comes.

use super::pair::{NOW, Pair, TCP, run, text};
use super::tests::{counted, drain_events};
use crate::RequestId;
use crate::{Body, BodyId, Chunk, Content, Event, Fields, Multiplexing, Priority, Protocol, RequestHead, ResponseHead};
use loadstone_units::Bounded;
use proptest::prelude::*;

const WINDOW: u64 = 65_536;
/// What HTTP/2 and SPDY/3 bound by windows of their own.
const WITH_WINDOWS: [Protocol; 3] = [Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];
const WITHOUT: [Protocol; 3] = [Protocol::Http1, Protocol::Http1Pipelining, Protocol::Spdy2];

/// A client that holds, and a server.
fn holding(protocol: Protocol) -> Pair {
    let (stream_window, session_window) = (Bounded::known(WINDOW as u32), Bounded::known(WINDOW as u32));
    Pair::holding(protocol, Multiplexing { stream_window, session_window, ..Multiplexing::default() })
}

fn content(events: &[Event], of: RequestId) -> u64 {
    let len = |event: &Event| match event {
        Event::Data { id, content } if *id == of => content.len(),
        _ => 0,
    };
    events.iter().map(len).sum()
}

#[test]
fn who_sends_stops_at_the_window_until_what_came_is_released() {
    for protocol in WITH_WINDOWS {
        let mut pair = holding(protocol);
        let id = pair.asked(&[]);
        pair.server.append(id, run(0, 3 * WINDOW));
        pair.talk();
        assert_eq!(content(&pair.at_client, id), WINDOW, "{protocol}");
        assert_eq!(pair.server.buffered(id), 2 * WINDOW, "{protocol}");
        // Windows are given back half by half.
        pair.client.release(id, WINDOW / 2 - 1);
        pair.talk();
        assert_eq!(content(&pair.at_client, id), WINDOW, "{protocol}");
        pair.client.release(id, 1);
        pair.talk();
        assert_eq!(content(&pair.at_client, id), WINDOW + WINDOW / 2, "{protocol}");
        // No more can be released than has arrived.
        pair.client.release(id, 10 * WINDOW);
        pair.client.release(id, 10 * WINDOW);
        pair.talk();
        assert_eq!(content(&pair.at_client, id), 2 * WINDOW + WINDOW / 2, "{protocol}");
        pair.server.finish(id, Fields::default());
        for _ in 0..3 {
            pair.client.release(id, WINDOW);
            pair.talk();
        }
        assert_eq!(pair.at_client.last(), Some(&Event::End { id }), "{protocol}");
    }
}

#[test]
fn a_server_holds_as_well() {
    for protocol in WITH_WINDOWS {
        let config = Multiplexing { stream_window: Bounded::known(WINDOW as u32), ..Multiplexing::default() };
        let mut pair = Pair::holding(protocol, config);
        let id = pair.ask("POST", &[], Content::Streamed);
        pair.client.append(id, run(0, 3 * WINDOW));
        pair.talk();
        assert_eq!((content(&pair.at_server, id), pair.client.buffered(id)), (WINDOW, 2 * WINDOW), "{protocol}");
        pair.server.release(id, WINDOW);
        pair.talk();
        assert_eq!(content(&pair.at_server, id), 2 * WINDOW, "{protocol}");
    }
}

#[test]
fn where_there_are_no_windows_the_transport_hears_what_was_used() {
    for protocol in WITHOUT {
        let mut pair = holding(protocol);
        let id = pair.asked(&[]);
        pair.client.poll_used(TCP);
        pair.server.append(id, text(1_000));
        pair.server.append(id, text(500));
        let sent = pair.speak();
        assert_eq!(content(&pair.at_client, id), 1_500, "{protocol}");
        assert_eq!(pair.client.poll_used(TCP), sent - 1_500, "{protocol}: heads and framing are used at once");
        pair.client.release(id, 700);
        assert_eq!((pair.client.poll_used(TCP), pair.client.poll_used(TCP)), (700, 0), "{protocol}");
        pair.client.release(id, 10_000);
        assert_eq!(pair.client.poll_used(TCP), 800, "{protocol}");
    }
    for protocol in WITH_WINDOWS {
        let mut pair = holding(protocol);
        let id = pair.asked(&[]);
        pair.client.poll_used(TCP);
        pair.server.append(id, text(1_000));
        let sent = pair.speak();
        assert_eq!(pair.client.poll_used(TCP), sent, "{protocol}: its own windows are enough");
        pair.client.release(id, 1_000);
        assert_eq!(pair.client.poll_used(TCP), 0, "{protocol}");
    }
}

#[test]
fn who_does_not_hold_gives_back_as_it_comes() {
    for protocol in Protocol::ALL {
        let mut pair = Pair::new(protocol);
        let id = pair.asked(&[]);
        pair.server.append(id, run(0, 50_000_000));
        pair.talk();
        assert_eq!(content(&pair.at_client, id), 50_000_000, "{protocol}");
        assert_eq!(pair.client.poll_used(TCP), 0, "{protocol}");
    }
}

/// What becomes of content that is held, when its stream ends.
#[test]
fn what_is_held_of_a_message_that_is_complete_waits_for_its_release_and_that_of_others_does_not() {
    type Act = fn(&mut Pair, RequestId);
    let (complete, by_us, by_peer): (Act, Act, Act) = (
        |pair, id| pair.server.finish(id, Fields::default()),
        |pair, id| pair.client.cancel(id),
        |pair, id| pair.server.cancel(id),
    );
    let dropped: Act = |pair, id| {
        pair.server.finish(id, Fields::default());
        pair.talk();
        pair.client.cancel(id);
    };
    for protocol in [Protocol::Spdy31, Protocol::H2] {
        for (act, is_held) in [(complete, true), (by_us, false), (by_peer, false), (dropped, false)] {
            let mut pair = holding(protocol);
            let first = pair.asked(&[]);
            pair.server.append(first, run(0, WINDOW));
            pair.talk();
            act(&mut pair, first);
            pair.talk();
            let second = pair.asked(&[]);
            pair.server.append(second, run(0, WINDOW));
            pair.talk();
            let came = content(&pair.at_client, second);
            assert_eq!(came, if is_held { 0 } else { WINDOW }, "{protocol}");
            pair.client.release(first, WINDOW);
            pair.talk();
            assert_eq!(content(&pair.at_client, second), WINDOW, "{protocol}");
        }
    }
    for protocol in WITHOUT {
        let mut pair = holding(protocol);
        let id = pair.asked(&[]);
        pair.server.append(id, text(100));
        pair.server.finish(id, Fields::default());
        pair.talk();
        pair.client.poll_used(TCP);
        pair.client.cancel(id);
        assert_eq!((pair.client.poll_used(TCP), pair.client.is_over()), (100, false), "{protocol}");
    }
}

#[test]
fn padding_goes_back_at_once_and_so_does_what_nobody_wants_any_more_rfc9113_6_9_1() {
    let mut pair = holding(Protocol::H2);
    let id = pair.asked(&[]);
    pair.talk();
    // PADDED: a byte that says 255, so much padding, and the content.
    let (content, mut frame) = (9_744, vec![0, 0x27, 0x10, 0, 8, 0, 0, 0, 1, 255]);
    frame.extend(vec![0; 9_999]);
    let feed = |pair: &mut Pair| {
        let input = Chunk::Bytes(frame.clone().into());
        pair.client.handle_input(NOW, TCP, &[input]).unwrap();
        drain_events(pair.client.as_mut())
    };
    // Together more than ten times the window.
    for _ in 0..70 {
        assert_eq!(feed(&mut pair), [Event::Data { id, content: counted(content) }]);
        pair.client.release(id, content);
    }
    pair.client.cancel(id);
    for _ in 0..70 {
        assert_eq!(feed(&mut pair), []);
    }
}

/// Draft 3, section 3.2.1: the server answers with status 400 in the program's place.
#[test]
fn what_was_held_of_a_request_that_turned_out_bad_goes_back_at_once() {
    let mut pair = holding(Protocol::Spdy31);
    for _ in 0..20 {
        let head = RequestHead::get("a.test", "/", Fields::from_pairs([("content-length", "10")]));
        let body = Body { id: BodyId(0), len: WINDOW };
        let id = pair.client.request(head.into(), body.into(), Priority::default());
        pair.talk();
        assert!(content(&pair.at_server, id) > 0, "{id:?}: its window is whole");
        assert!(
            pair.at_server.ends_with(&[Event::Rejected { id, head: None, status: 400 }, Event::ResponseSent { id }])
        );
        assert_eq!(pair.client.buffered(id), 0);
    }
}

/// What a program does, and what comes of it.
#[derive(Clone, Copy, Debug)]
enum Act {
    Append(usize, u16),
    Release(usize, u16),
    Cancel(usize),
    Speak,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0_usize..3, any::<u16>()).prop_map(|(at, len)| Act::Append(at, len)),
        4 => (0_usize..3, any::<u16>()).prop_map(|(at, len)| Act::Release(at, len)),
        1 => (0_usize..3).prop_map(Act::Cancel),
        4 => Just(Act::Speak),
    ];
    prop::collection::vec(act, 0..60)
}

/// The simplest model of a program that holds: what came on each stream and has not been used.
struct Model {
    pair: Pair,
    ids: Vec<RequestId>,
    held: Vec<u64>,
    used: u64,
}

impl Model {
    fn new(protocol: Protocol) -> Model {
        let mut pair = holding(protocol);
        let count = if protocol.is_multiplexed() { 3 } else { 1 };
        let get = || RequestHead::get("a.test", "/", Fields::default()).into();
        let ask = |_| pair.client.request(get(), Body::EMPTY.into(), Priority::incremental_at(3));
        let ids: Vec<RequestId> = (0..count).map(ask).collect();
        pair.talk();
        for id in &ids {
            pair.server.respond(*id, ResponseHead::new(200, Fields::default()).into(), Content::Streamed);
        }
        Model { held: vec![0; ids.len()], ids, pair, used: 0 }
    }

    fn act(&mut self, act: Act) {
        let count = self.ids.len();
        match act {
            Act::Append(at, len) => self.pair.server.append(self.ids[at % count], text(usize::from(len))),
            Act::Release(at, len) => {
                let (at, len) = (at % count, u64::from(len));
                self.pair.client.release(self.ids[at], len);
                self.held[at] = self.held[at].saturating_sub(len);
            }
            // HTTP/1.1 would be over.
            Act::Cancel(_) if count == 1 => {}
            Act::Cancel(at) => {
                self.pair.client.cancel(self.ids[at % count]);
                self.held[at % count] = 0;
            }
            Act::Speak => drop(self.pair.speak()),
        }
        for event in self.pair.at_client.drain(..) {
            if let Event::Data { id, content } = event {
                let at = self.ids.iter().position(|known| *known == id).unwrap();
                self.held[at] += content.len();
            }
        }
        self.used += self.pair.client.poll_used(TCP);
    }

    fn check(&self, protocol: Protocol) {
        let held: u64 = self.held.iter().sum();
        if WITHOUT.contains(&protocol) {
            assert_eq!(self.pair.to_client, self.used + held, "{protocol}: what came is used or held");
            return;
        }
        assert_eq!(self.pair.to_client, self.used, "{protocol}");
        assert!(self.held.iter().all(|held| *held <= WINDOW), "{protocol}: {:?}", self.held);
        assert!(protocol == Protocol::Spdy3 || held <= WINDOW, "{protocol}: {:?}", self.held);
    }
}

proptest! {
    #[test]
    fn what_comes_is_used_or_held_and_in_the_end_the_windows_are_whole(acts in acts(), piece in 1_u64..9_000) {
        for protocol in Protocol::ALL {
            let mut model = Model::new(protocol);
            model.pair.piece = piece;
            for act in &acts {
                model.act(*act);
                model.check(protocol);
            }
            for _ in 0..200 {
                (0..3).for_each(|at| model.act(Act::Release(at, u16::MAX)));
                model.act(Act::Speak);
            }
            model.check(protocol);
            prop_assert_eq!(model.held.iter().sum::<u64>(), 0);
            if !protocol.is_multiplexed() {
                continue;
            }
            // But for what is given back only when it is half a window.
            let id = model.pair.asked(&[]);
            model.pair.server.append(id, run(0, 2 * WINDOW));
            model.pair.talk();
            let came = content(&model.pair.at_client, id);
            let (min, max) = match protocol {
                Protocol::Spdy2 => (2 * WINDOW, 2 * WINDOW),
                Protocol::Spdy3 => (WINDOW, WINDOW),
                _ => (WINDOW / 2 + 1, WINDOW),
            };
            prop_assert!((min..=max).contains(&came), "{}: {} of {}", protocol, came, WINDOW);
        }
    }
}
