//! What must not be told: keys and tokens.

use axum::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use axum::http::{HeaderMap, HeaderName};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// What stands in place of a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// A key shorter than this is too common a text to be looked for.
const SHORTEST: usize = 6;

/// Headers as a journal keeps them: names in lower case, several values of one name joined by commas, credentials
/// taken out. All of it is copied: the request's own headers hold on to the whole buffer that they were read from.
#[derive(Debug, Clone, Default)]
pub struct Headers(Box<[(Box<str>, Box<str>)]>);

impl Headers {
    /// Keeps `headers`.
    pub fn of(headers: &HeaderMap) -> Self {
        let kept = headers.keys().map(|name| {
            let value: Box<str> = if is_credential(name) { REDACTED.into() } else { joined(headers, name) };
            (name.as_str().into(), value)
        });
        Self(kept.collect())
    }

    /// Whether the value of the header called `name` is never kept.
    pub fn is_redacted(name: &str) -> bool {
        HeaderName::from_bytes(name.as_bytes()).is_ok_and(|name| is_credential(&name))
    }

    /// Names and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

fn is_credential(name: &HeaderName) -> bool {
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) || name == "x-mock-control-token"
}

fn joined(headers: &HeaderMap, name: &HeaderName) -> Box<str> {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    values.collect::<Vec<_>>().join(", ").into()
}

/// `text` without the workspace's key, wherever a client may have put it: as it is, or inside a JSON string.
pub(crate) fn without_key(text: String, key: &str) -> String {
    if key.len() < SHORTEST {
        return text;
    }
    let quoted = Value::from(key).to_string();
    let in_json = &quoted[1..quoted.len() - 1];
    replaced(replaced(text, key), in_json)
}

/// `text` of a URL or a header without the key. Where the key stands in it percent-encoded, it is told decoded.
pub(super) fn without_encoded_key(text: String, key: &str) -> String {
    let decoded = percent_decode_str(&text).decode_utf8_lossy();
    let hides_key = key.len() >= SHORTEST && decoded.contains(key);
    without_key(if hides_key { decoded.into_owned() } else { text }, key)
}

/// `value` without the key, in names of members too. Escapes that hid it are gone by now.
pub(crate) fn value_without_key(value: Value, key: &str) -> Value {
    match value {
        Value::String(text) => Value::String(without_key(text, key)),
        Value::Array(items) => items.into_iter().map(|item| value_without_key(item, key)).collect(),
        Value::Object(members) => {
            let redacted = members
                .into_iter()
                .map(|(name, value)| (without_key(name, key), value_without_key(value, key)));
            Value::Object(redacted.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn replaced(text: String, secret: &str) -> String {
    if text.contains(secret) { text.replace(secret, REDACTED) } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(key: &str, text: &str, expected: &str) {
        assert_eq!(without_encoded_key(text.to_owned(), key), expected, "{key} in {text}");
    }

    #[test]
    fn a_key_is_found_however_it_is_written() {
        check("pk_test", "/v1/pk_test/pk_test", "/v1/[redacted]/[redacted]");
        check("pk_test", "a=pk%5ftest&b=%70k_test", "a=[redacted]&b=[redacted]");
        check("pk_test", "a=%20b%&c=%zz%5", "a=%20b%&c=%zz%5");
        check("pk\"test", r#"{"a":"pk\"test"}"#, r#"{"a":"[redacted]"}"#);
        check("pk", "/v1/pk", "/v1/pk");
        let value = json!({ "pk_test": ["a pk_test b", 1, null] });
        assert_eq!(value_without_key(value, "pk_test"), json!({ "[redacted]": ["a [redacted] b", 1, null] }));
    }
}
