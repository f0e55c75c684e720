//! A server whose connections are in a test's hands: what it notes of each exchange, what it tells ahead, and
//! when its timeouts expire.

mod bounds;

use super::*;
use crate::Opener;
use crate::shut::PROGRESS;
use loadstone_http::{BodyId, ClientSession, Multiplexing, Priority, Push, SessionFactory, TransportStream};
use std::cell::RefCell;
use std::rc::Rc;

const EVERY: [Protocol; 5] = [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];
const CONN: ConnId = ConnId(7);

/// What a site heard of an exchange: path, status, end.
type Done = (String, Option<u16>, Ending);

/// Answers each request with as many bytes as it had content, and notes what becomes of it.
#[derive(Debug, Default)]
struct Echo {
    think: Duration,
    /// When it answers what was asked before, the last first; at once if there is no such time.
    later: Option<Time>,
    waiting: Vec<(Ticket, u64)>,
    done: Rc<RefCell<Vec<Done>>>,
}

impl Site for Echo {
    type Asked = u64;

    fn ask(&mut self, _: &Arc<RequestHead>) -> u64 {
        0
    }

    fn take(&mut self, asked: &mut u64, content: Chunk) {
        *asked += content.len();
    }

    fn answer(&mut self, asked: u64, ticket: Ticket) -> Option<Answer> {
        if self.later.is_some() {
            self.waiting.push((ticket, asked));
            return None;
        }
        let head = ResponseHead::new(200, Fields::from_pairs([("content-length", asked.to_string())]));
        Some(Answer { think: self.think, ..Answer::new(head.into(), Body { id: BodyId(1), len: asked }) })
    }

    fn poll_answer(&mut self, now: Time) -> Option<(Ticket, Answer)> {
        self.later.take_if(|later| *later <= now);
        let (ticket, asked) = self.waiting.pop_if(|_| self.later.is_none())?;
        self.answer(asked, ticket).map(|answer| (ticket, answer))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.later
    }

    fn done(&mut self, exchange: &Exchange) {
        let path = String::from_utf8(exchange.request.path.to_vec()).unwrap();
        self.done.borrow_mut().push((path, exchange.response.map(|(status, _)| status), exchange.end));
    }
}

/// A server, one connection, and the client at its other end.
struct Talk {
    origin: Origin<Echo>,
    client: Box<dyn ClientSession>,
    done: Rc<RefCell<Vec<Done>>>,
    is_closed: bool,
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

impl Talk {
    fn new(protocol: Protocol, think: Duration) -> Talk {
        let sessions = Arc::new(SessionFactory::new(Multiplexing { push: Push::Accept, ..Multiplexing::default() }));
        let done = Rc::default();
        let site = Echo { think, done: Rc::clone(&done), ..Echo::default() };
        let timeouts = Timeouts {
            idle: Duration::from_secs(60),
            request: Duration::from_secs(30),
            response: Duration::from_secs(20),
        };
        let mut origin = Origin::new(site, Config { timeouts, ..Config::new(sessions.clone()) });
        origin.handle_open(Time::ZERO, CONN, Opened::by(Opener::Peer, protocol));
        let mut talk = Talk { origin, client: sessions.client(protocol), done, is_closed: false };
        talk.exchange(Time::ZERO);
        talk
    }

    fn ask(&mut self, path: &str, upload: u64) -> RequestId {
        let fields = Fields::from_pairs([("content-length", upload.to_string())]);
        let head = RequestHead::new("PUT".into(), "a.test".into(), path.to_owned().into(), fields);
        self.client.request(head.into(), Body { id: BodyId(0), len: upload }.into(), Priority::default())
    }

    /// Lets both ends say what they have to say.
    fn exchange(&mut self, now: Time) {
        loop {
            let mut wire = Wire::default();
            self.client.poll_transmit(now, TransportStream::TCP, 10_000, &mut wire);
            if !wire.is_empty() && !self.is_closed {
                self.origin.handle_input(now, CONN, TransportStream::TCP, &wire.take_all());
            }
            let heard = self.listen(now);
            if heard == 0 && !self.client.has_output() {
                return;
            }
        }
    }

