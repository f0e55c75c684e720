//! How a program that serves strangers is run and ends: what is under way may come to its end.

use crate::connection_table::ClosedTable;
use crate::host::HostLoop;
use crate::{Error, Stop};
use loadstone_load::{Origin, Program, Site};
use loadstone_units::Time;
use std::time::Duration;

/// A program that can leave.
pub(crate) trait Graceful: Program {
    /// Begins to leave: what is under way goes on to its end, and no connection is used for more.
    fn shut_down(&mut self, now: Time);

    /// Gives up whatever is under way.
    fn give_up(&mut self, now: Time);
}

impl<S: Site> Graceful for Origin<S> {
    fn shut_down(&mut self, now: Time) {
        Origin::shut_down(self, now);
    }

    fn give_up(&mut self, now: Time) {
        Origin::give_up(self, now);
    }
}

/// What a server did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The most connections that it had at a time.
    pub peak_connections: usize,
    /// How many it still had when it ended.
    pub still_open: usize,
}

/// Serves until `graceful` comes: then stops listening, announces the shutdown on all connections, and lets what
/// is under way finish, until `immediate` comes or `grace` is over.
pub(crate) async fn run_gracefully<P: Graceful>(
    mut host: HostLoop<'_, P>,
    grace: Duration,
    graceful: &Stop,
    immediate: &Stop,
) -> Result<Finished, Error> {
    host.run(Time::NEVER, graceful, |_| false).await?;
    host.stop_accepting();
    let now = host.now();
    host.program.shut_down(now);
    host.run_actions(now)?;
    host.run(now + grace, immediate, HostLoop::has_no_connections).await?;
    let now = host.now();
    host.program.give_up(now);
    let (_, ClosedTable { peak_connections, still_open, .. }) = host.finish();
    Ok(Finished { peak_connections, still_open })
}
