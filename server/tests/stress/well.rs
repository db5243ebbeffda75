//! Whether a server is well: it says so, and it holds a whole conversation.

use serde_json::json;

use crate::soon::soon;
use crate::support::{Api, fresh_key, result_body, text};

/// A server that answers its health check and carries a fresh caller from the first message to the end.
pub async fn is_well(url: &str) {
    soon("a normal conversation", converse(&Api::new(url, &fresh_key()))).await;
}

async fn converse(api: &Api) {
    assert_eq!(text(&api.get("/__mock/health").await.expect(200), "/status"), "ok");
    let call = Waiting::in_a_new_session(api).await;
    let mut stream = api.stream(&call.session, None, true).await;
    stream.until("session.status_idle").await;
    assert_eq!(text(&call.resume(api, "key-12345678").await.expect(202), "/status"), "running");
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().event(), Some("run.completed"));
    assert_eq!(api.events(&call.session).await.last().unwrap(), &rest.last().unwrap().data());
}

/// A run that waits for the result of its one call.
pub struct Waiting {
    pub session: String,
    pub run: String,
    /// The id of its `agent.custom_tool_use`.
    pub event: String,
}

impl Waiting {
    /// In a session of its own, of the demo agent.
    pub async fn in_a_new_session(api: &Api) -> Self {
        let session = api.session("todo-assistant").await;
        let mut stream = api.stream(&session, None, false).await;
        let run = api.run(&session, "add_todo with milk").await;
        let call = stream.until("agent.custom_tool_use").await;
        let event = call.id().unwrap().to_owned();
        // The server has noticed that the stream has gone, so that no keep-alive of it is in anyone's way.
        drop(stream);
        let is_open = |state: &serde_json::Value| {
            state["streams"].as_array().unwrap().iter().any(|stream| stream["session_id"] == *session)
        };
        while is_open(&api.get("/__mock/state").await.expect(200)) {}
        Self { session, run, event }
    }

    pub fn path(&self) -> String {
        format!("/v1/sessions/{}/runs/{}", self.session, self.run)
    }

    /// Answers the call with a good result.
    pub async fn resume(&self, api: &Api, key: &str) -> crate::support::Answer {
        let body = result_body(&self.event, json!({ "id": "1", "title": "milk" }));
        api.post_keyed(&format!("{}/resume", self.path()), key, body).await
    }

    pub async fn cancel(&self, api: &Api) -> crate::support::Answer {
        let path = format!("{}/cancel", self.path());
        Api::send(api.request(reqwest::Method::POST, &path)).await
    }
}
