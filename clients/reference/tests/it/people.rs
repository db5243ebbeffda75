//! People: approvals and cancels.

use serde_json::{Value, json};

use crate::stage::Stage;

async fn asked(stage: &Stage) -> Value {
    let task =
        json!({ "do": "converse", "agent_slug": "demo", "message": "call", "approval": ["echo_tool"] });
    stage.give("say", task);
    let seen = stage.hub.until("the question", |seen| seen.questions.len() == 1).await;
    assert_eq!(seen.tools.len(), 0);
    let used = |item: &&Value| item["type"] == "agent.custom_tool_use";
    let seen = stage.hub.until("the call", |seen| seen.reports.iter().any(|item| used(&item))).await;
    seen.reports.iter().find(used).unwrap()["data"].clone()
}

#[tokio::test]
async fn c_app_1_a_yes_lets_it_run_and_a_no_declines() {
    for yes in [true, false] {
        let stage = Stage::new("").await;
        asked(&stage).await;
        stage.hub.decide(yes);
        assert_eq!(stage.hub.done("say").await["status"], "completed");
        assert_eq!(stage.hub.seen().tools.len(), usize::from(yes));
        let resumes = stage.requests("runs.resume").await;
        let code = &resumes[0]["body"]["events"][0]["error"]["code"];
        assert_eq!(*code, if yes { Value::Null } else { json!("USER_CANCELLED") });
    }
}

#[tokio::test]
async fn c_app_2_a_cancel_withdraws_the_question() {
    let stage = Stage::new("").await;
    let call = asked(&stage).await;
    stage.api("POST", &format!("/__mock/runs/{}/cancel", call["run_id"].as_str().unwrap()), json!({})).await;
    assert_eq!(stage.hub.done("say").await["status"], "cancelled");
    stage.hub.decide(true);
    assert_eq!((stage.hub.seen().tools.len(), stage.requests("runs.resume").await.len()), (0, 0));
}

#[tokio::test]
async fn c_app_2_anothers_answer_withdraws_the_question() {
    let stage = Stage::new("").await;
    let call = asked(&stage).await;
    let answer = json!({ "content": { "echoed": "theirs" } });
    stage.api("POST", &format!("/__mock/runs/{}/resolve", call["run_id"].as_str().unwrap()), answer).await;
    assert_eq!(stage.hub.done("say").await["text"], "Echoed theirs");
    assert_eq!(stage.hub.seen().tools.len(), 0);
}

#[tokio::test]
async fn c_tool_14_a_run_is_cancelled_while_its_tool_works() {
    let stage = Stage::new("").await;
    stage.hub.hold(true);
    stage.give("say", json!({ "do": "converse", "agent_slug": "demo", "message": "call" }));
    let seen = stage.hub.until("the call", |seen| seen.tools.len() == 1).await;
    let run = seen.tools[0]["run_id"].as_str().unwrap();
    stage.api("POST", &format!("/__mock/runs/{run}/cancel"), json!({})).await;
    let done = stage.hub.done("say").await;
    assert_eq!((&done["status"], &done["text"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(stage.requests("runs.resume").await.len(), 0);
}
