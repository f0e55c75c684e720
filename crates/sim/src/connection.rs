//! A connection: two ends of a transport, and the content on its way between the programs, by streams.

use crate::deadline_queue::TimerId;
use crate::host::Side;
use crate::transport::Transport;
use loadstone_http::{Chunk, TransportStream, Wire};
use loadstone_load::page::HostId;
use loadstone_load::{ConnId, ConnectionRecord, Program, StreamStalls};
use loadstone_net::tcp::LossRecovery;
use loadstone_net::{Route, Stalls};
use loadstone_scenario::{ConnectionOutcome, Transcript};
use loadstone_units::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    /// The client's end, the server's end.
    pub(crate) ends: [ConnectionEnd<T>; 2],
    /// The host that it was opened to, of the page of the client or of all pages.
    pub(crate) to: HostId,
    opened: Time,
    /// The client has been told that it is open.
    pub(crate) established: Option<Time>,
    /// The client's program has closed it.
    pub(crate) closed: Option<Time>,
}

/// One end: its transport, and its streams.
#[derive(Debug)]
pub(crate) struct ConnectionEnd<T> {
    pub(crate) transport: T,
    streams: StreamEnds,
    /// The index of its host.
    pub(crate) host: u32,
    /// The id of the connection there.
    pub(crate) conn: ConnId,
    /// The route of its packets.
    pub(crate) route: Route,
    /// The program that opens it has been told that the other end has answered.
    connect_reported: bool,
    /// The program has been told that the connection is open.
    pub(crate) open_reported: bool,
    /// The program has been told that the connection has ended.
    pub(crate) close_reported: bool,
    /// The program has something to send.
    pub(crate) wants_write: bool,
    /// What was written on TCP's stream, if the run is captured.
    pub(crate) transcript: Option<Transcript>,
    pub(crate) timer: TimerId,
}

/// The streams of an end that have been used so far.
#[derive(Debug, Default)]
struct StreamEnds {
    /// TCP's, which there is in any case.
    first: StreamEnd,
    others: BTreeMap<TransportStream, StreamEnd>,
}

/// A stream at one end.
#[derive(Debug)]
struct StreamEnd {
    /// Content written here and not yet read at the other end.
    outbound: Wire,
    /// How much content has been written here.
    written: u64,
    /// How much content has been handed on to the program.
    received: u64,
    /// The offset up to which the program takes content.
    max_data: u64,
    /// When something lost on the way to this end was missing here.
    stalls: Stalls,
}

/// The host of an end, and the ids of the end there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndPlace {
    /// The index of its host.
    pub(crate) host: u32,
    /// The id of the connection there.
    pub(crate) conn: ConnId,
    /// The route of its packets.
    pub(crate) route: Route,
    pub(crate) timer: TimerId,
}

impl<T: Transport> Connection<T> {
    /// A connection whose first packet is due.
    pub(crate) fn new(opened: Time, to: HostId, [client, server]: [(T, EndPlace); 2]) -> Connection<T> {
        let ends = [ConnectionEnd::new(client), ConnectionEnd::new(server)];
        Connection { ends, to, opened, established: None, closed: None }
    }

    /// What both ends write is noted from now on.
    pub(crate) fn note_transcripts(&mut self) {
        self.ends.iter_mut().for_each(|end| end.transcript = Some(Transcript::default()));
    }

    #[inline]
    pub(crate) fn end(&mut self, side: Side) -> &mut ConnectionEnd<T> {
        &mut self.ends[side as usize]
    }

    /// A packet on its way to `side` was lost; it would have arrived at `due`.
    pub(crate) fn handle_dropped(&mut self, side: Side, packet: &T::Packet, due: Time) {
        let ConnectionEnd { transport, streams, .. } = self.end(side);
        for (on, numbers) in T::numbers(packet) {
            streams.get(on).stalls.handle_lost(numbers, due, transport.expected(on));
        }
    }

    /// Takes what has newly arrived at `side`, of one stream at a time, as far as its program takes it: content in order
    /// goes to `out`. `None` when there is no such stream.
    #[inline]
    pub(crate) fn read(&mut self, side: Side, out: &mut Vec<Chunk>) -> Option<TransportStream> {
        let on = self.end(side).transport.poll_arrived()?;
        self.read_stream(side, on, out);
        Some(on)
    }

    /// Takes what has newly arrived of a stream at `side`, as far as its program takes it.
    #[inline]
    pub(crate) fn read_stream(&mut self, side: Side, on: TransportStream, out: &mut Vec<Chunk>) {
        let [client, server] = &mut self.ends;
        let (here, there) = if side == Side::Client { (client, server) } else { (server, client) };
        let stream = here.streams.get(on);
        let content = here.transport.read(on, stream.receive_credit(), &mut there.transport);
        if content > 0 {
            stream.received += content;
            there.streams.get(on).outbound.take(content, out);
        }
    }

    /// What an account needs of it at `now`, the end of the run. A packet takes at least
    /// `min_owd` from the server to the client.
    pub(crate) fn into_record(self, now: Time, min_owd: Duration) -> ConnectionRecord {
        let Connection { ends: [client, server], opened, established, .. } = self;
        let mut stalls: BTreeMap<TransportStream, StreamStalls> = BTreeMap::new();
        for (on, stream) in server.streams.into_all() {
            stalls.entry(on).or_default().up = stream.stalls.until(now);
        }
        for (on, stream) in client.streams.into_all() {
            stalls.entry(on).or_default().down = stream.stalls.until(now);
        }
        ConnectionRecord { opened, established, min_owd, stalls }
    }