    /// The client hears what the server says now; how many bytes.
    fn listen(&mut self, now: Time) -> u64 {
        while self.origin.poll_timeout().is_some_and(|deadline| deadline <= now) {
            self.origin.handle_timeout(now);
        }
        let mut wire = Wire::default();
        while let Some(action) = self.origin.poll_action() {
            match action {
                Action::Transmit { conn } => {
                    let mut len = u64::MAX;
                    while wire.len() != len {
                        len = wire.len();
                        self.origin.poll_transmit(now, conn, TransportStream::TCP, usize::MAX, &mut wire);
                    }
                }
                Action::Close { .. } => self.is_closed = true,
                Action::Open { .. } | Action::Receive { .. } | Action::Abort { .. } | Action::Resolve { .. } => {
                    panic!("a server does nothing of the kind: {action:?}")
                }
            }
        }
        let len = wire.len();
        self.client.handle_input(now, TransportStream::TCP, &wire.take_all()).unwrap();
        len
    }

    fn done(&self) -> Vec<Done> {
        self.done.borrow_mut().drain(..).collect()
    }
}

#[test]
fn a_site_hears_of_each_exchange_when_its_last_byte_has_gone_out() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::from_secs(1));
        talk.ask("/a", 100_000);
        talk.exchange(at(1));
        assert_eq!(talk.done(), [], "{protocol}: it thinks");
        talk.exchange(at(2));
        assert_eq!(talk.done(), [("/a".to_owned(), Some(200), Ending::Complete)], "{protocol}");
    }
}

#[test]
fn what_a_client_or_a_connection_gives_up_was_cut_short() {
    for protocol in EVERY.into_iter().filter(|protocol| protocol.is_multiplexed()) {
        let mut talk = Talk::new(protocol, Duration::from_secs(5));
        let ids = ["/a", "/b"].map(|path| talk.ask(path, 0));
        talk.exchange(at(1));
        talk.client.cancel(ids[0]);
        talk.exchange(at(2));
        assert_eq!(talk.done(), [("/a".to_owned(), None, Ending::CutShort)], "{protocol}");
        talk.origin.handle_close(at(3), CONN, Closed::Failed);
        assert_eq!(talk.done(), [("/b".to_owned(), None, Ending::CutShort)], "{protocol}");
        assert!(talk.origin.sessions.is_empty());
        talk.origin.handle_timeout(at(9));
        assert_eq!(talk.done(), [], "no one waits for what it thought about");
    }
}

/// RFC 9112, section 9.6: what was asked before it is answered, then the connection ends.
#[test]
fn a_request_that_the_session_answers_for_its_faults_is_an_exchange_and_the_last() {
    let mut talk = Talk::new(Protocol::Http1, Duration::from_secs(1));
    let text = "GET /good HTTP/1.1\r\nhost: a\r\n\r\nGET /bad HTTP/1.1\r\n\r\nGET /late HTTP/1.1\r\nhost: a\r\n\r\n";
    talk.origin.handle_input(at(1), CONN, TransportStream::TCP, &[Chunk::Bytes(text.into())]);
    talk.origin.handle_timeout(at(2));
    let said = |talk: &mut Talk, now: Time| {
        let (mut wire, mut said) = (Wire::default(), String::new());
        talk.origin.poll_transmit(now, CONN, TransportStream::TCP, usize::MAX, &mut wire);
        for chunk in wire.take_all() {
            let Chunk::Bytes(text) = chunk else { panic!("no answer has content") };
            said += std::str::from_utf8(&text).unwrap();
        }
        said
    };
    let ok = "HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n";
    let bad = "HTTP/1.1 400 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(said(&mut talk, at(2)), [ok, bad].concat());
    let done = |path: &str, status| (path.to_owned(), Some(status), Ending::Complete);
    assert_eq!(talk.done(), [done("/good", 200), done("/bad", 400)]);
    talk.origin.handle_timeout(at(2));
    assert!(std::iter::from_fn(|| talk.origin.poll_action()).any(|action| action == Action::Close { conn: CONN }));
}

