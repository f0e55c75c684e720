//! An edge whose name has several servers: they take turns, and one that is gone is left out.

use crate::edges::read_head;
use crate::reloads::{answer, ask, heard, serve, source, with_control};
use crate::{accept, port, read_to_close};
use std::io::Write;
use std::net::TcpListener;

#[test]
fn servers_take_turns_and_those_that_stay_keep_their_connections_when_the_settings_are_read_again() {
    let ((one, at_one), (two, at_two), (three, at_three)) = (port(), port(), port());
    with_control(&source(&[("a.test", at_one), ("a.test", at_two)], &[]), |front, control| {
        let mut client = ask(front, "a.test", "/1");
        let _kept = serve(&one, '1');
        assert_eq!(heard(&mut client), ("200".to_owned(), '1'));
        let mut client = ask(front, "a.test", "/2");
        let mut kept = serve(&two, '2');
        assert_eq!(heard(&mut client), ("200".to_owned(), '2'));
        control.reload(&source(&[("a.test", at_two), ("a.test", at_three)], &[])).unwrap();
        let mut client = ask(front, "a.test", "/3");
        let _kept = serve(&three, '3');
        assert_eq!(heard(&mut client), ("200".to_owned(), '3'));
        let mut client = ask(front, "a.test", "/4");
        answer(&mut kept, '4');
        assert_eq!(heard(&mut client), ("200".to_owned(), '4'));
    });
}

#[test]
fn a_request_goes_to_another_server_where_one_cannot_be_reached() {
    let ((gone, at_gone), (there, at_there)) = (port(), port());
    drop(gone);
    with_control(&source(&[("a.test", at_gone), ("a.test", at_there)], &[]), |front, _control| {
        let mut client = ask(front, "a.test", "/");
        let _kept = serve(&there, '1');
        assert_eq!(heard(&mut client), ("200".to_owned(), '1'));
    });
}

/// An origin is asked whether it is well, and says this.
fn check(origin: &TcpListener, status: &str) {
    let mut behind = accept(origin);
    let head = read_head(&mut behind);
    assert!(head.starts_with("GET /healthz HTTP/1.1\r\n") && head.contains("a.test\r\n"), "{head}");
    write!(behind, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
    read_to_close(&mut behind);
}

#[test]
fn an_origin_that_says_that_it_is_not_well_is_left_out() {
    let ((one, at_one), (two, at_two)) = (port(), port());
    let given =
        [("behind.check", "/healthz".into()), ("behind.check_interval", 3600.into()), ("behind.failures", 1.into())];
    with_control(&source(&[("a.test", at_one), ("a.test", at_two)], &given), |front, _control| {
        check(&one, "503 Service Unavailable");
        check(&two, "200 OK");
        let mut kept = None;
        for content in ['1', '2', '3'] {
            let mut client = ask(front, "a.test", "/");
            answer(kept.get_or_insert_with(|| accept(&two)), content);
            assert_eq!(heard(&mut client), ("200".to_owned(), content));
        }
    });
}
