//! A session's events, whatever happens to the connection.
//!
//! A task of its own reads the stream, so that nothing that a conversation waits for keeps it from hearing of a
//! cancel, and nothing that a conversation hears cuts a connection attempt short. It connects, reads, records,
//! reconnects after the last durable id, and stops when it is told to, or when the one who listens has gone.

mod connect;
pub mod history;
mod patience;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::api::outcome::Failure;
use crate::api::retry::LONGEST_HINT;
use crate::api::retry_after::Hint;
use crate::api::{Api, stream_path};
use crate::clock;
use crate::defect::Defect;
use crate::event::{Event, Kind};
use crate::sse::{BrokenStream, Frame, Parser};
use connect::Attempt;
use history::History;
use patience::Patience;

/// How many events may wait for a conversation before the connection is left to wait.
const READ_AHEAD: usize = 256;

/// A connection that has lasted so long counts as progress, though it brought nothing new.
const LASTING: Duration = Duration::from_secs(10);

/// What a stream brings.
#[derive(Debug)]
pub enum Signal {
    /// An event that has not come before.
    Event(Arc<Event>),
    /// A connection has ended, and another is to follow.
    Dropped(Ended),
    /// A connection could not be opened, and another is to follow.
    Unconnected,
    /// There will be no more.
    Stopped(Failure),
}

/// How a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As a whole answer does, or by a resync.
    Cleanly,
    /// In the middle.
    Torn,
    /// Not at all: it was silent for too long.
    Silent,
}

/// A stream that is being read. Dropped, it closes its connection.
#[derive(Debug)]
pub struct EventStream {
    signals: mpsc::Receiver<Signal>,
    /// Ends the reader with this.
    _reader: JoinSet<()>,
}

impl EventStream {
    /// Reads the events of `session` that `history` doesn't know yet. A connection that is silent for `idle` is dead.
    #[must_use]
    pub fn open(api: Api, session: &str, history: Arc<Mutex<History>>, idle: Duration) -> Self {
        let (sender, signals) = mpsc::channel(READ_AHEAD);
        let patience = Patience::new(session, api.defects);
        let path = stream_path(session);
        let reader = Reader { api, path, history, patience, idle, signals: sender, kept: Vec::new() };
        let mut tasks = JoinSet::new();
        tasks.spawn(reader.run());
        Self { signals, _reader: tasks }
    }

    /// The next signal; none after the last.
    pub async fn next(&mut self) -> Option<Signal> {
        self.signals.recv().await
    }
}

/// The task that reads.
struct Reader {
    api: Api,
    path: String,
    history: Arc<Mutex<History>>,
    patience: Patience,
    idle: Duration,
    signals: mpsc::Sender<Signal>,
    /// Connections that a deliberate mistake keeps open.
    kept: Vec<Response>,
}

/// How a connection ended.
struct Ending {
    how: Ended,
    /// Whether it brought something new, or lasted.
    progressed: bool,
}

/// The one who listens has gone.
struct Gone;

impl Reader {
    async fn run(mut self) {
        if let Ok(failure) = self.read().await {
            // Nobody listens any more, or they hear of it.
            let _ = self.signals.send(Signal::Stopped(failure)).await;
        }
    }

    /// Reads until there is a reason to stop.
    async fn read(&mut self) -> Result<Failure, Gone> {
        let mut from_the_start = false;
        loop {
            let cursor = self.cursor();
            let (progressed, hint, failure) = match self.connect(cursor.as_deref()).await {
                Attempt::Open(response) => {
                    self.patience.connected();
                    from_the_start = false;
                    self.open_second().await;
                    let ending = self.drain(response).await?;
                    if let Some(failure) = self.stops_at_drop() {
                        return Ok(failure);
                    }
                    if ending.how == Ended::Silent {
                        self.patience.was_silent();
                    }
                    self.send(Signal::Dropped(ending.how)).await?;
                    (ending.progressed, Hint::None, Failure::new("stream_lost", "the stream keeps ending"))
                }
                Attempt::Later(hint, failure) => {
                    self.send(Signal::Unconnected).await?;
                    (false, hint, failure)
                }
                Attempt::FromTheStart(failure) if !from_the_start => {
                    self.history().refuse_cursor();
                    from_the_start = !self.api.defects.has(Defect::RefusedCursorRepeated);
                    (false, Hint::None, failure)
                }
                Attempt::FromTheStart(failure) | Attempt::Stop(failure) => return Ok(failure),
            };
            let Some(own) = self.patience.next_delay(progressed) else { return Ok(failure) };
            match hint {
                Hint::None => clock::sleep(own).await,
                Hint::Wait(wait) if wait <= LONGEST_HINT => clock::sleep(wait.max(own)).await,
                Hint::Wait(_) | Hint::Nonsense => return Ok(failure),
            }
        }
    }

