//! What the handle of a connection and its task share: the orders that the wire obeys, and its reports.
//!
//! The task writes without a lock as long as no order is given: it loads [`Flags`] once a write. Orders and reports
//! stand behind a short lock. Who gives an order changes the state first and wakes the task then; the task registers
//! to be woken first and looks at the state then. So no order is missed.

mod flags;
mod orders;

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

pub(super) use self::flags::Flags;
use self::orders::Orders;
use super::handle::{Allowance, Closed, Cut, Settled};

/// One connection, shared by its handles and its task.
pub(super) struct Control {
    id: u64,
    peer: SocketAddr,
    flags: AtomicU16,
    written: AtomicU64,
    task: AtomicWaker,
    orders: Mutex<Orders>,
    reports: Mutex<Reports>,
    /// What is to be done with the next flush.
    once_flushed: Mutex<Vec<OnceFlushed>>,
    /// Rings after each new report, and when the connection closes.
    news: Notify,
}

/// What someone wants done once bytes have left.
type OnceFlushed = Box<dyn FnOnce() + Send>;

/// Counts every time the task has tried to write what it has, while someone waits for that.
#[derive(Clone, Copy, Debug)]
struct Reports {
    waiting: u32,
    attempts: u64,
    flushes: u64,
    latest: Settled,
}

