//! The shortest whole conversation.

use serde_json::json;

use crate::support::{Fake, result_body, text};

#[tokio::test]
async fn a_conversation_from_the_first_message_to_the_end() {
    let fake = Fake::start().await;
    let api = &fake.api;
    let session = api.session("todo-assistant").await;
    let run = api.run(&session, "add_todo with milk").await;
    let mut stream = api.stream(&session, None, true).await;
    let call = stream.until("agent.custom_tool_use").await;
    assert_eq!(call.data()["content"]["input"], json!({ "title": "milk" }));
    stream.until("session.status_idle").await;
    let path = format!("/v1/sessions/{session}/runs/{run}/resume");
    let body = result_body(call.id().unwrap(), json!({ "id": "1", "title": "milk" }));
    assert_eq!(text(&api.post_keyed(&path, "key-1234", body).await.expect(202), "/status"), "running");
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().event(), Some("run.completed"));
    let durable: Vec<_> = api.events(&session).await;
    assert_eq!(durable.last().unwrap(), &rest.last().unwrap().data());
}
