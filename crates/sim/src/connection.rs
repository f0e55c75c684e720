//! A simulated connection: two endpoints, and the bytes on their way between the programs.

use crate::alarms::Key;
use loadstone_http::{Chunk, Wire};
use loadstone_load::page::HostId;
use loadstone_load::{ConnId, ConnectionRecord, Peer};
use loadstone_net::Stalls;
use loadstone_net::tcp::{self, Endpoint, Segment};
use loadstone_net::tls::{Handshake, Records, Role, Tls};
use loadstone_scenario::ConnectionOutcome;
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
    opened: Time,
    /// The browser has been told that it is open.
    pub(crate) established: Option<Time>,
}

/// One end: TCP, TLS, and the bytes that it has sent and the other end has not read.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) tcp: Endpoint,
    handshake: Handshake,
    tls: Tls,
    /// Content written here and not yet read at the other end.
    outbound: Wire,
    /// How much content has been written here.
    written: u64,
    records: Records,
    /// When something on the way to this end was lost and missing here.
    stalls: Stalls,
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
    /// A connection whose SYN is due. The configurations and alarms are the client's, the server's; `metrics` is
    /// what the server remembers.
    pub(crate) fn new(
        opened: Time,
        origin: u32,
        one_way: Duration,
        tls: Tls,
        tcp: [&tcp::Config; 2],
        metrics: tcp::Metrics,
        alarms: [Key; 2],
    ) -> Self {
        let end = |tcp, role, alarm| End {
            tcp,
            handshake: Handshake::new(tls, role),
            tls,
            outbound: Wire::default(),
            written: 0,
            records: Records::new(tls),
            stalls: Stalls::default(),
            announced: false,
            ended: false,
            eager: false,
            alarm,
        };
        let client = end(Endpoint::connect(tcp[CLIENT]), Role::Client, alarms[CLIENT]);
        let server = end(Endpoint::listen(tcp[SERVER]).recalling(metrics), Role::Server, alarms[SERVER]);
        Connection { ends: [client, server], origin, one_way, opened, established: None }
    }

    /// A segment on its way to `side` was lost; it would have arrived at `due`.
    pub(crate) fn lose(&mut self, side: usize, segment: &Segment, due: Time) {
        let end = &mut self.ends[side];
        end.stalls.handle_lost(segment.seq..segment.end(), due, end.tcp.expected());
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

impl Connection {
    /// What an account needs to know of it at `now`, the end of the run. A packet takes at least
    /// `propagation` through the access link.
    pub(crate) fn into_record(self, now: Time, propagation: Duration) -> ConnectionRecord {
        let [client, server] = self.ends;
        ConnectionRecord {
            opened: self.opened,
            established: self.established,
            way_down: propagation + self.one_way,
            stalls_up: server.stalls.until(now),
            stalls_down: client.stalls.until(now),
        }
    }

    /// What it carried.
    pub(crate) fn outcome(&self) -> ConnectionOutcome {
        ConnectionOutcome {
            host: HostId(self.origin),
            opened: self.opened,
            established: self.established,
            content_up: self.ends[CLIENT].written,
            content_down: self.ends[SERVER].written,
            retransmissions: self.ends.iter().map(|end| end.tcp.retransmissions()).sum(),
        }
    }
}

impl End {
    /// A segment has arrived.
    pub(crate) fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.tcp.handle_segment(now, segment);
        if !self.stalls.is_idle() {
            self.stalls.handle_expected(now, self.tcp.expected());
        }
    }

    /// Goes on with the handshake; whether the program may be told that the connection is open.
    pub(crate) fn shake_hands(&mut self) -> bool {
        if self.announced || !self.tcp.may_write() {
            return false;
        }
        while let Some(flight) = self.handshake.poll_transmit() {
            self.tcp.write(flight);
        }
        self.handshake.may_send()
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
            self.written += content;
            self.tcp.write(self.records.write(content));
        }
    }

    /// When the endpoint wants to be woken.
    pub(crate) fn deadline(&self) -> Time {
        self.tcp.poll_timeout()
    }
}
