//! Each file is played by a good client, which passes it, and by clients with one mistake, which don't.

use std::collections::BTreeSet;

use pantheon_mock::clock::Mode;
use pantheon_mock::mock::Options;
use serde_json::{Value, json};

use crate::accused;
use crate::client::{Client, End};
use crate::files::{File, file, files};
use crate::mistake::Mistake::{self, *};
use crate::support::{Api, Fake, fresh_key, text};

/// How a file is played.
struct Play {
    file: &'static str,
    /// How each message ends for a good client; empty where it stops with an error.
    ends: &'static [End],
    /// Mistakes, each with the number, from 0, of an expectation that does not hold for a client that makes it.
    mistakes: &'static [(Mistake, usize)],
}

const COMPLETED: &[End] = &[End::Completed];
const FAILED: &[End] = &[End::Failed];
const CANCELLED: &[End] = &[End::Cancelled];
const STOPPED: &[End] = &[];
const FAILED_THEN_COMPLETED: &[End] = &[End::Failed, End::Completed];
const TWICE: &[End] = &[End::Completed, End::Completed];

const fn play(file: &'static str, ends: &'static [End], mistakes: &'static [(Mistake, usize)]) -> Play {
    Play { file, ends, mistakes }
}

const PLAYS: &[Play] = &[
    play("answer-without-end", COMPLETED, &[(GivesUpAfterALostAnswer, 0), (MakesANewKeyForEachTry, 0)]),
    play("answered-call-again", COMPLETED, &[(ActsOnEachDelivery, 0)]),
    play("another-clock", COMPLETED, &[(JudgesByItsOwnClock, 0)]),
    play("bad-gateway", COMPLETED, &[(StopsAtTheFirstRefusal, 0), (ForgetsItsPlace, 0)]),
    play("big-event", COMPLETED, &[(ReadsShortLines, 0)]),
    play("byte-order-mark", COMPLETED, &[(KeepsTheMark, 1)]),
    play("cancelled-while-working", CANCELLED, &[(StartsAgainAfterAnEnd, 1)]),
    play("carriage-returns", COMPLETED, &[(EndsLinesAtLfOnly, 0)]),
    play("chaos", COMPLETED, &[(GivesUpAfterALostAnswer, 2), (MakesANewKeyForEachTry, 0)]),
    play("clean-early-end", COMPLETED, &[(TakesTheEndForDone, 2), (StartsAgainAfterADrop, 1)]),
    play("code-over-status", COMPLETED, &[(JudgesByStatus, 0)]),
    play("custom-events", COMPLETED, &[(DiesOfUnknownEvents, 1)]),
    play("cut-inside-a-character", COMPLETED, &[(DecodesEachPiece, 1)]),
    play("cut-inside-an-id", COMPLETED, &[(BelievesHalfFrames, 1), (TakesADeltaForItsPlace, 1)]),
    play("cut-inside-data", COMPLETED, &[(BelievesHalfFrames, 1)]),
    play("data-on-many-lines", COMPLETED, &[(KeepsTheLastDataLine, 0)]),
    play("declined-call", COMPLETED, &[(DeclinesInSmallLetters, 0)]),
    play("echo", COMPLETED, &[(AnswersToTheCallsId, 1)]),
    play("end-of-another-run", COMPLETED, &[(EndsAtAnyEnd, 0), (BelievesFramesWithoutData, 0)]),
    play("event-again", COMPLETED, &[(ActsOnEachDelivery, 0)]),
    play("expired-while-answering", FAILED, &[(InsistsWhenExpired, 0), (StartsAgainAfterAnEnd, 1)]),
    play("expired-while-working", FAILED, &[(InsistsWhenExpired, 0), (StartsAgainAfterAnEnd, 1)]),
    play("failing-run", FAILED_THEN_COMPLETED, &[(StartsAgainAfterAnEnd, 2)]),
    play(
        "foreign-framing",
        COMPLETED,
        &[(EndsLinesAtLfOnly, 0), (KeepsTheMark, 0), (KeepsTheLastDataLine, 0)],
    ),
    play("gone-for-good", FAILED, &[(InsistsWhenExpired, 0)]),
    play("keys-of-their-own", COMPLETED, &[(AnswersToTheCallsId, 1), (ComparesRunIdsAsText, 1)]),
    play("live-unavailable", COMPLETED, &[(InsistsOnDeltas, 1)]),
    play("long-silence", COMPLETED, &[(LosesPatience, 0)]),
    play("lost-answer", COMPLETED, &[(GivesUpAfterALostAnswer, 0), (MakesANewKeyForEachTry, 0)]),
    play("lost-request", COMPLETED, &[(GivesUpAfterALostAnswer, 0), (MakesANewKeyForEachTry, 1)]),
    play("lost-start", COMPLETED, &[(GivesUpAfterALostAnswer, 0), (MakesANewKeyForEachTry, 0)]),
    play("nonsense-retry-after", COMPLETED, &[(StopsAtTheFirstRefusal, 0), (MakesANewKeyForEachTry, 0)]),
    play("nothing-more", STOPPED, &[(NeverStops, 0)]),
    play("one-event-a-connection", COMPLETED, &[(CountsAllDrops, 0), (ForgetsItsPlace, 0)]),
    play("overloaded", COMPLETED, &[(StopsAtTheFirstRefusal, 0), (MakesANewKeyForEachTry, 0)]),
    play("page-instead-of-answer", COMPLETED, &[(TakesAnyAnswer, 4)]),
    play("redirected", COMPLETED, &[(TakesItsKeyAlong, 0)]),
    play("refused-cursor", STOPPED, &[(RepeatsARefusedCursor, 0)]),
    play("refused-key", STOPPED, &[(NeverStops, 0), (StartsAgainAfterADrop, 1)]),
    play("replayed-history", COMPLETED, &[(ActsOnEachDelivery, 0), (ForgetsItsPlace, 1)]),
    play("reset-after-a-call", COMPLETED, &[(StartsAgainAfterADrop, 1), (TakesTheEndForDone, 0)]),
    play("resolved-elsewhere", COMPLETED, &[(InsistsWhenResolved, 0)]),
    play("result-refused-always", STOPPED, &[(SendsARefusedResultAgain, 0)]),
    play("result-refused-once", COMPLETED, &[(SendsARefusedResultAgain, 0)]),
    play("resync-again-and-again", COMPLETED, &[(DiesOfAResync, 0), (ForgetsItsPlace, 0)]),
    play("resync-on-every-connect", COMPLETED, &[(DiesOfAResync, 0)]),
    play("resync-once", COMPLETED, &[(DiesOfAResync, 0), (TakesADeltaForItsPlace, 0)]),
    play("same-call-id", TWICE, &[(ExecutesOncePerCallId, 1)]),
    play("separators-in-text", COMPLETED, &[(SplitsTextAsItsLanguageDoes, 0)]),
    play("server-errors", COMPLETED, &[(StopsAtTheFirstRefusal, 0), (MakesANewKeyForEachTry, 0)]),
    play("session-busy", COMPLETED, &[(LoopsWhenBusy, 0)]),
    play("short-deadline", COMPLETED, &[(DawdlesOverATool, 0)]),
    play("sign-in-page", COMPLETED, &[(TakesAnyPage, 0)]),
    play("signs-of-life", COMPLETED, &[(TakesAnyId, 0)]),
    play("silent-stall", COMPLETED, &[(WaitsForEver, 0)]),
    play("slow-agent", COMPLETED, &[(LosesPatience, 2)]),
    play("slow-answer", COMPLETED, &[(LosesPatience, 0)]),
    play("split-line-ends", COMPLETED, &[(EndsLinesAtLfOnly, 0)]),
    play("stall-inside-an-event", COMPLETED, &[(WaitsForEver, 0)]),
    play("still-in-progress", COMPLETED, &[(StopsAtTheFirstRefusal, 0), (MakesANewKeyForEachTry, 0)]),
    play("stream-outlives-run", TWICE, &[(WaitsForTheEnd, 0)]),
    play("throttled-stream", COMPLETED, &[(LosesPatience, 0)]),
    play("too-many-requests", COMPLETED, &[(StopsAtTheFirstRefusal, 0)]),
    play("torn-answer", COMPLETED, &[(GivesUpAfterALostAnswer, 0)]),
    play("two-calls-in-one-pause", COMPLETED, &[(AnswersTheFirstCallOnly, 2)]),
    play("unknown-event", COMPLETED, &[(DiesOfUnknownEvents, 0)]),
];

