//! What Linux is asked for and the standard library does not know. All `unsafe` stands here.

#![allow(unsafe_code, reason = "system calls")]

pub(crate) mod contained;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::time::Duration;

/// The length of a device's name, its closing zero included.
const NAME: usize = libc::IFNAMSIZ;

/// An error of C's convention as one of Rust's.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Moves this thread into a network namespace of its own.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Moves this process, which has one thread, into a user and a network namespace of its own.
pub(crate) fn leave_user() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) }).map(drop)
}

/// Moves this thread into a network namespace.
pub(crate) fn enter_network(namespace: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `namespace` is borrowed.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// The effective user and group of this process.
pub(crate) fn user_and_group() -> (u32, u32) {
    // SAFETY: these cannot fail and touch no memory.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Gives this thread, and those that it starts, real-time priority.
pub(crate) fn set_realtime(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives through the call, which only reads it.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) }).map(drop)
}

/// Lets this thread's waits end on time: without real-time priority Linux adds 0.05 ms.
pub(crate) fn wake_on_time() {
    // SAFETY: no memory is involved. It cannot fail with this argument.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// Makes `tun`, an open `/dev/net/tun`, a device of this name that carries IP packets and nothing else.
pub(crate) fn make_tun(tun: &File, name: &str) -> io::Result<()> {
    let mut request = about_device(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // SAFETY: this call reads and writes a `ifreq`, which lives through it.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &mut request) }).map(drop)
}

/// The number of a device in the namespace of a socket.
pub(crate) fn device_number(socket: &File, name: &str) -> io::Result<u32> {
    let mut request = about_device(name);
    // SAFETY: this call reads and writes a `ifreq`, which lives through it.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX as _, &mut request) })?;
    // SAFETY: this is what the call has written.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex } as u32)
}

/// A request about the device of this name, with nothing else in it.
fn about_device(name: &str) -> libc::ifreq {
    assert!(name.len() < NAME);
    let mut ifr_name = [0; NAME];
    for (to, from) in ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    libc::ifreq { ifr_name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_ifindex: 0 } }
}

/// A socket to the kernel's routing, in this thread's namespace: a message is a write, its answer a read.
pub(crate) fn routing_socket() -> io::Result<File> {
    // SAFETY: no memory is involved; the descriptor is new, and has no other owner.
    unsafe {
        let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        Ok(File::from_raw_fd(check(socket)?))
    }
}

/// Waits until no other process has locked the file, and locks it until the last descriptor of it is closed.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is borrowed; no memory is involved.
    check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }).map(drop)
}

/// Something to wait for until it can be read.
#[derive(Debug)]
pub(crate) struct Readable<'a> {
    descriptor: BorrowedFd<'a>,
    /// It can be read, or has been closed at the other end.
    pub(crate) ready: bool,
}

