//! A fake with a scenario, a hub, and a client between them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pantheon_mock::mock::Options;
use pantheon_mock::serve::Server;
use pantheon_reference_client::defect::{Defect, Defects};
use pantheon_reference_client::environment::{Environment, Messages};
use pantheon_reference_client::output::Output;
use pantheon_reference_client::{Exit, run};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::hub::Hub;

/// A tool that returns what it was sent, and an agent that calls it when it is told to.
pub(crate) const ECHO: &str = r#"
scenario: echo
workspace:
  tools:
    - name: echo_tool
      input_schema: { type: object, properties: { message: { type: string } }, required: [message] }
      output_schema: { type: object, properties: { echoed: { type: string } }, required: [echoed], additionalProperties: false }
  agents: [ { slug: demo, tools: [echo_tool] } ]
agent:
  - when: { message_contains: twice }
    do:
      - calls: [ { tool: echo_tool, input: { message: one } }, { tool: echo_tool, input: { message: two } } ]
      - say: ["Both."]
  - when: { message_contains: wrongly }
    do:
      - calls: [ { tool: echo_tool, input: { message: 7 } }, { tool: echo_tool, input: { message: two } } ]
      - say: ["Both."]
  - when: { message_contains: call }
    do:
      - say: ["Let me ", "check."]
      - call: { tool: echo_tool, input: { message: "héllo\u2028" } }
      - say: ["Echoed ", "{{ results.echo_tool.echoed }}"]
  - when: { message_contains: fail }
    do: [ { fail: { code: broken, message: "It broke." } } ]
  - do: [ { say: ["Hel", "lo"] } ]
"#;

pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) hub: Hub,
    pub(crate) key: String,
    pub(crate) printed: Arc<Mutex<Vec<String>>>,
    folder: PathBuf,
    defects: Defects,
    slack: u32,
    http: reqwest::Client,
    clients: JoinSet<Exit>,
}

impl Stage {
    /// With these faults, written as YAML.
    pub(crate) async fn new(faults: &str) -> Self {
        Self::with(faults, Defects::NONE).await
    }

    pub(crate) async fn with(faults: &str, defects: impl Into<Defects>) -> Self {
        let scenario =
            if faults.is_empty() { ECHO.to_owned() } else { format!("{ECHO}\nfaults:\n{faults}\n") };
        Self::scripted(&scenario, defects, 1).await
    }

    /// With this scenario, and a client that waits so many times longer than others before it gives up on something.
    pub(crate) async fn scripted(scenario: &str, defects: impl Into<Defects>, slack: u32) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server::start(listener, Options::default(), 1000).unwrap();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("pantheon-reference-{}-{number}", std::process::id()));
        let mut stage = Self {
            server,
            hub: Hub::start().await,
            key: "pk_secret_of_this_test".to_owned(),
            printed: Arc::default(),
            folder,
            defects: defects.into(),
            slack,
            http: reqwest::Client::new(),
            clients: JoinSet::new(),
        };
        let request = stage.http.put(format!("{}/__mock/scenario", stage.server.url)).bearer_auth(&stage.key);
        let answer = request.body(scenario.to_owned()).send().await.unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{}", answer.text().await.unwrap());
        stage.start_client();
        stage
    }

    pub(crate) fn environment(&self) -> Environment {
        let printed = Arc::clone(&self.printed);
        Environment {
            base_url: self.server.url.clone(),
            api_key: self.key.clone(),
            agent_slug: "demo".to_owned(),
            messages: Messages::Listed(Vec::new()),
            harness_url: Some(self.hub.url.clone()),
            state_dir: Some(self.folder.clone()),
            idle: Duration::from_millis(500) * self.slack,
            request_timeout: Duration::from_millis(700) * self.slack,
            plain: false,
            output: Output::new(move |_, line| printed.lock().unwrap().push(line.to_owned())),
        }
    }

    pub(crate) fn start_client(&mut self) {
        self.clients.spawn(run(self.environment(), self.defects));
    }

    /// Ends the client where it stands.
    pub(crate) async fn kill_client(&mut self) {
        self.clients.shutdown().await;
    }

    pub(crate) async fn exit(&mut self) -> Exit {
        self.clients.join_next().await.unwrap().unwrap()
    }

    /// Gives a task under that id.
    pub(crate) fn give(&self, id: &str, mut task: Value) {
        task["task_id"] = json!(id);
        self.hub.give(task);
    }

    /// Says something, and waits for the end.
    pub(crate) async fn say(&self, message: &str) -> Value {
        self.give("say", json!({ "do": "converse", "agent_slug": "demo", "message": message }));
        self.hub.done("say").await
    }

    pub(crate) async fn api(&self, method: &str, path: &str, body: Value) -> Value {
        let method = method.parse().unwrap();
        let request = self.http.request(method, format!("{}{path}", self.server.url)).bearer_auth(&self.key);
        let request = if body.is_null() { request } else { request.json(&body) };
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Nothing that the fake takes for a client's offence, by its own judgement.
    pub(crate) async fn is_blameless(&self) {
        let verdict = self.api("GET", "/__mock/verdict", Value::Null).await;
        assert_eq!(verdict["verdict"], "pass", "{verdict:#}");
    }

    /// What the fake has journaled of that route.
    pub(crate) async fn requests(&self, route: &str) -> Vec<Value> {
        let journal =
            self.api("GET", "/__mock/journal?kind=request,stream_open&limit=1000", Value::Null).await;
        let entries = journal["entries"].as_array().unwrap().iter();
        entries.filter(|entry| entry["route"] == route).cloned().collect()
    }

    /// The values of a header of the requests of that route.
    pub(crate) async fn headers(&self, route: &str, name: &str) -> Vec<String> {
        let requests = self.requests(route).await;
        requests.iter().map(|entry| entry["headers"][name].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// How a conversation goes with a mistake: the end of the task, and the stage to look at.
pub(crate) async fn conversation(faults: &str, defect: Defect, message: &str) -> (Value, Stage) {
    let stage = Stage::with(faults, defect).await;
    let done = stage.say(message).await;
    (done, stage)
}
