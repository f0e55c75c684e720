//! A process with all that it starts: it has its own view of files, and ends with whoever started it.
//!
//! Between it and the starter are two more processes. The *keeper* is the starter's child. The *first* is the keeper's,
//! and the first of a PID namespace: when it ends the kernel ends all others there. Both do nothing but wait, pass
//! signals on, and end as the process did. After `fork` in a program with threads only system calls are safe, so
//! nothing here allocates.

use super::check;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A file or directory that the process sees in the place of another.
#[derive(Clone, Debug)]
pub(crate) struct BindMount {
    /// What it sees.
    pub(crate) source: CString,
    /// Where; something has to be there.
    pub(crate) target: CString,
}

/// The first status of a shell for a process that a signal has ended; the signal's number is added.
const KILLED: i32 = 128;

/// Whether a process can be contained here: it needs a `/proc` of its own, which some containers refuse.
pub(crate) fn can_contain() -> io::Result<()> {
    match fork(libc::CLONE_NEWPID | libc::CLONE_NEWNS)? {
        None => exit(i32::from(own_files(&[]).is_err())),
        Some(child) => match wait(child)? {
            0 => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::EPERM)),
        },
    }
}

/// How a process is contained.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) mounts: Vec<BindMount>,
    /// It leads a session of its own, and so has no terminal.
    pub(crate) has_session: bool,
    /// A directory that is removed if the starter is killed, which would have done so itself.
    pub(crate) left_behind: Option<CString>,
}

/// Contains what `command` will start: it ends when the thread ends that starts it. It has ordinary priority.
pub(crate) fn contain(command: &mut Command, container: Container) {
    // SAFETY: what runs between fork and exec are system calls; nothing is allocated or locked.
    unsafe { command.pre_exec(move || enter(&container)) };
}

/// Waits until a child of this process has ended, and leaves it to be waited for.
pub(crate) fn await_end(child: u32) -> io::Result<()> {
    loop {
        // SAFETY: all zeros are a siginfo_t; it lives through the call, which writes it.
        let ended = check(unsafe {
            let mut info = std::mem::zeroed::<libc::siginfo_t>();
            libc::waitid(libc::P_PID, child, &mut info, libc::WEXITED | libc::WNOWAIT)
        });
        match ended {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives a process the signal of this number.
pub(crate) fn send_signal(process: u32, signal: i32) {
    // SAFETY: no memory is involved. A process that has ended meanwhile is not waited for yet, so its number is its own.
    let _ = unsafe { libc::kill(process as libc::pid_t, signal) };
}

/// Makes of this process the keeper and the first, and returns in the one that is to become the command.
fn enter(container: &Container) -> io::Result<()> {
    if container.has_session {
        // SAFETY: no memory is involved. A child leads no process group, so it may.
        check(unsafe { libc::setsid() })?;
    }
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter lives through the call, which only reads it.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &parameter) })?;
    block_signals(libc::SIG_SETMASK)?;
    signal_at_end_of_parent(orphaned())?;
    if let Some(first) = fork(libc::CLONE_NEWPID | libc::CLONE_NEWNS)? {
        keep(first, container.left_behind.as_deref());
    }
    signal_at_end_of_parent(libc::SIGKILL)?;
    own_files(&container.mounts)?;
    if let Some(own) = fork(0)? {
        keep(own, None);
    }
    block_signals(libc::SIG_UNBLOCK)
}

/// Lets this process get a signal when the thread ends that started it.
fn signal_at_end_of_parent(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) }).map(drop)
}

/// What the keeper gets when its starter has been killed: nobody else sends this signal.
fn orphaned() -> libc::c_int {
    libc::SIGRTMAX()
}

/// Becomes a program that removes a directory; or ends, if there is none.
fn remove(directory: Option<&CStr>) -> ! {
    if let Some(directory) = directory {
        let words = [c"rm".as_ptr(), c"-rf".as_ptr(), c"--".as_ptr(), directory.as_ptr(), std::ptr::null()];
        // SAFETY: the words and their list live until the program of this process is another one.
        unsafe { libc::execv(c"/bin/rm".as_ptr(), words.as_ptr()) };
    }
    exit(KILLED + libc::SIGKILL)
}

