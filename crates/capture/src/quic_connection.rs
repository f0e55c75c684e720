//! A connection of QUIC, as far as its datagrams show it: headers that are not encrypted, sizes, the spin bit.

use crate::connection::{CaptureSide, RttSamples};
use crate::end_pair::{Between, EndPair};
use crate::headers::{LongKind, QuicHeader};
use crate::seen_at::SeenAt;
use core::net::Ipv6Addr;

/// A datagram of UDP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuicDatagram {
    /// When, in ns since 1970.
    pub(crate) at: u64,
    /// The number of its packet in the capture, from 1.
    pub(crate) packet: u64,
    pub(crate) ends: EndPair,
    /// Whether the lower end sent it.
    pub(crate) from_low: bool,
    /// Bytes of its payload on the wire.
    pub(crate) len: u32,
    pub(crate) header: QuicHeader,
}

impl QuicDatagram {
    /// A client's first datagram has at least so many bytes (RFC 9000, section 14.1).
    const LEAST_INITIAL: u32 = 1_200;

    /// Whether it opens a connection.
    pub(crate) fn opens(&self) -> bool {
        let is_initial = matches!(self.header, QuicHeader::Long { kind: LongKind::Initial, .. });
        is_initial && self.len >= Self::LEAST_INITIAL
    }
}

/// What one end sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct QuicCounts {
    pub(crate) datagrams: u32,
    pub(crate) bytes: u64,
    pub(crate) largest: u32,
    pub(crate) initials: u32,
    pub(crate) handshakes: u32,
    pub(crate) zero_rtt: u32,
}

/// The spin bit of a server: it turns once in each round trip (RFC 9000, section 17.4).
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    value: Option<bool>,
    turned_at: Option<SeenAt>,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct QuicConnection {
    ends: EndPair,
    pub(crate) number: u64,
    client_is_low: bool,
    pub(crate) first_at: u64,
    pub(crate) last_at: u64,
    /// That of the first packet whose version is not negotiated.
    pub(crate) version: u32,
    pub(crate) up: QuicCounts,
    pub(crate) down: QuicCounts,
    /// The server asked the client to show its address first.
    pub(crate) retry: bool,
    pub(crate) version_negotiation: bool,
    answered_at: Option<SeenAt>,
    confirmed_at: Option<SeenAt>,
    spin: Spin,
    spin_rtt: RttSamples,
    /// Turns that came too early to be a round trip's.
    early_turns: u32,
}

impl Between for QuicConnection {
    fn ends(&self) -> &EndPair {
        &self.ends
    }
}

impl QuicConnection {
    /// One that begins with this datagram.
    pub(crate) fn new(first: &QuicDatagram) -> QuicConnection {
        QuicConnection {
            ends: first.ends,
            number: first.packet,
            client_is_low: first.from_low,
            first_at: first.at,
            last_at: first.at,
            version: 0,
            up: QuicCounts::default(),
            down: QuicCounts::default(),
            retry: false,
            version_negotiation: false,
            answered_at: None,
            confirmed_at: None,
            spin: Spin::default(),
            spin_rtt: RttSamples::default(),
            early_turns: 0,
        }
    }

    pub(crate) fn handle_datagram(&mut self, datagram: &QuicDatagram) {
        let is_up = datagram.from_low == self.client_is_low;
        self.last_at = self.last_at.max(datagram.at);
        let counts = if is_up { &mut self.up } else { &mut self.down };
        counts.datagrams += 1;
        counts.bytes += u64::from(datagram.len);
        counts.largest = counts.largest.max(datagram.len);
        match datagram.header {
            QuicHeader::Long { version, kind } => {
                self.version = version;
                match kind {
                    LongKind::Initial => counts.initials += 1,
                    LongKind::Handshake => counts.handshakes += 1,
                    LongKind::ZeroRtt => counts.zero_rtt += 1,
                    LongKind::Retry => self.retry = true,
                }
            }
            QuicHeader::VersionNegotiation => self.version_negotiation = true,
            // A server sends back what it got: where it does not, the bit of clients means nothing.
            QuicHeader::Short { spin } if !is_up => self.handle_spin(datagram.at, spin),
            QuicHeader::Short { .. } => {}
        }
        self.note_handshake(is_up, datagram.at);
    }

    fn note_handshake(&mut self, is_up: bool, at: u64) {
        if !is_up {
            self.answered_at.get_or_insert(SeenAt::new(at));
        } else if self.answered_at.is_some() {
            self.confirmed_at.get_or_insert(SeenAt::new(at));
        }
    }

    fn handle_spin(&mut self, at: u64, value: bool) {
        /// A packet that comes late turns it back for a moment (RFC 9312, section 3.8.2), and some ends turn it at random.
        const EARLY: u64 = 4;
        let [server, client] = [self.server_handshake(), self.client_handshake()].map(Option::unwrap_or_default);
        let handshake = server.saturating_add(client);
        let spin = &mut self.spin;
        if spin.value.replace(value).is_none_or(|before| before == value) {
            return;
        }
        let now = SeenAt::new(at);
        let took = spin.turned_at.map(|turned_at| now.since(turned_at));
        if took.is_some_and(|took| took <= handshake / EARLY) {
            self.early_turns += 1;
            return;
        }
        spin.turned_at = Some(now);
        if let Some(took) = took {
            self.spin_rtt.add(took);
        }
    }

    /// Who opened it, and the other end.
    pub(crate) fn client_end(&self) -> (Ipv6Addr, u16) {
        if self.client_is_low { self.ends.low() } else { self.ends.high() }
    }

    pub(crate) fn server_end(&self) -> (Ipv6Addr, u16) {
        if self.client_is_low { self.ends.high() } else { self.ends.low() }
    }

    /// From the client's first datagram to the server's, in ns.
    pub(crate) fn server_handshake(&self) -> Option<u64> {
        self.answered_at.map(|answered_at| answered_at.since(SeenAt::new(self.first_at)))
    }

    /// From the server's first datagram to the client's answer, in ns.
    pub(crate) fn client_handshake(&self) -> Option<u64> {
        self.confirmed_at.zip(self.answered_at).map(|(confirmed_at, answered_at)| confirmed_at.since(answered_at))
    }

    pub(crate) fn capture_side(&self) -> Option<CaptureSide> {
        self.server_handshake().zip(self.client_handshake()).map(|(server, client)| CaptureSide::of(server, client))
    }

    /// Round trips by the spin bit; nothing of ends that turn it at random, as they may.
    pub(crate) fn spin_rtt(&self) -> Option<&RttSamples> {
        Some(&self.spin_rtt).filter(|samples| samples.count() > 0 && samples.count() >= self.early_turns)
    }
}
