//! A packet on its way.

use crate::host::{EndId, Side};
use loadstone_load::NameQuery;
use loadstone_net::tcp::Segment;
use loadstone_net::{Carried, Logged, Packet, PacketLog};
use loadstone_scenario::{Capture, Captured, CapturedConnection, CapturedFlags, CongestionWindowAt, Plan, Timestamps};
use loadstone_units::Time;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SimPacket {
    /// A segment, and the end to which it goes.
    Segment { to: EndId, segment: Segment },
    /// A query for the name of a server, or its answer.
    Name(NameMessage),
}

/// A message between a browser and the name server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameMessage {
    /// The index of the host that asks.
    pub(crate) asker: u32,
    /// What it asks.
    pub(crate) query: NameQuery,
    pub(crate) kind: NameMessageKind,
    /// Bytes of the IP packet.
    pub(crate) len: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameMessageKind {
    Query,
    Answer,
}

const NANOS_PER_MS: u64 = 1_000_000;

/// All messages of names are one flow.
const NAME_FLOW: u32 = u32::MAX;

impl Packet for SimPacket {
    #[inline]
    fn len(&self) -> u32 {
        match self {
            SimPacket::Segment { segment, .. } => Packet::len(segment),
            SimPacket::Name(message) => message.len,
        }
    }

    /// The number of its connection, if it belongs to one.
    fn flow(&self) -> u32 {
        match self {
            SimPacket::Segment { to, .. } => to.connection() as u32,
            SimPacket::Name(_) => NAME_FLOW,
        }
    }
}

impl Carried for SimPacket {
    type Head = SimPacket;

    fn head(&self) -> SimPacket {
        *self
    }
}

/// The segments of a log in the form that both worlds share.
pub(crate) fn capture(
    plan: &Plan,
    begun: Time,
    log: PacketLog<SimPacket>,
    windows: Vec<CongestionWindowAt>,
    connections: Vec<CapturedConnection>,
) -> Capture {
    let captured = |Logged { entered, link, head, fate }| {
        let SimPacket::Segment { to, segment } = head else { return None };
        let CapturedConnection { client, server, .. } = connections[to.connection()];
        Some(Captured {
            entered: entered.counted_from(begun),
            link,
            connection: to.connection() as u32,
            host: server,
            sender: if to.side() == Side::Server { client } else { server },
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
            window: segment.window,
            timestamps: Some(Timestamps { val: timestamp(segment.ts_val), ecr: timestamp(segment.ts_ecr) }),
            bytes: Packet::len(&segment),
            repair: segment.repair,
            fate: fate.counted_from(begun),
        })
    };
    let packets: Vec<Captured> = log.packets.into_iter().filter_map(captured).collect();
    let counted = |window: CongestionWindowAt| CongestionWindowAt { at: window.at.counted_from(begun), ..window };
    let windows = windows.into_iter().map(counted).collect();
    Capture { connections, packets, windows, left_out: log.left_out, ..Capture::new(plan) }
}

/// A timestamp in ms, as the kernel's clock of 1000 Hz has them, from 1 on: a TSecr of 0 says nothing (RFC 7323,
/// section 3.2).
fn timestamp(at: Time) -> u32 {
    if at == Time::NEVER { 0 } else { (at.as_nanos() / NANOS_PER_MS) as u32 + 1 }
}
