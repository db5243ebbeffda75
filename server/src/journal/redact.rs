//! What must not be told: keys and tokens.

use axum::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use axum::http::{HeaderMap, HeaderName};

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

/// `text` without the workspace's key, wherever a client may have put it.
pub(crate) fn without_key(text: String, key: &str) -> String {
    if key.len() >= SHORTEST && text.contains(key) { text.replace(key, REDACTED) } else { text }
}
