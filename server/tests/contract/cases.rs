//! The tables in `cases/`: a request each, and what it is answered.
//!
//! The cases of one rule run in their order in one workspace, the [`Stage`]; a later one sees what an earlier one
//! did. Every answer that is no success is also judged by [`check_error`].

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::stage::Stage;
use crate::support::{Answer, Api};

/// All tables, by the name of their file.
pub const FILES: [(&str, &str); 4] = [
    ("bodies.yaml", include_str!("cases/bodies.yaml")),
    ("registry.yaml", include_str!("cases/registry.yaml")),
    ("resumes.yaml", include_str!("cases/resumes.yaml")),
    ("transport.yaml", include_str!("cases/transport.yaml")),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The rule that it checks.
    pub rule: String,
    /// What it is about.
    pub name: String,
    /// `POST /v1/tools`
    request: Option<String>,
    /// Instead of `request`: the events of a resume of the run that waits. They answer its question unless they
    /// say which, and a key is sent.
    resume: Option<Vec<Map<String, Value>>>,
    /// Sent beside the key; `null` takes away one that would be sent.
    #[serde(default)]
    headers: Map<String, Value>,
    /// Sent as JSON.
    body: Option<Value>,
    /// Sent as it stands, with `Content-Type: application/json`.
    raw: Option<String>,
    status: u16,
    /// `error.code`.
    code: Option<String>,
    /// Each entry of `error.details`, in order: its path, and words of its reason.
    details: Option<Vec<(String, String)>>,
    /// What stands in the answer, by JSON Pointer.
    #[serde(default)]
    answer: Map<String, Value>,
    /// What stands in the answer's headers.
    #[serde(default)]
    answer_headers: Map<String, Value>,
}

/// A table, read as YAML 1.2 has it: `n` is a text.
pub fn read_yaml<T: for<'de> Deserialize<'de>>(name: &str, yaml: &str) -> T {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(yaml, options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All cases, read anew.
pub fn all() -> Vec<Case> {
    let read = |(name, yaml): (&str, &str)| -> Vec<Case> { read_yaml(name, yaml) };
    FILES.into_iter().flat_map(read).collect()
}

/// Runs the cases of that rule.
pub async fn cases(rule: &str) {
    run(&Stage::new().await, rule).await;
}

/// Runs the cases of that rule on `stage`.
pub async fn run(stage: &Stage, rule: &str) {
    let of_rule: Vec<_> = all().into_iter().filter(|case| case.rule == rule).collect();
    assert!(!of_rule.is_empty(), "no case has the rule {rule}");
    for case in of_rule {
        let answer = case.send(stage).await;
        case.check(stage, &answer);
    }
}

impl Case {
    async fn send(&self, stage: &Stage) -> Answer {
        let resume = "POST /v1/sessions/{waiting}/runs/{run}/resume";
        let (method, path) = self.request.as_deref().unwrap_or(resume).split_once(' ').unwrap();
        let mut request = stage.api().request(method.parse().unwrap(), &stage.fill(path));
        if let Some(text) = self.text() {
            request = request.body(stage.fill(&text)).header("content-type", "application/json");
        }
        if self.resume.is_some() {
            request = request.header("idempotency-key", "key-of-cases");
        }
        let mut request = request.build().unwrap();
        for (name, value) in &self.headers {
            let name: reqwest::header::HeaderName = name.parse().unwrap();
            request.headers_mut().remove(&name);
            if let Some(text) = value.as_str() {
                request.headers_mut().insert(name, stage.fill(text).parse().unwrap());
            }
        }
        Api::execute(request).await
    }

    /// The body that it sends.
    fn text(&self) -> Option<String> {
        let result = |event: &Map<String, Value>| {
            let mut result = json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": "{event}" });
            result.as_object_mut().unwrap().extend(event.clone());
            result
        };
        let events = self.resume.iter().map(|events| events.iter().map(result).collect::<Vec<_>>());
        let resume = events.map(|events| json!({ "events": events }).to_string()).next();
        resume.or_else(|| self.raw.clone()).or_else(|| Some(self.body.as_ref()?.to_string()))
    }

    #[track_caller]
    fn check(&self, stage: &Stage, answer: &Answer) {
        let told = format!("{} {}: {} {}", self.rule, self.name, answer.status, answer.body);
        assert_eq!(answer.status.as_u16(), self.status, "{told}");
        if answer.status.as_u16() >= 400 {
            check_error(answer);
        }
        if let Some(code) = &self.code {
            assert_eq!(answer.body["error"]["code"], code.as_str(), "{told}");
        }
        if let Some(expected) = &self.details {
            let found = details(&answer.body);
            let fits = found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, (path, reason))| {
                    found.0 == stage.fill(path) && found.1.contains(reason.as_str())
                });
            assert!(fits, "{told}\nexpected details: {expected:?}");
        }
        for (pointer, expected) in &self.answer {
            let expected: Value = serde_json::from_str(&stage.fill(&expected.to_string())).unwrap();
            assert_eq!(answer.body.pointer(pointer), Some(&expected), "{pointer} of {told}");
        }
        for (name, expected) in &self.answer_headers {
            assert_eq!(answer.header(name), expected.as_str(), "header {name} of {told}");
        }
    }
}

/// The paths and reasons in `error.details`, which must be a list of exactly these.
#[track_caller]
pub fn details(body: &Value) -> Vec<(String, String)> {
    let entries = body["error"]["details"].as_array().unwrap_or_else(|| panic!("no details in {body}"));
    let read = |entry: &Value| {
        let members = entry.as_object().unwrap();
        assert_eq!(members.keys().collect::<Vec<_>>(), ["path", "reason"], "{body}");
        (members["path"].as_str().unwrap().to_owned(), members["reason"].as_str().unwrap().to_owned())
    };
    entries.iter().map(read).collect()
}

/// ERR-1 and ERR-2: what every error looks like.
#[track_caller]
pub fn check_error(answer: &Answer) {
    let body = &answer.body;
    assert_eq!(answer.header("content-type"), Some("application/json"), "{body}");
    assert_eq!(body.as_object().map(|body| body.keys().collect::<Vec<_>>()), Some(vec![&"error".to_owned()]));
    let error = body["error"].as_object().unwrap();
    let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    assert!(text("code").is_some() && text("message").is_some(), "{body}");
    assert_eq!(text("request_id"), answer.header("x-request-id"), "{body}");
    for name in error.keys() {
        let known = ["code", "message", "details", "request_id"];
        let busy = ["active_run_id", "active_run_status", "recovery"];
        let is_busy = text("code") == Some("SESSION_BUSY") && busy.contains(&name.as_str());
        assert!(known.contains(&name.as_str()) || is_busy, "{name} in {body}");
    }
    match text("code").unwrap() {
        "validation_error" | "tool_result_invalid" | "invalid_event_reference" => {
            for (path, reason) in details(body) {
                assert!(path.is_empty() || path.starts_with('/'), "{path}: no JSON Pointer");
                assert!(!reason.is_empty(), "{body}");
            }
        }
        _ => assert!(error.get("details").is_none_or(Value::is_object), "{body}"),
    }
}
