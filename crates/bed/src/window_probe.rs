//! Probes of servers' initial windows, from a TUN device of this machine: its owner is the client, with a TCP of its own.

use crate::access::open_tun;
use crate::initial_flight::{FlightProbe, InitialFlight, NoFlight};
use crate::netlink::Routing;
use crate::packet::TcpPacket;
use crate::tunnel::Tunnel;
use crate::{BedError, Stop};
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process;
use std::time::Duration;

/// Bytes of packets at most, and packets that wait for us.
const MTU: u32 = 1500;
const QUEUE: u32 = 10_000;
/// Addresses for measuring (RFC 2544): two of the upper half for each process, so that no two probes share them.
const RANGE: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 0);
const PAIRS: u32 = 1 << 14;
/// The client's first port; each connection has another one.
const FIRST_PORT: u16 = 32_768;
/// How soon it is seen that one is told to stop.
const MOMENT: Duration = Duration::from_millis(50);

/// A client that sees servers' initial windows ([`FlightProbe`]), through a TUN device in this thread's network
/// namespace. The device vanishes when this is dropped.
///
/// The servers of this machine can be reached, also those that listen on 127.0.0.1. For others the machine has to
/// forward and masquerade what comes from [`WindowProber::address`].
#[derive(Debug)]
pub struct WindowProber {
    tunnel: Tunnel,
    client: Ipv4Addr,
    clock: loadstone_live::Clock,
    connections: u16,
}

impl WindowProber {
    /// Makes the device.
    ///
    /// # Errors
    /// If this process may not, which needs root (CAP_NET_ADMIN).
    pub fn open() -> Result<WindowProber, BedError> {
        let name = format!("probe{}", process::id());
        let first = u32::from(RANGE) + 4 * (process::id() % PAIRS);
        let (machine, client) = (Ipv4Addr::from(first + 1), Ipv4Addr::from(first + 2));
        let tunnel = Tunnel::new(open_tun(&name)?);
        let routing = Routing::open().map_err(BedError::host("asking for the routing"))?;
        let device = routing.device(&name).map_err(BedError::host("finding the device of the probe"))?;
        routing.set_up(device, MTU, QUEUE).map_err(BedError::host("setting up the device of the probe"))?;
        routing
            .add_address_with_peer(device, machine, client)
            .map_err(BedError::host("giving the device of the probe an address"))?;
        // So that servers on 127.0.0.1 may be asked, by this device alone. Where it is refused, others still can.
        let _ = fs::write(format!("/proc/sys/net/ipv4/conf/{name}/route_localnet"), "1");
        Ok(WindowProber { tunnel, client, clock: loadstone_live::Clock::start(), connections: 0 })
    }

    /// The client's address.
    pub fn address(&self) -> Ipv4Addr {
        self.client
    }

    /// Sees one initial window of a server: announces `mss` and sends `request`. Nothing if it is told to stop.
    ///
    /// # Errors
    /// What the kernel says of the device.
    pub fn probe(
        &mut self,
        server: SocketAddrV4,
        mss: u16,
        request: &[u8],
        stop: &Stop,
    ) -> Result<Option<Result<InitialFlight, NoFlight>>, BedError> {
        let client = SocketAddrV4::new(self.client, FIRST_PORT + self.connections % FIRST_PORT);
        self.connections = self.connections.wrapping_add(1);
        // No two connections begin alike, also those of processes that follow each other.
        let initial = process::id().wrapping_mul(0x9e37_79b9) ^ u32::from(self.connections) << 16;
        let mut probe = FlightProbe::new(client, server, initial, mss, request.to_vec(), self.clock.now());
        let failed = BedError::host("using the device of the probe");
        let mut turn = || loop {
            while let Some(packet) = probe.poll_transmit() {
                self.tunnel.put(&packet)?;
            }
            if let Some(result) = probe.result() {
                return Ok(Some(result));
            }
            if stop.is_stopped() {
                return Ok(None);
            }
            let wait = Duration::from_nanos(probe.poll_timeout().nanos_since(self.clock.now()));
            let came = self.tunnel.take(wait.min(MOMENT))?;
            let now = self.clock.now();
            if let Some(packet) = came.as_deref().and_then(TcpPacket::read) {
                probe.handle_packet(&packet, now);
            }
            probe.handle_timeout(now);
        };
        turn().map_err(failed)
    }
}
