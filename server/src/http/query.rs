//! Query strings: read by hand, since a wrong one is an answer of ours (ERR-3).

use axum::http::Uri;
use pantheon_core::Detail;
use pantheon_core::detail::pointer_segment;

use super::answer::ApiError;
use crate::decode::correction;

/// The first value of `name` in the query of `uri`, decoded.
pub(crate) fn value(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Refuses parameters that are none of `allowed`: a misspelt one could change what is cleared.
///
/// # Errors
/// 422 that names the nearest one.
pub(crate) fn only(uri: &Uri, allowed: &[&str]) -> Result<(), ApiError> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let unknown = pairs.filter(|(name, _)| !allowed.contains(&&**name));
    let faults: Vec<Detail> = unknown
        .map(|(name, _)| Detail::new(pointer_segment(&name), correction("parameter", &name, allowed)))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(ApiError::invalid(faults)) }
}

/// The value of `name`, parsed; an empty one counts as absent.
///
/// # Errors
/// 422 that says what is `expected`, where the value is there and can't be parsed.
pub(crate) fn parsed<T>(
    uri: &Uri,
    name: &str,
    expected: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let Some(text) = value(uri, name).filter(|text| !text.is_empty()) else { return Ok(None) };
    match parse(&text) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(ApiError::invalid(vec![Detail::new(format!("/{name}"), format!("must be {expected}"))])),
    }
}
