//! `GET /__mock/verdict` over the wire: what each mistake is accused of, and what is none. What a mistake looks like in
//! the journal stands in `server/src/verdict/testdata`; here the journal is written by real requests.

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::still;
use crate::support::{Api, Fake, fresh_key, message_body, result_body, text};

const ECHO: &str = "
workspace:
  tools:
    - name: echo_tool
      input_schema: { type: object }
      output_schema: { type: object, properties: { echoed: { type: string } }, required: [echoed] }
  agents: [ { slug: demo, tools: [echo_tool] } ]
agent:
  - when: { message_contains: twice }
    do: [ { calls: [ { tool: echo_tool }, { tool: echo_tool } ] } ]
  - do: [ { call: { tool: echo_tool } } ]
";

/// A run that waits, and the calls that it waits for.
struct Paused {
    fake: Fake,
    api: Api,
    session: String,
    run: String,
    calls: Vec<String>,
}

impl Paused {
    /// With these lines in its scenario file besides. Its client has read the pause on a stream.
    async fn with(message: &str, more: &str) -> Self {
        let fake = Fake::with(still()).await;
        let api = Api::new(&fake.server.url, &fresh_key());
        api.scenario(&format!("{ECHO}{more}")).await.expect(200);
        let session = api.session("demo").await;
        let mut stream = api.stream(&session, None, true).await;
        let run = api.run(&session, message).await;
        let idle = stream.until("session.status_idle").await.data();
        let calls = idle["content"]["stop_reason"]["event_ids"].as_array().unwrap();
        let calls = calls.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        Self { fake, api, session, run, calls }
    }

    fn resume_path(&self) -> String {
        format!("/v1/sessions/{}/runs/{}/resume", self.session, self.run)
    }

    /// Sends a result; what becomes of it is for the verdict.
    async fn answer(&self, call: usize, key: &str, content: Value) {
        let body = result_body(&self.calls[call], content);
        let request = self.api.request(Method::POST, &self.resume_path()).header("Idempotency-Key", key);
        if let Ok(response) = request.json(&body).send().await {
            // An answer that is torn is as good as none.
            drop(response.bytes().await);
        }
    }
}

fn echoed(text: &str) -> Value {
    json!({ "echoed": text })
}

/// The names of all offences.
async fn accused(api: &Api, query: &str) -> Vec<String> {
    let verdict = api.get(&format!("/__mock/verdict{query}")).await.expect(200);
    let offences: Vec<_> =
        verdict["offences"].as_array().unwrap().iter().map(|it| text(it, "/offence")).collect();
    assert_eq!(verdict["verdict"], if offences.is_empty() { "pass" } else { "fail" }, "{verdict:#}");
    offences
}

#[track_caller]
fn check(accused: &[String], due: &[&str]) {
    assert_eq!(accused, due);
}

#[tokio::test]
async fn c_tool_5_and_6_a_lost_answer_under_another_key_or_with_another_body() {
    let lost = "faults: [ { at: { request: runs.resume, phase: after_commit }, do: { close: rst } } ]";
    for (key, content, due) in [
        ("key-0001", "a", &[][..]),
        ("key-0002", "a", &["changed-key-on-retry"]),
        ("key-0001", "b", &["changed-body-under-key"]),
    ] {
        let paused = Paused::with("hello", lost).await;
        paused.answer(0, "key-0001", echoed("a")).await;
        paused.answer(0, key, echoed(content)).await;
        check(&accused(&paused.api, "").await, due);
    }
}

#[tokio::test]
async fn c_tool_7_the_refused_result_again() {
    let paused = Paused::with("hello", "").await;
    paused.answer(0, "key-0001", json!({ "echoed": 1 })).await;
    check(&accused(&paused.api, "").await, &[]);
    paused.answer(0, "key-0002", json!({ "echoed": 1 })).await;
    check(&accused(&paused.api, "").await, &["same-body-after-tool-result-invalid"]);
    paused.answer(0, "key-0002", echoed("1")).await;
    check(&accused(&paused.api, "").await, &["same-body-after-tool-result-invalid"]);
}

#[tokio::test]
async fn c_tool_7_a_refusal_that_is_on_its_way_is_not_known_yet() {
    let slow = "faults: [ { at: { request: runs.resume }, do: { dribble: { bytes: 5, every: 1s } } } ]";
    let paused = Paused::with("hello", slow).await;
    let body = result_body(&paused.calls[0], json!({ "echoed": 1 }));
    let request =
        paused.api.request(Method::POST, &paused.resume_path()).header("Idempotency-Key", "key-0001");
    // Its headers are here, its body is not.
    let half = request.json(&body).send().await.unwrap();
    paused.answer(0, "key-0001", json!({ "echoed": 1 })).await;
    check(&accused(&paused.api, "").await, &[]);
    paused.api.advance("1h").await;
    assert_eq!(half.json::<Value>().await.unwrap()["error"]["code"], "tool_result_invalid");
    paused.answer(0, "key-0001", json!({ "echoed": 1 })).await;
    check(&accused(&paused.api, "").await, &["same-body-after-tool-result-invalid"]);
}

