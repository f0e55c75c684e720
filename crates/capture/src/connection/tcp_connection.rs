//! A connection of TCP, as its packets in a capture show it.

use crate::connection::echoes::Echoes;
use crate::connection::half_connection::{HalfConnection, OtherEnd, unwrap};
use crate::connection::periods::Periods;
use crate::end_pair::{Between, EndPair};
use crate::exchange::{Dialogue, InOrder, OrderedData, SaidBytes, SeenExchange};
use crate::headers::TcpHeader;
use crate::packet_columns::PacketRow;
use crate::seen_at::SeenAt;
use crate::segment::CapturedSegment;
use crate::shard_resources::ShardResources;
use core::net::Ipv6Addr;

/// How many times longer one part of the path has to be than the other, for the capture to be said to be at its end.
const MUCH_LONGER: u64 = 4;

/// Where a capture was taken, as a connection's handshake shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureSide {
    /// At the end that opened the connection, or near it.
    Client,
    /// At the other end, or near it.
    Server,
    /// In between.
    Between,
}

impl CaptureSide {
    /// Where it is by how long a handshake took from there to the server and back, and to the client and back; ns.
    pub(crate) fn of(to_server: u64, to_client: u64) -> CaptureSide {
        if to_server > MUCH_LONGER.saturating_mul(to_client) {
            CaptureSide::Client
        } else if to_client > MUCH_LONGER.saturating_mul(to_server) {
            CaptureSide::Server
        } else {
            CaptureSide::Between
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            CaptureSide::Client => "client",
            CaptureSide::Server => "server",
            CaptureSide::Between => "between",
        }
    }
}

/// A connection.
#[derive(Debug)]
pub struct TcpConnection {
    pub(crate) ends: EndPair,
    /// The number of its first packet in the capture, from 1.
    pub(crate) number: u64,
    /// Whether the lower end opened it.
    client_is_low: bool,
    /// In ns since 1970.
    pub(crate) first_at: u64,
    pub(crate) last_at: u64,
    /// What the lower end sent, and what the higher one did.
    halves: [HalfConnection; 2],
    /// When the client first acknowledged the SYN-ACK.
    established_at: Option<SeenAt>,
    /// The periods of its life, if these are asked for.
    pub(crate) periods: Option<Box<Periods>>,
    /// Acknowledgements whose echoes are awaited, if packets are told.
    echoes: Option<Box<Echoes>>,
    /// What each of them said, in order.
    order: [InOrder; 2],
    dialogue: Dialogue,
    /// Exchanges that are over: for the caller to take.
    pub(crate) ended: Vec<SeenExchange>,
}

impl Between for TcpConnection {
    fn ends(&self) -> &EndPair {
        &self.ends
    }
}

impl TcpConnection {
    /// A connection that begins with this segment.
    pub(crate) fn new(segment: &CapturedSegment<'_>) -> TcpConnection {
        let CapturedSegment { at, packet, ends, from_low, ref header, .. } = *segment;
        let is_syn_ack = header.has(TcpHeader::SYN) && header.has(TcpHeader::ACK);
        let client_is_low = match header.has(TcpHeader::SYN) {
            true => from_low != is_syn_ack,
            // Its beginning is not in the capture: servers have the lower ports.
            false => ends.low().1 > ends.high().1,
        };
        TcpConnection {
            ends,
            number: packet,
            client_is_low,
            first_at: at,
            last_at: at,
            halves: Default::default(),
            established_at: None,
            periods: None,
            echoes: None,
            order: Default::default(),
            dialogue: Dialogue::default(),
            ended: Vec::new(),
        }
    }

    /// Tells its periods from now on.
    pub(crate) fn tell_periods(&mut self) {
        self.periods = Some(Box::default());
        for half in &mut self.halves {
            half.tally = Some(Box::default());
        }
    }

    /// Tells the heads of its exchanges; nothing was said on it yet.
    pub(crate) fn tell_heads(&mut self) {
        self.dialogue = Dialogue::new(true);
    }

    /// Tells from now on how long echoes of acknowledgements took.
    pub(crate) fn tell_echoes(&mut self) {
        self.echoes = Some(Box::default());
    }

