//! The same packets in all kinds of files and frames.

use crate::recording::{ACK, SYN, Told, down, handshake, pcap_of, read, read_within, up};
use loadstone_capture::{AnalyzerLimits, PacketReader};

fn packets() -> Vec<Told> {
    let mut packets = handshake();
    packets.extend([down(60_000, ACK, 1, 1_000, 1), up(110_000, ACK, 1, 0, 1_001)]);
    packets
}

fn framed(link: u32, frame: impl Fn(&Told) -> Vec<u8>) -> Vec<u8> {
    pcap_of(link, packets().iter().map(|packet| (packet.us, frame(packet), 0)))
}

fn assert_is_whole(what: &str, file: &[u8]) {
    let (connections, _, end) = read(file);
    end.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(connections.rows(), 1, "{what}");
    assert_eq!(connections.integer("bytes_down", 0), 1_000, "{what}");
    assert_eq!(connections.number("rtt_max_ms_down", 0), Some(50.0), "{what}");
}

#[test]
fn links_are_known() {
    let ethernet = |tags: &[u8], packet: Vec<u8>| [&[0; 12], tags, &packet].concat();
    assert_is_whole("Ethernet", &framed(1, |p| ethernet(&[8, 0], p.ipv4())));
    assert_is_whole("Ethernet, IPv6", &framed(1, |p| ethernet(&[0x86, 0xdd], p.ipv6())));
    assert_is_whole("802.1Q", &framed(1, |p| ethernet(&[0x81, 0, 0, 7, 8, 0], p.ipv4())));
    let double = [0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd];
    assert_is_whole("802.1ad", &framed(1, |p| ethernet(&double, p.ipv6())));
    assert_is_whole("PPPoE", &framed(1, |p| ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 9, 0, 0x21], p.ipv4())));
    assert_is_whole("cooked", &framed(113, |p| [&[0; 14], &[8, 0][..], &p.ipv4()].concat()));
    assert_is_whole("cooked, version 2", &framed(276, |p| [&[8, 0][..], &[0; 18], &p.ipv4()].concat()));
    assert_is_whole("raw", &framed(101, Told::ipv6));
    assert_is_whole("loopback", &framed(0, |p| [&[2, 0, 0, 0][..], &p.ipv4()].concat()));
    assert_is_whole("PPP", &framed(9, |p| [&[0xff, 3, 0, 0x21][..], &p.ipv4()].concat()));
}

#[test]
fn padding_is_no_data() {
    // Ethernet's least is 60 bytes.
    let file = framed(1, |p| [&[0; 12], &[8, 0][..], &p.ipv4(), &[0; 30]].concat());
    assert_is_whole("padded", &file);
}

#[test]
fn a_snap_length_cuts_no_counts() {
    let cut = |packet: &Told| {
        let whole = packet.ipv4();
        let missing = whole.len().saturating_sub(44);
        (packet.us, whole[..whole.len() - missing].to_vec(), missing as u32)
    };
    assert_is_whole("cut", &pcap_of(101, packets().iter().map(cut)));
}

#[test]
fn segments_that_the_card_will_cut_are_read_whole() {
    // The kernel leaves the length to the card.
    let file = framed(101, |packet| {
        let mut bytes = packet.ipv4();
        (bytes[2], bytes[3]) = (0, 0);
        bytes
    });
    assert_is_whole("offloaded", &file);
}

#[test]
fn further_fragments_are_passed_over() {
    let mut fragment = up(0, SYN, 0, 0, 0).ipv4();
    fragment[7] = 8;
    let (connections, _, end) = read(&pcap_of(101, [(0, fragment, 0)]));
    end.unwrap();
    assert_eq!(connections.rows(), 0);
}

#[test]
fn byte_order_and_resolution_are_those_of_the_file() {
    let big_endian = |nanoseconds: bool| {
        let magic: u32 = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let mut file = Vec::new();
        file.extend(magic.to_be_bytes());
        file.extend([0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 101]);
        for packet in packets() {
            let (bytes, part) = (packet.ipv4(), packet.us * if nanoseconds { 1_000 } else { 1 });
            for word in [0, part as u32, bytes.len() as u32, bytes.len() as u32] {
                file.extend(word.to_be_bytes());
            }
            file.extend(bytes);
        }
        file
    };
    assert_is_whole("big endian", &big_endian(false));
    assert_is_whole("nanoseconds", &big_endian(true));
}

