//! Stories over a transport whose streams overtake one another: a session of many of them, and those of one.

use super::bundle::Bundle;
use super::pair::{NOW, TCP, trailing};
use super::toy::{Toy, Way};
use crate::{Body, BodyId, Chunk, ClientSession, Content, Event, Fields, Multiplexing, Priority, Protocol};
use crate::{RequestHead, RequestId, ResponseHead, ServerSession, Session, SessionFactory, TransportStream, Wire};
use loadstone_units::Bounded;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What is spoken: many streams of the transport, or one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Speech {
    Many,
    One(Protocol),
}

impl Speech {
    fn all() -> impl Iterator<Item = Speech> {
        [Speech::Many].into_iter().chain(Protocol::ALL.map(Speech::One))
    }

    fn ends(self) -> (Box<dyn ClientSession>, Box<dyn ServerSession>) {
        let (stream_window, session_window) = (Bounded::known(65_536), Bounded::known(1 << 20));
        let sessions = SessionFactory::new(Multiplexing { stream_window, session_window, ..Multiplexing::default() });
        match self {
            Speech::Many => (Box::new(Bundle::client()), Box::new(Bundle::server())),
            Speech::One(protocol) => (sessions.client(protocol), sessions.server(protocol)),
        }
    }
}

/// A request and its answer, each in pieces. What is in an even number of pieces has trailers.
#[derive(Clone, Debug)]
struct Exchange {
    up: Vec<u16>,
    down: Vec<u16>,
    urgency: u8,
}

impl Exchange {
    fn get(down: &[u16]) -> Exchange {
        Exchange { up: Vec::new(), down: down.to_vec(), urgency: 3 }
    }
}

/// Whether a server answers as it hears of a request, or when it has all of it.
fn answers_early(id: RequestId) -> bool {
    id.0.is_multiple_of(2)
}

fn uploaded(id: RequestId) -> BodyId {
    BodyId(2 * id.0)
}

fn downloaded(id: RequestId) -> BodyId {
    BodyId(2 * id.0 + 1)
}

/// A message that a program writes piece by piece.
struct Draft {
    id: RequestId,
    body: BodyId,
    offset: u64,
    pieces: Vec<u16>,
    trailers: Fields,
}

impl Draft {
    fn new(id: RequestId, body: BodyId, pieces: &[u16]) -> Draft {
        let trailers = if pieces.len().is_multiple_of(2) { trailing() } else { Fields::default() };
        Draft { id, body, offset: 0, pieces: pieces.iter().rev().copied().collect(), trailers }
    }

    /// Writes the next piece, or the end; whether there is more.
    fn go_on(&mut self, session: &mut dyn Session) -> bool {
        let Some(piece) = self.pieces.pop() else {
            session.finish(self.id, std::mem::take(&mut self.trailers));
            return false;
        };
        let len = u64::from(piece);
        session.append(self.id, Chunk::Run { body: self.body, offset: self.offset, len });
        self.offset += len;
        true
    }
}

/// What has come of a message.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Message {
    len: u64,
    has_trailers: bool,
    is_complete: bool,
    is_reset: bool,
}

impl Message {
    fn complete(pieces: &[u16]) -> Message {
        let len = pieces.iter().copied().map(u64::from).sum();
        Message { len, has_trailers: pieces.len().is_multiple_of(2), is_complete: true, is_reset: false }
    }

    fn reset(self) -> Message {
        Message { is_reset: true, ..self }
    }

    fn hear(&mut self, event: &Event, body: BodyId) {
        assert!(!self.is_complete && !self.is_reset, "{event:?} behind the end");
        match event {
            Event::Data { content: Chunk::Run { body: of, offset, len }, .. } => {
                assert_eq!((*of, *offset, self.has_trailers), (body, self.len, false), "out of order");
                self.len += len;
            }
            Event::Data { .. } => panic!("content that no one sent"),
            Event::Trailers { .. } => self.has_trailers = true,
            Event::End { .. } => self.is_complete = true,
            Event::Reset { .. } => self.is_reset = true,
            _ => {}
        }
    }
}

