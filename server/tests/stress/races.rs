//! Many at once: whatever the order, one wins, all agree who, and the log tells it once.

use std::sync::Arc;

use futures_util::future::join_all;
use pantheon_mock::clock::Mode;
use pantheon_mock::mock::Options;
use pantheon_mock::setup::Defaults;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::full::sized;
use crate::soon::soon;
use crate::support::{Answer, Api, Fake, message_body, text};
use crate::well::Waiting;

const MANY: usize = 20;

/// What `MANY` of `work` give that all begin at the same moment, on their own tasks.
async fn at_once<F>(work: impl Fn(usize) -> F) -> Vec<Answer>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let start = Arc::new(Barrier::new(MANY));
    let tasks = (0..MANY).map(|at| {
        let (start, work) = (Arc::clone(&start), work(at));
        tokio::spawn(async move {
            start.wait().await;
            work.await
        })
    });
    let answers = soon("the answers to requests at once", join_all(tasks)).await;
    answers.into_iter().map(Result::unwrap).collect()
}

/// The types of a session's durable events, in order.
async fn types(api: &Api, session: &str) -> Vec<String> {
    api.events(session).await.iter().map(|event| text(event, "/type")).collect()
}

fn count(types: &[String], wanted: &str) -> usize {
    types.iter().filter(|found| *found == wanted).count()
}

