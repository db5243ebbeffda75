//! What is known of a session's events: which have come, in which order, and the cursor (C-SSE-1, C-SSE-2).
//!
//! An event is recorded when it is received whole, before anything is done about it. So after a death the record says
//! all that the dead client can have acted upon, and the cursor is never older than that.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use crate::defect::{Defect, Defects};
use crate::event::{Event, Kind};
use crate::ledger::Journal;
use crate::sse::{BrokenStream, Frame};

/// The durable events of a session that have come.
#[derive(Debug)]
pub struct History {
    events: Vec<Arc<Event>>,
    seen: HashSet<String>,
    cursor: Option<String>,
    journal: Journal,
    defects: Defects,
}

impl History {
    /// Reads what `journal` holds, and adds to it from now on.
    #[must_use]
    pub fn open(mut journal: Journal, defects: Defects) -> Self {
        let records = journal.take_records();
        let mut history = Self {
            events: Vec::new(),
            seen: HashSet::new(),
            cursor: None,
            journal: Journal::none(),
            defects,
        };
        for record in records {
            let text = |name: &str| record[name].as_str().map(str::to_owned);
            let event = text("event").unwrap_or_default();
            // A deliberate mistake may find broken what it recorded; then that is no event now either.
            let _ = history.receive(Frame { event, id: text("id"), data: text("data") });
        }
        history.journal = journal;
        history
    }

    /// Begins after `cursor`, a place that another has told.
    #[must_use]
    pub fn after(cursor: Option<&str>, journal: Journal, defects: Defects) -> Self {
        Self { cursor: cursor.map(str::to_owned), ..Self::open(journal, defects) }
    }

    /// What to reconnect with: a durable id that was received whole.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// All events, as they came.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Event>> {
        self.events.clone()
    }

    /// Forgets the cursor, which the server has refused; what has come is still known (C-SSE-17).
    pub fn refuse_cursor(&mut self) {
        if self.defects.has(Defect::RefusedCursorRepeated) {
            return;
        }
        self.cursor = None;
        if self.defects.has(Defect::RefusedCursorForgetsAll) {
            self.seen.clear();
        }
    }

    /// Takes a durable frame: records it, moves the cursor, and gives the event if it is new.
    ///
    /// # Errors
    /// Only for deliberate mistakes.
    pub fn receive(&mut self, frame: Frame) -> Result<Option<Arc<Event>>, BrokenStream> {
        let Some(id) = frame.id.clone() else { return Ok(None) };
        if self.seen.contains(&id) {
            return self.receive_again(frame, &id);
        }
        let record = json!({ "id": id, "event": frame.event, "data": frame.data });
        self.journal.append(&record);
        if frame.data.is_none() {
            // It has no effect but its id. Should it come whole one day, it is new.
            self.cursor = Some(id).filter(|id| !id.is_empty());
            return Ok(None);
        }
        // An empty id is no identity: it clears the cursor, and its event can't be known again.
        if !id.is_empty() {
            self.remember(&id);
        }
        let event = Arc::new(Event::read(frame, self.defects)?);
        self.move_cursor(&event, &id);
        self.events.push(Arc::clone(&event));
        Ok(Some(event))
    }

    /// An event that has come before moves nothing and means nothing.
    fn receive_again(&mut self, frame: Frame, id: &str) -> Result<Option<Arc<Event>>, BrokenStream> {
        if self.defects.has(Defect::CursorMovesBack) {
            self.cursor = Some(id.to_owned());
        }
        let is_wanted_again = |event: &Event| {
            let acts = matches!(event.kind, Kind::ToolCalled(_) | Kind::Idle(_));
            self.defects.has(Defect::ReportsReplays) || acts && self.defects.has(Defect::ExecutesOnReplay)
        };
        let event = Event::read(frame, self.defects)?;
        Ok(is_wanted_again(&event).then(|| Arc::new(event)))
    }

    fn remember(&mut self, id: &str) {
        if self.defects.has(Defect::RemembersLastIdOnly) {
            self.seen.clear();
        }
        self.seen.insert(id.to_owned());
    }

    fn move_cursor(&mut self, event: &Event, id: &str) {
        let mut next = Some(id.to_owned()).filter(|id| !id.is_empty());
        if self.defects.has(Defect::CursorIsSequence) {
            next = event.sequence.map(|sequence| sequence.to_string());
        }
        if self.defects.has(Defect::JsonIdAsCursor) {
            next.clone_from(&event.json_id);
        }
        if self.defects.has(Defect::CursorLagsBehind) {
            next = self.events.last().and_then(|event| event.sse_id.clone());
        }
        if self.cursor.is_some() && self.defects.has(Defect::FirstCursorForEver) {
            return;
        }
        self.cursor = next;
    }
}

