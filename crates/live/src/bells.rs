//! A bell for each connection, so that a turn of the host attends those that have rung, and no other.

use loadstone_load::ConnId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// All bells of a host.
#[derive(Debug)]
pub(crate) struct Bells(Arc<Mutex<Rung>>);

/// Which have rung since the host last looked. As long as that is anyone, the host's task is awake, or
/// has been woken.
#[derive(Debug)]
struct Rung {
    conns: BTreeSet<ConnId>,
    task: Waker,
}

/// One connection's.
#[derive(Debug)]
struct Bell {
    conn: ConnId,
    rung: Arc<Mutex<Rung>>,
}

impl Bells {
    /// Bells that wake nobody before [`Bells::take`] has said whom.
    pub(crate) fn new() -> Bells {
        Bells(Arc::new(Mutex::new(Rung { conns: BTreeSet::new(), task: Waker::noop().clone() })))
    }

    /// What wakes the host's task and says that it was for `conn`.
    pub(crate) fn of(&self, conn: ConnId) -> Waker {
        Waker::from(Arc::new(Bell { conn, rung: self.0.clone() }))
    }

    /// Rings for `conn` while the task is awake.
    pub(crate) fn ring(&self, conn: ConnId) {
        lock(&self.0).conns.insert(conn);
    }

    /// Whether none has rung.
    pub(crate) fn are_silent(&self) -> bool {
        lock(&self.0).conns.is_empty()
    }

    /// Those that have rung, ascending and each once. Who rings from now on wakes `task`.
    pub(crate) fn take(&self, task: &Waker) -> BTreeSet<ConnId> {
        let mut rung = lock(&self.0);
        rung.task.clone_from(task);
        std::mem::take(&mut rung.conns)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut rung = lock(&self.rung);
        // Waking costs a call to the system, and once is enough.
        let task = rung.conns.is_empty().then(|| rung.task.clone());
        rung.conns.insert(self.conn);
        drop(rung);
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// Nothing is left half done under the lock, so a panic elsewhere does no harm.
fn lock(rung: &Mutex<Rung>) -> MutexGuard<'_, Rung> {
    rung.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A task that counts how often it is woken.
    struct Task(AtomicU32);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn taken(bells: &Bells, task: &Waker) -> Vec<u32> {
        bells.take(task).into_iter().map(|conn| conn.0).collect()
    }

    #[test]
    fn who_rings_is_noted_once_and_in_order_and_the_task_is_woken_once_until_it_looks() {
        let (bells, task) = (Bells::new(), Arc::new(Task(AtomicU32::new(0))));
        let waker = Waker::from(task.clone());
        let woken = || task.0.load(Ordering::Relaxed);
        let [one, two] = [1, 2].map(|conn| bells.of(ConnId(conn)));
        assert_eq!(taken(&bells, &waker), [0; 0]);
        two.wake_by_ref();
        one.wake_by_ref();
        two.wake_by_ref();
        assert_eq!((woken(), bells.are_silent()), (1, false));
        assert_eq!(taken(&bells, &waker), [1, 2]);
        assert!(bells.are_silent());
        two.wake();
        assert_eq!((woken(), taken(&bells, &waker)), (2, vec![2]));
    }

    #[test]
    fn a_host_that_rings_itself_is_not_woken() {
        let (bells, task) = (Bells::new(), Arc::new(Task(AtomicU32::new(0))));
        let waker = Waker::from(task.clone());
        bells.take(&waker);
        bells.ring(ConnId(3));
        assert_eq!((task.0.load(Ordering::Relaxed), taken(&bells, &waker)), (0, vec![3]));
    }
}
