//! Executing a tool once (C-TOOL-1, C-TOOL-2), and making an answer of what comes of it (C-TOOL-10, C-TOOL-11, C-TOOL-18).

use serde_json::json;

use super::{Answer, Call, mangle};
use crate::application::{Application, Execution};
use crate::defect::{Defect, Defects};
use crate::json;
use crate::ledger::{Ledger, State};

/// Executes the tool unless that was done, and gives the answer. None comes only of deliberate mistakes.
pub(crate) async fn execute<A: Application>(
    app: &A,
    ledger: &Ledger,
    call: &Call,
    defects: Defects,
) -> Option<Answer> {
    let key = execution_key(call, defects);
    let execution = ledger.execution(key);
    // Whoever comes second waits here for the first, and finds its result.
    let mut state = execution.lock().await;
    match &*state {
        State::Finished(answer) => return Some(answer.clone()),
        State::Started if defects.has(Defect::UncertainIsSilent) => return None,
        State::Started => {
            let unknown = Answer::error(
                "EXECUTION_UNKNOWN",
                "The client was interrupted while the tool worked, and can't know what came of it.",
            );
            ledger.finish(key, &unknown);
            *state = State::Finished(unknown.clone());
            return Some(unknown);
        }
        State::Fresh => {}
    }
    if !defects.has(Defect::RecordsOnlyResults)
        && let Err(error) = ledger.start(key)
    {
        // What isn't recorded isn't executed: a restart would do it again.
        return Some(Answer::error("TOOL_FAILED", format!("The execution could not be recorded: {error}")));
    }
    *state = State::Started;
    let answer = execute_now(app, call, defects).await?;
    ledger.finish(key, &answer);
    *state = State::Finished(answer.clone());
    Some(answer)
}

/// Executes the tool, whatever was done before.
pub(crate) async fn execute_now<A: Application>(app: &A, call: &Call, defects: Defects) -> Option<Answer> {
    let mut passed = Call { input: mangle::pass(&call.input, defects), ..call.clone() };
    if defects.has(Defect::InputAsString) {
        passed.input = json::raw(&json!(call.input.get()));
    }
    answer(app.execute(&passed).await, defects)
}

/// What is answered for what came of an execution.
fn answer(execution: Execution, defects: Defects) -> Option<Answer> {
    let unsendable = |why: &str| {
        let silent = defects.has(Defect::UnsendableIsSilent);
        (!silent).then(|| Answer::error("RESULT_NOT_SENDABLE", format!("The tool's result {why}.")))
    };
    match execution {
        Execution::Content(content) if json::is_sendable(&content) || defects.has(Defect::SendsNonObject) => {
            Some(Answer::Content(mangle::pass(&content, defects)))
        }
        Execution::Content(_) => unsendable("is no JSON object"),
        Execution::Unsendable(why) => unsendable(&why),
        Execution::Error(error) => Some(Answer::Error(error)),
        Execution::Threw(_) if defects.has(Defect::ThrowIsSilent) => None,
        Execution::Threw(message) => Some(Answer::error("TOOL_THREW", message)),
        Execution::Unknown if defects.has(Defect::UnknownToolIsFatal) => None,
        Execution::Unknown => Some(Answer::error("UNKNOWN_TOOL", "This application has no such tool.")),
        Execution::Lost(why) => {
            Some(Answer::error("EXECUTION_UNKNOWN", format!("The tool's answer was lost: {why}")))
        }
    }
}

/// What an execution is known by.
fn execution_key(call: &Call, defects: Defects) -> &str {
    if defects.has(Defect::ForgetsByToolCallId) {
        return &call.tool_call_id;
    }
    if defects.has(Defect::RemembersByEventId) {
        return &call.event_id;
    }
    &call.execution_key
}
