//! Makes captures: packets of two hosts, and files of them.

use loadstone_capture::{
    Analyzer, AnalyzerLimits, CellValues, FilledColumn, FilledTable, KeyLog, PacketReader, ReadError, Shard,
    ToldPackets,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub(crate) const ACK: u8 = 0x10;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const RST: u8 = 0x04;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const FIN: u8 = 0x01;

const CLIENT_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 443;
/// The initial sequence numbers: that of the server wraps soon.
const CLIENT_ISN: u32 = 1_000;
const SERVER_ISN: u32 = u32::MAX - 2_000;

/// A segment, with numbers counted from the SYN's 0.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) us: u64,
    pub(crate) down: bool,
    pub(crate) flags: u8,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) len: u32,
    pub(crate) window: u16,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sacks: Vec<(u32, u32)>,
    pub(crate) client_port: u16,
    /// What the data begins with; zeros after that.
    pub(crate) text: Vec<u8>,
}

/// A segment up: at a time in us.
pub(crate) fn up(us: u64, flags: u8, seq: u32, len: u32, ack: u32) -> Told {
    Told { us, flags, seq, len, ack, window: 60_000, client_port: CLIENT_PORT, ..Told::default() }
}

/// A segment down.
pub(crate) fn down(us: u64, flags: u8, seq: u32, len: u32, ack: u32) -> Told {
    Told { down: true, ..up(us, flags, seq, len, ack) }
}

impl Told {
    pub(crate) fn sack(mut self, blocks: &[(u32, u32)]) -> Told {
        self.sacks = blocks.to_vec();
        self
    }

    pub(crate) fn stamped(mut self, ts_val: u32, ts_ecr: u32) -> Told {
        self.timestamps = Some((ts_val, ts_ecr));
        self
    }

    /// Data that is more than zeros.
    pub(crate) fn saying(mut self, text: impl AsRef<[u8]>) -> Told {
        self.text = text.as_ref().to_vec();
        self.len = self.len.max(self.text.len() as u32);
        self
    }

    pub(crate) fn of_port(mut self, port: u16) -> Told {
        self.client_port = port;
        self
    }

    pub(crate) fn window(mut self, window: u16) -> Told {
        self.window = window;
        self
    }

