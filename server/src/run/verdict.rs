//! The verdict: what the scenario expects, and what the client did wrong by the contract, of every workspace that was
//! used.

use std::sync::Arc;

use crate::clock::Mode;
use crate::exit::Exit;
use crate::mock::Mock;
use crate::verdict::{self, Offence, Time};
use crate::verify::{self, Evidence, Failure, Verdict, Verified};
use crate::workspace::{ApiKey, Workspace};

/// What is to be said of all that was used.
#[derive(Debug)]
pub(super) struct Judgement {
    /// Each workspace, in order of its first use; at least one.
    pub(super) workspaces: Vec<Judged>,
    /// What concerns none of them alone.
    pub(super) notes: Vec<String>,
}

/// What is to be said of one workspace.
#[derive(Debug)]
pub(super) struct Judged {
    /// What it is called.
    pub(super) workspace_id: String,
    /// The worst of all that follows.
    pub(super) verdict: Verdict,
    /// How many expectations there were.
    pub(super) expectations: usize,
    /// Those that do not hold, or of which it can't be told.
    pub(super) failures: Vec<Failure>,
    /// What the client did wrong, each with what the entries that show it were.
    pub(super) offences: Vec<(Offence, Vec<String>)>,
    /// What changes no verdict, and may explain one.
    pub(super) notes: Vec<String>,
    /// What must not be shown.
    pub(super) key: ApiKey,
}

impl Judgement {
    /// The worst of all workspaces.
    pub(super) fn verdict(&self) -> Verdict {
        self.workspaces.iter().map(|judged| judged.verdict).max().unwrap_or(Verdict::Pass)
    }

    /// The exit code that tells it.
    pub(super) fn exit(&self) -> Exit {
        match self.verdict() {
            Verdict::Pass => Exit::Stopped,
            Verdict::Fail => Exit::Failed,
            Verdict::Inconclusive => Exit::Inconclusive,
        }
    }
}

/// Judges every workspace that was used, and that of the exported `key` if none was.
pub(super) async fn judge(mock: &Arc<Mock>, key: &ApiKey) -> Judgement {
    let used: Vec<_> = mock.workspaces().into_iter().filter(|workspace| was_used(workspace)).collect();
    let mut notes = Vec::new();
    if used.is_empty() {
        notes.push("nothing was asked of the mock: does the command read PANTHEON_BASE_URL?".to_owned());
    } else if used.iter().all(|workspace| workspace.key() != key) {
        notes
            .push("the key of PANTHEON_API_KEY was not used; what came with other keys is judged".to_owned());
    }
    // The bounds may be too small for a workspace; then there is nothing to judge, and the command was told.
    let judged = if used.is_empty() { mock.workspace(key).into_iter().collect() } else { used };
    // A full journal takes a while to read, and streams may still be open.
    let workspaces = tokio::task::spawn_blocking(move || judged.iter().map(judge_one).collect()).await;
    Judgement {
        workspaces: workspaces.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())),
        notes,
    }
}

/// Whether a client ever came to it, or somebody gave it a scenario of its own.
fn was_used(workspace: &Workspace) -> bool {
    workspace.journal.page(0, &[], 0).next > 0 || workspace.setup().was_given()
}

fn judge_one(workspace: &Arc<Workspace>) -> Judged {
    workspace.settle();
    let evidence = Evidence::of(workspace);
    let expectations = workspace.setup().expectations().unwrap_or_default();
    let Verified { verdict, failures } = verify::verify(&expectations, &evidence);
    let offences = verdict::offences(&evidence, Time::IsOver);
    let verdict = verdict.max(verdict::verdict(&offences, &evidence));
    let offences: Vec<_> = offences
        .into_iter()
        .map(|offence| {
            let entries = offence.entries.iter().map(|seq| evidence.entry(*seq)).collect();
            (offence, entries)
        })
        .collect();
    Judged {
        workspace_id: workspace.look(|world, _| world.settings().workspace_id.clone()),
        verdict,
        expectations: expectations.len(),
        failures,
        offences,
        notes: notes(workspace),
        key: workspace.key().clone(),
    }
}

fn notes(workspace: &Arc<Workspace>) -> Vec<String> {
    let now = workspace.clock.now();
    let never = workspace.faults.shown(now).into_iter().filter(|fault| fault["fired"] == 0);
    let mut notes: Vec<String> = never
        .map(|fault| {
            let matches = match fault["seen"].as_u64() {
                Some(seen) if seen > 0 => format!("it was not for any of {seen} matches"),
                Some(_) | None => "nothing matched".to_owned(),
            };
            format!("the fault {} never fired: {matches} {}", fault["id"], fault["at"])
        })
        .collect();
    let waits =
        workspace.look(|world, _| world.next_deadline()).into_iter().chain(workspace.faults.waits.next(now));
    if workspace.clock.mode() == Mode::Virtual
        && let Some(due) = waits.min()
    {
        notes.push(format!(
            "the clock is virtual and stands at {now}, and something waits for {due}: only POST \
             /__mock/clock/advance moves it"
        ));
    }
    notes
}
