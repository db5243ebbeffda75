//! Events, and what a run makes of them.

use serde_json::{Value, json};

use super::*;
use crate::sse::Frame;

/// An event of the run `0a`, with this content.
fn event(id: &str, name: &str, content: impl Into<Value>) -> Event {
    event_of("0a", id, name, &content.into())
}

fn event_of(run: &str, id: &str, name: &str, content: &Value) -> Event {
    let data = json!({ "id": id, "type": name, "session_id": "s", "run_id": run, "content": content });
    let frame = Frame { event: name.to_owned(), id: Some(id.to_owned()), data: Some(data.to_string()) };
    Event::read(frame, Defects::NONE).unwrap()
}

fn call(id: &str, tool_call_id: &str) -> Event {
    let content =
        json!({ "tool_call_id": tool_call_id, "execution_idempotency_key": id, "name": "t", "input": {} });
    event(id, "agent.custom_tool_use", content)
}

fn idle(id: &str, events: &[&str]) -> Event {
    event(
        id,
        "session.status_idle",
        json!({ "stop_reason": { "type": "requires_action", "event_ids": events } }),
    )
}

fn message(id: &str, text: &str) -> Event {
    event(id, "message.completed", json!([{ "type": "text", "text": text }]))
}

fn run() -> Run {
    Run::new(RunId::new("0A"), Defects::NONE)
}

#[test]
fn c_tool_3_a_call_is_required_once_an_idle_names_it() {
    let mut run = run();
    run.fold(&call("e1", "c1"));
    run.fold(&call("e2", "c2"));
    assert_eq!(run.required(), &[] as &[String]);
    assert!(run.fold(&idle("e3", &["e2"])).contains(&Change::Required));
    assert_eq!(run.required(), ["e2"]);
    assert_eq!(
        run.fold(&event("e4", "session.status_running", Value::Null)),
        [Change::Settled(vec!["e2".to_owned()])]
    );
    assert!(run.open_call("e2").is_none() && run.open_call("e1").is_some());
}

#[test]
fn c_tool_13_what_follows_settles_a_call() {
    let mut run = run();
    for event in [call("e1", "c"), call("e2", "c"), idle("e3", &["e1", "e2"])] {
        run.fold(&event);
    }
    run.fold(&event("e4", "tool.completed", json!({ "tool_call_id": "c" })));
    assert!(run.open_call("e1").is_none() && run.open_call("e2").is_some());
    assert_eq!(run.required(), ["e2"]);
}

#[test]
fn c_run_4_other_runs_and_no_run_change_nothing() {
    let mut run = run();
    for name in ["run.completed", "run.failed", "run.cancelled"] {
        assert_eq!(run.fold(&event_of("0b", "e1", name, &Value::Null)), []);
        assert_eq!(run.fold(&event_of("", "e1", name, &Value::Null)), []);
    }
    assert_eq!(run.end(), None);
    run.fold(&event_of("0-A", "e2", "run.completed", &Value::Null));
    assert_eq!(run.end(), Some(&End::Completed));
}

#[test]
fn c_sse_14_the_last_message_is_the_answer() {
    let mut run = run();
    run.fold(&message("e1", "Let me check."));
    run.fold(&message("e2", "Done."));
    assert_eq!(run.text(), None);
    run.fold(&event("e3", "run.completed", Value::Null));
    assert_eq!(run.text().as_deref(), Some("Done."));
}

#[test]
fn c_run_2_a_cancelled_run_has_no_answer() {
    let mut run = run();
    run.fold(&message("e1", "par"));
    run.fold(&event("e2", "run.cancelled", Value::Null));
    assert_eq!((run.end(), run.text()), (Some(&End::Cancelled), None));
}

/// The statuses of the items that these events show.
fn statuses(events: &[Event], defects: Defects) -> Vec<String> {
    let mut run = Run::new(RunId::new("0a"), defects);
    let changes = events.iter().flat_map(|event| run.fold(event)).collect::<Vec<_>>();
    let shown = changes.into_iter().filter_map(|change| match change {
        Change::Item { tool_call_id, status, .. } => Some(format!("{tool_call_id} {status}")),
        Change::Required | Change::Settled(_) | Change::Ended => None,
    });
    shown.collect()
}

#[test]
fn c_ui_1_an_item_goes_forward_and_ends_once() {
    let started = event("e0", "tool.started", json!({ "tool_call_id": "c", "name": "t" }));
    let completed = |id: &str| event(id, "tool.completed", json!({ "tool_call_id": "c" }));
    let life = [
        started,
        call("e1", "c"),
        idle("e2", &["e1"]),
        idle("e3", &["e1"]),
        completed("e4"),
        completed("e5"),
    ];
    assert_eq!(statuses(&life, Defects::NONE), ["c running", "c waiting", "c completed"]);
    assert_eq!(statuses(&life, Defect::RepeatsItems.into()).len(), 6);
    assert_eq!(statuses(&life, Defect::ItemNeverEnds.into()), ["c running", "c waiting"]);
    let cut = [call("e1", "c"), event("e2", "run.cancelled", Value::Null)];
    assert_eq!(statuses(&cut, Defects::NONE), ["c running", "c failed"]);
}
