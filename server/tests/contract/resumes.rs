//! Resumes (contract §6); their keys are in `keys.rs`, the details of an unfit result in `details.rs`.

use pantheon_core::turn::Step;
use serde_json::{Value, json};

use crate::cases::{cases, check_error};
use crate::runs::types;
use crate::stage::{Paused, Stage, both_results, call, echoed, say, still, turn};
use crate::support::{Answer, Api, message_body, result_body, text};

async fn resume(api: &Api, paused: &Paused, events: Value) -> Answer {
    api.resume(&paused.session, &paused.run, json!({ "events": events })).await
}

#[tokio::test]
async fn res_1_an_accepted_resume() {
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let before = api.events(&waiting.session).await.len();
    let answer = api
        .resume(&waiting.session, &waiting.run, result_body(&waiting.events[0], echoed()))
        .await
        .expect(202);
    let expected = json!({
        "run_id": waiting.run,
        "status": "running",
        "accepted_events": [{ "type": "user.custom_tool_result", "in_reply_to_event_id": waiting.events[0] }],
        "remaining_event_ids": [],
    });
    assert_eq!(answer, expected);
    // All of it is in the log by the time that the answer is there.
    let after = api.events(&waiting.session).await[before..].to_vec();
    let expected = ["session.status_running", "tool.completed", "message.completed", "run.completed"];
    assert_eq!(types(&after), expected);
    assert_eq!(after[1]["content"]["output"], echoed());
    assert_eq!(after[2]["content"][0]["text"], "echo_tool returned echoed: hello.");
}

#[tokio::test]
async fn res_1_the_seeds_request_word_for_word() {
    let stage = Stage::new().await;
    let waiting = stage.waiting();
    let body = r#"{
    "events": [{
      "type": "user.custom_tool_result",
      "in_reply_to_event_id": "EVENT",
      "content": {"echoed": "hello"}
    }]
  }"#;
    let request = stage
        .api()
        .request(reqwest::Method::POST, &waiting.path("resume"))
        .header("Idempotency-Key", "resume-evt-custom-tool-123")
        .header("Content-Type", "application/json")
        .body(body.replace("EVENT", &waiting.events[0]));
    assert_eq!(Api::send(request).await.expect(202)["status"], "running");
}

