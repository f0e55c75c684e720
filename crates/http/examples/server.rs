//! A server over blocking sockets: `/N` is a resource of N bytes, for any protocol.
//! `cargo run -p loadstone-http --example server -- 127.0.0.1:8080 spdy/3.1`

use loadstone_http::{
    Body, BodyId, Chunk, Event, Fields, Multiplexing, Protocol, RequestHead, ResponseHead, TransportStream,
};
use loadstone_http::{SessionFactory, Wire};
use loadstone_units::Time;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

fn main() -> Result<(), Box<dyn Error>> {
    let args = Vec::from_iter(std::env::args().skip(1));
    let [address, protocol] = &args[..] else { return Err("usage: server ADDRESS PROTOCOL".into()) };
    let (listener, protocol) = (TcpListener::bind(address)?, protocol.parse()?);
    loop {
        let (socket, _) = listener.accept()?;
        std::thread::spawn(move || serve(socket, protocol).unwrap_or_else(|error| eprintln!("{error}")));
    }
}

/// Answers what comes on a connection. No session has a deadline here, so none has to know the time.
pub(crate) fn serve(mut socket: TcpStream, protocol: Protocol) -> Result<(), Box<dyn Error>> {
    socket.set_nodelay(true)?;
    let (now, mut wire, mut buffer) = (Time::ZERO, Wire::default(), [0; 16_384]);
    let mut session = SessionFactory::new(Multiplexing::default()).server(protocol);
    while !session.is_over() {
        let heard = match socket.read(&mut buffer)? {
            0 => return Ok(session.handle_fin(now, TransportStream::TCP)?),
            count => session.handle_input(now, TransportStream::TCP, &[Chunk::Bytes(buffer[..count].to_vec().into())]),
        };
        while let Some(event) = session.poll_event() {
            let Event::Request { id, head } = event else { continue };
            let (head, body) = answer(&head);
            session.respond(id, head.into(), body.into());
        }
        while session.has_output() {
            session.poll_transmit(now, TransportStream::TCP, buffer.len(), &mut wire);
            socket.write_all(&Vec::from_iter(wire.take_all().into_iter().flat_map(real)))?;
        }
        // Only now: what a session still says to a client that broke the protocol is why.
        heard?;
    }
    Ok(())
}

fn answer(request: &RequestHead) -> (ResponseHead, Body) {
    let number = request.path.strip_prefix(b"/").and_then(|path| std::str::from_utf8(path).ok()?.parse().ok());
    let (status, len) = number.map_or((404, 0), |len: u32| (200, u64::from(len)));
    let head = ResponseHead::new(status, Fields::from_pairs([("content-length", len.to_string())]));
    if request.method == "HEAD" { (head, Body::EMPTY) } else { (head, Body { id: BodyId(0), len }) }
}

/// A session counts bodies. Here they become real, letters by their place; a file is read from `offset` on.
fn real(chunk: Chunk) -> Vec<u8> {
    match chunk {
        Chunk::Bytes(bytes) => bytes.to_vec(),
        Chunk::Run { offset, len, .. } => (offset..offset + len).map(|at| b'a' + (at % 26) as u8).collect(),
    }
}
