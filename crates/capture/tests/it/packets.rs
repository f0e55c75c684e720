//! The packets of one connection, as a table.

use crate::recording::{ACK, PSH, Told, down, handshake, packets_of, up};

fn story() -> Vec<Told> {
    let mut packets = handshake();
    packets.extend([
        // Another connection, whose first packet is the fourth.
        up(50_150, ACK | PSH, 1, 10, 1).of_port(41_000),
        up(50_200, ACK | PSH, 1, 300, 1),
        down(50_300, ACK, 1, 1_000, 301),
        down(50_301, ACK, 1_001, 500, 301),
        up(110_300, ACK, 301, 0, 1_001).window(7_000),
        down(400_000, ACK, 1_001, 500, 301),
        up(450_000, ACK, 301, 0, 1_501),
    ]);
    packets
}

#[test]
fn each_packet_of_a_connection_is_told_with_what_is_known_after_it() {
    let told = packets_of(1, &story());
    assert_eq!(told.texts("way"), ["up", "down", "up", "up", "down", "down", "up", "down", "up"]);
    let integers = |name: &str| -> Vec<_> { (0..told.rows()).map(|row| told.integer(name, row)).collect() };
    assert_eq!(integers("seq"), [0, 0, 1, 1, 1, 1_001, 301, 1_001, 301]);
    assert_eq!(integers("bytes"), [0, 0, 0, 300, 1_000, 500, 0, 500, 0]);
    assert_eq!(integers("in_flight_down"), [0, 1, 0, 0, 1_000, 1_500, 500, 500, 0]);
    assert_eq!(integers("in_flight_up"), [1, 0, 0, 300, 0, 0, 0, 0, 0]);
    assert_eq!(integers("window")[6], 7_000);
    assert_eq!(integers("ack")[1..], [1, 1, 1, 301, 301, 1_001, 301, 1_501]);
    let trips: Vec<_> = (0..told.rows()).map(|row| told.number("rtt_ms", row)).collect();
    // What was sent again is acknowledged without saying which of the two.
    let [syn, syn_ack, request] = [Some(0.1), Some(50.0), Some(0.1)];
    assert_eq!(trips, [None, syn, syn_ack, None, request, None, Some(60.0), None, None]);
}

#[test]
fn of_other_connections_nothing_is_told() {
    assert_eq!(packets_of(4, &story()).rows(), 1);
    assert_eq!(packets_of(2, &story()).rows(), 0, "no connection begins with it");
}