#[tokio::test]
async fn c_tool_3_a_result_before_its_idle() {
    let held = "faults: [ { at: { event: session.status_idle, when: before }, do: { stall: true } } ]";
    // Who asks for the run knows what it requires.
    for (asks, due) in [(false, &["resume-before-idle"][..]), (true, &[])] {
        let fake = Fake::with(still()).await;
        let api = Api::new(&fake.server.url, &fresh_key());
        api.scenario(&format!("{ECHO}{held}")).await.expect(200);
        let session = api.session("demo").await;
        let mut stream = api.stream(&session, None, true).await;
        let run = api.run(&session, "hello").await;
        let call = stream.until("agent.custom_tool_use").await.id().unwrap().to_owned();
        if asks {
            assert_eq!(api.run_state(&session, &run).await["required_event_ids"], json!([call]));
        }
        api.resume(&session, &run, result_body(&call, echoed("a"))).await.expect(202);
        check(&accused(&api, "").await, due);
    }
}

#[tokio::test]
async fn c_tool_3_and_12_a_pause_that_nobody_answers_and_a_call_that_is_left() {
    let paused = Paused::with("hello", "").await;
    check(&accused(&paused.api, "").await, &[]);
    check(&accused(&paused.api, "?final=true").await, &["pause-abandoned"]);
    paused.api.advance("29m").await;
    check(&accused(&paused.api, "").await, &[]);
    paused.api.advance("1m").await;
    check(&accused(&paused.api, "").await, &["pause-abandoned"]);

    let paused = Paused::with("twice", "").await;
    paused.answer(0, "key-0001", echoed("a")).await;
    check(&accused(&paused.api, "").await, &[]);
    paused.api.advance("30m").await;
    check(&accused(&paused.api, "").await, &["call-left-unanswered"]);

    let paused = Paused::with("hello", "").await;
    paused.api.post(&format!("/__mock/runs/{}/expire", paused.run), json!({})).await.expect(200);
    check(&accused(&paused.api, "?final=true").await, &[]);
}

#[tokio::test]
async fn c_http_1_again_before_retry_after() {
    let faults =
        "faults: [ { at: { request: runs.resume }, do: { respond: { status: 429, retry_after: 20 } } } ]";
    for (wait, due) in [(None, &["retry-after-ignored"][..]), (Some("20s"), &[])] {
        let paused = Paused::with("hello", faults).await;
        paused.answer(0, "key-0001", echoed("a")).await;
        if let Some(wait) = wait {
            paused.api.advance(wait).await;
        }
        paused.answer(0, "key-0001", echoed("a")).await;
        check(&accused(&paused.api, "").await, due);
    }
    let date = "faults: [ { at: { request: runs.resume }, do: { respond: { status: 503, retry_after: { date: 20s } } } } ]";
    let paused = Paused::with("hello", date).await;
    paused.answer(0, "key-0001", echoed("a")).await;
    paused.answer(0, "key-0001", echoed("a")).await;
    check(&accused(&paused.api, "").await, &["retry-after-ignored"]);
}

#[tokio::test]
async fn c_sse_11_six_connections_at_once() {
    let resync = "faults: [ { at: { stream: open, resumed: true }, times: always, do: { resync: true } } ]";
    let paused = Paused::with("hello", resync).await;
    let cursor = paused.api.events(&paused.session).await.last().unwrap()["id"].as_str().unwrap().to_owned();
    for round in 1..=6 {
        paused.api.stream(&paused.session, Some(&cursor), true).await.rest().await;
        check(&accused(&paused.api, "").await, if round < 6 { &[] } else { &["reconnect-storm"] });
    }
    drop(paused.fake);
}

#[tokio::test]
async fn c_reg_1_and_3_tools() {
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" }, "output_schema": { "type": "object" } });
    api.get("/v1/tools?name=one").await.expect(200);
    let one = text(&api.post("/v1/tools", tool("one")).await.expect(201), "/id");
    check(&accused(api, "").await, &[]);
    api.post("/v1/tools", tool("two")).await.expect(201);
    check(&accused(api, "").await, &["create-without-look-up"]);
    api.get("/v1/tools?name=two").await.expect(200);
    api.post("/v1/tools", tool("two")).await.expect(409);
    api.post(&format!("/v1/tools/{one}/versions"), json!({ "name": "one" })).await.expect(422);
    api.post(&format!("/v1/tools/{one}/versions"), json!({ "confirmation": "always" })).await.expect(422);
    check(
        &accused(api, "").await,
        &[
            "create-without-look-up",
            "create-despite-match",
            "version-with-refused-field",
            "version-with-refused-field",
        ],
    );
}

