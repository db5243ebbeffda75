//! One run from its start, or from where a dead client left it, to its end.
//!
//! The stream is read all the while; whatever takes time is a future in `work`, so that a cancel, an expiry or
//! another's answer is heard while a tool or a person is still busy (C-APP-2). A future does one thing and says what
//! came of it; all that is decided, is decided here.

mod done;
mod observe;
mod pause;
mod start;

pub use done::{Done, Status};
pub use observe::{Observe, observe};
pub use start::{Converse, Opening, cancel, continue_run, converse};

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;

use crate::api::outcome::Failure;
use crate::application::{Application, News};
use crate::client::Client;
use crate::clock::{self, Instant};
use crate::defect::Defect;
use crate::run::{Change, End, Run, RunId};
use crate::stream::{Ended, EventStream, Signal};
use crate::tools::Call;
use crate::tools::resume::{Resumed, Wanted};
use pause::Confirmed;

/// How long it may take until it is known what became of the answers that were sent, when the run has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(20);

/// How long requests on their way may take when there will be no more events, and how long a call whose answer failed
/// may take to come again.
const GRACE: Duration = Duration::from_secs(1);

/// How long the event of our own cancel may take.
const CANCEL_GRACE: Duration = Duration::from_millis(300);

/// A run that is being followed.
struct Conversation<'a, A> {
    client: &'a Client,
    app: &'a A,
    session: String,
    run: Run,
    work: FuturesUnordered<Pin<Box<dyn Future<Output = Work> + Send + 'a>>>,
    calls: HashMap<String, Progress>,
    /// Whether it is being asked what is required, and whether to ask again after that.
    confirming: bool,
    confirm_again: bool,
    ending: Option<Ending>,
    heard_at: Instant,
    /// Held by calls that deliberate mistakes execute one after the other; true when one has failed.
    gate: Arc<tokio::sync::Mutex<bool>>,
}

/// How far the answering of a call has come.
enum Progress {
    /// It is being approved, executed or answered; as long as the sender says that it is wanted.
    Working(watch::Sender<Wanted>),
    /// It is answered.
    Done,
    /// Its answer could not be delivered. When the call comes again, it is sent again (C-TOOL-15).
    Unanswered,
}

/// What some work has come to.
enum Work {
    /// What the server says is required.
    Confirmed(Confirmed),
    /// Whether the call may be executed.
    Approved(Arc<Call>, bool),
    /// What became of a call's answer; none when a deliberate mistake says nothing.
    Answered(Arc<Call>, Option<Resumed>),
    /// Nothing that matters.
    Nothing,
}

/// Why the conversation is about to end, and when at the latest.
struct Ending {
    why: Why,
    at: Instant,
}

enum Why {
    /// The run has ended.
    Run,
    /// We have cancelled it, and its event has not come.
    Cancelled,
    /// The deadline has passed.
    Expired(Failure),
    /// There will be no more events.
    Stopped(Failure),
    /// An answer could not be delivered.
    Unanswered(Failure),
}

impl<'a, A: Application> Conversation<'a, A> {
    fn new(client: &'a Client, app: &'a A, session: &str, run: RunId) -> Self {
        Self {
            client,
            app,
            session: session.to_owned(),
            run: Run::new(run, client.defects()),
            work: FuturesUnordered::new(),
            calls: HashMap::new(),
            confirming: false,
            confirm_again: false,
            ending: None,
            heard_at: clock::now(),
            gate: Arc::default(),
        }
    }

