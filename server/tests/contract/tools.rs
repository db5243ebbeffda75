//! Tools and their versions (contract §2).

use serde_json::{Value, json};

use crate::cases::{cases, check_error};
use crate::stage::{Stage, echo_tool, still};
use crate::support::{Fake, text};

/// The core's table of schemas and why they are refused; here it is sent over HTTP.
const REGISTRATIONS: &str = include_str!("../../core/tests/schema/registrations.json");

#[tokio::test]
async fn tool_1_look_up_by_the_exact_name() {
    cases("TOOL-1").await;
}

#[tokio::test]
async fn tool_2_a_new_tool() {
    let fake = Fake::with(still()).await;
    let created = fake.api.post("/v1/tools", echo_tool()).await.expect(201);
    let (id, definition) = (text(&created, "/id"), text(&created, "/latest_definition/id"));
    assert_eq!(
        created,
        json!({
            "id": id,
            "name": "echo_tool",
            "display_name": "Echo tool",
            "latest_version": 1,
            "status": "active",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "latest_definition": {
                "id": definition,
                "tool_id": id,
                "name": "echo_tool",
                "version": 1,
                "description": null,
                "executor": "application",
                "input_schema": echo_tool()["input_schema"],
                "output_schema": echo_tool()["output_schema"],
                "side_effect": "none",
                "confirmation": "never",
                "created_at": "2026-01-01T00:00:00Z",
            },
        })
    );
    assert_eq!(fake.api.get(&format!("/v1/tools/{id}")).await.expect(200), created);
    assert_eq!(fake.api.get("/v1/tools?name=echo_tool").await.expect(200)["data"], json!([created]));
}

#[tokio::test]
async fn tool_2_what_is_required() {
    let fake = Fake::with(still()).await;
    for name in ["name", "input_schema", "output_schema"] {
        let mut tool = echo_tool();
        tool.as_object_mut().unwrap().remove(name);
        let answer = fake.api.post("/v1/tools", tool).await;
        check_error(&answer);
        let details = json!([{ "path": format!("/{name}"), "reason": "is required" }]);
        assert_eq!(answer.expect(422)["error"]["details"], details);
    }
}

#[tokio::test]
async fn tool_3_a_taken_name() {
    cases("TOOL-3").await;
}

#[tokio::test]
async fn tool_4_side_effects_and_confirmation() {
    cases("TOOL-4").await;
}

#[tokio::test]
async fn tool_5_what_a_version_may_say() {
    cases("TOOL-5").await;
}

#[tokio::test]
async fn tool_6_a_version_mints_a_definition_and_leaves_the_earlier_ones() {
    let stage = Stage::new().await;
    let (api, tool, first) = (stage.api(), stage.id("tool"), stage.id("definition"));
    let before = api.get(&format!("/v1/tools/{tool}/versions")).await.expect(200)["data"][0].clone();
    api.advance("1m").await;
    let second =
        api.post(&format!("/v1/tools/{tool}/versions"), json!({ "description": "2" })).await.expect(201);
    assert_eq!(second["latest_version"], 2);
    assert_eq!(second["created_at"], "2026-01-01T00:00:00Z");
    assert_eq!(second["updated_at"], "2026-01-01T00:01:00Z");
    let definition = text(&second, "/latest_definition/id");
    assert_ne!(definition, first);
    assert_eq!(api.get(&format!("/v1/tools/{tool}")).await.expect(200), second);
    let versions = api.get(&format!("/v1/tools/{tool}/versions")).await.expect(200);
    assert_eq!(versions["data"], json!([before, second["latest_definition"]]));
    for valid in [first, &definition] {
        let deployment = json!({ "agent_id": stage.id("agent"), "tool_definition_ids": [valid] });
        let deployed = api.post("/v1/deployments", deployment).await.expect(201);
        assert_eq!(deployed["tool_definition_ids"], json!([valid]));
    }
}

#[tokio::test]
async fn tool_7_the_shape_of_output_schemas() {
    // B086: branches without an object type, nested combinators and equal operations among them.
    check_registrations("TOOL-7").await;
}

#[tokio::test]
async fn tool_8_schemas_of_both_kinds() {
    check_registrations("TOOL-8").await;
}

#[tokio::test]
async fn tool_7_the_seeds_schema_is_accepted_and_comes_back_as_it_was() {
    let fake = Fake::with(still()).await;
    let mut tool = echo_tool();
    tool["output_schema"] = seed_branches();
    let created = fake.api.post("/v1/tools", tool).await.expect(201);
    let schema = &created["latest_definition"]["output_schema"];
    assert_eq!(schema.to_string(), seed_branches().to_string());
}

/// The seed's example of an output schema with two branches.
pub fn seed_branches() -> Value {
    json!({
        "oneOf": [
            {
                "title": "Create result",
                "type": "object",
                "properties": { "operation": { "const": "create" }, "id": { "type": "string" }, "title": { "type": "string" } },
                "required": ["operation", "id", "title"],
                "additionalProperties": false,
            },
            {
                "title": "Delete result",
                "type": "object",
                "properties": { "operation": { "const": "delete" }, "id": { "type": "string" }, "deleted": { "type": "boolean" } },
                "required": ["operation", "id", "deleted"],
                "additionalProperties": false,
            },
        ],
    })
}

#[tokio::test]
async fn tool_9_names_and_executors() {
    cases("TOOL-9").await;
}

async fn check_registrations(rule: &str) {
    let fake = Fake::with(still()).await;
    let table: Value = serde_json::from_str(REGISTRATIONS).unwrap();
    // Over HTTP a schema that is `null` counts as absent (ERR-3).
    let is_sent = |case: &&Value| case["rule"] == rule && !case["schema"].is_null();
    let cases = table["cases"].as_array().unwrap().iter().filter(is_sent);
    let mut count = 0;
    for case in cases {
        count += 1;
        let kind = format!("{}_schema", case["kind"].as_str().unwrap());
        let mut tool = echo_tool();
        tool["name"] = format!("tool_{count}").into();
        tool[&kind] = case["schema"].clone();
        let answer = fake.api.post("/v1/tools", tool).await;
        let refusals = case["details"].as_array().unwrap();
        if refusals.is_empty() {
            assert_eq!(answer.expect(201)["latest_definition"][&kind], case["schema"], "{case}");
            continue;
        }
        check_error(&answer);
        assert_eq!(text(&answer.body, "/error/code"), "validation_error", "{case}");
        let expected = refusals.iter().map(
            |entry| json!({ "path": format!("/{kind}{}", entry[0].as_str().unwrap()), "reason": entry[1] }),
        );
        assert_eq!(answer.expect(422)["error"]["details"], expected.collect::<Value>(), "{case}");
    }
    assert!(count > 0, "the table has no case of {rule}");
}
