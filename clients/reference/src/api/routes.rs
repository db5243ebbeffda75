//! The requests that a client makes, by name.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Request;
use crate::run::RunId;

/// All but what a path segment and a query's value hold as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn escape(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, ESCAPED)
}

impl Request {
    /// Opens a session with an agent or a deployment: `{"agent_slug"}` or `{"deployment_id"}`.
    pub(crate) fn create_session(with: &Value) -> Self {
        Self::post("/v1/sessions", with)
    }

    pub(crate) fn session(session: &str) -> Self {
        Self::get(format!("/v1/sessions/{}", escape(session)))
    }

    /// Starts a run.
    pub(crate) fn start(session: &str, message: &str, key: &str) -> Self {
        let content = json!([{ "type": "text", "text": message }]);
        let body = json!({ "events": [{ "type": "user.message", "content": content }] });
        let request = Self::post(format!("/v1/sessions/{}/runs", escape(session)), &body);
        Self { key: Some(key.to_owned()), ..request }
    }

    pub(crate) fn run(session: &str, run: &RunId) -> Self {
        Self::get(Self::run_path(session, run))
    }

    pub(crate) fn cancel(session: &str, run: &RunId) -> Self {
        Self {
            method: reqwest::Method::POST,
            ..Self::get(format!("{}/cancel", Self::run_path(session, run)))
        }
    }

    pub(crate) fn resume(session: &str, run: &RunId, key: &str, body: String) -> Self {
        let request = Self::get(format!("{}/resume", Self::run_path(session, run)));
        Self { method: reqwest::Method::POST, key: Some(key.to_owned()), body: Some(body), ..request }
    }

    pub(crate) fn events(session: &str, cursor: Option<&str>) -> Self {
        Self::page(&format!("/v1/sessions/{}/events?", escape(session)), cursor)
    }

    pub(crate) fn tools(name: &str) -> Self {
        Self::get(format!("/v1/tools?name={}", escape(name)))
    }

    pub(crate) fn versions(tool: &str, cursor: Option<&str>) -> Self {
        Self::page(&format!("/v1/tools/{}/versions?", escape(tool)), cursor)
    }

    pub(crate) fn create_tool(tool: &Value) -> Self {
        Self::post("/v1/tools", tool)
    }

    pub(crate) fn create_version(tool: &str, definition: &Value) -> Self {
        Self::post(format!("/v1/tools/{}/versions", escape(tool)), definition)
    }

    pub(crate) fn agents(cursor: Option<&str>) -> Self {
        Self::page("/v1/agents?", cursor)
    }

    pub(crate) fn deployments(cursor: Option<&str>) -> Self {
        Self::page("/v1/deployments?", cursor)
    }

    pub(crate) fn deployment(deployment: &str) -> Self {
        Self::get(format!("/v1/deployments/{}", escape(deployment)))
    }

    pub(crate) fn create_deployment(deployment: &Value) -> Self {
        Self::post("/v1/deployments", deployment)
    }

    fn run_path(session: &str, run: &RunId) -> String {
        format!("/v1/sessions/{}/runs/{}", escape(session), escape(run.as_str()))
    }

    fn page(path: &str, cursor: Option<&str>) -> Self {
        let cursor = cursor.map(|cursor| format!("&cursor={}", escape(cursor))).unwrap_or_default();
        Self::get(format!("{path}limit=100{cursor}"))
    }
}

/// Where a session's events are streamed.
pub(crate) fn stream_path(session: &str) -> String {
    format!("/v1/sessions/{}/events/stream?event_deltas=true", escape(session))
}