    fn options(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if self.flags & SYN != 0 {
            options.extend([2, 4, 0x05, 0xb4, 4, 2, 1, 1]);
        }
        if let Some((ts_val, ts_ecr)) = self.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend(ts_val.to_be_bytes());
            options.extend(ts_ecr.to_be_bytes());
        }
        if !self.sacks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.sacks.len() as u8]);
            // They are of what the other end sent.
            let isn = if self.down { CLIENT_ISN } else { SERVER_ISN };
            for (start, end) in &self.sacks {
                options.extend(isn.wrapping_add(*start).to_be_bytes());
                options.extend(isn.wrapping_add(*end).to_be_bytes());
            }
        }
        options
    }

    /// The segment alone.
    pub(crate) fn segment(&self) -> Vec<u8> {
        let (own, other) = if self.down { (SERVER_ISN, CLIENT_ISN) } else { (CLIENT_ISN, SERVER_ISN) };
        let ports = [self.client_port, SERVER_PORT];
        let [source, destination] = if self.down { [ports[1], ports[0]] } else { ports };
        let options = self.options();
        let mut bytes = Vec::new();
        bytes.extend(source.to_be_bytes());
        bytes.extend(destination.to_be_bytes());
        bytes.extend(own.wrapping_add(self.seq).to_be_bytes());
        let ack = if self.flags & ACK == 0 { 0 } else { other.wrapping_add(self.ack) };
        bytes.extend(ack.to_be_bytes());
        bytes.extend([((20 + options.len()) as u8 / 4) << 4, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes.extend(&self.text);
        bytes.extend(vec![0; self.len as usize - self.text.len()]);
        bytes
    }

    /// The IPv4 packet.
    pub(crate) fn ipv4(&self) -> Vec<u8> {
        let segment = self.segment();
        let mut bytes = vec![0x45, 0];
        bytes.extend((20 + segment.len() as u16).to_be_bytes());
        // Each packet has its own number, so none was captured twice.
        bytes.extend(((2 * self.us + 1) as u16).to_be_bytes());
        bytes.extend([0x40, 0, 64, 6, 0, 0]);
        let hosts = [[10, 0, 0, 1], [192, 0, 2, 1]];
        let (source, destination) = if self.down { (hosts[1], hosts[0]) } else { (hosts[0], hosts[1]) };
        bytes.extend(source);
        bytes.extend(destination);
        bytes.extend(segment);
        bytes
    }

    /// The IPv6 packet, with one header more.
    pub(crate) fn ipv6(&self) -> Vec<u8> {
        let segment = self.segment();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((8 + segment.len() as u16).to_be_bytes());
        bytes.extend([60, 64]);
        let host = |last: u8| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let (source, destination) = if self.down { (host(2), host(1)) } else { (host(1), host(2)) };
        bytes.extend(source);
        bytes.extend(destination);
        bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend(segment);
        bytes
    }
}

/// A pcap file of link type RAW.
pub(crate) fn pcap(packets: &[Told]) -> Vec<u8> {
    let packets = packets.iter().map(|packet| (packet.us, packet.ipv4(), 0));
    pcap_of(101, packets)
}

/// A pcap file: of each packet the time in us, what was kept of it, and bytes that were not.
pub(crate) fn pcap_of(link: u32, packets: impl IntoIterator<Item = (u64, Vec<u8>, u32)>) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(262_144_u32.to_le_bytes());
    file.extend(link.to_le_bytes());
    for (us, bytes, missing) in packets {
        for word in [(us / 1_000_000) as u32, (us % 1_000_000) as u32, bytes.len() as u32, bytes.len() as u32 + missing]
        {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

/// A table as it was filled, by the names of its columns.
pub(crate) struct Seen(BTreeMap<&'static str, FilledColumn>);

impl Seen {
    /// The rows of all shards: those of a shard stay together.
    pub(crate) fn of<R: 'static>(analyzer: &mut Analyzer, table: impl Fn(&mut Shard) -> &mut FilledTable<R>) -> Seen {
        let mut seen = Seen(BTreeMap::new());
        for shard in analyzer.parts().1 {
            for (name, column) in table(shard).take() {
                match seen.0.entry(name) {
                    Entry::Vacant(vacant) => _ = vacant.insert(column),
                    Entry::Occupied(mut before) => extend(before.get_mut(), column),
                }
            }
        }
        seen
    }

    pub(crate) fn rows(&self) -> usize {
        self.0["connection"].known.len()
    }

    /// Whether a value is known.
    pub(crate) fn known(&self, name: &str, row: usize) -> bool {
        self.0[name].known[row]
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &str, row: usize) -> u64 {
        match &self.0[name].values {
            CellValues::Integers(values) => values[row],
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A number, if it is known.
    pub(crate) fn number(&self, name: &str, row: usize) -> Option<f64> {
        match &self.0[name].values {
            CellValues::Numbers(values) => self.0[name].known[row].then_some(values[row]),
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn boolean(&self, name: &str, row: usize) -> bool {
        match &self.0[name].values {
            CellValues::Booleans(values) => values[row],
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn text(&self, name: &str, row: usize) -> &str {
        match &self.0[name].values {
            CellValues::Texts { text, ends } => {
                let from = row.checked_sub(1).map_or(0, |before| ends[before] as usize);
                &text[from..ends[row] as usize]
            }
            other => panic!("{name} is {other:?}"),
        }
    }

    /// All texts of a column.
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        (0..self.rows()).map(|row| self.text(name, row)).collect()
    }
}

fn extend(before: &mut FilledColumn, column: FilledColumn) {
    before.known.extend(column.known);
    match (&mut before.values, column.values) {
        (CellValues::Booleans(before), CellValues::Booleans(values)) => before.extend(values),
        (CellValues::Integers(before), CellValues::Integers(values)) => before.extend(values),
        (CellValues::Numbers(before), CellValues::Numbers(values)) => before.extend(values),
        (CellValues::Texts { text, ends }, CellValues::Texts { text: more, ends: more_ends }) => {
            let len = text.len() as i64;
            ends.extend(more_ends.into_iter().map(|end| len + end));
            text.push_str(&more);
        }
        _ => unreachable!("a column is of one kind"),
    }
}

/// What a file says: connections, what was sent again, and how the reading ended.
pub(crate) fn read(file: &[u8]) -> (Seen, Seen, Result<(), ReadError>) {
    read_within(file, AnalyzerLimits::default())
}

/// The same within these limits.
pub(crate) fn read_within(file: &[u8], limits: AnalyzerLimits) -> (Seen, Seen, Result<(), ReadError>) {
    let mut analyzer = Analyzer::new(limits);
    let result = feed(file, &mut analyzer);
    analyzer.finish();
    let connections = Seen::of(&mut analyzer, Shard::connections);
    (connections, Seen::of(&mut analyzer, Shard::retransmissions), result)
}

/// Looks at all packets of a file.
pub(crate) fn feed(file: &[u8], analyzer: &mut Analyzer) -> Result<(), ReadError> {
    let mut reader = PacketReader::new(file)?;
    while reader.next_packet(|packet| analyzer.handle_packet(&packet))?.is_some() {}
    Ok(())
}

/// The exchanges of a file.
pub(crate) fn exchanges(packets: &[Told]) -> Seen {
    let mut analyzer = Analyzer::new(AnalyzerLimits::default());
    feed(&pcap(packets), &mut analyzer).unwrap();
    analyzer.finish();
    Seen::of(&mut analyzer, Shard::exchanges)
}

/// The same, with the secrets of a key log.
pub(crate) fn exchanges_with_keys(packets: &[Told], keys: &[u8]) -> Seen {
    let mut analyzer = Analyzer::new(AnalyzerLimits::default());
    let mut log = KeyLog::default();
    log.add(keys).unwrap();
    analyzer.set_keys(log);
    feed(&pcap(packets), &mut analyzer).unwrap();
    analyzer.finish();
    Seen::of(&mut analyzer, Shard::exchanges)
}

/// A handshake, and what was said after it, of each text whether it goes down, the time in us and the bytes: in packets of
/// `size` bytes of data at most.
pub(crate) fn in_packets(said: &[(bool, u64, Vec<u8>)], size: usize) -> Vec<Told> {
    let mut packets = handshake();
    let mut next = [1, 1];
    for (is_down, us, text) in said {
        for piece in text.chunks(size) {
            let (own, other) = (next[usize::from(*is_down)], next[usize::from(!*is_down)]);
            let packet = if *is_down { down } else { up };
            packets.push(packet(*us, ACK, own, 0, other).saying(piece));
            next[usize::from(*is_down)] += piece.len() as u32;
        }
    }
    packets
}

/// A handshake of 50 ms, seen at the server.
pub(crate) fn handshake() -> Vec<Told> {
    vec![up(0, SYN, 0, 0, 0), down(100, SYN | ACK, 0, 0, 1), up(50_100, ACK, 1, 0, 1)]
}

/// The periods of the connections of a file.
pub(crate) fn periods(packets: &[Told]) -> Seen {
    let mut analyzer = Analyzer::new(AnalyzerLimits { periods: true, ..AnalyzerLimits::default() });
    feed(&pcap(packets), &mut analyzer).unwrap();
    analyzer.finish();
    Seen::of(&mut analyzer, Shard::periods)
}

/// The packets of the connection of that number.
pub(crate) fn packets_of(number: u64, packets: &[Told]) -> Seen {
    let mut analyzer = Analyzer::new(AnalyzerLimits { packets: ToldPackets::Of(number), ..AnalyzerLimits::default() });
    feed(&pcap(packets), &mut analyzer).unwrap();
    analyzer.finish();
    Seen::of(&mut analyzer, Shard::packets)
}

/// The connections of QUIC in a file.
pub(crate) fn quic(file: &[u8]) -> Seen {
    let mut analyzer = Analyzer::new(AnalyzerLimits::default());
    feed(file, &mut analyzer).unwrap();
    analyzer.finish();
    Seen(analyzer.parts().0.quic().take().into_iter().collect())
}
