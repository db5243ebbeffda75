//! Plain mode: messages in, answers out.

use std::io::BufRead;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api::Api;
use crate::api::outcome::Failure;
use crate::application::{Application, Execution, News};
use crate::client::Client;
use crate::conversation::{self, Converse, Opening, Status};
use crate::defect::Defects;
use crate::environment::{Environment, Messages};
use crate::harness::link::Link;
use crate::json;
use crate::output::Output;
use crate::tools::{Answer, Call};

/// Says each message in one session, and prints the answers. An error names the first that failed.
pub(crate) async fn talk(environment: &Environment, defects: Defects) -> Result<(), Failure> {
    let output = environment.output.clone();
    let api =
        Api::new(&environment.base_url, &environment.api_key, environment.request_timeout, output, defects)?;
    let client = Client::new(api, environment.state_dir.clone(), environment.idle).map_err(|error| {
        Failure::new("state_unwritable", &format!("the state folder can't be used: {error}"))
    })?;
    let harness = environment.harness_url.as_deref().map(Link::new).transpose()?;
    let app = PlainApp { output: environment.output.clone(), harness };
    let mut opening = Opening::New(json!({ "agent_slug": environment.agent_slug }));
    let mut messages = feed(&environment.messages);
    let (mut count, mut outcome) = (0, Ok(()));
    while let Some(message) = messages.recv().await {
        count += 1;
        let task = format!("plain-{:016x}-{count}", client.nonce());
        let done =
            conversation::converse(&client, &app, &Converse { task, opening: opening.clone(), message })
                .await;
        if let Some(session) = done.session {
            opening = Opening::Session(session);
        }
        if done.status != Status::Completed && outcome.is_ok() {
            let failure =
                done.failure.unwrap_or_else(|| Failure::new("run_not_completed", done.status.as_str()));
            outcome = Err(failure);
        }
    }
    outcome
}

/// The messages as they come. Lines are read by a thread of their own: the standard input can't be waited for.
fn feed(messages: &Messages) -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    match messages {
        Messages::Listed(listed) => {
            for message in listed {
                // The receiver is below.
                let _ = sender.send(message.clone());
            }
        }
        Messages::StandardInput => {
            std::thread::spawn(move || {
                let lines = std::io::stdin().lock().lines().map_while(Result::ok);
                for line in lines.filter(|line| !line.trim().is_empty()) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
    }
    receiver
}

/// An application with two tools of its own, or with those of a harness.
#[derive(Debug)]
struct PlainApp {
    output: Output,
    harness: Option<Link>,
}

impl Application for PlainApp {
    async fn execute(&self, call: &Call) -> Execution {
        match &self.harness {
            Some(link) => crate::harness::execute(link, call).await,
            None => builtin(call),
        }
    }

    /// Nobody is there who could.
    async fn correct(&self, _call: &Call, _content: &RawValue, _details: &Value) -> Answer {
        Answer::error("RESULT_INVALID", "The result doesn't fit the tool's output schema.")
    }

    fn needs_approval(&self, _tool: &str) -> bool {
        false
    }

    async fn approve(&self, _call: &Call) -> bool {
        false
    }

    fn tell(&self, news: News) {
        match news {
            News::Text(text) => self.output.line(&text),
            News::Error(failure) => self.output.error(&failure.to_string()),
            News::Item { name, status, .. } => self.output.error(&format!("{name}: {status}")),
            News::Event(_) => {}
        }
    }
}

/// `echo_tool` of the documentation, and `add_todo` of the demo.
fn builtin(call: &Call) -> Execution {
    let input: Value = json::read(&call.input).unwrap_or_default();
    let content = match call.name.as_str() {
        "echo_tool" => json!({ "echoed": input["message"] }),
        "add_todo" => json!({ "id": call.execution_key, "title": input["title"] }),
        _ => return Execution::Unknown,
    };
    Execution::Content(json::raw(&content))
}
