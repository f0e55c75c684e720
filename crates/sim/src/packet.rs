//! A segment on its way.

use crate::host::EndId;
use loadstone_net::tcp::Segment;
use loadstone_net::{Carried, Logged, Packet, PacketLog};
use loadstone_scenario::{Capture, Captured, CapturedFlags, CongestionWindowAt, Plan};

/// A segment on its way, and the end to which it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimPacket {
    pub(crate) to: EndId,
    pub(crate) segment: Segment,
}

impl Packet for SimPacket {
    #[inline]
    fn len(&self) -> u32 {
        Packet::len(&self.segment)
    }

    /// Its connection.
    fn flow(&self) -> u32 {
        self.to.connection() as u32
    }
}

impl Carried for SimPacket {
    type Head = SimPacket;

    fn head(&self) -> SimPacket {
        *self
    }
}

/// A log in the form that both worlds share; `server_of` tells the host to which the connection at an index was opened.
pub(crate) fn capture(
    plan: &Plan,
    log: PacketLog<SimPacket>,
    windows: Vec<CongestionWindowAt>,
    server_of: impl Fn(usize) -> u32,
) -> Capture {
    let captured = |Logged { entered, link, head: SimPacket { to, segment }, fate }| Captured {
        entered,
        link,
        connection: to.connection() as u32,
        host: server_of(to.connection()),
        flags: CapturedFlags {
            syn: segment.flags.syn,
            fin: segment.flags.fin,
            rst: segment.flags.rst,
            ack: segment.flags.ack,
        },
        seq: segment.seq,
        len: segment.len,
        ack: segment.ack,
        sacks: segment.sacks.iter(segment.ack).collect(),
        dsack_end: segment.dsack_end,
        bytes: Packet::len(&segment),
        fate,
    };
    let packets = log.packets.into_iter().map(captured).collect();
    Capture { packets, windows, left_out: log.left_out, ..Capture::new(plan) }
}