    /// How often its two ends repaired losses.
    pub(crate) fn loss_recovery(&self) -> LossRecovery {
        self.ends.iter().map(|end| end.transport.loss_recovery()).sum()
    }

    /// What its ends wrote, if it was noted.
    pub(crate) fn take_transcripts(&mut self) -> [Transcript; 2] {
        self.ends.each_mut().map(ConnectionEnd::take_transcript)
    }

    /// What it carried.
    pub(crate) fn outcome(&self) -> ConnectionOutcome {
        let [client, server] = &self.ends;
        ConnectionOutcome {
            host: self.to,
            opened: self.opened,
            established: self.established,
            closed: self.closed,
            content_up: client.streams.written(),
            content_down: server.streams.written(),
            retransmissions: self.ends.iter().map(|end| end.transport.retransmissions()).sum(),
        }
    }
}

impl<T: Transport> ConnectionEnd<T> {
    fn new((transport, place): (T, EndPlace)) -> ConnectionEnd<T> {
        let EndPlace { host, conn, route, timer } = place;
        let streams = StreamEnds::default();
        ConnectionEnd {
            transport,
            streams,
            host,
            conn,
            route,
            connect_reported: false,
            open_reported: false,
            close_reported: false,
            wants_write: false,
            transcript: None,
            timer,
        }
    }

    /// What was written here on TCP's stream, if it was noted.
    fn take_transcript(&mut self) -> Transcript {
        let mut transcript = self.transcript.take().unwrap_or_default();
        transcript.close(self.transport.written(TransportStream::TCP));
        transcript
    }

    /// A packet has arrived.
    #[inline]
    pub(crate) fn handle_packet(&mut self, now: Time, packet: &T::Packet) {
        self.transport.handle_packet(now, packet);
        self.streams.handle_expected(now, &self.transport);
    }

    /// The program takes content of a stream up to here.
    pub(crate) fn set_max_data(&mut self, on: TransportStream, max_data: u64) {
        self.streams.get(on).max_data = max_data;
    }

    /// Whether the other end has answered, and the program does not know yet.
    pub(crate) fn poll_connected(&mut self) -> bool {
        let is_news = !self.connect_reported && self.transport.is_connected();
        self.connect_reported |= is_news;
        is_news
    }

    /// Advances the handshakes; returns whether the program may be told that the connection is open.
    pub(crate) fn drive_handshake(&mut self) -> bool {
        !self.open_reported && self.transport.drive_handshake()
    }

    /// The stream on which the program sends next, if it has something to send and there is room, and how much.
    #[inline]
    pub(crate) fn next_stream(&self, program: &dyn Program) -> Option<(TransportStream, u64)> {
        if self.wants_write && self.open_reported { self.transport.next_stream(program, self.conn) } else { None }
    }

    /// Asks the program for bytes as long as there is room and it has any. Returns whether a write has ended before the
    /// room did: it goes out before the next.
    pub(crate) fn fill(&mut self, program: &mut dyn Program, now: Time) -> bool {
        while let Some((on, room)) = self.next_stream(program) {
            let stream = self.streams.get(on);
            let before = stream.outbound.len();
            program.poll_transmit(now, self.conn, on, room as usize, &mut stream.outbound);
            let content = stream.outbound.len() - before;
            if content == 0 {
                self.wants_write = false;
                return false;
            }
            assert!(content <= room, "a program put more on the wire than there was room for");
            stream.written += content;
            if let Some(transcript) = self.transcript.as_mut().filter(|_| on == TransportStream::TCP) {
                transcript.note(self.transport.written(on), stream.outbound.last(content));
            }
            self.transport.write(on, content);
            if content < room {
                return true;
            }
        }
        false
    }
}

impl StreamEnds {
    #[inline]
    fn get(&mut self, on: TransportStream) -> &mut StreamEnd {
        if on == TransportStream::TCP { &mut self.first } else { self.others.entry(on).or_default() }
    }

    /// Something may have arrived.
    #[inline]
    fn handle_expected<T: Transport>(&mut self, now: Time, transport: &T) {
        if !self.first.stalls.is_idle() {
            self.first.stalls.handle_expected(now, transport.expected(TransportStream::TCP));
        }
        if !self.others.is_empty() {
            for (on, stream) in self.others.iter_mut().filter(|(_, stream)| !stream.stalls.is_idle()) {
                stream.stalls.handle_expected(now, transport.expected(*on));
            }
        }
    }

    fn written(&self) -> u64 {
        self.first.written + self.others.values().map(|stream| stream.written).sum::<u64>()
    }

    fn into_all(self) -> impl Iterator<Item = (TransportStream, StreamEnd)> {
        [(TransportStream::TCP, self.first)].into_iter().chain(self.others)
    }
}

impl StreamEnd {
    /// How much more content the program takes now.
    #[inline]
    fn receive_credit(&self) -> u64 {
        if self.max_data == u64::MAX { u64::MAX } else { self.max_data - self.received.min(self.max_data) }
    }
}

impl Default for StreamEnd {
    fn default() -> StreamEnd {
        StreamEnd { outbound: Wire::default(), written: 0, received: 0, max_data: u64::MAX, stalls: Stalls::default() }
    }
}

#[cfg(test)]
mod tests;
