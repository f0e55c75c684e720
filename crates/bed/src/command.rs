//! A command on a host of the bed: any program, which sees the host's network and, where it is wanted, files of its
//! own. It and all that it starts end with it, and with this process.

use crate::kernel::contained::{self, BindMount, Container};
use crate::{Bed, BedError, BedHost, HostTask};
use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// What is to be run, and what it sees.
#[derive(Clone, Debug, Default)]
pub struct HostCommand {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Variables of its environment, besides those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Files and directories that it sees in the place of others: what, and where.
    pub instead: Vec<(PathBuf, PathBuf)>,
    /// The folder of these files: the caller's to remove, but if this process is killed it is removed with the command.
    pub folder: Option<PathBuf>,
    /// Whether it has a terminal and standard input.
    pub session: CommandSession,
}

/// Whether a command has the terminal of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CommandSession {
    /// It has it, with its standard input and its keys.
    #[default]
    Shared,
    /// It has none: keys mean another command. It has no input, and its output goes to standard error.
    Own,
}

/// Why a command is not run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No program was named.
    #[error("no command was given")]
    Empty,
    /// There is no such program, or it cannot be run.
    #[error("{}: {error}", program.to_string_lossy())]
    Program {
        /// What was given.
        program: OsString,
        /// Why not.
        error: io::Error,
    },
    /// Processes cannot have files and a `/proc` of their own here.
    #[error("this process may not give a command files and processes of its own ({0}): run it as root")]
    Contain(io::Error),
    /// A path cannot be replaced.
    #[error("{}: {error}; it has to be there to be replaced", path.display())]
    Instead {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// A command that is running.
#[derive(Debug)]
pub struct RunningCommand {
    process: Arc<Mutex<Option<Child>>>,
    task: HostTask<io::Result<i32>>,
}

impl Bed {
    /// Starts a command on a host.
    ///
    /// # Errors
    /// If it cannot be run.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn start(&self, host: BedHost, command: HostCommand) -> Result<RunningCommand, CommandError> {
        let (started, is_started) = mpsc::sync_channel(1);
        let process = Arc::new(Mutex::new(None));
        let own = process.clone();
        // The command ends with the thread that starts it, which therefore waits for it.
        let task = self.spawn(host, move || {
            let number = match start(&command) {
                Ok(child) => {
                    let number = child.id();
                    *locked(&own) = Some(child);
                    let _ = started.send(Ok(()));
                    number
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    return Ok(0);
                }
            };
            contained::await_end(number)?;
            let child = locked(&own).take();
            child.map_or(Ok(0), |mut child| child.wait().map(|status| contained::exit_status(status.into_raw())))
        });
        match is_started.recv() {
            Ok(Err(error)) => Err(error),
            // A thread that panicked says so when it is waited for.
            Ok(Ok(())) | Err(_) => Ok(RunningCommand { process, task }),
        }
    }
}

impl RunningCommand {
    /// Gives it the signal of this number, if it has not ended.
    pub fn signal(&self, signal: i32) {
        if let Some(child) = &*locked(&self.process) {
            contained::send_signal(child.id(), signal);
        }
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for its end: its exit code, or 128 and the number of the signal that has ended it.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn wait(self) -> Result<i32, BedError> {
        self.task.join().map_err(BedError::host("waiting for a command"))
    }
}

fn locked(process: &Mutex<Option<Child>>) -> MutexGuard<'_, Option<Child>> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command on this thread's host.
fn start(command: &HostCommand) -> Result<Child, CommandError> {
    let [program, arguments @ ..] = &command.words[..] else { return Err(CommandError::Empty) };
    let mounts = command.instead.iter().map(|(source, target)| mount(source, target));
    let mounts = mounts.collect::<Result<Vec<_>, _>>()?;
    contained::can_contain().map_err(CommandError::Contain)?;
    let mut made = std::process::Command::new(program);
    made.args(arguments).envs(command.environment.iter().cloned());
    if command.session == CommandSession::Own {
        made.stdin(Stdio::null()).stdout(io::stderr());
    }
    let left_behind = command.folder.as_deref().map(text).transpose()?;
    let has_session = command.session == CommandSession::Own;
    contained::contain(&mut made, Container { mounts, has_session, left_behind });
    made.spawn().map_err(|error| CommandError::Program { program: program.clone(), error })
}

fn mount(source: &Path, target: &Path) -> Result<BindMount, CommandError> {
    Ok(BindMount { source: text(source)?, target: text(target)? })
}

/// A path that is there, as the kernel wants it.
fn text(path: &Path) -> Result<CString, CommandError> {
    let refused = |error| CommandError::Instead { path: path.to_owned(), error };
    path.symlink_metadata().map_err(refused)?;
    CString::new(path.as_os_str().as_bytes()).map_err(|error| refused(error.into()))
}
