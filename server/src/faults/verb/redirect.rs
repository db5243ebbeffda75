//! `redirect`: the client is sent elsewhere.

use axum::http::StatusCode;

use crate::decode::{Faults, Node, correction};

/// The client is sent elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Where to: `{{ other_origin }}` is the mock under another name, `{{ path }}` what was asked for.
    pub to: String,
    /// 301, 302, 303, 307 or 308.
    pub status: StatusCode,
}

/// The paths that may stand between braces.
const PATHS: [&str; 2] = ["other_origin", "path"];

impl Redirect {
    /// Where it leads from a request of `path`, asked of the mock under the name `host`.
    pub(crate) fn target(&self, host: Option<&str>, path: &str) -> String {
        let mut target = String::new();
        let mut rest = self.to.as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            target.push_str(before);
            // It was read, so its braces are closed.
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            target.push_str(&match name.trim() {
                "other_origin" => other_origin(host),
                _ => path.to_owned(),
            });
            rest = after;
        }
        target + rest
    }
}

/// The mock under another loopback name than `host`.
fn other_origin(host: Option<&str>) -> String {
    let host = host.unwrap_or("127.0.0.1");
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, format!(":{port}")),
        Some(_) | None => (host, String::new()),
    };
    let other = if name.eq_ignore_ascii_case("localhost") { "127.0.0.1" } else { "localhost" };
    format!("http://{other}{port}")
}

/// Reads `{ to, status }`.
pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Redirect> {
    let mut members = node.members(faults)?;
    let to = members.required("to", faults).and_then(|to| {
        let text = to.words(faults, 4096)?;
        if let Some(reason) = wrong_with(text) {
            to.fault(faults, reason);
            return None;
        }
        Some(text.to_owned())
    });
    let status = members.optional("status").map(|status| {
        let known = status.value.as_u64().filter(|status| [301, 302, 303, 307, 308].contains(status));
        let known = known.and_then(|status| StatusCode::from_u16(status as u16).ok());
        if known.is_none() {
            status.fault(faults, "must be 301, 302, 303, 307 or 308");
        }
        known
    });
    members.finish(faults);
    Some(Redirect { to: to?, status: status.unwrap_or(Some(StatusCode::TEMPORARY_REDIRECT))? })
}

fn wrong_with(text: &str) -> Option<String> {
    if !text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Some("must be a URL of visible ASCII characters".to_owned());
    }
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { return Some("`{{` has no `}}`".to_owned()) };
        if !PATHS.contains(&name.trim()) {
            return Some(correction("path", name.trim(), &PATHS));
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(to: &str, host: Option<&str>, expected: &str) {
        let redirect = Redirect { to: to.to_owned(), status: StatusCode::FOUND };
        assert_eq!(redirect.target(host, "/v1/tools?name=x"), expected);
    }

    #[test]
    fn the_other_origin_is_the_same_mock_under_another_name() {
        check("{{ other_origin }}{{path}}", Some("127.0.0.1:80"), "http://localhost:80/v1/tools?name=x");
        check("{{other_origin}}/x", Some("LocalHost:8000"), "http://127.0.0.1:8000/x");
        check("{{ other_origin }}", None, "http://localhost");
        check("/elsewhere", Some("[::1]:9"), "/elsewhere");
        check("{{ other_origin }}", Some("[::1]:9"), "http://localhost:9");
    }
}
