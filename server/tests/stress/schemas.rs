//! Schema bombs and slow patterns: each is refused, or costs no more than its size (TOOL-8).

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::program::Program;
use crate::soon::{soon, timed};
use crate::support::{Answer, Api, result_body, text};

/// What any one registration or judgement may take, on a busy machine and without optimization.
const AT_MOST: Duration = Duration::from_secs(10);

async fn register(api: &Api, name: &str, input: Value, output: Value) -> Answer {
    let body = json!({ "name": name, "input_schema": input, "output_schema": output });
    let (answer, took) = timed(soon("an answer to a schema", api.post("/v1/tools", body))).await;
    assert!(took < AT_MOST, "{name} took {took:?}");
    answer
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

/// `depth` definitions, each of which refers to the next twice: 2^depth when expanded.
fn laughs(depth: usize) -> Value {
    let definitions: Map<String, Value> = (0..depth)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            (format!("d{n}"), object(json!({ "a": next, "b": next })))
        })
        .chain([(format!("d{depth}"), json!({ "type": "string" }))])
        .collect();
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions })
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({ "type": "string" }), |inner, _| object(json!({ "a": inner })))
}

#[tokio::test]
async fn tool_8_schema_bombs_are_refused() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let plain = json!({ "type": "object" });
    let bombs = [
        ("laughs", laughs(40)),
        ("deep", nested(60)),
        ("wide", object((0..6_000).map(|n| (format!("p{n}"), json!({}))).collect::<Map<_, _>>().into())),
        ("long", json!({ "type": "object", "description": "x".repeat(300 * 1024) })),
        ("values", object(json!({ "a": { "enum": (0..100_000).collect::<Vec<_>>() } }))),
        (
            "loop",
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        ),
        ("states", object(json!({ "a": { "type": "string", "pattern": "^((a{0,300}){0,300}){0,300}$" } }))),
        ("backreference", object(json!({ "a": { "type": "string", "pattern": r"(a*)\1" } }))),
        ("long_pattern", object(json!({ "a": { "type": "string", "pattern": "a".repeat(5_000) } }))),
        ("classes", object(json!({ "a": { "type": "string", "pattern": r"\p{L}{900}" } }))),
    ];
    for (name, schema) in bombs {
        for (input, output) in [(&schema, &plain), (&plain, &schema)] {
            assert_eq!(
                register(&api, name, input.clone(), output.clone()).await.code(422),
                "validation_error",
                "{name}"
            );
        }
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn tool_8_no_pattern_is_slow() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let output = object(json!({
        "a": { "type": "string", "pattern": "^(a+)+$" },
        "b": { "type": "string", "pattern": "^(a|aa|aaa)*b$" },
        "c": { "type": "array", "uniqueItems": true },
    }));
    let tool = register(&api, "slow", json!({ "type": "object" }), output).await.expect(201);
    let agent = api.post("/v1/agents", json!({ "name": "slow", "slug": "slow" })).await.expect(201);
    let definition = text(&tool, "/latest_definition/id");
    let deployment = json!({ "agent_id": text(&agent, "/id"), "tool_definition_ids": [definition] });
    api.post("/v1/deployments", deployment).await.expect(201);
    let session = api.session("slow").await;
    let run = api.run(&session, "slow").await;
    let event =
        text(&api.stream(&session, None, false).await.until("agent.custom_tool_use").await.data(), "/id");
    let path = format!("/v1/sessions/{session}/runs/{run}/resume");
    let evil = format!("{}!", "a".repeat(crate::full::sized(100_000, 1_000_000)));
    let items: Vec<Value> =
        (0..crate::full::sized(20_000, 200_000)).map(|n| json!([n])).chain([json!([0])]).collect();
    for (name, content) in [("a", json!(evil)), ("b", json!(evil)), ("c", json!(items))] {
        let body = result_body(&event, json!({ name: content }));
        let (answer, took) = timed(soon("a judgement", api.post_keyed(&path, "key-12345678", body))).await;
        assert_eq!(answer.code(422), "tool_result_invalid", "{name}");
        assert!(took < AT_MOST, "{name} took {took:?}");
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn tool_8_a_remote_reference_is_refused_and_never_fetched() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/schema.json", elsewhere.local_addr().unwrap());
    let plain = json!({ "type": "object" });
    for key in ["$ref", "$dynamicRef", "$schema", "$id"] {
        for reference in [&url, "file:///etc/passwd", "//elsewhere/schema.json"] {
            let schema = json!({ "type": "object", "properties": { "a": { key: reference } } });
            for (input, output) in [(&schema, &plain), (&plain, &schema)] {
                let answer = register(&api, "remote", input.clone(), output.clone()).await;
                assert_eq!(answer.status, 422, "{key} {reference}: {}", answer.body);
            }
            let root = json!({ "type": "object", key: reference });
            assert_eq!(register(&api, "remote", root, plain.clone()).await.status, 422, "{key} {reference}");
        }
    }
    program.well_at_its_end().await;
    let called = futures_util::FutureExt::now_or_never(elsewhere.accept());
    assert!(called.is_none(), "someone has connected: {called:?}");
}
