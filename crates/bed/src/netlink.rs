//! Devices, addresses and routes, by messages to the kernel's routing (rtnetlink).

use crate::kernel;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

/// An ordinary request that is answered with a result.
const REQUEST: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
/// One that makes something, or takes its place.
const REPLACE: u16 = REQUEST | (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;

/// The attributes of a device, an address, a queue that the C library does not name.
const IFLA_GSO_MAX_SEGS: u16 = 40;
const RTAX_INITCWND: u16 = 11;
const RTAX_CC_ALGO: u16 = 16;

/// The number of the loopback device in every namespace.
pub(crate) const LOOPBACK: u32 = 1;
/// A priority of routes behind that of ordinary ones, which is 0.
const LAST: u32 = 1;

/// The routing of one namespace.
#[derive(Debug)]
pub(crate) struct Routing {
    socket: File,
}

/// The congestion control and initial window of connections that take a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteMetrics<'a> {
    /// As the kernel names it.
    pub(crate) congestion: &'a str,
    /// In segments.
    pub(crate) initial_window: u32,
}

impl Routing {
    /// That of this thread's namespace.
    pub(crate) fn open() -> io::Result<Routing> {
        Ok(Routing { socket: kernel::routing_socket()? })
    }

    /// The number of a device.
    pub(crate) fn device(&self, name: &str) -> io::Result<u32> {
        kernel::device_number(&self.socket, name)
    }

    /// Sets up a device with a queue of `queue` packets, and segments made one by one.
    pub(crate) fn set_up(&self, device: u32, mtu: u32, queue: u32) -> io::Result<()> {
        let mut message = NetlinkMessage::new(libc::RTM_NEWLINK, REQUEST);
        message.device_header(device);
        message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
        message.attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
        message.attribute(IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes());
        self.request(message)?;
        // A plain queue: what the machine has by default might pace.
        let mut message = NetlinkMessage::new(libc::RTM_NEWQDISC, REPLACE);
        message.bytes(&[0; 4]);
        message.bytes(&device.to_ne_bytes());
        message.bytes(&0_u32.to_ne_bytes());
        message.bytes(&u32::MAX.to_ne_bytes());
        message.bytes(&[0; 4]);
        message.attribute(libc::TCA_KIND, b"pfifo\0");
        message.attribute(libc::TCA_OPTIONS, &queue.to_ne_bytes());
        self.request(message)
    }

    /// Switches the loopback device on.
    pub(crate) fn switch_on_loopback(&self) -> io::Result<()> {
        let mut message = NetlinkMessage::new(libc::RTM_NEWLINK, REQUEST);
        message.device_header(LOOPBACK);
        self.request(message)
    }

    /// Keeps what goes to the addresses that share `prefix` bits with `to` on this host, once no device leads there.
    pub(crate) fn route_last_to_itself(&self, to: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut message = NetlinkMessage::route(libc::RTN_LOCAL, libc::RT_SCOPE_HOST, LOOPBACK, to, prefix);
        message.attribute(libc::RTA_PRIORITY, &LAST.to_ne_bytes());
        self.request(message)
    }

    /// Gives a device its address.
    pub(crate) fn add_address(&self, device: u32, address: Ipv4Addr) -> io::Result<()> {
        self.add_address_with_peer(device, address, address)
    }

    /// Gives a device its address, and sends by it what goes to `peer`.
    pub(crate) fn add_address_with_peer(&self, device: u32, address: Ipv4Addr, peer: Ipv4Addr) -> io::Result<()> {
        let mut message = NetlinkMessage::new(libc::RTM_NEWADDR, REPLACE);
        message.bytes(&[libc::AF_INET as u8, 32, 0, libc::RT_SCOPE_UNIVERSE]);
        message.bytes(&device.to_ne_bytes());
        message.attribute(libc::IFA_LOCAL, &address.octets());
        message.attribute(libc::IFA_ADDRESS, &peer.octets());
        self.request(message)
    }

    /// Sends what goes to the addresses that share `prefix` bits with `to` by a device; or changes how.
    pub(crate) fn route(&self, device: u32, to: Ipv4Addr, prefix: u8, metrics: RouteMetrics<'_>) -> io::Result<()> {
        let mut message = NetlinkMessage::route(libc::RTN_UNICAST, libc::RT_SCOPE_LINK, device, to, prefix);
        let mut inner = NetlinkMessage::default();
        inner.attribute(RTAX_INITCWND, &metrics.initial_window.to_ne_bytes());
        inner.attribute(RTAX_CC_ALGO, &[metrics.congestion.as_bytes(), b"\0"].concat());
        message.attribute(libc::RTA_METRICS, &inner.0);
        self.request(message)
    }

    /// Sends a message and reads its result.
    fn request(&self, message: NetlinkMessage) -> io::Result<()> {
        (&self.socket).write_all(&message.finished())?;
        let mut answer = [0; 4096];
        let len = (&self.socket).read(&mut answer)?;
        // A header of 16 bytes of type "error", then the error's number, zero or negative.
        let kind = answer[..len].get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
        match (kind, answer[..len].get(16..20)) {
            (Some(kind), Some(code)) if i32::from(kind) == libc::NLMSG_ERROR => {
                match i32::from_ne_bytes([code[0], code[1], code[2], code[3]]) {
                    0 => Ok(()),
                    code => Err(io::Error::from_raw_os_error(-code)),
                }
            }
            _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

/// A message under construction: a header of 16 bytes, what its type wants, attributes.
#[derive(Debug, Default)]
struct NetlinkMessage(Vec<u8>);

impl NetlinkMessage {
    fn new(kind: u16, flags: u16) -> NetlinkMessage {
        let mut message = NetlinkMessage(vec![0; 4]);
        message.bytes(&kind.to_ne_bytes());
        message.bytes(&flags.to_ne_bytes());
        message.bytes(&[0; 8]);
        message
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// One that makes a route by a device, or changes it.
    fn route(kind: u8, scope: u8, device: u32, to: Ipv4Addr, prefix: u8) -> NetlinkMessage {
        let mut message = NetlinkMessage::new(libc::RTM_NEWROUTE, REPLACE);
        let (table, origin) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        message.bytes(&[libc::AF_INET as u8, prefix, 0, 0, table, origin, scope, kind]);
        message.bytes(&0_u32.to_ne_bytes());
        message.attribute(libc::RTA_DST, &to.octets());
        message.attribute(libc::RTA_OIF, &device.to_ne_bytes());
        message
    }

    /// What messages about devices begin with; the device is to be up.
    fn device_header(&mut self, device: u32) {
        self.bytes(&[0; 4]);
        self.bytes(&device.to_ne_bytes());
        self.bytes(&(libc::IFF_UP as u32).to_ne_bytes());
        self.bytes(&(libc::IFF_UP as u32).to_ne_bytes());
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes(&(value.len() as u16 + 4).to_ne_bytes());
        self.bytes(&kind.to_ne_bytes());
        self.bytes(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Its bytes, with the length in front.
    fn finished(mut self) -> Vec<u8> {
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        self.0
    }
}
