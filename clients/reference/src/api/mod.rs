//! Requests to Pantheon: one try each, and what its answer means.
//!
//! [`Api::send`] makes one try. Whether to try again is for the caller, who asks [`retry::Tries`] when. The key goes to
//! the configured origin alone: redirects are not followed (C-SEC-1).

pub mod code;
pub mod outcome;
mod pages;
pub mod retry;
pub mod retry_after;
mod routes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use serde_json::Value;

use crate::defect::{Defect, Defects};
use crate::output::Output;
use outcome::{Answer, Failure, Judgement};
use retry::Tries;
pub(crate) use routes::stream_path;

/// A caller of one Pantheon, with one key.
#[derive(Clone)]
pub struct Api {
    base: Arc<str>,
    key: Arc<str>,
    client: reqwest::Client,
    /// When an answer is given up.
    pub timeout: Duration,
    output: Output,
    /// The mistakes that it makes.
    pub defects: Defects,
}

/// A key is never shown (C-SEC-2).
impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("base", &self.base)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A request, which can be sent again as it is.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Its path and query, from `/v1`.
    pub path: String,
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
    /// Its body, JSON that is sent byte for byte.
    pub body: Option<String>,
}

impl Request {
    /// Without a body.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), key: None, body: None }
    }

    /// With a body.
    #[must_use]
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Self { method: Method::POST, body: Some(body.to_string()), ..Self::get(path) }
    }
}

impl Api {
    /// A caller of `base`, such as `http://127.0.0.1:8000`.
    ///
    /// # Errors
    /// When the key can be no header.
    pub fn new(
        base: &str,
        key: &str,
        timeout: Duration,
        output: Output,
        defects: Defects,
    ) -> Result<Self, Failure> {
        if HeaderValue::from_str(&format!("Bearer {key}")).is_err() {
            return Err(Failure::new(
                "invalid_api_key",
                "the API key holds characters that no header can hold",
            ));
        }
        let client = http_client()?;
        Ok(Self {
            base: base.trim_end_matches('/').into(),
            key: key.into(),
            client,
            timeout,
            output,
            defects,
        })
    }

    /// The key; only a deliberate mistake has a use for it.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Sends a request once, and reads its whole answer within the time-out.
    pub async fn send(&self, request: &Request) -> Answer {
        if self.defects.has(Defect::NoRequestTimeout) && request.path.ends_with("/resume") {
            return self.exchange(request).await;
        }
        match tokio::time::timeout(self.timeout, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Answer::Lost(format!("no answer within {} ms", self.timeout.as_millis())),
        }
    }

    /// Sends a request until it is answered for good, or the tries are used up.
    ///
    /// # Errors
    /// When it is refused, or its answers are lost each time.
    pub async fn call(&self, request: &Request, mut tries: Tries) -> Result<Value, Failure> {
        loop {
            match self.send(request).await.judge(self.defects) {
                Judgement::Accepted(body) => return Ok(body),
                Judgement::Refused(failure) => return Err(failure),
                Judgement::Again { after, failure, .. } => tries.wait(after, failure).await?,
            }
        }
    }

    /// Opens an event stream: sends the request and waits for its headers within the time-out.
    pub(crate) async fn open(&self, path: &str, cursor: Option<&str>) -> Result<reqwest::Response, Answer> {
        let mut headers = HeaderMap::new();
        headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(cursor) = cursor.and_then(|cursor| HeaderValue::from_str(cursor).ok()) {
            headers.insert("Last-Event-ID", cursor);
        }
        let request = self.client.get(format!("{}{path}", self.base)).headers(headers);
        let opening = self.follow(self.authorized(request).send());
        match tokio::time::timeout(self.timeout, opening).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(Answer::Lost(self.describe(&error))),
            Err(_) => Err(Answer::Lost(format!("no headers within {} ms", self.timeout.as_millis()))),
        }
    }

    async fn exchange(&self, request: &Request) -> Answer {
        let response = match self.follow(self.builder(request).send()).await {
            Ok(response) => response,
            Err(error) => return Answer::Lost(self.describe(&error)),
        };
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        match response.bytes().await {
            Ok(body) => Answer::Came { status, headers, body },
            // Half an answer is none.
            Err(error) => Answer::Lost(self.describe(&error)),
        }
    }

    fn builder(&self, request: &Request) -> reqwest::RequestBuilder {
        let mut builder =
            self.client.request(request.method.clone(), format!("{}{}", self.base, request.path));
        if let Some(key) = &request.key {
            builder = builder.header("Idempotency-Key", key);
        }
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(Bytes::from(body.clone()));
        }
        self.authorized(builder)
    }

    fn authorized(&self, builder: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        builder.header(AUTHORIZATION, format!("Bearer {}", self.key))
    }

    /// What went wrong, from the outermost cause to the innermost; the URL in it holds no secret.
    fn describe(&self, error: &reqwest::Error) -> String {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        if self.defects.has(Defect::PrintsKeyOnError) {
            self.output
                .error(&format!("request failed: {text}; headers: authorization: Bearer {}", self.key));
        }
        text
    }

    /// Waits for an answer, which a deliberate mistake follows wherever it leads.
    async fn follow(
        &self,
        sending: impl Future<Output = reqwest::Result<reqwest::Response>>,
    ) -> reqwest::Result<reqwest::Response> {
        let response = sending.await?;
        let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
        match target {
            Some(target) if self.defects.has(Defect::FollowsRedirectsWithKey) => {
                self.authorized(self.client.get(target)).send().await
            }
            Some(_) | None => Ok(response),
        }
    }
}

/// A client that follows no redirect, keeps to no proxy of the environment, and has no time-out of its own.
pub(crate) fn http_client() -> Result<reqwest::Client, Failure> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| Failure::new("no_http_client", &error.to_string()))
}
