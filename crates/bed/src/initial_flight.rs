//! What a server sends before it hears anything of it: its initial window, as a client sees it that acknowledges nothing.
//!
//! The way of TBIT (Padhye and Floyd 2001) and of scans after it (Rüth, Bormann and Hohlfeld 2017): announce a small MSS
//! and neither SACK nor timestamps, send a request, count what comes until the server sends something of it again, and
//! acknowledge all at once. If more comes then, it was the congestion window that held it back. Without SACK there are no
//! tail loss probes (RFC 8985, section 7), which would look like a larger window.

use crate::packet::{CapturedFlags, TcpPacket};
use loadstone_net::Assembler;
use loadstone_scenario::SegmentHeader;
use loadstone_units::Time;
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::time::Duration;

/// What is announced until the flight is over: all that fits without a scaled window.
const RECEIVE_WINDOW: u16 = u16::MAX;
/// The kind and length of the option that announces an MSS (RFC 9293, section 3.2).
const MSS_OPTION: [u8; 2] = [2, 4];
/// Every host of IPv4 takes segments of this many bytes (RFC 9293, section 3.7.1).
const REQUEST_SEGMENT: usize = 536;
/// When a SYN or request is sent again (RFC 6298, section 2).
const TIMEOUT: Duration = Duration::from_secs(1);
/// How often it is sent at most.
const TRIES: u32 = 4;
/// How long a server may take to begin its response.
const RESPONSE: Duration = Duration::from_secs(10);
/// After such a silence nothing of the flight is to come, though nothing has come again.
const SILENCE: Duration = Duration::from_secs(5);
/// How long what the acknowledgement lets go may take, beside two round trips.
const MORE: Duration = Duration::from_secs(1);

/// Why a flight ended where it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlightEnd {
    /// There was more to send, and it came when all was acknowledged: the flight is the initial window.
    CongestionWindow,
    /// The server had no more to send: its window is at least as large.
    Response,
    /// No more was allowed to be sent: its window is at least as large.
    ReceiveWindow,
}

/// What a server sent before it heard anything of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitialFlight {
    /// The MSS that was announced, in bytes.
    pub mss: u16,
    /// Segments with data, those counted that were lost on the way.
    pub segments: u32,
    /// Bytes of data.
    pub bytes: u32,
    /// Bytes of the longest segment.
    pub longest: u32,
    /// Segments that were lost on the way, as far as others behind them show it.
    pub lost: u32,
    /// From the SYN to its answer.
    pub round_trip: Duration,
    /// From the first segment to the last: a server that paces takes about a round trip.
    pub span: Duration,
    /// Why it was no more.
    pub end: FlightEnd,
}

/// Why no flight was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoFlight {
    /// Nothing answers.
    #[error("no answer to {TRIES} SYNs: see that a server listens there, and that its packets find their way back")]
    NoAnswer,
    /// The port is closed.
    #[error("the connection is refused: see that a server listens there")]
    Refused,
    /// The server ended the connection.
    #[error("the server closed the connection before it sent anything: ask for something that it has")]
    Closed,
    /// The server is silent.
    #[error("the server did not respond within {} s", RESPONSE.as_secs())]
    NoResponse,
}

/// One connection to a server, up to the end of its initial window. It is a machine: packets and `now` go in, packets
/// and a deadline come out.
#[derive(Debug)]
pub struct FlightProbe {
    /// The client and the server.
    ends: (SocketAddrV4, SocketAddrV4),
    mss: u16,
    request: Vec<u8>,
    /// The number of the SYN, and that of the server's first byte.
    own_first: u32,
    first: u32,
    state: ProbeState,
    deadline: Time,
    tries: u32,
    syn_sent: Time,
    round_trip: Duration,
    came: Came,
    out: VecDeque<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbeState {
    SynSent,
    /// The request is on its way; until when its response may begin.
    Asked(Time),
    /// The response comes.
    Counting,
    /// All has been acknowledged: whether more comes now.
    Acknowledged,
    Over(Result<FlightEnd, NoFlight>),
}

/// The data that came, by their distance from the first byte.
#[derive(Debug, Default)]
struct Came {
    ranges: Assembler,
    segments: u32,
    longest: u32,
    end: u32,
    is_finished: bool,
    began: Time,
    last: Time,
}

impl FlightProbe {
    /// Connects from `client` to `server`, announces `mss` and sends `request`. `initial` is the number of its SYN.
    pub fn new(
        client: SocketAddrV4,
        server: SocketAddrV4,
        initial: u32,
        mss: u16,
        request: Vec<u8>,
        now: Time,
    ) -> Self {
        let mut probe = FlightProbe {
            ends: (client, server),
            mss,
            request,
            own_first: initial,
            first: 0,
            state: ProbeState::SynSent,
            deadline: now,
            tries: 0,
            syn_sent: now,
            round_trip: Duration::ZERO,
            came: Came::default(),
            out: VecDeque::new(),
        };
        probe.handle_timeout(now);
        probe
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    /// When [`FlightProbe::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Time {
        self.deadline
    }

