//! What holds for every schema and every content, tried on random ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use pantheon_core::schema::limits::MAX_DETAILS;
use pantheon_core::schema::{InputSchema, OutputSchema};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

const NAMES: [&str; 7] = ["operation", "a", "b", "a/b", "~", "", "é"];

/// Stands in every string of a content, and in no schema.
const SECRET: &str = "secret";

proptest! {
    #![proptest_config(config())]

    #[test]
    fn det_1_to_det_8_hold_for_random_schemas_and_contents(schema in output_schemas(), content in contents()) {
        let registered = OutputSchema::register(schema.clone());
        prop_assert!(registered.is_ok(), "{schema} is refused: {registered:?}");
        let registered = registered.unwrap();
        let fits = content.is_object() && jsonschema::draft202012::is_valid(&schema, &content);
        match registered.check(&content) {
            Ok(()) => prop_assert!(fits, "{schema} takes {content}"),
            Err(details) => {
                prop_assert!(!fits, "{schema} refuses {content}: {details:?}");
                prop_assert!((1..=MAX_DETAILS).contains(&details.len()));
                for detail in &details {
                    prop_assert!(!detail.reason.contains(SECRET), "{detail:?}");
                    prop_assert!(!detail.reason.contains("does not fit the output schema"), "{schema} {content}");
                    let parent = detail.path.rsplit_once('/').map_or("", |(parent, _)| parent);
                    let there = content.pointer(&detail.path).is_some();
                    let missing = detail.reason.contains(" is missing") && content.pointer(parent).is_some();
                    prop_assert!(there || missing, "{content} has no {detail:?}");
                }
                let paths: Vec<_> = details.iter().map(|detail| &detail.path).collect();
                prop_assert!(paths.is_sorted(), "{paths:?}");
                let again = OutputSchema::register(schema).unwrap().check(&content);
                prop_assert_eq!(again, Err(details));
            }
        }
    }

    #[test]
    fn tool_8_anything_is_registered_or_refused(schema in soup(), content in contents()) {
        if let Ok(registered) = OutputSchema::register(schema.clone()) {
            let _ = registered.check(&content);
        }
        match InputSchema::register(schema) {
            Ok(registered) => {
                prop_assert_eq!(registered.sample(Some("w")), registered.sample(Some("w")));
                prop_assert_eq!(registered.sample(None), registered.sample(None));
            }
            Err(faults) => {
                prop_assert!((1..=MAX_DETAILS).contains(&faults.len()));
                prop_assert!(faults.is_sorted());
            }
        }
    }

    #[test]
    fn samples_of_plain_schemas_fit(schema in plain_objects()) {
        let sample = InputSchema::register(schema.clone()).unwrap().sample(None);
        prop_assert!(jsonschema::draft202012::is_valid(&schema, &sample), "{schema} refuses {sample}");
    }
}

/// The same cases in every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 600,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    }
}

fn names() -> impl Strategy<Value = String> {
    select(&NAMES[..]).prop_map(str::to_owned)
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(&["", "x", "xy"][..]).prop_map(|tail| json!(format!("{SECRET}{tail}"))),
        select(vec![json!(0), json!(1), json!(1.0), json!(2.5), json!(true), json!(null)]),
    ]
}

fn contents() -> impl Strategy<Value = Value> {
    let value = scalars().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((names(), inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    });
    let operation = prop_oneof![select(vec![json!("x"), json!("y"), json!(1)]), scalars()];
    prop_oneof![
        1 => value.clone(),
        9 => (prop::option::of(operation), vec((names(), value), 0..5)).prop_map(|(operation, members)| {
            let members = members.into_iter();
            members.chain(operation.map(|value| ("operation".to_owned(), value))).collect()
        }),
    ]
}

