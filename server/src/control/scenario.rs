//! `PUT`, `GET`, `DELETE /__mock/scenario`.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::apply;
use crate::http::answer::{Answer, ApiError};
use crate::http::body;
use crate::http::caller::Caller;
use crate::http::query;
use crate::scenario::Scenario;
use crate::setup::Setup;
use crate::workspace::Workspace;

/// Loads a scenario, YAML or JSON, into a fresh workspace; with `?reset=false` on top of what there is.
pub(super) async fn put(caller: Caller, uri: Uri, request: Request) -> Result<Answer, ApiError> {
    query::only(&uri, &["reset"])?;
    let keeps_state = query::parsed(&uri, "reset", "true or false", |text| text.parse().ok())? == Some(false);
    let sent = body::bytes(&caller, request).await?;
    let scenario = match Scenario::read_bytes(&sent, "scenario") {
        Ok(scenario) => Arc::new(scenario),
        Err(problems) => return Err(ApiError::invalid_scenario(&problems)),
    };
    let workspace = caller.workspace;
    super::seen_through(async move {
        let _turn = workspace.hold_clock().await;
        if keeps_state {
            apply::add(&workspace, &scenario).await?;
        } else {
            let before = workspace.setup();
            workspace.change_setup(|setup| setup.load(Some(Arc::clone(&scenario))));
            if let Err(refusal) = begin_anew(&workspace) {
                workspace.change_setup(|setup| *setup = before);
                return Err(refusal);
            }
        }
        workspace.settled().await;
        Ok(Answer::ok(&json!({ "scenario": scenario.name, "now": workspace.clock.now() })))
    })
    .await
}

/// What is loaded, and how often each step has played.
pub(super) async fn get(caller: Caller) -> Answer {
    let setup = caller.workspace.setup();
    let loaded: Vec<Value> = setup.scenarios().map(|scenario| scenario.source.clone()).collect();
    let turns = caller.workspace.look(|world, _| world.plays().to_vec());
    let scenario = loaded.last().cloned();
    let faults = caller.workspace.faults.shown(caller.workspace.clock.now());
    Answer::ok(&json!({
        "scenario": scenario,
        "loaded": loaded,
        "seed": setup.seed(),
        "fired": { "steps": turns, "faults": faults },
    }))
}

/// Back to what the command line gives a new workspace, in a fresh one.
pub(super) async fn delete(caller: Caller) -> Result<Response, ApiError> {
    let workspace = &caller.workspace;
    let _turn = workspace.hold_clock().await;
    workspace.change_setup(Setup::reset);
    begin_anew(workspace)?;
    workspace.settled().await;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn begin_anew(workspace: &Arc<Workspace>) -> Result<(), ApiError> {
    workspace.restart(Some(workspace.setup().clock()))?;
    workspace.arm();
    workspace.journal.clear();
    Ok(())
}