    /// Follows the run to its end. `is_taken_up` says that it was begun by another, or in another life.
    async fn follow(mut self, is_taken_up: bool) -> Done {
        let session = match self.client.session(&self.session) {
            Ok(session) => session,
            Err(error) => return self.done(Some(Failure::new("state_unreadable", &error.to_string()))),
        };
        let cancelled = self.client.cancelled(&self.run.id);
        let _only_stream = session.streaming.lock().await;
        let events = session.history.lock().unwrap_or_else(PoisonError::into_inner).events();
        for event in events {
            // It was shown when it came; here it only tells how things stand.
            self.run.fold(&event);
        }
        if self.run.end().is_some() {
            return self.done(None);
        }
        let api = self.client.api().clone();
        let mut stream =
            EventStream::open(api, &self.session, Arc::clone(&session.history), self.client.idle());
        if is_taken_up {
            self.confirm();
        }
        loop {
            let now = clock::now();
            if let Some(done) = self.outcome(now) {
                return done;
            }
            let deaf = !self.work.is_empty() && self.client.defects().has(Defect::StopsReadingWhileWorking);
            let wakes_at = self.wakes_at(now);
            tokio::select! {
                // What the stream has said counts before what some work has come to: a run that was cancelled before
                // an approval came executes nothing (C-TOOL-14).
                biased;
                signal = stream.next(), if !deaf => self.hear(signal),
                () = cancelled.notified() => self.end_within(Why::Cancelled, CANCEL_GRACE),
                Some(work) = self.work.next() => self.take(work),
                () = clock::sleep_until(wakes_at) => self.wake(),
            }
        }
    }

    /// Takes what the stream brings.
    fn hear(&mut self, signal: Option<Signal>) {
        match signal {
            Some(Signal::Event(event)) => {
                if event.sse_id.is_some() {
                    self.heard_at = clock::now();
                    self.app.tell(News::Event(Arc::clone(&event)));
                }
                self.mistaken_answer(&event);
                for change in self.run.fold(&event) {
                    self.change(change);
                }
            }
            Some(Signal::Dropped(how)) => {
                // That a connection was silent is no sign of life.
                if how != Ended::Silent {
                    self.heard_at = clock::now();
                }
                self.mistaken_drop(how == Ended::Cleanly);
            }
            Some(Signal::Unconnected) => self.heard_at = clock::now(),
            Some(Signal::Stopped(failure)) => self.end_within(Why::Stopped(failure), GRACE),
            None => self.end_within(
                Why::Stopped(Failure::new("stream_lost", "the stream's reader has ended")),
                GRACE,
            ),
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Required => self.confirm(),
            Change::Settled(events) => events.iter().for_each(|event| self.withdraw(event, Wanted::Settled)),
            Change::Item { tool_call_id, name, status } => {
                self.app.tell(News::Item { tool_call_id, name, status });
            }
            Change::Ended => self.run_ended(),
        }
    }

    /// Takes what some work has come to.
    fn take(&mut self, work: Work) {
        match work {
            Work::Confirmed(confirmed) => self.confirmed(confirmed),
            Work::Approved(call, yes) => self.approved(&call, yes),
            Work::Answered(call, Some(resumed)) => self.answered(&call, resumed),
            Work::Answered(call, None) => {
                let silent = Failure::new("tool_unanswered", "the tool failed and its call was not answered");
                self.answered(&call, Resumed::Failed(silent));
            }
            Work::Nothing => {}
        }
    }

    /// What became of a call's answer.
    fn answered(&mut self, call: &Call, resumed: Resumed) {
        let progress = match resumed {
            Resumed::Resolved if self.client.defects().has(Defect::ResolvedEndsRun) => {
                self.run.end_by_mistake();
                self.run_ended();
                Progress::Done
            }
            Resumed::Accepted | Resumed::Resolved | Resumed::Withdrawn => Progress::Done,
            Resumed::Expired(failure) => {
                self.end_within(Why::Expired(failure), Duration::ZERO);
                Progress::Done
            }
            // The event that says so is on its way.
            Resumed::RunOver(failure) => {
                self.end_within(Why::Unanswered(failure), GRACE);
                Progress::Done
            }
            Resumed::Failed(failure) => {
                self.end_within(Why::Unanswered(failure), GRACE);
                Progress::Unanswered
            }
        };
        self.calls.insert(call.event_id.clone(), progress);
    }

    /// Whatever is done about a call is in vain, but for an answer that has been sent: whether that was heard is asked
    /// until it is known, unless the run is over (C-APP-2, C-TOOL-5).
    fn withdraw(&self, event: &str, wanted: Wanted) {
        if let Some(Progress::Working(sender)) = self.calls.get(event)
            && !self.client.defects().has(Defect::ExecutesAfterCancel)
        {
            sender.send_replace(wanted);
        }
    }