impl Control {
    pub(super) fn new(id: u64, peer: SocketAddr) -> Self {
        Self {
            id,
            peer,
            flags: AtomicU16::new(0),
            written: AtomicU64::new(0),
            task: AtomicWaker::new(),
            orders: Mutex::default(),
            reports: Mutex::new(Reports { waiting: 0, attempts: 0, flushes: 0, latest: Settled::Flushed }),
            once_flushed: Mutex::default(),
            news: Notify::new(),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn flags(&self) -> Flags {
        Flags(self.flags.load(Ordering::Acquire))
    }

    fn raise(&self, flags: Flags) {
        self.flags.fetch_or(flags.0, Ordering::AcqRel);
    }

    fn clear(&self, flags: Flags) {
        self.flags.fetch_and(!flags.0, Ordering::AcqRel);
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        // Nothing panics while it holds the lock, and the orders are whole at any moment.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<OnceFlushed>> {
        self.once_flushed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reports(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For the handle.
impl Control {
    pub(super) fn bytes_written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.flags().any_of(Flags::BLOCKED)
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.flags().any_of(Flags::STALLED)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.flags().any_of(Flags::CLOSED)
    }

    pub(super) async fn closed(&self) {
        self.news_until(|| self.is_closed().then_some(())).await;
    }

    pub(super) async fn flushed(&self) -> Result<(), Closed> {
        let waiting = Waiting::new(self);
        self.news_until(|| {
            if self.reports().flushes > waiting.since.flushes {
                Some(Ok(()))
            } else if self.is_closed() {
                Some(Err(Closed))
            } else {
                None
            }
        })
        .await
    }

    pub(super) async fn settled(&self) -> Settled {
        let waiting = Waiting::new(self);
        self.news_until(|| {
            let reports = *self.reports();
            if reports.attempts > waiting.since.attempts {
                Some(reports.latest)
            } else if self.is_closed() {
                Some(Settled::Closed)
            } else {
                None
            }
        })
        .await
    }

    pub(super) fn once_flushed(&self, then: OnceFlushed) {
        let mut waiting = self.listeners();
        waiting.push(then);
        self.raise(Flags::LISTENED);
    }

    /// Looks again after all news, until there is an answer.
    async fn news_until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            // It has to exist before we look: from then on it hears of everything.
            let news = self.news.notified();
            if let Some(found) = look() {
                return found;
            }
            news.await;
        }
    }

    pub(super) fn cut(&self, how: Cut) {
        self.cut_after(0, how);
    }

    pub(super) fn cut_after(&self, bytes: u64, how: Cut) {
        self.order(|orders| orders.cut_after(bytes, how));
    }

    pub(super) fn allow(&self, allowance: Allowance) {
        self.order(|orders| orders.allow(allowance));
    }

    /// Gives an order, and lets the task see it.
    fn order(&self, give: impl FnOnce(&mut Orders)) {
        let mut orders = self.orders();
        give(&mut orders);
        self.announce(&orders);
        drop(orders);
        self.task.wake();
    }

    /// Brings the flags in line with the orders. Only for who holds the orders' lock.
    fn announce(&self, orders: &Orders) {
        if orders.due_cut().is_some() {
            self.raise(Flags::CUT);
        }
        if orders.are_limiting() {
            self.raise(Flags::LIMITED);
        } else {
            self.clear(Flags::LIMITED);
        }
    }

    /// Asks the connection to end: at once if it is idle, else after the answer that it is at.
    pub(super) fn finish(&self) {
        self.raise(Flags::FINISH);
        self.task.wake();
    }
}

/// For the task.
impl Control {
    /// Says whom to wake when there is an order. Comes before any look at the flags.
    pub(super) fn attend(&self, task: &Waker) {
        self.task.register(task);
    }

    pub(super) fn is_finishing(&self) -> bool {
        self.flags().any_of(Flags::FINISH)
    }

    /// The cut that has to be carried out now.
    pub(super) fn due_cut(&self) -> Option<Cut> {
        if self.flags().any_of(Flags::CUT) { self.orders().due_cut() } else { None }
    }

    pub(super) fn receiving(&self, receiving: bool) {
        if receiving {
            self.raise(Flags::RECEIVING);
        } else if self.is_receiving() {
            self.clear(Flags::RECEIVING);
        }
    }

    pub(super) fn is_receiving(&self) -> bool {
        self.flags().any_of(Flags::RECEIVING)
    }

    /// Writes with the leave of the orders: gives the writer the largest number of bytes that it may write.
    pub(super) fn write<E>(
        &self,
        write: impl FnOnce(u64) -> Poll<Result<usize, E>>,
    ) -> Poll<Result<usize, E>> {
        let mut orders = self.orders();
        if orders.due_cut().is_some() {
            return Poll::Pending;
        }
        let room = orders.room();
        if room == 0 {
            drop(orders);
            self.stalled();
            return Poll::Pending;
        }
        let outcome = write(room);
        if let Poll::Ready(Ok(bytes)) = outcome {
            orders.spend(bytes as u64);
            self.announce(&orders);
        }
        outcome
    }

    /// Whether the write side may be closed: not while the wire is held.
    pub(super) fn may_end(&self) -> bool {
        let orders = self.orders();
        if orders.due_cut().is_none() && !orders.stall() {
            return true;
        }
        drop(orders);
        self.stalled();
        false
    }

    /// Notes that a write, begun at these flags, has been accepted.
    pub(super) fn wrote(&self, begun: Flags, bytes: usize) {
        // Only the task writes here, so this needs no read-modify-write.
        let written = self.written.load(Ordering::Relaxed) + bytes as u64;
        self.written.store(written, Ordering::Release);
        let waits = Flags::BLOCKED.with(Flags::STALLED);
        if begun.any_of(waits) {
            self.clear(waits);
        }
    }

    /// Notes that a write has met a full socket.
    pub(super) fn blocked(&self) {
        self.clear(Flags::STALLED);
        self.raise(Flags::BLOCKED);
        self.report(Settled::Blocked);
    }

    fn stalled(&self) {
        self.clear(Flags::BLOCKED);
        self.raise(Flags::STALLED);
        self.report(Settled::Stalled);
    }

    /// Notes that all that HTTP had gathered has been written.
    pub(super) fn flush(&self) {
        if self.flags().any_of(Flags::LISTENED) {
            let mut waiting = self.listeners();
            self.clear(Flags::LISTENED);
            let due = std::mem::take(&mut *waiting);
            drop(waiting);
            due.into_iter().for_each(|then| then());
        }
        self.report(Settled::Flushed);
    }

    fn report(&self, latest: Settled) {
        if !self.flags().any_of(Flags::AWAITED) {
            return;
        }
        let mut reports = self.reports();
        reports.attempts += 1;
        reports.latest = latest;
        match latest {
            Settled::Flushed => reports.flushes += 1,
            Settled::Blocked | Settled::Stalled | Settled::Closed => {}
        }
        drop(reports);
        self.news.notify_waiters();
    }

    /// Notes that the connection has ended.
    pub(super) fn close(&self) {
        self.raise(Flags::CLOSED);
        self.listeners().clear();
        self.news.notify_waiters();
    }
}

/// Someone who waits for a report: while there is one, the task makes reports.
struct Waiting<'a> {
    control: &'a Control,
    since: Reports,
}

impl<'a> Waiting<'a> {
    fn new(control: &'a Control) -> Self {
        let mut reports = control.reports();
        reports.waiting += 1;
        control.raise(Flags::AWAITED);
        let since = *reports;
        drop(reports);
        // Whatever the task is waiting for, polling it makes it try to write, and report.
        control.task.wake();
        Self { control, since }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut reports = self.control.reports();
        reports.waiting -= 1;
        if reports.waiting == 0 {
            self.control.clear(Flags::AWAITED);
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("id", &self.id)
            .field("peer", &self.peer)
            .field("written", &self.bytes_written())
            .field("flags", &self.flags())
            .finish_non_exhaustive()
    }
}
