//! Clients that die and come back.

use serde_json::{Value, json};

use crate::stage::Stage;

/// Brings the client to where it has called the tool, and kills it there.
async fn killed_at_tool(stage: &mut Stage) -> Value {
    stage.hub.hold(true);
    stage.give("say", json!({ "do": "converse", "agent_slug": "demo", "message": "call" }));
    let seen = stage.hub.until("the call", |seen| seen.tools.len() == 1).await;
    stage.kill_client().await;
    stage.hub.hold(false);
    seen.tools[0].clone()
}

/// Starts the client anew and has it take up the run.
async fn taken_up(stage: &mut Stage, call: &Value) -> Value {
    stage.start_client();
    stage
        .give("say", json!({ "do": "continue", "session_id": call["session_id"], "run_id": call["run_id"] }));
    stage.hub.done("say").await
}

#[tokio::test]
async fn c_tool_2_a_death_while_the_tool_works_is_answered_with_an_error() {
    let mut stage = Stage::new("").await;
    let call = killed_at_tool(&mut stage).await;
    assert_eq!(taken_up(&mut stage, &call).await["status"], "completed");
    assert_eq!(stage.hub.seen().tools.len(), 1);
    let resumes = stage.requests("runs.resume").await;
    assert_eq!(resumes[0]["body"]["events"][0]["error"]["code"], "EXECUTION_UNKNOWN");
}

#[tokio::test]
async fn c_tool_2_a_death_while_the_answer_is_on_its_way_sends_it_again() {
    let mut stage = Stage::new("  - { at: { request: runs.resume, nth: 1, phase: after_commit }, do: { stall: true } }\n  - { at: { event: session.status_running, when: before, nth: 1 }, do: { stall: true } }").await;
    stage.give("say", json!({ "do": "converse", "agent_slug": "demo", "message": "call" }));
    let seen = stage.hub.until("the call", |seen| seen.tools.len() == 1).await;
    while stage.requests("runs.resume").await.is_empty() {
        tokio::task::yield_now().await;
    }
    stage.kill_client().await;
    let done = taken_up(&mut stage, &seen.tools[0].clone()).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(stage.hub.seen().tools.len(), 1);
    let cursors = stage.headers("events.stream", "last-event-id").await;
    assert!(!cursors[1].is_empty(), "{cursors:?}");
}

#[tokio::test]
async fn c_tool_2_a_task_that_is_given_again_goes_on() {
    let mut stage = Stage::new("").await;
    killed_at_tool(&mut stage).await;
    stage.start_client();
    assert_eq!(stage.say("call").await["status"], "completed");
    assert_eq!(stage.requests("runs.create").await.len(), 1);
    assert_eq!(stage.hub.seen().tools.len(), 1);
}