impl<'a> Readable<'a> {
    pub(crate) fn new(source: &'a impl AsFd) -> Readable<'a> {
        Readable { descriptor: source.as_fd(), ready: false }
    }
}

/// Waits until one of these can be read, at most as long as `limit` if there is one.
pub(crate) fn wait(sources: &mut [Readable<'_>], limit: Option<Duration>) -> io::Result<()> {
    let poll = |source: &Readable| libc::pollfd { fd: source.descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = sources.iter().map(poll).collect();
    let limit = limit.map(|span| libc::timespec {
        tv_sec: span.as_secs() as libc::time_t,
        tv_nsec: span.subsec_nanos() as libc::c_long,
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), |limit| limit as *const libc::timespec);
    // SAFETY: `polled` and what `limit` points to live through the call; the number is that of `polled`.
    let result = unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, limit, std::ptr::null()) };
    match check(result) {
        Ok(_) => {}
        // A signal has nothing to do with us: nothing can be read.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => polled.iter_mut().for_each(|at| at.revents = 0),
        Err(error) => return Err(error),
    }
    for (source, polled) in sources.iter_mut().zip(&polled) {
        source.ready = polled.revents != 0;
    }
    Ok(())
}

/// Loads a program that stands in for an operation of the kernel's: `member` of the structure `operations`.
pub(crate) fn load_operation(program: &[u64], operations: u32, member: u32) -> io::Result<File> {
    const PROG_LOAD: libc::c_int = 5;
    const STRUCT_OPS: u32 = 27;
    let mut attributes = Attributes::new();
    attributes.word(0, STRUCT_OPS);
    attributes.word(4, program.len() as u32);
    attributes.long(8, program.as_ptr() as u64);
    // The kernel's functions may be called by programs under its licence.
    attributes.long(16, c"GPL".as_ptr() as u64);
    attributes.word(68, member);
    attributes.word(108, operations);
    attributes.bpf(PROG_LOAD)
}

/// Gives the kernel a structure of operations, as `kind` lays it out, to be linked.
pub(crate) fn make_operations(kind: u32, value: &[u8]) -> io::Result<File> {
    const MAP_CREATE: libc::c_int = 0;
    const MAP_UPDATE_ELEM: libc::c_int = 2;
    const STRUCT_OPS: u32 = 26;
    const LINKED: u32 = 1 << 13;
    let types = load_types()?;
    let mut attributes = Attributes::new();
    let own = types.as_raw_fd() as u32;
    for (place, word) in
        [(0, STRUCT_OPS), (4, 4), (8, value.len() as u32), (12, 1), (16, LINKED), (48, own), (60, kind)]
    {
        attributes.word(place, word);
    }
    let map = attributes.bpf(MAP_CREATE)?;
    let key = 0_u32;
    let mut attributes = Attributes::new();
    attributes.word(0, map.as_raw_fd() as u32);
    attributes.long(8, &raw const key as u64);
    attributes.long(16, value.as_ptr() as u64);
    attributes.result(MAP_UPDATE_ELEM)?;
    Ok(map)
}

/// Gives the kernel types of our own, which it wants to have seen: one number, of which no use is made.
fn load_types() -> io::Result<File> {
    const BTF_LOAD: libc::c_int = 18;
    // Magic number and version, length of the header; types: from 0, 16 bytes; names: from 16, 5 bytes; the
    // type: its name, that it is a number, bytes, bits.
    let words: [u32; 10] = [0x1_eb9f, 24, 0, 16, 16, 5, 1, 1 << 24, 4, 32];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    bytes.extend(b"\0u32\0");
    let mut attributes = Attributes::new();
    attributes.long(0, bytes.as_ptr() as u64);
    attributes.word(16, bytes.len() as u32);
    attributes.bpf(BTF_LOAD)
}

/// Puts a structure of operations into service, for as long as the descriptor is open.
pub(crate) fn link_operations(map: &File) -> io::Result<File> {
    const LINK_CREATE: libc::c_int = 28;
    const STRUCT_OPS: u32 = 44;
    let mut attributes = Attributes::new();
    attributes.word(0, map.as_raw_fd() as u32);
    attributes.word(8, STRUCT_OPS);
    attributes.bpf(LINK_CREATE)
}

/// What a call of `bpf` is told (`union bpf_attr`); what is not said is zero.
struct Attributes([u8; 128]);

impl Attributes {
    fn new() -> Attributes {
        Attributes([0; 128])
    }

    /// Sets the four bytes from `place` on.
    fn word(&mut self, place: usize, word: u32) {
        self.0[place..place + 4].copy_from_slice(&word.to_ne_bytes());
    }

    /// Sets the eight bytes from `place` on.
    fn long(&mut self, place: usize, long: u64) {
        self.0[place..place + 8].copy_from_slice(&long.to_ne_bytes());
    }

    /// A call that gives a descriptor.
    fn bpf(&self, command: libc::c_int) -> io::Result<File> {
        let descriptor = self.result(command)?;
        // SAFETY: the descriptor is new, and has no other owner.
        Ok(unsafe { File::from_raw_fd(descriptor) })
    }

    fn result(&self, command: libc::c_int) -> io::Result<libc::c_int> {
        let size = size_of_val(&self.0);
        // SAFETY: the kernel reads these attributes, and what they point to lives as long as the callers'
        // borrows, of whose lengths it is told; it writes nothing.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), size) };
        check(result as libc::c_int)
    }
}
