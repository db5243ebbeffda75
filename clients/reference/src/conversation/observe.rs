//! Watching a session without acting in it (C-TOOL-14).

use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{Done, Status};
use crate::application::{Application, News};
use crate::client::Client;
use crate::event::{Event, Kind};
use crate::ledger::Journal;
use crate::stream::history::History;
use crate::stream::{Ended, EventStream, Signal};

/// What to watch, and for how long.
#[derive(Debug, Clone)]
pub struct Observe {
    /// The session.
    pub session: String,
    /// After which event; from the start without one.
    pub last_event_id: Option<String>,
    /// Until an event of this type or id, or so many events; anything else: until the stream ends.
    pub until: Value,
}

/// Watches, and reports each durable event once.
pub async fn observe<A: Application>(client: &Client, app: &A, observe: &Observe) -> Done {
    let history = History::after(observe.last_event_id.as_deref(), Journal::none(), client.defects());
    let api = client.api().clone();
    let mut stream = EventStream::open(api, &observe.session, Arc::new(Mutex::new(history)), client.idle());
    let (mut count, mut text) = (0, None);
    let failure = loop {
        match stream.next().await {
            Some(Signal::Event(event)) if event.sse_id.is_some() => {
                count += 1;
                if let Kind::Message(message) = &event.kind {
                    text = Some(message.clone());
                }
                app.tell(News::Event(Arc::clone(&event)));
                if observe.is_met(&event, count) {
                    break None;
                }
            }

            Some(Signal::Dropped(Ended::Cleanly)) if observe.names_nothing() => break None,
            Some(Signal::Event(_) | Signal::Dropped(_) | Signal::Unconnected) => {}
            Some(Signal::Stopped(failure)) => break Some(failure),
            None => break None,
        }
    };
    let status = if failure.is_some() { Status::Error } else { Status::Completed };
    if let Some(text) = &text {
        app.tell(News::Text(text.clone()));
    }
    if let Some(failure) = &failure {
        app.tell(News::Error(failure.clone()));
    }
    Done { status, session: Some(observe.session.clone()), run: None, text, failure }
}

impl Observe {
    fn is_met(&self, event: &Event, count: u64) -> bool {
        let named = |until: &str| event.name == until || event.sse_id.as_deref() == Some(until);
        match &self.until {
            Value::String(until) => named(until),
            Value::Number(most) => most.as_u64().is_some_and(|most| count >= most),
            Value::Array(any) => any.iter().filter_map(Value::as_str).any(named),
            // `{"type": …}`, `{"id": …}` and the like.
            Value::Object(parts) => {
                parts.values().filter_map(Value::as_str).any(named)
                    || parts.values().filter_map(Value::as_u64).any(|most| count >= most)
            }
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Whether only the end of the stream can end it.
    fn names_nothing(&self) -> bool {
        match &self.until {
            Value::Null | Value::Bool(_) => true,
            Value::String(until) => matches!(until.as_str(), "end" | "stream_end" | "close" | "eof"),
            Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
        }
    }
}
