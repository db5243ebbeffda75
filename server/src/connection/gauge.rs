//! Counts the connections of a server while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// A gauge of open connections. Cheap to clone; all clones show the same.
///
/// It may be made before the app, so that the app can report it, and is handed to [`serve`](super::serve()). Several
/// servers may share one.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    open: watch::Sender<usize>,
    accepted: AtomicU64,
    accept_errors: AtomicU64,
}

impl Connections {
    /// How many sockets are open. A connection counts from its accept until its socket is closed.
    pub fn open(&self) -> usize {
        *self.counts.open.borrow()
    }

    /// How many connections have been accepted so far.
    pub fn accepted(&self) -> u64 {
        self.counts.accepted.load(Ordering::Relaxed)
    }

    /// How often accepting has failed so far. Such failures are survived; the usual cause is that the process has
    /// no file descriptors left, and then new clients wait until one is free.
    pub fn accept_errors(&self) -> u64 {
        self.counts.accept_errors.load(Ordering::Relaxed)
    }

    /// Resolves once the number of open connections satisfies the condition; at once if it does already.
    pub async fn until(&self, mut condition: impl FnMut(usize) -> bool) {
        let mut open = self.counts.open.subscribe();
        open.wait_for(|open| condition(*open)).await.expect("the sender lives as long as self");
    }

    /// Resolves once no connection is open.
    pub async fn closed_all(&self) {
        self.until(|open| open == 0).await;
    }

    /// Counts one connection until the guard is dropped.
    pub(super) fn enter(&self) -> Entered {
        self.counts.accepted.fetch_add(1, Ordering::Relaxed);
        self.counts.open.send_modify(|open| *open += 1);
        Entered { connections: self.clone() }
    }

    pub(super) fn count_accept_error(&self) {
        self.counts.accept_errors.fetch_add(1, Ordering::Relaxed);
    }
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Entered {
    connections: Connections,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.connections.counts.open.send_modify(|open| *open -= 1);
    }
}
