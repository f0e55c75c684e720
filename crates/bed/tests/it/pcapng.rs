//! Captures written as pcapng, read by the reader of the bed's own packets.

use crate::turn;
use loadstone_bed::packet::{PacketOptions, TcpPacket};
use loadstone_bed::{BackOff, BedHost, Stopper, run_captured};
use loadstone_net::LinkId;
use loadstone_net::tcp::Repair;
use loadstone_scenario::{Capture, CapturePoint, Captured, Fate, Plan, Repetition, SNAP_LENGTH, Scenario, Timestamps};
use loadstone_units::Seed;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::name_resolution::Record;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// 2000-01-01 00:00 UTC.
const EPOCH: Duration = Duration::from_secs(946_684_800);
/// As many that each kind of repair is among them.
const SEEDS: u64 = 20;
/// More packets than a load here has.
const ALL: usize = 100_000;

/// A packet as it stands in a file.
struct FilePacket {
    since: Duration,
    bytes: Vec<u8>,
    original_len: u32,
    comment: String,
}

/// The packets of a file, and the names of its hosts by address.
fn read(file: &[u8]) -> (Vec<FilePacket>, BTreeMap<Vec<u8>, String>) {
    let mut reader = PcapNgReader::new(file).unwrap();
    let (mut packets, mut names) = (Vec::new(), BTreeMap::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::EnhancedPacket(packet) => {
                let comments = packet.options.iter().filter_map(|option| match option {
                    EnhancedPacketOption::Comment(text) => Some(text.as_ref()),
                    _ => None,
                });
                packets.push(FilePacket {
                    since: packet.timestamp - EPOCH,
                    comment: comments.collect(),
                    original_len: packet.original_len,
                    bytes: packet.data.into_owned(),
                });
            }
            Block::NameResolution(block) => {
                for record in block.records {
                    let Record::Ipv4(record) = record else { panic!("{record:?}") };
                    names.insert(record.ip_addr.into_owned(), record.names[0].to_string());
                }
            }
            _ => {}
        }
    }
    (packets, names)
}

fn written(capture: &Capture, point: CapturePoint) -> Vec<u8> {
    let mut file = Vec::new();
    capture.write_pcapng(point, SNAP_LENGTH, &mut file).unwrap();
    file
}

/// Two hosts, one of them 30 ms further away, through loss both ways and a short queue.
fn plan() -> Plan {
    let page = r#"{"objects": [{"url": "https://a.test/", "bytes": 150000}, {"url": "http://far.test/1", "bytes": 60000},
        {"url": "https://a.test/2", "bytes": 10, "method": "POST", "upload_bytes": 60000}],
        "hosts": {"far.test": {"rtt_ms": 30}}}"#;
    let text =
        format!(r#"{{"page": {page}, "network": "20/10mbit,40ms,6%,queue=9p", "variant": {{"connections": 2}}}}"#);
    Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
}

/// The packets that are seen at a point and when, by the plan's own distances.
fn expected(capture: &Capture, point: CapturePoint) -> Vec<(Duration, &Captured)> {
    let nanos = |time: loadstone_units::Time| Duration::from_nanos(time.as_nanos());
    let mut seen: Vec<(Duration, &Captured)> = Vec::new();
    for packet in &capture.packets {
        let is_far = capture.hosts[packet.host as usize] == "far.test";
        let is_own = packet.link.is_down() == (point == CapturePoint::Server);
        let before = Duration::from_millis(if is_far && packet.link.is_down() { 15 } else { 0 });
        match (point, packet.fate) {
            (CapturePoint::Link, _) => seen.push((nanos(packet.entered), packet)),
            _ if is_own => seen.push((nanos(packet.entered) - before, packet)),
            (_, Fate::Delivered(due)) => seen.push((nanos(due), packet)),
            _ => {}
        }
    }
    seen.sort_by_key(|(at, _)| *at);
    seen
}

/// The Internet checksum (RFC 1071) of what has a right one: 0.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u64::from(pair[0]) * 256 + u64::from(*pair.get(1).unwrap_or(&0)));
    !(words.fold(0, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    }) as u16)
}

/// The headers say what the capture says, in as many bytes.
fn check_headers(file: &FilePacket, packet: &Captured, capture: &Capture) {
    // The kernel's packets have no data.
    let kept = if capture.transcripts.is_empty() { packet.bytes - packet.len } else { packet.bytes };
    assert_eq!((file.bytes.len(), file.original_len), (kept as usize, packet.bytes), "{packet:?}");
    // What is missing are zeros as far as the checksum goes.
    let mut bytes = file.bytes.clone();
    bytes.resize(packet.bytes as usize, 0);
    let pseudo = [&bytes[12..20], &[0, 6], &(packet.bytes as u16 - 20).to_be_bytes()].concat();
    assert_eq!((sum(&bytes[..20]), sum(&[&pseudo, &bytes[20..]].concat())), (0, 0));
    let read = TcpPacket::read(&bytes).unwrap();
    let connection = capture.connections[packet.connection as usize];
    let [client, server] = [connection.client, connection.server].map(|host| BedHost(host as usize).address());
    let client_port = 32_768 + packet.connection as u16;
    let server_port = if capture.hosts[packet.host as usize] == "far.test" { 80 } else { 443 };
    let mut ends = [(client, client_port), (server, server_port)];
    if packet.link.is_down() {
        ends.reverse();
    }
    assert_eq!([(read.source, read.source_port), (read.destination, read.destination_port)], ends);
    assert_eq!((u64::from(read.sequence), read.payload, read.flags), (packet.seq, packet.len, packet.flags));
    assert_eq!(u64::from(read.acknowledgement), packet.ack);
}

