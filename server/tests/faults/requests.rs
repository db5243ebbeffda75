//! Each verb at a request.

use serde_json::{Value, json};

use crate::support::{Api, result_body, text};
use crate::wire::{Ending, REPEATS, Raw, Seen, arm, fake, journaled};

/// A verb at `tools.list`, met again and again: what comes of it.
#[track_caller]
fn check(phase: &str, verb: Value, judge: impl Fn(Seen, &str)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let fake = fake().await;
        let plain = list(&fake.api).await.rest().await;
        assert_eq!(plain.ending, Ending::Whole);
        arm(
            &fake.api,
            json!({ "at": { "request": "tools.list", "phase": phase }, "times": "always", "do": verb }),
        )
        .await;
        for _ in 0..REPEATS {
            judge(list(&fake.api).await.rest().await, &plain.body);
        }
        let faults = fake.api.get("/__mock/faults").await.expect(200);
        assert_eq!(faults["faults"][0]["fired"], REPEATS);
        assert_eq!(faults["faults"][0]["remaining"], "always");
    });
}

async fn list(api: &Api) -> Raw {
    Raw::send(api, "GET", "/v1/tools", "", "").await
}

#[test]
fn close_before_an_answer_leaves_nothing() {
    for (how, ending) in [("fin", Ending::Torn), ("abort", Ending::Torn), ("rst", Ending::Reset)] {
        check("before", json!({ "close": how }), |seen, _| {
            assert_eq!((seen.head.as_str(), seen.body.as_str(), seen.ending), ("", "", ending));
        });
    }
}

#[test]
fn close_after_the_commit_loses_the_answer_and_abort_tears_it() {
    for (how, ending) in [("fin", Ending::Torn), ("rst", Ending::Reset)] {
        check("after_commit", json!({ "close": how }), |seen, _| {
            assert_eq!((seen.head.as_str(), seen.ending), ("", ending));
        });
    }
    check("after_commit", json!({ "close": "abort" }), |seen, plain| {
        assert!(seen.head.starts_with("HTTP/1.1 200 OK\r\n"), "{}", seen.head);
        assert!(seen.head.contains(&format!("\r\ncontent-length: {}", plain.len())), "{}", seen.head);
        assert_eq!((seen.body.as_str(), seen.ending), (&plain[..plain.len() / 2], Ending::Torn));
    });
}

