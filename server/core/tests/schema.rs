//! The tables of `tests/schema/`, run through the public interface of the schema module.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use pantheon_core::detail::Detail;
use pantheon_core::schema::limits::{MAX_BRANCHES, MAX_DETAILS, MAX_ENUM_VALUES, MAX_PATTERN_LENGTH};
use pantheon_core::schema::limits::{MAX_BYTES, MAX_DEPTH, MAX_NODES};
use pantheon_core::schema::reason::{CONTENT, FRAMES, REGISTRATION};
use pantheon_core::schema::{InputSchema, OutputSchema};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const CHECKS: &str = include_str!("schema/checks.json");
const REGISTRATIONS: &str = include_str!("schema/registrations.json");
const SAMPLES: &str = include_str!("schema/samples.json");

#[test]
fn tool_7_the_shape_of_output_schemas() {
    check_registrations("TOOL-7");
}

#[test]
fn tool_7_branches_are_bounded() {
    let branches = |count: usize| json!({ "anyOf": vec![json!({ "type": "object" }); count] });
    assert_eq!(refusal(&OutputSchema::register(branches(MAX_BRANCHES))), []);
    let faults = refusal(&OutputSchema::register(branches(MAX_BRANCHES + 1)));
    assert_eq!(faults, [fault("/anyOf", "too many branches: at most 100")]);
}

#[test]
fn tool_8_schemas_of_both_kinds() {
    check_registrations("TOOL-8");
}

#[test]
fn tool_8_size_depth_and_cost_are_bounded() {
    let property = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let nested = |levels: usize| (2..levels).fold(json!({ "type": "object" }), |inner, _| property(inner));
    let many = |count: usize| {
        let properties: Map<_, _> = (1..count).map(|name| (name.to_string(), json!(true))).collect();
        json!({ "type": "object", "properties": properties })
    };
    // Each definition refers twice to the next: 2^22 schemas once references are followed.
    let bomb: Map<_, _> = (0..22)
        .map(|at| {
            let next = json!({ "$ref": format!("#/$defs/{}", (at + 1).min(21)) });
            let twice = json!({ "properties": { "a": next, "b": next } });
            (at.to_string(), if at == 21 { json!({}) } else { twice })
        })
        .collect();
    let bomb = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": bomb });
    let deepest = "/properties/a".repeat(MAX_DEPTH);

    let accepted = [
        nested(MAX_DEPTH),
        many(MAX_NODES),
        property(json!({ "enum": (0..MAX_ENUM_VALUES).collect::<Vec<_>>() })),
        property(json!({ "pattern": "é".repeat(MAX_PATTERN_LENGTH) })),
        property(json!({ "description": "x".repeat(MAX_BYTES - 100) })),
    ];
    for schema in accepted {
        assert_eq!(refusal(&OutputSchema::register(schema.clone())), []);
        assert!(InputSchema::register(schema).is_ok());
    }
    let refused = [
        (nested(MAX_DEPTH + 2), deepest.as_str(), "schemas are nested too deep: at most 32 levels"),
        (many(MAX_NODES + 1), "", "the schema holds too many schemas: at most 5000"),
        (
            property(json!({ "enum": (0..=MAX_ENUM_VALUES).collect::<Vec<_>>() })),
            "/properties/a/enum",
            "too many values: at most 1000",
        ),
        (
            property(json!({ "pattern": "é".repeat(MAX_PATTERN_LENGTH + 1) })),
            "/properties/a/pattern",
            "the pattern is too long: at most 1000 characters",
        ),
        (
            property(json!({ "description": "x".repeat(MAX_BYTES) })),
            "",
            "the schema is too large: at most 262144 bytes",
        ),
        (
            property(json!({ "enum": vec![0; 1_000_000] })),
            "",
            "the schema is too large: at most 262144 bytes",
        ),
        (bomb, "", "the schema holds too many schemas once its references are followed: at most 10000"),
        (
            json!({ "type": "object", "patternProperties": (0..101).map(|name| (name.to_string(), json!({}))).collect::<Map<_, _>>() }),
            "",
            "the schema holds too many different patterns: at most 100",
        ),
    ];
    for (schema, path, reason) in refused {
        let faults = refusal(&OutputSchema::register(schema.clone()));
        assert_eq!(faults, [fault(path, reason)]);
        assert_eq!(InputSchema::register(schema).unwrap_err().len(), 1);
    }
}

#[test]
fn tool_8_faults_are_bounded() {
    let properties: Map<_, _> =
        (0..1_000).map(|name| (format!("p{name}"), json!({ "type": 5, "not": {} }))).collect();
    let schema = json!({ "type": "object", "properties": properties });
    assert_eq!(OutputSchema::register(schema).unwrap_err().len(), MAX_DETAILS);
}