/// The options do too; windows up to what their scale leaves out.
fn check_options(bytes: &[u8], packet: &Captured, capture: &Capture, shift: u8) {
    let PacketOptions { sacks, timestamps, window_scale } = TcpPacket::options(bytes);
    assert_eq!(timestamps, packet.timestamps);
    assert_eq!(window_scale, packet.flags.syn.then_some(shift));
    let stated = u32::from(u16::from_be_bytes([bytes[34], bytes[35]])) << if packet.flags.syn { 0 } else { shift };
    assert!(stated <= packet.window && packet.window - stated < 1 << shift, "{stated}, {packet:?}");
    let mut blocks: Vec<_> = sacks
        .iter()
        .filter(|(start, end)| start != end)
        .map(|(start, end)| u64::from(*start)..u64::from(*end))
        .collect();
    if packet.dsack_end > 0 {
        let duplicate = blocks.remove(0);
        assert_eq!(duplicate.end, packet.dsack_end);
        let is_told_of = |other: &&Captured| other.link.is_down() != packet.link.is_down() && other.len > 0;
        let mut others =
            capture.packets.iter().filter(|other| other.connection == packet.connection).filter(is_told_of);
        assert!(others.any(|other| other.numbers() == duplicate), "{duplicate:?}");
    }
    assert_eq!(blocks, packet.sacks);
}

fn check(capture: &Capture, point: CapturePoint) -> Vec<FilePacket> {
    let (packets, names) = read(&written(capture, point));
    for (place, host) in capture.hosts.iter().enumerate() {
        assert_eq!(&names[&BedHost(place).address().octets().to_vec()], host);
    }
    let expected = expected(capture, point);
    assert_eq!(packets.len(), expected.len(), "{point}");
    // Addresses, ports and identification.
    let names: BTreeSet<_> =
        packets.iter().map(|packet| [&packet.bytes[4..6], &packet.bytes[12..24]].concat()).collect();
    assert_eq!(names.len(), packets.len(), "no IP packet is there twice");
    let first = packets.iter().find_map(|packet| TcpPacket::options(&packet.bytes).window_scale);
    for (file, (at, packet)) in packets.iter().zip(&expected) {
        assert_eq!(file.since, *at, "{point}: {packet:?}");
        check_headers(file, packet, capture);
        check_options(&file.bytes, packet, capture, first.unwrap());
        let is_lost = matches!((packet.fate, file.comment.as_str()), (Fate::Lost, text) if text.ends_with("lost"));
        let is_dropped =
            matches!((packet.fate, file.comment.as_str()), (Fate::Dropped, text) if text.ends_with("queue"));
        assert_eq!(is_lost || is_dropped, matches!(packet.fate, Fate::Lost | Fate::Dropped), "{}", file.comment);
    }
    packets
}

fn simulated(seed: u64) -> (loadstone_scenario::Outcome, Capture) {
    let mut outcome = loadstone_sim::run_captured(&plan(), Seed(seed), ALL);
    let capture = outcome.capture.take().unwrap();
    (outcome, capture)
}

#[test]
fn a_file_has_each_packet_where_and_when_it_is_seen_with_the_headers_that_it_has() {
    let mut duplicates = 0;
    for seed in 1..=SEEDS {
        let (_, capture) = simulated(seed);
        for point in CapturePoint::ALL {
            check(&capture, point);
        }
        duplicates += capture.packets.iter().filter(|packet| packet.dsack_end > 0).count();
    }
    assert!(duplicates > 0, "nothing came twice");
}

