//! Plain mode, and clients of no use.

use pantheon_reference_client::defect::Defects;
use pantheon_reference_client::environment::{Environment, Messages};
use pantheon_reference_client::useless::Useless;
use pantheon_reference_client::{Exit, run};
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn plain_messages_are_answered_in_one_session() {
    let stage = Stage::new("").await;
    let messages = Messages::Listed(vec!["hello".to_owned(), "call".to_owned()]);
    for harness_url in [None, Some(stage.hub.url.clone())] {
        let has_harness = harness_url.is_some();
        let environment = Environment {
            plain: true,
            state_dir: None,
            harness_url,
            messages: messages.clone(),
            ..stage.environment()
        };
        assert_eq!(run(environment, Defects::NONE).await, Exit::Done);
        let printed = std::mem::take(&mut *stage.printed.lock().unwrap());
        assert!(
            printed.contains(&"Hello".to_owned()) && printed.contains(&"Echoed héllo\u{2028}".to_owned()),
            "{printed:?}"
        );
        assert_eq!(stage.hub.seen().tools.len(), usize::from(has_harness));
    }
    assert_eq!(stage.requests("sessions.create").await.len(), 2);
}

#[tokio::test]
async fn useless_clients_do_nothing() {
    let mut stage = Stage::new("").await;
    stage.kill_client().await;
    Useless::Exits.run(&stage.environment()).await;
    stage.give("say", json!({ "do": "converse", "agent_slug": "demo", "message": "call" }));
    stage.give("end", json!({ "do": "exit" }));
    Useless::AcknowledgesAll.run(&stage.environment()).await;
    assert_eq!(stage.hub.done("say").await["status"], "completed");
    assert_eq!(stage.requests("runs.create").await.len(), 0);
}
