//! What must not be forgotten: which tools were executed, and what was answered (C-TOOL-2, C-TOOL-15).
//!
//! An execution is on the disk as started before the tool is called, and as finished before its result is sent. So
//! after a death at any moment a client knows of each call whether it was never begun, has a result to send again, or
//! can't be known; and it never executes twice.

mod journal;

pub use journal::Journal;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::tools::Answer;

/// The record of executions and answers. It is shared by all that one client does.
#[derive(Debug)]
pub struct Ledger(Mutex<Contents>);

#[derive(Debug)]
struct Contents {
    journal: Journal,
    executions: HashMap<String, Arc<tokio::sync::Mutex<State>>>,
    answers: HashMap<String, Sent>,
    runs: HashMap<String, (String, String)>,
}

/// How far an execution has come.
#[derive(Debug, Clone)]
pub enum State {
    /// It was never begun.
    Fresh,
    /// It was begun. Found so by one who comes later, it was interrupted.
    Started,
    /// It has ended with this answer.
    Finished(Answer),
}

/// What is being answered to a call.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Counts the bodies that were made for this call, from 1.
    pub number: u32,
    /// The present one.
    pub answer: Answer,
    /// The contents that the server has refused.
    pub refused: Vec<Answer>,
}

impl Ledger {
    /// Reads what `journal` holds, and adds to it from now on.
    #[must_use]
    pub fn open(mut journal: Journal) -> Self {
        let records = journal.take_records();
        let (executions, answers, runs) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut contents = Contents { journal, executions, answers, runs };
        records.iter().for_each(|record| contents.replay(record));
        Self(Mutex::new(contents))
    }

    /// Opens the ledger in that folder; without one it is kept in memory.
    ///
    /// # Errors
    /// When the file can't be opened.
    pub fn in_folder(folder: Option<&Path>) -> io::Result<Self> {
        let journal =
            folder.map_or(Ok(Journal::none()), |folder| Journal::open(&folder.join("ledger.jsonl")))?;
        Ok(Self::open(journal))
    }

    /// The execution with that key, to be locked while it is decided and done.
    #[must_use]
    pub fn execution(&self, key: &str) -> Arc<tokio::sync::Mutex<State>> {
        Arc::clone(self.contents().execution(key))
    }

    /// Records that a tool is about to be called.
    ///
    /// # Errors
    /// When it is not on the disk: then the tool must not be called.
    pub fn start(&self, key: &str) -> io::Result<()> {
        self.contents().journal.commit(&json!({ "started": key }))
    }

    /// Records what came of it. Should that fail, a restart can't know, and will say so.
    pub fn finish(&self, key: &str, answer: &Answer) {
        let _ = self.contents().journal.commit(&json!({ "finished": key, "answer": answer.to_record() }));
    }

    /// What is being answered to the call of that event.
    #[must_use]
    pub fn sent(&self, event: &str) -> Option<Sent> {
        self.contents().answers.get(event).cloned()
    }

    /// Records what is to be answered, before it is sent. It outlives the process; that it outlive the machine is asked of
    /// executions alone, since a result can be sent anew and its tool can't be called anew.
    pub fn send(&self, event: &str, sent: &Sent) {
        let refused: Vec<_> = sent.refused.iter().map(Answer::to_record).collect();
        let record = json!({ "event": event, "number": sent.number, "answer": sent.answer.to_record(), "refused": refused });
        let mut contents = self.contents();
        contents.journal.append(&record);
        contents.answers.insert(event.to_owned(), sent.clone());
    }

    /// The session and run that a task has started, if it has.
    #[must_use]
    pub fn run_of(&self, task: &str) -> Option<(String, String)> {
        self.contents().runs.get(task).cloned()
    }

    /// Records where a task has come: its session, and its run once that is known.
    pub fn begin(&self, task: &str, session: &str, run: &str) {
        let mut contents = self.contents();
        contents.journal.append(&json!({ "task": task, "session": session, "run": run }));
        contents.runs.insert(task.to_owned(), (session.to_owned(), run.to_owned()));
    }

    /// Forgets a call; a deliberate mistake.
    pub(crate) fn forget(&self, event: &str, key: &str) {
        let mut contents = self.contents();
        contents.answers.remove(event);
        contents.executions.remove(key);
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn execution(&mut self, key: &str) -> &Arc<tokio::sync::Mutex<State>> {
        self.executions
            .entry(key.to_owned())
            .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(State::Fresh)))
    }

    fn replay(&mut self, record: &Value) {
        let text = |name: &str| record[name].as_str();
        let answer = || Answer::from_record(&record["answer"]);
        if let Some(key) = text("started") {
            self.executions.insert(key.to_owned(), Arc::new(tokio::sync::Mutex::new(State::Started)));
        } else if let (Some(key), Some(answer)) = (text("finished"), answer()) {
            self.executions
                .insert(key.to_owned(), Arc::new(tokio::sync::Mutex::new(State::Finished(answer))));
        } else if let (Some(event), Some(answer)) = (text("event"), answer()) {
            let number = record["number"].as_u64().and_then(|number| number.try_into().ok()).unwrap_or(1);
            let refused =
                record["refused"].as_array().into_iter().flatten().filter_map(Answer::from_record).collect();
            self.answers.insert(event.to_owned(), Sent { number, answer, refused });
        } else if let (Some(task), Some(session), Some(run)) = (text("task"), text("session"), text("run")) {
            self.runs.insert(task.to_owned(), (session.to_owned(), run.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[tokio::test]
    async fn c_tool_2_what_was_recorded_is_known_after_a_death() {
        let folder = std::env::temp_dir().join(format!("pantheon-ledger-{}", std::process::id()));
        let content = Answer::Content(json::checked(r#"{"a":1}"#).unwrap());
        {
            let ledger = Ledger::in_folder(Some(&folder)).unwrap();
            ledger.start("begun").unwrap();
            ledger.start("done").unwrap();
            ledger.finish("done", &content);
            ledger
                .send("evt_1", &Sent { number: 2, answer: content.clone(), refused: vec![content.clone()] });
            ledger.begin("task", "session", "run");
        }
        let ledger = Ledger::in_folder(Some(&folder)).unwrap();
        assert!(matches!(&*ledger.execution("begun").lock().await, State::Started));
        assert!(matches!(&*ledger.execution("never").lock().await, State::Fresh));
        let done = ledger.execution("done");
        assert!(matches!(&*done.lock().await, State::Finished(answer) if answer.equals(&content)));
        let sent = ledger.sent("evt_1").unwrap();
        assert_eq!((sent.number, sent.refused.len()), (2, 1));
        assert_eq!(ledger.run_of("task"), Some(("session".to_owned(), "run".to_owned())));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
