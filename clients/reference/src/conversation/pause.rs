//! A pause: what is required, and answering it (C-TOOL-3, C-TOOL-12, C-TOOL-13, C-TOOL-19, C-TOOL-20).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Conversation, Ending, Progress, Why, Work};
use crate::api::Request;
use crate::api::outcome::Failure;
use crate::api::retry::Tries;
use crate::application::Application;
use crate::client::Client;
use crate::clock;
use crate::defect::Defect;
use crate::event::{Event, Kind};
use crate::run::RunId;
use crate::tools::resume::{Resume, Resumed, Wanted};
use crate::tools::{Answer, Call, execute};

/// How often the server is asked what a run waits for. If it doesn't say, the events are believed.
const TRIES: u32 = 3;

/// What the server says of a run.
pub(super) struct Confirmed {
    /// What it requires; none when it didn't say.
    required: Option<Vec<String>>,
    /// Whether it has ended. Then the stream tells how, unless that was waited for in vain: `reconciled`.
    is_over: bool,
    reconciled: bool,
    /// Events that were required and had not been read; all of them when an end is reconciled.
    fetched: Vec<Event>,
    /// What is wrong with the inputs, by event.
    faults: HashMap<String, String>,
}

impl<'a, A: Application> Conversation<'a, A> {
    /// Asks what the run requires now. An idle may be history: what followed it is on its way, but the server knows
    /// already (C-TOOL-13). It also knows the calls whose events could not be read (C-TOOL-20).
    pub(super) fn confirm(&mut self) {
        self.ask_server(false);
    }

    /// The same, and when the run has ended, reads from the session's list how: the stream has been silent for too long.
    pub(super) fn reconcile(&mut self) {
        self.ask_server(true);
    }

    fn ask_server(&mut self, reconciles: bool) {
        if self.confirming {
            self.confirm_again = true;
            return;
        }
        if self.client.defects().has(Defect::ExecutesAtTheCall)
            || self.client.defects().has(Defect::ExecutesFromHistory)
        {
            return self.believe_events();
        }
        self.confirming = true;
        let known = self.open_calls();
        let (client, session, run) = (self.client, self.session.clone(), self.run.id.clone());
        let required = self.run.required().to_vec();
        self.work.push(Box::pin(async move {
            Work::Confirmed(Confirmed::ask(client, &session, &run, required, known, reconciles).await)
        }));
    }

    /// Takes what the server says, and begins to answer what it requires.
    pub(super) fn confirmed(&mut self, confirmed: Confirmed) {
        self.confirming = false;
        if std::mem::take(&mut self.confirm_again) {
            return self.confirm();
        }
        for event in &confirmed.fetched {
            if let Kind::ToolCalled(call) = &event.kind {
                self.run.learn(call);
            } else if confirmed.reconciled {
                let changes = self.run.fold(event);
                changes.into_iter().for_each(|change| self.change(change));
            }
        }
        if self.run.end().is_some() {
            return;
        }
        if confirmed.is_over && !confirmed.reconciled {
            return;
        }
        if confirmed.is_over {
            let failure = Failure::new("end_unseen", "the run has ended, and its last event did not come");
            return self.end_within(Why::Unanswered(failure), Duration::ZERO);
        }
        let required = confirmed.required.unwrap_or_else(|| self.run.required().to_vec());
        for event in required {
            match self.run.open_call(&event) {
                Some(call) => self.begin(&call, confirmed.faults.get(&event)),
                None if !self.run.knows(&event) => self.answer_unknown(&event),
                None => {}
            }
        }
    }

