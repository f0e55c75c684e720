//! An edge as a proxy: it goes where its clients on this machine say, as far as its scope goes, and nowhere else. Servers and
//! clients are on loopback, all of them.

use crate::edges::{Front, plain, read_head, with_edge};
use crate::reloads::{answer, heard, serve, source, with_control};
use crate::{accept, port};
use loadstone_http::Protocol;
use loadstone_live::{EdgeProxy, EdgeSource};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Those by which a request says of which scheme its URL is, whatever its form.
const FRAMED: [Protocol; 4] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// Settings of a proxy that was given these names besides.
fn proxy(scope: &str, origins: &[(&str, SocketAddr)]) -> EdgeSource {
    source(origins, &[("behind.forward", scope.into())])
}

/// Asks a proxy for a URL.
fn get(front: &Front, url: &str) -> TcpStream {
    front.send(&format!("GET {url} HTTP/1.1\r\nHost: is-not-heard.test\r\n\r\n"))
}

/// The status of what is answered to a request, and all of its content.
fn told(client: &mut TcpStream) -> (String, String) {
    let head = read_head(client);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut content = vec![0; length.parse().unwrap()];
    client.read_exact(&mut content).unwrap();
    (head[9..12].to_owned(), String::from_utf8(content).unwrap())
}

/// Whether nobody has come to a listener.
fn is_untouched(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_client_names_a_server_on_loopback_in_full_and_gets_there_over_connections_that_are_kept() {
    let (server, address) = port();
    with_control(&proxy("loopback", &[]), |front, _| {
        let port = address.port();
        let mut client = get(front, &format!("http://{address}/x?y"));
        let mut behind = accept(&server);
        assert_eq!(
            read_head(&mut behind),
            format!("GET /x?y HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nvia: 1.1 loadstone\r\n\r\n")
        );
        behind.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1").unwrap();
        assert_eq!(heard(&mut client), ("200".to_owned(), '1'));
        // All of these lead to the same address, and so to the same connection.
        for (number, host) in ('2'..).zip(["127.0.0.1", "2130706433", "0177.0.0.1", "[::ffff:127.0.0.1]"]) {
            let mut client = get(front, &format!("HTTP://{host}:{port}/"));
            answer(&mut behind, number);
            assert_eq!(heard(&mut client), ("200".to_owned(), number), "{host}");
        }
    });
}

#[test]
fn every_framed_protocol_names_servers_by_its_authority() {
    let (server, address) = port();
    for protocol in FRAMED {
        let mut setting = plain(protocol, address);
        setting["behind"] = json!({"forward": "loopback"});
        with_edge(&setting, |front, _leave| {
            let mut talk = front.talk(protocol);
            let stream = talk.ask_of(&address.to_string(), "/");
            talk.send();
            let _kept = serve(&server, 'x');
            talk.finish();
            assert_eq!((talk.got[&stream].status(), &talk.got[&stream].content[..]), (200, &b"x"[..]), "{protocol}");
        });
    }
}

#[test]
fn a_public_scope_has_nothing_on_this_machine_or_its_network_however_it_is_written() {
    let (server, address) = port();
    with_control(&proxy("public", &[]), |front, _| {
        let port = address.port();
        for host in [
            "127.0.0.1",
            "[::1]",
            "localhost",
            "LOCALHOST",
            "2130706433",
            "0177.0.0.1",
            "0x7f000001",
            "127.1",
            "0.0.0.0",
            "0",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::127.0.0.1]",
            "[64:ff9b::127.0.0.1]",
            "[2002:7f00:1::]",
            "10.0.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[fe80::1]",
            "[fd00:ec2::254]",
        ] {
            let (status, why) = told(&mut get(front, &format!("http://{host}:{port}/latest/meta-data/")));
            assert!(status == "403" && why.contains("--forward"), "{host}: {status} {why}");
        }
    });
    assert!(is_untouched(&server));
}

#[test]
fn what_is_no_http_url_of_a_host_is_not_gone_to() {
    let (server, address) = port();
    with_control(&proxy("loopback", &[]), |front, _| {
        let ask = |request: String| told(&mut front.send(&format!("{request}\r\n\r\n"))).0;
        for (request, status) in [
            // What a page of a browser can send here, by a name of its own that leads to this machine.
            (format!("GET / HTTP/1.1\r\nHost: {address}"), "421"),
            (format!("GET https://{address}/ HTTP/1.1\r\nHost: {address}"), "421"),
            (format!("CONNECT {address} HTTP/1.1\r\nHost: {address}"), "405"),
            (format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket"), "501"),
            (format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\nVia: 1.1 loadstone"), "508"),
            ("GET http://127.0.0.1:99999/ HTTP/1.1\r\nHost: x".to_owned(), "400"),
            ("GET http://a_b%00/ HTTP/1.1\r\nHost: x".to_owned(), "400"),
        ] {
            assert_eq!(ask(request.clone()), status, "{request}");
        }
    });
    assert!(is_untouched(&server));
}

#[test]
fn names_that_it_was_given_lead_where_it_was_told_first() {
    let ((origin, at_origin), (_server, at_server)) = (port(), port());
    let names = [("localhost", at_origin), ("a.test", at_origin)];
    with_control(&proxy("public", &names), |front, _| {
        let mut client = get(front, "http://a.test/");
        let mut behind = serve(&origin, '1');
        assert_eq!(heard(&mut client).1, '1');
        let mut client = get(front, &format!("http://localhost:{}/", at_server.port()));
        answer(&mut behind, '2');
        assert_eq!(heard(&mut client).1, '2', "whatever the port: it was given without one");
    });
}

#[test]
fn an_edge_does_not_go_to_itself() {
    let given = [("behind.forward", "loopback".into()), ("admin.listen", "127.0.0.1:0".into())];
    let source = source(&[], &given);
    let ways = EdgeProxy::of(&source).unwrap().ways();
    assert!(ways.contains(&"http://... of this machine, for clients whose proxy it is".to_owned()), "{ways:?}");
    with_control(&source, |front, _| {
        let port = front.address.port();
        for host in ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"] {
            // By its name it may be at [::1] as well, where nobody is.
            let (status, _) = told(&mut get(front, &format!("http://{host}:{port}/")));
            assert!(status == "403" || (host == "localhost" && status == "502"), "{host}: {status}");
        }
    });
}

#[test]
fn who_goes_anywhere_serves_this_machine_alone_as_long_as_it_runs() {
    let elsewhere = [("front.listen", Value::from("0.0.0.0:0")), ("admin.listen", "0.0.0.0:0".into())];
    for other in elsewhere {
        let given = [("behind.forward", Value::from("loopback")), other];
        let why = EdgeProxy::of(&source(&[], &given)).unwrap_err().to_string();
        assert!(why.starts_with("--forward: it goes where its clients say, so these"), "{why}");
    }
    let why = EdgeProxy::of(&proxy("everywhere", &[])).unwrap_err().to_string();
    assert!(why.starts_with("--forward: "), "{why}");
    with_control(&proxy("public", &[]), |front, control| {
        for (source, expected) in [
            (proxy("loopback", &[]), "--forward: it cannot change while the edge runs, and stays public"),
            (source(&[("a.test", front.address)], &[]), "it cannot change while the edge runs, and stays public"),
        ] {
            let why = control.reload(&source).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
        control.reload(&proxy("public", &[("a.test", front.address)])).unwrap();
        assert_eq!(told(&mut get(front, "http://127.0.0.1/")).0, "403");
    });
}