/// Two programs, their sessions and the transport between them.
struct Talk {
    toy: Toy,
    client: Box<dyn ClientSession>,
    server: Box<dyn ServerSession>,
    exchanges: Vec<Exchange>,
    asked: usize,
    uploads: Vec<Draft>,
    downloads: Vec<Draft>,
    /// The client's numbers of what the server has its own for: requests may leave in another order.
    numbers: BTreeMap<RequestId, RequestId>,
    at_client: BTreeMap<RequestId, Message>,
    at_server: BTreeMap<RequestId, Message>,
    /// Everything, in the order in which it was heard.
    heard: Vec<(Way, Event)>,
    /// What the client does not use when it comes.
    hoarded: BTreeMap<RequestId, u64>,
}

impl Talk {
    fn new(speech: Speech, seed: u64, window: u64, exchanges: &[Exchange]) -> Talk {
        let (mut client, mut server) = speech.ends();
        client.hold();
        server.hold();
        Talk {
            toy: Toy::new(seed, window),
            client,
            server,
            exchanges: exchanges.to_vec(),
            asked: 0,
            uploads: Vec::new(),
            downloads: Vec::new(),
            numbers: BTreeMap::new(),
            at_client: BTreeMap::new(),
            at_server: BTreeMap::new(),
            heard: Vec::new(),
            hoarded: BTreeMap::new(),
        }
    }

    /// Goes on until nothing can go on.
    fn talk(&mut self) {
        while self.go_on() {}
    }

    /// Everyone does one thing; whether anything came of it.
    fn go_on(&mut self) -> bool {
        let has_written = self.ask() | self.write();
        let has_sent =
            self.toy.take(Way::ToServer, self.client.as_mut()) | self.toy.take(Way::ToClient, self.server.as_mut());
        let has_come = self.toy.deliver(self.client.as_mut(), self.server.as_mut());
        self.hear();
        let has_room =
            self.toy.grant(Way::ToServer, self.server.as_mut()) | self.toy.grant(Way::ToClient, self.client.as_mut());
        has_written || has_sent || has_come || has_room
    }

    /// The next request, if the session takes one.
    fn ask(&mut self) -> bool {
        if self.asked == self.exchanges.len() || self.client.capacity() == 0 {
            return false;
        }
        let (path, exchange) = (format!("/{}", self.asked), &self.exchanges[self.asked]);
        let priority = Priority::at(exchange.urgency);
        if exchange.up.is_empty() {
            let head = RequestHead::get("a.test", &path, Fields::default());
            self.client.request(head.into(), Body::EMPTY.into(), priority);
        } else {
            let head = RequestHead::new("POST".into(), "a.test".into(), path.into(), Fields::default());
            let id = self.client.request(head.into(), Content::Streamed, priority);
            self.uploads.push(Draft::new(id, uploaded(id), &exchange.up));
        }
        self.asked += 1;
        true
    }

    fn write(&mut self) -> bool {
        let has_drafts = !self.uploads.is_empty() || !self.downloads.is_empty();
        self.uploads.retain_mut(|draft| draft.go_on(self.client.as_mut()));
        self.downloads.retain_mut(|draft| draft.go_on(self.server.as_mut()));
        has_drafts
    }

    fn hear(&mut self) {
        while let Some(event) = self.server.poll_event() {
            self.hear_at_server(&event);
            self.heard.push((Way::ToServer, event));
        }
        while let Some(event) = self.client.poll_event() {
            let id = event.request().expect("no one pings");
            self.at_client.entry(id).or_default().hear(&event, downloaded(id));
            if let Event::Data { content, .. } = &event {
                match self.hoarded.get_mut(&id) {
                    Some(hoarded) => *hoarded += content.len(),
                    None => self.client.release(id, content.len()),
                }
            }
            self.heard.push((Way::ToClient, event));
        }
    }

