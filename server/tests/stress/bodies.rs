//! Hostile bodies: each is refused in words, or taken for what it is; none costs more than its size.

use serde_json::{Value, json};

use crate::program::Program;
use crate::support::text;
use crate::wire::{Wire, json_request};

const MIB: u64 = 1 << 20;

/// Sends `body` to `POST /v1/tools` of a new program, which must answer `status` with `code` and stay well.
async fn check(cases: &[(&str, Vec<u8>, u16, &str)]) {
    let program = Program::start(&["--quiet"]).await;
    for (what, body, status, code) in cases {
        let mut wire = Wire::to(&program.url).await;
        let length = body.len();
        wire.send(format!(
            "POST /v1/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pk_hostile\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ))
        .await;
        wire.send(body).await;
        let answer = wire.answer().await.unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!(answer.status, *status, "{what}: {}", answer.body);
        let error: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(text(&error, "/error/code"), *code, "{what}");
        assert!(answer.body.len() < 300_000, "{what}: an answer of {} bytes", answer.body.len());
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn err_3_what_is_no_json_is_told_so() {
    let deep = |open: &str, close: &str| [open.repeat(10_000), close.repeat(10_000)].concat().into_bytes();
    let invalid = |what, body: Vec<u8>| (what, body, 422, "validation_error");
    check(&[
        invalid("no JSON", b"{\"name\": ".to_vec()),
        invalid("two values", b"{} {}".to_vec()),
        invalid("not UTF-8", b"{\"name\": \"\xff\xfe\"}".to_vec()),
        invalid("a lone surrogate", b"{\"name\": \"\\ud800\"}".to_vec()),
        invalid("a NUL", b"\0".to_vec()),
        invalid("a BOM", b"\xef\xbb\xbf{}".to_vec()),
        invalid("a number beyond all", b"{\"name\": 1e999}".to_vec()),
        invalid("no object", b"null".to_vec()),
        invalid("10,000 arrays", deep("[", "]")),
        invalid("10,000 objects", deep("{\"a\":", "}")),
        invalid("an endless array", "[".repeat(1 << 20).into_bytes()),
        invalid("NaN", b"{\"name\": NaN}".to_vec()),
        invalid("twice the same member", b"{\"name\": \"a\", \"name\": 5}".to_vec()),
    ])
    .await;
}

/// Millions of faults are one answer of a size that a client can read, and cost no multiple of the body.
#[tokio::test]
async fn err_3_a_body_of_a_million_faults_gets_an_answer_of_some() {
    let unknown: String = (0..100_000).map(|n| format!("\"unknown_{n}\":0,")).collect();
    check(&[
        ("200,000 wrong events", wrong_items("tools", 200_000), 422, "validation_error"),
        ("100,000 unknown members", format!("{{{unknown}\"name\":0}}").into_bytes(), 422, "validation_error"),
    ])
    .await;
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let session = api.session("todo-assistant").await;
    let path = format!("/v1/sessions/{session}/runs");
    let body: Value = serde_json::from_slice(&wrong_items("events", 200_000)).unwrap();
    let before = program.resident();
    let answer = api.post(&path, body).await.expect(422);
    let details = answer["error"]["details"].as_array().unwrap();
    assert_eq!(text(&details[0], "/path"), "/events/0");
    assert!(details.len() <= 1_001, "{}", details.len());
    assert_grown_at_most(&program, before, 100 * MIB);
    program.well_at_its_end().await;
}

fn wrong_items(member: &str, count: usize) -> Vec<u8> {
    let items = "1,".repeat(count);
    format!("{{\"{member}\":[{}]}}", items.trim_end_matches(',')).into_bytes()
}

#[track_caller]
fn assert_grown_at_most(program: &Program, before: Option<u64>, most: u64) {
    if let (Some(before), Some(after)) = (before, program.resident()) {
        let grown = after.saturating_sub(before);
        assert!(grown <= most, "it has grown by {} KiB", grown / 1024);
    }
}

/// Members that nobody asked for are noted in the journal: some of them, so that a body can't outgrow its bound.
#[tokio::test]
async fn err_3_the_journal_notes_some_of_many_unknown_members() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let mut body = json!({ "agent_slug": "todo-assistant" });
    for n in 0..20_000 {
        body[format!("unknown_{n}")] = 0.into();
    }
    api.post("/v1/sessions", body).await.expect(201);
    let journal = api.get("/__mock/journal").await.expect(200);
    let ignored = journal.pointer("/entries/0/ignored").unwrap().as_array().unwrap();
    assert_eq!(ignored[0], "/unknown_0");
    assert!(ignored.len() <= 1_001, "{}", ignored.len());
    program.well_at_its_end().await;
}

#[tokio::test]
async fn err_4_a_hundred_megabytes_are_cut_at_the_limit() {
    let program = Program::start(&["--quiet"]).await;
    crate::well::is_well(&program.url).await;
    let before = program.resident();
    let told = "POST /v1/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pk_hostile\r\n\
                Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n";
    let untold = told.replace("Content-Length: 104857600", "Transfer-Encoding: chunked");
    // What was told to be too long is refused before it comes, and what was not once it is.
    for (head, piece, before_the_answer) in
        [(told, vec![b' '; 1 << 20], 0), (&untold, chunk(&[b' '; 1 << 20]), 5)]
    {
        let mut wire = Wire::to(&program.url).await;
        wire.send(head).await;
        for _ in 0..before_the_answer {
            wire.send(&piece).await;
        }
        let answer = wire.answer().await.unwrap();
        assert_eq!(answer.status, 413);
        assert!(answer.body.contains("payload_too_large"), "{}", answer.body);
        // A client that sends on all the same is not kept in memory.
        for _ in before_the_answer..100 {
            wire.send(&piece).await;
        }
        assert_eq!(wire.rest().await, b"", "one answer, and the end");
    }
    assert_grown_at_most(&program, before, 24 * MIB);
    program.well_at_its_end().await;
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

#[tokio::test]
async fn err_4_the_limit_is_the_one_that_was_given_to_the_byte() {
    let program = Program::start(&["--quiet", "--max-body", "1000"]).await;
    for (length, status) in [(1000, 422), (1001, 413)] {
        let body = format!("{:1$}", "{}", length);
        let mut wire = Wire::to(&program.url).await;
        wire.send(json_request("POST", "/v1/tools", "pk_hostile", &body)).await;
        assert_eq!(wire.answer().await.unwrap().status, status, "{length}");
        let mut wire = Wire::to(&program.url).await;
        wire.send(
            "POST /v1/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pk_hostile\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .await;
        wire.send([chunk(body.as_bytes()), b"0\r\n\r\n".to_vec()].concat()).await;
        assert_eq!(wire.answer().await.unwrap().status, status, "{length}, chunked");
    }
    program.well_at_its_end().await;
}

/// What a user or a tool says is data, whatever it looks like: the built-in agent fills no templates in it.
#[tokio::test]
async fn braces_in_messages_and_results_stand_as_they_are() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let said = "{{ message }} {{{x}}} {{}} }}{{";
    let session = api.session("todo-assistant").await;
    let run = api.run(&session, &format!("add_todo with {said}")).await;
    let mut stream = api.stream(&session, None, false).await;
    let call = stream.until("agent.custom_tool_use").await;
    assert_eq!(call.data()["content"]["input"], json!({ "title": said }));
    let body =
        crate::support::result_body(call.id().unwrap(), json!({ "id": "{{ run.nth }}", "title": said }));
    api.post_keyed(&format!("/v1/sessions/{session}/runs/{run}/resume"), "key-12345678", body)
        .await
        .expect(202);
    let told = stream.until("message.completed").await.data();
    assert_eq!(
        text(&told, "/content/0/text"),
        format!("add_todo returned id: {{{{ run.nth }}}}, title: {said}.")
    );
    let session = api.session("todo-assistant").await;
    api.run(&session, said).await;
    let told = api.stream(&session, None, false).await.until("message.completed").await.data();
    assert_eq!(text(&told, "/content/0/text"), format!("You said: {said}"));
    program.well_at_its_end().await;
}
