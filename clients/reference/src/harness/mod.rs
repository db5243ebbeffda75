//! Harness mode: hello, tasks, reports, done.
//!
//! Tasks run side by side, since a cancel comes while what it cancels is going on. What a task needs of a workspace is
//! kept by base URL, key and folder, so that one process can serve scenario after scenario.

mod app;
pub(crate) mod link;
mod reporter;

pub(crate) use app::execute;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::Api;
use crate::api::outcome::Failure;
use crate::application::{Application, News};
use crate::client::Client;
use crate::clock;
use crate::conversation::{self, Converse, Done, Observe, Opening};
use crate::defect::{Defect, Defects};
use crate::environment::Environment;
use crate::registry;
use crate::run::RunId;
use app::HarnessApp;
use link::{Errand, Link};
use reporter::Reporter;

/// How often a harness that can't be asked is asked again before it is taken for gone.
const PATIENCE: u32 = 5;

/// Fetches tasks and carries them out, until it is told to exit or the harness has gone.
pub(crate) async fn serve(environment: &Environment, url: &str, defects: Defects) -> Result<(), Failure> {
    let link = Link::new(url)?;
    link.hello().await?;
    let desk = Arc::new(Desk {
        environment: environment.clone(),
        defects,
        link: link.clone(),
        workspaces: Mutex::default(),
    });
    let mut tasks = JoinSet::new();
    let mut failures = 0;
    loop {
        while tasks.try_join_next().is_some() {}
        match link.task().await {
            Ok(Errand::Task(task)) if task["do"] == "exit" => {
                let done = json!({ "task_id": task["task_id"], "status": "completed" });
                // Whether it hears of that or not, this client is to end.
                let _ = desk.link_of(&task).done(&done).await;
                return Ok(());
            }
            Ok(Errand::Task(task)) => {
                failures = 0;
                let desk = Arc::clone(&desk);
                tasks.spawn(async move { desk.carry_out(&task).await });
            }
            Ok(Errand::None) => failures = 0,
            Err(failure) => {
                failures += 1;
                if failures == PATIENCE {
                    return Err(failure);
                }
                clock::sleep(Duration::from_millis(50) * failures).await;
            }
        }
    }
}

/// What the tasks share.
struct Desk {
    environment: Environment,
    defects: Defects,
    link: Link,
    workspaces: Mutex<HashMap<Place, Arc<Workspace>>>,
}

/// Which workspace, and where it is remembered.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    base_url: String,
    api_key: String,
    folder: Option<PathBuf>,
}

struct Workspace {
    client: Client,
    /// The tools that were registered as needing approval: the server knows nothing of that (C-REG-3).
    gated: Mutex<HashSet<String>>,
}

impl Desk {
    async fn carry_out(&self, task: &Value) {
        let link = self.link_of(task);
        let workspace = match self.workspace(task) {
            Ok(workspace) => workspace,
            Err(failure) => {
                let done = with_task_id(Done::error(None, failure).to_json(), task);
                return self.report_done(&link, &done).await;
            }
        };
        let link = if self.defects.has(Defect::KeyOnEveryCall) {
            link.with_key(workspace.client.api().key())
        } else {
            link
        };
        let reporter = Reporter::new(link.clone(), self.environment.output.clone());
        let app = HarnessApp { link: link.clone(), reporter, gated: workspace.gated(task) };
        let done = match task["do"].as_str().unwrap_or_default() {
            "register" => workspace.register(&app, task).await,
            _ => workspace.perform(&app, task).await.to_json(),
        };
        // What is reported as done is preceded by all that led there.
        app.reporter.flush().await;
        self.report_done(&link, &with_task_id(done, task)).await;
    }

    async fn report_done(&self, link: &Link, done: &Value) {
        if let Err(failure) = link.done(done).await {
            self.environment.output.error(&format!("a task's end could not be reported: {failure}"));
        }
    }