#[tokio::test]
async fn res_1_results_are_told_in_the_order_of_the_request() {
    let stage = Stage::new().await;
    let both = stage.two_questions().await;
    let before = stage.api().events(&both.session).await.len();
    let [first, second] = both_results(&both);
    let answer = resume(stage.api(), &both, json!([second, first])).await.expect(202);
    let ids: Vec<_> = answer["accepted_events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| text(event, "/in_reply_to_event_id"))
        .collect();
    assert_eq!(ids, [both.events[1].as_str(), &both.events[0]]);
    let after = stage.api().events(&both.session).await[before..].to_vec();
    assert_eq!(types(&after)[..3], ["session.status_running", "tool.completed", "tool.completed"]);
    let names = [text(&after[1], "/content/name"), text(&after[2], "/content/name")];
    assert_eq!(names, ["add_todo", "echo_tool"]);
}

#[tokio::test]
async fn res_1_a_run_may_pause_again() {
    let stage = Stage::new().await;
    let api = stage.api();
    let ask = |message: &str| Step::Call(vec![call("echo_tool", json!({ "message": message }))]);
    stage.fake.play([turn("", [ask("a"), say(&["Got {{ results.echo_tool.echoed }}"]), ask("b")])]);
    let first = crate::stage::paused(api, "demo", "go").await;
    let answer = resume(
        api,
        &first,
        json!([both_results(&Paused {
            events: vec![first.events[0].clone(), String::new()],
            ..first.clone()
        })[0]]),
    )
    .await;
    assert_eq!(answer.expect(202)["status"], "running", "as of acceptance");
    let state = api.run_state(&first.session, &first.run).await;
    assert_eq!(state["status"], "waiting");
    let second = text(&state, "/required_event_ids/0");
    assert_ne!(second, first.events[0]);
    // The question of the first pause stays answered.
    let late = api.resume(&first.session, &first.run, result_body(&first.events[0], echoed())).await;
    assert_eq!(late.code(409), "event_already_resolved");
    api.resume(&first.session, &first.run, result_body(&second, echoed())).await.expect(202);
    assert_eq!(api.run_state(&first.session, &first.run).await["status"], "completed");
}

#[tokio::test]
async fn res_4_an_unfit_result() {
    cases("RES-4").await;
}

#[tokio::test]
async fn res_4_nothing_is_accepted_beside_an_unfit_result() {
    let stage = Stage::new().await;
    let both = stage.two_questions().await;
    let log = stage.api().events(&both.session).await;
    let [good, mut bad] = both_results(&both);
    bad["content"] = json!({ "id": "1" });
    let refused = resume(stage.api(), &both, json!([good, bad])).await;
    check_error(&refused);
    let refused = refused.expect(422);
    assert_eq!(refused["error"]["code"], "tool_result_invalid");
    assert_eq!(refused["error"]["details"][0]["path"], "/events/1/content/title");
    assert_eq!(stage.api().events(&both.session).await, log);
    let state = stage.api().run_state(&both.session, &both.run).await;
    assert_eq!((&state["status"], &state["required_event_ids"]), (&json!("waiting"), &json!(both.events)));
}

#[tokio::test]
async fn res_6_references() {
    cases("RES-6").await;
}

#[tokio::test]
async fn res_6_an_event_that_is_no_question_of_this_run() {
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    // The session's own events that ask nothing, an earlier run's question, and one of another session.
    let earlier = stage.one_question().await;
    api.post(&earlier.path("cancel"), json!({})).await.expect(202);
    let stream = api.stream(&earlier.session, None, false).await;
    let run = api.run(&earlier.session, "echo_tool again").await;
    drop(stream);
    let later = Paused { run, ..earlier.clone() };
    let mut references: Vec<(Paused, String)> =
        vec![(later, earlier.events[0].clone()), (waiting.clone(), earlier.events[0].clone())];
    for event in api.events(&waiting.session).await {
        if event["type"] != "agent.custom_tool_use" {
            references.push((waiting.clone(), text(&event, "/id")));
        }
    }
    for (paused, reference) in references {
        let answer = api.resume(&paused.session, &paused.run, result_body(&reference, echoed())).await;
        assert_eq!(answer.code(400), "invalid_event_reference", "{reference}");
    }
}

#[tokio::test]
async fn res_7_an_input_that_is_answered_already() {
    let stage = Stage::new().await;
    let api = stage.api();
    let both = stage.two_questions().await;
    let [first, second] = both_results(&both);
    resume(api, &both, json!([first])).await.expect(202);
    let again = resume(api, &both, json!([first])).await;
    check_error(&again);
    assert_eq!(again.body["error"]["details"], json!({ "event_id": both.events[0] }));
    assert_eq!(again.code(409), "event_already_resolved");
    // With the open one beside it nothing is accepted either.
    assert_eq!(resume(api, &both, json!([second, first])).await.code(409), "event_already_resolved");
    resume(api, &both, json!([second])).await.expect(202);
    assert_eq!(api.run_state(&both.session, &both.run).await["status"], "completed");
    assert_eq!(resume(api, &both, json!([first])).await.code(409), "event_already_resolved", "after the end");
}

#[tokio::test]
async fn res_7_also_after_the_run_has_ended_otherwise() {
    let stage = Stage::new().await;
    let api = stage.api();
    for ends in ["cancelled", "expired"] {
        let both = stage.two_questions().await;
        let [first, _] = both_results(&both);
        resume(api, &both, json!([first])).await.expect(202);
        match ends {
            "cancelled" => drop(api.post(&both.path("cancel"), json!({})).await.expect(202)),
            _ => drop(api.advance("30m").await),
        }
        assert_eq!(resume(api, &both, json!([first])).await.code(409), "event_already_resolved", "{ends}");
    }
}

#[tokio::test]
async fn res_8_at_the_deadline_the_run_has_failed() {
    let stage = Stage::new().await;
    let api = stage.api();
    let late = stage.waiting();
    api.advance("29m").await;
    api.advance("59999ms").await;
    let in_time = stage.two_questions().await;
    assert_eq!(api.run_state(&late.session, &late.run).await["status"], "waiting");
    // The clock passes the deadline by far; the run failed at it.
    api.advance("1h").await;
    let body = result_body(&late.events[0], echoed());
    let refused = api.resume(&late.session, &late.run, body.clone()).await;
    check_error(&refused);
    assert_eq!(refused.code(409), "event_expired");
    let state = api.run_state(&late.session, &late.run).await;
    assert_eq!(state["status"], "failed");
    assert_eq!(state["error"]["code"], "event_expired");
    assert_eq!((&state["required_event_ids"], &state["resume_deadline"]), (&json!([]), &json!(null)));
    let last = api.events(&late.session).await.pop().unwrap();
    assert_eq!((&last["type"], &last["created_at"]), (&json!("run.failed"), &json!("2026-01-01T00:30:00Z")));
    assert_eq!(last["content"]["error"]["code"], "event_expired");
    let _ = in_time;
    // The session is free, and the old run's answer stays the same.
    api.run(&late.session, "hi").await;
    assert_eq!(api.resume(&late.session, &late.run, body).await.code(409), "event_expired");
}

#[tokio::test]
async fn res_8_to_the_millisecond() {
    let stage = Stage::new().await;
    let api = stage.api();
    let (one, other) = (stage.one_question().await, stage.one_question().await);
    api.advance("1799999ms").await;
    api.resume(&one.session, &one.run, result_body(&one.events[0], echoed())).await.expect(202);
    api.advance("1ms").await;
    let at = api.resume(&other.session, &other.run, result_body(&other.events[0], echoed())).await;
    assert_eq!(at.code(409), "event_expired");
}

#[tokio::test]
async fn res_8_variant_expired_410() {
    let mut options = still();
    assert!(options.defaults.variants.switch_on("expired-410"));
    let stage = Stage::with(options).await;
    let waiting = stage.waiting();
    stage.api().advance("30m").await;
    let refused =
        stage.api().resume(&waiting.session, &waiting.run, result_body(&waiting.events[0], echoed())).await;
    check_error(&refused);
    assert_eq!(refused.code(410), "event_expired");
}

#[tokio::test]
async fn res_9_one_deadline_a_pause_and_never_extended() {
    let stage = Stage::new().await;
    let api = stage.api();
    let both = stage.two_questions().await;
    let deadline = async || text(&api.run_state(&both.session, &both.run).await, "/resume_deadline");
    assert_eq!(deadline().await, "2026-01-01T00:30:00Z");
    api.advance("20m").await;
    let [first, second] = both_results(&both);
    resume(api, &both, json!([first])).await.expect(202);
    let unfit = resume(
        api,
        &both,
        json!([{ "type": "user.custom_tool_result", "in_reply_to_event_id": both.events[1], "content": {} }]),
    )
    .await;
    assert_eq!(unfit.code(422), "tool_result_invalid");
    assert_eq!(deadline().await, "2026-01-01T00:30:00Z", "neither a part nor a refusal extends it");
    api.advance("10m").await;
    assert_eq!(resume(api, &both, json!([second])).await.code(409), "event_expired");
    // Another pause has its own.
    let ask = |message: &str| Step::Call(vec![call("echo_tool", json!({ "message": message }))]);
    stage.fake.play([turn("", [ask("a"), ask("b")])]);
    let twice = crate::stage::paused(api, "demo", "go").await;
    api.advance("29m").await;
    api.resume(&twice.session, &twice.run, result_body(&twice.events[0], echoed())).await.expect(202);
    let state = api.run_state(&twice.session, &twice.run).await;
    assert_eq!(state["resume_deadline"], "2026-01-01T01:29:00Z");
}

#[tokio::test]
async fn res_9_the_deadline_is_configurable() {
    let mut options = still();
    options.defaults.resume_deadline = std::time::Duration::from_secs(5);
    let stage = Stage::with(options).await;
    let waiting = stage.waiting();
    let state = stage.api().run_state(&waiting.session, &waiting.run).await;
    assert_eq!(state["resume_deadline"], "2026-01-01T00:00:05Z");
    stage.api().advance("5s").await;
    let state = stage.api().run_state(&waiting.session, &waiting.run).await;
    assert_eq!(state["error"]["code"], "event_expired");
}

#[tokio::test]
async fn res_9_a_deadline_passes_in_real_time_too() {
    let mut options = still();
    options.defaults.clock = pantheon_mock::clock::Mode::Real;
    options.defaults.resume_deadline = std::time::Duration::from_millis(1);
    let fake = crate::support::Fake::with(options).await;
    let api = &fake.api;
    let session = api.session("todo-assistant").await;
    let stream = api.stream(&session, None, false).await;
    let run = api.run(&session, "add_todo with milk").await;
    // Nobody asks: the stream is told when the time has come.
    let frames = stream.rest().await;
    assert_eq!(frames.last().unwrap().event(), Some("run.failed"));
    assert_eq!(api.run_state(&session, &run).await["error"]["code"], "event_expired");
}

#[tokio::test]
async fn res_10_shape() {
    cases("RES-10").await;
}

#[tokio::test]
async fn res_10_a_part_of_the_answers() {
    let stage = Stage::new().await;
    let api = stage.api();
    let both = stage.two_questions().await;
    let before = api.events(&both.session).await.len();
    let [first, second] = both_results(&both);
    let answer = resume(api, &both, json!([second])).await.expect(202);
    assert_eq!(answer["status"], "waiting");
    assert_eq!(answer["remaining_event_ids"], json!([both.events[0]]));
    let after = api.events(&both.session).await[before..].to_vec();
    assert_eq!(types(&after), ["tool.completed", "session.status_idle"]);
    let idle = json!({ "stop_reason": { "type": "requires_action", "event_ids": [both.events[0]] } });
    assert_eq!((&after[1]["content"], &after[1]["data"]), (&idle, &idle));
    let state = api.run_state(&both.session, &both.run).await;
    assert_eq!(state["required_event_ids"], json!([both.events[0]]));
    let answer = resume(api, &both, json!([first])).await.expect(202);
    assert_eq!((&answer["status"], &answer["remaining_event_ids"]), (&json!("running"), &json!([])));
    let after = api.events(&both.session).await[before + 2..].to_vec();
    assert_eq!(types(&after)[..2], ["session.status_running", "tool.completed"]);
}

#[tokio::test]
async fn res_11_shape_of_an_error() {
    cases("RES-11").await;
}

#[tokio::test]
async fn res_11_the_seeds_decline_word_for_word() {
    let stage = Stage::new().await;
    let waiting = stage.waiting();
    let before = stage.api().events(&waiting.session).await.len();
    let body = r#"{
  "events": [{
    "type": "user.custom_tool_result",
    "in_reply_to_event_id": "EVENT",
    "error": {
      "code": "USER_CANCELLED",
      "message": "The user declined this action.",
      "retryable": false
    }
  }]
}"#;
    let body: Value = serde_json::from_str(&body.replace("EVENT", &waiting.events[0])).unwrap();
    let error = body["events"][0]["error"].clone();
    stage.api().resume(&waiting.session, &waiting.run, body).await.expect(202);
    let after = stage.api().events(&waiting.session).await[before..].to_vec();
    let expected = ["session.status_running", "tool.failed", "message.completed", "run.completed"];
    assert_eq!(types(&after), expected, "the run goes on");
    assert_eq!(after[1]["content"]["error"], error);
}

