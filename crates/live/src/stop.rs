//! How one thread tells another to stop.

use tokio::sync::watch;

/// What stops those who hold its [`Stop`]: by [`Stopper::stop`], or when it is dropped, so that
/// nobody goes on after a panic.
#[derive(Debug)]
pub struct Stopper(watch::Sender<()>);

/// Held by those who are to stop when its [`Stopper`] says so. They do at once, whatever they wait for.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<()>);

impl Stopper {
    /// A pair of those that belong together.
    pub fn new() -> (Stopper, Stop) {
        let (sender, receiver) = watch::channel(());
        (Stopper(sender), Stop(receiver))
    }

    /// Stops them.
    pub fn stop(self) {
        drop(self.0);
    }
}

impl Stop {
    /// Waits for it.
    pub(crate) async fn wait(&self) {
        let mut signal = self.0.clone();
        // Nothing is ever sent: what comes is the end of the other half.
        while signal.changed().await.is_ok() {}
    }
}
