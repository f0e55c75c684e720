//! The crate's examples against one another: every protocol over real sockets, without any other crate.

// Each is a program of its own, whose `main` is not called here.
#[allow(dead_code)]
#[path = "../../examples/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../../examples/server.rs"]
mod server;

use loadstone_http::Protocol;
use std::net::TcpListener;
use std::thread;

/// Serves one connection on a port of its own while `client` does what it does with the address.
fn with_server<T>(protocol: Protocol, client: impl FnOnce(&str) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        let server = scope.spawn(move || server::serve(listener.accept().unwrap().0, protocol).unwrap());
        let result = client(&address);
        server.join().unwrap();
        result
    })
}

#[test]
fn the_examples_exchange_real_content_in_every_protocol() {
    // More than a flow-control window of SPDY's and HTTP/2's first size, and more paths than may be asked at once.
    let lens: Vec<usize> = [0, 1, 300_000].into_iter().chain(20..130).collect();
    let paths: Vec<String> = lens.iter().map(|len| format!("/{len}")).chain(["/none".to_owned()]).collect();
    let content = |len: &usize| (0..*len).map(|at| b'a' + (at % 26) as u8).collect();
    let mut expected: Vec<(u16, Vec<u8>)> = lens.iter().map(|len| (200, content(len))).collect();
    expected.push((404, Vec::new()));
    for protocol in Protocol::ALL {
        let answers = with_server(protocol, |address| client::load(address, protocol, &paths).unwrap());
        assert!(answers == expected, "{protocol}");
    }
}
