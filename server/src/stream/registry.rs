//! The open streams of a workspace, for those who look at them from outside.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pantheon_core::Timestamp;
use pantheon_core::stream::StreamIx;
use tokio::sync::watch;

use crate::connection::{Connection, Settled};

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
    connection: Option<Connection>,
    started_after: u32,
    /// The sequence of the last durable event that it was given.
    sequence: AtomicU32,
    bytes: AtomicU64,
    /// Up to when it has sent all that there was.
    quiet_at: AtomicI64,
}

impl Registry {
    pub(super) fn open(
        &self,
        ix: StreamIx,
        session_id: String,
        sequence: u32,
        opened_at: Timestamp,
        connection: Option<Connection>,
    ) -> Arc<OpenStream> {
        let mut open = self.lock();
        open.opened += 1;
        let number = open.opened;
        let stream = Arc::new(OpenStream {
            id: format!("stream_{number}"),
            session_id,
            opened_at,
            number,
            ix,
            connection,
            started_after: sequence,
            sequence: AtomicU32::new(sequence),
            bytes: AtomicU64::new(0),
            quiet_at: AtomicI64::new(i64::MIN),
        });
        open.streams.insert(number, Arc::clone(&stream));
        stream
    }

    pub(super) fn close(&self, stream: &OpenStream) {
        self.lock().streams.remove(&stream.number);
        self.moved();
    }

    /// A stream has gone quiet, or has closed.
    pub(super) fn moved(&self) {
        self.moves.send_replace(());
    }

    /// The open streams, in order of opening.
    pub fn list(&self) -> Vec<Arc<OpenStream>> {
        self.lock().streams.values().cloned().collect()
    }

    /// The id of the stream at `ix`, if it is open.
    pub fn id_of(&self, ix: StreamIx) -> Option<String> {
        self.lock().streams.values().find(|stream| stream.ix == ix).map(|stream| stream.id.clone())
    }

    /// Returns once every stream that is open now has sent all that came by `at`, or can't: a client that doesn't
    /// read holds nobody up.
    pub async fn settled(&self, at: Timestamp) {
        for stream in self.list() {
            let mut moves = self.moves.subscribe();
            while !stream.has_sent_all(at) && !stream.is_stuck() && self.is_open(&stream) {
                let moved = moves.changed();
                match &stream.connection {
                    Some(connection) => tokio::select! {
                        _ = moved => {}
                        settled = connection.settled() => {
                            if settled != Settled::Flushed {
                                break;
                            }
                            // All that it was given has left; it is about to ask for more, or to go quiet.
                            tokio::task::yield_now().await;
                        }
                    },
                    None => {
                        let _ = moved.await;
                    }
                }
            }
            if let Some(connection) = &stream.connection {
                connection.settled().await;
            }
        }
    }

    fn is_open(&self, stream: &OpenStream) -> bool {
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
    }

    pub(super) fn is_quiet(&self, now: Timestamp) {
        self.quiet_at.store(now.as_millis(), Ordering::Release);
    }

    fn has_sent_all(&self, at: Timestamp) -> bool {
        self.quiet_at.load(Ordering::Acquire) >= at.as_millis()
    }

    fn is_stuck(&self) -> bool {
        self.connection.as_ref().is_some_and(|c| c.is_closed() || c.is_write_blocked() || c.is_stalled())
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