fn with_variant(name: &str) -> Options {
    let mut defaults = Defaults::default();
    assert!(defaults.variants.switch_on(name));
    Options { defaults, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn res_13_twenty_resumes_with_one_key_are_one_resume() {
    let fake = Fake::start().await;
    let call = Arc::new(Waiting::in_a_new_session(&fake.api).await);
    let answers = at_once(|_| {
        let (api, call) = (fake.api.clone(), Arc::clone(&call));
        async move { call.resume(&api, "one-key-for-all").await }
    })
    .await;
    let replayed = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_some()).count();
    assert_eq!(replayed, MANY - 1, "RES-3: all but the first are the first again");
    let bodies: Vec<Value> = answers.into_iter().map(|answer| answer.expect(202)).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    let types = types(&fake.api, &call.session).await;
    assert_eq!(count(&types, "tool.completed"), 1, "{types:?}");
    assert_eq!(count(&types, "run.completed"), 1, "{types:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn res_13_of_twenty_resumes_with_twenty_keys_one_is_applied() {
    let fake = Fake::start().await;
    let call = Arc::new(Waiting::in_a_new_session(&fake.api).await);
    let answers = at_once(|at| {
        let (api, call) = (fake.api.clone(), Arc::clone(&call));
        async move { call.resume(&api, &format!("key-number-{at}")).await }
    })
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 202);
    assert_eq!(won.len(), 1);
    for answer in lost {
        assert_eq!(answer.code(409), "event_already_resolved", "RES-7");
    }
    assert_eq!(count(&types(&fake.api, &call.session).await, "tool.completed"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn res_13_in_progress_is_an_answer_only_until_the_first_has_been_sent() {
    let fake = Fake::with(with_variant("in-progress-409")).await;
    let call = Arc::new(Waiting::in_a_new_session(&fake.api).await);
    let answers = at_once(|_| {
        let (api, call) = (fake.api.clone(), Arc::clone(&call));
        async move { call.resume(&api, "one-key-for-all").await }
    })
    .await;
    let first = |answer: &&Answer| answer.status == 202 && answer.header("idempotent-replayed").is_none();
    assert_eq!(answers.iter().filter(first).count(), 1);
    for answer in answers.into_iter().filter(|answer| answer.status != 202) {
        assert_eq!(answer.code(409), "idempotency_in_progress");
    }
    let again = call.resume(&fake.api, "one-key-for-all").await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"), "its progress has ended");
    again.expect(202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn res_14_resume_expiry_and_cancel_at_once_have_one_winner() {
    let defaults = Defaults { clock: Mode::Virtual, ..Defaults::default() };
    let fake = Fake::with(Options { defaults, ..Options::default() }).await;
    for round in 0..sized(20, 300) {
        let call = Waiting::in_a_new_session(&fake.api).await;
        let start = Barrier::new(3);
        let (resumed, cancelled, _) = soon("one of the three", async {
            tokio::join!(
                async {
                    start.wait().await;
                    call.resume(&fake.api, "key-12345678").await
                },
                async {
                    start.wait().await;
                    call.cancel(&fake.api).await
                },
                async {
                    start.wait().await;
                    fake.api.advance("30m").await
                },
            )
        })
        .await;
        let types = types(&fake.api, &call.session).await;
        let ends = ["run.completed", "run.cancelled", "run.failed"].map(|end| count(&types, end));
        let won_by = (resumed.status.as_u16(), cancelled.status.as_u16());
        match won_by {
            (202, 409) => {
                assert_eq!(cancelled.code(409), "run_not_active");
                assert_eq!(
                    (ends, count(&types, "tool.completed")),
                    ([1, 0, 0], 1),
                    "round {round}: {types:?}"
                );
            }
            (409, 202) => {
                assert_eq!(resumed.code(409), "run_not_active", "RES-15");
                assert_eq!(
                    (ends, count(&types, "tool.completed")),
                    ([0, 1, 0], 0),
                    "round {round}: {types:?}"
                );
            }
            (409, 409) => {
                assert_eq!(resumed.code(409), "event_expired", "RES-8");
                assert_eq!(cancelled.code(409), "run_not_active");
                assert_eq!(
                    (ends, count(&types, "tool.completed")),
                    ([0, 0, 1], 0),
                    "round {round}: {types:?}"
                );
            }
            both => panic!("round {round}: {both:?}, {types:?}"),
        }
    }
}

/// `MANY` equal creations: one is answered 201, the others name it.
async fn check_creation(path: &str, body: Value, pointer: &str) {
    let fake = Fake::start().await;
    let answers = at_once(|_| {
        let (api, path, body) = (fake.api.clone(), path.to_owned(), body.clone());
        async move { api.post(&path, body).await }
    })
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    let [winner] = &won[..] else { panic!("{} of {path} were created", won.len()) };
    for answer in lost {
        let body = answer.expect(409);
        assert_eq!(text(&body, "/error/code"), "idempotency_conflict");
        assert_eq!(text(&body, pointer), text(&winner.body, "/id"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tool_3_two_creates_of_one_name_make_one_tool() {
    let schema = json!({ "type": "object" });
    let body = json!({ "name": "echo_tool", "input_schema": schema, "output_schema": schema });
    check_creation("/v1/tools", body, "/error/details/tool_id").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agent_1_two_creates_of_one_slug_make_one_agent() {
    check_creation("/v1/agents", json!({ "name": "Demo", "slug": "demo" }), "/error/details/agent_id").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn run_2_two_starts_at_once_make_one_run() {
    let fake = Fake::start().await;
    let session = fake.api.session("todo-assistant").await;
    let path = format!("/v1/sessions/{session}/runs");
    let answers = at_once(|_| {
        let (api, path) = (fake.api.clone(), path.clone());
        async move { api.post(&path, message_body("add_todo with milk")).await }
    })
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 202);
    let [winner] = &won[..] else { panic!("{} runs were started", won.len()) };
    for answer in lost {
        let body = answer.expect(409);
        assert_eq!(text(&body, "/error/code"), "SESSION_BUSY");
        assert_eq!(text(&body, "/error/active_run_id"), text(&winner.body, "/run_id"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn auth_3_first_uses_of_one_key_at_once_make_one_workspace() {
    let fake = Fake::start().await;
    let answers = at_once(|_| {
        let api = fake.api.clone();
        async move { api.get("/v1/agents").await }
    })
    .await;
    let bodies: Vec<Value> = answers.into_iter().map(|answer| answer.expect(200)).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
}