/// Requests come twice where their acknowledgements are lost; what their senders send then has no data.
#[test]
fn a_duplicate_has_the_numbers_of_the_segment_with_data_that_came_twice() {
    let objects: Vec<_> = (0..30).map(|n| format!(r#"{{"url": "https://a.test/{n}", "bytes": 900}}"#)).collect();
    let text = format!(
        r#"{{"page": {{"objects": [{}]}}, "network": "2/1mbit,40ms,12%", "variant": {{"connections": 2}}}}"#,
        objects.join(",")
    );
    let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
    let mut duplicates = 0;
    for seed in 1..=SEEDS {
        let capture = loadstone_sim::run_captured(&plan, Seed(seed), ALL).capture.unwrap();
        check(&capture, CapturePoint::Link);
        duplicates += capture.packets.iter().filter(|packet| packet.link.is_down() && packet.dsack_end > 0).count();
    }
    assert!(duplicates > 0, "no request came twice");
}

#[test]
fn comments_say_why_as_often_as_the_senders_have_counted_it() {
    let mut spurious = 0;
    for seed in 1..=SEEDS {
        let (outcome, capture) = simulated(seed);
        let packets = check(&capture, CapturePoint::Link);
        let count = |text: &str| packets.iter().filter(|packet| packet.comment.contains(text)).count() as u64;
        let counted = outcome.loss_recovery.unwrap();
        assert_eq!(count("retransmission: fast (RACK)"), counted.fast_retransmissions);
        assert_eq!(count("tail loss probe"), counted.tail_loss_probes);
        assert_eq!(count("retransmission: timeout") - count("(slow start)"), counted.timeouts);
        assert_eq!(count("retransmission") - count("handshake"), outcome.retransmissions);
        let handshakes = capture.packets.iter().filter(|packet| packet.repair == Some(Repair::Handshake)).count();
        assert_eq!(count("handshake"), handshakes as u64);
        spurious += count(", spurious");
    }
    assert!(spurious > 0);
}

#[test]
fn the_same_load_is_the_same_bytes_and_a_file_says_what_it_lacks() {
    let file = || written(&simulated(1).1, CapturePoint::Client);
    assert_eq!(file(), file());
    let capture = loadstone_sim::run_captured(&plan(), Seed(1), 10).capture.unwrap();
    let short = written(&capture, CapturePoint::Link);
    let text = format!("the first 10 packets; {} more came", capture.left_out);
    assert!(short.windows(text.len()).any(|window| window == text.as_bytes()));
    assert_eq!(read(&short).0.len(), 10);
}

#[test]
fn a_load_over_the_kernel_is_written_as_well_without_reasons() {
    let Some(_turn) = turn() else { return };
    let (_stopper, stop) = Stopper::new();
    let capture = run_captured(&plan(), Seed(1), BackOff::Own, &stop, ALL).unwrap().capture.unwrap();
    for point in CapturePoint::ALL {
        let packets = check(&capture, point);
        let again: Vec<&str> = packets
            .iter()
            .map(|packet| packet.comment.as_str())
            .filter(|text| text.contains("retransmission"))
            .collect();
        assert!(again.iter().all(|text| !text.contains(':')) && !again.is_empty(), "{again:?}");
    }
}

#[test]
fn behind_a_relay_each_packet_is_there_once_at_the_end_of_its_server() {
    let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 300000}]}"#;
    let hosts = r#"[{"name": "phone", "runs": "browser", "via": "edge"}, {"name": "edge", "runs": "relay"},
        {"name": "mast", "runs": "junction"}, {"name": "hub", "runs": "junction"}, {"name": "home", "runs": "origins"}]"#;
    let links = r#"[{"name": "air", "between": ["phone", "mast"], "network": "10mbit,20ms"},
        {"name": "core", "between": ["mast", "hub"], "network": "50mbit,4ms,3%"},
        {"name": "backhaul", "between": ["hub", "edge"], "network": "100mbit,2ms"},
        {"name": "wan", "between": ["edge", "home"], "network": "100mbit,60ms"}]"#;
    let text = format!(r#"{{"page": {page}, "topology": {{"hosts": {hosts}, "links": {links}}}}}"#);
    let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
    let capture = loadstone_sim::run_captured(&plan, Seed(1), ALL).capture.unwrap();
    let count = |link: u32, is: fn(&Captured) -> bool| {
        capture.packets.iter().filter(|packet| packet.link == LinkId(link) && is(packet)).count()
    };
    let arrives = |packet: &Captured| matches!(packet.fate, Fate::Delivered(_));
    let of = |point| read(&written(&capture, point)).0;
    let is_lost = |packet: &Captured| packet.fate == Fate::Lost;
    let lost = |point| of(point).iter().filter(|packet| packet.comment.ends_with("lost")).count();
    assert!(count(3, is_lost) > 0 && count(2, is_lost) > 0);
    // That is known where they were sent.
    assert_eq!((lost(CapturePoint::Client), lost(CapturePoint::Server)), (count(3, is_lost), count(2, is_lost)));
    // The phone sees what it sends into the air and what comes out of it; the links are air, core, backhaul and
    // wan, down first.
    assert_eq!(of(CapturePoint::Client).len(), count(1, |_| true) + count(0, arrives));
    assert_eq!(of(CapturePoint::Link).len(), count(1, |_| true) + count(0, |_| true));
    let at_the_edge = count(4, |_| true) + count(5, arrives);
    let at_home = count(6, |_| true) + count(7, arrives);
    assert_eq!(of(CapturePoint::Server).len(), at_the_edge + at_home);
    // The SYN of the phone is at the edge after three links: 60 bytes at 10, at 50 and at 100 Mbit/s, 10, 2 and 1 ms.
    assert_eq!(of(CapturePoint::Server)[0].since, Duration::from_nanos(48_000 + 9_600 + 4_800 + 13_000_000));
    for (packet, repetition) in capture.packets.iter().zip(capture.repetitions()) {
        assert_eq!(packet.repair.is_some_and(Repair::is_retransmission), repetition != Repetition::New, "{packet:?}");
    }
    assert!(capture.packets.iter().all(|packet| packet.timestamps.is_some_and(|Timestamps { val, .. }| val > 0)));
}
