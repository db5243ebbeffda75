//! JSON that is passed on as it came.
//!
//! An input must reach the tool, and a result the server, with equal code points, keys and nesting, and numbers of any
//! size (C-DATA-1). So neither is decoded into values on its way: both stay the text that came, checked to be JSON.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The members of an object, each as its text; none when `text` is no object. Of doubled members the last counts.
pub(crate) fn members(text: &str) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_str(text).ok()
}

/// A value of that type, if it is one.
pub(crate) fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// A member as text, if it is there and is one.
pub(crate) fn text(members: &HashMap<String, &RawValue>, name: &str) -> Option<String> {
    read(members.get(name)?)
}

/// A value that we made ourselves, as text.
pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a JSON value can be written as JSON")
}

/// A text as JSON, where it is JSON.
pub(crate) fn checked(text: &str) -> Option<Box<RawValue>> {
    serde_json::from_str(text).ok()
}

/// Whether it can be sent as a tool's result: an object all of whose text is Unicode (C-TOOL-18).
pub(crate) fn is_sendable(raw: &RawValue) -> bool {
    // Half a surrogate pair, as in "\ud800", is no text; reading it tells.
    read::<Value>(raw).is_some_and(|value| value.is_object())
}

/// Whether two texts are the same JSON.
pub(crate) fn are_equal(one: &RawValue, other: &RawValue) -> bool {
    one.get() == other.get() || read::<Value>(one).is_some_and(|value| Some(value) == read::<Value>(other))
}

/// `{"type": "text", "text": …}` parts, joined; what is no such part is passed over.
pub(crate) fn text_of_parts(content: &RawValue) -> Option<String> {
    let parts: Vec<Value> = read(content)?;
    let is_text = |part: &&Value| part.get("type").is_none_or(|kind| kind == &json!("text"));
    Some(parts.iter().filter(is_text).filter_map(|part| part.get("text")?.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sendable(text: &str) -> bool {
        checked(text).is_some_and(|raw| is_sendable(&raw))
    }

    #[test]
    fn c_data_1_what_is_passed_on_is_not_touched() {
        let text = r#"{"b":1.10,"a":[9007199254740993,123456789012345678901234567890,"\u2028\/"],"b":null}"#;
        assert_eq!(checked(text).unwrap().get(), text);
        assert_eq!(members(text).unwrap()["b"].get(), "null");
    }

    #[test]
    fn c_tool_18_what_can_be_sent() {
        assert!(sendable(r#"{"a":"é"}"#));
        for text in ["null", "[]", "\"a\"", "NaN", "{\"a\":NaN}", r#"{"a":"\ud800"}"#, ""] {
            assert!(!sendable(text), "{text}");
        }
    }

    #[test]
    fn c_sse_14_the_text_of_a_message() {
        let raw = |text| checked(text).unwrap();
        assert_eq!(
            text_of_parts(&raw(r#"[{"type":"text","text":"a"},{"type":"x"},{"type":"text","text":"b"}]"#))
                .unwrap(),
            "ab"
        );
        assert_eq!(text_of_parts(&raw("null")), None);
    }
}
