//! What a server keeps of requests that it has not answered, and how far it reads ahead.

use super::*;

const OTHER: ConnId = ConnId(8);

#[test]
fn a_request_beyond_what_a_connection_may_keep_is_cut_short() {
    for protocol in EVERY.into_iter().filter(|protocol| protocol.is_multiplexed()) {
        let mut talk = Talk::new(protocol, Duration::from_secs(5));
        // It is kept as long as the server thinks.
        talk.ask("/1", 0);
        talk.exchange(at(1));
        let one = talk.origin.kept;
        assert!(one > "/1".len(), "{protocol}");
        talk.origin.config.max_kept = MaxKept { connection: 2 * one, all: usize::MAX };
        talk.ask("/2", 0);
        talk.ask("/3", 0);
        talk.exchange(at(2));
        assert_eq!(talk.done(), [("/3".to_owned(), None, Ending::CutShort)], "{protocol}");
        assert_eq!(talk.origin.kept, 2 * one);
        // Once the first is answered there is room again.
        talk.exchange(at(6));
        talk.ask("/4", 0);
        talk.exchange(at(6));
        talk.exchange(at(7));
        talk.exchange(at(11));
        let answered = ["/1", "/2", "/4"].map(|path| (path.to_owned(), Some(200), Ending::Complete));
        assert_eq!(talk.done(), answered, "{protocol}");
        assert_eq!(talk.origin.kept, 0);
    }
}

#[test]
fn what_all_connections_keep_is_bounded_and_free_again_when_one_ends() {
    let mut talk = Talk::new(Protocol::H2, Duration::from_secs(5));
    talk.ask("/1", 0);
    talk.exchange(at(1));
    let one = talk.origin.kept;
    talk.origin.config.max_kept = MaxKept { connection: usize::MAX, all: one };
    talk.origin.handle_open(at(1), OTHER, Opened::by(Opener::Peer, Protocol::Http1));
    let request = || [Chunk::Bytes("GET / HTTP/1.1\r\nhost: a\r\n\r\n".into())];
    talk.origin.handle_input(at(1), OTHER, TransportStream::TCP, &request());
    assert_eq!(talk.done(), [("/".to_owned(), None, Ending::CutShort)]);
    talk.origin.handle_close(at(2), CONN, Closed::Failed);
    assert_eq!((talk.done().len(), talk.origin.kept), (1, 0));
    let third = ConnId(9);
    talk.origin.handle_open(at(2), third, Opened::by(Opener::Peer, Protocol::Http1));
    talk.origin.handle_input(at(2), third, TransportStream::TCP, &request());
    assert!(talk.done().is_empty() && talk.origin.kept > 0);
}

#[test]
fn a_connection_is_read_no_further_while_requests_stay_unread() {
    let mut talk = Talk::new(Protocol::Http1, Duration::ZERO);
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(10_000));
    let receives = |talk: &mut Talk, room: usize| {
        let mut limits = Vec::new();
        let mut wire = Wire::default();
        while let Some(action) = talk.origin.poll_action() {
            match action {
                Action::Receive { limit, .. } => limits.push(limit),
                _ => talk.origin.poll_transmit(at(1), CONN, TransportStream::TCP, room, &mut wire),
            }
        }
        limits
    };
    let (mut sent, mut limits) = (0, Vec::new());
    while limits.is_empty() {
        sent += request.len() as u64;
        assert!(sent < 1_000_000, "it reads without end");
        talk.origin.handle_input(at(1), CONN, TransportStream::TCP, &[Chunk::Bytes(request.clone().into())]);
        limits = receives(&mut talk, 0);
    }
    assert_eq!(limits, [sent]);
    talk.origin.actions.push_back(Action::Transmit { conn: CONN });
    assert_eq!(receives(&mut talk, usize::MAX), [u64::MAX]);
}

/// Lets the server go on, whose client hears nothing; whether it closes the connection.
fn closes(talk: &mut Talk, now: Time) -> bool {
    let mut is_closed = false;
    for _ in 0..3 {
        talk.origin.handle_timeout(now);
        while let Some(action) = talk.origin.poll_action() {
            match action {
                Action::Close { .. } => is_closed = true,
                _ => talk.origin.poll_transmit(now, CONN, TransportStream::TCP, usize::MAX, &mut Wire::default()),
            }
        }
    }
    is_closed
}

#[test]
fn a_client_that_has_gone_is_not_waited_for_where_its_windows_hold_the_response() {
    for (protocol, upload, end) in [
        (Protocol::H2, 20_000_000, Ending::CutShort),
        (Protocol::Spdy31, 20_000_000, Ending::CutShort),
        (Protocol::H2, 1_000, Ending::Complete),
        // Without windows all goes out.
        (Protocol::Spdy2, 20_000_000, Ending::Complete),
    ] {
        // It goes while the server thinks, or when the response has come to a halt.
        for goes_early in [true, false] {
            let mut talk = Talk::new(protocol, Duration::from_secs(5));
            talk.ask("/a", upload);
            talk.exchange(at(1));
            if goes_early {
                talk.origin.handle_close(at(2), CONN, Closed::Finished);
                assert!(!closes(&mut talk, at(2)), "{protocol}: it thinks");
            }
            let is_closed = closes(&mut talk, at(6));
            assert_eq!(is_closed, goes_early, "{protocol}");
            if !goes_early {
                talk.origin.handle_close(at(7), CONN, Closed::Finished);
                assert!(closes(&mut talk, at(7)), "{protocol}");
            }
            assert_eq!(talk.done(), [("/a".to_owned(), Some(200), end)], "{protocol}");
        }
    }
}
