//! How one thread tells another to stop.

use tokio::sync::watch;

/// Stops the holders of its [`Stop`]: by [`Stopper::stop`], or when it is dropped, so that nothing goes on after a
/// panic.
#[derive(Debug)]
pub struct Stopper(watch::Sender<()>);

/// The other half: its holders stop at once when the [`Stopper`] does, whatever they wait for.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<()>);

impl Stopper {
    /// A pair that belongs together.
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
    /// Whether it has come.
    pub fn is_stopped(&self) -> bool {
        self.0.has_changed().is_err()
    }

    /// Waits for it.
    pub(crate) async fn wait(&self) {
        let mut signal = self.0.clone();
        // Nothing is ever sent: what comes is the end of the other half.
        while signal.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stop_when_told_to_and_when_the_stopper_is_gone() {
        let (stopper, stop) = Stopper::new();
        let other = stop.clone();
        assert!(!stop.is_stopped() && !other.is_stopped());
        stopper.stop();
        assert!(stop.is_stopped() && other.is_stopped());
        let (stopper, stop) = Stopper::new();
        drop(stopper);
        assert!(stop.is_stopped());
    }
}
