//! Expectations over HTTP: the examples of the documentation, what is refused, and what can't be known.

use std::fs;
use std::path::{Path, PathBuf};

use pantheon_mock::journal::JournalLimits;
use pantheon_mock::mock::Options;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::{Answer, Api, Fake, message_body};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the tools of the scenario files return.
fn tool(name: &str, input: &Value) -> Value {
    match name {
        "echo_tool" => json!({ "echoed": input["message"] }),
        "get_weather" => json!({ "degrees": 21, "sky": "clear" }),
        "get_time" => json!({ "time": "12:00" }),
        other => panic!("no scenario calls {other}"),
    }
}

/// Asks for the verdict on the scenario that is loaded.
async fn verdict(api: &Api) -> Value {
    Api::send(api.request(reqwest::Method::POST, "/__mock/verify")).await.expect(200)
}

async fn verify(api: &Api, expect: Value) -> Answer {
    api.post("/__mock/verify", json!({ "expect": expect })).await
}

/// The examples of a page, in order.
fn examples(page: &str, language: &str) -> Vec<String> {
    let page = fs::read_to_string(project().join(page)).unwrap();
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Those of one of its sections.
fn examples_of(page: &str, section: &str, language: &str) -> Vec<String> {
    let page = fs::read_to_string(project().join(page)).unwrap();
    let section = page.split(&format!("\n## {section}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    section.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A workspace whose ids are those of the documentation, with the conversation of `echo` behind it.
async fn documented() -> (Fake, Api) {
    let fake = Fake::start().await;
    let api = Api::new(&fake.server.url, "pk_documentation");
    let yaml = fs::read_to_string(project().join("scenarios/echo.yaml")).unwrap();
    api.scenario(&yaml).await.expect(200);
    Client::open(&api, "demo").await.say("call it", tool).await;
    (fake, api)
}

#[tokio::test]
async fn the_documented_verdict_is_the_one_that_comes() {
    let (_fake, api) = documented().await;
    let [request, answer] = &examples_of("docs/control-api.md", "Verify", "json")[..] else {
        panic!("a request and its answer")
    };
    let request: Value = serde_json::from_str(request).unwrap();
    let came = api.post("/__mock/verify", request).await.expect(200);
    let told: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(came, told, "{came:#}");
}

#[tokio::test]
async fn the_documented_expectations_hold_after_the_conversation_that_they_are_about() {
    let (_fake, api) = documented().await;
    let examples = examples("docs/scenarios/expect.md", "yaml");
    assert!(examples.len() >= 3, "{} examples", examples.len());
    for example in examples {
        let yaml = format!("settings: {{}}\n{example}");
        Api::send(api.request(reqwest::Method::PUT, "/__mock/scenario?reset=false").body(yaml))
            .await
            .expect(200);
        let answer = verdict(&api).await;
        assert_eq!(answer["verdict"], "pass", "{example}\n{answer:#}");
    }
}

#[tokio::test]
async fn wrong_expectations_are_refused_with_their_place() {
    let fake = Fake::start().await;
    let details = async |body: Value| {
        let refused = fake.api.post("/__mock/verify", body).await.expect(422);
        refused["error"]["details"].clone()
    };
    let unknown = details(json!({ "expect": [{ "request": "*" }, { "stream": "opne" }] })).await;
    let reason = "unknown word; did you mean `open`? Allowed here: `open`, `close`";
    assert_eq!(unknown, json!([{ "path": "/expect/1/stream", "reason": reason }]));
    let reason = "unknown key; did you mean `expect`? Allowed here: `expect`";
    let misspelt = details(json!({ "expct": [] })).await;
    assert_eq!(misspelt[0], json!({ "path": "/expct", "reason": reason }));

    let nothing = Api::send(fake.api.request(reqwest::Method::POST, "/__mock/verify")).await.expect(422);
    let reason = nothing["error"]["details"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("there is nothing to verify"), "{reason}");

    let scenario = fake.api.scenario("expect:\n  - { request: runs.resme }\n").await.expect(422);
    let detail = &scenario["error"]["details"][0];
    assert_eq!((&detail["path"], &detail["line"]), (&json!("/expect/0/request"), &json!(2)));
}

#[tokio::test]
async fn evicted_entries_make_a_verdict_inconclusive_until_the_journal_is_cleared() {
    let mut options = Options::default();
    options.defaults.journal = JournalLimits { entries: 2, bytes: 1 << 20 };
    let fake = Fake::with(options).await;
    let expect = json!([{ "request": "tools.list", "times": 0 }]);
    assert_eq!(verify(&fake.api, expect.clone()).await.expect(200)["verdict"], "pass");
    for _ in 0..3 {
        fake.api.get("/v1/agents").await.expect(200);
    }
    let answer = verify(&fake.api, expect.clone()).await.expect(200);
    assert_eq!(answer["verdict"], "inconclusive");
    let reason = "expected exactly 0, found 0; the journal has evicted 1 of the older entries";
    assert_eq!(answer["failures"][0]["reason"], reason);
    fake.api.post("/__mock/reset", json!({ "scopes": ["journal"] })).await.expect(200);
    assert_eq!(verify(&fake.api, expect).await.expect(200)["verdict"], "pass");
}

#[tokio::test]
async fn a_body_that_the_journal_cuts_is_no_evidence_of_what_is_in_it() {
    let fake = Fake::start().await;
    let session = fake.api.session("todo-assistant").await;
    fake.api.run(&session, &"long ".repeat(20_000)).await;
    let expect = json!([{ "request": "runs.create", "where": { "/events/0/type": "user.message" } }]);
    let answer = verify(&fake.api, expect).await.expect(200);
    assert_eq!(answer["verdict"], "inconclusive");
    let seen = "a body of which the journal kept only the beginning";
    assert_eq!(answer["failures"][0]["nearest"][0]["differs"][0]["seen"], seen);
}

#[tokio::test]
async fn no_failure_tells_an_api_key() {
    let fake = Fake::start().await;
    let key = &fake.api.key;
    let path = format!("/v1/tools?q={key}");
    let keyed = fake.api.request(reqwest::Method::GET, &path).header("X-Api-Key", key);
    Api::send(keyed).await;
    let session = fake.api.session("todo-assistant").await;
    fake.api.post(&format!("/v1/sessions/{session}/runs"), message_body(key)).await.expect(202);
    let expect = json!([
        { "request": "tools.list", "where": { "query": "x", "header": { "x-api-key": "y" } } },
        { "request": "runs.create", "where": { "/events/0/content/0/text": "other" } },
        { "request": "runs.get", "where": { "path": format!("/{key}") } },
        { "event": "*", "where": { "/content/0/text": { "contains": key } } },
    ]);
    let answer = verify(&fake.api, expect).await.expect(200);
    assert_eq!(answer["failures"].as_array().unwrap().len(), 4, "{answer:#}");
    assert!(!answer.to_string().contains(key.as_str()), "{answer:#}");
}
