//! TLS as a cost: handshakes as flights of bytes, records as an overhead. No cryptography.
//!
//! The sizes are those of full handshakes with a certificate chain of a usual length; `docs/model.md` has their source.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Which TLS a connection uses, if any.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Tls {
    /// Plain TCP.
    #[serde(rename = "none")]
    None,
    /// TLS 1.0 (RFC 2246) as laboratories of 2011 had it: one certificate, signed by itself, and False Start
    /// (RFC 7918), as Chrome had it until 2012. The client sends its first request with its last flight, so
    /// one round trip comes before it.
    #[serde(rename = "1.0")]
    V1_0,
    /// TLS 1.2 (RFC 5246): two round trips before the first request.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3 (RFC 8446): one round trip before the first request.
    #[serde(rename = "1.3")]
    V1_3,
}

/// How long the flights of TLS 1.3's handshakes are, in bytes: the client's first, the server's, the client's second,
/// and the tickets that the server sends when the handshake is over (RFC 8446, section 4.6.1); 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TlsFlights([u32; 4]);

impl TlsFlights {
    /// As a browser and a server of 2013 would have had them: one key share of 32 bytes.
    const OF_2013: TlsFlights = TlsFlights([517, 4_000, 80, 0]);
    /// With the hybrid key exchange X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem): 1,216 bytes of key share from the
    /// client, 1,120 from the server. The chain of certificates is that much shorter than it was, with ECDSA. Two tickets
    /// of OpenSSL's.
    const OF_2026: TlsFlights = TlsFlights([1_800, 4_000, 80, 510]);
    /// The longest flight.
    const MAX: u32 = 1 << 20;

    fn sizes(self) -> [u64; 4] {
        self.0.map(u64::from)
    }

    /// Whether it is what is taken where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == TlsFlights::default()
    }
}

impl Default for TlsFlights {
    fn default() -> TlsFlights {
        TlsFlights::OF_2013
    }
}

/// What was written are no flights.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{0}' are no flights: write 2013, 2026, or three lengths in bytes up to 1 MiB, such as 1800/4000/80, and a fourth for tickets"
)]
pub struct UnknownFlights(String);

impl TryFrom<String> for TlsFlights {
    type Error = UnknownFlights;

    fn try_from(written: String) -> Result<TlsFlights, UnknownFlights> {
        match written.as_str() {
            "2013" => return Ok(TlsFlights::OF_2013),
            "2026" => return Ok(TlsFlights::OF_2026),
            _ => {}
        }
        let sizes: Option<Vec<u32>> = written.split('/').map(|size| size.parse().ok()).collect();
        let fits = |sizes: &[u32]| sizes.iter().all(|size| (1..=TlsFlights::MAX).contains(size));
        match sizes.filter(|sizes| fits(sizes)).as_deref() {
            Some(&[first, second, third]) => Ok(TlsFlights([first, second, third, 0])),
            Some(&[first, second, third, tickets]) => Ok(TlsFlights([first, second, third, tickets])),
            _ => Err(UnknownFlights(written)),
        }
    }
}

impl From<TlsFlights> for String {
    fn from(flights: TlsFlights) -> String {
        match flights {
            TlsFlights::OF_2013 => "2013".to_owned(),
            TlsFlights::OF_2026 => "2026".to_owned(),
            TlsFlights([first, second, third, 0]) => format!("{first}/{second}/{third}"),
            TlsFlights([first, second, third, tickets]) => format!("{first}/{second}/{third}/{tickets}"),
        }
    }
}

impl JsonSchema for TlsFlights {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TlsFlights".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// The most bytes of content in a record (RFC 8446, section 5.1).
const MAX_RECORD: u64 = 16 * 1024;

impl Tls {
    /// The handshake's flights in bytes: the client's first, then in turn.
    fn flights(self, of_1_3: TlsFlights) -> Flights {
        match self {
            Tls::None => Flights { sizes: [0; 4], count: 0 },
            Tls::V1_0 => Flights { sizes: [200, 1_000, 200, 60], count: 4 },
            Tls::V1_2 => Flights { sizes: [517, 3_700, 130, 60], count: 4 },
            Tls::V1_3 => {
                let sizes = of_1_3.sizes();
                Flights { sizes, count: if sizes[3] > 0 { 4 } else { 3 } }
            }
        }
    }

    /// Bytes that a record adds to its content.
    pub fn overhead(self) -> u64 {
        match self {
            Tls::None => 0,
            // RC4 and SHA-1, as servers of the time preferred it.
            Tls::V1_0 => 25,
            Tls::V1_2 => 29,
            Tls::V1_3 => 22,
        }
    }

