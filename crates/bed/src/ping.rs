//! Echo requests (ICMP, RFC 792) from one host of the bed to another: how long they take, and how many are lost.

use crate::{Bed, BedError, BedHost};
use loadstone_scenario::checksum;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Bytes of a request behind its IP header: as `ping` sends them.
const LEN: usize = 64;
/// The type of a request; a reply has 0.
const REQUEST: u8 = 8;
/// How long one waits for the replies to the last requests.
const PATIENCE: Duration = Duration::from_secs(3);
/// How soon it is seen that there is no reply.
const MOMENT: Duration = Duration::from_millis(1);

/// What became of echo requests.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EchoReplies {
    /// How many were sent.
    pub sent: u32,
    /// The round trips of those that were answered, in the order of their replies.
    pub round_trips: Vec<Duration>,
}

impl Bed {
    /// Sends `count` echo requests, one every `interval`, and waits for their replies.
    ///
    /// # Errors
    /// If the host may not send such packets.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn ping(&self, from: BedHost, to: BedHost, count: u16, interval: Duration) -> Result<EchoReplies, BedError> {
        let address = SocketAddr::new(self.address(to), 0);
        self.on(from, || ping(address, count, interval)).map_err(BedError::host("sending echo requests"))
    }
}

fn ping(to: SocketAddr, count: u16, interval: Duration) -> io::Result<EchoReplies> {
    let mut socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
    socket.connect(&to.into())?;
    socket.set_read_timeout(Some(MOMENT))?;
    let began = Instant::now();
    let mut sent: Vec<Instant> = Vec::with_capacity(count.into());
    let mut pings = EchoReplies { sent: count.into(), round_trips: Vec::new() };
    let mut answered = vec![false; count.into()];
    loop {
        let now = Instant::now();
        let next = u32::try_from(sent.len()).unwrap_or(u32::MAX);
        if next < pings.sent && now >= began + interval * next {
            socket.send(&request(next as u16))?;
            sent.push(now);
        }
        let all_sent = next == pings.sent;
        let is_over = all_sent && sent.last().is_none_or(|last| last.elapsed() > PATIENCE);
        if is_over || pings.round_trips.len() == answered.len() {
            return Ok(pings);
        }
        if let Some(number) = reply(&mut socket)?
            && let Some(at) = sent.get(usize::from(number))
            && !std::mem::replace(&mut answered[usize::from(number)], true)
        {
            pings.round_trips.push(at.elapsed());
        }
    }
}

/// The request of this number, with its checksum.
fn request(number: u16) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[0] = REQUEST;
    bytes[6..8].copy_from_slice(&number.to_be_bytes());
    let sum = checksum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The number of the request to which a reply has come, if one has.
fn reply(socket: &mut Socket) -> io::Result<Option<u16>> {
    let mut bytes = [0; 256];
    let len = match socket.read(&mut bytes) {
        Ok(len) => len,
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(None),
        Err(error) => return Err(error),
    };
    // Behind an IP header of 20 bytes.
    let icmp = bytes[..len].get(20..28);
    Ok(icmp.filter(|icmp| icmp[0] == 0).map(|icmp| u16::from_be_bytes([icmp[6], icmp[7]])))
}
