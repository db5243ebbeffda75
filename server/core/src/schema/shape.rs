//! The one shape of an output schema that a refusal can explain (TOOL-7).

use super::equality::equal;
use super::faults::Faults;
use super::limits::{MAX_BRANCHES, MAX_REFERENCE_HOPS};
use super::positions::is_combinator;
use super::reason;
use super::reference::{branch_pointer, definition_name};
use super::walk::walk;
use crate::detail::pointer_segment;
use serde_json::{Map, Value};

/// The combinators that may stand at the top, one of them.
pub(super) const COMBINATORS: [&str; 2] = ["oneOf", "anyOf"];

/// Adds every fault of TOOL-7 in `root`, which is small enough to be walked.
pub(super) fn check_shape(root: &Value, faults: &mut Faults) {
    let Some(members) = root.as_object() else { return };
    let combinators: Vec<_> = COMBINATORS.into_iter().filter(|name| members.contains_key(*name)).collect();
    if combinators.len() > 1 {
        faults.add("/anyOf", &reason::BOTH_COMBINATORS, &[]);
    }
    if combinators.is_empty() || members.contains_key("type") {
        check_object_schema("", members, faults);
    }
    for combinator in combinators {
        if let Some(Value::Array(branches)) = members.get(combinator) {
            check_branches(root, combinator, branches, faults);
        }
    }
    check_combinators(root, faults);
}

/// What a property's schema says about a value, past the references that it consists of.
pub(super) fn resolved<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_REFERENCE_HOPS {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(definition_name);
        let Some(target) = name.and_then(|name| root.get("$defs")?.get(&name)) else { break };
        if schema.get("const").is_some() || schema.get("enum").is_some() {
            break;
        }
        schema = target;
    }
    schema
}

fn check_object_schema(pointer: &str, members: &Map<String, Value>, faults: &mut Faults) {
    if members.get("type").is_some_and(|name| name == "object") {
        return;
    }
    if members.contains_key("$ref") && !members.contains_key("type") {
        faults.add(&format!("{pointer}/$ref"), &reason::ONLY_A_REFERENCE, &[]);
    } else {
        faults.add(&format!("{pointer}/type"), &reason::OBJECT_TYPE, &[]);
    }
}

fn check_branches(root: &Value, combinator: &str, branches: &[Value], faults: &mut Faults) {
    if branches.len() > MAX_BRANCHES {
        let limit = MAX_BRANCHES.to_string();
        faults.add(&format!("/{combinator}"), &reason::TOO_MANY_BRANCHES, &[("limit", &limit)]);
        return;
    }
    let mut operations: Vec<(usize, &Value)> = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        let pointer = branch_pointer(combinator, index);
        let Some(members) = branch.as_object() else {
            faults.add(&pointer, &reason::BRANCH_NOT_AN_OBJECT, &[]);
            continue;
        };
        check_object_schema(&pointer, members, faults);

        let property = branch.get("properties").and_then(|properties| properties.get("operation"));
        let Some(operation) = property.and_then(|property| resolved(root, property).get("const")) else {
            continue;
        };
        if let Some((first, _)) = operations.iter().find(|(_, other)| equal(other, operation)) {
            let place = format!("{combinator}[{first}]");
            let written = property.is_some_and(|property| property.get("const").is_some());
            let keyword = if written { "const" } else { "$ref" };
            let at = format!("{pointer}/properties/operation/{keyword}");
            faults.add(&at, &reason::SAME_OPERATION, &[("place", &place)]);
        } else {
            operations.push((index, operation));
        }
    }
}

fn check_combinators(root: &Value, faults: &mut Faults) {
    let walked = walk(root, &mut |node| {
        let at_top = node.trail.is_empty();
        for keyword in node.schema.as_object().into_iter().flat_map(Map::keys) {
            let at = || format!("{}{}", node.pointer, pointer_segment(keyword));
            if !is_combinator(keyword) || (at_top && COMBINATORS.contains(&keyword.as_str())) {
                continue;
            }
            let template = if at_top { &reason::TOP_COMBINATOR } else { &reason::NESTED_COMBINATOR };
            faults.add(&at(), template, &[("keyword", keyword)]);
        }
    });
    debug_assert!(walked.is_ok(), "the schema's size is checked before its shape");
}
