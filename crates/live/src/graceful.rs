//! How a program that serves strangers is run and ends: what is under way may come to its end.

use crate::connection_table::ClosedTable;
use crate::host::HostLoop;
use crate::{Error, Stop};
use loadstone_load::{Origin, Program, Site};
use loadstone_units::Time;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// A program that can leave.
pub(crate) trait Graceful: Program + Sized {
    /// What may be asked of it while it runs.
    type Order;
    /// Whether what comes for a connection from several others goes out at once ([`HostLoop::gather`]).
    const GATHERS: bool;

    /// Does what is asked.
    ///
    /// # Errors
    /// If there is no `ConnId` left for a connection.
    fn obey(host: &mut HostLoop<'_, Self>, order: Self::Order) -> Result<(), Error>;

    /// Begins to leave: what is under way goes on to its end, and no connection is used for more.
    fn shut_down(&mut self, now: Time);

    /// Gives up whatever is under way.
    fn give_up(&mut self, now: Time);
}

/// What those say who run a program.
#[derive(Debug)]
pub(crate) struct Orders<'a, O> {
    /// It is to leave.
    pub(crate) graceful: &'a Stop,
    /// It is to end at once.
    pub(crate) immediate: &'a Stop,
    /// What else is asked of it.
    pub(crate) others: UnboundedReceiver<O>,
}

/// The next of the orders, unless `stop` comes.
async fn next<O>(others: &mut UnboundedReceiver<O>, stop: &Stop) -> Option<O> {
    let mut stop = pin!(stop.wait());
    poll_fn(|cx| {
        if stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        match others.poll_recv(cx) {
            Poll::Ready(Some(order)) => Poll::Ready(Some(order)),
            // Nobody is left who could ask for anything.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    })
    .await
}

impl<S: Site> Graceful for Origin<S> {
    type Order = Infallible;
    const GATHERS: bool = false;

    fn obey(_: &mut HostLoop<'_, Self>, order: Infallible) -> Result<(), Error> {
        match order {}
    }

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

/// Serves until `orders` say that it leaves: then stops listening, announces the shutdown on all connections, and lets what
/// is under way finish, until they end it or `grace` is over.
pub(crate) async fn run_gracefully<P: Graceful>(
    mut host: HostLoop<'_, P>,
    grace: Duration,
    orders: Orders<'_, P::Order>,
) -> Result<Finished, Error> {
    if P::GATHERS {
        host.gather();
    }
    let Orders { graceful, immediate, mut others } = orders;
    while let Some(Some(order)) = host.run(Time::NEVER, next(&mut others, graceful), |_| false).await? {
        P::obey(&mut host, order)?;
    }
    host.stop_accepting();
    let now = host.now();
    host.program.shut_down(now);
    host.run_actions(now)?;
    let until = now + grace;
    while let Some(Some(order)) = host.run(until, next(&mut others, immediate), HostLoop::has_no_connections).await? {
        P::obey(&mut host, order)?;
    }
    let now = host.now();
    host.program.give_up(now);
    let (_, ClosedTable { peak_connections, still_open, .. }) = host.finish();
    Ok(Finished { peak_connections, still_open })
}