/// Draft 3, section 3.2.1.
#[test]
fn a_request_whose_length_is_wrong_is_an_exchange_with_status_400_in_spdy_3() {
    let mut talk = Talk::new(Protocol::Spdy31, Duration::ZERO);
    let head = RequestHead::get("a.test", "/bad", Fields::from_pairs([("content-length", "9")]));
    talk.client.request(head.into(), Body { id: BodyId(0), len: 5 }.into(), Priority::default());
    talk.exchange(at(1));
    assert_eq!(talk.done(), [("/bad".to_owned(), Some(400), Ending::Complete)]);
}

#[test]
fn idle_connections_are_left_when_the_timeout_is_over_and_not_before() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::ZERO);
        talk.exchange(at(50));
        talk.ask("/a", 0);
        talk.exchange(at(50));
        talk.exchange(at(109));
        assert!(!talk.is_closed && !talk.client.is_closing(), "{protocol}: 59 s after the last request");
        talk.exchange(at(110));
        // HTTP/1.1 has no words for it.
        assert!(talk.is_closed, "{protocol}");
        assert_eq!(talk.client.is_closing(), protocol != Protocol::Http1, "{protocol}");
        assert_eq!(talk.done().len(), 1);
        assert!(talk.origin.sessions.is_empty(), "{protocol}");
    }
}

#[test]
fn a_client_that_does_not_hear_that_it_is_left_is_given_up() {
    let mut talk = Talk::new(Protocol::H2, Duration::ZERO);
    // It says nothing to the PING after which an HTTP/2 server says good-bye for good.
    talk.listen(at(60));
    assert!(!talk.is_closed);
    talk.listen(at(119));
    assert!(!talk.is_closed);
    talk.listen(at(120));
    assert!(talk.is_closed && talk.origin.sessions.is_empty());
}

#[test]
fn a_request_that_does_not_get_complete_ends_its_connection() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::ZERO);
        talk.ask("/slow", 500_000);
        let mut wire = Wire::default();
        talk.client.poll_transmit(at(1), TransportStream::TCP, 1_000, &mut wire);
        talk.origin.handle_input(at(1), CONN, TransportStream::TCP, &wire.take_all());
        talk.listen(at(30));
        assert!(!talk.is_closed, "{protocol}");
        talk.listen(at(31));
        assert!(talk.is_closed, "{protocol}");
        assert_eq!(talk.done(), [("/slow".to_owned(), None, Ending::CutShort)], "{protocol}");
    }
}

#[test]
fn a_client_that_lets_nothing_of_a_response_out_is_given_up() {
    for protocol in [Protocol::Spdy3, Protocol::Spdy31, Protocol::H2] {
        let mut talk = Talk::new(protocol, Duration::ZERO);
        // SETTINGS that shut the windows of all streams.
        let shut: &'static [u8] = match protocol {
            Protocol::H2 => b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0",
            _ => b"\x80\x03\0\x04\0\0\0\x0c\0\0\0\x01\0\0\0\x07\0\0\0\0",
        };
        talk.origin.handle_input(at(0), CONN, TransportStream::TCP, &[Chunk::Bytes(bytes::Bytes::from_static(shut))]);
        talk.ask("/a", 5);
        talk.exchange(at(1));
        talk.exchange(at(20));
        assert!(!talk.is_closed, "{protocol}");
        talk.exchange(at(21));
        assert!(talk.is_closed, "{protocol}");
        assert_eq!(talk.done(), [("/a".to_owned(), Some(200), Ending::CutShort)], "{protocol}");
    }
}