    /// The content of each record that `content` bytes are written in. Without TLS all of it is one piece.
    pub fn records(self, content: u64) -> impl Iterator<Item = u64> {
        let most = if self == Tls::None { u64::MAX } else { MAX_RECORD };
        (0..content.div_ceil(most)).map(move |record| (content - record * most).min(most))
    }

    /// How much content fits into `room` bytes of the transport: at most one record, so that the next data is chosen as
    /// late as possible.
    pub fn content_room(self, room: u64) -> u64 {
        match self {
            Tls::None => room,
            _ => room.saturating_sub(self.overhead()).min(MAX_RECORD),
        }
    }
}

impl Tls {
    /// How many bytes of the transport to read for `room` bytes of content: at least one record, since a record is
    /// readable only as a whole.
    #[inline]
    pub fn transport_room(self, room: u64) -> u64 {
        match self {
            Tls::None => room,
            _ => room.max(MAX_RECORD + self.overhead()),
        }
    }
}

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that connects.
    Client,
    /// The end that listens.
    Server,
}

/// The flights of a handshake, in bytes.
#[derive(Clone, Copy, Debug)]
struct Flights {
    sizes: [u64; 4],
    count: usize,
}

/// One end's handshake. Without TLS it is complete from the beginning.
#[derive(Debug)]
pub struct Handshake {
    flights: Flights,
    /// How many of them come before this end's first application data.
    before: usize,
    role: Role,
    /// The flight that is under way.
    step: usize,
    /// Bytes of it that have arrived, where it is the other end's.
    arrived: u64,
}

impl Handshake {
    /// The handshake at one end, not begun.
    pub fn new(tls: Tls, flights: TlsFlights, role: Role) -> Handshake {
        let flights = tls.flights(flights);
        // Neither False Start nor tickets keep a client waiting.
        let before = match tls {
            Tls::V1_0 | Tls::V1_3 if role == Role::Client => 3,
            _ => flights.count,
        };
        Handshake { flights, before, role, step: 0, arrived: 0 }
    }

    /// Whether application data may be sent from here.
    pub fn may_send(&self) -> bool {
        self.step >= self.before
    }

    fn is_complete(&self) -> bool {
        self.step == self.flights.count
    }

    fn is_ours(&self) -> bool {
        let client = self.step.is_multiple_of(2);
        client == (self.role == Role::Client)
    }

    /// The bytes of the next flight of this end, if it is its turn.
    pub fn poll_transmit(&mut self) -> Option<u64> {
        if self.is_complete() || !self.is_ours() {
            return None;
        }
        self.step += 1;
        Some(self.flights.sizes[self.step - 1])
    }

    /// Takes `bytes` that have arrived; returns how many of them come after the handshake.
    ///
    /// # Panics
    /// If the other end sends out of turn.
    pub fn handle_input(&mut self, bytes: u64) -> u64 {
        if self.is_complete() || bytes == 0 {
            return bytes;
        }
        assert!(!self.is_ours(), "a flight out of turn");
        self.arrived += bytes;
        let Some(beyond) = self.arrived.checked_sub(self.flights.sizes[self.step]) else { return 0 };
        self.arrived = 0;
        self.step += 1;
        beyond
    }
}

/// The records of one direction of a connection that have been written and not read. Content is
/// readable when the whole of its record has arrived.
#[derive(Debug)]
pub struct Records {
    tls: Tls,
    under_way: VecDeque<TlsRecord>,
}

#[derive(Debug)]
struct TlsRecord {
    /// Bytes that have not arrived.
    missing: u64,
    content: u64,
}

impl Records {
    /// A direction in which nothing has been written.
    pub fn new(tls: Tls) -> Records {
        Records { tls, under_way: VecDeque::new() }
    }

    /// Writes `content` bytes; returns the bytes this makes on the transport.
    pub fn write(&mut self, content: u64) -> u64 {
        if self.tls == Tls::None {
            return content;
        }
        let mut total = 0;
        for content in self.tls.records(content) {
            let missing = content + self.tls.overhead();
            self.under_way.push_back(TlsRecord { missing, content });
            total += missing;
        }
        total
    }

