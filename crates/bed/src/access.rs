//! Whether this process may make a bed, and how it gets there without being root.

use std::io;

/// Why a bed cannot be made here, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Another system.
    #[error("a bed needs Linux: network namespaces and TUN devices; run it on Linux, or use the simulator")]
    NotLinux,
    /// The process may not make network namespaces.
    #[error("this process may not make network namespaces ({}): run it as root", reason(*.0))]
    Namespaces(
        /// The number of the system's error.
        i32,
    ),
    /// The process may not make user namespaces.
    #[error(
        "user namespaces are not allowed here ({}): run as root, or allow them with \
         'sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1'",
        reason(*.0)
    )]
    UserNamespaces(
        /// The number of the system's error.
        i32,
    ),
    /// The process has more than one thread, and only a process with one can enter.
    #[error("this process has {0} threads, and only one with a single thread can enter: enter before starting others")]
    Threads(usize),
    /// There is no TUN driver.
    #[error("there is no /dev/net/tun: load the driver as root with 'modprobe tun'")]
    NoTun,
    /// The process may not open the TUN driver.
    #[error("/dev/net/tun may not be opened: run as root, or allow it once, as root, with 'chmod 0666 /dev/net/tun'")]
    TunForbidden,
    /// The process has no file descriptors left.
    #[error("this process may not open more files: allow more with 'ulimit -n 1024'")]
    Files,
    /// The TUN driver refuses for another reason.
    #[error("/dev/net/tun makes no device ({}): run as root, outside of a container", reason(*.0))]
    Tun(
        /// The number of the system's error.
        i32,
    ),
}

#[cfg(target_os = "linux")]
impl Refusal {
    /// The refusal that an error means whatever was asked for.
    pub(crate) fn of_process(why: &io::Error) -> Option<Refusal> {
        (why.raw_os_error() == Some(libc::EMFILE)).then_some(Refusal::Files)
    }
}

/// What the system says of an error, in its own words without their number.
fn reason(number: i32) -> String {
    let text = io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Whether this process may make a bed.
///
/// It makes a namespace with a device, which vanish at once.
///
/// # Errors
/// What is missing, and what to do.
#[cfg(target_os = "linux")]
pub fn access() -> Result<(), Refusal> {
    linux::access()
}

/// Makes a process without privileges root of a user and a network namespace of its own, in which it may
/// make beds. Nothing is done where the process has the privileges already.
///
/// # Errors
/// What is missing, and what to do: the process must have a single thread, user namespaces must be allowed,
/// and the process must be able to open `/dev/net/tun`.
#[cfg(target_os = "linux")]
pub fn enter() -> Result<(), Refusal> {
    linux::enter()
}

/// Whether this process may make a bed: on this system none may.
///
/// # Errors
/// Always [`Refusal::NotLinux`].
#[cfg(not(target_os = "linux"))]
pub fn access() -> Result<(), Refusal> {
    Err(Refusal::NotLinux)
}

/// Gets a process to where it may make beds: on this system it never does.
///
/// # Errors
/// Always [`Refusal::NotLinux`].
#[cfg(not(target_os = "linux"))]
pub fn enter() -> Result<(), Refusal> {
    Err(Refusal::NotLinux)
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{TUN, leave_network, open_tun};

#[cfg(target_os = "linux")]
mod linux {
    use super::Refusal;
    use crate::kernel;
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::os::unix::fs::OpenOptionsExt;
    use std::thread;

    /// What a host's device is called; each is alone in its namespace. Chromium takes a host that has nothing but
    /// devices called `tun` for one without a network.
    pub(crate) const TUN: &str = "link0";
    const DRIVER: &str = "/dev/net/tun";
    /// The bit of CAP_SYS_ADMIN, with which one makes namespaces.
    const ADMINISTRATOR: u64 = 1 << 21;

    pub(super) fn access() -> Result<(), Refusal> {
        let attempt = || leave_network().and_then(|()| open_tun(TUN).map(drop));
        thread::scope(|scope| scope.spawn(attempt).join()).expect("an attempt does not panic")
    }

    /// Moves this thread into a network namespace of its own.
    pub(crate) fn leave_network() -> Result<(), Refusal> {
        kernel::leave_network().map_err(|error| Refusal::Namespaces(number(&error)))
    }

    /// A new TUN device of this name in this thread's namespace, which lasts until it is closed. Reading does not wait.
    pub(crate) fn open_tun(name: &str) -> Result<File, Refusal> {
        let tun = open_driver()?;
        kernel::make_tun(&tun, name).map_err(|error| Refusal::Tun(number(&error)))?;
        Ok(tun)
    }

    fn open_driver() -> Result<File, Refusal> {
        let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DRIVER);
        opened.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => Refusal::NoTun,
            Some(libc::EACCES | libc::EPERM) => Refusal::TunForbidden,
            _ => Refusal::of_process(&error).unwrap_or(Refusal::Tun(number(&error))),
        })
    }

    pub(super) fn enter() -> Result<(), Refusal> {
        if is_administrator() {
            return Ok(());
        }
        let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads > 1 {
            return Err(Refusal::Threads(threads));
        }
        // While it can still be reported: once inside, the process has no rights to the machine's files.
        open_driver()?;
        let (user, group) = kernel::user_and_group();
        let inside = kernel::leave_user().and_then(|()| {
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
            fs::write("/proc/self/gid_map", format!("0 {group} 1"))
        });
        inside.map_err(|error| Refusal::UserNamespaces(number(&error)))
    }

    /// Whether this process has the privilege to make namespaces.
    fn is_administrator() -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let capabilities = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
        capabilities.is_some_and(|bits| bits & ADMINISTRATOR != 0)
    }

    fn number(error: &io::Error) -> i32 {
        error.raw_os_error().unwrap_or(libc::EIO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_line_that_ends_with_what_to_do() {
        for (refusal, remedy) in [
            (Refusal::NotLinux, "use the simulator"),
            (Refusal::Namespaces(1), "(Operation not permitted): run it as root"),
            (Refusal::UserNamespaces(28), "(No space left on device): run as root, or allow them with 'sysctl"),
            (Refusal::Threads(3), "has 3 threads"),
            (Refusal::NoTun, "'modprobe tun'"),
            (Refusal::TunForbidden, "'chmod 0666 /dev/net/tun'"),
            (Refusal::Files, "'ulimit -n 1024'"),
            (Refusal::Tun(1), "run as root"),
        ] {
            let message = refusal.to_string();
            assert!(message.contains(remedy) && !message.contains('\n') && !message.contains("  "), "{message}");
        }
    }
}