#[test]
fn res_4_contents_that_fit() {
    check_contents("RES-4");
}

#[test]
fn res_12_contents_that_are_no_objects() {
    check_contents("RES-12");
}

#[test]
fn det_1_paths_lead_into_the_content() {
    check_contents("DET-1");
}

#[test]
fn det_2_missing_and_extra_properties() {
    check_contents("DET-2");
}

#[test]
fn det_3_branch_place_and_rule() {
    check_contents("DET-3");
}

#[test]
fn det_4_the_closest_branch() {
    check_contents("DET-4");
}

#[test]
fn det_4_of_thirty_branches_the_one_with_the_operation() {
    check(
        &thirty_branches(),
        &json!({ "operation": "op17" }),
        &[fault(
            "/id",
            "closest branch `branch 17` at `oneOf[17]`; failed rule `required`: property `id` is missing",
        )],
    );
}

#[test]
fn det_5_escaping() {
    check_contents("DET-5");
}

#[test]
fn det_6_order_and_templates() {
    check_contents("DET-6");
}

#[test]
fn det_6_at_most_fifty_entries_the_first_ones() {
    let schema = register(&json!({ "type": "object", "additionalProperties": { "type": "string" } }));
    let content: Map<_, _> = (0..200).rev().map(|name| (format!("{name:03}"), json!(1))).collect();
    let details = schema.check(&content.into()).unwrap_err();
    let paths: Vec<_> = details.iter().map(|detail| detail.path.clone()).collect();
    let want: Vec<_> = (0..MAX_DETAILS).map(|name| format!("/{name:03}")).collect();
    assert_eq!(paths, want);
}

#[test]
fn det_6_what_is_too_large_to_explain_is_explained_by_its_first_failure() {
    let list = json!({ "type": "object", "properties": { "l": { "items": { "type": "string" } } } });
    let wrong = fault("/l/0", "failed rule `type`: must be of type string");
    check(&list, &json!({ "l": vec![1; 300_000] }), std::slice::from_ref(&wrong));

    // One name of 1 MB makes every path below it as long.
    let any = json!({ "type": "object", "additionalProperties": { "items": { "type": "string" } } });
    let details = register(&any).check(&json!({ "k".repeat(1_000_000): vec![1; 10_000] })).unwrap_err();
    assert_eq!(details.len(), 1);

    // A hundred branches that nothing tells apart, and a content that fails each of them everywhere.
    let branches: Vec<_> = (0..MAX_BRANCHES)
        .map(|name| {
            let mut branch = list.clone();
            branch["required"] = json!([name.to_string()]);
            branch
        })
        .collect();
    let details =
        register(&json!({ "oneOf": branches })).check(&json!({ "l": vec![1; 100_000] })).unwrap_err();
    assert_eq!(details.len(), 1);
    assert!(details[0].reason.starts_with("closest branch `branch 0` at `oneOf[0]`"), "{details:?}");

    let unique = json!({ "type": "object", "properties": { "l": { "uniqueItems": true } } });
    let twice: Vec<_> = (0..100_000).chain([7]).collect();
    check(
        &unique,
        &json!({ "l": twice }),
        &[fault("/l", "failed rule `uniqueItems`: items must differ from each other")],
    );
}

#[test]
fn det_6_a_recursive_schema_on_the_deepest_content() {
    let mut definitions: Map<_, _> =
        (0..7).map(|at| (at.to_string(), json!({ "$ref": format!("#/$defs/{}", at + 1) }))).collect();
    definitions
        .insert("7".into(), json!({ "type": "object", "properties": { "c": { "$ref": "#/$defs/0" } } }));
    let schema =
        json!({ "type": "object", "properties": { "c": { "$ref": "#/$defs/0" } }, "$defs": definitions });
    let content = (0..126).fold(json!(5), |inner, _| json!({ "c": inner }));
    let path = "/c".repeat(126);
    check(&schema, &content, &[fault(&path, "failed rule `type`: must be of type object")]);
}

#[test]
fn det_7_one_entry_at_the_discriminator() {
    check_contents("DET-7");
}

#[test]
fn det_7_all_allowed_values_are_told() {
    let details = register(&thirty_branches()).check(&json!({ "operation": "x" })).unwrap_err();
    let allowed: Vec<_> = (0..30).map(|index| format!("\"op{index}\"")).collect();
    let reason = format!(
        "closest branch `branch 0` at `oneOf[0]`; failed rule `const`: property `operation` must be one of {}",
        allowed.join(", ")
    );
    assert_eq!(details, [fault("/operation", &reason)]);
}

