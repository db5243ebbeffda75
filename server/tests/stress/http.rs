//! Odd HTTP: what a server might take for something else. Each gets one clear answer or a closed connection.

use crate::program::Program;
use crate::wire::{Raw, Wire, json_request, request};

const KEY: &str = "pk_hostile";

/// The answers to `bytes`, until the server closes or `most` have come.
async fn answers(program: &Program, bytes: impl AsRef<[u8]>, most: usize) -> Vec<Raw> {
    let mut wire = Wire::to(&program.url).await;
    wire.send(bytes).await;
    let mut answers = Vec::new();
    while answers.len() < most
        && let Some(answer) = wire.answer().await
    {
        answers.push(answer);
    }
    answers
}

/// What is sent, and the status of the one answer to it.
async fn check(cases: &[(&str, Vec<u8>, u16)]) {
    let program = Program::start(&["--quiet"]).await;
    for (what, bytes, status) in cases {
        let answers = answers(&program, bytes, 1).await;
        let found: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(found, [*status], "{what}: {answers:?}");
    }
    program.well_at_its_end().await;
}

fn head(line: &str, fields: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n{fields}\r\n").into_bytes()
}

#[tokio::test]
async fn odd_targets_name_nothing() {
    let get = |target: &str| head(&format!("GET {target}"), "");
    let raw = |target: &[u8]| {
        [b"GET ", target, b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pk_hostile\r\n\r\n"].concat()
    };
    let long = "x".repeat(20_000);
    check(&[
        ("a NUL, encoded", get("/v1/tools/%00"), 404),
        ("a NUL, raw", raw(b"/v1/tools/\0"), 400),
        ("no UTF-8, encoded", get("/v1/tools/%ff%fe"), 404),
        ("no UTF-8, raw", raw(b"/v1/tools/\xff\xfe"), 400),
        ("half an escape", get("/v1/tools/%"), 404),
        ("a slash, encoded", get("/v1/tools%2Ftool_1"), 404),
        ("dots", get("/v1/../__mock/state"), 404),
        ("dots, encoded", get("/v1/%2e%2e/__mock/state"), 404),
        ("an empty segment", get("/v1//tools"), 404),
        ("a slash at the end", get("/v1/tools/"), 404),
        ("upper case", get("/V1/tools"), 404),
        ("a run id of nines", get(&format!("/v1/sessions/x/runs/{}", "9".repeat(4000))), 404),
        ("an absolute target", get("http://elsewhere/v1/tools"), 200),
        ("an asterisk", head("OPTIONS *", ""), 404),
        ("no target", b"GET\r\n\r\n".to_vec(), 400),
        ("a long query", get(&format!("/v1/tools?name={long}")), 200),
        ("a query of nothing but signs", get(&format!("/v1/tools?{}", "&=".repeat(5_000))), 200),
        ("a query that is no UTF-8", get("/v1/tools?name=%ff%00"), 200),
        ("a broken cursor", get("/v1/tools?cursor=cur_ffffffffffffffff"), 200),
        ("a cursor beyond numbers", get("/v1/tools?cursor=cur_fffffffffffffffff"), 422),
        ("a limit beyond numbers", get("/v1/tools?limit=99999999999999999999"), 422),
        ("a journal place beyond numbers", get("/__mock/journal?after=18446744073709551616"), 422),
        ("the last journal place", get("/__mock/journal?after=18446744073709551615"), 200),
    ])
    .await;
}

#[tokio::test]
async fn odd_methods_get_405_or_their_answer() {
    check(&[
        ("OPTIONS", head("OPTIONS /v1/tools", ""), 405),
        ("TRACE", head("TRACE /v1/tools", ""), 405),
        ("an invented one", head("FROB /v1/tools", ""), 405),
        ("lower case", head("get /v1/tools", ""), 405),
        ("CONNECT", head("CONNECT x:80", ""), 404),
        (
            "the preface of HTTP/2's upgrade",
            head("GET /v1/tools", "Upgrade: h2c\r\nConnection: upgrade\r\n"),
            200,
        ),
    ])
    .await;
    let program = Program::start(&["--quiet"]).await;
    let mut wire = Wire::to(&program.url).await;
    wire.send(request("HEAD", "/v1/tools", KEY)).await;
    let answer = wire.answer_to("HEAD").await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    // Nothing of a body came, or this answer would begin with it.
    wire.send(request("GET", "/v1/tools", KEY)).await;
    assert_eq!(wire.answer().await.unwrap().status, 200);
    let preface = answers(&program, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 1).await;
    assert!(preface.iter().all(|answer| answer.status >= 400), "{preface:?}");
    program.well_at_its_end().await;
}

#[tokio::test]
async fn odd_headers_are_judged_or_let_pass() {
    let get = |fields: &str| head("GET /v1/tools", fields);
    let bytes = |before: &str, odd: &[u8]| [before.as_bytes(), odd, b"\r\n\r\n"].concat();
    let with_key = |odd: &[u8]| {
        bytes(&format!("GET /v1/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nX-Odd: "), odd)
    };
    let with_auth = |odd: &[u8]| bytes("GET /v1/tools HTTP/1.1\r\nHost: x\r\nAuthorization: ", odd);
    let many = "X-Many: 1\r\n".repeat(500);
    let key_of = |length: usize| format!("Bearer {}", "k".repeat(length)).into_bytes();
    check(&[
        ("500 of them", get(&many), 431),
        ("one of 64 KiB", get(&format!("X-Long: {}\r\n", "x".repeat(64 * 1024))), 431),
        ("one of 16 KiB", get(&format!("X-Long: {}\r\n", "x".repeat(16 * 1024))), 200),
        ("bytes beyond ASCII", with_key(b"\xff\xfe"), 200),
        ("a NUL", with_key(b"a\0b"), 400),
        ("a folded line", with_key(b"a\r\n b"), 400),
        ("a blank before the colon", get("X-Odd : 1\r\n"), 400),
        ("no colon", get("X-Odd\r\n"), 400),
        ("no key", b"GET /v1/tools HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), 401),
        ("a key beyond ASCII", with_auth(b"Bearer k\xc3\xa9y"), 401),
        ("two words of a key", with_auth(b"Bearer a b"), 401),
        ("an empty key", with_auth(b"Bearer "), 401),
        ("another scheme", with_auth(b"Basic YTpi"), 401),
        ("a key of 4,096 bytes", with_auth(&key_of(4096)), 200),
        ("a key of 4,097 bytes", with_auth(&key_of(4097)), 401),
        ("two keys", get("Authorization: Bearer pk_other\r\n"), 401),
        ("the same key twice", get(&format!("Authorization: Bearer {KEY}\r\n")), 401),
    ])
    .await;
}

/// A second value of a secret header is as secret as the first.
#[tokio::test]
async fn no_credential_reaches_the_journal() {
    let program = Program::start(&["--quiet"]).await;
    let fields = "Cookie: a=first_secret\r\nCookie: b=second_secret\r\nX-Mock-Control-Token: third_secret\r\n\
                  X-Mock-Control-Token: fourth_secret\r\nProxy-Authorization: Basic fifth_secret\r\n\
                  X-Echo: pk_hostile\r\n";
    answers(&program, head("GET /v1/tools?key=pk_hostile", fields), 1).await;
    let journal = answers(&program, request("GET", "/__mock/journal", KEY), 1).await;
    assert!(journal[0].body.contains("[redacted]"), "{}", journal[0].body);
    for secret in ["secret", KEY] {
        assert!(!journal[0].body.contains(secret), "{}", journal[0].body);
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn odd_framing_is_never_read_as_two_requests() {
    let program = Program::start(&["--quiet"]).await;
    let smuggled = request("GET", "/v1/agents", "pk_smuggled");
    let length = smuggled.len();
    let framed = |fields: &str, body: &str| {
        let fields = format!("Content-Type: application/json\r\n{fields}");
        [head("POST /v1/tools", &fields), body.as_bytes().to_vec()].concat()
    };
    let cases = [
        ("two lengths", framed(&format!("Content-Length: 0\r\nContent-Length: {length}\r\n"), &smuggled)),
        ("a list of lengths", framed(&format!("Content-Length: 0, {length}\r\n"), &smuggled)),
        ("a length with a sign", framed(&format!("Content-Length: +{length}\r\n"), &smuggled)),
        ("a length beyond numbers", framed("Content-Length: 99999999999999999999\r\n", &smuggled)),
        ("a length below zero", framed("Content-Length: -1\r\n", &smuggled)),
        ("another coding", framed("Transfer-Encoding: gzip\r\n", &smuggled)),
        ("chunked, but not last", framed("Transfer-Encoding: chunked, gzip\r\n", &smuggled)),
        ("a bad chunk", framed("Transfer-Encoding: chunked\r\n", &format!("zz\r\n{smuggled}"))),
        (
            "a chunk beyond numbers",
            framed("Transfer-Encoding: chunked\r\n", &format!("fffffffffffffffff\r\n{smuggled}")),
        ),
        ("a chunk longer than told", framed("Transfer-Encoding: chunked\r\n", &format!("1\r\nab{smuggled}"))),
        ("chunked under HTTP/1.0", {
            let bytes = framed("Transfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{smuggled}"));
            String::from_utf8(bytes).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1).into_bytes()
        }),
        ("a bare carriage return", framed(&format!("X: a\rContent-Length: {length}\r\n"), &smuggled)),
    ];
    for (what, bytes) in cases {
        let answers = answers(&program, bytes, 5).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert!(answers.len() <= 1 && statuses.iter().all(|status| *status >= 400), "{what}: {answers:?}");
    }
    // The one framing of two that HTTP allows: chunks outrank a length, and the connection is not used again.
    let both = framed(
        &format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        &format!("0\r\n\r\n{smuggled}"),
    );
    let found = answers(&program, both, 5).await;
    let statuses: Vec<u16> = found.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [422], "{found:?}");
    program.well_at_its_end().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let program = Program::start(&["--quiet"]).await;
    let most = crate::full::sized(200, 2_000);
    let bytes: String = (0..most)
        .map(|n| match n % 3 {
            0 => request("GET", &format!("/v1/tools?limit={}", n % 200 + 1), KEY),
            1 => json_request("POST", "/v1/sessions", KEY, "{\"agent_slug\":\"todo-assistant\"}"),
            _ => json_request("POST", "/v1/tools", KEY, "{}"),
        })
        .collect();
    let mut wire = Wire::to(&program.url).await;
    let (mut received, mut sending) = (0, bytes.as_bytes());
    // Not all at once, since a server that answers each in turn stops reading where nobody takes its answers.
    while received < most {
        if !sending.is_empty() {
            let (now, later) = sending.split_at(sending.len().min(4096));
            wire.send(now).await;
            sending = later;
        }
        while received < most && (sending.is_empty() || wire.has_answer()) {
            let status = wire.answer().await.unwrap().status;
            let expected = match received % 3 {
                0 if received % 200 < 100 => 200,
                0 | 2 => 422,
                _ => 201,
            };
            assert_eq!(status, expected, "answer {received}");
            received += 1;
        }
        wire.receive();
    }
    program.well_at_its_end().await;
}

#[tokio::test]
async fn expect_and_http_1_0_are_understood() {
    let program = Program::start(&["--quiet"]).await;
    let body = "{\"agent_slug\":\"todo-assistant\"}";
    let fields = |length: usize| {
        format!("Content-Type: application/json\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n")
    };
    let mut wire = Wire::to(&program.url).await;
    wire.send(head("POST /v1/sessions", &fields(body.len()))).await;
    assert_eq!(wire.answer().await.unwrap().status, 100);
    wire.send(body).await;
    assert_eq!(wire.answer().await.unwrap().status, 201);
    // Who asks first is spared what would be refused anyway.
    let refused = answers(&program, head("POST /v1/sessions", &fields(100 << 20)), 1).await;
    assert_eq!(refused[0].status, 413);

    let old = request("GET", "/v1/tools", KEY).replace("HTTP/1.1\r\nHost: x", "HTTP/1.0");
    let mut wire = Wire::to(&program.url).await;
    wire.send(&old).await;
    let answer = wire.answer().await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(wire.answer().await.is_none(), "HTTP/1.0 closes unless told otherwise");

    program.well_at_its_end().await;
}

#[tokio::test]
async fn odd_cursors_and_keys_are_refused_by_their_names() {
    let program = Program::start(&["--quiet"]).await;
    let api = program.api();
    let session = api.session("todo-assistant").await;
    let stream = format!("/v1/sessions/{session}/events/stream");
    let field = |name: &str, value: &[u8]| {
        let line =
            format!("GET {stream} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{name}: ", api.key);
        [line.as_bytes(), value, b"\r\n\r\n"].concat()
    };
    for cursor in [
        &b"\xff\xfe\x80"[..],
        b"evt_",
        b"evt_\xc3\xa9",
        b"-1",
        b"0",
        b"evt_ffffffffffffffffffffffff",
        &[b'x'; 20_000],
    ] {
        let found = answers(&program, field("Last-Event-ID", cursor), 1).await;
        assert_eq!(found[0].status, 400, "{:?}", String::from_utf8_lossy(cursor));
        assert!(found[0].body.contains("invalid_last_event_id"), "{}", found[0].body);
    }
    let call = crate::well::Waiting::in_a_new_session(&api).await;
    let body =
        crate::support::result_body(&call.event, serde_json::json!({ "id": "1", "title": "a" })).to_string();
    let keyed = |key: &[u8]| {
        let (path, length) = (call.path(), body.len());
        let before = format!(
            "POST {path}/resume HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nIdempotency-Key: ",
            api.key
        );
        [before.as_bytes(), key, b"\r\n\r\n", body.as_bytes()].concat()
    };
    for key in ["schlüssel-eins".as_bytes(), b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", b"short", b"", &[b'k'; 256]]
    {
        let found = answers(&program, keyed(key), 1).await;
        assert_eq!(found[0].status, 400, "{:?}", String::from_utf8_lossy(key));
        assert!(found[0].body.contains("invalid_idempotency_key"), "{}", found[0].body);
    }
    assert_eq!(
        answers(&program, keyed(&[b'k'; 255]), 1).await[0].status,
        202,
        "none of them touched the run"
    );
    program.well_at_its_end().await;
}
