//! Agents, deployments and sessions (contract §3).

use serde_json::json;

use crate::cases::cases;
use crate::stage::{Stage, echoed, still};
use crate::support::{Fake, message_body, result_body, text};

#[tokio::test]
async fn agent_1_a_new_agent() {
    let fake = Fake::with(still()).await;
    let created = fake.api.post("/v1/agents", json!({ "name": "A", "slug": "a" })).await.expect(201);
    assert_eq!(
        created,
        json!({
            "id": text(&created, "/id"),
            "name": "A",
            "slug": "a",
            "version": 1,
            "model": null,
            "system_prompt": null,
            "tools": [],
            "tool_requirements": [],
            "requires_sandbox": false,
            "metadata": {},
            "created_at": "2026-01-01T00:00:00Z",
        })
    );
}

#[tokio::test]
async fn agent_1_conflict_and_deletion() {
    cases("AGENT-1").await;
}

#[tokio::test]
async fn agent_1_a_deleted_agent_is_listed_no_more() {
    let stage = Stage::new().await;
    let api = stage.api();
    let deleted = api.delete(&stage.fill("/v1/agents/{agent}")).await;
    assert_eq!((deleted.status.as_u16(), &deleted.body), (204, &json!("")));
    let slugs = api.get("/v1/agents").await.expect(200);
    assert_eq!(slugs["data"].as_array().unwrap().len(), 1, "{slugs}");
    // The run that waits goes on as well.
    let waiting = stage.waiting();
    let resumed = api.resume(&waiting.session, &waiting.run, result_body(&waiting.events[0], echoed())).await;
    assert_eq!(resumed.expect(202)["status"], "running");
}

#[tokio::test]
async fn deploy_1_what_a_deployment_may_say() {
    cases("DEPLOY-1").await;
}

#[tokio::test]
async fn deploy_1_two_definitions_of_one_tool() {
    let stage = Stage::new().await;
    let api = stage.api();
    let version = api.post(&stage.fill("/v1/tools/{tool}/versions"), json!({})).await.expect(201);
    let ids = json!([stage.id("definition"), version["latest_definition"]["id"]]);
    let refused = api
        .post("/v1/deployments", json!({ "agent_id": stage.id("agent"), "tool_definition_ids": ids }))
        .await
        .expect(422);
    let paths: Vec<_> = crate::cases::details(&refused).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/tool_definition_ids/0", "/tool_definition_ids/1"]);
}

#[tokio::test]
async fn deploy_2_a_version_changes_nothing_until_it_is_deployed() {
    // B086: the version is added while a run of the old one waits.
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let other =
        json!({ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] });
    let version = api
        .post(&stage.fill("/v1/tools/{tool}/versions"), json!({ "output_schema": other }))
        .await
        .expect(201);
    let by_old = stage.one_question().await;
    for paused in [&waiting, &by_old] {
        let new_result = result_body(&paused.events[0], json!({ "count": 1 }));
        let refused = api.resume(&paused.session, &paused.run, new_result).await;
        assert_eq!(refused.code(422), "tool_result_invalid");
        let old_result = result_body(&paused.events[0], echoed());
        api.resume(&paused.session, &paused.run, old_result).await.expect(202);
    }
    let deployment =
        json!({ "agent_id": stage.id("agent"), "tool_definition_ids": [version["latest_definition"]["id"]] });
    let newest = api.post("/v1/deployments", deployment).await.expect(201);
    let by_new = stage.one_question().await;
    let session = api.get(&format!("/v1/sessions/{}", by_new.session)).await.expect(200);
    assert_eq!(session["deployment_id"], newest["id"]);
    let result = result_body(&by_new.events[0], json!({ "count": 1 }));
    api.resume(&by_new.session, &by_new.run, result).await.expect(202);
    // A session is fixed to the deployment that it was opened with.
    let old = api.get(&stage.fill("/v1/sessions/{session}")).await.expect(200);
    assert_eq!(old["deployment_id"], stage.id("deployment"));
}

#[tokio::test]
async fn sess_1_a_new_session() {
    cases("SESS-1").await;
}

#[tokio::test]
async fn sess_1_a_session_shows_what_its_agent_requires() {
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    let agent = json!({ "name": "Box", "slug": "box", "requires_sandbox": true });
    let agent = api.post("/v1/agents", agent).await.expect(201);
    api.post("/v1/deployments", json!({ "agent_id": agent["id"] })).await.expect(201);
    let session = api.post("/v1/sessions", json!({ "agent_slug": "box" })).await.expect(201);
    assert_eq!(session["requires_sandbox"], true);
    assert_eq!((&session["sandbox_status"], &session["sandbox_id"]), (&json!("none"), &json!(null)));
}

#[tokio::test]
async fn sess_2_archiving() {
    cases("SESS-2").await;
}

#[tokio::test]
async fn sess_2_an_archived_session_keeps_the_time_of_the_first_time() {
    let stage = Stage::new().await;
    let api = stage.api();
    let path = stage.fill("/v1/sessions/{waiting}/archive");
    let first = api.post(&path, json!({})).await.expect(200);
    api.advance("1h").await;
    assert_eq!(api.post(&path, json!({})).await.expect(200), first);
}

#[tokio::test]
async fn sess_2_a_stream_there_replays_and_ends() {
    let stage = Stage::new().await;
    let api = stage.api();
    let waiting = stage.waiting();
    let mut open = api.stream(&waiting.session, None, false).await;
    open.until("session.status_idle").await;
    api.post(&format!("/v1/sessions/{}/archive", waiting.session), json!({})).await.expect(200);
    let rest: Vec<_> = open.rest().await.iter().map(|frame| frame.event().unwrap().to_owned()).collect();
    assert_eq!(rest, ["run.cancelled"]);
    let all = api.events(&waiting.session).await;
    let replay = api.stream(&waiting.session, None, false).await.rest().await;
    assert_eq!(replay.iter().map(crate::support::Frame::data).collect::<Vec<_>>(), all);
    let last = all.last().unwrap()["id"].as_str().unwrap();
    assert_eq!(api.stream(&waiting.session, Some(last), false).await.rest().await, []);
    // One that never had a run ends at once.
    assert_eq!(api.stream(stage.id("archived"), None, false).await.rest().await, []);
    let refused = api.post(&format!("/v1/sessions/{}/runs", waiting.session), message_body("hi")).await;
    assert_eq!(refused.code(409), "session_archived");
}