    fn end_period(&mut self, at: u64) {
        let since = at.saturating_sub(self.first_at);
        let client_is_low = self.client_is_low;
        let Some(periods) = &mut self.periods else { return };
        let [low, high] = &mut self.halves;
        periods.go_on(since, [(client_is_low, &mut low.tally), (!client_is_low, &mut high.tally)]);
    }

    /// Whether a segment begins another connection between the same ends: a SYN with another number, when something
    /// came from its sender before.
    #[inline]
    pub(crate) fn is_begun_anew(&self, segment: &CapturedSegment<'_>) -> bool {
        let CapturedSegment { from_low, header, .. } = segment;
        let is_syn = header.has(TcpHeader::SYN) && !header.has(TcpHeader::ACK);
        is_syn && self.halves[usize::from(!*from_low)].is_other_syn(header.seq)
    }

    /// A segment was captured.
    #[inline]
    pub(crate) fn handle_segment(&mut self, segment: &CapturedSegment<'_>, resources: &mut ShardResources) {
        let CapturedSegment { at, from_low, ip_id, ref header, .. } = *segment;
        self.last_at = self.last_at.max(at);
        if self.periods.as_ref().is_some_and(|periods| periods.is_over(at.saturating_sub(self.first_at))) {
            self.end_period(at);
        }
        let [low, high] = &mut self.halves;
        let (sender, receiver) = if from_low { (low, high) } else { (high, low) };
        if sender.is_captured_twice(at, ip_id, header) {
            return;
        }
        let window = (receiver.counts.packets > 0).then_some(receiver.last_window);
        let other = OtherEnd { window, round_trip: receiver.rtt.min() };
        if header.has(TcpHeader::SYN) {
            receiver.peer_scales = header.options.window_scale.is_some();
            receiver.peer_mss = header.options.mss;
        }
        let start = sender.handle_segment(at, header, other);
        let first = sender.first_number();
        if header.has(TcpHeader::ACK) {
            let said = receiver.handle_ack(at, header);
            receiver.note_room(at, sender.last_window);
            sender.counts.duplicate_acks += u32::from(said.duplicate);
            sender.counts.triple_duplicate_acks += u32::from(said.third_duplicate);
            sender.counts.dsack_packets += u32::from(said.dsack);
            let acked = receiver.acked;
            if self.order[usize::from(from_low)].is_waiting() {
                self.say(!from_low, resources, |order, room, said| order.handle_ack(acked, room, said));
            }
            if self.established_at.is_none() {
                self.note_established(at, from_low);
            }
        }
        if let Some(start) = start {
            let data = OrderedData { at, captured: header.data, len: u64::from(header.len), skipped: 0 };
            self.say(from_low, resources, |order, room, said| order.handle_segment(first, start, data, room, said));
        }
    }

    /// The sums of the round trips of either end's data, in ns: what a segment adds is one that it completes.
    pub(crate) fn round_trip_sums(&self) -> [f64; 2] {
        [self.halves[0].rtt.sum(), self.halves[1].rtt.sum()]
    }

    /// What a segment shows that has just been handled; `before` are the sums of round trips before it.
    pub(crate) fn packet_row(&mut self, segment: &CapturedSegment<'_>, before: [f64; 2]) -> PacketRow {
        let CapturedSegment { at, from_low, ref header, .. } = *segment;
        let place = usize::from(!from_low);
        let echoed = self.echoes.as_mut().and_then(|echoes| echoes.handle_segment(at, place, header));
        let (sender, receiver) = (&self.halves[place], &self.halves[1 - place]);
        let round_trip = self.round_trip_sums()[1 - place] - before[1 - place];
        PacketRow {
            connection: self.number,
            at,
            is_up: from_low == self.client_is_low,
            flags: header.flags,
            seq: unwrap(header.seq, sender.next).saturating_sub(sender.isn),
            len: header.len,
            ack: header.has(TcpHeader::ACK).then(|| unwrap(header.ack, receiver.next).saturating_sub(receiver.isn)),
            window: sender.last_window,
            in_flight_up: self.client().in_flight(),
            in_flight_down: self.server().in_flight(),
            round_trip: (round_trip > 0.0).then_some(round_trip as u64),
            echoed,
        }
    }

