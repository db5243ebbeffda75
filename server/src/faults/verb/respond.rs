//! `respond`: another answer instead.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use pantheon_core::Timestamp;
use serde_json::{Value, json};

use crate::decode::{Faults, Node};
use crate::http::http_date;
use crate::scenario::duration::duration;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Respond {
    /// Its status, 200 to 599.
    pub status: StatusCode,
    /// `error.code`
    pub code: Option<String>,
    /// `error.message`
    pub message: Option<String>,
    /// Its headers, over those that come by themselves.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// A text goes out as it is, any other value as JSON. Without one, an error of the contract's shape.
    pub body: Option<Value>,
    /// When the client may come again.
    pub retry_after: Option<RetryAfter>,
}

/// What `Retry-After` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// Seconds.
    Seconds(u64),
    /// The date that is so far ahead on the workspace's clock.
    Date(Duration),
}

impl Respond {
    /// The answer to the request called `request_id`, given at `now`.
    pub(crate) fn render(&self, request_id: &str, now: Timestamp) -> Response {
        let (content_type, body) = self.body(request_id);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if let Some(content_type) = content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let retry_after = match self.retry_after {
            Some(RetryAfter::Seconds(seconds)) => Some(seconds.into()),
            Some(RetryAfter::Date(ahead)) => http_date(now.after(ahead)),
            None => None,
        };
        if let Some(value) = retry_after {
            headers.insert(RETRY_AFTER, value);
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        response
    }

    fn body(&self, request_id: &str) -> (Option<&'static str>, Vec<u8>) {
        match &self.body {
            Some(Value::String(text)) => (Some("text/plain; charset=utf-8"), text.clone().into_bytes()),
            Some(value) => (Some("application/json"), value.to_string().into_bytes()),
            None if self.is_error() => {
                let code = self.code.clone().unwrap_or_else(|| code_of(self.status));
                let message = self.message.as_deref().unwrap_or("this answer is a fault's");
                let error =
                    json!({ "error": { "code": code, "message": message, "request_id": request_id } });
                (Some("application/json"), error.to_string().into_bytes())
            }
            None => (None, Vec::new()),
        }
    }

    fn is_error(&self) -> bool {
        self.code.is_some() || self.message.is_some() || self.status.as_u16() >= 400
    }
}

/// `service_unavailable` for 503.
fn code_of(status: StatusCode) -> String {
    let reason = status.canonical_reason().unwrap_or("error");
    reason.to_ascii_lowercase().replace([' ', '-', '\''], "_")
}

pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Respond> {
    let mut members = node.members(faults)?;
    let before = faults.details.len();
    let status = members.required("status", faults).and_then(|node| read_status(&node, faults));
    let code = members.optional("code").and_then(|node| node.words(faults, 255)).map(str::to_owned);
    let message = members.optional("message").and_then(|node| node.text(faults)).map(str::to_owned);
    let headers = members.optional("headers").and_then(|node| read_headers(&node, faults));
    let body = members.optional("body").map(|node| node.value.clone());
    if body.is_some() && (code.is_some() || message.is_some()) {
        members.fault_at("body", faults, "say either `body`, or `code` and `message`");
    }
    let retry_after = members.optional("retry_after").and_then(|node| read_retry_after(&node, faults));
    members.finish(faults);
    let status = status.filter(|_| faults.details.len() == before)?;
    Some(Respond { status, code, message, headers: headers.unwrap_or_default(), body, retry_after })
}

fn read_status(node: &Node<'_, '_>, faults: &mut Faults) -> Option<StatusCode> {
    let status = node.value.as_u64().filter(|status| (200..=599).contains(status));
    let status = status.and_then(|status| StatusCode::from_u16(status as u16).ok());
    if status.is_none() {
        node.fault(faults, "must be a status from 200 to 599");
    }
    status
}

fn read_headers(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let mut headers = Vec::new();
    for (name, value) in node.map(faults)? {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = value.as_str().and_then(|text| HeaderValue::from_str(text).ok());
        match (parsed, value) {
            (Some(name), _) if name == CONTENT_LENGTH || name == TRANSFER_ENCODING => {
                node.fault(faults, format!("`{name}` follows from the body; leave it out"));
            }
            (Some(name), Some(value)) => headers.push((name, value)),
            (_, _) => node.fault(faults, format!("`{name}` is no header with a text of one line")),
        }
    }
    Some(headers)
}

fn read_retry_after(node: &Node<'_, '_>, faults: &mut Faults) -> Option<RetryAfter> {
    if node.value.is_object() {
        let mut members = node.members(faults)?;
        let ahead = members.required("date", faults).and_then(|ahead| duration(&ahead, faults));
        members.finish(faults);
        return ahead.map(RetryAfter::Date);
    }
    let seconds = node.value.as_u64();
    if seconds.is_none() {
        node.fault(faults, "must be whole seconds, or `{ date: 30s }` for the date that far ahead");
    }
    seconds.map(RetryAfter::Seconds)
}