    fn hear_at_server(&mut self, event: &Event) {
        let id = event.request().expect("no one pings");
        if let Event::Request { head, .. } = event {
            let number = std::str::from_utf8(&head.path[1..]).unwrap().parse().unwrap();
            assert_eq!(self.numbers.insert(id, RequestId(number)), None, "{id:?} comes a second time");
        }
        let number = self.numbers[&id];
        if !matches!(event, Event::ResponseSent { .. }) {
            self.at_server.entry(number).or_default().hear(event, uploaded(number));
        }
        match event {
            Event::Request { .. } if answers_early(number) => self.answer(id),
            Event::End { .. } if !answers_early(number) => self.answer(id),
            Event::Data { content, .. } => self.server.release(id, content.len()),
            _ => {}
        }
    }

    fn answer(&mut self, id: RequestId) {
        let number = self.numbers[&id];
        let pieces = &self.exchanges[number.0 as usize].down;
        self.server.respond(id, ResponseHead::new(200, Fields::default()).into(), Content::Streamed);
        self.downloads.push(Draft::new(id, downloaded(number), pieces));
    }

    /// The server's number of an exchange.
    fn at_server(&self, number: RequestId) -> RequestId {
        *self.numbers.iter().find(|(_, of)| **of == number).expect("it has been asked for").0
    }

    /// Answers that the client has as a whole.
    fn complete(&self) -> Vec<u32> {
        self.at_client.iter().filter(|(_, message)| message.is_complete).map(|(id, _)| id.0).collect()
    }

    /// Whether both programs have heard what the other one wrote, each message once.
    fn assert_complete(&self, context: &dyn std::fmt::Debug) {
        type Is = fn(&Event) -> bool;
        let ids = || (0..).map(RequestId);
        let answers = ids().zip(self.exchanges.iter().map(|exchange| Message::complete(&exchange.down)));
        assert_eq!(self.at_client, answers.collect(), "{context:?}");
        let request = |exchange: &Exchange| match exchange.up.is_empty() {
            true => Message { is_complete: true, ..Message::default() },
            false => Message::complete(&exchange.up),
        };
        assert_eq!(self.at_server, ids().zip(self.exchanges.iter().map(request)).collect(), "{context:?}");
        let (sent, answered): (Is, Is) =
            (|e| matches!(e, Event::Sent { .. }), |e| matches!(e, Event::ResponseSent { .. }));
        for is_it in [sent, answered] {
            let told: Vec<_> = self.heard.iter().filter(|(_, event)| is_it(event)).map(|(_, e)| e.request()).collect();
            let once: BTreeSet<_> = told.iter().collect();
            assert_eq!((told.len(), once.len()), (self.exchanges.len(), self.exchanges.len()), "{context:?}");
        }
    }
}

/// The stream of the transport that carries an exchange.
fn carrier(speech: Speech, id: u64) -> TransportStream {
    if speech == Speech::Many { TransportStream(4 * id) } else { TCP }
}

proptest! {
    #[test]
    fn whatever_overtakes_what_every_exchange_arrives_whole_and_in_order(
        seed in any::<u64>(),
        window in 1_000_u64..50_000,
        late in 0_u64..6,
        exchanges in prop::collection::vec(
            (prop::collection::vec(0_u16..20_000, 0..4), prop::collection::vec(0_u16..20_000, 0..4), 0_u8..8), 1..6),
    ) {
        let exchanges: Vec<_> =
            exchanges.into_iter().map(|(up, down, urgency)| Exchange { up, down, urgency }).collect();
        for speech in Speech::all() {
            let mut talk = Talk::new(speech, seed, window, &exchanges);
            // All others overtake this one.
            talk.toy.lose(carrier(speech, late));
            talk.talk();
            talk.toy.find(carrier(speech, late));
            talk.talk();
            talk.assert_complete(&speech);
            // TCP's stream ends with the connection, the others with their exchanges.
            let closed = if speech == Speech::Many { exchanges.len() } else { 0 };
            prop_assert_eq!(talk.toy.closed(), closed);
        }
    }
}

