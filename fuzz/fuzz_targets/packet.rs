//! Whatever a device hands over, its headers are read or it is none of ours, and what is read fits into it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_bed::packet::{Envelope, TcpPacket};

fuzz_target!(|bytes: &[u8]| {
    let Some(envelope) = Envelope::read(bytes) else {
        return assert_eq!(TcpPacket::read(bytes), None);
    };
    assert!(envelope.len as usize <= bytes.len() && envelope.len >= 20);
    let Some(packet) = TcpPacket::read(bytes) else { return };
    let TcpPacket { source, destination, len, .. } = packet;
    assert_eq!(envelope, Envelope { source, destination, len });
    assert!(packet.len as usize <= bytes.len());
    assert!(packet.payload + 40 <= packet.len);
    let _whatever = TcpPacket::options(bytes);
    // What lies behind the packet plays no part.
    assert_eq!(TcpPacket::read(&bytes[..packet.len as usize]), Some(packet));
});
