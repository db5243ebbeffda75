//! Equality of JSON values as JSON Schema has it: numbers by value, members in any order.

use serde_json::{Number, Value};

/// Whether `left` and `right` are the same JSON value: `1` equals `1.0`, and neither equals `true`.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => equal_numbers(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        (left, right) => left == right,
    }
}

fn equal_numbers(left: &Number, right: &Number) -> bool {
    match (as_integer(left), as_integer(right)) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.as_f64() == right.as_f64(),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The exact value of a number that is whole and at most 2^100 in size.
fn as_integer(number: &Number) -> Option<i128> {
    const LARGEST: f64 = (1_u128 << 100) as f64;
    if let Some(integer) = number.as_i64() {
        return Some(integer.into());
    }
    if let Some(integer) = number.as_u64() {
        return Some(integer.into());
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= LARGEST).then_some(float as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(left: &Value, right: &Value, want: bool) {
        assert_eq!(equal(left, right), want, "{left} and {right}");
        assert_eq!(equal(right, left), want, "{right} and {left}");
    }

    #[test]
    fn numbers_compare_by_value_and_only_with_numbers() {
        check(&json!(1), &json!(1.0), true);
        check(&json!(-0.0), &json!(0), true);
        check(&json!(1), &json!(true), false);
        check(&json!(0), &json!(false), false);
        check(&json!(0.5), &json!(0.5), true);
        check(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992.0), false);
        check(&json!(u64::MAX), &json!(18_446_744_073_709_551_616.0), false);
        check(&json!(1e300), &json!(1e300), true);
        check(&json!({"a": [1, {"b": 2}], "c": 3}), &json!({"c": 3.0, "a": [1.0, {"b": 2}]}), true);
        check(&json!([1]), &json!([1, 1]), false);
        check(&json!({"a": null}), &json!({"b": null}), false);
    }
}
