//! Cursors that a fault has inserted: each stands for the place where it came.

use std::collections::{HashMap, VecDeque};

/// How many are kept; of more, the oldest go.
const MOST: usize = 10_000;

/// The inserted cursors of a workspace.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    places: HashMap<(String, String), u32>,
    order: VecDeque<(String, String)>,
}

impl Cursors {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// `cursor` came after the event of that `sequence`.
    pub(super) fn keep(&mut self, session_id: &str, cursor: &str, sequence: u32) {
        let name = (session_id.to_owned(), cursor.to_owned());
        if self.places.insert(name.clone(), sequence).is_none() {
            self.order.push_back(name);
        }
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.places.remove(&oldest);
            }
        }
    }

    /// The real event of that id has come: from now on it stands for itself.
    pub(super) fn forget(&mut self, session_id: &str, cursor: &str) {
        let name = (session_id.to_owned(), cursor.to_owned());
        if self.places.remove(&name).is_some() {
            self.order.retain(|kept| *kept != name);
        }
    }

    pub(super) fn place(&self, session_id: &str, cursor: &str) -> Option<u32> {
        self.places.get(&(session_id.to_owned(), cursor.to_owned())).copied()
    }
}
