//! The open streams of a workspace, for those who look at them from outside.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pantheon_core::Timestamp;
use pantheon_core::stream::StreamIx;
use tokio::sync::watch;

use super::Order;
use crate::connection::Connection;

/// The open streams of a workspace.
#[derive(Debug, Default)]
pub struct Registry {
    open: Mutex<Open>,
    /// Changes when a stream has gone quiet or has closed.
    moves: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Open {
    streams: BTreeMap<u64, Arc<OpenStream>>,
    /// How many there have been: their ids count.
    opened: u64,
    /// Of each session that has had a stream, the highest sequence that one was given.
    told: BTreeMap<String, Arc<AtomicU32>>,
}

/// One open stream.
#[derive(Debug)]
pub struct OpenStream {
    /// `stream_…`
    pub id: String,
    /// Its session.
    pub session_id: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    number: u64,
    ix: StreamIx,
    epoch: u64,
    connection: Option<Connection>,
    started_after: u32,
    /// The sequence of the last durable event that it was given.
    sequence: AtomicU32,
    /// The highest that any stream of its session was given.
    told: Arc<AtomicU32>,
    bytes: AtomicU64,
    /// Whether it has given away all that it has read, and waits for more.
    waiting: AtomicBool,
    /// Until when a fault keeps it silent, in milliseconds of the workspace's clock; 0 when none does.
    held_until: AtomicI64,
    /// What it is told from outside.
    order: watch::Sender<Order>,
    /// Whether a fault sends what comes in pieces.
    paced: AtomicBool,
}

impl Registry {
    pub(super) fn open(
        &self,
        (ix, epoch): (StreamIx, u64),
        session_id: String,
        sequence: u32,
        opened_at: Timestamp,
        connection: Option<Connection>,
    ) -> Arc<OpenStream> {
        let mut open = self.lock();
        open.opened += 1;
        let number = open.opened;
        let told = Arc::clone(open.told.entry(session_id.clone()).or_default());
        told.fetch_max(sequence, Ordering::Relaxed);
        let stream = Arc::new(OpenStream {
            id: format!("stream_{number}"),
            session_id,
            opened_at,
            number,
            ix,
            epoch,
            connection,
            started_after: sequence,
            sequence: AtomicU32::new(sequence),
            told,
            bytes: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
            held_until: AtomicI64::new(0),
            order: watch::Sender::default(),
            paced: AtomicBool::new(false),
        });
        open.streams.insert(number, Arc::clone(&stream));
        stream
    }

    pub(super) fn close(&self, stream: &OpenStream) {
        self.lock().streams.remove(&stream.number);
        self.moved();
    }

    /// How far clients have been told of a session, over all its streams: the highest sequence.
    pub(crate) fn told(&self, session_id: &str) -> u32 {
        self.lock().told.get(session_id).map_or(0, |told| told.load(Ordering::Relaxed))
    }

    /// The same of every session that has had a stream.
    pub(crate) fn all_told(&self) -> BTreeMap<String, u32> {
        let open = self.lock();
        open.told.iter().map(|(id, told)| (id.clone(), told.load(Ordering::Relaxed))).collect()
    }

    /// The world is gone, and with it what was told of its sessions.
    pub(crate) fn forget(&self) {
        self.lock().told.clear();
    }

    /// A stream has gone quiet, or has closed.
    pub(super) fn moved(&self) {
        self.moves.send_replace(());
    }

    /// The open streams, in order of opening.
    pub fn list(&self) -> Vec<Arc<OpenStream>> {
        self.lock().streams.values().cloned().collect()
    }

    /// The id of the stream at that place of that world, if it is open.
    pub(crate) fn id_of(&self, place: (StreamIx, u64)) -> Option<String> {
        self.lock().streams.values().find(|stream| stream.place() == place).map(|stream| stream.id.clone())
    }

    /// The places of those that a fault sends in pieces: when each of their keep-alives comes matters to the next.
    pub(crate) fn paced(&self) -> Vec<(StreamIx, u64)> {
        let open = self.lock();
        open.streams.values().filter(|stream| stream.is_paced()).map(|stream| stream.place()).collect()
    }

    /// From now on a fault sends the stream of that id in pieces.
    pub(crate) fn pace(&self, id: &str) {
        if let Some(stream) = self.lock().streams.values().find(|stream| stream.id == id) {
            stream.pace();
        }
    }

    /// Hears when a stream begins to wait, or closes.
    pub(crate) fn moves(&self) -> watch::Receiver<()> {
        self.moves.subscribe()
    }

    /// Whether `stream` is still open.
    pub(crate) fn is_open(&self, stream: &OpenStream) -> bool {
        self.lock().streams.contains_key(&stream.number)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        // Each change is one call on the map, so a panic elsewhere can't have broken it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenStream {
    pub(super) fn sent(&self, bytes: usize, sequence: u32) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.sequence.store(sequence, Ordering::Relaxed);
        self.told.fetch_max(sequence, Ordering::Relaxed);
    }

    /// It is about to read on, or waits.
    pub(super) fn waits(&self, waits: bool) {
        self.waiting.store(waits, Ordering::Release);
    }

    /// Whether it has given away all that it has read, and waits for more.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// A fault keeps it silent until then; `None`: not any more.
    pub(super) fn hold(&self, until: Option<Timestamp>) {
        self.held_until.store(until.map_or(0, Timestamp::as_millis), Ordering::Release);
    }

    /// Whether a fault keeps it silent beyond `now`.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        let until = self.held_until.load(Ordering::Acquire);
        until > now.as_millis() || until == Timestamp::MAX.as_millis()
    }

    /// From now on a fault sends what comes in pieces.
    pub(super) fn pace(&self) {
        self.paced.store(true, Ordering::Release);
    }

    fn is_paced(&self) -> bool {
        self.paced.load(Ordering::Acquire)
    }

    /// Tells it how to behave; an end that it has been told to make stands.
    pub(crate) fn give(&self, order: Order) {
        self.order.send_modify(|standing| {
            if standing.end().is_none() {
                *standing = order;
            }
        });
    }

    /// What it is told.
    pub(crate) fn order(&self) -> Order {
        *self.order.borrow()
    }

    /// Hears what it is told.
    pub(super) fn orders(&self) -> watch::Receiver<Order> {
        self.order.subscribe()
    }

    /// The connection that it goes out on.
    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Whether its bytes can't leave for now, or ever.
    pub(crate) fn is_stuck(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_stuck)
    }

    /// Its place, and the world that has it.
    pub(crate) fn place(&self) -> (StreamIx, u64) {
        (self.ix, self.epoch)
    }

    /// The sequence of the last durable event that it was given.
    pub fn sequence(&self) -> u32 {
        self.sequence.load(Ordering::Relaxed)
    }

    /// How many durable events it was given.
    pub fn events(&self) -> u64 {
        u64::from(self.sequence().saturating_sub(self.started_after))
    }

    /// How many bytes it was given.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}