/// Makes the mounts, which nobody else sees, and a `/proc` with the processes of this PID namespace.
fn own_files(mounts: &[BindMount]) -> io::Result<()> {
    mount(None, c"/", libc::MS_REC | libc::MS_PRIVATE)?;
    for BindMount { source, target } in mounts {
        mount(Some(source), target, libc::MS_BIND)?;
    }
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: the strings live through the call.
    let made = unsafe { libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null()) };
    check(made).map(drop)
}

fn mount(source: Option<&CStr>, target: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    let source = source.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the strings live through the call.
    check(unsafe { libc::mount(source, target.as_ptr(), std::ptr::null(), flags, std::ptr::null()) }).map(drop)
}

/// Forks into new namespaces: the child's number, or nothing in the child.
fn fork(namespaces: libc::c_int) -> io::Result<Option<libc::pid_t>> {
    // SAFETY: without a stack of its own the child goes on here with a copy of all memory, as after fork. All
    // arguments but the flags are zero, so their order, which differs between processors, does not matter.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(namespaces | libc::SIGCHLD), 0, 0, 0, 0) };
    let child = check(child as libc::c_int)?;
    Ok((child != 0).then_some(child))
}

/// Blocks all signals, or lets all come again.
fn block_signals(how: libc::c_int) -> io::Result<()> {
    let all = all_signals();
    // SAFETY: the set lives through the call.
    match unsafe { libc::pthread_sigmask(how, &all, std::ptr::null_mut()) } {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

fn all_signals() -> libc::sigset_t {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: the call writes the whole set.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        all.assume_init()
    }
}

/// Waits for a child, passes signals on to it, and ends as it does. If the starter is killed it ends the child, and
/// removes what the starter leaves behind.
fn keep(child: libc::pid_t, left_behind: Option<&CStr>) -> ! {
    // Pipes that others read from have to close when the command ends.
    // SAFETY: no memory is involved, and nothing of this process is used from here on.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    if closed != 0 {
        for descriptor in 3..65_536 {
            // SAFETY: the same. This is what kernels before 5.9 know.
            let _ = unsafe { libc::close(descriptor) };
        }
    }
    let all = all_signals();
    loop {
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the set and the information live through the call, which writes the latter.
        let signal = unsafe { libc::sigwaitinfo(&all, info.as_mut_ptr()) };
        // SAFETY: all zeros are a siginfo_t, too.
        let by_kernel = unsafe { info.assume_init() }.si_code == SI_KERNEL;
        match signal {
            libc::SIGCHLD => {
                if let Some(status) = ended(child) {
                    exit(status);
                }
            }
            signal if signal == orphaned() => {
                send_signal(child as u32, libc::SIGKILL);
                let _whatever = wait(child);
                remove(left_behind);
            }
            // The terminal gives these to the command as well.
            libc::SIGINT | libc::SIGQUIT | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU if by_kernel => {}
            libc::SIGCONT | libc::SIGWINCH => {}
            // A child that has ended is not waited for yet, so its number is its own.
            1.. => send_signal(child as u32, signal),
            _ => {}
        }
    }
}

/// What a signal says that the kernel sends.
const SI_KERNEL: libc::c_int = 0x80;

/// Waits for all children that have ended: the status of this one, if it is among them.
fn ended(child: libc::pid_t) -> Option<i32> {
    let mut of_child = None;
    loop {
        let mut status = 0;
        // SAFETY: the status lives through the call.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            1.. if libc::WIFSTOPPED(status) || libc::WIFCONTINUED(status) => {}
            number @ 1.. if number == child => of_child = Some(exit_status(status)),
            1.. => {}
            _ => return of_child,
        }
    }
}

/// Waits until a child ends: its status.
fn wait(child: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the status lives through the call.
        match check(unsafe { libc::waitpid(child, &mut status, 0) }) {
            Ok(_) => return Ok(exit_status(status)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The exit code of a shell for what `wait` says of a process.
pub(crate) fn exit_status(status: libc::c_int) -> i32 {
    if libc::WIFSIGNALED(status) { KILLED + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
}

/// Ends this process without running anything else of its program.
fn exit(status: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(status) }
}
