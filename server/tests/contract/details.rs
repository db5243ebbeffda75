//! What is told about a result that doesn't fit (contract §7).

use serde_json::{Value, json};

use crate::cases::{check_error, details, read_yaml};
use crate::stage::{deployed, paused, still};
use crate::support::{Fake, result_body};
use crate::tools::seed_branches;

/// The tables: schemas, and contents with what is told about each.
const TABLES: &str = include_str!("cases/details.yaml");

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rule: String,
    /// The output schema; the seed's example unless given.
    schema: Option<Value>,
    contents: Vec<Content>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    name: String,
    /// As JSON text, since some of it is about how a number is written.
    content: String,
    /// Path under the content and the whole reason; none where it is accepted.
    details: Vec<(String, String)>,
}

/// The rules that the tables name.
pub fn rules() -> Vec<String> {
    tables().into_iter().map(|table| table.rule).collect()
}

fn tables() -> Vec<Table> {
    read_yaml("details.yaml", TABLES)
}

/// Sends every content of the tables of `rule` as the result of a run that waits.
async fn details_of(rule: &str) {
    let fake = Fake::with(still()).await;
    let tables: Vec<_> = tables().into_iter().filter(|table| table.rule == rule).collect();
    assert!(!tables.is_empty(), "no table has the rule {rule}");
    for table in tables {
        let slug = deployed(&fake.api, &table.schema.unwrap_or_else(seed_branches)).await;
        for case in table.contents {
            let told = format!("{rule} {}", case.name);
            let paused = paused(&fake.api, &slug, &slug).await;
            let content: Value = serde_json::from_str(&case.content).unwrap();
            let body = result_body(&paused.events[0], content.clone());
            let answer = fake.api.resume(&paused.session, &paused.run, body).await;
            if case.details.is_empty() {
                assert_eq!(answer.status.as_u16(), 202, "{told}: {}", answer.body);
                continue;
            }
            check_error(&answer);
            assert_eq!(answer.body["error"]["code"], "tool_result_invalid", "{told}");
            let found = details(&answer.expect(422));
            let expected =
                case.details.into_iter().map(|(path, why)| (format!("/events/0/content{path}"), why));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{told}");
            for (path, _) in &found {
                leads_into(&content, path.strip_prefix("/events/0/content").unwrap());
            }
        }
    }
}

/// DET-1: every segment but a missing last one exists in the content.
#[track_caller]
fn leads_into(content: &Value, path: &str) {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    assert!(content.pointer(parent).is_some(), "{path} leads nowhere in {content}");
}

#[tokio::test]
async fn det_1_paths_lead_into_the_request() {
    details_of("DET-1").await;
}

#[tokio::test]
async fn det_1_the_path_names_the_event_of_the_request() {
    let stage = crate::stage::Stage::new().await;
    let both = stage.two_questions().await;
    let [mut first, mut second] = crate::stage::both_results(&both);
    (first["content"], second["content"]) = (json!({}), json!([]));
    let body = json!({ "events": [second, first] });
    let answer = stage.api().resume(&both.session, &both.run, body).await;
    let paths: Vec<_> = details(&answer.expect(422)).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/events/0/content", "/events/1/content/echoed"]);
}

#[tokio::test]
async fn det_2_missing_and_extra_properties() {
    details_of("DET-2").await;
}

#[tokio::test]
async fn det_3_branch_place_and_rule() {
    details_of("DET-3").await;
}

#[tokio::test]
async fn det_4_the_closest_branch() {
    details_of("DET-4").await;
}

#[tokio::test]
async fn det_5_escaping() {
    details_of("DET-5").await;
}

#[tokio::test]
async fn det_6_all_failures_in_order() {
    details_of("DET-6").await;
}

#[tokio::test]
async fn det_6_at_most_fifty() {
    let fake = Fake::with(still()).await;
    let schema = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let slug = deployed(&fake.api, &schema).await;
    for (count, told) in [(50, 50), (51, 50), (500, 50)] {
        let paused = paused(&fake.api, &slug, &slug).await;
        let content: Value =
            (0..count).map(|n| (format!("p{n:03}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
        let answer =
            fake.api.resume(&paused.session, &paused.run, result_body(&paused.events[0], content)).await;
        let found = details(&answer.expect(422));
        let expected: Vec<_> = (0..told).map(|n| format!("/events/0/content/p{n:03}")).collect();
        assert_eq!(found.into_iter().map(|(path, _)| path).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn det_6_every_reason_has_a_published_template() {
    use pantheon_core::schema::reason::{CONTENT, FRAMES};
    assert!(FRAMES.iter().chain(CONTENT).all(|template| !template.text.is_empty()));
    // Each reason that the tables expect is a frame around a template, whatever fills the placeholders.
    for table in tables() {
        for (_, reason) in table.contents.iter().flat_map(|case| &case.details) {
            let fits = FRAMES.iter().any(|frame| {
                CONTENT.iter().any(|rule| matches(&frame.text.replace("{what}", rule.text), reason))
            });
            assert!(fits, "no template makes: {reason}");
        }
    }
}

/// Whether `text` is `template` with something in the place of each placeholder.
fn matches(template: &str, text: &str) -> bool {
    let mut parts = template.split(['{', '}']).step_by(2);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || last == Some("")
}

#[tokio::test]
async fn det_7_one_entry_at_the_discriminator() {
    details_of("DET-7").await;
}

#[tokio::test]
async fn det_8_no_value_of_the_client() {
    let fake = Fake::with(still()).await;
    let secret = "s3cret-value-of-the-client";
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer" },
            "b": { "const": "x" },
            "c": { "enum": ["x", "y"] },
            "d": { "type": "string", "pattern": "^[0-9]+$", "maxLength": 3 },
            "e": { "type": "array", "items": { "type": "boolean" }, "uniqueItems": true },
        },
        "additionalProperties": false,
    });
    for schema in [schema, seed_branches()] {
        let slug = deployed(&fake.api, &schema).await;
        let paused = paused(&fake.api, &slug, &slug).await;
        let contents = [
            json!({ "a": secret, "b": secret, "c": secret, "d": secret, "e": [secret, secret], "f": secret }),
            json!({ "operation": secret }),
            json!({ "operation": "create", "id": [secret], "title": { "deep": secret }, "more": secret }),
            json!(secret),
            json!([secret]),
        ];
        for content in contents {
            let body = result_body(&paused.events[0], content);
            let answer = fake.api.resume(&paused.session, &paused.run, body).await;
            assert!(!answer.body.to_string().contains(secret), "{}", answer.body);
            answer.expect(422);
        }
    }
}
