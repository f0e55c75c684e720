//! What Linux is asked for and the standard library does not know. All `unsafe` stands here.

#![allow(unsafe_code, reason = "system calls")]

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
pub(crate) fn hurry(priority: i32) -> io::Result<()> {
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
    assert!(name.len() < NAME);
    let mut ifr_name = [0; NAME];
    for (to, from) in ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI) as i16 };
    let mut request = libc::ifreq { ifr_name, ifr_ifru };
    // SAFETY: this call reads and writes a `ifreq`, which lives through it.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &mut request) }).map(drop)
}

/// The number of a device in this thread's namespace.
pub(crate) fn device_number(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name is a C string that lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

/// A socket to the kernel's routing, in this thread's namespace: a message is a write, its answer a read.
pub(crate) fn routing_socket() -> io::Result<File> {
    // SAFETY: no memory is involved; the descriptor is new, and nobody else has it.
    unsafe {
        let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        Ok(File::from_raw_fd(check(socket)?))
    }
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