#[test]
fn det_8_no_value_of_the_client() {
    check_contents("DET-8");
    for case in cases(CHECKS, "DET-8") {
        let details = register(&schema_of(CHECKS, &case)).check(&case["content"]).unwrap_err();
        assert!(!format!("{details:?}").contains("secret"), "{details:?}");
    }
}

#[test]
fn samples_of_input_schemas() {
    for case in parsed(SAMPLES)["cases"].as_array().unwrap() {
        let schema = InputSchema::register(case["schema"].clone()).unwrap();
        for _ in 0..3 {
            let sample = schema.sample(case["words"].as_str());
            assert_eq!(sample.to_string(), case["sample"].to_string(), "{}", case["name"]);
        }
    }
}

#[test]
fn samples_of_hostile_schemas_are_small() {
    let recursive = |definition: Value| json!({ "$ref": "#/$defs/t", "$defs": { "t": definition } });
    let again = json!({ "$ref": "#/$defs/t" });
    let wide: Map<_, _> = (0..90).map(|width| (format!("^p.{{0,{width}}}"), again.clone())).collect();
    let schemas = [
        recursive(json!({ "type": "array", "items": again, "minItems": 1e300 })),
        recursive(json!({ "contains": again, "minContains": 1e300, "minItems": 3 })),
        recursive(json!({ "type": "object", "minProperties": 1e300, "additionalProperties": again })),
        recursive(json!({ "patternProperties": wide, "required": ["p1"], "additionalProperties": again })),
        recursive(json!({ "oneOf": vec![json!({ "properties": { "a": again }, "required": ["a"] }); 40] })),
        recursive(json!({ "anyOf": vec![json!({ "items": again, "minItems": 8, "type": "array" }); 40] })),
        json!({ "dependentRequired": (0..4_000).map(|at| (at.to_string(), json!([(at + 1).to_string()]))).collect::<Map<_, _>>(), "required": ["0"] }),
        json!({ "required": (0..9_000).map(|name| name.to_string()).collect::<Vec<_>>(), "properties": { "8": { "type": "string" } } }),
    ];
    for schema in schemas {
        let sample = InputSchema::register(schema).unwrap().sample(Some("hi"));
        assert!(sample.to_string().len() < 20_000, "{sample}");
    }
}

#[test]
fn every_table_row_belongs_to_a_test() {
    let rules = |table: &str| -> BTreeSet<String> {
        let table = parsed(table);
        let cases = table["cases"].as_array().unwrap();
        cases.iter().map(|case| case["rule"].as_str().unwrap().to_owned()).collect()
    };
    let contents =
        ["DET-1", "DET-2", "DET-3", "DET-4", "DET-5", "DET-6", "DET-7", "DET-8", "RES-12", "RES-4"];
    assert_eq!(rules(CHECKS).into_iter().collect::<Vec<_>>(), contents);
    assert_eq!(rules(REGISTRATIONS).into_iter().collect::<Vec<_>>(), ["TOOL-7", "TOOL-8"]);
}

