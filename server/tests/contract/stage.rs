//! A workspace with one of everything. What is on it stands in texts as `{session}` or `{run}`.

use std::collections::BTreeMap;
use std::time::Duration;

use pantheon_core::turn::{Call, Step, Turn, When};
use pantheon_mock::clock::Mode;
use pantheon_mock::mock::Options;
use serde_json::{Value, json};

use crate::support::{Api, Fake, fresh_key, text};

/// A fake and the names of what is in the caller's workspace.
///
/// | name | stands for |
/// |---|---|
/// | `tool`, `definition` | `echo_tool`, as the seed registers it |
/// | `agent`, `deployment` | the agent `demo`, deployed with `echo_tool` and `add_todo` |
/// | `session` | a session of `demo` without a run |
/// | `waiting`, `run`, `event` | one whose run waits for the result of `echo_tool` |
/// | `archived` | one that is archived |
/// | `foreign_…` | the same things in another workspace |
pub struct Stage {
    pub fake: Fake,
    names: BTreeMap<String, String>,
}

/// A run that waits.
#[derive(Debug, Clone)]
pub struct Paused {
    pub session: String,
    pub run: String,
    /// The ids of its questions, in order.
    pub events: Vec<String>,
}

impl Paused {
    pub fn path(&self, action: &str) -> String {
        format!("/v1/sessions/{}/runs/{}/{action}", self.session, self.run)
    }
}

/// A clock that stands still, and runs that begin with a stream only: nothing happens by itself.
pub fn still() -> Options {
    let mut options = Options::default();
    options.defaults.clock = Mode::Virtual;
    options.defaults.start_after = Duration::from_secs(3600);
    options
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(still()).await
    }

    pub async fn with(options: Options) -> Self {
        let fake = Fake::with(options).await;
        let (foreign, names) = (fake.stranger(), BTreeMap::new());
        let mut stage = Self { fake, names };
        for (caller, prefix) in [(stage.fake.api.clone(), ""), (foreign, "foreign_")] {
            for (name, id) in furnish(&caller).await {
                stage.names.insert(format!("{prefix}{name}"), id);
            }
        }
        stage.fake.play([turn("both", [call_both()])]);
        stage
    }

    pub fn api(&self) -> &Api {
        &self.fake.api
    }

    /// The id that `name` stands for.
    #[track_caller]
    pub fn id(&self, name: &str) -> &str {
        self.names.get(name).unwrap_or_else(|| panic!("nothing on the stage is called {name}"))
    }

    /// `text` with every `{name}` replaced by its id, and `{dashed:run}` by the dashed form in upper case.
    pub fn fill(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, id)| {
            text.replace(&format!("{{{name}}}"), id)
                .replace(&format!("{{dashed:{name}}}"), &pantheon_core::id::dashed(id).to_uppercase())
        })
    }

    /// The run that has waited since the beginning.
    pub fn waiting(&self) -> Paused {
        let [session, run, event] = ["waiting", "run", "event"].map(|name| self.id(name).to_owned());
        Paused { session, run, events: vec![event] }
    }

    /// A new session of `demo`, whose run waits for two results: of `echo_tool`, then of `add_todo`.
    pub async fn two_questions(&self) -> Paused {
        paused(self.api(), "demo", "both").await
    }

    /// A new session of `demo`, whose run waits for the result of `echo_tool`.
    pub async fn one_question(&self) -> Paused {
        paused(self.api(), "demo", "echo_tool hello").await
    }
}

/// A new session of that agent, in which `message` makes a run that waits.
pub async fn paused(api: &Api, slug: &str, message: &str) -> Paused {
    let session = api.session(slug).await;
    // The run begins within its request, since a stream of its session is open.
    let stream = api.stream(&session, None, false).await;
    let run = api.run(&session, message).await;
    let state = api.run_state(&session, &run).await;
    assert_eq!(state["status"], "waiting", "{state}");
    drop(stream);
    let events = state["required_event_ids"].as_array().unwrap();
    Paused { session, run, events: events.iter().map(|id| id.as_str().unwrap().to_owned()).collect() }
}

/// `echo_tool`, as the seed has it.
pub fn echo_tool() -> Value {
    json!({
        "name": "echo_tool",
        "display_name": "Echo tool",
        "input_schema": {
            "type": "object",
            "properties": { "message": { "type": "string" } },
            "required": ["message"],
            "additionalProperties": false,
        },
        "output_schema": {
            "type": "object",
            "properties": { "echoed": { "type": "string" } },
            "required": ["echoed"],
            "additionalProperties": false,
        },
    })
}

/// The result that the seed sends for `echo_tool`.
pub fn echoed() -> Value {
    json!({ "echoed": "hello" })
}

/// A result for each of [`Stage::two_questions`], as the events of a resume.
pub fn both_results(paused: &Paused) -> [Value; 2] {
    let result = |event: &str, content: Value| json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": event, "content": content });
    [result(&paused.events[0], echoed()), result(&paused.events[1], json!({ "id": "1", "title": "milk" }))]
}

/// A turn for messages that hold `message`; an empty one is for all.
pub fn turn(message: &str, steps: impl IntoIterator<Item = Step>) -> Turn {
    let when = When { message_contains: Some(message.to_owned()), nth_run: None };
    Turn { when, steps: steps.into_iter().collect() }
}

pub fn say(texts: &[&str]) -> Step {
    Step::Say(texts.iter().map(|&text| text.to_owned()).collect())
}

pub fn call(tool: &str, input: Value) -> Call {
    Call { tool: tool.to_owned(), input, tool_call_id: None, execution_idempotency_key: None }
}

pub fn call_both() -> Step {
    Step::Call(vec![
        call("echo_tool", json!({ "message": "hello" })),
        call("add_todo", json!({ "title": "milk" })),
    ])
}

async fn furnish(api: &Api) -> Vec<(&'static str, String)> {
    let add_todo =
        &api.get("/v1/tools?name=add_todo").await.expect(200)["data"][0]["latest_definition"]["id"];
    let tool = api.post("/v1/tools", echo_tool()).await.expect(201);
    let definition = text(&tool, "/latest_definition/id");
    let agent = api.post("/v1/agents", json!({ "name": "Demo", "slug": "demo" })).await.expect(201);
    let deployment = json!({ "agent_id": agent["id"], "tool_definition_ids": [definition, add_todo] });
    let deployment = api.post("/v1/deployments", deployment).await.expect(201);
    let paused = paused(api, "demo", "echo_tool hello").await;
    let archived = api.session("demo").await;
    api.post(&format!("/v1/sessions/{archived}/archive"), json!({})).await.expect(200);
    vec![
        ("tool", text(&tool, "/id")),
        ("definition", definition),
        ("agent", text(&agent, "/id")),
        ("deployment", text(&deployment, "/id")),
        ("session", api.session("demo").await),
        ("event", paused.events[0].clone()),
        ("waiting", paused.session),
        ("run", paused.run),
        ("archived", archived),
    ]
}

/// A new tool with that output schema, deployed with an agent of its own; the slug.
pub async fn deployed(api: &Api, output_schema: &Value) -> String {
    let name = fresh_key();
    let mut tool = echo_tool();
    tool["name"] = name.as_str().into();
    tool["output_schema"] = output_schema.clone();
    let tool = api.post("/v1/tools", tool).await.expect(201);
    let agent = api.post("/v1/agents", json!({ "name": name, "slug": name })).await.expect(201);
    let definition = &tool["latest_definition"]["id"];
    let deployment = json!({ "agent_id": agent["id"], "tool_definition_ids": [definition] });
    api.post("/v1/deployments", deployment).await.expect(201);
    name
}
