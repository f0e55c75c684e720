//! An edge whose settings are read again while it runs: what comes is served by the new ones, what is under way by the old.

use crate::edges::{Front, read_head};
use crate::{accept, joined, port};
use loadstone_live::{EdgeControl, EdgeProxy, EdgeSource, Stopper};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Settings of an edge with these origins; of others it has what is said.
pub(crate) fn source(origins: &[(&str, SocketAddr)], given: &[(&str, Value)]) -> EdgeSource {
    let origins = origins.iter().map(|(name, address)| format!("{name}=http://{address}")).collect();
    let usual = [("front.listen", "127.0.0.1:0".into()), ("front.transport", "plaintext".into())];
    let given = usual.iter().chain(given).map(|(field, value)| ((*field).to_owned(), value.clone())).collect();
    EdgeSource { file: None, origins, given }
}

pub(crate) fn with_control<T>(source: &EdgeSource, test: impl FnOnce(&Front, &EdgeControl) -> T) -> T {
    let edge = EdgeProxy::of(source).unwrap();
    let front = Front { address: edge.address(), root: edge.root().map(<[u8]>::to_vec) };
    let control = edge.control();
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(move |scope| {
        // What fails here must not wait for it.
        let leaver = leaver;
        let run = scope.spawn(move || edge.run(&leave, &end).unwrap());
        let result = test(&front, &control);
        leaver.stop();
        joined(run);
        result
    })
}

/// What a client asks of a host.
pub(crate) fn ask(front: &Front, host: &str, path: &str) -> TcpStream {
    front.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

/// The next request of an origin's next connection is answered with this content, of one byte.
pub(crate) fn answer(behind: &mut TcpStream, content: char) {
    read_head(behind);
    let text = format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\n\r\n{content}");
    behind.write_all(text.as_bytes()).unwrap();
}

/// The status of a response, and its content, of one byte.
pub(crate) fn heard(client: &mut TcpStream) -> (String, char) {
    let head = read_head(client);
    let mut content = [0];
    client.read_exact(&mut content).unwrap();
    (head[9..12].to_owned(), char::from(content[0]))
}

pub(crate) fn serve(origin: &TcpListener, content: char) -> TcpStream {
    let mut behind = accept(origin);
    answer(&mut behind, content);
    behind
}

#[test]
fn names_lead_where_the_new_settings_say_and_what_is_under_way_ends_where_it_began() {
    let ((old, at_old), (new, at_new)) = (port(), port());
    with_control(&source(&[("a.test", at_old)], &[]), |front, control| {
        let mut under_way = ask(front, "a.test", "/1");
        let mut behind = accept(&old);
        assert_eq!(heard(&mut ask(front, "b.test", "/")).0, "421");
        control.reload(&source(&[("a.test", at_new), ("b.test", at_new)], &[])).unwrap();
        let mut client = ask(front, "a.test", "/2");
        let mut kept = serve(&new, '2');
        assert_eq!(heard(&mut client), ("200".to_owned(), '2'));
        let mut client = ask(front, "b.test", "/3");
        answer(&mut kept, '3');
        assert_eq!(heard(&mut client), ("200".to_owned(), '3'), "both names lead to one server");
        answer(&mut behind, '1');
        assert_eq!(heard(&mut under_way), ("200".to_owned(), '1'));
        // The same server is known again, with the connection that was kept.
        control.reload(&source(&[("c.test", at_new)], &[])).unwrap();
        let mut client = ask(front, "c.test", "/4");
        answer(&mut kept, '4');
        assert_eq!(heard(&mut client), ("200".to_owned(), '4'));
        assert_eq!(heard(&mut ask(front, "a.test", "/")).0, "421");
    });
}

#[test]
fn who_waits_for_a_connection_goes_on_when_there_may_be_more_of_them() {
    let (origin, address) = port();
    // Both clients have one address.
    let connections = |count: u32| {
        let behind = [("behind.connections", count.into()), ("behind.client_share", 100.into())];
        source(&[("a.test", address)], &behind)
    };
    with_control(&connections(1), |front, control| {
        let [mut first, mut second] = ["/1", "/2"].map(|path| ask(front, "a.test", path));
        let mut behind = accept(&origin);
        control.reload(&connections(2)).unwrap();
        let mut other = accept(&origin);
        answer(&mut behind, 'x');
        answer(&mut other, 'x');
        assert_eq!((heard(&mut first), heard(&mut second)), (("200".to_owned(), 'x'), ("200".to_owned(), 'x')));
    });
}

#[test]
fn a_cache_comes_goes_and_comes_empty() {
    let (origin, address) = port();
    let cache = |bytes: u32| source(&[("a.test", address)], &[("cache.bytes", bytes.into())]);
    with_control(&cache(0), |front, control| {
        let mut client = ask(front, "a.test", "/");
        let mut behind = serve(&origin, '1');
        assert_eq!(heard(&mut client).1, '1');
        // Whether there is a cache, and what the origin says next.
        for (bytes, said) in [(1_000_000, '2'), (0, '3'), (1_000_000, '4')] {
            control.reload(&cache(bytes)).unwrap();
            let mut client = ask(front, "a.test", "/");
            answer(&mut behind, said);
            assert_eq!(heard(&mut client).1, said);
            if bytes > 0 {
                assert_eq!(heard(&mut ask(front, "a.test", "/")).1, said, "it is stored");
            }
        }
    });
}

#[test]
fn settings_that_cannot_be_used_or_cannot_change_change_nothing() {
    let (origin, address) = port();
    let sound = source(&[("a.test", address)], &[]);
    with_control(&sound, |front, control| {
        for (faulty, expected) in [
            (source(&[], &[]), "--origin: there is no origin"),
            (source(&[("b.test", address)], &[("behind.idle", 0.into())]), "--origin-idle: 0 is out of range"),
            (
                source(&[("b.test", address)], &[("front.listen", "127.0.0.1:1".into())]),
                "--listen: it cannot change while the edge runs, and stays 127.0.0.1:0",
            ),
            (
                source(&[("b.test", address)], &[("front.transport", "tls".into())]),
                "front.transport: it cannot change while the edge runs, and stays http",
            ),
        ] {
            let why = control.reload(&faulty).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
        let mut client = ask(front, "a.test", "/");
        let _behind = serve(&origin, '1');
        assert_eq!(heard(&mut client).1, '1');
    });
    // It has left: nothing is left to change, and nothing waits for it.
    let edge = EdgeProxy::of(&sound).unwrap();
    let control = edge.control();
    drop(edge);
    control.reload(&sound).unwrap();
}