    /// Whether the call may be executed.
    pub(super) fn approved(&mut self, call: &Arc<Call>, yes: bool) {
        let Some(Progress::Working(wanted)) = self.calls.get(&call.event_id) else { return };
        let wanted = wanted.subscribe();
        if *wanted.borrow() != Wanted::Yes {
            self.calls.insert(call.event_id.clone(), Progress::Done);
            return;
        }
        let defects = self.client.defects();
        if yes || defects.has(Defect::NoIsYes) {
            return self.execute(call, wanted, None);
        }
        if defects.has(Defect::DeclineIsSilent) {
            return self.answered(call, Resumed::Failed(Failure::new("declined", "the user declined")));
        }
        self.submit(call, wanted, Answer::error("USER_CANCELLED", "The user declined this action."));
    }

    /// Begins to answer a call, unless that is under way or done.
    fn begin(&mut self, call: &Arc<Call>, fault: Option<&String>) {
        let defects = self.client.defects();
        match self.calls.get(&call.event_id) {
            Some(Progress::Working(_) | Progress::Done) if defects.has(Defect::ExecutesOnEveryIdle) => {
                self.execute_again(call);
                return;
            }
            Some(Progress::Working(_) | Progress::Done) => return,
            Some(Progress::Unanswered) | None => {}
        }
        if let Some(failure) = self.mistaken_begin(call) {
            return self.answered(call, Resumed::Failed(failure));
        }
        if matches!(&self.ending, Some(Ending { why: Why::Unanswered(_), .. })) {
            // The call has come again: there is something to do.
            self.ending = None;
        }
        let (sender, wanted) = watch::channel(Wanted::Yes);
        self.calls.insert(call.event_id.clone(), Progress::Working(sender));
        let checks_late = defects.has(Defect::ChecksCallByCall);
        let invalid = fault
            .as_ref()
            .map(|fault| Answer::error("INVALID_INPUT", format!("The input doesn't fit: {fault}")));
        match invalid {
            Some(answer) if !defects.has(Defect::InputUnchecked) && !checks_late => {
                self.submit(call, wanted, answer)
            }
            late => {
                let is_asked = self.app.needs_approval(&call.name) && !defects.has(Defect::NeverAsks);
                if is_asked && !defects.has(Defect::AsksTooLate) && !self.was_approved(call) {
                    return self.ask(call, wanted);
                }
                self.execute(call, wanted, late.filter(|_| checks_late));
            }
        }
    }

    /// Asks for approval; a call that is settled meanwhile asks no more.
    fn ask(&mut self, call: &Arc<Call>, mut wanted: watch::Receiver<Wanted>) {
        let (app, call) = (self.app, Arc::clone(call));
        self.work.push(Box::pin(async move {
            tokio::select! {
                biased;
                _ = wanted.wait_for(|wanted| *wanted != Wanted::Yes) => Work::Answered(call, Some(Resumed::Withdrawn)),
                yes = app.approve(&call) => Work::Approved(call, yes),
            }
        }));
    }

    /// Executes and answers; what the server has accepted or is being sent is never cut short, the rest is.
    fn execute(&mut self, call: &Arc<Call>, mut wanted: watch::Receiver<Wanted>, late: Option<Answer>) {
        let (client, app, call) = (self.client, self.app, Arc::clone(call));
        let (run, started) = (self.run_of(&call), self.run.started(&call.tool_call_id));
        let gate = self.gate();
        let remembers = self.remember_approval(&call);
        self.work.push(Box::pin(async move {
            let defects = client.defects();
            let executing = async {
                let mut failed = match &gate {
                    Some(gate) => Some(gate.lock().await),
                    None => None,
                };
                if let Some(answer) = late {
                    return Some(answer);
                }
                if failed.as_ref().is_some_and(|failed| **failed) && defects.has(Defect::FailureStopsSiblings)
                {
                    return Some(Answer::error("SIBLING_FAILED", "Another tool has failed."));
                }
                let answer = execute::execute(app, client.ledger(), &call, defects).await;
                if let (Some(failed), Some(Answer::Error(_))) = (&mut failed, &answer) {
                    **failed = true;
                }
                answer
            };
            let answer = tokio::select! {
                biased;
                _ = wanted.wait_for(|wanted| *wanted != Wanted::Yes) => {
                    return Work::Answered(call, Some(Resumed::Withdrawn));
                }
                answer = executing => answer,
            };
            if remembers && defects.has(Defect::YesActsTwice) {
                let _ = execute::execute_now(app, &call, defects).await;
            }
            if defects.has(Defect::AsksTooLate) && app.needs_approval(&call.name) {
                let _ = app.approve(&call).await;
            }
            let Some(answer) = answer else { return Work::Answered(call, None) };
            let resume = Resume { client, app, call: &call, run: &run, started: started.as_deref(), wanted };
            let resumed = resume.send(answer).await;
            Work::Answered(call, Some(resumed))
        }));
    }

