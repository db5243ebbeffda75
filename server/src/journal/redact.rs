//! What must not be told: keys and tokens.

use axum::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

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

/// `text` without the workspace's key, wherever a client may have put it.
pub(super) fn without_key(text: String, key: &str) -> String {
    if key.len() >= SHORTEST && text.contains(key) { text.replace(key, REDACTED) } else { text }
}
