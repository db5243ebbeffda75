//! Requests of a client whose time is the workspace's: where it would wait, the clock moves on instead.

use std::future::Future;
use std::pin::pin;

use bytes::Bytes;
use reqwest::redirect::Policy;
use reqwest::{Method, Response};
use serde_json::Value;

use crate::support::{Answer, Api};

/// How often the clock moves on before a silence is a dead connection.
const MOVES: usize = 8;

/// How often a request may get on by itself before the clock moves.
const LOOKS: usize = 200;

/// A client's way to the mock: a connection for each request, and no redirect followed unasked.
pub struct Connection {
    pub api: Api,
    http: reqwest::Client,
    /// How far the clock moves at a time.
    step: String,
    /// How often it moves before an answer that doesn't come is a lost one.
    moves: usize,
}

impl Connection {
    pub fn new(api: &Api, step: &str, is_hasty: bool) -> Self {
        let moves = if is_hasty { 0 } else { MOVES };
        let http = reqwest::Client::builder().redirect(Policy::none()).pool_max_idle_per_host(0);
        Self { api: api.clone(), http: http.build().unwrap(), step: step.to_owned(), moves }
    }

    /// What comes of a POST; nothing where the answer is lost, or keeps the client waiting for too long.
    pub async fn post(&self, path: &str, key: &str, body: &Value) -> Option<Answer> {
        let request = self.request(Method::POST, &format!("{}{path}", self.api.url));
        let request = request.header("Idempotency-Key", key).json(body);
        let exchange = async {
            let response = request.send().await.ok()?;
            let (status, headers) = (response.status(), response.headers().clone());
            let bytes = response.bytes().await.ok()?;
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            Some(Answer { status, headers, body })
        };
        self.patiently(self.moves, exchange).await?
    }

    /// The head of the answer to a GET.
    pub async fn open(&self, url: &str, cursor: Option<&str>) -> Option<Response> {
        let mut request = self.request(Method::GET, url).header("Accept", "text/event-stream");
        if let Some(cursor) = cursor {
            request = request.header("Last-Event-ID", cursor);
        }
        self.patiently(MOVES, request.send()).await?.ok()
    }

    /// The next bytes of a stream: nothing at its end, however that comes, and when it is dead.
    pub async fn next(&self, response: &mut Response) -> Option<Bytes> {
        self.patiently(MOVES, response.chunk()).await?.ok()?
    }

    /// Waits as an answer asks (C-HTTP-1), or for a moment.
    pub async fn wait_for(&self, answer: &reqwest::header::HeaderMap) {
        let text = |name: &str| answer.get(name).and_then(|value| value.to_str().ok());
        let date = || Some(seconds_of_day(text("retry-after")?)? - seconds_of_day(text("date")?)?);
        let asked = text("retry-after").and_then(|value| value.parse().ok()).or_else(date);
        match asked.filter(|seconds| *seconds >= 0) {
            Some(seconds) => drop(self.api.advance(&format!("{seconds}s")).await),
            None => self.moment().await,
        }
    }

    /// A moment passes.
    pub async fn moment(&self) {
        self.api.advance(&self.step).await;
    }

    fn request(&self, method: Method, url: &str) -> reqwest::RequestBuilder {
        self.http.request(method, url).bearer_auth(&self.api.key)
    }

    /// What `future` comes to, while time passes; nothing if it comes to nothing.
    async fn patiently<T>(&self, moves: usize, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        for nth in 0..=moves {
            if nth > 0 {
                self.moment().await;
            }
            for _ in 0..LOOKS {
                tokio::select! {
                    biased;
                    done = &mut future => return Some(done),
                    () = tokio::task::yield_now() => {}
                }
            }
        }
        None
    }
}

/// The seconds of the day that an HTTP date shows; the plays of no file go past midnight.
fn seconds_of_day(date: &str) -> Option<i64> {
    let mut parts = date.split(' ').nth(4)?.split(':').map(|part| part.parse::<i64>().ok());
    Some(parts.next()?? * 3600 + parts.next()?? * 60 + parts.next()??)
}