    /// Answers without executing.
    fn submit(&mut self, call: &Arc<Call>, wanted: watch::Receiver<Wanted>, answer: Answer) {
        let (client, app, call) = (self.client, self.app, Arc::clone(call));
        let (run, started) = (self.run_of(&call), self.run.started(&call.tool_call_id));
        self.work.push(Box::pin(async move {
            let resume = Resume { client, app, call: &call, run: &run, started: started.as_deref(), wanted };
            let resumed = resume.send(answer).await;
            Work::Answered(call, Some(resumed))
        }));
    }

    fn open_calls(&self) -> Vec<Arc<Call>> {
        self.run.required().iter().filter_map(|event| self.run.open_call(event)).collect()
    }

    /// The run that a call belongs to: ours, but for a deliberate mistake.
    fn run_of(&self, call: &Call) -> RunId {
        call.run.clone().unwrap_or_else(|| self.run.id.clone())
    }
}

impl Confirmed {
    /// Asks the server, and reads what is needed to answer: calls that the stream didn't tell, and the schemas.
    async fn ask(
        client: &Client,
        session: &str,
        run: &RunId,
        named: Vec<String>,
        known: Vec<Arc<Call>>,
        reconciles: bool,
    ) -> Self {
        let api = client.api();
        let answer = api.call(&Request::run(session, run), Tries::new(TRIES, session)).await.ok();
        let status = answer.as_ref().and_then(|run| run["status"].as_str()).unwrap_or_default();
        let is_over = matches!(status, "completed" | "failed" | "cancelled");
        let ids = answer.as_ref().and_then(|run| run["required_event_ids"].as_array());
        let required: Option<Vec<String>> =
            ids.map(|ids| ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect());
        let wanted = required.clone().unwrap_or(named);
        let is_known = |event: &String| known.iter().any(|call| call.event_id == *event);
        let reconciled = is_over && reconciles;
        let fetched = if reconciled || !wanted.iter().all(is_known) {
            fetch(client, session, |event| reconciled || wanted.contains(event)).await
        } else {
            Vec::new()
        };
        let learned = fetched
            .iter()
            .filter_map(|event| if let Kind::ToolCalled(call) = &event.kind { Some(&**call) } else { None });
        let mut faults = HashMap::new();
        for call in
            known.iter().map(|call| &**call).chain(learned).filter(|call| wanted.contains(&call.event_id))
        {
            if let Some(fault) = client.schemas.fault(api, call).await {
                faults.insert(call.event_id.clone(), fault);
            }
        }
        Self { required, is_over, reconciled, fetched, faults }
    }
}

/// Reads the events that are wanted from the session's list, where each is as the stream would tell it.
async fn fetch(client: &Client, session: &str, is_wanted: impl Fn(&String) -> bool) -> Vec<Event> {
    let tries = Tries::new(TRIES, session);
    let listed =
        client.api().list_raw(|cursor| Request::events(session, cursor), &tries).await.unwrap_or_default();
    let events = listed.iter().filter_map(|event| Event::listed(event, client.defects()));
    events.filter(|event| event.sse_id.as_ref().is_some_and(&is_wanted)).collect()
}

