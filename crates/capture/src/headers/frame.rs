//! From a captured frame to the IP packet in it.

use pcap_parser::Linktype;

/// IP packets without a header below them, as some BSDs number it: LINKTYPE_RAW is another number there.
const RAW_OF_BSD: [Linktype; 2] = [Linktype(12), Linktype(14)];
/// PPP and PPPoE sessions: IP in its header of two bytes.
const PPP: Linktype = Linktype(9);

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// IEEE 802.1Q, 802.1ad, and what was used for it before.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const PPPOE_SESSION: u16 = 0x8864;
/// Tags in one another at most; there are two (802.1ad) in good order.
const MOST_TAGS: usize = 4;

/// The IP packet in a frame: it may be cut, or followed by padding. Nothing if there is another protocol in it.
#[inline]
pub(crate) fn ip_packet(link: Linktype, frame: &[u8]) -> Option<&[u8]> {
    match link {
        Linktype::ETHERNET => after_ethertype(frame, 12),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => Some(frame),
        Linktype::LINUX_SLL => after_ethertype(frame, 14),
        // The protocol stands in front, and the packet behind 20 bytes.
        Linktype::LINUX_SLL2 => match half(frame, 0)? {
            IPV4 | IPV6 => frame.get(20..),
            tag if VLAN.contains(&tag) => after_ethertype(frame.get(20..)?, 2),
            _ => None,
        },
        // Four bytes with the family, in the byte order of the machine or of the network; the packet says it as well.
        Linktype::NULL | Linktype::LOOP => frame.get(4..),
        PPP => match frame.get(..4)? {
            [0xff, 3, 0, 0x21 | 0x57] => frame.get(4..),
            [0, 0x21 | 0x57, ..] => frame.get(2..),
            _ => None,
        },
        other if RAW_OF_BSD.contains(&other) => Some(frame),
        _ => None,
    }
}

/// The packet after an ethertype that stands at `at`, behind tags.
#[inline]
fn after_ethertype(frame: &[u8], mut at: usize) -> Option<&[u8]> {
    for _ in 0..=MOST_TAGS {
        match half(frame, at)? {
            IPV4 | IPV6 => return frame.get(at + 2..),
            PPPOE_SESSION => {
                // Its header of six bytes, then PPP's protocol.
                let is_ip = matches!(half(frame, at + 8)?, 0x21 | 0x57);
                return if is_ip { frame.get(at + 10..) } else { None };
            }
            tag if VLAN.contains(&tag) => at += 4,
            _ => return None,
        }
    }
    None
}

#[inline]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