/// What deliberate mistakes take for a cursor.
impl History {
    pub(super) fn mistake_cursor(&mut self, event: &Event) {
        let is_resync = matches!(event.kind, Kind::Resync);
        let from_json = is_resync && self.defects.has(Defect::CursorFromResync)
            || self.defects.has(Defect::JsonIdAsCursor);
        if from_json && event.json_id.is_some() {
            self.cursor.clone_from(&event.json_id);
        }
        let clears = self.defects.has(Defect::EventWithoutIdClearsCursor)
            || is_resync && self.defects.has(Defect::ResyncClearsCursor);
        if clears {
            self.cursor = None;
        }
    }

    pub(super) fn take_unfinished_id(&mut self, id: &str) {
        if self.defects.has(Defect::TakesUnfinishedId) {
            self.cursor = Some(id.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: &str, data: Option<&str>) -> Frame {
        Frame { event: "x".to_owned(), id: Some(id.to_owned()), data: data.map(str::to_owned) }
    }

    fn history(defects: Defects) -> History {
        History::open(Journal::none(), defects)
    }

    #[test]
    fn c_sse_2_an_event_is_new_once() {
        let mut history = history(Defects::NONE);
        assert!(history.receive(frame("e1", Some("{}"))).unwrap().is_some());
        assert!(history.receive(frame("e2", Some("{}"))).unwrap().is_some());
        assert!(history.receive(frame("e1", Some("{}"))).unwrap().is_none());
        assert_eq!(history.cursor(), Some("e2"));
    }

    #[test]
    fn c_sse_5_a_frame_without_data_moves_the_cursor_and_is_no_event() {
        let mut history = history(Defects::NONE);
        history.receive(frame("e1", Some("{}"))).unwrap();
        assert!(history.receive(frame("e2", None)).unwrap().is_none());
        assert_eq!(history.cursor(), Some("e2"));
        assert!(history.receive(frame("e2", Some("{}"))).unwrap().is_some());
        history.receive(frame("", Some("{}"))).unwrap();
        assert_eq!(history.cursor(), None);
    }

    #[test]
    fn c_sse_17_a_refused_cursor_is_forgotten_and_nothing_else() {
        let mut history = history(Defects::NONE);
        history.receive(frame("e1", Some("{}"))).unwrap();
        history.refuse_cursor();
        assert_eq!(history.cursor(), None);
        assert!(history.receive(frame("e1", Some("{}"))).unwrap().is_none());
    }

    #[test]
    fn mistaken_cursors() {
        let cursor = |defect: Defect| {
            let mut history = history(defect.into());
            for (id, sequence) in [("e1", 1), ("e2", 2)] {
                history
                    .receive(frame(id, Some(&json!({ "sequence": sequence, "id": "j" }).to_string())))
                    .unwrap();
            }
            history.cursor().map(str::to_owned)
        };
        assert_eq!(cursor(Defect::FirstCursorForEver).as_deref(), Some("e1"));
        assert_eq!(cursor(Defect::CursorLagsBehind).as_deref(), Some("e1"));
        assert_eq!(cursor(Defect::CursorIsSequence).as_deref(), Some("2"));
        assert_eq!(cursor(Defect::JsonIdAsCursor).as_deref(), Some("j"));
    }
}
