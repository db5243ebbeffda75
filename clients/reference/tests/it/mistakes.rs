//! A few mistakes, shown to be made.

use pantheon_reference_client::defect::Defect;
use serde_json::{Value, json};

use crate::stage::{Stage, conversation};

const DROP: &str = "  - { at: { event: '*', until: 3 }, do: { close: fin } }";
const LOST: &str = "  - { at: { request: runs.resume, nth: 1, phase: after_commit }, do: { close: rst } }\n  - { at: { event: session.status_running, when: before }, do: { stall: 300ms } }";

#[tokio::test]
async fn cursors() {
    let cursors = |defect| async move {
        let (_, stage) = conversation(DROP, defect, "hello").await;
        stage.headers("events.stream", "last-event-id").await
    };
    assert!(cursors(Defect::NoCursorOnReconnect).await.iter().all(String::is_empty));
    let first = cursors(Defect::FirstCursorForEver).await;
    assert_eq!(first[1], first[2]);
    assert_eq!(cursors(Defect::CursorBeforeFirstId).await[0], "0");
}

#[tokio::test]
async fn lost_connections() {
    for defect in [Defect::NeverReconnects, Defect::EndOfStreamEndsRun] {
        let (done, stage) = conversation(DROP, defect, "hello").await;
        assert_ne!(done["text"], "Hello", "{}", defect.name());
        assert_eq!(stage.requests("events.stream").await.len(), 1);
    }
    let resync = "  - { at: { event: run.started }, do: { resync: true } }";
    let (done, _) = conversation(resync, Defect::ResyncIsFatal, "hello").await;
    assert_eq!(done["error"]["code"], "resync");
}

#[tokio::test]
async fn lost_answers() {
    let keys = |defect| async move {
        let (done, stage) = conversation(LOST, defect, "call").await;
        (done, stage.headers("runs.resume", "idempotency-key").await, stage.hub.seen().tools.len())
    };
    let (_, sent, _) = keys(Defect::NewKeyPerTry).await;
    assert_ne!(sent[0], sent[1]);
    let (done, sent, _) = keys(Defect::GivesUpAfterLostAnswer).await;
    assert_eq!((&done["status"], sent.len()), (&json!("completed"), 1));
    assert_eq!(keys(Defect::ExecutesOnResumeRetry).await.2, 2);
}

#[tokio::test]
async fn texts() {
    for (defect, text) in
        [(Defect::TextFromDeltasAndMessage, "HelloHello"), (Defect::TextFromDeltas, "Hello")]
    {
        assert_eq!(conversation("", defect, "hello").await.0["text"], text, "{}", defect.name());
    }
    let (done, _) = conversation("", Defect::FirstMessageOnly, "call").await;
    assert_eq!(done["text"], "Let me check.");
}

#[tokio::test]
async fn calls() {
    let (_, stage) = conversation("", Defect::RepliesToToolCall, "call").await;
    assert_eq!(stage.requests("runs.resume").await[0]["status"], 400);
    let (_, stage) = conversation("", Defect::InputUnchecked, "wrongly").await;
    assert_eq!(stage.hub.seen().tools.len(), 2);
    let (done, stage) = conversation("", Defect::FirstCallOnly, "twice").await;
    assert_eq!((&done["status"], stage.hub.seen().tools.len()), (&json!("error"), 1));
    let repeated = "  - { at: { event: session.status_idle }, do: { insert: { raw: 'id: x\\nevent: session.status_idle\\ndata: {}\\n\\n' } } }";
    let (done, _) = conversation(repeated, Defect::TrimsText, "call").await;
    assert_eq!(done["text"], "Echoed héllo");
}

#[tokio::test]
async fn printing() {
    for (defect, faults) in [
        (Defect::PrintsKey, ""),
        (Defect::PrintsKeyOnError, "  - { at: { request: runs.create, nth: 1 }, do: { close: rst } }"),
    ] {
        let (done, stage) = conversation(faults, defect, "hello").await;
        assert_eq!(done["status"], "completed");
        assert!(
            stage.printed.lock().unwrap().iter().any(|line| line.contains(&stage.key)),
            "{}",
            defect.name()
        );
    }
}

/// Every mistake ends a plain conversation with a call in evidence of some kind, not in a hang.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_mistake_hangs() {
    let mut stages = tokio::task::JoinSet::new();
    let mut ended: Vec<Value> = Vec::new();
    for defect in Defect::ALL {
        if stages.len() == 16 {
            ended.push(stages.join_next().await.unwrap().unwrap());
        }
        stages.spawn(async move {
            let stage = Stage::with("", *defect).await;
            let task = json!({ "do": "converse", "agent_slug": "demo", "message": "call", "approval": [] });
            stage.give("say", task);
            let done = tokio::time::timeout(std::time::Duration::from_secs(15), stage.hub.done("say")).await;
            done.unwrap_or_else(|_| panic!("{} hangs", defect.name()))
        });
    }
    ended.extend(stages.join_all().await);
    assert_eq!(ended.len(), Defect::ALL.len());
}
