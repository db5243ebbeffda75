//! What must not be told: keys and tokens.

use axum::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// What stands in place of a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// A key shorter than this is too common a text to be looked for.
const SHORTEST: usize = 6;

/// `headers` without credentials.
pub fn redacted_headers(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    let control_token = HeaderName::from_static("x-mock-control-token");
    for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, control_token] {
        if let Some(value) = headers.get_mut(&name) {
            *value = HeaderValue::from_static(REDACTED);
        }
    }
    headers
}

/// `text` without the workspace's key, wherever a client may have put it: as it is, or inside a JSON string.
pub(super) fn without_key(text: String, key: &str) -> String {
    if key.len() < SHORTEST {
        return text;
    }
    let quoted = Value::from(key).to_string();
    let in_json = &quoted[1..quoted.len() - 1];
    replaced(replaced(text, key), in_json)
}

/// `text` of a URL or a header without the key. Where the key stands in it percent-encoded, it is told decoded.
pub(super) fn without_encoded_key(text: String, key: &str) -> String {
    let decoded = if key.len() < SHORTEST { None } else { percent_decoded(&text) };
    without_key(decoded.filter(|decoded| decoded.contains(key)).unwrap_or(text), key)
}

/// `value` without the key, in names of members too. Escapes that hid it are gone by now.
pub(super) fn value_without_key(value: Value, key: &str) -> Value {
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

/// `text` with its percent escapes decoded; `None` where it has none.
fn percent_decoded(text: &str) -> Option<String> {
    let mut rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                rest = &after[2..];
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    (decoded.len() < text.len()).then(|| String::from_utf8_lossy(&decoded).into_owned())
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