#[test]
fn pcapng_says_of_each_interface_what_its_times_are() {
    let mut file = block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    // Microseconds without an option; milliseconds less a day by options.
    file.extend(block(1, &[101, 0, 0, 0, 0, 0, 4, 0]));
    let day = (-86_400_i64).to_le_bytes();
    let options = [&[9, 0, 1, 0, 3, 0, 0, 0, 14, 0, 8, 0][..], &day, &[0; 4]].concat();
    file.extend(block(1, &[&[101, 0, 0, 0, 0, 0, 4, 0][..], &options].concat()));
    // Something that is of no interest here.
    file.extend(block(0x0bad, &[1, 2, 3, 4]));
    for (n, packet) in packets().iter().enumerate() {
        let interface = n as u32 % 2;
        let time = if interface == 0 { 86_400_000_000 + packet.us } else { 2 * 86_400_000 + packet.us / 1_000 };
        let bytes = packet.ipv4();
        let mut body = Vec::new();
        for word in [interface, (time >> 32) as u32, time as u32, bytes.len() as u32, bytes.len() as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(&bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    let (connections, _, end) = read(&file);
    end.unwrap();
    assert_eq!(connections.number("start_ms", 0), Some(86_400_000.0));
    // The SYN-ACK at 0.1 ms is of the interface that counts whole ms.
    assert_eq!(connections.number("server_handshake_ms", 0), Some(0.0));
    assert_eq!(connections.number("rtt_max_ms_down", 0), Some(50.1));
}

#[test]
fn pcapng_may_have_secrets_before_its_packets() {
    let secrets = |kind: u32, text: &str| {
        let mut body = [kind.to_le_bytes(), (text.len() as u32).to_le_bytes()].concat();
        body.extend(text.as_bytes());
        body.resize(body.len().next_multiple_of(4), 0);
        block(10, &body)
    };
    let mut file = block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    file.extend(secrets(0x544c_534b, "CLIENT_RANDOM 1"));
    file.extend(secrets(0x5747_4b4c, "of WireGuard"));
    file.extend(block(1, &[101, 0, 0, 0, 0, 0, 4, 0]));
    file.extend(secrets(0x544c_534b, "another"));
    file.extend(block(3, &[&4_u32.to_le_bytes()[..], &[0x45, 0, 0, 0]].concat()));
    file.extend(secrets(0x544c_534b, "too late"));
    let mut reader = PacketReader::new(&file[..]).unwrap();
    assert_eq!(reader.secrets(), b"CLIENT_RANDOM 1\nanother\n");
    assert_eq!(reader.next_packet(|packet| packet.data.to_vec()).unwrap(), Some(vec![0x45, 0, 0, 0]));
    assert_eq!(reader.next_packet(|_| ()).unwrap(), None);
    for cut in 0..file.len() {
        if let Ok(mut reader) = PacketReader::new(&file[..cut]) {
            assert!(b"CLIENT_RANDOM 1\nanother\n".starts_with(&reader.secrets()[..]));
        }
    }
}

#[test]
fn what_a_section_says_of_itself_is_kept_within_bounds() {
    let section = |comment: &str| {
        let mut body = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        body.extend([&[1, 0][..], &(comment.len() as u16).to_le_bytes(), comment.as_bytes()].concat());
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend([0; 4]);
        block(0x0a0d_0d0a, &body)
    };
    let mut file = section("made up");
    file.extend(section(&"long ".repeat(400)));
    for n in 0..20 {
        file.extend(section(&format!("another, {n}")));
    }
    let mut reader = PacketReader::new(&file[..]).unwrap();
    assert!(reader.next_packet(|_| ()).unwrap().is_none());
    assert_eq!(reader.comments().len(), 8);
    assert_eq!(reader.comments()[0], "made up");
    assert_eq!(reader.comments()[1].len(), 1_000);
}

#[test]
fn the_last_time_that_a_file_can_have_ends_the_reading_too() {
    let mut file = block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    // Seconds: all 64 bits of them.
    file.extend(block(1, &[&[101, 0, 0, 0, 0, 0, 4, 0][..], &[9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat()));
    let packets = packets();
    for (n, packet) in packets.iter().enumerate() {
        let time = if n < packets.len() / 2 { 1 } else { u64::MAX };
        let bytes = packet.ipv4();
        let mut body = Vec::new();
        for word in [0, (time >> 32) as u32, time as u32, bytes.len() as u32, bytes.len() as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(&bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    let patient = AnalyzerLimits { idle: u64::MAX, periods: true, ..AnalyzerLimits::default() };
    let (connections, _, end) = read_within(&file, patient);
    end.unwrap();
    assert_eq!(connections.rows(), 1);
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes(), &len, body, &len].concat()
}
