//! Sessions that end by their own wish, and signs of life.

use super::frame_writer::{FrameWriter, SentFrame, sent_frames};
use super::*;

/// Each end says what it has to say, until both are silent.
fn exchange(client: &mut dyn Session, server: &mut dyn Session) {
    while carry(client, server, 10_000, 777).unwrap() + carry(server, client, 10_000, 777).unwrap() > 0 {}
}

#[test]
fn a_ping_comes_back_once_and_only_if_it_was_sent() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        for turn in 0..3 {
            client.ping();
            client.ping();
            server.ping();
            exchange(client.as_mut(), server.as_mut());
            assert_eq!(
                (events(client.as_mut()), events(server.as_mut())),
                (vec![Event::Pong], vec![Event::Pong]),
                "{turn}"
            );
        }
        // Draft 2 and draft 3, section 2.6.5; RFC 9113, section 6.7: an ACK without a PING.
        let writer = FrameWriter::new(protocol);
        let stray = match protocol {
            Protocol::H2 => writer.h2(6, 1, 0, b"12345678"),
            _ => writer.spdy(6, 0, &[0, 0, 0, 99]),
        };
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(stray.into())]).unwrap();
        assert_eq!((events(client.as_mut()), client.has_output()), (vec![], false), "{protocol}");
    }
}

#[test]
fn a_server_that_leaves_answers_what_it_has_taken_and_loses_no_request() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let first = client.request(get("/1"), Body::EMPTY.into(), Priority::default());
        exchange(client.as_mut(), server.as_mut());
        server.shut_down();
        // Asked for before the client can know.
        let second = client.request(get("/2"), Body::EMPTY.into(), Priority::default());
        carry(client.as_mut(), server.as_mut(), 10_000, 777).unwrap();
        exchange(client.as_mut(), server.as_mut());
        assert!(!server.is_over() && !client.is_over(), "{protocol}");
        let taken: Vec<RequestId> = events(server.as_mut())
            .iter()
            .filter(|event| matches!(event, Event::End { .. }))
            .filter_map(Event::request)
            .collect();
        let refused = events(client.as_mut()).contains(&Event::Refused { id: second });
        // RFC 9113, section 6.8: twice, so that nothing is refused; node's SPDY/2 is told last.
        let takes_both = matches!(protocol, Protocol::H2 | Protocol::Spdy2);
        assert_eq!((taken.len(), refused), if takes_both { (2, false) } else { (1, true) }, "{protocol}");
        assert_eq!(taken[0], first);
        assert_eq!(client.is_closing(), protocol != Protocol::Spdy2);
        for id in taken {
            server.respond(id, ok(20_000), body(0, 20_000).into());
        }
        exchange(client.as_mut(), server.as_mut());
        let ended = events(client.as_mut()).iter().filter(|event| matches!(event, Event::End { .. })).count();
        assert_eq!(ended, if takes_both { 2 } else { 1 }, "{protocol}");
        assert!(server.is_over() && client.is_over() && client.capacity() == 0, "{protocol}");
    }
}

#[test]
fn a_client_that_leaves_gets_what_it_asked_for_and_asks_no_more() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let first = client.request(get("/1"), Body::EMPTY.into(), Priority::default());
        carry(client.as_mut(), server.as_mut(), 10_000, 777).unwrap();
        let second = client.request(get("/2"), Body::EMPTY.into(), Priority::default());
        client.shut_down();
        assert_eq!(events(client.as_mut()), [Event::Sent { id: first }, Event::Refused { id: second }], "{protocol}");
        exchange(client.as_mut(), server.as_mut());
        assert_eq!((client.capacity(), client.is_over(), server.is_over()), (0, false, false));
        server.respond(RequestId(0), ok(3), body(0, 3).into());
        exchange(client.as_mut(), server.as_mut());
        assert!(events(client.as_mut()).contains(&Event::End { id: first }) && client.is_over() && server.is_over());
    }
}

#[test]
fn goaway_of_who_leaves_has_no_fault_and_names_the_last_stream() {
    for (protocol, expected) in ALL.into_iter().zip([
        vec![SentFrame::GoAway(0, None)],
        vec![SentFrame::GoAway(0, Some(0))],
        vec![SentFrame::GoAway(0, Some(0))],
        // RFC 9113, section 6.8: the last there can be, until the client is known to have heard.
        vec![SentFrame::GoAway(0x7fff_ffff, Some(0))],
    ]) {
        let mut server = sessions(Multiplexing::default()).server(protocol);
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        server.shut_down();
        server.shut_down();
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let mut sent = Vec::new();
        for chunk in wire.take_all() {
            let Chunk::Bytes(bytes) = chunk else { panic!("there is no content") };
            sent.extend_from_slice(&bytes);
        }
        assert_eq!(sent_frames(protocol, &sent), expected, "{protocol}");
    }
}