/// What the tools of the files return.
fn tool(name: &str, input: &Value) -> Result<Value, String> {
    Ok(match name {
        "echo_tool" if input["message"] == "delete everything" => return Err("DECLINED".to_owned()),
        "echo_tool" => json!({ "echoed": input["message"] }),
        "count_bytes" => json!({ "bytes": bytes(input) }),
        "get_weather" => json!({ "degrees": 21, "sky": "clear" }),
        "get_time" => json!({ "time": "12:00" }),
        other => panic!("no file calls {other}"),
    })
}

fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(members) => members.values().map(bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// With a clock that stands still unless it is moved.
pub fn still() -> Options {
    let mut options = Options::default();
    options.defaults.clock = Mode::Virtual;
    options
}

/// What is known when a play is over.
struct Played {
    ends: Vec<End>,
    /// The verdict when nothing had happened.
    before: Value,
    verdict: Value,
    /// What the mock has seen by itself.
    offences: Value,
    faults: Vec<Value>,
    most_executions: u32,
    /// Whether it shows each durable message once, in order (C-SSE-14).
    shows_all: bool,
}

/// Plays `file` in a workspace of its own, whose time passes only where the client would wait.
async fn played(fake: &Fake, file: &File, messages: usize, mistake: Option<Mistake>, deltas: bool) -> Played {
    let api = Api::new(&fake.server.url, &fresh_key());
    api.scenario(&file.text).await.expect(200);
    let before = verify(&api).await;
    let slug = text(&file.scenario.source, "/workspace/agents/0/slug");
    let mut client = Client::open(&api, &slug, tool, mistake).await;
    client.deltas = deltas;
    let mut ends = Vec::new();
    for nth in 1..=messages {
        let end = client.say(&format!("hello from Lisbon, {nth}")).await;
        let goes_on = !matches!(end, End::Reported(_));
        ends.push(end);
        if !goes_on {
            break;
        }
    }
    let executions = client.executions;
    let mut told = Vec::new();
    for event in api.events(&client.session).await {
        let is_own = client.runs.iter().any(|run| event["run_id"].as_str() == Some(&run.replace('-', "")));
        if is_own && event["type"] == "message.completed" {
            told.push(text(&event, "/content/0/text"));
        }
    }
    let shows_all = client.said == told;
    left(&api).await;
    let verdict = verify(&api).await;
    let offences = api.get("/__mock/verdict").await.expect(200)["offences"].clone();
    let faults = api.get("/__mock/faults").await.expect(200)["faults"].as_array().unwrap().clone();
    let most_executions = executions.values().copied().max().unwrap_or_default();
    Played { ends, before, verdict, offences, faults, most_executions, shows_all }
}

async fn verify(api: &Api) -> Value {
    Api::send(api.request(reqwest::Method::POST, "/__mock/verify")).await.expect(200)
}

/// Returns once the mock has noticed that the client is gone.
pub async fn left(api: &Api) {
    while api.get("/__mock/state").await.expect(200)["streams"] != json!([]) {
        tokio::task::yield_now().await;
    }
}

async fn check(fake: &Fake, play: &Play) -> Vec<String> {
    let file = file(play.file);
    let mut wrong = Vec::new();
    // What chance did can be done again with the seed.
    let seed = file.scenario.seed.map(|seed| format!(" (seed {seed})")).unwrap_or_default();
    let name = &format!("{}{seed}", file.name);
    for deltas in [true, false] {
        let good = played(fake, &file, play.ends.len().max(1), None, deltas).await;
        if good.before["verdict"] != "fail" {
            wrong.push(format!("{name}: it passes before anything has happened"));
        }
        if good.verdict["verdict"] != "pass" {
            wrong.push(format!("{name}: a good client fails: {:#}", good.verdict));
        }
        let stopped = matches!(good.ends[..], [End::Reported(_)]);
        let ends_well = if play.ends.is_empty() { stopped } else { good.ends == play.ends };
        if !ends_well {
            wrong.push(format!("{name}: a good client ends with {:?}", good.ends));
        }
        if good.most_executions > 1 {
            wrong.push(format!("{name}: a good client executed a call {} times", good.most_executions));
        }
        if !stopped && !good.shows_all {
            wrong.push(format!("{name}: a good client shows something else than was said"));
        }
        for offence in good.offences.as_array().unwrap() {
            wrong.push(format!("{name}: a good client is accused: {offence:#}"));
        }
        for fault in good.faults {
            if fault["fired"] == 0 {
                wrong.push(format!("{name}: this fault never fires: {fault}"));
            }
        }
    }
    for (mistake, expectation) in play.mistakes {
        let bad = played(fake, &file, play.ends.len().max(1), Some(*mistake), true).await;
        let failures = bad.verdict["failures"].as_array().unwrap();
        let broken: Vec<u64> = failures.iter().filter_map(|failure| failure["index"].as_u64()).collect();
        if bad.verdict["verdict"] != "fail" || !broken.contains(&(*expectation as u64)) {
            wrong.push(format!(
                "{name}: {mistake:?} breaks {broken:?}, not {expectation}; it ends with {:?}",
                bad.ends
            ));
        }
        let offences = bad.offences.as_array().unwrap().iter().map(|it| text(it, "/offence")).collect();
        wrong.extend(accused::check(&file.name, *mistake, offences));
    }
    wrong
}

/// The files of one of [`PARTS`] parts, so that they are played side by side.
async fn check_part(part: usize) {
    let fake = Fake::with(still()).await;
    let mut wrong = Vec::new();
    for play in PLAYS.iter().skip(part).step_by(PARTS) {
        wrong.extend(check(&fake, play).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const PARTS: usize = 3;

#[tokio::test]
async fn a_good_client_passes_and_one_with_a_mistake_fails_1() {
    check_part(0).await;
}

#[tokio::test]
async fn a_good_client_passes_and_one_with_a_mistake_fails_2() {
    check_part(1).await;
}

#[tokio::test]
async fn a_good_client_passes_and_one_with_a_mistake_fails_3() {
    check_part(2).await;
}

#[test]
fn every_file_is_played_and_has_a_mistake_that_it_tells() {
    let played: BTreeSet<&str> = PLAYS.iter().map(|play| play.file).collect();
    let files: Vec<String> = files().into_iter().map(|file| file.name).collect();
    assert_eq!(played.into_iter().collect::<Vec<_>>(), files);
    for play in PLAYS {
        assert!(!play.mistakes.is_empty(), "{} has no mistake that fails it", play.file);
    }
}
