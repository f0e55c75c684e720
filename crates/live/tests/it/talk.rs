//! A client by hand: one connection of any protocol over a blocking socket.

use crate::dial;
use loadstone_http::{
    Body, BodyId, Chunk, ClientSession, Event, Fields, Multiplexing, Priority, Protocol, Push, RequestHead, RequestId,
    ResponseHead, Scheme, SessionFactory, TransportStream, Wire,
};
use loadstone_units::Time;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// Opens a connection; with `root` through TLS, offering these protocols.
pub(crate) fn connect(address: SocketAddr, root: Option<&[u8]>, offered: &[&str]) -> io::Result<Box<dyn Stream>> {
    let tcp = dial(address);
    let Some(root) = root else { return Ok(Box::new(tcp)) };
    let mut stream = StreamOwned::new(tls(root, offered), tcp);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(Box::new(stream))
}

/// The client's end of TLS.
pub(crate) fn tls(root: &[u8], offered: &[&str]) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(root.to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
    ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap()
}

/// What has come of one response.
#[derive(Default, Debug)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) interim: Vec<Arc<ResponseHead>>,
    pub(crate) head: Option<Arc<ResponseHead>>,
    pub(crate) content: Vec<u8>,
    pub(crate) is_complete: bool,
}

impl Got {
    pub(crate) fn status(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.status)
    }

    pub(crate) fn field(&self, name: &str) -> String {
        let value = self.head.as_ref().and_then(|head| head.fields.get(name.as_bytes()));
        String::from_utf8(value.unwrap_or_default().to_vec()).unwrap()
    }
}

/// A connection on which requests are made.
pub(crate) struct Talk {
    stream: Box<dyn Stream>,
    session: Box<dyn ClientSession>,
    /// What request bodies consist of, by their ids.
    bodies: Vec<Vec<u8>>,
    pub(crate) got: BTreeMap<RequestId, Got>,
    /// The server has closed, or the session has failed.
    pub(crate) is_over: bool,
}

impl Talk {
    pub(crate) fn new(stream: Box<dyn Stream>, protocol: Protocol) -> Talk {
        let config = Multiplexing { push: Push::Accept, ..Multiplexing::default() };
        let session = SessionFactory::new(config).client(protocol);
        Talk { stream, session, bodies: Vec::new(), got: BTreeMap::new(), is_over: false }
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> RequestId {
        let length = (!body.is_empty()).then(|| ("content-length", body.len().to_string()));
        let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(length);
        let [method, path_bytes] = [method, path].map(|text| text.as_bytes().to_vec().into());
        let head = RequestHead::new(method, b"localhost"[..].into(), path_bytes, Fields::from_pairs(fields));
        self.request(head, path, body)
    }

    /// Asks for a path of another host by http, as of a proxy.
    pub(crate) fn ask_of(&mut self, authority: &str, path: &str) -> RequestId {
        let head = RequestHead::get(authority, path, Fields::default()).over(Scheme::Http);
        self.request(head, path, b"")
    }

    fn request(&mut self, head: RequestHead, path: &str, body: &[u8]) -> RequestId {
        let id = BodyId(self.bodies.len() as u32);
        self.bodies.push(body.to_vec());
        let body = if body.is_empty() { Body::EMPTY } else { Body { id, len: body.len() as u64 } };
        let stream = self.session.request(head.into(), body.into(), Priority::default());
        self.got.insert(stream, Got { path: path.to_owned(), ..Got::default() });
        stream
    }

    /// Whether the server takes more requests on this connection.
    pub(crate) fn is_open(&self) -> bool {
        !self.session.is_closing()
    }

    /// Wants nothing more of a request.
    pub(crate) fn cancel(&mut self, stream: RequestId) {
        self.session.cancel(stream);
        self.got.remove(&stream);
        self.send();
    }

    /// Sends what there is to send and reads once. The server must not have closed: what is waited for cannot come then.
    pub(crate) fn turn(&mut self) {
        assert!(!self.is_over, "the server has closed, and the test waits for more");
        self.send();
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(count @ 1..) => {
                let input = Chunk::Bytes(buffer[..count].to_vec().into());
                self.is_over |= self.session.handle_input(Time::ZERO, TransportStream::TCP, &[input]).is_err();
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                panic!("waited for nothing: {:?}", self.got)
            }
            Ok(0) | Err(_) => {
                self.is_over = true;
                let _whole = self.session.handle_fin(Time::ZERO, TransportStream::TCP);
            }
        }
        self.note();
    }

    /// Sends what there is to send.
    pub(crate) fn send(&mut self) {
        self.send_slowly(1 << 20);
    }

    /// Sends at most so many bytes of what there is to send.
    pub(crate) fn send_slowly(&mut self, most: usize) {
        let (mut wire, mut out) = (Wire::default(), Vec::new());
        self.session.poll_transmit(Time::ZERO, TransportStream::TCP, most, &mut wire);
        for chunk in wire.take_all() {
            match chunk {
                Chunk::Bytes(bytes) => out.extend_from_slice(&bytes),
                Chunk::Run { body, offset, len } => {
                    let place = offset as usize..(offset + len) as usize;
                    out.extend_from_slice(&self.bodies[body.0 as usize][place]);
                }
            }
        }
        // A server that has closed does not read it.
        let _sent = self.stream.write_all(&out);
    }

    fn note(&mut self) {
        while let Some(event) = self.session.poll_event() {
            let got = event.request().map(|id| self.got.entry(id).or_default());
            match (event, got) {
                (Event::Promised { head, .. }, Some(got)) => got.path = String::from_utf8(head.path.to_vec()).unwrap(),
                (Event::Interim { head, .. }, Some(got)) => got.interim.push(head),
                (Event::Response { head, .. }, Some(got)) => got.head = Some(head),
                (Event::Data { content: Chunk::Bytes(bytes), .. }, Some(got)) => got.content.extend_from_slice(&bytes),
                (Event::End { .. }, Some(got)) => got.is_complete = true,
                _ => {}
            }
        }
    }

    /// Goes on until everything that was asked for or promised has come, or nothing more can come.
    pub(crate) fn finish(&mut self) -> &BTreeMap<RequestId, Got> {
        while !self.is_over && self.got.values().any(|got| !got.is_complete) {
            self.turn();
        }
        &self.got
    }

    /// Asks for one thing, and waits for it and all that is pushed with it.
    pub(crate) fn get(&mut self, path: &str) -> &Got {
        let id = self.ask("GET", path, &[], b"");
        self.finish();
        &self.got[&id]
    }
}
