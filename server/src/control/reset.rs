//! `POST /__mock/reset`: clears what it is told to, and says how much that was.

use axum::extract::Request;
use pantheon_core::World;
use serde_json::{Map, Value, json};

use crate::decode::Unknown;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::Caller;
use crate::setup::Setup;

/// What can be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    State,
    Scenario,
    Faults,
    Journal,
    Clock,
}

impl Scope {
    const WORDS: &'static [&'static str] = &["state", "scenario", "faults", "journal", "clock"];
    const ALL: [Self; 5] = [Self::State, Self::Scenario, Self::Faults, Self::Journal, Self::Clock];

    fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|known| *known == word).map(|at| Self::ALL[at])
    }
}

/// None given: all. What is cleared goes back to what the command line gives a new workspace.
pub(super) async fn reset(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let scopes = match body::optional_json(&caller, request).await? {
        None => Vec::new(),
        Some(body) => body::decode(&caller, &body, Unknown::Corrected, |members, faults| {
            let Some(scopes) = members.optional("scopes") else { return Some(Vec::new()) };
            scopes.items(faults, |item, faults| item.word(faults, Scope::WORDS, Scope::parse))
        })?,
    };
    let has = |scope| scopes.is_empty() || scopes.contains(&scope);
    let workspace = &caller.workspace;
    let _turn = workspace.hold_clock().await;
    let mut cleared = Map::new();
    if has(Scope::Scenario) {
        let loaded = workspace.setup().scenarios().count();
        workspace.change_setup(Setup::reset);
        cleared.insert("scenario".into(), loaded.into());
    }
    if has(Scope::Faults) {
        cleared.insert("faults".into(), workspace.faults.len().into());
    }
    if has(Scope::State) {
        let state = workspace.look(|world, _| counted(world));
        cleared.insert("state".into(), state);
    }
    let begins = workspace.setup().clock();
    if has(Scope::State) {
        workspace.restart(has(Scope::Clock).then_some(begins))?;
    } else if has(Scope::Clock) {
        workspace.begin_clock(begins);
    }
    if has(Scope::Clock) {
        cleared.insert("clock".into(), workspace.clock.now().to_string().into());
    }
    if has(Scope::Scenario) && !has(Scope::State) {
        let setup = workspace.setup();
        workspace.change(|world, now| {
            world.adjust(now, |settings| setup.adjust(settings));
            world.set_script(setup.script());
        });
    }
    // After the clock, since a time to live is counted from now on.
    if has(Scope::Faults) {
        workspace.arm_as_at_first();
    }
    if has(Scope::Journal) {
        cleared.insert("journal".into(), workspace.journal.clear().into());
    }
    workspace.settled().await;
    Ok(Answer::ok(&json!({ "cleared": cleared })))
}

/// How much there is in a world.
fn counted(world: &World) -> Value {
    json!({
        "tools": world.tools().len(),
        "agents": world.agents().iter().flatten().count(),
        "deployments": world.deployments().len(),
        "sessions": world.sessions().len(),
        "runs": world.runs().len(),
        "streams": world.open_streams(),
    })
}