#[tokio::test]
async fn c_run_1_and_c_tool_6_starts_and_keys() {
    let lost = "faults: [ { at: { request: runs.create, phase: after_commit }, do: { close: fin } } ]";
    let fake = Fake::with(still()).await;
    fake.api.scenario(&format!("{ECHO}{lost}")).await.expect(200);
    let session = fake.api.session("demo").await;
    let path = format!("/v1/sessions/{session}/runs");
    let request = fake.api.request(Method::POST, &path).json(&message_body("hello"));
    request.send().await.expect_err("its answer is lost");
    fake.api.post(&path, message_body("hello")).await.expect(409);
    check(&accused(&fake.api, "").await, &["second-run-for-one-message"]);

    let paused = Paused::with("hello", "").await;
    paused.answer(0, "short", echoed("a")).await;
    check(&accused(&paused.api, "").await, &["unusable-idempotency-key"]);
}

#[tokio::test]
async fn a_state_reset_begins_a_record_of_its_own_and_a_cleared_journal_excuses() {
    let fake = Fake::with(still()).await;
    let reset = |scope: &'static str| {
        let api = fake.api.clone();
        async move { api.post("/__mock/reset", json!({ "scopes": [scope] })).await.expect(200) }
    };
    let tool =
        json!({ "name": "one", "input_schema": { "type": "object" }, "output_schema": { "type": "object" } });
    fake.api.post("/v1/tools", tool.clone()).await.expect(201);
    check(&accused(&fake.api, "").await, &["create-without-look-up"]);
    reset("state").await;
    check(&accused(&fake.api, "").await, &[]);
    fake.api.get("/v1/tools?name=one").await.expect(200);
    reset("journal").await;
    fake.api.post("/v1/tools", tool.clone()).await.expect(201);
    check(&accused(&fake.api, "").await, &[]);
    // A fresh world with a fresh journal lacks nothing.
    fake.api.post("/__mock/reset", json!({})).await.expect(200);
    fake.api.post("/v1/tools", tool).await.expect(201);
    check(&accused(&fake.api, "").await, &["create-without-look-up"]);
}

#[tokio::test]
async fn c_run_1_the_same_words_again_once_the_lost_start_was_answered() {
    let lost = "faults: [ { at: { request: runs.create, phase: after_commit }, do: { close: fin } } ]";
    let fake = Fake::with(still()).await;
    let yaml = "workspace: { tools: [], agents: [ { slug: demo } ] }\nagent: [ { do: [ { say: Hi. } ] } ]\n";
    fake.api.scenario(&format!("{yaml}{lost}")).await.expect(200);
    let session = fake.api.session("demo").await;
    let path = format!("/v1/sessions/{session}/runs");
    let request = fake.api.request(Method::POST, &path).header("Idempotency-Key", "start-01");
    request.json(&message_body("hello")).send().await.expect_err("its answer is lost");
    fake.api.post_keyed(&path, "start-01", message_body("hello")).await.expect(202);
    fake.api.stream(&session, None, true).await.rest().await;
    fake.api.post_keyed(&path, "start-02", message_body("hello")).await.expect(202);
    check(&accused(&fake.api, "").await, &[]);
}

/// What the journal has lost is never held to be a clean record.
#[tokio::test]
async fn evicted_evidence_is_inconclusive() {
    let mut options = still();
    options.defaults.journal.entries = 2;
    let fake = Fake::with(options).await;
    for _ in 0..4 {
        fake.api.get("/v1/tools").await.expect(200);
    }
    let verdict = fake.api.get("/__mock/verdict").await.expect(200);
    assert_eq!((&verdict["verdict"], &verdict["evicted"]), (&json!("inconclusive"), &json!(2)), "{verdict}");
    let expect = json!({ "expect": [{ "never": "reconnect-storm" }] });
    let verified = fake.api.post("/__mock/verify", expect).await.expect(200);
    assert_eq!(verified["verdict"], "inconclusive", "{verified}");
}

#[tokio::test]
async fn never_fails_with_the_entries_that_show_it() {
    let paused = Paused::with("hello", "").await;
    paused.answer(0, "key-0001", json!({ "echoed": 1 })).await;
    paused.answer(0, "key-0001", json!({ "echoed": 1 })).await;
    let expect = json!({ "expect": [
        { "never": "same-body-after-tool-result-invalid" },
        { "never": "changed-key-on-retry" },
    ] });
    let verified = paused.api.post("/__mock/verify", expect).await.expect(200);
    assert_eq!(verified["verdict"], "fail");
    let [failure] = &verified["failures"].as_array().unwrap()[..] else { panic!("{verified:#}") };
    assert_eq!((&failure["index"], &failure["found"]), (&json!(0), &json!(1)));
    assert_eq!(failure["nearest"].as_array().unwrap().len(), 2, "{failure:#}");
}
