//! The same seed, script and requests give the same faults in the same places, the same bytes and the same ids.

use std::time::Duration;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::files::file;
use crate::plays::{left, still};
use crate::sse::{Item, Reader};
use crate::support::{Api, Fake, message_body, result_body, text};

/// The seed of the file.
const SEED: u64 = 42;

/// All that a client saw and all that the journal tells, of one storm on a server of its own.
async fn storm(yaml: &str) -> Vec<String> {
    let mut options = still();
    // However slow the machine, the run begins with its stream.
    options.defaults.start_after = Duration::from_secs(3600);
    let fake = Fake::with(options).await;
    // Ids are made from the seed and the key.
    let api = Api::new(&fake.server.url, "pk_storm");
    api.scenario(yaml).await.expect(200);
    let connection = Connection::new(&api, "0s", false);
    let session = api.session("demo").await;
    let runs = format!("/v1/sessions/{session}/runs");
    let url = format!("{}/v1/sessions/{session}/events/stream?event_deltas=true", api.url);
    let mut seen = Vec::new();
    let run = insist(&connection, &mut seen, &runs, "start-1234", &message_body("hello")).await;
    let resume = format!("{runs}/{}/resume", text(&run, "/run_id"));
    let (mut cursor, mut answered, mut is_over) = (None::<String>, Vec::new(), false);
    while !is_over {
        let mut wanted = None;
        let mut reader = Reader::default();
        let mut response = connection.open(&url, cursor.as_deref()).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(piece) = connection.next(&mut response).await {
            bytes.extend_from_slice(&piece);
            for item in reader.read(&piece) {
                let Item::Event { event_type, id, data } = item else { continue };
                cursor = id.or(cursor);
                is_over |= event_type == "run.completed";
                let call = data["content"]["stop_reason"]["event_ids"][0].as_str().map(str::to_owned);
                wanted = call.filter(|call| !answered.contains(call)).or(wanted);
            }
            if let Some(call) = &wanted {
                // All that the pause brings is sent; how much of it is read depends on how the network cuts it.
                api.advance("0s").await;
                bytes.truncate(end_of_idle(&bytes, call));
                break;
            }
        }
        drop(response);
        left(&api).await;
        seen.push(String::from_utf8_lossy(&bytes).into_owned());
        if let Some(call) = wanted {
            let result = result_body(&call, json!({ "echoed": "hello" }));
            insist(&connection, &mut seen, &resume, &format!("resume-{call}"), &result).await;
            answered.push(call);
        }
    }
    let journal = api.get("/__mock/journal?limit=1000").await.expect(200);
    seen.extend(
        journal["entries"].as_array().unwrap().iter().map(|entry| timeless(entry.clone()).to_string()),
    );
    seen
}

/// Where the first frame ends that says that `call` is wanted.
fn end_of_idle(bytes: &[u8], call: &str) -> usize {
    let find = |from: usize, what: &[u8]| {
        let found = bytes[from..].windows(what.len()).position(|window| window == what);
        from + found.expect("it has come")
    };
    let named = find(0, format!(r#""event_ids":["{call}"]"#).as_bytes());
    find(named, b"\n\n") + 2
}

/// Sends until it is accepted.
async fn insist(
    connection: &Connection,
    seen: &mut Vec<String>,
    path: &str,
    key: &str,
    body: &Value,
) -> Value {
    for _ in 0..50 {
        let answer = connection.post(path, key, body).await;
        seen.push(format!("{key}: {:?}", answer.as_ref().map(|answer| answer.status)));
        if let Some(answer) = answer.filter(|answer| answer.status == 202) {
            return answer.body;
        }
    }
    panic!("{key} never got through: {seen:#?}");
}

/// Without real time and the moments in it, and without what is counted over the whole program.
fn timeless(mut entry: Value) -> Value {
    for member in ["elapsed_ms", "began_ms", "began", "sent", "moment", "request_id"] {
        entry.as_object_mut().unwrap().remove(member);
    }
    if let Some(headers) = entry["headers"].as_object_mut() {
        headers.remove("host");
    }
    if let Some(error) = entry.pointer_mut("/response_body/error").and_then(Value::as_object_mut) {
        error.remove("request_id");
    }
    entry
}

fn chaos(seed: u64) -> String {
    let text = file("chaos").text;
    let other = text.replace(&format!("seed: {SEED}\n"), &format!("seed: {seed}\n"));
    assert!(seed == SEED || other != text, "the file has another seed than {SEED}");
    other
}

#[tokio::test]
async fn the_same_seed_gives_the_same_storm_and_another_seed_another() {
    let first = storm(&chaos(SEED)).await;
    for _ in 0..3 {
        let again = storm(&chaos(SEED)).await;
        for (at, (one, other)) in first.iter().zip(&again).enumerate() {
            assert_eq!(one, other, "line {at}");
        }
        assert_eq!(first.len(), again.len());
    }
    let fired = |seen: &[String]| {
        let faults = seen.iter().filter(|line| line.contains(r#""kind":"fault""#));
        faults
            .filter_map(|line| Some(text(&serde_json::from_str(line).ok()?, "/fault_id")))
            .collect::<Vec<_>>()
    };
    assert!(fired(&first).len() > 5, "{first:#?}");
    let other = storm(&chaos(SEED + 1)).await;
    assert_ne!(fired(&first), fired(&other));
}

#[tokio::test]
async fn the_seed_of_a_storm_is_shown_where_its_faults_are() {
    let fake = Fake::start().await;
    fake.api.scenario(&chaos(7)).await.expect(200);
    assert_eq!(fake.api.get("/__mock/scenario").await.expect(200)["scenario"]["seed"], 7);
}
