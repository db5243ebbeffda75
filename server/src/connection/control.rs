//! What the handle of a connection and its task share: the orders that the wire obeys, and its reports.
//!
//! The task writes without a lock as long as no order is given: it loads [`Flags`] once a write. Orders and reports
//! stand behind a short lock. Who gives an order changes the state first and wakes the task then; the task registers
//! to be woken first and looks at the state then. So no order is missed.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use super::handle::{Allowance, Closed, Cut, Settled};

pub(super) struct Control {
    id: u64,
    peer: SocketAddr,
    flags: AtomicU8,
    written: AtomicU64,
    task: AtomicWaker,
    orders: Mutex<Orders>,
    reports: Mutex<Reports>,
    /// Rings after each new report, and when the connection closes.
    news: Notify,
}

/// A snapshot of a connection's state, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    /// Writes have to ask [`Control::write`] how much they may write.
    pub(super) const LIMITED: Self = Self(1);
    /// A cut has to be carried out, before anything else is written.
    pub(super) const CUT: Self = Self(1 << 1);
    /// Someone waits for a report.
    const AWAITED: Self = Self(1 << 2);
    /// The connection is to end after the answer that it is at.
    const FINISH: Self = Self(1 << 3);
    /// The last write met a full socket.
    const BLOCKED: Self = Self(1 << 4);
    /// A write waits for an allowance.
    const STALLED: Self = Self(1 << 5);
    /// The client is in the middle of a request: its body has not been read to the end.
    const RECEIVING: Self = Self(1 << 6);
    const CLOSED: Self = Self(1 << 7);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn any_of(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

#[derive(Debug, Default)]
struct Orders {
    /// Wire bytes that may still be written; without bound if there is none.
    allowance: Option<u64>,
    /// Wire bytes until the cut, and the cut.
    cut_after: Option<(u64, Cut)>,
    /// The cut that has to be carried out.
    cut: Option<Cut>,
}

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
            flags: AtomicU8::new(0),
            written: AtomicU64::new(0),
            task: AtomicWaker::new(),
            orders: Mutex::default(),
            reports: Mutex::new(Reports { waiting: 0, attempts: 0, flushes: 0, latest: Settled::Flushed }),
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
        let mut orders = self.orders();
        orders.cut_after = Some((bytes, how));
        self.publish(orders);
    }

    pub(super) fn allow(&self, allowance: Allowance) {
        let mut orders = self.orders();
        orders.allowance = match allowance {
            Allowance::Unlimited => None,
            Allowance::Bytes(bytes) => Some(bytes),
        };
        self.publish(orders);
    }

    /// Lets the task see what has been ordered.
    fn publish(&self, mut orders: MutexGuard<'_, Orders>) {
        self.judge(&mut orders);
        drop(orders);
        self.task.wake();
    }

    /// Brings the flags in line with the orders, under the orders' lock.
    fn judge(&self, orders: &mut Orders) {
        if let Some((0, how)) = orders.cut_after {
            orders.cut_after = None;
            orders.cut.get_or_insert(how);
            self.raise(Flags::CUT);
        }
        if orders.allowance.is_some() || orders.cut_after.is_some() {
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
        if self.flags().any_of(Flags::CUT) { self.orders().cut } else { None }
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
        if orders.cut.is_some() {
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
            self.judge(&mut orders);
        }
        outcome
    }

    /// Whether the write side may be closed: not while the wire is held.
    pub(super) fn may_end(&self) -> bool {
        let orders = self.orders();
        if orders.cut.is_none() && orders.allowance != Some(0) {
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
        self.news.notify_waiters();
    }
}

impl Orders {
    fn room(&self) -> u64 {
        let until_cut = self.cut_after.map_or(u64::MAX, |(bytes, _)| bytes);
        self.allowance.unwrap_or(u64::MAX).min(until_cut)
    }

    fn spend(&mut self, bytes: u64) {
        if let Some(allowance) = &mut self.allowance {
            *allowance -= bytes;
        }
        if let Some((until_cut, _)) = &mut self.cut_after {
            *until_cut -= bytes;
        }
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
