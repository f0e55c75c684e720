//! A client over blocking sockets: asks for paths and says what came, for any protocol.
//! `cargo run -p loadstone-http --example client -- 127.0.0.1:8080 spdy/3.1 /1000 /20`

use loadstone_http::{Body, Chunk, Event, Fields, Multiplexing, Priority, Protocol, TransportStream};
use loadstone_http::{RequestHead, Scheme, SessionFactory, Wire};
use loadstone_units::Time;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

fn main() -> Result<(), Box<dyn Error>> {
    let args = Vec::from_iter(std::env::args().skip(1));
    let [address, protocol, paths @ ..] = &args[..] else {
        return Err("usage: client ADDRESS PROTOCOL PATH...".into());
    };
    for (path, (status, content)) in paths.iter().zip(load(address, protocol.parse()?, paths)?) {
        println!("{path}: status {status}, {} bytes", content.len());
    }
    Ok(())
}

/// Status and content.
type Answer = (u16, Vec<u8>);
/// Asks for all paths over one connection.
pub(crate) fn load(address: &str, protocol: Protocol, paths: &[String]) -> Result<Vec<Answer>, Box<dyn Error>> {
    // No session has a deadline here, so none has to know the time.
    let (now, mut wire, mut buffer) = (Time::ZERO, Wire::default(), [0; 16_384]);
    let mut socket = TcpStream::connect(address)?;
    let mut session = SessionFactory::new(Multiplexing::default()).client(protocol);
    let (mut answers, mut left, mut waiting) = (vec![(0, Vec::new()); paths.len()], paths.len(), paths.iter());
    while left > 0 {
        for path in waiting.by_ref().take(session.capacity()) {
            let head = RequestHead::get(address, path, Fields::from_pairs([("accept", "*/*")])).over(Scheme::Http);
            session.request(head.into(), Body::EMPTY.into(), Priority::default());
        }
        while session.has_output() {
            session.poll_transmit(now, TransportStream::TCP, buffer.len(), &mut wire);
            let real = |chunk| if let Chunk::Bytes(bytes) = chunk { bytes } else { unreachable!("no bodies") };
            socket.write_all(&Vec::from_iter(wire.take_all().into_iter().flat_map(real)))?;
        }
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        session.handle_input(now, TransportStream::TCP, &[Chunk::Bytes(buffer[..count].to_vec().into())])?;
        while let Some(event) = session.poll_event() {
            // Requests count from 0, so each has the number of its path.
            let at = event.request().map_or(0, |id| id.0 as usize);
            match event {
                Event::Response { head, .. } => answers[at].0 = head.status,
                Event::Data { content: Chunk::Bytes(bytes), .. } => answers[at].1.extend_from_slice(&bytes),
                Event::End { .. } => left -= 1,
                Event::Reset { .. } | Event::Refused { .. } => return Err(format!("{} was refused", paths[at]).into()),
                _ => {}
            }
        }
    }
    Ok(answers)
}
