//! The journal: what stands in it, how it is read, and what never stands in it (interfaces §2).

use pantheon_mock::journal::JournalLimits;
use pantheon_mock::mock::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Stage, echoed, still};
use crate::support::{Api, Fake, Stream, result_body, text};

async fn page(api: &Api, query: &str) -> Value {
    api.get(&format!("/__mock/journal?{query}")).await.expect(200)
}

fn entries(page: &Value) -> &Vec<Value> {
    page["entries"].as_array().unwrap()
}

#[tokio::test]
async fn an_entry_of_a_request() {
    let stage = Stage::new().await;
    let api = stage.api();
    let after = page(api, "limit=1000").await["next"].clone();
    let waiting = stage.waiting();
    let body = result_body(&waiting.events[0], echoed());
    for _ in 0..2 {
        let path = format!("{}?a=b%20c", waiting.path("resume"));
        api.post_keyed(&path, "journal-key", body.clone()).await.expect(202);
    }
    let page = page(api, &format!("after={after}")).await;
    let [first, again] = &entries(&page)[..] else { panic!("{page}") };
    assert_eq!(first["seq"], after.as_u64().unwrap() + 1);
    assert_eq!((&first["at"], &first["kind"]), (&json!("2026-01-01T00:00:00Z"), &json!("request")));
    assert!(first["elapsed_ms"].is_u64());
    assert_eq!((&first["route"], &first["method"]), (&json!("runs.resume"), &json!("POST")));
    assert_eq!((&first["path"], &first["query"]), (&json!(waiting.path("resume")), &json!("a=b%20c")));
    assert_eq!(first["headers"]["idempotency-key"], "journal-key");
    assert_eq!(first["headers"]["authorization"], "[redacted]");
    // Results stand in the journal.
    assert_eq!(first["body"], body);
    assert_eq!((&first["status"], &first["response_body"]["status"]), (&json!(202), &json!("running")));
    assert_eq!((&first["session_id"], &first["run_id"]), (&json!(waiting.session), &json!(waiting.run)));
    assert_eq!((first.get("replayed"), &again["replayed"]), (None, &json!(true)));
}

#[tokio::test]
async fn every_route_by_its_name() {
    let stage = Stage::new().await;
    let api = stage.api();
    let after = page(api, "limit=1000").await["next"].clone();
    for (method, path) in crate::transport::ROUTES {
        drop(api.request(method.parse().unwrap(), &stage.fill(path)).send().await.unwrap());
    }
    let page = page(api, &format!("after={after}&limit=1000&kind=request,stream_open")).await;
    let names: Vec<String> = entries(&page).iter().map(|entry| text(entry, "/route")).collect();
    assert_eq!(
        names,
        [
            "tools.list",
            "tools.create",
            "tools.get",
            "tools.versions.list",
            "tools.versions.create",
            "agents.list",
            "agents.create",
            "agents.get",
            "agents.delete",
            "deployments.list",
            "deployments.create",
            "deployments.get",
            "sessions.list",
            "sessions.create",
            "sessions.get",
            "sessions.archive",
            "runs.list",
            "runs.create",
            "runs.get",
            "runs.resume",
            "runs.cancel",
            "events.list",
            "events.stream",
        ]
    );
}

#[tokio::test]
async fn streams_and_deadlines() {
    let stage = Stage::new().await;
    let api = stage.api();
    let after = page(api, "limit=1000").await["next"].clone();
    let mut stream = api.stream(stage.id("waiting"), Some(stage.id("event")), false).await;
    stream.until("session.status_idle").await;
    api.advance("30m").await;
    let bytes: usize = 0;
    let rest = stream.rest().await;
    let last = rest.last().unwrap();
    let page = page(api, &format!("after={after}")).await;
    let kinds: Vec<_> = entries(&page).iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["stream_open", "deadline", "stream_close"]);
    let [open, deadline, close] = &entries(&page)[..] else { panic!("{page}") };
    assert_eq!((&open["route"], &open["status"]), (&json!("events.stream"), &json!(200)));
    assert_eq!(open["last_event_id"], stage.id("event"));
    assert_eq!(
        (&deadline["run_id"], &deadline["at"]),
        (&json!(stage.id("run")), &json!("2026-01-01T00:30:00Z"))
    );
    assert_eq!(close["stream_id"], open["stream_id"]);
    assert_eq!((&close["events"], close["last_event_id"].as_str()), (&json!(2), last.id()));
    assert!(close["bytes"].as_u64().unwrap() > bytes as u64);
    assert!(close["reason"].as_str().unwrap().starts_with("server"), "{close}");
    // Who leaves is told as well.
    let left = api.stream(stage.id("session"), None, false).await;
    drop(left);
    let after = &page["next"];
    let close = self::page(api, &format!("after={after}&kind=stream_close&wait_ms=60000")).await;
    assert!(close["entries"][0]["reason"].as_str().unwrap().starts_with("client"), "{close}");
}

