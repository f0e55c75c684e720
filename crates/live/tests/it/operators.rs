//! What the operator of an edge meets: what it has done, whether it serves, and how it forgets.

use crate::edges::{Front, read_head};
use crate::reloads::{answer, ask, heard, serve, source};
use crate::{accept, joined, port};
use loadstone_live::{EdgeControl, EdgeProxy, Stopper};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

/// An edge in front of one origin, with a cache.
struct Met<'a> {
    front: &'a Front,
    admin: SocketAddr,
    control: &'a EdgeControl,
}

impl Met<'_> {
    /// The status and the content of what its operator is told.
    fn told(&self, method: &str, path: &str) -> (String, String) {
        let mut operator = TcpStream::connect(self.admin).unwrap();
        write!(operator, "{method} {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n").unwrap();
        let head = read_head(&mut operator);
        let mut content = String::new();
        operator.read_to_string(&mut content).unwrap();
        (head[9..12].to_owned(), content)
    }

    fn get(&self, path: &str) -> (String, char) {
        heard(&mut ask(self.front, "a.test", path))
    }
}

fn with_operator<T>(origin: SocketAddr, test: impl FnOnce(&Met<'_>, Stopper) -> T) -> T {
    let given = [("admin.listen", Value::from("127.0.0.1:0")), ("cache.bytes", 1_000_000.into())];
    let edge = EdgeProxy::of(&source(&[("a.test", origin)], &given)).unwrap();
    let front = Front { address: edge.address(), root: None };
    let ways = edge.ways();
    let way = ways.iter().find_map(|way| way.strip_suffix("/metrics for its operator")).unwrap();
    let admin = way.strip_prefix("http://").unwrap().parse().unwrap();
    let control = edge.control();
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(move |scope| {
        let run = scope.spawn(move || edge.run(&leave, &end).unwrap());
        // Also where something fails here it leaves: then the stopper is gone.
        let result = test(&Met { front: &front, admin, control: &control }, leaver);
        joined(run);
        result
    })
}

#[test]
fn what_it_has_done_and_has_is_told_in_the_words_of_prometheus() {
    let (listener, origin) = port();
    with_operator(origin, |met, _leaver| {
        let mut client = ask(met.front, "a.test", "/1");
        let _kept = serve(&listener, '1');
        assert_eq!(heard(&mut client), ("200".to_owned(), '1'));
        assert_eq!(met.get("/1"), ("200".to_owned(), '1'));
        let (status, text) = met.told("GET", "/metrics");
        assert_eq!(status, "200");
        let server = format!("http://{origin}");
        for line in [
            r#"requests_total{protocol="http/1.1",status="2xx",cache="hit"} 1"#.to_owned(),
            r#"requests_total{protocol="http/1.1",status="2xx",cache="miss"} 1"#.to_owned(),
            "response_bytes_total 2".to_owned(),
            "request_seconds_count 2".to_owned(),
            "first_byte_seconds_count 2".to_owned(),
            "cache_entries 1".to_owned(),
            format!(r#"origin_connections{{origin="{server}",state="open"}} 1"#),
            format!(r#"origin_connections{{origin="{server}",state="idle"}} 1"#),
        ] {
            assert!(text.lines().any(|known| known == format!("loadstone_edge_{line}")), "{line}\n{text}");
        }
        assert_eq!(met.told("POST", "/metrics").0, "405");
        assert_eq!(met.told("GET", "/").0, "404");
    });
}

#[test]
fn what_is_purged_is_asked_for_again() {
    let (listener, origin) = port();
    with_operator(origin, |met, _leaver| {
        let mut client = ask(met.front, "a.test", "/1");
        let mut kept = serve(&listener, '1');
        heard(&mut client);
        assert_eq!(met.told("POST", "/purge?url=http://a.test/2"), ("200".to_owned(), "0 forgotten\n".to_owned()));
        assert_eq!(met.get("/1").1, '1');
        assert_eq!(met.told("POST", "/purge?url=http://a.test/1"), ("200".to_owned(), "1 forgotten\n".to_owned()));
        let mut client = ask(met.front, "a.test", "/1");
        answer(&mut kept, '2');
        assert_eq!(heard(&mut client), ("200".to_owned(), '2'));
        assert_eq!(met.told("POST", "/purge?host=a.test").1, "1 forgotten\n");
        assert_eq!(met.told("GET", "/purge?host=a.test").0, "405");
        let (status, usage) = met.told("POST", "/purge?all=1");
        assert!(status == "400" && usage.starts_with("write one of /purge?url=URL"), "{status} {usage}");
    });
}

#[test]
fn what_is_on_its_way_during_a_purge_is_not_stored() {
    let (listener, origin) = port();
    with_operator(origin, |met, _leaver| {
        let mut client = ask(met.front, "a.test", "/1");
        let mut behind = accept(&listener);
        assert_eq!(met.told("POST", "/purge?prefix=a.test/").1, "0 forgotten\n");
        answer(&mut behind, '1');
        assert_eq!(heard(&mut client).1, '1');
        let mut client = ask(met.front, "a.test", "/1");
        answer(&mut behind, '2');
        assert_eq!(heard(&mut client).1, '2', "the origin is asked again");
    });
}

#[test]
fn it_is_healthy_until_it_leaves() {
    let (listener, origin) = port();
    with_operator(origin, |met, leaver| {
        assert_eq!(met.told("GET", "/health"), ("200".to_owned(), "serving\n".to_owned()));
        let mut client = ask(met.front, "a.test", "/1");
        let mut behind = accept(&listener);
        leaver.stop();
        assert_eq!(met.told("GET", "/health").0, "503");
        let (status, text) = met.told("GET", "/metrics");
        let clients = r#"loadstone_edge_client_connections{protocol="http/1.1"} 1"#;
        assert!(status == "200" && text.contains(clients), "{status} {text}");
        let given = [("admin.listen", Value::from("127.0.0.1:0"))];
        // Settings that are read again make no difference to one that is leaving.
        met.control.reload(&source(&[("b.test", met.front.address)], &given)).unwrap();
        answer(&mut behind, '1');
        assert_eq!(heard(&mut client), ("200".to_owned(), '1'), "what is under way ends");
    });
}

#[test]
fn where_its_operator_meets_it_does_not_change() {
    let (_listener, origin) = port();
    with_operator(origin, |met, _leaver| {
        let error = met.control.reload(&source(&[("a.test", origin)], &[])).unwrap_err().to_string();
        assert!(error.starts_with("--admin: ") && error.contains("127.0.0.1:0"), "{error}");
    });
}