#[test]
fn det_6_every_reason_has_a_published_template() {
    let mut unused: BTreeSet<&str> =
        CONTENT.iter().chain(REGISTRATION).map(|template| template.text).collect();
    for case in parsed(CHECKS)["cases"].as_array().unwrap() {
        for detail in case["details"].as_array().unwrap() {
            let reason = detail[1].as_str().unwrap();
            let framed = FRAMES.iter().any(|frame| fits_template(reason, frame.text));
            let what = CONTENT.iter().filter(|template| reason_ends_as(reason, template.text));
            let what: Vec<_> = what.map(|template| template.text).collect();
            assert!(framed && !what.is_empty(), "{reason}");
            unused.retain(|text| !what.contains(text));
        }
    }
    for case in parsed(REGISTRATIONS)["cases"].as_array().unwrap() {
        for detail in case["details"].as_array().unwrap() {
            let reason = detail[1].as_str().unwrap();
            let fitting: Vec<_> = REGISTRATION
                .iter()
                .filter(|template| fits_template(reason, template.text))
                .map(|template| template.text)
                .collect();
            assert!(!fitting.is_empty(), "{reason}");
            unused.retain(|text| !fitting.contains(text));
        }
    }
    // What the tables leave out is in the tests of the bounds above, or is there only for the unforeseen.
    let expected = [
        "does not fit the output schema",
        "fits no branch",
        "not valid JSON Schema 2020-12",
        "schemas are nested too deep: at most {limit} levels",
        "the pattern is too long: at most {limit} characters",
        "the schema holds too many different patterns: at most {limit}",
        "the schema holds too many schemas once its references are followed: at most {limit}",
        "the schema holds too many schemas: at most {limit}",
        "the schema is too large: at most {limit} bytes",
        "too many branches: at most {limit}",
        "too many values: at most {limit}",
    ];
    assert_eq!(unused.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn schemas_are_shared_between_threads_and_print_without_their_validators() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug>(_: &T) {}
    let output = register(&json!({ "type": "object", "title": "T" }));
    let input = InputSchema::register(json!({ "title": "T" })).unwrap();
    shared(&output);
    shared(&input);
    assert_eq!(
        format!("{output:?}"),
        r#"OutputSchema(Object {"type": String("object"), "title": String("T")})"#
    );
    assert_eq!(format!("{input:?}"), r#"InputSchema(Object {"title": String("T")})"#);
    assert_eq!(output.json().to_string(), r#"{"type":"object","title":"T"}"#);
}

/// Registers the schema and compares what it says about the content; several times, from the start and with the
/// members turned round, since an answer is the same to the byte (DET-6).
#[track_caller]
fn check(schema: &Value, content: &Value, want: &[Detail]) {
    for content in [content, &turned_round(content)] {
        for _ in 0..3 {
            let details = register(schema).check(content).err().unwrap_or_default();
            assert_eq!(details, want, "{schema}");
        }
    }
}

#[track_caller]
fn check_contents(rule: &str) {
    for case in cases(CHECKS, rule) {
        let details = register(&schema_of(CHECKS, &case)).check(&case["content"]).err().unwrap_or_default();
        assert_eq!(details, details_of(&case), "{}", case["name"]);
        check(&schema_of(CHECKS, &case), &case["content"], &details_of(&case));
    }
}

#[track_caller]
fn check_registrations(rule: &str) {
    for case in cases(REGISTRATIONS, rule) {
        for _ in 0..3 {
            let schema = case["schema"].clone();
            let faults = match case["kind"].as_str() {
                Some("input") => InputSchema::register(schema).err().unwrap_or_default(),
                _ => refusal(&OutputSchema::register(schema)),
            };
            assert_eq!(faults, details_of(&case), "{}", case["name"]);
        }
    }
}

fn cases(table: &str, rule: &str) -> Vec<Value> {
    let table = parsed(table);
    let cases: Vec<_> =
        table["cases"].as_array().unwrap().iter().filter(|case| case["rule"] == rule).cloned().collect();
    assert!(!cases.is_empty(), "no case for {rule}");
    cases
}

fn parsed(table: &str) -> Value {
    serde_json::from_str(table).unwrap()
}

fn schema_of(table: &str, case: &Value) -> Value {
    match case["schema"].as_str() {
        Some(name) => parsed(table)["schemas"].get(name).unwrap().clone(),
        None => case["schema"].clone(),
    }
}

fn details_of(case: &Value) -> Vec<Detail> {
    let details = case["details"].as_array().unwrap();
    details.iter().map(|detail| fault(detail[0].as_str().unwrap(), detail[1].as_str().unwrap())).collect()
}

#[track_caller]
fn register(schema: &Value) -> OutputSchema {
    OutputSchema::register(schema.clone()).unwrap_or_else(|faults| panic!("{schema} is refused: {faults:?}"))
}

fn refusal(registered: &Result<OutputSchema, Vec<Detail>>) -> Vec<Detail> {
    registered.as_ref().err().cloned().unwrap_or_default()
}

fn fault(path: &str, reason: &str) -> Detail {
    Detail::new(path, reason)
}

fn thirty_branches() -> Value {
    let branch = |index| {
        let properties =
            json!({ "operation": { "const": format!("op{index}") }, "id": { "type": "string" } });
        json!({ "type": "object", "properties": properties, "required": ["operation", "id"] })
    };
    json!({ "oneOf": (0..30).map(branch).collect::<Vec<_>>() })
}

fn turned_round(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().rev().map(|(name, value)| (name.clone(), turned_round(value))).collect()
        }
        Value::Array(items) => items.iter().map(turned_round).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether `reason` has the literal parts of `template`, in order, from its start to its end.
fn fits_template(reason: &str, template: &str) -> bool {
    let parts = literals(template);
    reason.starts_with(&parts[0]) && reason_ends_as(reason, template)
}

/// Whether `reason` has the literal parts of `template`, in order, up to its end.
fn reason_ends_as(reason: &str, template: &str) -> bool {
    let parts = literals(template);
    let mut rest = reason;
    for part in &parts {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || parts.last().is_some_and(|part| part.is_empty() || reason.ends_with(part.as_str()))
}

fn literals(template: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for character in template.chars() {
        match character {
            '{' => inside = true,
            '}' => {
                inside = false;
                parts.push(String::new());
            }
            _ if inside => {}
            _ => parts.last_mut().unwrap().push(character),
        }
    }
    parts
}