    /// The next `arrived` bytes have arrived; returns how many bytes of content became readable.
    ///
    /// # Panics
    /// If more arrives than was written.
    pub fn handle_input(&mut self, mut arrived: u64) -> u64 {
        if self.tls == Tls::None {
            return arrived;
        }
        let mut readable = 0;
        while arrived > 0 {
            let record = self.under_way.front_mut().expect("no more arrives than was written");
            let taken = arrived.min(record.missing);
            record.missing -= taken;
            arrived -= taken;
            if record.missing == 0 {
                readable += record.content;
                self.under_way.pop_front();
            }
        }
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn handshake(tls: Tls, role: Role) -> Handshake {
        Handshake::new(tls, TlsFlights::default(), role)
    }

    #[test]
    fn flights_are_those_of_a_year_or_stated_and_written_as_they_are_read() {
        let read = |text: &str| TlsFlights::try_from(text.to_owned());
        assert_eq!((read("2013").unwrap().sizes(), read("2026").unwrap().sizes()[0]), ([517, 4_000, 80, 0], 1_800));
        for text in ["2013", "2026", "1/2/1048576", "1/2/3/4"] {
            assert_eq!(String::from(read(text).unwrap()), text);
        }
        for text in ["2014", "1/2", "0/2/3", "1/2/3/0", "1/2/3/4/5", "1/2/1048577", "-1/2/3", ""] {
            assert!(read(text).is_err(), "{text}");
        }
        let mut client = Handshake::new(Tls::V1_3, read("7/8/9").unwrap(), Role::Client);
        assert_eq!((client.poll_transmit(), client.handle_input(8), client.poll_transmit()), (Some(7), 0, Some(9)));
    }

    /// Flights until both ends are done: sender and bytes of each.
    fn shake(tls: Tls) -> Vec<u64> {
        let (mut client, mut server) = (handshake(tls, Role::Client), handshake(tls, Role::Server));
        let mut flights = Vec::new();
        while !(client.is_complete() && server.is_complete()) {
            if let Some(bytes) = client.poll_transmit() {
                assert_eq!(server.handle_input(bytes), 0);
                flights.push(bytes);
            }
            if let Some(bytes) = server.poll_transmit() {
                // In two pieces: half a flight does not advance the handshake.
                assert_eq!(client.handle_input(bytes - 1), 0);
                assert!(client.poll_transmit().is_none());
                assert_eq!(client.handle_input(1), 0);
                flights.push(bytes);
            }
        }
        flights
    }

    #[test]
    fn handshakes_take_the_flights_of_the_convention() {
        assert!(shake(Tls::None).is_empty());
        assert_eq!(shake(Tls::V1_2), [517, 3700, 130, 60]);
        assert_eq!(shake(Tls::V1_0), [200, 1000, 200, 60]);
        assert_eq!(shake(Tls::V1_3), [517, 4000, 80]);
    }

    #[test]
    fn data_may_follow_the_last_flight_at_once() {
        let mut server = handshake(Tls::V1_3, Role::Server);
        server.handle_input(517);
        server.poll_transmit();
        assert_eq!(server.handle_input(80 + 400), 400);
    }

    #[test]
    fn with_false_start_the_client_does_not_wait_for_the_last_flight() {
        let shaken = |tls, flight| {
            let mut client = handshake(tls, Role::Client);
            client.poll_transmit();
            client.handle_input(flight);
            client.poll_transmit();
            client
        };
        assert!(!shaken(Tls::V1_2, 3_700).may_send());
        let mut client = shaken(Tls::V1_0, 1_000);
        assert!(client.may_send());
        // What comes after the server's last flight is the response's.
        assert_eq!(client.handle_input(60 + 1_000), 1_000);
        assert!(client.may_send());
    }

    #[test]
    fn tickets_come_behind_the_handshake_and_keep_nobody_waiting() {
        let flights = TlsFlights::try_from("517/4000/80/510".to_owned()).unwrap();
        let [mut client, mut server] =
            [Role::Client, Role::Server].map(|role| Handshake::new(Tls::V1_3, flights, role));
        server.handle_input(client.poll_transmit().unwrap());
        client.handle_input(server.poll_transmit().unwrap());
        assert_eq!(client.poll_transmit(), Some(80));
        assert!(client.may_send());
        assert_eq!(server.handle_input(80 + 400), 400);
        assert_eq!(server.poll_transmit(), Some(510));
        assert!(server.may_send());
        assert_eq!(client.handle_input(510 + 1_000), 1_000);
    }

    #[test]
    fn a_record_is_readable_only_when_it_is_whole() {
        let mut records = Records::new(Tls::V1_3);
        assert_eq!(records.write(20_000), 20_000 + 2 * 22);
        assert_eq!(records.handle_input(16_384 + 21), 0);
        assert_eq!(records.handle_input(1), 16_384);
        assert_eq!(records.handle_input(3_616 + 22), 3_616);
    }

    proptest! {
        #[test]
        fn every_byte_of_content_comes_out(writes in prop::collection::vec(0_u64..40_000, 1..20), piece in 1_u64..5_000) {
            for tls in [Tls::None, Tls::V1_0, Tls::V1_2, Tls::V1_3] {
                let mut records = Records::new(tls);
                let mut left: u64 = writes.iter().map(|write| records.write(*write)).sum();
                let mut read = 0;
                while left > 0 {
                    let arrived = piece.min(left);
                    read += records.handle_input(arrived);
                    left -= arrived;
                }
                prop_assert_eq!(read, writes.iter().sum::<u64>());
            }
        }
    }
}