/// Windows of one byte, and every 15 seconds as many more: the seconds after which the connection is closed, if it is.
fn closed_when_let_out(step: u32, upload: u64) -> Option<u64> {
    let mut talk = Talk::new(Protocol::H2, Duration::ZERO);
    let narrow = b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\x01";
    talk.origin.handle_input(at(0), CONN, TransportStream::TCP, &[Chunk::Bytes(bytes::Bytes::from_static(narrow))]);
    talk.ask("/a", upload);
    let closed = (0..2_000).find(|second| {
        talk.exchange(at(*second));
        if second % 15 == 0 && !talk.is_closed {
            let wider = [&b"\0\0\x04\x08\0\0\0\0\x01"[..], &step.to_be_bytes()].concat();
            talk.origin.handle_input(at(*second), CONN, TransportStream::TCP, &[Chunk::Bytes(wider.into())]);
        }
        talk.is_closed || !talk.done().is_empty()
    });
    closed.filter(|_| talk.is_closed)
}

#[test]
fn a_client_that_lets_a_byte_out_at_a_time_is_given_up_and_one_that_lets_16_kib_out_is_not() {
    // 20 s: two steps of 15 s at most let too little out.
    assert_eq!(closed_when_let_out(1, 100_000), Some(20));
    assert_eq!(closed_when_let_out(1, 2), None, "as long as there is so much");
    assert_eq!(closed_when_let_out(PROGRESS as u32, 500_000), None);
}

/// A PING is an answer of the session, not of the site.
#[test]
fn a_client_that_only_asks_for_answers_to_pings_is_given_up() {
    let mut talk = Talk::new(Protocol::H2, Duration::ZERO);
    let shut = b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0";
    talk.origin.handle_input(at(0), CONN, TransportStream::TCP, &[Chunk::Bytes(bytes::Bytes::from_static(shut))]);
    talk.ask("/a", 5);
    for second in 0..20 {
        talk.exchange(at(second));
        let ping = b"\0\0\x08\x06\0\0\0\0\0pingpong";
        talk.origin.handle_input(
            at(second),
            CONN,
            TransportStream::TCP,
            &[Chunk::Bytes(bytes::Bytes::from_static(ping))],
        );
        assert!(!talk.is_closed);
    }
    talk.exchange(at(20));
    assert!(talk.is_closed);
}

/// Half a preface, half a frame, a header block without its end (RFC 9113, sections 3.4, 4.1 and 4.3), half a head.
#[test]
fn a_client_that_says_half_a_word_is_not_waited_for_twice() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let open = b"\0\0\x01\x01\x01\0\0\0\x01\x82";
    for (protocol, said, closes) in [
        (Protocol::H2, &preface[..10], 60),
        (Protocol::H2, &[&preface[..], &open[..5]].concat()[..], 60),
        (Protocol::H2, &[&preface[..], &open[..]].concat()[..], 60),
        (Protocol::H2, &preface[..], 120),
        (Protocol::Spdy31, b"\x80\x03\0\x06", 60),
        (Protocol::Http1, b"GET / HT", 60),
    ] {
        let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
        let timeouts = Timeouts { idle: Duration::from_secs(60), ..Timeouts::ENDLESS };
        let mut origin = Origin::new(Echo::default(), Config { timeouts, ..Config::new(sessions) });
        origin.handle_open(Time::ZERO, CONN, Opened::by(Opener::Peer, protocol));
        let said = Chunk::Bytes(bytes::Bytes::copy_from_slice(said));
        origin.handle_input(Time::ZERO, CONN, TransportStream::TCP, &[said]);
        let closed = (1..200).find(|second| {
            origin.poll_transmit(at(*second), CONN, TransportStream::TCP, 1_000, &mut Wire::default());
            origin.handle_timeout(at(*second));
            std::iter::from_fn(|| origin.poll_action()).any(|action| action == Action::Close { conn: CONN })
        });
        assert_eq!(closed, Some(closes), "{protocol}");
    }
}