    /// What was found, once it is over.
    pub fn result(&self) -> Option<Result<InitialFlight, NoFlight>> {
        let ProbeState::Over(ended) = self.state else { return None };
        Some(ended.map(|end| self.came.flight(self.mss, self.round_trip, end)))
    }

    /// Receives a packet.
    pub fn handle_packet(&mut self, packet: &TcpPacket, now: Time) {
        let (client, server) = self.ends;
        let from = SocketAddrV4::new(packet.source, packet.source_port);
        let to = SocketAddrV4::new(packet.destination, packet.destination_port);
        if (from, to) != (server, client) {
            return;
        }
        match self.state {
            ProbeState::Over(_) => {}
            ProbeState::SynSent => self.handle_answer(packet, now),
            _ if packet.flags.rst => self.handle_reset(),
            // It did not hear our acknowledgement.
            _ if packet.flags.syn => self.acknowledge(self.first),
            ProbeState::Asked(_) | ProbeState::Counting => self.handle_data(packet, now),
            ProbeState::Acknowledged => {
                if self.offset(packet).is_some_and(|from| from + packet.payload > self.came.end) {
                    self.end(Ok(FlightEnd::CongestionWindow));
                }
            }
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        match self.state {
            ProbeState::SynSent if self.tries < TRIES => {
                self.tries += 1;
                self.deadline = now + TIMEOUT;
                self.syn_sent = now;
                let flags = CapturedFlags { syn: true, ..CapturedFlags::default() };
                let options = [MSS_OPTION, self.mss.to_be_bytes()].concat();
                self.send(SegmentHeader { flags, options, ..self.segment(0) }, &[]);
            }
            ProbeState::SynSent => self.end(Err(NoFlight::NoAnswer)),
            ProbeState::Asked(until) if now >= until => self.end(Err(NoFlight::NoResponse)),
            ProbeState::Asked(until) => self.ask(now, until),
            ProbeState::Counting => self.finish_counting(now),
            ProbeState::Acknowledged => self.end(Ok(FlightEnd::Response)),
            ProbeState::Over(_) => self.deadline = Time::NEVER,
        }
    }

    fn handle_answer(&mut self, packet: &TcpPacket, now: Time) {
        let is_answer = packet.flags.ack && packet.acknowledgement == self.own_first.wrapping_add(1);
        match (is_answer, packet.flags.rst, packet.flags.syn) {
            (true, true, _) => self.end(Err(NoFlight::Refused)),
            (true, false, true) => {
                self.first = packet.sequence.wrapping_add(1);
                self.round_trip = Duration::from_nanos(now.nanos_since(self.syn_sent));
                self.tries = 0;
                self.acknowledge(self.first);
                self.ask(now, now + RESPONSE);
            }
            _ => {}
        }
    }

    /// Sends the request, once more if it may be lost.
    fn ask(&mut self, now: Time, until: Time) {
        self.state = ProbeState::Asked(until);
        self.tries += 1;
        self.deadline = if self.tries < TRIES { until.min(now + TIMEOUT) } else { until };
        let request = std::mem::take(&mut self.request);
        for (at, piece) in request.chunks(REQUEST_SEGMENT).enumerate() {
            let segment = self.segment(1 + (at * REQUEST_SEGMENT) as u32);
            self.send(segment, piece);
        }
        self.request = request;
    }

    fn handle_data(&mut self, packet: &TcpPacket, now: Time) {
        if packet.acknowledgement == self.sent() {
            // The request has arrived: from now on there is only to wait.
            if let ProbeState::Asked(until) = self.state {
                self.deadline = until;
            }
        }
        let Some(from) = self.offset(packet).filter(|_| packet.is_data()) else { return };
        if self.came.has(from, packet) {
            return self.finish_counting(now);
        }
        self.state = ProbeState::Counting;
        self.deadline = now + SILENCE;
        self.came.add(from, packet, now);
    }

    /// The flight is over. Asks for more, if that can tell something.
    fn finish_counting(&mut self, now: Time) {
        let came = &self.came;
        if came.is_finished {
            return self.end(if came.segments > 0 { Ok(FlightEnd::Response) } else { Err(NoFlight::Closed) });
        }
        if came.end + came.longest > u32::from(RECEIVE_WINDOW) {
            return self.end(Ok(FlightEnd::ReceiveWindow));
        }
        self.state = ProbeState::Acknowledged;
        self.deadline = now + MORE + 2 * self.round_trip;
        self.acknowledge(self.first.wrapping_add(came.end));
    }

    fn handle_reset(&mut self) {
        let ended = if self.came.segments > 0 { Ok(FlightEnd::Response) } else { Err(NoFlight::Closed) };
        self.state = ProbeState::Over(ended);
        self.deadline = Time::NEVER;
    }

    /// Ends it, and the server's connection with it.
    fn end(&mut self, ended: Result<FlightEnd, NoFlight>) {
        if self.state != ProbeState::SynSent {
            let flags = CapturedFlags { rst: true, ..CapturedFlags::default() };
            let sequence = self.sent();
            self.send(SegmentHeader { flags, sequence, ..self.segment(0) }, &[]);
        }
        self.state = ProbeState::Over(ended);
        self.deadline = Time::NEVER;
    }

    /// The number after all that was sent.
    fn sent(&self) -> u32 {
        self.own_first.wrapping_add(1 + self.request.len() as u32)
    }

    /// How far from the server's first byte the data of a packet begin; nothing if they cannot be of this flight.
    fn offset(&self, packet: &TcpPacket) -> Option<u32> {
        Some(packet.sequence.wrapping_sub(self.first)).filter(|from| *from <= u32::from(RECEIVE_WINDOW))
    }

    fn acknowledge(&mut self, acknowledgement: u32) {
        let sequence = if self.state == ProbeState::SynSent { self.own_first.wrapping_add(1) } else { self.sent() };
        self.send(SegmentHeader { acknowledgement, sequence, ..self.segment(0) }, &[]);
    }

    /// A segment so many bytes behind the SYN, which acknowledges the server's SYN.
    fn segment(&self, distance: u32) -> SegmentHeader {
        SegmentHeader {
            source: self.ends.0,
            destination: self.ends.1,
            sequence: self.own_first.wrapping_add(distance),
            acknowledgement: self.first,
            window: RECEIVE_WINDOW,
            flags: CapturedFlags { ack: true, ..CapturedFlags::default() },
            id: 0,
            push: false,
            options: Vec::new(),
        }
    }

    fn send(&mut self, segment: SegmentHeader, payload: &[u8]) {
        self.out.push_back(segment.packet(payload));
    }
}

impl Came {
    /// Whether all of a packet's data, or the end of all, came before.
    fn has(&self, from: u32, packet: &TcpPacket) -> bool {
        if packet.payload == 0 {
            return self.is_finished;
        }
        let (from, end) = (u64::from(from), u64::from(from + packet.payload));
        self.ranges.iter().any(|range| range.start <= from && end <= range.end)
    }

    fn add(&mut self, from: u32, packet: &TcpPacket, now: Time) {
        if self.segments == 0 {
            self.began = now;
        }
        self.is_finished |= packet.flags.fin;
        if packet.payload == 0 {
            return;
        }
        let end = from + packet.payload;
        self.ranges.insert(from.into()..end.into());
        self.segments += 1;
        self.longest = self.longest.max(packet.payload);
        self.end = self.end.max(end);
        self.last = now;
    }

    /// The flight, with what is missing in it.
    fn flight(&self, mss: u16, round_trip: Duration, end: FlightEnd) -> InitialFlight {
        let mut ranges: Vec<_> = self.ranges.iter().collect();
        ranges.sort_by_key(|range| range.start);
        let mut next = 0;
        let mut lost = 0;
        for range in ranges {
            lost += (range.start - next).div_ceil(u64::from(self.longest.max(1))) as u32;
            next = range.end;
        }
        let span = Duration::from_nanos(self.last.nanos_since(self.began));
        let (segments, bytes) = (self.segments + lost, self.end);
        InitialFlight { mss, segments, bytes, longest: self.longest, lost, round_trip, span, end }
    }
}
