//! Requests that break the rules of RFC 9112 are answered by their status, as the last ones of their connection.

use super::{NOW, events, ok};
use crate::h1::{MAX_HEAD, Server};
use crate::{
    Body, BodyId, Chunk, Content, Event, Fields, PeerFault, RequestHead, RequestId, Scheme, ServerSession, Session,
    TransportStream, Wire,
};
use bytes::Bytes;

fn send(server: &mut Server, text: impl Into<Bytes>) {
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(text.into())]).unwrap();
}

/// What the server says now.
fn said(server: &mut Server) -> String {
    let mut wire = Wire::default();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    let chunks = wire.take_all().into_iter();
    chunks
        .map(
            |chunk| if let Chunk::Bytes(text) = chunk { String::from_utf8(text.to_vec()).unwrap() } else { "#".into() },
        )
        .collect()
}

fn refusal(status: u16) -> String {
    format!("HTTP/1.1 {status} \r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// Requests whose heads are malformed, and the statuses that say so.
fn malformed_heads() -> Vec<(String, u16)> {
    let post = |fields: &str| format!("POST /x HTTP/1.1\r\nhost: a\r\n{fields}\r\n");
    vec![
        ("GET /x HTTP/1.1\r\n\r\n".into(), 400),
        ("GET /x HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n".into(), 400),
        ("GET /x HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n".into(), 400),
        ("GET /x HTTP/1.1\r\nhost: a/b\r\n\r\n".into(), 400),
        ("GET /x HTTP/1.1\r\nhost: a b\r\n\r\n".into(), 400),
        ("GET http://a/x HTTP/1.1\r\n\r\n".into(), 400),
        ("GET http://me@a/x HTTP/1.1\r\nhost: a\r\n\r\n".into(), 400),
        (post("x : y\r\n"), 400),
        (post("x: y\r\n folded\r\n"), 400),
        (post("content-length: +3\r\n"), 400),
        (post("content-length: 3, 3\r\n"), 400),
        (post("content-length: 3\r\ncontent-length: 4\r\n"), 400),
        (post("content-length: 3\r\ntransfer-encoding: chunked\r\n"), 400),
        (post("transfer-encoding: gzip, chunked\r\n"), 501),
        (post("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n"), 501),
        (post(&format!("x: {}\r\n", "y".repeat(MAX_HEAD))), 431),
        (post(&"x: y\r\n".repeat(256)), 431),
        ("GET /x HTTP/2.0\r\nhost: a\r\n\r\n".into(), 505),
        ("GET /x HTTP/3.7\r\nhost: a\r\n\r\n".into(), 505),
        ("GET /x HTTP/11\r\nhost: a\r\n\r\n".into(), 400),
        ("GET /x\r\n\r\n".into(), 400),
        ("\x16\x03\x01\x02\0\x01\0\x01 \u{fc}\x03\x03\r\n\r\n".into(), 400),
    ]
}

#[test]
fn a_malformed_head_is_answered_by_its_status_and_is_the_last_rfc9112_3() {
    for (text, status) in malformed_heads() {
        let mut server = Server::new();
        send(&mut server, text.clone() + "GET /behind HTTP/1.1\r\nhost: a\r\n\r\n");
        let id = RequestId(0);
        let rejected = events(&mut server);
        let [Event::Rejected { id: RequestId(0), head: Some(head), status: told }] = &rejected[..] else {
            panic!("{text}: {rejected:?}")
        };
        assert_eq!(*told, status, "{text}");
        assert!(text.starts_with("\x16") || head.path.ends_with(b"/x"), "{text}: {head:?}");
        assert_eq!(said(&mut server), refusal(status), "{text}");
        assert_eq!(events(&mut server), [Event::ResponseSent { id }]);
        assert!(server.is_over() && !server.has_output());
        send(&mut server, "GET /later HTTP/1.1\r\nhost: a\r\n\r\n");
        assert!(events(&mut server).is_empty() && server.handle_fin(NOW, TransportStream::TCP).is_ok());
    }
}

#[test]
fn what_was_asked_before_a_malformed_request_is_answered_before_it_rfc9112_9_3_2() {
    let mut server = Server::new();
    send(&mut server, "GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\nGET /3 HTTP/2.0\r\n\r\n");
    assert_eq!(said(&mut server), "", "it waits for the answers before it");
    server.respond(RequestId(1), ok(0), Body::EMPTY.into());
    server.respond(RequestId(0), ok(0), Body::EMPTY.into());
    let ok = "HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n";
    assert_eq!(said(&mut server), [ok, ok, &refusal(505)].concat());
}

#[test]
fn behind_the_last_request_nothing_is_answered_however_it_looks_rfc9112_9_6() {
    let mut server = Server::new();
    send(&mut server, "GET /1 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\nGET /2 HTTP/2.0\r\n\r\n");
    assert_eq!(events(&mut server).len(), 2, "one request and its end");
    server.respond(RequestId(0), ok(0), Body::EMPTY.into());
    assert_eq!(said(&mut server), "HTTP/1.1 200 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

#[test]
fn a_request_whose_content_is_malformed_is_answered_in_the_programs_place_rfc9112_7_1() {
    let text = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n";
    let mut server = Server::new();
    send(&mut server, text);
    let id = RequestId(0);
    assert_eq!(events(&mut server)[2..], [Event::Rejected { id, head: None, status: 400 }]);
    server.respond(id, ok(0), Body::EMPTY.into());
    assert_eq!(said(&mut server), refusal(400), "not the program's answer");

    // What is answered already is not answered twice: the connection ends with it.
    let mut server = Server::new();
    let (head, content) = text.split_at(text.len() - 3);
    send(&mut server, head.to_owned());
    server.respond(id, ok(9), Content::Whole(Body { id: BodyId(1), len: 9 }));
    send(&mut server, content.to_owned());
    assert!(!events(&mut server).iter().any(|event| matches!(event, Event::Rejected { .. })));
    assert_eq!(said(&mut server), "HTTP/1.1 200 \r\ncontent-length: 9\r\nconnection: close\r\n\r\n#");
    assert!(server.is_over());
}

#[test]
fn a_target_in_absolute_form_takes_the_place_of_host_rfc9112_3_2_2() {
    for (target, host, path, scheme) in [
        ("http://b.test/x?y", "b.test", "/x?y", Scheme::Http),
        ("HTTPS://b.test:1", "b.test:1", "/", Scheme::Https),
        ("http://b.test?y", "b.test", "/?y", Scheme::Http),
        ("/http://b.test/", "a.test", "/http://b.test/", Scheme::Https),
    ] {
        let mut server = Server::new();
        send(&mut server, format!("GET {target} HTTP/1.1\r\nhost: a.test\r\nx: y\r\n\r\n"));
        let head = RequestHead::get(host, path, Fields::from_pairs([("x", "y")])).over(scheme);
        assert_eq!(events(&mut server)[0], Event::Request { id: RequestId(0), head: head.into() }, "{target}");
    }
}

#[test]
fn however_a_malformed_request_is_cut_it_is_answered_alike() {
    for (text, status) in malformed_heads() {
        for cut in 1..=text.len().min(100) {
            let mut server = Server::new();
            for piece in text.as_bytes().chunks(cut) {
                send(&mut server, Bytes::copy_from_slice(piece));
            }
            assert_eq!(said(&mut server), refusal(status), "pieces of {cut} bytes of {:?}", &text[..cut]);
        }
    }
}

#[test]
fn a_status_below_100_is_none_rfc9110_15() {
    for (status, is_taken) in [("099", false), ("000", false), ("200", true), ("599", true), ("999", true)] {
        let text = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
        let result = super::client_after(text.leak().as_bytes()).1;
        assert_eq!(result.is_ok(), is_taken, "{status}: {result:?}");
    }
}

#[test]
fn interim_responses_are_bounded_between_two_final_ones_as_in_http2_rfc9110_15_2() {
    let answer = |interims: usize| "HTTP/1.1 103 x\r\n\r\n".repeat(interims) + "HTTP/1.1 204 x\r\n\r\n";
    assert!(super::client_after(answer(1_000).leak().as_bytes()).1.is_ok());
    let flood = super::client_after(answer(1_001).leak().as_bytes()).1;
    assert_eq!(flood, Err(crate::PeerFault::Flood.into()));
}

#[test]
fn half_a_head_behind_the_last_request_does_not_keep_the_response_back_rfc9112_9_6() {
    for (line, is_last) in [("GET / HTTP/1.0\r\n\r\n", true), ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", false)] {
        let mut server = Server::new();
        let input = Chunk::Bytes(format!("{line}GET /2 HT").into());
        server.handle_input(NOW, TransportStream::TCP, &[input]).unwrap();
        let expected = if is_last { Ok(()) } else { Err(PeerFault::Truncated.into()) };
        assert_eq!(server.handle_fin(NOW, TransportStream::TCP), expected, "{line:?}");
    }
}