#[tokio::test]
async fn frames_where_the_scenario_asks_for_them() {
    let fake = Fake::with(still()).await;
    fake.api.scenario("scenario: s\nsettings: { journal: frames, start_after: 1h }\n").await.expect(200);
    let session = fake.api.session("todo-assistant").await;
    fake.api.run(&session, "hi").await;
    let frames = fake.api.stream(&session, None, true).await.rest().await;
    let page = page(&fake.api, "kind=frame").await;
    let told: Vec<_> = entries(&page).iter().map(|entry| text(entry, "/body")).collect();
    assert_eq!(told, frames.iter().map(|frame| frame.raw.clone()).collect::<Vec<_>>());
    for (entry, frame) in entries(&page).iter().zip(&frames) {
        assert_eq!((entry["event_type"].as_str(), entry["event_id"].as_str()), (frame.event(), frame.id()));
        assert_eq!(entry["bytes"], frame.raw.len());
    }
}

#[tokio::test]
async fn pages_by_number_kind_and_limit() {
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    for _ in 0..5 {
        api.get("/v1/tools").await.expect(200);
        drop(api.stream(&api.session("todo-assistant").await, None, false).await);
    }
    let all = page(api, "limit=1000").await;
    let seqs: Vec<u64> = entries(&all).iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!((all["next"].as_u64(), &all["evicted"]), (seqs.last().copied(), &json!(0)));
    let (mut paged, mut after) = (Vec::new(), 0);
    loop {
        let page = page(api, &format!("after={after}&limit=3&kind=request")).await;
        assert!(entries(&page).len() <= 3);
        paged.extend(entries(&page).iter().cloned());
        after = page["next"].as_u64().unwrap();
        if entries(&page).is_empty() {
            break;
        }
    }
    let requests: Vec<_> = entries(&all).iter().filter(|entry| entry["kind"] == "request").cloned().collect();
    assert_eq!(paged, requests);
    let usual = page(api, "kind=request&limit=1000&after=1000000").await;
    assert_eq!(usual["entries"], json!([]));
    // A number from before a restart leads back to where the journal is.
    assert!(usual["next"].as_u64().unwrap() < 1000, "{usual}");
    for bad in ["limit=0", "limit=1001", "kind=requests", "after=x", "wait_ms=-1", "wait_ms=x"] {
        assert_eq!(api.get(&format!("/__mock/journal?{bad}")).await.code(422), "validation_error", "{bad}");
    }
}

#[tokio::test]
async fn it_waits_for_the_first_entry() {
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    api.get("/v1/tools").await.expect(200);
    let waiting = tokio::spawn({
        let api = api.clone();
        async move { page(&api, "after=1&kind=request&wait_ms=60000").await }
    });
    // An entry of another kind wakes nobody; the answer holds the one that was waited for.
    drop(api.stream(&api.session("todo-assistant").await, None, false).await);
    let found = waiting.await.unwrap();
    assert_eq!(found["entries"][0]["route"], "sessions.create", "{found}");
    // Nothing comes: the page is empty, after the wait.
    let none = page(api, "after=1000&wait_ms=1").await;
    assert_eq!(none["entries"], json!([]));
}

#[tokio::test]
async fn the_tail_is_the_same_as_events() {
    let fake = Fake::with(still()).await;
    let api = &fake.api;
    for path in ["/v1/tools", "/v1/agents"] {
        api.get(path).await.expect(200);
    }
    let tail = |last: Option<&str>| {
        let mut request = api.request(Method::GET, "/__mock/journal/tail");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        request.send()
    };
    let mut stream = Stream::of(tail(None).await.unwrap());
    assert_eq!(stream.response.headers()["content-type"], "text/event-stream");
    let listed = page(api, "").await;
    for entry in entries(&listed) {
        let frame = stream.next().await.unwrap();
        assert_eq!(frame.event(), entry["kind"].as_str());
        assert_eq!(frame.id(), Some(entry["seq"].to_string().as_str()));
        assert_eq!(&frame.data(), entry);
    }
    // It goes on with what comes now.
    api.get("/v1/sessions").await.expect(200);
    assert_eq!(stream.next().await.unwrap().data()["route"], "sessions.list");
    let mut after = Stream::of(tail(Some("2")).await.unwrap());
    assert_eq!(after.next().await.unwrap().id(), Some("3"));
}