/// Head-of-line blocking: the same transport, the same five exchanges, and one loss.
#[test]
fn what_is_lost_delays_no_other_stream_and_with_one_stream_it_delays_all() {
    for speech in Speech::all() {
        for seed in 0..20 {
            let mut talk = Talk::new(speech, seed, 1 << 20, &vec![Exchange::get(&[10_000, 5_000]); 5]);
            // Until something of the third answer waits to go out.
            while talk.downloads.iter().all(|draft| draft.body != downloaded(RequestId(2))) {
                assert!(talk.go_on(), "{speech:?}");
            }
            let before = talk.complete();
            talk.toy.lose(carrier(speech, 2));
            talk.talk();
            match speech {
                Speech::Many => assert_eq!(talk.complete(), [0, 1, 3, 4], "seed {seed}"),
                Speech::One(_) => assert_eq!(talk.complete(), before, "{speech:?}, seed {seed}"),
            }
            talk.toy.find(carrier(speech, 2));
            talk.talk();
            talk.assert_complete(&speech);
        }
    }
}

#[test]
fn a_stream_without_room_lets_the_others_go() {
    for speech in Speech::all() {
        let exchanges = vec![Exchange { up: vec![3_000], ..Exchange::get(&[3_000, 0, 9_000]) }; 4];
        let mut talk = Talk::new(speech, 1, 5_000, &exchanges);
        talk.toy.shut(carrier(speech, 1));
        talk.talk();
        let others: &[u32] = if speech == Speech::Many { &[0, 2, 3] } else { &[] };
        assert_eq!(talk.complete(), others, "{speech:?}");
        assert_eq!(talk.at_server.len(), others.len(), "{speech:?}");
        talk.toy.reopen(carrier(speech, 1));
        talk.talk();
        talk.assert_complete(&speech);
    }
}