/// What deliberate mistakes do.
impl<A: Application> Conversation<'_, A> {
    /// Acts on what the events say, without asking.
    fn believe_events(&mut self) {
        for call in self.open_calls() {
            self.begin(&call, None);
        }
    }

    fn mistaken_begin(&self, call: &Call) -> Option<Failure> {
        let defects = self.client.defects();
        let is_first = self.calls.is_empty();
        let has_failed = self.calls.values().any(|progress| matches!(progress, Progress::Unanswered));
        if defects.has(Defect::FirstCallOnly) && !is_first {
            return Some(Failure::new("too_many_calls", "a second call was made"));
        }
        if defects.has(Defect::RefusalDropsSiblings) && has_failed {
            return Some(Failure::new("abandoned", "the answer of another call failed"));
        }
        let now = clock::time_of_day().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
        let made = call.created_at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        let is_late = made.is_some_and(|made| made.as_second() + 30 * 60 <= now.cast_signed());
        (is_late && defects.has(Defect::OwnClockDeadline))
            .then(|| Failure::new("expired", "the deadline has passed"))
    }

    fn execute_again(&mut self, call: &Arc<Call>) {
        let (client, app, call) = (self.client, self.app, Arc::clone(call));
        self.work.push(Box::pin(async move {
            let _ = execute::execute_now(app, &call, client.defects()).await;
            Work::Nothing
        }));
    }

    fn answer_unknown(&mut self, event: &str) {
        if self.client.defects().has(Defect::AnswersUnknownEvent) {
            self.answer_as_unknown(event);
        }
    }

    /// Answers a call whose event can't be read.
    pub(super) fn mistaken_answer(&mut self, event: &Event) {
        let is_broken = event.name == "agent.custom_tool_use" && matches!(event.kind, Kind::Other);
        if is_broken
            && self.client.defects().has(Defect::BrokenCallIsUnknownTool)
            && let Some(id) = &event.sse_id
        {
            self.answer_as_unknown(id);
        }
        if let (Kind::ToolCalled(call), true) =
            (&event.kind, self.client.defects().has(Defect::ExecutesOnReplay))
        {
            let is_replay = self.calls.contains_key(&call.event_id);
            if is_replay {
                self.execute_again(&Arc::new((**call).clone()));
            }
        }
    }

    fn answer_as_unknown(&mut self, event: &str) {
        let call = Call {
            event_id: event.to_owned(),
            pending_input_id: String::new(),
            tool_call_id: String::new(),
            execution_key: event.to_owned(),
            name: "unknown".to_owned(),
            input: crate::json::raw(&serde_json::Value::Null),
            session: self.session.clone(),
            run: Some(self.run.id.clone()),
            created_at: None,
        };
        let (sender, wanted) = watch::channel(Wanted::Yes);
        self.calls.insert(event.to_owned(), Progress::Working(sender));
        self.submit(
            &Arc::new(call),
            wanted,
            Answer::error("UNKNOWN_TOOL", "This application has no such tool."),
        );
    }

    fn gate(&self) -> Option<Arc<tokio::sync::Mutex<bool>>> {
        let defects = self.client.defects();
        let one_by_one = defects.has(Defect::FailureStopsSiblings) || defects.has(Defect::ChecksCallByCall);
        one_by_one.then(|| Arc::clone(&self.gate))
    }

    /// Whether an earlier yes is taken for one to this call.
    fn was_approved(&self, call: &Call) -> bool {
        let defects = self.client.defects();
        let name = defects.has(Defect::YesHoldsForTool).then_some(&call.name);
        let id = defects.has(Defect::YesHoldsForCallId).then_some(&call.tool_call_id);
        name.into_iter().chain(id).any(|known| self.client.was_approved(known))
    }

    /// Remembers a yes; tells whether the call needed one.
    fn remember_approval(&self, call: &Call) -> bool {
        let needed = self.app.needs_approval(&call.name);
        if needed {
            self.client.remember_approval(&call.name);
            self.client.remember_approval(&call.tool_call_id);
        }
        needed
    }
}