    /// Where the task is reported to.
    fn link_of(&self, task: &Value) -> Link {
        task["harness_url"].as_str().map_or_else(|| self.link.clone(), |url| self.link.at(url))
    }

    /// The workspace that a task names; what it doesn't name is that of the environment.
    fn workspace(&self, task: &Value) -> Result<Arc<Workspace>, Failure> {
        let environment = &self.environment;
        let part =
            |name: &str, default: &String| task[name].as_str().map_or_else(|| default.clone(), str::to_owned);
        let place = Place {
            base_url: part("base_url", &environment.base_url),
            api_key: part("api_key", &environment.api_key),
            folder: task["state_dir"].as_str().map(PathBuf::from).or_else(|| environment.state_dir.clone()),
        };
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = workspaces.get(&place) {
            return Ok(Arc::clone(known));
        }
        let (timeout, output) = (environment.request_timeout, environment.output.clone());
        let api = Api::new(&place.base_url, &place.api_key, timeout, output, self.defects)?;
        let client = Client::new(api, place.folder.clone(), environment.idle).map_err(|error| {
            Failure::new("state_unwritable", &format!("the state folder can't be used: {error}"))
        })?;
        let workspace = Arc::new(Workspace { client, gated: Mutex::default() });
        workspaces.insert(place, Arc::clone(&workspace));
        Ok(workspace)
    }
}

impl Workspace {
    /// The tools that need approval: those that the task names, and those that were registered so.
    fn gated(&self, task: &Value) -> HashSet<String> {
        let mut gated = self.gated.lock().unwrap_or_else(PoisonError::into_inner).clone();
        gated.extend(
            task["approval"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned),
        );
        gated
    }

    /// Carries out a task that ends in a [`Done`].
    async fn perform<A: Application>(&self, app: &A, task: &Value) -> Done {
        let text = |name: &str| task[name].as_str().unwrap_or_default();
        let (session, run) = (text("session_id"), RunId::new(text("run_id")));
        match text("do") {
            "converse" => {
                let converse = Converse {
                    task: text("task_id").to_owned(),
                    opening: opening(task),
                    message: text("message").to_owned(),
                };
                conversation::converse(&self.client, app, &converse).await
            }
            "continue" => conversation::continue_run(&self.client, app, session, &run).await,
            "cancel" => conversation::cancel(&self.client, app, session, &run).await,
            "observe" => {
                let last_event_id = task["last_event_id"].as_str().map(str::to_owned);
                let observe =
                    Observe { session: session.to_owned(), last_event_id, until: task["until"].clone() };
                conversation::observe(&self.client, app, &observe).await
            }
            unknown => {
                let failure = Failure::new("unknown_task", &format!("this client can't {unknown:?}"));
                Done::error(None, failure)
            }
        }
    }

    async fn register<A: Application>(&self, app: &A, task: &Value) -> Value {
        let mut tool = task["tool"].clone();
        if task["approval"] == true || tool["confirmation"] == "always" {
            tool["approval"] = json!(true);
            let name = tool["name"].as_str().unwrap_or_default().to_owned();
            self.gated.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        }
        let slug = task["agent_slug"].as_str().unwrap_or_default();
        match registry::register(self.client.api(), &tool, slug).await {
            Ok(registered) => json!({
                "status": "completed",
                "tool_id": registered.tool_id,
                "definition_id": registered.definition_id,
                "version": registered.version,
                "deployment_id": registered.deployment_id,
            }),
            Err(failure) => {
                app.tell(News::Error(failure.clone()));
                Done::error(None, failure).to_json()
            }
        }
    }
}

fn opening(task: &Value) -> Opening {
    if let Some(session) = task["session_id"].as_str() {
        return Opening::Session(session.to_owned());
    }
    let name = if task["deployment_id"].is_string() { "deployment_id" } else { "agent_slug" };
    Opening::New(json!({ name: task[name] }))
}

fn with_task_id(mut done: Value, task: &Value) -> Value {
    done["task_id"] = task["task_id"].clone();
    done
}