#[tokio::test]
async fn res_12_contents_that_are_no_objects() {
    cases("RES-12").await;
}

#[tokio::test]
async fn res_12_holds_for_a_tool_without_definition_too() {
    let stage = Stage::new().await;
    stage.fake.play([turn("", [Step::Call(vec![call("unbound", json!({}))])])]);
    let paused = crate::stage::paused(stage.api(), "demo", "go").await;
    let text = result_body(&paused.events[0], json!("text"));
    let answer = stage.api().resume(&paused.session, &paused.run, text).await;
    assert_eq!(answer.code(422), "tool_result_invalid");
    let any = result_body(&paused.events[0], json!({ "any": ["thing"] }));
    stage.api().resume(&paused.session, &paused.run, any).await.expect(202);
}

#[tokio::test]
async fn res_15_an_input_that_ended_unanswered() {
    let stage = Stage::new().await;
    let api = stage.api();
    let (cancelled, archived) = (stage.one_question().await, stage.one_question().await);
    api.post(&cancelled.path("cancel"), json!({})).await.expect(202);
    api.post(&format!("/v1/sessions/{}/archive", archived.session), json!({})).await.expect(200);
    for paused in [&cancelled, &archived] {
        let body = result_body(&paused.events[0], echoed());
        let answer = api.resume(&paused.session, &paused.run, body).await;
        check_error(&answer);
        assert_eq!(answer.code(409), "run_not_active");
        // It stays so, also past what was the deadline.
        api.advance("1h").await;
        let body = result_body(&paused.events[0], echoed());
        assert_eq!(api.resume(&paused.session, &paused.run, body).await.code(409), "run_not_active");
    }
    // A later run of the session changes nothing about it.
    api.post(&format!("/v1/sessions/{}/runs", cancelled.session), message_body("hi")).await.expect(202);
    let body = result_body(&cancelled.events[0], echoed());
    assert_eq!(api.resume(&cancelled.session, &cancelled.run, body).await.code(409), "run_not_active");
}