#[tokio::test]
async fn what_went_is_counted() {
    let mut options = still();
    options.defaults.journal = JournalLimits { entries: 3, bytes: 64 << 20 };
    let by_count = Fake::with(options).await;
    for _ in 0..5 {
        by_count.api.get("/v1/tools").await.expect(200);
    }
    let shown = page(&by_count.api, "").await;
    let seqs: Vec<_> = entries(&shown).iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!((seqs, &shown["evicted"]), (vec![3, 4, 5], &json!(2)));
    let mut options = still();
    options.defaults.journal = JournalLimits { entries: 1000, bytes: 10_000 };
    let by_bytes = Fake::with(options).await;
    let body = json!({ "agent_slug": "todo-assistant", "title": "x".repeat(4000) });
    for _ in 0..5 {
        by_bytes.api.post("/v1/sessions", body.clone()).await.expect(201);
    }
    let shown = page(&by_bytes.api, "").await;
    assert_eq!(entries(&shown).len() as u64 + shown["evicted"].as_u64().unwrap(), 5);
    assert!(shown["evicted"].as_u64().unwrap() >= 3, "{shown}");
}

#[tokio::test]
async fn the_control_api_is_not_in_it() {
    let fake = Fake::with(still()).await;
    fake.api.get("/__mock/state").await.expect(200);
    fake.api.advance("1s").await;
    assert_eq!(page(&fake.api, "").await["entries"], json!([]));
}

#[tokio::test]
async fn a_key_is_redacted_wherever_a_client_puts_it() {
    let fake = Fake::with(Options { control_token: None, ..still() }).await;
    fake.api.scenario("scenario: s\nsettings: { journal: frames, start_after: 1h }\n").await.expect(200);
    let api = &fake.api;
    let key = &api.key;
    let session = api.session("todo-assistant").await;
    let runs = format!("/v1/sessions/{session}/runs");
    // In a path, a query, an encoded query, a header, a body, and so in events.
    api.get(&format!("/v1/tools/{key}")).await.expect(404);
    api.get(&format!("/v1/tools?name={key}&x={}", key.replace('_', "%5F"))).await.expect(200);
    Api::send(api.request(Method::GET, "/v1/tools").header("X-Own", key).header("Cookie", "a=b"))
        .await
        .expect(200);
    api.post("/v1/sessions", json!({ "agent_slug": "todo-assistant", key: key, "metadata": { key: [key] } }))
        .await
        .expect(201);
    api.post_keyed(&runs, key, crate::support::message_body(&format!("say {key}"))).await.expect(202);
    let escaped: String = key.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    let raw = format!(r#"{{"agent_slug":"todo-assistant","title":"{escaped}"}}"#);
    Api::send(api.request(Method::POST, "/v1/sessions").header("content-type", "application/json").body(raw))
        .await
        .expect(201);
    Stream::of(
        api.request(Method::GET, &format!("/v1/sessions/{session}/events/stream")).send().await.unwrap(),
    )
    .rest()
    .await;
    let bad = api
        .request(Method::GET, &format!("/v1/sessions/{session}/events/stream"))
        .header("Last-Event-ID", key);
    Api::send(bad).await.expect(400);

    let shown = page(api, "limit=1000").await;
    assert!(entries(&shown).len() >= 10, "{shown}");
    let told = shown.to_string();
    assert!(!told.contains(key.as_str()), "{told}");
    assert!(!told.contains(&key.replace('_', "%5F")), "{told}");
    assert!(told.contains("[redacted]"));
    let mut tail = Stream::of(api.request(Method::GET, "/__mock/journal/tail").send().await.unwrap());
    for _ in entries(&shown) {
        let frame = tail.next().await.unwrap();
        assert!(!frame.raw.contains(key.as_str()), "{}", frame.raw);
    }
}
