//! The scenario files of this repository: the client passes what each expects.

use std::path::Path;
use std::time::Duration;

use pantheon_reference_client::defect::Defects;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Files that one client with one or two messages can't play.
const NEED_MORE: &[(&str, &str)] = &[
    ("long-silence", "it takes half a minute"),
    ("session-busy", "the recovery has to be told"),
    ("short-deadline", "its deadline of a second would make it a matter of the machine's load"),
    ("slow-answer", "it waits for longer than the client's time-out here"),
    ("slow-agent", "somebody has to move its clock"),
];

/// Plays a file; what is wrong, if anything is.
async fn play(name: &str, yaml: &str) -> Result<(), String> {
    let stage = Stage::scripted(yaml, Defects::NONE, 4).await;
    stage.hub.answer_with(answer);
    let message = if name == "two-calls-in-one-pause" { "What of Lisbon?" } else { "hello" };
    let mut task = json!({ "do": "converse", "agent_slug": "demo", "message": message });
    let count = if yaml.contains("two messages") { 2 } else { 1 };
    let mut done = Vec::new();
    for number in 0..count {
        let id = format!("say-{number}");
        stage.give(&id, task.clone());
        let ended = tokio::time::timeout(Duration::from_secs(40), stage.hub.done(&id)).await;
        let ended = ended.map_err(|_| "it hangs".to_owned())?;
        task = json!({ "do": "converse", "session_id": ended["session_id"], "message": "again" });
        done.push(ended);
    }
    let verdict = stage.api("POST", "/__mock/verify", Value::Null).await;
    let offences = stage.api("GET", "/__mock/verdict", Value::Null).await;
    let passes = verdict["verdict"] == "pass" && offences["verdict"] == "pass";
    if passes { Ok(()) } else { Err(format!("{done:?}\n{verdict:#}\n{offences:#}")) }
}

/// What the tools of the files return: an echo, the number of bytes, the weather, or a no.
fn answer(body: &Value) -> Value {
    let message = &body["input"]["message"];
    if body.get("details").is_some() {
        return json!({ "content": { "echoed": "right" } });
    }
    match body["name"].as_str().unwrap() {
        "count_bytes" => json!({ "content": { "bytes": bytes(&body["input"]) } }),
        "get_weather" => json!({ "content": { "degrees": 21, "sky": "clear" } }),
        "get_time" => json!({ "content": { "time": "noon" } }),
        _ if message == "delete everything" => {
            json!({ "error": { "code": "USER_DECLINED", "message": "No." } })
        }
        _ => json!({ "content": { "echoed": message } }),
    }
}

/// The bytes of all texts.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(bytes).sum(),
        Value::Object(members) => members.values().map(bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_passes_every_scenario_file() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    let mut plays = tokio::task::JoinSet::new();
    let mut played = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_scenario = path.extension().is_some_and(|extension| extension == "yaml");
        if is_scenario && !NEED_MORE.iter().any(|(needs, _)| *needs == name) {
            // More at once would make time-outs a matter of the machine's load.
            if plays.len() == 8 {
                played.push(plays.join_next().await.unwrap().unwrap());
            }
            let yaml = std::fs::read_to_string(&path).unwrap();
            plays.spawn(async move {
                let played = play(&name, &yaml).await;
                (name, played)
            });
        }
    }
    played.extend(plays.join_all().await);
    assert!(played.len() > 50, "only {} files", played.len());
    let failed: Vec<_> =
        played.iter().filter_map(|(name, result)| Some((name, result.as_ref().err()?))).collect();
    for (name, why) in &failed {
        println!("{name}: {why}");
    }
    assert!(failed.is_empty(), "{} of {} files", failed.len(), played.len());
}