#[test]
fn content_that_is_not_used_stops_its_own_stream_and_without_windows_of_the_protocol_all_of_one() {
    const WINDOW: u64 = 10_000;
    let first = RequestId(0);
    for (speech, others) in [
        (Speech::Many, &[1, 2, 3][..]),
        // Its own windows do what the transport's do there.
        (Speech::One(Protocol::H2), &[1, 2, 3]),
        (Speech::One(Protocol::Spdy31), &[1, 2, 3]),
        (Speech::One(Protocol::Spdy2), &[]),
    ] {
        for seed in 0..10 {
            // The one that is not used is the most urgent.
            let mut exchanges = vec![Exchange::get(&[60_000, 60_000, 60_000]); 4];
            exchanges[0].urgency = 0;
            let mut talk = Talk::new(speech, seed, WINDOW, &exchanges);
            talk.hoarded.insert(first, 0);
            talk.talk();
            let hoarded = talk.hoarded[&first];
            assert!(hoarded < 180_000 && talk.server.buffered(talk.at_server(first)) > 0, "{speech:?}, seed {seed}");
            assert_eq!(talk.complete(), others, "{speech:?}, seed {seed}");
            if speech == Speech::Many {
                // A chunk of one byte is six bytes long: in a room of five there is none.
                assert!((WINDOW - 5..=WINDOW).contains(&hoarded), "{hoarded}, seed {seed}");
                assert_eq!(talk.toy.unused(Way::ToClient, carrier(speech, 0)), hoarded, "framing is used at once");
            }
            talk.hoarded.remove(&first);
            talk.client.release(first, hoarded);
            talk.talk();
            talk.assert_complete(&speech);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_order_of_events_and_another_one_another() {
    let exchanges = vec![Exchange { up: vec![2_000, 100], ..Exchange::get(&[8_000, 1, 9_000]) }; 5];
    let heard = |speech, seed| {
        let mut talk = Talk::new(speech, seed, 4_000, &exchanges);
        talk.talk();
        talk.heard
    };
    for speech in Speech::all() {
        assert_eq!(heard(speech, 7), heard(speech, 7), "{speech:?}");
    }
    let ends = |seed| -> Vec<_> {
        let heard = heard(Speech::Many, seed).into_iter();
        heard
            .filter(|(_, event)| matches!(event, Event::End { .. }))
            .map(|(way, event)| (way, event.request()))
            .collect()
    };
    assert!((1..10).any(|seed| ends(seed) != ends(0)), "nothing overtakes");
}

/// RFC 9218, section 10.
#[test]
fn the_next_stream_is_the_most_urgent_one_with_room_at_both_ends() {
    // The urgencies of the exchanges; the streams without room; the order in which the others go.
    for (urgencies, shut, order) in [
        (&[3, 3, 3][..], &[][..], &[0, 4, 8][..]),
        (&[5, 3, 0], &[], &[8, 4, 0]),
        (&[5, 3, 0], &[8], &[4, 0]),
        (&[3, 7, 3, 0], &[0], &[12, 8, 4]),
    ] {
        let (mut client, mut server) = Speech::Many.ends();
        for urgency in urgencies {
            let head = RequestHead::get("a.test", "/", Fields::default());
            client.request(head.into(), Body::EMPTY.into(), Priority::at(*urgency));
        }
        let all = sent(client.as_mut(), &[]);
        for (on, input) in all.iter().rev() {
            server.handle_input(NOW, *on, input).unwrap();
        }
        while let Some(event) = server.poll_event() {
            if let Event::Request { id, .. } = event {
                let head = ResponseHead::new(204, Fields::default());
                server.respond(id, head.into(), Body::EMPTY.into());
            }
        }
        let (mut again, _) = Speech::Many.ends();
        for urgency in urgencies {
            let head = RequestHead::get("a.test", "/", Fields::default());
            again.request(head.into(), Body::EMPTY.into(), Priority::at(*urgency));
        }
        for session in [again.as_mut() as &mut dyn Session, server.as_mut()] {
            let streams: Vec<u64> = sent(session, shut).iter().map(|(on, _)| on.0).collect();
            assert_eq!(streams, order, "{urgencies:?} without {shut:?}");
        }
    }
}

/// What goes out on which stream, in order.
fn sent(session: &mut dyn Session, shut: &[u64]) -> Vec<(TransportStream, Vec<Chunk>)> {
    let mut all = Vec::new();
    while let Some(on) = session.next_stream(&|on| if shut.contains(&on.0) { 0 } else { 10_000 }) {
        let mut wire = Wire::default();
        session.poll_transmit(NOW, on, 10_000, &mut wire);
        all.push((on, wire.take_all()));
    }
    all
}

#[test]
fn an_exchange_that_is_given_up_ends_with_its_stream_and_the_others_go_on() {
    for seed in 0..20 {
        let exchanges = vec![Exchange { up: vec![3_000; 9], ..Exchange::get(&[3_000; 9]) }; 4];
        let mut talk = Talk::new(Speech::Many, seed, 2_000, &exchanges);
        // The client gives up the first in the middle of the request, the server the third in the middle of the answer.
        let has_begun = |of: &BTreeMap<RequestId, Message>, id| of.get(&id).is_some_and(|message| message.len > 0);
        let (first, third) = (RequestId(0), RequestId(2));
        while !has_begun(&talk.at_server, first) || !has_begun(&talk.at_client, third) {
            assert!(talk.go_on());
        }
        assert!(!talk.at_server[&first].is_complete && !talk.at_client[&third].is_complete, "seed {seed}");
        talk.client.cancel(first);
        talk.server.cancel(talk.at_server(third));
        talk.talk();
        assert_eq!(talk.complete(), [1, 3], "seed {seed}");
        assert_eq!(talk.at_server[&first], talk.at_server[&first].clone().reset(), "seed {seed}");
        assert_eq!(talk.at_client[&third], talk.at_client[&third].clone().reset(), "seed {seed}");
        assert_eq!(talk.toy.closed(), 4, "seed {seed}");
    }
}
