//! The files of `scenarios/` that show faults: each plays, and each of its faults fires.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Api, message_body, result_body};
use crate::wire::{Raw, fake, open};

/// A client that does what it can, and never asks why: it starts, reads, resumes and reads again, each a few times.
async fn play(api: &Api) {
    let session = api.session("demo").await;
    let runs = format!("/v1/sessions/{session}/runs");
    for _ in 0..3 {
        let body = message_body("hello").to_string();
        Raw::send(api, "POST", &runs, "idempotency-key: start-1234\r\n", &body).await.rest().await;
    }
    let run = api.get(&runs).await.expect(200)["data"][0]["run_id"].as_str().unwrap().to_owned();
    for _ in 0..4 {
        // The stream stays open while the run waits, unless a fault ends it: then this client gives it up, once
        // an advance by nothing has told that all has been sent that there is.
        let opened = journal_head(api).await;
        let stream = open(api, &session, "").await;
        answered(api, opened).await;
        api.advance("0s").await;
        drop(stream);
    }
    let call = async {
        let events = api.events(&session).await;
        let call = events.iter().find(|event| event["type"] == "agent.custom_tool_use");
        call.map(|call| call["id"].as_str().unwrap().to_owned())
    };
    let Some(call) = call.await else { panic!("the run has not come to its call") };
    for _ in 0..3 {
        let body = result_body(&call, json!({ "echoed": "hello" })).to_string();
        let path = format!("{runs}/{run}/resume");
        Raw::send(api, "POST", &path, "idempotency-key: resume-1234\r\n", &body).await.rest().await;
    }
}

/// The number of the newest entry of the journal.
async fn journal_head(api: &Api) -> u64 {
    api.get("/__mock/journal?limit=1000").await.expect(200)["next"].as_u64().unwrap()
}

/// Returns once an answer is in the journal that is newer than entry number `after`.
async fn answered(api: &Api, after: u64) {
    let path = format!("/__mock/journal?after={after}&kind=request,stream_open&limit=1&wait_ms=60000");
    let entries = api.get(&path).await.expect(200);
    assert_ne!(entries["entries"], json!([]), "no answer");
}

#[tokio::test]
async fn every_fault_of_every_file_fires() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut shown = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.contains("\nfaults:") {
            continue;
        }
        let fake = fake().await;
        fake.api.scenario(&text).await.expect(200);
        play(&fake.api).await;
        let faults = fake.api.get("/__mock/faults").await.expect(200);
        for fault in faults["faults"].as_array().unwrap() {
            assert_ne!(fault["fired"], Value::from(0), "{}: {fault}", path.display());
        }
        shown += 1;
    }
    assert!(shown >= 8, "{shown} files show faults");
}
