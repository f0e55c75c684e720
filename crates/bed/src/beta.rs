//! CUBIC's beta, which is one for the whole machine.

use crate::kernel;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// What CUBIC leaves of a window after a loss, of 1024.
const BETA: &str = "/sys/module/tcp_cubic/parameters/beta";
/// The whole that it is a part of.
const SCALE: u32 = 1024;

/// CUBIC's beta changed for the whole machine, for all connections on it. It is put back when this is dropped;
/// also if the process is killed, since a small one that waits for its end does so.
#[derive(Debug)]
pub(crate) struct Beta {
    keeper: Child,
}

impl Beta {
    /// Lets a loss take from every window what it takes from one of `flows` flows. Waits until no other
    /// process has changed it.
    pub(crate) fn of_flows(flows: u32) -> io::Result<Beta> {
        let open = || OpenOptions::new().read(true).write(true).open(BETA);
        let mut file = open()?;
        // The keeper has the lock too, so it lasts until the value is back.
        let held = open()?;
        kernel::lock(&held)?;
        let before = value(&file)?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", &format!("read _; echo {before}")]).stdin(Stdio::piped()).stdout(held);
        // Ctrl-C is for us.
        let keeper = keeper.process_group(0).spawn()?;
        let changed = Beta { keeper };
        write!(file, "{}", shared(before, flows))?;
        Ok(changed)
    }
}

impl Drop for Beta {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Dropping cannot report a failure.
        let _ = self.keeper.wait();
    }
}

/// beta' = 1 - (1 - beta) / n.
fn shared(beta: u32, flows: u32) -> u32 {
    SCALE - SCALE.saturating_sub(beta) / flows
}

/// What is in force.
fn value(file: &File) -> io::Result<u32> {
    let text = io::read_to_string(file)?;
    text.trim().parse().map_err(|_| io::Error::other(format!("{BETA} holds {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_flows_share_a_decrease() {
        assert_eq!([1, 2, 4, 256].map(|flows| shared(717, flows)), [717, 871, 948, 1023]);
    }
}
