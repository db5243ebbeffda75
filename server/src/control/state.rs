//! `GET /__mock/state`: all that there is, as the API shows it.

use pantheon_core::World;
use pantheon_core::run::InputState;
use serde_json::{Value, json};

use crate::http::answer::Answer;
use crate::http::caller::Caller;
use crate::wire;
use crate::wire::RunIds;

pub(super) async fn get(caller: Caller) -> Answer {
    let run_ids = caller.run_ids;
    let mut state = caller.workspace.look(|world, now| {
        json!({
            "workspace_id": world.settings().workspace_id,
            "now": now,
            "variants": world.settings().variants.names(),
            "tools": world.tools().iter().map(|tool| json!(wire::tool::tool(tool))).collect::<Vec<_>>(),
            "agents": world.agents().iter().flatten().map(|agent| json!(wire::agent::agent(agent))).collect::<Vec<_>>(),
            "deployments": world.deployments().iter().map(|d| json!(wire::agent::deployment(d))).collect::<Vec<_>>(),
            "sessions": world.session_ixs().filter_map(|ix| session(world, ix)).collect::<Vec<_>>(),
            "runs": world.run_ixs().filter_map(|ix| Some(wire::run::run(&world.run_view(ix)?, run_ids))).collect::<Vec<_>>(),
            "pending_inputs": pending_inputs(world, run_ids),
        })
    });
    state["streams"] = streams(&caller);
    Answer::ok(&state)
}

/// A session, with how long its log is.
fn session(world: &World, ix: pantheon_core::session::SessionIx) -> Option<Value> {
    let mut shown = json!(wire::session::session(&world.session_view(ix)?));
    let head = world.session_at(ix)?.log.head();
    shown["events"] = head.into();
    shown["last_event_id"] = world.event_id(ix, head).into();
    Some(shown)
}

fn pending_inputs(world: &World, run_ids: RunIds) -> Vec<Value> {
    let open = world.runs().iter().flat_map(|run| {
        let open = run.inputs.iter().filter(|input| input.state == InputState::Open);
        open.map(move |input| (run, input))
    });
    open.map(|(run, input)| {
        json!({
            "event_id": input.event_id,
            "pending_input_id": input.pending_input_id,
            "tool_call_id": input.tool_call_id,
            "execution_idempotency_key": input.execution_idempotency_key,
            "name": input.name,
            "run_id": run_ids.show(&run.id),
            "session_id": world.session_at(run.session).map(|session| session.id.as_str()),
        })
    })
    .collect()
}

fn streams(caller: &Caller) -> Value {
    let epoch = caller.workspace.epoch();
    let open = caller.workspace.streams.list().into_iter().filter(|stream| stream.place().1 == epoch);
    let shown = open.map(|stream| {
        let last = caller.workspace.look(|world, _| {
            let (ix, _) = world.session(&stream.session_id)?;
            world.event_id(ix, stream.sequence())
        });
        json!({
            "stream_id": stream.id,
            "session_id": stream.session_id,
            "opened_at": stream.opened_at,
            "events": stream.events(),
            "bytes": stream.bytes(),
            "last_event_id": last,
        })
    });
    shown.collect::<Vec<_>>().into()
}