fn leaf_schemas() -> impl Strategy<Value = Value> {
    select(vec![
        json!(true),
        json!(false),
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": ["integer", "null"] }),
        json!({ "const": 1 }),
        json!({ "enum": ["x", 1, null] }),
        json!({ "minimum": 1, "maximum": 2, "multipleOf": 2 }),
        json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 2 }),
        json!({ "minLength": 8, "pattern": "y$" }),
        json!({ "maxLength": 3 }),
        json!({ "uniqueItems": true, "minItems": 1, "maxItems": 2 }),
        json!({ "contains": { "type": "string" }, "maxContains": 1 }),
        json!({ "contains": { "const": 1 }, "minContains": 2 }),
        json!({ "minProperties": 1, "maxProperties": 2 }),
        json!({ "propertyNames": { "minLength": 1 } }),
        json!({ "propertyNames": false }),
        json!({ "dependentRequired": { "a": ["b", "~"] } }),
        json!({ "$ref": "#/$defs/tree" }),
        json!({ "$ref": "#/$defs/no" }),
    ])
}

fn object_schemas() -> impl Strategy<Value = Value> {
    let schemas = leaf_schemas().prop_recursive(2, 12, 3, |inner| {
        let object =
            (vec((names(), inner.clone()), 0..3), vec(names(), 0..3), prop::option::of(inner.clone()), 0..9);
        prop_oneof![
            object.prop_map(|(properties, required, extra, more)| object_schema(
                properties, &required, extra, more
            )),
            (vec(inner.clone(), 0..2), inner).prop_map(|(prefix, items)| {
                if prefix.is_empty() {
                    json!({ "type": "array", "items": items })
                } else {
                    json!({ "prefixItems": prefix, "unevaluatedItems": items })
                }
            }),
        ]
    });
    (vec((names(), schemas.clone()), 0..4), vec(names(), 0..3), prop::option::of(schemas), 0..9)
        .prop_map(|(properties, required, extra, more)| object_schema(properties, &required, extra, more))
}

fn object_schema(
    properties: Vec<(String, Value)>,
    required: &[String],
    extra: Option<Value>,
    more: i32,
) -> Value {
    let mut required = required.to_vec();
    required.sort();
    required.dedup();
    let properties: Map<_, _> = properties.into_iter().collect();
    let mut schema = json!({ "type": "object", "properties": properties, "required": required });
    match more {
        0 | 1 => schema["additionalProperties"] = json!(false),
        2 => schema["unevaluatedProperties"] = extra.unwrap_or(json!(false)),
        3 => {
            schema["patternProperties"] =
                json!({ "^a": extra.unwrap_or(json!({})), "b$": { "type": "string" } })
        }
        4 => schema["dependentSchemas"] = json!({ "a": extra.unwrap_or(json!(false)) }),
        5 => {
            schema.as_object_mut().unwrap().remove("properties");
            schema["additionalProperties"] = json!(false);
        }
        6 => schema["additionalProperties"] = extra.unwrap_or(json!(true)),
        _ => {}
    }
    schema
}

fn output_schemas() -> impl Strategy<Value = Value> {
    let branches = vec((object_schemas(), prop::option::of(0..4)), 1..5).prop_map(|branches| {
        let mut taken = Vec::new();
        let with_operation = |(mut branch, operation): (Value, Option<i32>)| {
            if let (Some(operation), true) = (operation, branch.get("properties").is_some()) {
                if !taken.contains(&operation) {
                    taken.push(operation);
                    let operation =
                        [json!("x"), json!("y"), json!(1), json!(true)][operation as usize].clone();
                    branch["properties"]["operation"] = json!({ "const": operation });
                } else {
                    branch["properties"].as_object_mut().unwrap().remove("operation");
                }
            } else if let Some(properties) = branch.get_mut("properties") {
                properties.as_object_mut().unwrap().remove("operation");
            }
            branch
        };
        branches.into_iter().map(with_operation).collect::<Vec<_>>()
    });
    let combined = (branches, any::<bool>(), prop::option::of(object_schemas()), any::<bool>()).prop_map(
        |(branches, one, beside, unevaluated)| {
            let mut schema = beside.unwrap_or(json!({}));
            schema[if one { "oneOf" } else { "anyOf" }] = branches.into();
            if unevaluated {
                schema["unevaluatedProperties"] = json!(false);
            }
            schema
        },
    );
    prop_oneof![object_schemas(), combined].prop_map(|mut schema| {
        schema["$defs"] = json!({
            "no": false,
            "tree": { "type": "object", "properties": { "a": { "$ref": "#/$defs/tree" }, "b": { "type": "string" } } }
        });
        schema
    })
}

