//! A simulated connection: two endpoints, and the bytes on their way between the programs.

use crate::alarms::Key;
use loadstone_http::{Chunk, Wire};
use loadstone_load::{ConnId, Peer};
use loadstone_net::tcp::{self, Endpoint};
use loadstone_net::tls::{Handshake, Records, Role, Tls};
use loadstone_units::Time;
use std::time::Duration;

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The client's end, the server's end.
    pub(crate) ends: [End; 2],
    /// The origin at the server's end.
    pub(crate) origin: u32,
    /// What a packet takes between the access link and the server.
    pub(crate) one_way: Duration,
}

/// One end: TCP, TLS, and the bytes that it has sent and the other end has not read.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) tcp: Endpoint,
    handshake: Handshake,
    tls: Tls,
    /// Content written here and not yet read at the other end.
    outbound: Wire,
    records: Records,
    /// The program has been told that the connection is open.
    pub(crate) announced: bool,
    /// The program has been told that the connection has ended.
    pub(crate) ended: bool,
    /// The program has something to send.
    pub(crate) eager: bool,
    pub(crate) alarm: Key,
}

/// An end's place in a connection.
pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

impl Connection {
    /// A connection whose SYN is due. The configurations and alarms are the client's, the server's.
    pub(crate) fn new(origin: u32, one_way: Duration, tls: Tls, tcp: [&tcp::Config; 2], alarms: [Key; 2]) -> Self {
        let end = |tcp, role, alarm| End {
            tcp,
            handshake: Handshake::new(tls, role),
            tls,
            outbound: Wire::default(),
            records: Records::new(tls),
            announced: false,
            ended: false,
            eager: false,
            alarm,
        };
        let client = end(Endpoint::connect(tcp[CLIENT]), Role::Client, alarms[CLIENT]);
        let server = end(Endpoint::listen(tcp[SERVER]), Role::Server, alarms[SERVER]);
        Connection { ends: [client, server], origin, one_way }
    }

    /// Takes what has newly arrived at `side`: content in order goes to `out`.
    pub(crate) fn read(&mut self, side: usize, out: &mut Vec<Chunk>) {
        let [client, server] = &mut self.ends;
        let (here, there) = if side == CLIENT { (client, server) } else { (server, client) };
        let arrived = here.handshake.handle_input(here.tcp.read());
        let readable = there.records.handle_input(arrived);
        if readable > 0 {
            there.outbound.take(readable, out);
        }
    }
}

impl End {
    /// Goes on with the handshake; whether the program may be told that the connection is open.
    pub(crate) fn shake_hands(&mut self) -> bool {
        if self.announced || !self.tcp.may_write() {
            return false;
        }
        while let Some(flight) = self.handshake.poll_transmit() {
            self.tcp.write(flight);
        }
        self.handshake.is_complete()
    }

    /// How much content the program may write now.
    pub(crate) fn room(&self) -> u64 {
        if self.eager && self.announced { self.tls.content_room(self.tcp.room()) } else { 0 }
    }

    /// Asks the program for bytes as long as there is room and it has any.
    pub(crate) fn fill(&mut self, program: &mut dyn Peer, now: Time, conn: ConnId) {
        loop {
            let room = self.room();
            if room == 0 {
                return;
            }
            let before = self.outbound.len();
            program.poll_transmit(now, conn, room as usize, &mut self.outbound);
            let content = self.outbound.len() - before;
            if content == 0 {
                self.eager = false;
                return;
            }
            assert!(content <= room, "a program put more on the wire than there was room for");
            self.tcp.write(self.records.write(content));
        }
    }

    /// When the endpoint wants to be woken.
    pub(crate) fn deadline(&self) -> Time {
        self.tcp.poll_timeout()
    }
}
