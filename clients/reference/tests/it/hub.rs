//! A stand-in for a harness: hands out tasks, is the tools and the people, and keeps what it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Answers a call of `/tool` or `/correct`.
pub(crate) type Answering = fn(&Value) -> Value;

/// The hub.
pub(crate) struct Hub {
    pub(crate) url: String,
    inner: Arc<Inner>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Inner {
    seen: Mutex<Seen>,
    changed: Notify,
    answering: Mutex<Option<Answering>>,
    /// Whether tools and people are to wait.
    held: Mutex<bool>,
}

/// What has been said so far.
#[derive(Default, Clone)]
pub(crate) struct Seen {
    tasks: VecDeque<Value>,
    pub(crate) hello: Vec<Value>,
    pub(crate) tools: Vec<Value>,
    pub(crate) corrections: Vec<Value>,
    /// What people were asked.
    pub(crate) questions: Vec<Value>,
    /// What they will answer, in turn.
    decisions: VecDeque<bool>,
    pub(crate) reports: Vec<Value>,
    pub(crate) done: Vec<Value>,
}

impl Hub {
    pub(crate) async fn start() -> Self {
        let inner = Arc::new(Inner::default());
        let router = Router::new()
            .route("/s/hello", post(hello))
            .route("/s/task", get(task))
            .route("/s/tool", post(tool))
            .route("/s/correct", post(correct))
            .route("/s/approve", post(approve))
            .route("/s/report", post(report))
            .route("/s/done", post(done))
            .with_state(Arc::clone(&inner));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/s", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, inner, _server: server }
    }

    /// Lets tools answer so.
    pub(crate) fn answer_with(&self, answering: Answering) {
        *self.inner.answering.lock().unwrap() = Some(answering);
    }

    /// Lets tools wait, or go on.
    pub(crate) fn hold(&self, held: bool) {
        *self.inner.held.lock().unwrap() = held;
        self.inner.changed.notify_waiters();
    }

    /// Lets the next question be answered so.
    pub(crate) fn decide(&self, yes: bool) {
        self.inner.change(|seen| seen.decisions.push_back(yes));
    }

    /// Hands out a task.
    pub(crate) fn give(&self, task: Value) {
        self.inner.change(|seen| seen.tasks.push_back(task));
    }

    pub(crate) fn seen(&self) -> Seen {
        self.inner.seen.lock().unwrap().clone()
    }

    /// Waits until what was said is enough.
    pub(crate) async fn until(&self, what: &str, is_enough: impl Fn(&Seen) -> bool) -> Seen {
        let waiting = self.inner.until(|seen| is_enough(seen).then(|| seen.clone()));
        match tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await {
            Ok(seen) => seen,
            Err(_) => {
                panic!("{what} didn't happen; done: {:?}, tools: {:?}", self.seen().done, self.seen().tools)
            }
        }
    }

    /// Waits for the end of a task.
    pub(crate) async fn done(&self, task: &str) -> Value {
        let is_it = |done: &&Value| done["task_id"] == task;
        let seen =
            self.until(&format!("the end of {task}"), |seen| seen.done.iter().any(|done| is_it(&done))).await;
        seen.done.iter().find(is_it).unwrap().clone()
    }
}

impl Seen {
    /// The reported things of a kind.
    pub(crate) fn reported(&self, kind: &str) -> Vec<&Value> {
        self.reports.iter().filter(|item| item["kind"] == kind).collect()
    }

    /// The types of the reported events.
    pub(crate) fn event_types(&self) -> Vec<&str> {
        self.reported("event").iter().map(|event| event["type"].as_str().unwrap()).collect()
    }
}

impl Inner {
    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let changed = change(&mut self.seen.lock().unwrap());
        self.changed.notify_waiters();
        changed
    }

    async fn until<T>(&self, find: impl Fn(&mut Seen) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = find(&mut self.seen.lock().unwrap()) {
                return found;
            }
            changed.await;
        }
    }

    async fn answer(&self, body: &Value) -> Value {
        self.until(|_| (!*self.held.lock().unwrap()).then_some(())).await;
        let answering = *self.answering.lock().unwrap();
        answering.map_or_else(
            || json!({ "content": { "echoed": body["input"]["message"] } }),
            |answer| answer(body),
        )
    }
}

async fn hello(State(inner): State<Arc<Inner>>, body: String) -> String {
    inner.change(|seen| seen.hello.push(read(&body)));
    json!({ "protocol": 1, "scenario": "test" }).to_string()
}

async fn task(State(inner): State<Arc<Inner>>) -> String {
    inner.until(|seen| seen.tasks.pop_front()).await.to_string()
}

async fn tool(State(inner): State<Arc<Inner>>, body: String) -> String {
    let body = read(&body);
    inner.change(|seen| seen.tools.push(body.clone()));
    inner.answer(&body).await.to_string()
}

async fn correct(State(inner): State<Arc<Inner>>, body: String) -> String {
    let body = read(&body);
    inner.change(|seen| seen.corrections.push(body.clone()));
    inner.answer(&body).await.to_string()
}

async fn approve(State(inner): State<Arc<Inner>>, body: String) -> String {
    inner.change(|seen| seen.questions.push(read(&body)));
    let approved = inner.until(|seen| seen.decisions.pop_front()).await;
    json!({ "approved": approved }).to_string()
}

async fn report(State(inner): State<Arc<Inner>>, body: String) -> StatusCode {
    let items = read(&body)["items"].as_array().unwrap().clone();
    inner.change(|seen| seen.reports.extend(items));
    StatusCode::NO_CONTENT
}

async fn done(State(inner): State<Arc<Inner>>, body: String) -> StatusCode {
    inner.change(|seen| seen.done.push(read(&body)));
    StatusCode::NO_CONTENT
}

fn read(body: &str) -> Value {
    serde_json::from_str(body).unwrap()
}
