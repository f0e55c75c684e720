//! Which connections are ready, so that an iteration of the host looks at those and no other.

use loadstone_load::ConnId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The connections of a host that are ready.
#[derive(Debug)]
pub(crate) struct ReadySet(Arc<Mutex<ReadyConns>>);

/// Which became ready since the host last looked. Invariant: if `conns` is not empty, the host's task is running or
/// has been woken.
#[derive(Debug)]
struct ReadyConns {
    conns: BTreeSet<ConnId>,
    task: Waker,
}

/// Adds one connection to those that are ready.
#[derive(Debug)]
struct ReadyWaker {
    conn: ConnId,
    ready: Arc<Mutex<ReadyConns>>,
}

impl ReadySet {
    /// A set that wakes no task before [`ReadySet::take`] has named one.
    pub(crate) fn new() -> ReadySet {
        ReadySet(Arc::new(Mutex::new(ReadyConns { conns: BTreeSet::new(), task: Waker::noop().clone() })))
    }

    /// A waker that sets `conn` ready and wakes the host's task.
    pub(crate) fn of(&self, conn: ConnId) -> Waker {
        Waker::from(Arc::new(ReadyWaker { conn, ready: self.0.clone() }))
    }

    /// Adds `conn` while the task is running.
    pub(crate) fn insert(&self, conn: ConnId) {
        lock(&self.0).conns.insert(conn);
    }

    /// Whether none is ready.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).conns.is_empty()
    }

    /// The ready connections, ascending and each once. A connection that becomes ready from now on wakes `task`.
    pub(crate) fn take(&self, task: &Waker) -> BTreeSet<ConnId> {
        let mut ready = lock(&self.0);
        ready.task.clone_from(task);
        std::mem::take(&mut ready.conns)
    }
}

impl Wake for ReadyWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut ready = lock(&self.ready);
        // Waking costs a system call, and once is enough.
        let task = ready.conns.is_empty().then(|| ready.task.clone());
        ready.conns.insert(self.conn);
        drop(ready);
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// Nothing is left half done under the lock, so a panic elsewhere does no harm.
fn lock(ready: &Mutex<ReadyConns>) -> MutexGuard<'_, ReadyConns> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn taken(ready: &ReadySet, task: &Waker) -> Vec<u32> {
        ready.take(task).into_iter().map(|conn| conn.0).collect()
    }

    #[test]
    fn wakers_add_connections_once_and_in_order_and_wake_the_task_once_until_it_looks() {
        let (ready, task) = (ReadySet::new(), Arc::new(Task(AtomicU32::new(0))));
        let waker = Waker::from(task.clone());
        let woken = || task.0.load(Ordering::Relaxed);
        let [one, two] = [1, 2].map(|conn| ready.of(ConnId(conn)));
        assert_eq!(taken(&ready, &waker), [0; 0]);
        two.wake_by_ref();
        one.wake_by_ref();
        two.wake_by_ref();
        assert_eq!((woken(), ready.is_empty()), (1, false));
        assert_eq!(taken(&ready, &waker), [1, 2]);
        assert!(ready.is_empty());
        two.wake();
        assert_eq!((woken(), taken(&ready, &waker)), (2, vec![2]));
    }

    #[test]
    fn inserting_while_the_task_runs_does_not_wake_it() {
        let (ready, task) = (ReadySet::new(), Arc::new(Task(AtomicU32::new(0))));
        let waker = Waker::from(task.clone());
        ready.take(&waker);
        ready.insert(ConnId(3));
        assert_eq!((task.0.load(Ordering::Relaxed), taken(&ready, &waker)), (0, vec![3]));
    }
}
