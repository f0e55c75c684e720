//! Files that are no captures, damaged, cut or made to do harm.

use crate::recording::{ACK, Told, down, handshake, pcap, pcap_of, read, up};
use loadstone_capture::{PacketReader, ReadError};
use proptest::prelude::*;

fn story() -> Vec<Told> {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, 1_000, 1),
        down(60_001, ACK, 1_001, 1_000, 1),
        up(110_000, ACK, 1, 0, 1).sack(&[(1_001, 2_001)]),
        down(300_000, ACK, 1, 1_000, 1).stamped(3, 4),
        up(350_000, ACK, 1, 0, 2_001).stamped(5, 3),
    ]);
    packets
}

#[test]
fn what_is_no_capture_is_refused() {
    for file in [&b""[..], b"GET / HTTP/1.1\r\n\r\n and so on", &[0; 100]] {
        assert!(matches!(PacketReader::new(file), Err(ReadError::NoCapture)));
    }
}

#[test]
fn a_file_that_is_cut_gives_what_came_before() {
    let file = pcap(&story());
    let (connections, _, end) = read(&file[..file.len() - 3]);
    assert_eq!(connections.integer("packets_up", 0) + connections.integer("packets_down", 0), 7);
    let ReadError::Cut { at } = end.unwrap_err() else { panic!("it is cut") };
    // The last packet: its header of 16 bytes and 52 of its own.
    assert_eq!(at as usize, file.len() - 68);
}

#[test]
fn a_packet_of_impossible_length_is_damage() {
    let mut file = pcap(&story());
    let at = file.len();
    file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]);
    file.extend(vec![0; 1 << 20]);
    let (connections, _, end) = read(&file);
    assert_eq!(connections.rows(), 1);
    assert!(matches!(end, Err(ReadError::Damaged { at: place } | ReadError::Cut { at: place }) if place == at as u64));
}

#[test]
fn packets_larger_than_the_buffer_are_read() {
    let large = down(60_000, ACK, 1, 60_000, 1).ipv4();
    let missing = 1_000_000;
    let packets = [(1, [large, vec![0; 900_000]].concat(), missing), (2, up(70_000, ACK, 1, 0, 60_001).ipv4(), 0)];
    let (connections, _, end) = read(&pcap_of(101, packets));
    end.unwrap();
    assert_eq!(connections.integer("bytes_down", 0), 60_000);
    assert_eq!(connections.integer("packets_up", 0), 1);
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_frame_makes_it_fail(
        link in prop::sample::select(vec![0_u32, 1, 9, 12, 101, 108, 113, 228, 229, 276]),
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 0..6),
        missing in any::<u32>(),
    ) {
        let missing = missing >> 4;
        let _ = read(&pcap_of(link, frames.into_iter().map(|frame| (1, frame, missing))));
    }

    #[test]
    fn no_flipped_byte_makes_it_fail(place in 0_usize..600, byte in any::<u8>()) {
        let mut file = pcap(&story());
        let place = place % file.len();
        file[place] = byte;
        let _ = read(&file);
    }

    /// Whatever ends send, in whatever order it is captured: each packet and each byte is counted once.
    #[test]
    fn packets_and_bytes_are_conserved(
        told in proptest::collection::vec(
            (any::<bool>(), 0_u8..32, any::<u32>(), 0_u32..3_000, any::<u32>(), any::<u32>(), any::<u32>()),
            1..60,
        ),
    ) {
        let packets: Vec<Told> = told.iter().enumerate().map(|(n, &(is_down, flags, seq, len, ack, from, to))| {
            // Half of the numbers are near to one another.
            let near = |number: u32| if number.is_multiple_of(2) { number } else { number % 8_000 };
            let packet = if is_down { down } else { up };
            let packet = packet(n as u64 * 2, flags, near(seq), len, near(ack));
            if from.is_multiple_of(3) { packet.sack(&[(near(from), near(to))]) } else { packet }
        }).collect();
        let (connections, again, end) = read(&pcap(&packets));
        end.unwrap();
        let sum = |name: &str| (0..connections.rows()).map(|row| connections.integer(name, row)).sum::<u64>();
        prop_assert_eq!(sum("packets_up") + sum("packets_down"), packets.len() as u64);
        let bytes: u64 = packets.iter().map(|packet| u64::from(packet.len)).sum();
        prop_assert_eq!(sum("data_bytes_up") + sum("data_bytes_down"), bytes);
        let sent_again = sum("retransmitted_bytes_up") + sum("retransmitted_bytes_down");
        prop_assert_eq!(sum("bytes_up") + sum("bytes_down") + sent_again, bytes);
        let rows: u64 = ["syn_retransmissions", "fast", "tail_loss_probes", "timeouts", "window_probes"]
            .iter()
            .map(|cause| sum(&format!("{cause}_up")) + sum(&format!("{cause}_down")))
            .sum();
        prop_assert_eq!(rows, again.rows() as u64);
    }
}