#[test]
fn who_has_asked_and_says_no_more_is_still_answered() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::from_secs(5));
        talk.ask("/a", 10);
        talk.exchange(at(0));
        talk.origin.handle_close(at(1), CONN, Closed::Finished);
        talk.listen(at(1));
        assert!(!talk.is_closed, "{protocol}");
        talk.listen(at(5));
        talk.listen(at(5));
        assert_eq!(talk.done(), [("/a".to_owned(), Some(200), Ending::Complete)], "{protocol}");
        assert!(talk.is_closed, "{protocol}");
        // In the middle of a request there is nothing to answer.
        let mut talk = Talk::new(protocol, Duration::ZERO);
        talk.ask("/b", 500_000);
        let mut wire = Wire::default();
        talk.client.poll_transmit(at(1), TransportStream::TCP, 1_000, &mut wire);
        talk.origin.handle_input(at(1), CONN, TransportStream::TCP, &wire.take_all());
        talk.origin.handle_close(at(1), CONN, Closed::Finished);
        talk.listen(at(1));
        assert!(talk.is_closed, "{protocol}");
    }
}

#[test]
fn what_is_under_way_keeps_its_connection_however_long_it_takes() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::from_secs(1_000));
        talk.ask("/long", 10);
        talk.exchange(at(0));
        talk.exchange(at(999));
        assert!(!talk.is_closed, "{protocol}");
        talk.exchange(at(1_000));
        assert_eq!(talk.done(), [("/long".to_owned(), Some(200), Ending::Complete)], "{protocol}");
    }
}

#[test]
fn a_server_that_leaves_finishes_what_is_under_way_and_takes_no_new_connection() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::from_secs(5));
        talk.ask("/a", 10);
        talk.exchange(at(0));
        talk.origin.shut_down(at(1));
        talk.exchange(at(1));
        assert!(!talk.is_closed, "{protocol}");
        talk.exchange(at(5));
        assert_eq!(talk.done(), [("/a".to_owned(), Some(200), Ending::Complete)], "{protocol}");
        assert!(talk.is_closed && talk.origin.sessions.is_empty(), "{protocol}");
        talk.origin.handle_open(at(6), ConnId(8), Opened::by(Opener::Peer, Protocol::Http1));
        assert_eq!(talk.origin.poll_action(), Some(Action::Close { conn: ConnId(8) }));
    }
}

#[test]
fn a_server_of_one_request_a_connection_says_that_it_closes_and_does_rfc9112_9_6() {
    let close = |closing: Closing| {
        let mut talk = Talk::new(Protocol::Http1, Duration::ZERO);
        talk.origin.config = Config { requests_per_connection: 1, closing, ..talk.origin.config };
        talk.ask("/a", 10);
        talk.exchange(at(1));
        assert_eq!(talk.done(), [("/a".to_owned(), Some(200), Ending::Complete)]);
        assert!(talk.client.is_closing() && talk.client.capacity() == 0, "it was told");
        talk.is_closed
    };
    assert!(close(Closing::Server));
    assert!(!close(Closing::Client), "it waits for the client's FIN");
}

#[test]
fn a_site_may_answer_later() {
    for protocol in EVERY {
        let mut talk = Talk::new(protocol, Duration::ZERO);
        talk.origin.site.later = Some(at(5));
        let asked: Vec<RequestId> = (0..if protocol.is_multiplexed() { 3 } else { 1 })
            .map(|number| talk.ask(&format!("/{number}"), 10))
            .collect();
        talk.exchange(at(1));
        assert_eq!((talk.done(), talk.origin.poll_timeout().is_some_and(|next| next <= at(5))), (vec![], true));
        if protocol.is_multiplexed() {
            // What it says to this one goes nowhere.
            talk.client.cancel(asked[1]);
            talk.exchange(at(2));
        }
        talk.exchange(at(4));
        assert!(talk.done().iter().all(|(_, status, _)| status.is_none()), "{protocol}: nothing before its time");
        talk.exchange(at(5));
        let done: Vec<String> = talk.done().into_iter().map(|(path, ..)| path).collect();
        let expected: &[&str] = if protocol.is_multiplexed() { &["/2", "/0"] } else { &["/0"] };
        let mut sorted = done.clone();
        sorted.sort();
        assert_eq!(sorted.len(), expected.len(), "{protocol}: {done:?}");
        assert!(expected.iter().all(|path| done.iter().any(|other| other == path)), "{protocol}: {done:?}");
    }
}