    /// Passes on what an end has said, as far as it is in order.
    #[inline]
    fn say(
        &mut self,
        from_low: bool,
        resources: &mut ShardResources,
        put: impl FnOnce(&mut InOrder, &mut usize, &mut dyn FnMut(OrderedData<'_>)),
    ) {
        let sent_again = u64::from(self.server().counts.retransmitted_packets);
        let is_up = from_low == self.client_is_low;
        let (dialogue, ended) = (&mut self.dialogue, &mut self.ended);
        let ShardResources { room, keys } = resources;
        put(&mut self.order[usize::from(!from_low)], room, &mut |data| {
            let OrderedData { at, captured, len, skipped } = data;
            let piece = SaidBytes { at, captured, len, skipped, sent_again };
            dialogue.handle(is_up, &piece, keys, ended);
        });
    }

    /// Nothing more is to come: all exchanges are over.
    pub(crate) fn close(&mut self, resources: &mut ShardResources) {
        let at = self.last_at;
        for from_low in [self.client_is_low, !self.client_is_low] {
            self.say(from_low, resources, |order, room, said| order.close(room, said));
        }
        self.halves.iter_mut().for_each(|half| half.close(at));
        self.end_period(at);
        let sent_again = u64::from(self.server().counts.retransmitted_packets);
        self.dialogue.close(sent_again, &mut self.ended);
    }

    fn note_established(&mut self, at: u64, from_low: bool) {
        let is_client = from_low == self.client_is_low;
        if is_client && self.server().syn_at.is_some() {
            self.established_at = Some(SeenAt::new(at));
        }
    }

    /// The end that opened it: address and port.
    pub(crate) fn client_end(&self) -> (Ipv6Addr, u16) {
        if self.client_is_low { self.ends.low() } else { self.ends.high() }
    }

    /// The other end.
    pub(crate) fn server_end(&self) -> (Ipv6Addr, u16) {
        if self.client_is_low { self.ends.high() } else { self.ends.low() }
    }

    /// The name of the server that the client asked TLS for.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.dialogue.server_name()
    }

    /// What the client sent.
    pub(crate) fn client(&self) -> &HalfConnection {
        &self.halves[usize::from(!self.client_is_low)]
    }

    /// What the server sent.
    pub(crate) fn server(&self) -> &HalfConnection {
        &self.halves[usize::from(self.client_is_low)]
    }

    /// Both directions, each with whether the client sent it.
    pub(crate) fn directions(&mut self) -> [(bool, &mut HalfConnection); 2] {
        let client_is_low = self.client_is_low;
        let [low, high] = &mut self.halves;
        [(client_is_low, low), (!client_is_low, high)]
    }

    /// Whether there are exchanges that are over, or retransmissions of which nothing more can be learned.
    #[inline]
    pub(crate) fn has_rows(&self) -> bool {
        let has_periods = self.periods.as_ref().is_some_and(|periods| !periods.ended.is_empty());
        has_periods || !self.ended.is_empty() || self.halves.iter().any(HalfConnection::has_judged)
    }

    /// Whether nothing more is to come: both ends have said so, or one has broken it off.
    pub(crate) fn is_closed(&self) -> bool {
        let [low, high] = &self.halves;
        let is_reset = low.counts.resets + high.counts.resets > 0;
        is_reset || (low.counts.fins > 0 && high.counts.fins > 0)
    }

    /// From the SYN to the SYN-ACK in ns; missing if the capture does not have both, or the SYN was sent again.
    pub(crate) fn server_handshake(&self) -> Option<u64> {
        let is_plain = self.client().counts.syns == 1;
        let (syn, syn_ack) = self.client().syn_at.zip(self.server().syn_at)?;
        is_plain.then(|| syn_ack.since(syn))
    }

    /// From the SYN-ACK to its acknowledgement in ns; missing as above.
    pub(crate) fn client_handshake(&self) -> Option<u64> {
        let is_plain = self.server().counts.syns == 1;
        let (syn_ack, ack) = self.server().syn_at.zip(self.established_at)?;
        is_plain.then(|| ack.since(syn_ack))
    }

    /// The server's initial window in segments, if it can be known: not without the handshake, which says how far the server is.
    pub(crate) fn initial_window_down(&self) -> Option<u32> {
        self.server().flights.known().filter(|_| self.capture_side().is_some())
    }

    /// Where it was captured.
    pub(crate) fn capture_side(&self) -> Option<CaptureSide> {
        self.server_handshake().zip(self.client_handshake()).map(|(server, client)| CaptureSide::of(server, client))
    }
}