#[test]
fn respond_is_that_answer_instead() {
    let verb = json!({ "respond": { "status": 503, "code": "overloaded", "message": "later", "retry_after": 2,
        "headers": { "x-own": "yes" } } });
    for phase in ["before", "after_commit"] {
        check(phase, verb.clone(), |seen, _| {
            assert!(seen.head.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{}", seen.head);
            for header in ["retry-after: 2", "x-own: yes", "content-type: application/json"] {
                assert!(seen.head.contains(&format!("\r\n{header}")), "{header} in {}", seen.head);
            }
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            assert_eq!(
                (&body["error"]["code"], &body["error"]["message"]),
                (&json!("overloaded"), &json!("later"))
            );
            assert!(seen.head.contains(&text(&body, "/error/request_id")));
            assert_eq!(seen.ending, Ending::Whole);
        });
    }
    check("before", json!({ "respond": { "status": 200, "body": "<html>" } }), |seen, _| {
        assert_eq!((seen.body.as_str(), seen.ending), ("<html>", Ending::Whole));
    });
    check("before", json!({ "respond": { "status": 429, "retry_after": { "date": "90s" } } }), |seen, _| {
        assert!(seen.head.contains("\r\nretry-after: Thu, 01 Jan 2026 00:01:30 GMT"), "{}", seen.head);
        assert!(seen.head.contains("\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT"), "{}", seen.head);
    });
}

#[test]
fn dribble_sends_the_same_answer_in_pieces() {
    check("after_commit", json!({ "dribble": { "bytes": 100, "every": "0s" } }), |seen, plain| {
        assert_eq!((seen.body.as_str(), seen.ending), (plain, Ending::Whole));
    });
}

#[test]
fn redirect_names_the_other_origin() {
    check(
        "before",
        json!({ "redirect": { "to": "{{ other_origin }}{{ path }}", "status": 307 } }),
        |seen, _| {
            assert!(seen.head.starts_with("HTTP/1.1 307 "), "{}", seen.head);
            assert!(seen.head.contains("\r\nlocation: http://localhost:"), "{}", seen.head);
            assert!(seen.head.contains("/v1/tools?mock_redirect="), "{}", seen.head);
        },
    );
}

#[tokio::test]
async fn a_redirect_notes_whether_a_key_came() {
    let fake = fake().await;
    arm(
        &fake.api,
        json!({ "id": "r", "at": { "request": "tools.list" }, "times": 2,
        "do": { "redirect": { "to": "{{ other_origin }}{{ path }}", "status": 302 } } }),
    )
    .await;
    for (header, expected) in [("", "without an API key"), ("authorization: Bearer x\r\n", "with an API key")]
    {
        let seen = list(&fake.api).await.rest().await;
        let location = seen.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        let path = location.split_once("/v1").map(|(_, path)| format!("/v1{path}")).unwrap();
        let mut follower = fake.api.clone();
        follower.key = "someone-else".to_owned();
        let request = reqwest::Client::new().get(format!("{}{path}", fake.api.url));
        let request = if header.is_empty() { request } else { request.bearer_auth("someone-else") };
        request.send().await.unwrap();
        let entry = journaled(&fake.api, "fault").await;
        assert_eq!(entry["reason"], format!("the redirect to another origin was followed {expected}"));
        assert_eq!(entry["fault_id"], "r");
    }
}

/// Delays and silences follow the workspace's clock, and an advance tells of them.
#[tokio::test]
async fn delay_and_stall_follow_the_clock() {
    for verb in [json!({ "delay": "2s" }), json!({ "stall": "2s" })] {
        for phase in ["before", "after_commit"] {
            let fake = fake().await;
            arm(
                &fake.api,
                json!({ "id": "late", "at": { "request": "tools.list", "phase": phase }, "do": verb }),
            )
            .await;
            let waiting = list(&fake.api).await;
            journaled(&fake.api, "fault").await;
            let told =
                fake.api.post("/__mock/clock/advance", json!({ "to": "next_deadline" })).await.expect(200);
            assert_eq!(told["now"], "2026-01-01T00:00:02Z");
            assert_eq!(told["fired"][0]["fault_id"], "late", "{told}");
            assert_eq!(waiting.rest().await.ending, Ending::Whole);
        }
    }
}

#[tokio::test]
async fn a_stall_for_ever_is_silent_until_the_client_goes() {
    let fake = fake().await;
    arm(&fake.api, json!({ "at": { "request": "tools.list" }, "do": { "stall": true } })).await;
    let silent = list(&fake.api).await;
    let entry = journaled(&fake.api, "request").await;
    assert_eq!((&entry["status"], &entry["reason"]), (&Value::Null, &json!("no answer left: a fault")));
    drop(silent);
    fake.server.connections.until(|open| open <= 1).await;
    fake.server.stop().await;
}

/// The run waits; what happens at its resume.
#[tokio::test]
async fn acts_at_a_request() {
    for (verb, code) in [
        (json!({ "expire": true }), "event_expired"),
        (json!({ "cancel": true }), "run_not_active"),
        (json!({ "resolve": { "content": { "id": "9", "title": "x" } } }), "event_already_resolved"),
    ] {
        let fake = fake().await;
        let api = &fake.api;
        let session = api.session("todo-assistant").await;
        let run = api.run(&session, "add_todo with milk").await;
        let call = api.stream(&session, None, false).await.until("agent.custom_tool_use").await;
        arm(api, json!({ "id": "act", "at": { "request": "runs.resume", "from": 1 }, "do": verb })).await;
        let path = format!("/v1/sessions/{session}/runs/{run}/resume");
        let body = result_body(call.id().unwrap(), json!({ "id": "1", "title": "milk" }));
        assert_eq!(api.post_keyed(&path, "key-1234", body.clone()).await.code(409), code);
        // The second time there is nothing to act on: skipped, and not counted.
        assert_eq!(api.post_keyed(&path, "key-1234", body).await.code(409), code);
        let entry = journaled(api, "fault").await;
        assert!(text(&entry, "/reason").starts_with("skipped: "), "{entry}");
        let fault = api.get("/__mock/faults/act").await.expect(200);
        assert_eq!((&fault["seen"], &fault["fired"]), (&json!(2), &json!(1)));
    }
    let fake = fake().await;
    let session = fake.api.session("todo-assistant").await;
    arm(&fake.api, json!({ "at": { "request": "runs.create" }, "do": { "begin": { "message": "first" } } }))
        .await;
    let answer =
        fake.api.post(&format!("/v1/sessions/{session}/runs"), crate::support::message_body("mine")).await;
    assert_eq!(answer.code(409), "SESSION_BUSY");
}
