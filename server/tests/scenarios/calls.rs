//! What the client does about calls: it executes each once, and sends the results until they are accepted or can't be.

use serde_json::{Value, json};

use crate::client::{Client, End, TRIES, Verdict};
use crate::mistake::Mistake;
use crate::support::text;

impl Client {
    /// Answers what a pause wants and has not been given.
    pub(super) async fn pause(&mut self, run: &str, idle: &Value) -> Option<End> {
        // Its own clock is years ahead of a server that has another year.
        if self.makes(Mistake::JudgesByItsOwnClock) && !idle["created_at"].as_str()?.starts_with("2026") {
            return Some(End::Reported("it is too late".to_owned()));
        }
        let wanted = idle["content"]["stop_reason"]["event_ids"].as_array()?;
        let wanted = wanted.iter().filter_map(|id| id.as_str().map(str::to_owned));
        let open = wanted.filter(|id| !self.answered.contains(id) || self.makes(Mistake::ActsOnEachDelivery));
        let mut open: Vec<String> = open.filter(|id| self.calls.contains_key(id)).collect();
        if self.makes(Mistake::AnswersTheFirstCallOnly) {
            let first = open.len().min(1);
            self.answered.extend(open.drain(first..));
        }
        if open.is_empty() { None } else { self.resume(run, open).await }
    }

    /// Executes the calls, each once, and sends the results until they are accepted or can't be.
    async fn resume(&mut self, run: &str, ids: Vec<String>) -> Option<End> {
        let mut results: Vec<Value> = ids.iter().map(|id| self.result(id)).collect();
        if self.makes(Mistake::DawdlesOverATool) {
            self.connection.moment().await;
        }
        let path = format!("/v1/sessions/{}/runs/{run}/resume", self.session);
        let mut key = self.fresh_key();
        let mut refusals = 0;
        for _ in 0..TRIES {
            let answer = self.connection.post(&path, &key, &json!({ "events": results })).await;
            let verdict = match self.judge(answer.as_ref(), "/accepted_events").await {
                Ok(verdict) => verdict,
                Err(end) => return Some(end),
            };
            match verdict {
                Verdict::Fine => {
                    self.answered.extend(ids);
                    return None;
                }
                Verdict::Again if self.makes(Mistake::MakesANewKeyForEachTry) => key = self.fresh_key(),
                Verdict::Again => {}
                Verdict::No(code) => match code.as_str() {
                    "event_already_resolved" if self.makes(Mistake::InsistsWhenResolved) => {
                        key = self.fresh_key();
                    }
                    "event_expired" if self.makes(Mistake::InsistsWhenExpired) => key = self.fresh_key(),
                    // Whoever answered, the call is answered (C-TOOL-8); what ended is told by the stream.
                    "event_already_resolved" | "event_expired" | "run_not_active" => {
                        self.answered.extend(ids);
                        return None;
                    }
                    "tool_result_invalid" if refusals < 2 => {
                        refusals += 1;
                        key = self.fresh_key();
                        if !self.makes(Mistake::SendsARefusedResultAgain) {
                            results.iter_mut().for_each(|result| corrected(result, refusals));
                        }
                    }
                    _ => return Some(End::Reported(code)),
                },
            }
        }
        Some(End::Reported("no result got through".to_owned()))
    }

    /// The result of a call, as a resume has it.
    fn result(&mut self, id: &str) -> Value {
        let call = self.calls[id].clone();
        let by_call = self.makes(Mistake::AnswersToTheCallsId);
        let reply_to = if by_call { text(&call, "/tool_call_id") } else { id.to_owned() };
        let mut result = json!({ "type": "user.custom_tool_result", "in_reply_to_event_id": reply_to });
        match self.executed(&call) {
            Ok(content) => result["content"] = content,
            Err(code) if self.makes(Mistake::DeclinesInSmallLetters) => {
                result["error"] = json!({ "code": code.to_lowercase(), "message": "No." });
            }
            Err(code) => result["error"] = json!({ "code": code, "message": "No.", "retryable": false }),
        }
        result
    }

    /// What the call returned, which is executed now unless it was before (C-TOOL-1).
    fn executed(&mut self, call: &Value) -> Result<Value, String> {
        let by_call = self.makes(Mistake::ExecutesOncePerCallId);
        let key = text(call, if by_call { "/tool_call_id" } else { "/execution_idempotency_key" });
        if let Some(returned) = self.executed.get(&key) {
            return returned.clone();
        }
        *self.executions.entry(key.clone()).or_default() += 1;
        let returned = (self.tool)(call["name"].as_str().unwrap(), &call["input"]);
        self.executed.insert(key, returned.clone());
        returned
    }
}

/// A result that was refused, made better once, and then given up (C-TOOL-7).
fn corrected(result: &mut Value, refusals: u32) {
    let members = result.as_object_mut().unwrap();
    if refusals == 1 {
        members["content"]["echoed"] = "corrected".into();
    } else {
        members.remove("content");
        let error = json!({ "code": "RESULT_REFUSED", "message": "No result fits.", "retryable": false });
        members.insert("error".to_owned(), error);
    }
}
