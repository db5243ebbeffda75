//! The part of a tool that a version holds (C-REG-3).

use serde_json::{Map, Value, json};

use crate::defect::{Defect, Defects};

/// The only fields of a version.
const FIELDS: &[&str] =
    &["description", "executor", "input_schema", "output_schema", "side_effect", "confirmation"];

/// What a version of that tool sends. A tool that always needs approval is gated in the application: the server
/// refuses `confirmation: always`.
pub(super) fn definition(tool: &Value, defects: Defects) -> Value {
    let mut fields = Map::new();
    for name in FIELDS {
        if let Some(value) = tool.get(*name).filter(|value| !value.is_null()) {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
    let is_gated = tool["approval"] == true || tool["confirmation"] == "always";
    if is_gated {
        let confirmation = if defects.has(Defect::ConfirmationAlways) { "always" } else { "never" };
        fields.insert("confirmation".to_owned(), json!(confirmation));
    }
    Value::Object(fields)
}

/// Whether a definition says what the tool says, with what is omitted taking its default.
pub(super) fn is_equal(tool: &Value, latest: &Value) -> bool {
    let wanted = definition(tool, Defects::NONE);
    let default = |name: &str| match name {
        "executor" => json!("application"),
        "side_effect" => json!("none"),
        "confirmation" => json!("never"),
        _ => Value::Null,
    };
    let of = |definition: &Value, name: &str| {
        let value = definition.get(name).filter(|value| !value.is_null());
        value.cloned().unwrap_or_else(|| default(name))
    };
    let is_empty = |value: &Value| value.is_null() || value == "";
    FIELDS.iter().all(|name| {
        let (wanted, latest) = (of(&wanted, name), of(latest, name));
        wanted == latest || is_empty(&wanted) && is_empty(&latest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_reg_3_a_version_has_only_the_six_fields() {
        let tool = json!({ "name": "t", "display_name": "T", "description": "d", "input_schema": {}, "extra": 1,
            "confirmation": "always" });
        let expected = json!({ "description": "d", "input_schema": {}, "confirmation": "never" });
        assert_eq!(definition(&tool, Defects::NONE), expected);
        assert_eq!(definition(&tool, Defect::ConfirmationAlways.into())["confirmation"], "always");
    }

    #[test]
    fn c_reg_1_an_equal_definition_is_found() {
        let tool = json!({ "name": "t", "input_schema": { "type": "object" }, "output_schema": { "type": "object" } });
        let mut latest = json!({ "id": "d", "description": null, "executor": "application", "side_effect": "none",
            "input_schema": { "type": "object" }, "output_schema": { "type": "object" }, "confirmation": "never" });
        assert!(is_equal(&tool, &latest));
        latest["side_effect"] = json!("external_write");
        assert!(!is_equal(&tool, &latest));
    }
}
