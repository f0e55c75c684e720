//! A name server that changes its mind between the check of a name and its use.

use super::*;
use crate::{Stopper, listen};
use serde_json::json;
use socket2::SockRef;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

/// What takes so long never comes.
const LIMIT: Duration = Duration::from_secs(60);

/// Says one address after the other, the last one for ever, and how often it was asked.
#[derive(Debug)]
struct Rebinding {
    addresses: Vec<SocketAddr>,
    asked: Mutex<usize>,
}

impl NameResolver for Rebinding {
    fn addresses(&self, _: &ServerAddress) -> Vec<SocketAddr> {
        let mut asked = self.asked.lock().unwrap();
        let next = self.addresses[(*asked).min(self.addresses.len() - 1)];
        *asked += 1;
        vec![next]
    }
}

fn port() -> (TcpListener, SocketAddr) {
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    listener.set_nonblocking(false).unwrap();
    SockRef::from(&listener).set_read_timeout(Some(LIMIT)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Asks a proxy for a URL whose server is another one each time that somebody asks, over a connection of its own.
fn get(edge: SocketAddr) -> TcpStream {
    let mut client = TcpStream::connect(edge).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    client.write_all(b"GET http://rebinding.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    client
}

/// What comes of it.
fn got(mut client: TcpStream) -> String {
    let mut all = String::new();
    client.read_to_string(&mut all).unwrap();
    all
}

/// Answers the next request, and closes its connection.
fn answer(server: &TcpListener) {
    let (mut behind, _) = server.accept().unwrap();
    behind.set_read_timeout(Some(LIMIT)).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        behind.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    behind.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").unwrap();
}

/// Runs a proxy that goes to loopback while the test does what it does. How often names were resolved.
fn with_rebinding(addresses: &[SocketAddr], test: impl FnOnce(SocketAddr)) -> usize {
    let resolver = Arc::new(Rebinding { addresses: addresses.to_vec(), asked: Mutex::new(0) });
    let setting = json!({"front": {"listen": "127.0.0.1:0", "transport": "plaintext"}, "origins": {},
                         "behind": {"forward": "loopback"}});
    let settings = EdgeSettings::from_json(setting.to_string().as_bytes()).unwrap();
    let edge = EdgeProxy { resolver: resolver.clone(), ..EdgeProxy::open(settings).unwrap() };
    let address = edge.address();
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(move |scope| {
        // What fails here must not wait for it.
        let leaver = leaver;
        scope.spawn(move || edge.run(&leave, &end).unwrap());
        test(address);
        leaver.stop();
    });
    *resolver.asked.lock().unwrap()
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let ((server, checked), (other, later)) = (port(), port());
    let asked = with_rebinding(&[checked, later], |edge| {
        for _ in 0..2 {
            let client = get(edge);
            answer(&server);
            assert!(got(client).starts_with("HTTP/1.1 200"));
        }
    });
    assert_eq!(asked, 1, "a second answer would be another one");
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err());
}

#[test]
fn a_name_that_leads_out_of_bounds_first_is_not_asked_for_until_it_leads_elsewhere() {
    let (server, address) = port();
    let asked = with_rebinding(&["169.254.169.254:80".parse().unwrap(), address], |edge| {
        for _ in 0..2 {
            assert!(got(get(edge)).starts_with("HTTP/1.1 403"));
        }
    });
    assert_eq!(asked, 1);
    server.set_nonblocking(true).unwrap();
    assert!(server.accept().is_err());
}
