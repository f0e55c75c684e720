//! How late it is decided what goes next: something urgent overtakes what has not been sent.

use crate::{EVERY_TLS, LIMIT, Setting, limited, object, page};
use loadstone_http::{Chunk, ClientSession, Event, Priority, Protocol, RequestId, TransportStream, Wire};
use loadstone_live::{Clock, Lowat, Tls};
use loadstone_load::page::ActivityId;
use loadstone_units::Time;
use rustls::{ClientConnection, StreamOwned};
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const BIG: u64 = 4_000_000;
/// What the client's socket holds at most: the kernel doubles it.
const RECEIVE: usize = 32 * 1024;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A client that asks and reads when it is told to.
struct Client {
    stream: Box<dyn Stream>,
    session: Box<dyn ClientSession>,
    /// Bytes of the first stream's body that have arrived.
    big: u64,
}

impl Client {
    fn connect(setting: &Setting, address: SocketAddr) -> Client {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(RECEIVE).unwrap();
        socket.connect_timeout(&address.into(), LIMIT).unwrap();
        let tcp = limited(TcpStream::from(socket));
        let tls = setting.authority.client("a.test", setting.tls, setting.protocol).unwrap();
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(tcp),
            Some(tls) => Box::new(StreamOwned::new(ClientConnection::new(tls.config, tls.name).unwrap(), tcp)),
        };
        Client { stream, session: setting.sessions.client(setting.protocol), big: 0 }
    }

    fn ask(&mut self, setting: &Setting, object: u32, priority: Priority) -> RequestId {
        let fetch = setting.page.fetch(ActivityId(object));
        let id = self.session.request(fetch.request.clone(), fetch.upload.into(), priority);
        self.send();
        id
    }

    fn send(&mut self) {
        let mut wire = Wire::default();
        self.session.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut wire);
        for chunk in wire.take_all() {
            let Chunk::Bytes(bytes) = chunk else { panic!("nothing is uploaded") };
            self.stream.write_all(&bytes).unwrap();
        }
        self.stream.flush().unwrap();
    }

    /// Reads what has arrived; the streams that it completes.
    fn read(&mut self) -> Vec<RequestId> {
        let mut buffer = [0; 4_096];
        let count = self.stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the server has closed");
        let input = Chunk::Bytes(buffer[..count].to_vec().into());
        self.session.handle_input(Time::ZERO, TransportStream::TCP, &[input]).unwrap();
        let mut ended = Vec::new();
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Data { id: RequestId(0), content } => self.big += content.len(),
                Event::End { id } => ended.push(id),
                _ => {}
            }
        }
        self.send();
        ended
    }
}

/// How much of something big and unimportant arrives after something small and urgent was asked for,
/// before that is there.
fn overtaken_by(protocol: Protocol, tls: Tls, lowat: u32) -> u64 {
    let file = page([object("http://a.test/big.png", BIG), object("http://a.test/late.css", 1_000)]);
    let setting = Setting { lowat: Lowat::known(lowat), ..Setting::new(&file, protocol, tls) };
    let clock = Clock::start();
    let (overtaken, _) = setting.with_servers(&clock, |addresses, _| {
        let mut client = Client::connect(&setting, addresses[0]);
        client.ask(&setting, 0, Priority::at(5));
        while client.big < 200_000 {
            client.read();
        }
        let before = client.big;
        let late = client.ask(&setting, 1, Priority::at(0));
        while !client.read().contains(&late) {}
        client.big - before
    });
    overtaken
}

#[test]
fn something_urgent_overtakes_all_but_what_sockets_hold() {
    for protocol in [Protocol::Spdy31, Protocol::H2] {
        for tls in EVERY_TLS {
            for lowat in [4_096, 16_384] {
                // What is on its way, in the client's socket at most; what the server's may hold unsent;
                // and what was already read when it asked, a record or a read of this test.
                let most = 2 * RECEIVE as u64 + u64::from(lowat) + 16_384 + 4_096;
                let overtaken = overtaken_by(protocol, tls, lowat);
                assert!(overtaken <= most, "{protocol} {tls:?} {lowat}: {overtaken} of {most}");
            }
        }
    }
}

#[test]
fn nothing_overtakes_what_a_socket_has_swallowed() {
    for protocol in [Protocol::Spdy31, Protocol::H2] {
        for tls in EVERY_TLS {
            // The server was let write all of it at once.
            let overtaken = overtaken_by(protocol, tls, 100_000_000);
            assert!(overtaken > BIG / 2, "{protocol} {tls:?}: {overtaken}");
        }
    }
}