/// Anything that looks like a schema: keywords with values that may be wrong.
fn soup() -> impl Strategy<Value = Value> {
    const KEYWORDS: [&str; 44] = [
        "$anchor",
        "$defs",
        "$dynamicRef",
        "$id",
        "$ref",
        "$schema",
        "$vocabulary",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "contains",
        "contentSchema",
        "default",
        "definitions",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "enum",
        "examples",
        "format",
        "if",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "propertyNames",
        "required",
        "then",
        "type",
        "unevaluatedProperties",
        "uniqueItems",
    ];
    let words =
        ["object", "string", "array", "integer", "a", "#/$defs/a", "#/$defs/", "#", "^a+$", "(?=a)", "["];
    let leaf = prop_oneof![
        select(words.to_vec()).prop_map(Value::from),
        select(vec![json!(0), json!(-1), json!(1e300), json!(2.5), json!(true), json!(false), json!(null)]),
        Just(json!({})),
        Just(json!(["a", "b"])),
        Just(json!({ "$ref": "#/$defs/a" })),
    ];
    let inner = leaf.prop_recursive(5, 48, 5, |inner| {
        let keyword = prop_oneof![9 => select(&KEYWORDS[..]), 1 => select(&["a", "b", "operation"][..])];
        prop_oneof![
            4 => vec((keyword.prop_map(str::to_owned), inner.clone()), 0..5)
                .prop_map(|members| members.into_iter().collect::<Value>()),
            1 => vec((names(), inner.clone()), 0..3).prop_map(|members| members.into_iter().collect::<Value>()),
            1 => vec(inner, 0..3).prop_map(Value::Array),
        ]
    });
    (inner.clone(), inner).prop_map(|(mut schema, definition)| {
        if let Some(members) = schema.as_object_mut() {
            members.insert("$defs".into(), json!({ "a": definition }));
            members.insert("type".into(), json!("object"));
        }
        schema
    })
}

/// Object schemas whose every demand a sample can meet.
fn plain_objects() -> impl Strategy<Value = Value> {
    let value = select(vec![
        json!({ "type": "string", "minLength": 5, "maxLength": 5 }),
        json!({ "type": "integer", "minimum": -7, "maximum": -3, "multipleOf": 2 }),
        json!({ "type": "number", "exclusiveMinimum": 3, "exclusiveMaximum": 4 }),
        json!({ "enum": [[1], null] }),
        json!({ "const": { "a": 1 } }),
        json!({ "type": ["null", "boolean"] }),
        json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] }),
        json!({ "$ref": "#/$defs/list" }),
        json!({ "type": "object", "minProperties": 2, "additionalProperties": { "type": "integer" } }),
    ]);
    (vec((names(), value.clone()), 0..5), vec(value, 0..3), any::<u8>()).prop_map(|(properties, parts, bits)| {
        let properties: Map<_, _> = properties.into_iter().collect();
        let required: Vec<_> =
            properties.keys().enumerate().filter(|(index, _)| bits >> index & 1 == 1).map(|(_, name)| name).collect();
        let parts: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| json!({ "properties": { format!("p{index}"): part }, "required": [format!("p{index}")] }))
            .collect();
        let mut schema = json!({ "type": "object", "properties": properties, "required": required });
        if !parts.is_empty() {
            schema["allOf"] = parts.into();
        }
        schema["$defs"] = json!({
            "list": { "type": "array", "items": { "type": "integer", "minimum": 3 }, "minItems": 4, "uniqueItems": true }
        });
        schema
    })
}
