//! Whatever a device hands over, its headers are read or it is none of ours, and what is read fits into it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_bed::packet::Packet;

fuzz_target!(|bytes: &[u8]| {
    let Some(packet) = Packet::read(bytes) else { return };
    assert!(packet.len as usize <= bytes.len());
    assert!(packet.payload + 40 <= packet.len);
    let _whatever = Packet::sacks(bytes);
    // What lies behind the packet plays no part.
    assert_eq!(Packet::read(&bytes[..packet.len as usize]), Some(packet));
});