    fn run_ended(&mut self) {
        let calls: Vec<_> = self.calls.keys().cloned().collect();
        let wanted = if self.run.end() == Some(&End::Completed) { Wanted::Settled } else { Wanted::Over };
        calls.iter().for_each(|call| self.withdraw(call, wanted));
        self.mistaken_end();
        self.end_within(Why::Run, LAST_ANSWERS);
    }

    /// The conversation ends, once all work is done or that time has passed. The run's own end counts before all else.
    fn end_within(&mut self, why: Why, grace: Duration) {
        let is_known = |ending: &Ending| matches!(ending.why, Why::Run);
        if !self.ending.as_ref().is_some_and(is_known) {
            self.ending = Some(Ending { why, at: clock::now() + grace });
        }
    }

    /// The end, if it has come.
    fn outcome(&mut self, now: Instant) -> Option<Done> {
        let ending = self.ending.as_ref()?;
        let is_late = now >= ending.at;
        let is_idle = self.work.is_empty();
        let ends = match &ending.why {
            // In the end all calls are answered, also when one could not be (C-TOOL-12).
            Why::Unanswered(_) => is_late && is_idle,
            Why::Run if self.client.defects().has(Defect::WaitsForEndOfStream) => false,
            Why::Run if self.client.defects().has(Defect::ExecutesAfterCancel) => is_idle,
            Why::Run | Why::Stopped(_) => is_late || is_idle,
            Why::Cancelled | Why::Expired(_) => is_late,
        };
        if !ends {
            return None;
        }
        let ending = self.ending.take()?;
        Some(match ending.why {
            Why::Run => self.done(None),
            Why::Cancelled => self.done_as(Status::Cancelled, None),
            Why::Expired(failure) => self.done_as(Status::Expired, Some(failure)),
            Why::Stopped(failure) | Why::Unanswered(failure) => self.done(Some(failure)),
        })
    }

    /// When to wake if nothing happens: for the end that is near, or to ask why all is quiet.
    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let at = match &self.ending {
            Some(ending) => Some(ending.at),
            None => self.work.is_empty().then(|| self.heard_at + self.client.idle() * 2 + GRACE),
        };
        // What is late already waits for work to end.
        at.filter(|at| *at > now)
    }

    /// A stream that is open has been quiet for longer than a dead one goes unnoticed: the server is asked how things stand.
    fn wake(&mut self) {
        if self.ending.is_none() {
            self.heard_at = clock::now();
            self.reconcile();
        }
    }
}

/// What deliberate mistakes do.
impl<A: Application> Conversation<'_, A> {
    fn mistaken_drop(&mut self, cleanly: bool) {
        let defects = self.client.defects();
        if cleanly && defects.has(Defect::EndOfStreamEndsRun) && self.run.end().is_none() {
            self.run.end_by_mistake();
            self.run_ended();
        }
        if self.run.end().is_some() && defects.has(Defect::WaitsForEndOfStream) {
            let why = if cleanly {
                Why::Cancelled
            } else {
                Why::Stopped(Failure::new("stream_lost", "no end came"))
            };
            self.ending = Some(Ending { why, at: clock::now() });
        }
        if defects.has(Defect::DropRestartsRun) && self.run.end().is_none() {
            let (client, session) = (self.client, self.session.clone());
            self.work.push(Box::pin(async move {
                start::start_again(client, &session).await;
                Work::Nothing
            }));
        }
    }

    fn mistaken_end(&mut self) {
        let is_cancelled = self.run.end() == Some(&End::Cancelled);
        let is_working = self.calls.values().any(|progress| matches!(progress, Progress::Working(_)));
        if is_cancelled && is_working && self.client.defects().has(Defect::DiesOfCancel) {
            let failure = Failure::new("tool_interrupted", "the run ended while its tool worked");
            self.end_within(Why::Stopped(failure), Duration::ZERO);
        }
    }
}
