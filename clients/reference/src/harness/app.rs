//! The application that a harness is: it executes, corrects, approves and listens.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::link::{Called, Link};
use super::reporter::Reporter;
use crate::application::{Application, Execution, News};
use crate::json;
use crate::tools::{Answer, Call, ToolError};

/// A harness as an application, for one task.
#[derive(Debug)]
pub(super) struct HarnessApp {
    pub(super) link: Link,
    pub(super) reporter: Reporter,
    /// The tools that need approval.
    pub(super) gated: HashSet<String>,
}

#[derive(Serialize)]
struct CallBody<'a> {
    name: &'a str,
    input: &'a RawValue,
    tool_call_id: &'a str,
    execution_idempotency_key: &'a str,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
}

#[derive(Serialize)]
struct CorrectBody<'a> {
    name: &'a str,
    tool_call_id: &'a str,
    content: &'a RawValue,
    details: &'a Value,
}

fn body(call: &Call) -> String {
    let body = CallBody {
        name: &call.name,
        input: &call.input,
        tool_call_id: &call.tool_call_id,
        execution_idempotency_key: &call.execution_key,
        session_id: &call.session,
        run_id: call.run.as_ref().map(|run| run.as_str()),
    };
    serde_json::to_string(&body).expect("text and JSON can be written as JSON")
}

impl Application for HarnessApp {
    async fn execute(&self, call: &Call) -> Execution {
        execute(&self.link, call).await
    }

    async fn correct(&self, call: &Call, content: &RawValue, details: &Value) -> Answer {
        let (name, tool_call_id) = (&call.name, &call.tool_call_id);
        let body = CorrectBody { name, tool_call_id, content, details };
        let body = serde_json::to_string(&body).expect("text and JSON can be written as JSON");
        match self.link.call("correct", body).await {
            Called::Answer(200, answer) => read_answer(&answer)
                .unwrap_or_else(|| Answer::error("RESULT_INVALID", "The correction can't be read.")),
            Called::Answer(..) | Called::Unreached(_) | Called::Lost(_) => {
                Answer::error("RESULT_INVALID", "The result doesn't fit, and there is no correction.")
            }
        }
    }

    fn needs_approval(&self, tool: &str) -> bool {
        self.gated.contains(tool)
    }

    /// Only an answer is a yes.
    async fn approve(&self, call: &Call) -> bool {
        match self.link.call("approve", body(call)).await {
            Called::Answer(200, answer) => {
                serde_json::from_str(&answer).is_ok_and(|answer: Value| answer["approved"] == true)
            }
            Called::Answer(..) | Called::Unreached(_) | Called::Lost(_) => false,
        }
    }

    fn tell(&self, news: News) {
        self.reporter.report(&news);
    }
}

/// One call of `/tool` is one execution, so it is never repeated.
pub(crate) async fn execute(link: &Link, call: &Call) -> Execution {
    match link.call("tool", body(call)).await {
        Called::Answer(200, answer) => read_execution(&answer),
        Called::Answer(404, _) => Execution::Unknown,
        Called::Answer(status, _) => Execution::Threw(format!("the tool answered {status}")),
        Called::Unreached(why) => Execution::Error(ToolError::new("TOOL_UNREACHABLE", why)),
        Called::Lost(why) => Execution::Lost(why),
    }
}

fn read_execution(answer: &str) -> Execution {
    let Some(members) = json::members(answer) else { return Execution::Unsendable("is no JSON".to_owned()) };
    if let Some(content) = members.get("content") {
        return Execution::Content((*content).to_owned());
    }
    if let Some(error) = members.get("error").and_then(|error| json::read::<Value>(error)) {
        return Execution::Error(ToolError::read(&error));
    }
    match members.get("throw") {
        Some(thrown) => {
            Execution::Threw(json::read::<String>(thrown).unwrap_or_else(|| thrown.get().to_owned()))
        }
        None => Execution::Unsendable("is missing".to_owned()),
    }
}

fn read_answer(answer: &str) -> Option<Answer> {
    let members = json::members(answer)?;
    match members.get("content") {
        Some(content) => Some(Answer::Content((*content).to_owned())),
        None => Some(Answer::Error(ToolError::read(&json::read(members.get("error")?)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_may_answer() {
        assert!(matches!(read_execution(r#"{"content":{"a":1}}"#), Execution::Content(_)));
        assert!(matches!(read_execution(r#"{"content":null}"#), Execution::Content(_)));
        assert!(matches!(read_execution(r#"{"throw":"oh"}"#), Execution::Threw(why) if why == "oh"));
        assert!(matches!(read_execution(r#"{"content":NaN}"#), Execution::Unsendable(_)));
        assert!(matches!(read_execution("{}"), Execution::Unsendable(_)));
        let Execution::Error(error) =
            read_execution(r#"{"error":{"code":"no","message":"m","retryable":true}}"#)
        else {
            panic!()
        };
        assert_eq!((error.code.as_str(), error.retryable), ("NO", Some(true)));
    }
}