    /// Reads a connection to its end, to a resync, or until it has been silent for too long.
    async fn drain(&mut self, mut response: Response) -> Result<Ending, Gone> {
        let mut parser = Parser::new(self.api.defects);
        let latin = self.is_mislabelled(&response);
        let (began, mut progressed) = (clock::now(), false);
        let mut dead_at = clock::now() + self.idle();
        let how = loop {
            let read = match tokio::time::timeout_at(dead_at, response.chunk()).await {
                Ok(read) => read,
                Err(_) => return Ok(Ending { how: Ended::Silent, progressed }),
            };
            match read {
                Ok(Some(bytes)) if latin => {
                    parser.feed(bytes.iter().map(|byte| *byte as char).collect::<String>().as_bytes())
                }
                Ok(Some(bytes)) => parser.feed(&bytes),
                Ok(None) => break Ended::Cleanly,
                Err(_) => break Ended::Torn,
            }
            let heard = self.dispatch(&mut parser).await?;
            if heard.progressed {
                progressed = true;
                self.patience.progressed();
            }
            if heard.ends {
                break Ended::Cleanly;
            }
            let is_alive = heard.events > 0 || !self.api.defects.has(Defect::KeepAlivesDontCount);
            if is_alive && !self.api.defects.has(Defect::TotalTimeoutOnStream) {
                dead_at = clock::now() + self.idle();
            }
        };
        if let Some(id) = parser.unfinished_id() {
            self.history().take_unfinished_id(id);
        }
        if let Some(frame) = parser.end() {
            self.hear(frame).await?;
        }
        if began.elapsed() >= LASTING {
            self.patience.progressed();
            progressed = true;
        }
        Ok(Ending { how, progressed })
    }

    /// Hands out what the parser has.
    async fn dispatch(&mut self, parser: &mut Parser) -> Result<Heard, Gone> {
        let mut heard = Heard::default();
        let mut frames = Vec::new();
        let broken = loop {
            match parser.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break None,
                Err(broken) => break Some(broken),
            }
        };
        if self.api.defects.has(Defect::ReportsNewestFirst) {
            frames.reverse();
        }
        for frame in frames {
            heard.events += 1;
            match self.hear(frame).await? {
                Meaning::New => heard.progressed = true,
                Meaning::Nothing => {}
                Meaning::Resync => heard.ends = true,
            }
            if heard.ends {
                break;
            }
        }
        self.patience.least = parser.retry().unwrap_or(self.patience.least);
        match broken {
            Some(broken) => self.stop_at(broken).await,
            None => Ok(heard),
        }
    }

    /// Takes one frame: records it if it is durable, and hands it on if it is new.
    async fn hear(&mut self, frame: Frame) -> Result<Meaning, Gone> {
        if self.drops_silently(&frame) {
            return Ok(Meaning::Nothing);
        }
        if frame.id.is_some() {
            let received = self.history().receive(frame);
            return match received {
                Ok(Some(event)) => self.send(Signal::Event(event)).await.map(|()| Meaning::New),
                Ok(None) => Ok(Meaning::Nothing),
                Err(broken) => self.stop_at(broken).await,
            };
        }
        let event = match Event::read(frame, self.api.defects) {
            Ok(event) => event,
            Err(broken) => return self.stop_at(broken).await,
        };
        self.history().mistake_cursor(&event);
        if matches!(event.kind, Kind::Resync) {
            if self.api.defects.has(Defect::ResyncIsFatal) {
                self.send(Signal::Stopped(Failure::new("resync", "the live stream failed"))).await?;
                return Err(Gone);
            }
            return Ok(Meaning::Resync);
        }
        self.send(Signal::Event(Arc::new(event))).await?;
        Ok(Meaning::Nothing)
    }

    async fn stop_at<T>(&self, BrokenStream(why): BrokenStream) -> Result<T, Gone> {
        self.send(Signal::Stopped(Failure::new("broken_stream", &why))).await?;
        Err(Gone)
    }

    async fn send(&self, signal: Signal) -> Result<(), Gone> {
        self.signals.send(signal).await.map_err(|_| Gone)
    }

    fn history(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cursor(&self) -> Option<String> {
        if self.api.defects.has(Defect::NoCursorOnReconnect) {
            return None;
        }
        let cursor = self.history().cursor().map(str::to_owned);
        cursor.or_else(|| self.api.defects.has(Defect::CursorBeforeFirstId).then(|| "0".to_owned()))
    }
}

/// What one read brought.
#[derive(Default)]
struct Heard {
    events: u32,
    progressed: bool,
    ends: bool,
}

/// What a frame meant for the connection.
enum Meaning {
    New,
    Nothing,
    Resync,
}

/// What deliberate mistakes do.
impl Reader {
    /// How long a silence may be; a mistake waits as good as for ever.
    fn idle(&self) -> Duration {
        if self.api.defects.has(Defect::TotalTimeoutOnStream) {
            return self.api.timeout;
        }
        if self.api.defects.has(Defect::NoIdleWatchdog) { Duration::from_secs(3600) } else { self.idle }
    }

    fn stops_at_drop(&self) -> Option<Failure> {
        let never = self.api.defects.has(Defect::NeverReconnects);
        never.then(|| Failure::new("stream_lost", "the stream has ended"))
    }

    fn drops_silently(&self, frame: &Frame) -> bool {
        let is_large = frame.data.as_ref().is_some_and(|data| data.len() > 1_000_000);
        let has_no_name = frame.event.is_empty() && frame.data.is_some();
        is_large && self.api.defects.has(Defect::LimitsEventsTo1Mb)
            || has_no_name && self.api.defects.has(Defect::NeedsEventLine)
    }

    fn is_mislabelled(&self, response: &Response) -> bool {
        let label =
            response.headers().get(CONTENT_TYPE).and_then(|label| label.to_str().ok()).unwrap_or_default();
        label.to_ascii_lowercase().contains("8859-1") && self.api.defects.has(Defect::ObeysCharsetLabel)
    }

    async fn open_second(&mut self) {
        if self.api.defects.has(Defect::OpensSecondStream)
            && let Ok(response) = self.api.open(&self.path, self.cursor().as_deref()).await
        {
            self.kept.push(response);
        }
    }
}
