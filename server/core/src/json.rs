//! JSON as values: when two bodies count as the same (IDEM-1).

use std::hash::Hasher;

use serde_json::{Number, Value};
use siphasher::sip128::{Hasher128, SipHasher13};

/// What two JSON bodies share exactly when they are equal as JSON: the order of members and white space don't
/// matter, numbers compare by value (IDEM-1): that of a 64-bit integer or float, since that is what a number is read
/// into (ADR 5). 128 bits, so that chance never makes two bodies one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// The fingerprint of `body`.
    pub fn of(body: &Value) -> Self {
        let mut hasher = SipHasher13::new();
        feed(&mut hasher, body);
        Self(hasher.finish128().as_u128())
    }
}

fn feed(hasher: &mut SipHasher13, value: &Value) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(truth) => hasher.write(&[1, u8::from(*truth)]),
        Value::Number(number) => feed_number(hasher, number),
        Value::String(text) => feed_text(hasher, text),
        Value::Array(items) => {
            hasher.write_u8(5);
            hasher.write_usize(items.len());
            items.iter().for_each(|item| feed(hasher, item));
        }
        Value::Object(members) => {
            hasher.write_u8(6);
            hasher.write_usize(members.len());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, member) in members {
                feed_text(hasher, name);
                feed(hasher, member);
            }
        }
    }
}

/// `1`, `1.0` and `1e0` are one number: a whole one is told as an integer, however it was written.
fn feed_number(hasher: &mut SipHasher13, number: &Number) {
    /// Whole numbers below it fit into 128 bits.
    const MOST_WHOLE: f64 = 1e38;
    let whole = match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(signed), _, _) => Some(i128::from(signed)),
        (None, Some(unsigned), _) => Some(i128::from(unsigned)),
        (None, None, Some(float)) if float.fract() == 0.0 && float.abs() < MOST_WHOLE => Some(float as i128),
        (None, None, _) => None,
    };
    match whole {
        Some(whole) => {
            hasher.write_u8(2);
            hasher.write_i128(whole);
        }
        None => {
            hasher.write_u8(3);
            hasher.write_u64(number.as_f64().unwrap_or(f64::NAN).to_bits());
        }
    }
}

fn feed_text(hasher: &mut SipHasher13, text: &str) {
    hasher.write_u8(4);
    hasher.write_usize(text.len());
    hasher.write(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        let print = |text: &str| Fingerprint::of(&serde_json::from_str(text).unwrap());
        assert_eq!(print(one) == print(other), same, "{one} against {other}");
    }

    #[test]
    fn idem_1_bodies_are_equal_when_equal_as_json() {
        check(r#"{"a":1,"b":2}"#, r#"{ "b" : 2, "a" : 1 }"#, true);
        check(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#, false);
        check("[1]", "[1.0]", true);
        check("[100]", "[1e2]", true);
        check("[0]", "[-0.0]", true);
        check("[1000000000000000000]", "[1e18]", true);
        check("[18446744073709551615]", "[1.8446744073709551615e19]", false);
        check("[9007199254740993]", "[9007199254740992]", false);
        check("[18446744073709551615]", "[18446744073709551614]", false);
        check("[0.1]", "[0.10]", true);
        check("[1]", "[true]", false);
        check(r#"["1"]"#, "[1]", false);
        check("[[1],2]", "[[1,2]]", false);
        check(r#"{"a":null}"#, "{}", false);
        check(r#"["ab","c"]"#, r#"["a","bc"]"#, false);
    }
}
