//! What careless code does to data on its way (C-DATA-1). A correct client passes JSON on as it came.

use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::defect::{Defect, Defects};
use crate::json;

const MISTAKES: &[Defect] = &[
    Defect::RoundsIntegers,
    Defect::NormalizesText,
    Defect::TrimsText,
    Defect::DropsNulls,
    Defect::RewritesKeys,
];

/// The data, as it came unless a mistake is to be made.
pub(super) fn pass(raw: &RawValue, defects: Defects) -> Box<RawValue> {
    match json::read::<Value>(raw) {
        Some(value) if MISTAKES.iter().any(|defect| defects.has(*defect)) => {
            json::raw(&mangled(value, defects))
        }
        Some(_) | None => raw.to_owned(),
    }
}

fn mangled(value: Value, defects: Defects) -> Value {
    match value {
        Value::Number(number) if defects.has(Defect::RoundsIntegers) => {
            let rounded = number.as_f64().map(|number| f64::from(number as f32));
            rounded.and_then(Number::from_f64).map_or(Value::Null, Value::Number)
        }
        Value::String(text) if defects.has(Defect::NormalizesText) => {
            Value::String(text.chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect())
        }
        Value::String(text) if defects.has(Defect::TrimsText) => Value::String(text.trim().to_owned()),
        Value::Array(values) => values.into_iter().map(|value| mangled(value, defects)).collect(),
        Value::Object(members) => {
            let kept = |(_, value): &(String, Value)| !value.is_null() || !defects.has(Defect::DropsNulls);
            let members = members.into_iter().filter(kept);
            Value::Object(
                members
                    .map(|(name, value)| (key(name, defects), mangled(value, defects)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn key(name: String, defects: Defects) -> String {
    if !defects.has(Defect::RewritesKeys) {
        return name;
    }
    let mut camel = String::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let mut letters = part.chars();
        let first = letters.next().into_iter();
        if camel.is_empty() {
            camel.extend(first);
        } else {
            camel.extend(first.flat_map(char::to_uppercase));
        }
        camel.extend(letters);
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(defect: Defect, expected: &str) {
        let came = json::checked(r#"{"a_b":[16777217," é "],"n":null}"#).unwrap();
        assert_eq!(pass(&came, defect.into()).get(), expected);
        assert_eq!(pass(&came, Defects::NONE).get(), came.get());
    }

    #[test]
    fn mistakes_show() {
        check(Defect::RoundsIntegers, r#"{"a_b":[16777216.0," é "],"n":null}"#);
        check(Defect::NormalizesText, r#"{"a_b":[16777217," ? "],"n":null}"#);
        check(Defect::TrimsText, r#"{"a_b":[16777217,"é"],"n":null}"#);
        check(Defect::DropsNulls, r#"{"a_b":[16777217," é "]}"#);
        check(Defect::RewritesKeys, r#"{"aB":[16777217," é "],"n":null}"#);
    }
}