#[test]
fn who_cancels_hears_no_more_of_it_and_the_other_end_does() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let ids = [0, 1].map(|_| client.request(get("/"), Body::EMPTY.into(), Priority::default()));
        exchange(client.as_mut(), server.as_mut());
        events(client.as_mut());
        events(server.as_mut());
        client.cancel(ids[0]);
        client.cancel(ids[0]);
        exchange(client.as_mut(), server.as_mut());
        assert_eq!(events(server.as_mut()), [Event::Reset { id: RequestId(0) }], "{protocol}");
        server.respond(RequestId(0), ok(9), body(0, 9).into());
        server.respond(RequestId(1), ok(9), body(1, 9).into());
        exchange(client.as_mut(), server.as_mut());
        assert!(events(client.as_mut()).iter().all(|event| event.request() == Some(ids[1])), "{protocol}");
        let waiting = client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.cancel(waiting);
        assert!(!client.has_output(), "{protocol}: it is still unknown");
    }
}

#[test]
fn what_waits_when_the_server_closes_is_refused() {
    for protocol in ALL {
        let (mut client, _) = pair(protocol, Multiplexing::default());
        let id = client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.handle_fin(NOW, TransportStream::TCP).unwrap();
        assert_eq!((events(client.as_mut()), client.has_output()), (vec![Event::Refused { id }], false), "{protocol}");
    }
}

#[test]
fn a_fin_in_the_middle_of_a_message_is_truncation_and_behind_it_the_end() {
    for protocol in ALL {
        for (answered, is_truncated) in [(0, true), (1, false)] {
            let (mut client, mut server) = pair(protocol, Multiplexing::default());
            let id = client.request(get("/"), Body::EMPTY.into(), Priority::default());
            exchange(client.as_mut(), server.as_mut());
            assert!(!client.is_closing(), "{protocol}");
            // The request is complete, so its server may go on.
            assert_eq!(server.handle_fin(NOW, TransportStream::TCP), Ok(()), "{protocol}");
            if answered > 0 {
                server.respond(id, ok(0), Body::EMPTY.into());
                exchange(client.as_mut(), server.as_mut());
            }
            let ended = client.handle_fin(NOW, TransportStream::TCP);
            assert_eq!(ended.is_err(), is_truncated, "{protocol}: {answered} answered");
        }
    }
}

#[test]
fn http_1_0_hears_no_interim_response_rfc9110_15_2() {
    for (version, hears) in [("1.0", false), ("1.1", true)] {
        let mut server = crate::h1::Server::new();
        let request = format!("GET / HTTP/{version}\r\nhost: a\r\n\r\n");
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(request.into())]).unwrap();
        server.send_interim(RequestId(0), Arc::new(ResponseHead::new(103, Fields::default())));
        assert_eq!(server.has_output(), hears, "{version}");
    }
}

#[test]
fn http1_says_with_its_last_response_that_it_closes_rfc9112_9_6() {
    let text = |server: &mut crate::h1::Server| {
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let texts = wire.take_all().into_iter().filter_map(|chunk| match chunk {
            Chunk::Bytes(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
            Chunk::Run { .. } => None,
        });
        texts.collect::<String>()
    };
    for (request, closes) in [
        ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nhost: a\r\nconnection: x, Close\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nhost: a\r\n\r\n", true),
        ("GET / HTTP/1.0\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nhost: a\r\nconnection: Keep-Alive\r\n\r\n", false),
    ] {
        let mut server = crate::h1::Server::new();
        let twice = format!("{request}{request}");
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(twice.into())]).unwrap();
        let asked = events(&mut server).iter().filter(|event| matches!(event, Event::Request { .. })).count();
        assert_eq!(asked, if closes { 1 } else { 2 }, "{request}");
        assert!(!server.is_over());
        server.respond(RequestId(0), ok(2), body(0, 2).into());
        assert_eq!((text(&mut server).contains("connection: close"), server.is_over()), (closes, closes), "{request}");
        if !closes {
            server.shut_down();
            server.respond(RequestId(1), ok(2), body(0, 2).into());
            assert_eq!((text(&mut server).contains("connection: close"), server.is_over()), (true, true), "{request}");
        }
    }
}

#[test]
fn http1_clients_hear_that_the_server_closes_rfc9112_9_3() {
    for (head, closes) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: close\r\n\r\n", true),
        ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", true),
    ] {
        let mut client = crate::h1::Client::persistent();
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(head.into())]).unwrap();
        assert_eq!((client.is_closing(), client.is_over(), client.capacity()), (closes, closes, usize::from(!closes)));
    }
}
