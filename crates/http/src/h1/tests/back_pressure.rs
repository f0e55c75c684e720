//! Requests that wait for their responses are bounded: further ones stay unread.

use super::super::server::MAX_WAITING;
use super::*;

const HEAD: usize = 1_000;

/// A request whose head has [`HEAD`] bytes; its body has `len`.
fn request(at: usize, len: usize) -> Vec<u8> {
    let line = format!("POST /{at} HTTP/1.1\r\nhost: a\r\ncontent-length: {len}\r\nx: ");
    let head = format!("{line}{}\r\n\r\n", "y".repeat(HEAD - 4 - line.len()));
    [head.into_bytes(), vec![b'b'; len]].concat()
}

fn feed(server: &mut Server, text: Vec<u8>) {
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(text.into())]).unwrap();
}

/// How many requests the server has read.
fn requests(server: &mut Server) -> usize {
    events(server).iter().filter(|event| matches!(event, Event::Request { .. })).count()
}

/// The server responds to the request `id`, and all of it goes out.
fn respond(server: &mut Server, id: usize) {
    server.respond(RequestId(id as u32), ok(0), Body::EMPTY.into());
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
}

/// A server with `more` requests than it reads: how many it has read.
fn full(server: &mut Server, more: usize) -> usize {
    let count = MAX_WAITING.div_ceil(HEAD);
    feed(server, (0..count + more).flat_map(|at| request(at, 3)).collect());
    assert_eq!(requests(server), count);
    count
}

#[test]
fn a_further_request_stays_unread_until_half_of_those_before_it_are_answered() {
    let mut server = Server::new();
    let count = full(&mut server, 2);
    assert!(!server.takes_input());
    // What comes now waits behind it.
    feed(&mut server, request(count + 2, 0));
    assert_eq!(requests(&mut server), 0);
    // Responses go out in order: this one does not.
    respond(&mut server, 1);
    assert_eq!(requests(&mut server), 0);
    respond(&mut server, 0);
    let answered = count - MAX_WAITING / 2 / HEAD;
    for id in 2..answered {
        assert_eq!((requests(&mut server), server.takes_input()), (0, false), "{id} are answered");
        respond(&mut server, id);
    }
    assert_eq!((requests(&mut server), server.takes_input()), (3, true));
}

#[test]
fn the_bound_holds_also_for_requests_that_are_read_late() {
    let mut server = Server::new();
    let count = full(&mut server, 2 * MAX_WAITING / HEAD);
    (0..count).for_each(|id| respond(&mut server, id));
    assert!((count / 2..=count).contains(&requests(&mut server)) && !server.takes_input());
}

#[test]
fn the_end_of_a_client_counts_once_all_its_requests_are_read() {
    let mut server = Server::new();
    let count = full(&mut server, 1);
    server.handle_fin(NOW, TransportStream::TCP).unwrap();
    for id in 0..=count {
        assert!(!server.is_over(), "request {id}");
        respond(&mut server, id);
    }
    assert!(server.is_over());
}

#[test]
fn a_request_that_breaks_the_rules_is_the_last_also_when_it_is_read_late() {
    let mut server = Server::new();
    let count = full(&mut server, 0);
    feed(&mut server, b"nonsense\r\n\r\n".to_vec());
    for id in 0..count {
        assert!(!server.is_over(), "request {id}");
        respond(&mut server, id);
    }
    assert!(server.is_over());
}

#[test]
fn what_stays_unread_is_not_used() {
    let mut server = Server::new();
    server.hold();
    let count = full(&mut server, 1);
    let len = request(0, 3).len();
    // The last byte of a request is content, which the program has not used either.
    assert_eq!(server.poll_used(TransportStream::TCP), (count * HEAD) as u64);
    (0..count).for_each(|id| server.release(RequestId(id as u32), 3));
    assert_eq!(server.poll_used(TransportStream::TCP), 3 * count as u64);
    (0..count).for_each(|id| respond(&mut server, id));
    server.release(RequestId(count as u32), 3);
    assert_eq!(server.poll_used(TransportStream::TCP), len as u64);
}

#[test]
fn a_request_that_is_cancelled_makes_no_room_since_nothing_follows_it() {
    let mut server = Server::new();
    let count = full(&mut server, 1);
    server.cancel(RequestId(1));
    respond(&mut server, 0);
    assert!(server.is_over() && server.takes_input());
    assert_eq!(requests(&mut server), 0, "of {count}");
}
