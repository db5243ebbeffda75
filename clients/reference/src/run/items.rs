//! One item for each call of a run, for whoever shows them (C-UI-1).

use super::Change;
use crate::defect::{Defect, Defects};
use crate::event::Event;

/// The items of a run, in order of appearance.
#[derive(Debug)]
pub(super) struct Items {
    items: Vec<Item>,
    defects: Defects,
}

#[derive(Debug)]
struct Item {
    tool_call_id: String,
    name: String,
    status: &'static str,
    started: Option<String>,
}

/// The order of an item's life; the last two end it.
const ORDER: &[&str] = &["", "running", "waiting", "completed", "failed"];

fn place(status: &str) -> usize {
    ORDER.iter().position(|known| *known == status).unwrap_or_default()
}

impl Items {
    pub(super) fn new(defects: Defects) -> Self {
        Self { items: Vec::new(), defects }
    }

    /// There is such a call, of that tool. An item that has ended stays; a later call of that id has one of its own.
    pub(super) fn name(&mut self, tool_call_id: &str, name: &str) {
        let is_open = |item: &Item| item.tool_call_id == tool_call_id && !item.has_ended();
        if !self.items.iter().any(is_open) {
            let (tool_call_id, name) = (tool_call_id.to_owned(), name.to_owned());
            self.items.push(Item { tool_call_id, name, status: "", started: None });
        }
    }

    /// The item's status from now on; a change only if it goes forward.
    pub(super) fn show(&mut self, event: &Event, tool_call_id: &str, status: &'static str) -> Option<Change> {
        if place(status) >= place("completed") && self.defects.has(Defect::ItemNeverEnds) {
            return None;
        }
        let item = self.items.iter_mut().rev().find(|item| item.tool_call_id == tool_call_id)?;
        if item.started.is_none() {
            item.started.clone_from(&event.sse_id);
        }
        let goes_forward = place(status) > place(item.status) && !item.has_ended();
        let repeats = self.defects.has(Defect::RepeatsItems);
        if !goes_forward && !repeats {
            return None;
        }
        item.status = status;
        let mut shown = item.tool_call_id.clone();
        if self.defects.has(Defect::NewItemPerEvent) {
            shown = event.sse_id.clone().unwrap_or(shown);
        }
        Some(Change::Item { tool_call_id: shown, name: item.name.clone(), status })
    }

    /// The run has ended, and with it what was still open: nothing else will tell.
    pub(super) fn close(&mut self, event: &Event) -> Vec<Change> {
        let open = self.items.iter().filter(|item| !item.has_ended()).map(|item| item.tool_call_id.clone());
        let open: Vec<_> = open.collect();
        open.iter().filter_map(|id| self.show(event, id, "failed")).collect()
    }

    pub(super) fn started(&self, tool_call_id: &str) -> Option<String> {
        self.items.iter().rev().find(|item| item.tool_call_id == tool_call_id)?.started.clone()
    }
}

impl Item {
    fn has_ended(&self) -> bool {
        place(self.status) >= place("completed")
    }
}
