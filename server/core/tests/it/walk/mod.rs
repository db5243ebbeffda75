//! Random walks: a world is sent a random way, and a second reading of the contract says what should come of it.
//!
//! A [`plan`] is settings, turns and steps, all made from one seed. [`play`] takes its steps one by one. What the
//! world answers is foretold ([`foretell`], [`keys`]) from what the [`oracle`] has read in the events; what streams
//! read is foretold by the [`watcher`]s. On top of that hold the laws in [`laws`].
//!
//! `PANTHEON_WALKS=20000` takes that many ways instead of a few. A way that fails is told by its seed and by the
//! fewest steps that still fail; `PANTHEON_WALK=SEED` takes that way alone.

mod foretell;
mod keys;
mod laws;
mod oracle;
mod plan;
mod play;
mod rng;
mod watcher;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plan::{Plan, Step};
use play::Walk;

/// How many ways are taken unless told.
const WALKS: u64 = 120;

/// What was found wrong.
type Fault = String;

/// Returns a [`Fault`] unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}
use ensure;

/// What no walk ever meets is not tested by them: so often, at least, each of these must come.
const OFTEN: usize = 3;

const OUTCOMES: [&str; 25] = [
    "Agent",
    "AgentNotDeployed",
    "Appended",
    "Deployment",
    "Done",
    "EventAlreadyResolved",
    "EventExpired",
    "Invalid",
    "InvalidEventReference",
    "InvalidLastEventId",
    "KeyInProgress",
    "KeyReused",
    "LimitExceeded",
    "NotFound",
    "Replayed",
    "Resumed",
    "RunCancelled",
    "RunNotActive",
    "RunNotWaiting",
    "RunQueued",
    "SessionArchived",
    "SessionBusy",
    "SlugTaken",
    "ToolNameTaken",
    "ToolResultInvalid",
];

#[test]
fn any_way_through_a_world_keeps_the_contract() {
    if let Some(seed) = number("PANTHEON_WALK") {
        walk(seed);
        return;
    }
    let mut met = BTreeMap::<String, usize>::new();
    for seed in 0..number("PANTHEON_WALKS").unwrap_or(WALKS).max(WALKS) {
        for outcome in walk(seed) {
            *met.entry(outcome).or_default() += 1;
        }
    }
    for outcome in OUTCOMES {
        assert!(met.get(outcome).is_some_and(|times| *times >= OFTEN), "{outcome} is too rare: {met:?}");
    }
}

/// Takes the way of `seed` and returns what came of its commands.
#[track_caller]
fn walk(seed: u64) -> Vec<String> {
    let plan = Plan::new(seed);
    outcomes(&plan).unwrap_or_else(|fault| {
        let (plan, fault) = shorten(plan, fault);
        let steps: Vec<String> = plan.steps.iter().map(|step| format!("  {step:?}\n")).collect();
        panic!(
            "PANTHEON_WALK={seed}: {fault}\nwith {:#?}\n{:#?}\nafter these steps:\n{}",
            plan.setup,
            plan.turns,
            steps.concat()
        )
    })
}

fn outcomes(plan: &Plan) -> Result<Vec<String>, Fault> {
    let walked = catch_unwind(AssertUnwindSafe(|| {
        let mut walk = Walk::new(plan);
        plan.steps.iter().try_for_each(|step| walk.take(step))?;
        let outcomes = walk.outcomes().collect();
        laws::at_the_end(walk)?;
        Ok(outcomes)
    }));
    walked.unwrap_or_else(|panic| {
        let words =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", words.unwrap_or_default()))
    })
}

/// The same plan with as few steps as still fail: leaves out halves, quarters, down to single steps.
fn shorten(mut plan: Plan, mut fault: Fault) -> (Plan, Fault) {
    let mut size = plan.steps.len();
    while size > 0 {
        let mut start = 0;
        while start < plan.steps.len() {
            let end = (start + size).min(plan.steps.len());
            let rest: Vec<Step> = [&plan.steps[..start], &plan.steps[end..]].concat();
            let shorter = Plan { steps: rest, ..plan.clone() };
            match outcomes(&shorter) {
                Err(found) => (plan, fault) = (shorter, found),
                Ok(_) => start = end,
            }
        }
        size /= 2;
    }
    (plan, fault)
}

#[expect(clippy::disallowed_methods, reason = "a developer asks for more ways, or for one again")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}
