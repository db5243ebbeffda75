//! Query strings: read by hand, since a wrong one is an answer of ours (ERR-3).

use axum::http::Uri;
use pantheon_core::Detail;

use super::answer::ApiError;

/// The first value of `name` in the query of `uri`, decoded.
pub(crate) fn value(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The value of `name`, parsed.
///
/// # Errors
/// 422 that says what is `expected`, where the value is there and can't be parsed.
pub(crate) fn parsed<T>(
    uri: &Uri,
    name: &str,
    expected: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let Some(text) = value(uri, name) else { return Ok(None) };
    match parse(&text) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(ApiError::invalid(vec![Detail::new(format!("/{name}"), format!("must be {expected}"))])),
    }
}
