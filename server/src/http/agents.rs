//! `/v1/agents` (AGENT-1).

use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use pantheon_core::{Command, Reply};
use serde_json::json;

use super::answer::{Answer, ApiError};
use super::body;
use super::caller::{Caller, Ids};
use super::page::Page;
use crate::decode::Unknown;
use crate::wire;

pub(super) async fn list(caller: Caller, uri: Uri) -> Result<Answer, ApiError> {
    let page = Page::of(&uri)?;
    let list = caller
        .workspace
        .look(|world, _| page.list(world.agents(), |agent| Some(json!(wire::agent::agent(agent.as_ref()?)))));
    Ok(Answer::ok(&list))
}

pub(super) async fn create(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let agent = body::decode(&caller, &body, Unknown::Ignored, wire::agent::new_agent)?;
    let reply = caller.submit(Command::CreateAgent(agent))?;
    let Reply::Agent(agent) = reply else { return Err(ApiError::unexpected(&reply)) };
    Ok(Answer::created(&wire::agent::agent(&agent)))
}

pub(super) async fn get(caller: Caller, Ids(agent): Ids<String>) -> Result<Answer, ApiError> {
    let agent = caller.workspace.look(|world, _| world.agent(&agent).map(|(_, agent)| agent.clone()));
    let agent = agent.ok_or_else(|| ApiError::not_found("agent"))?;
    Ok(Answer::ok(&wire::agent::agent(&agent)))
}

pub(super) async fn delete(
    caller: Caller,
    Ids(agent): Ids<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let found = caller.workspace.look(|world, _| world.agent(&agent).map(|(ix, _)| ix));
    let agent = found.ok_or_else(|| ApiError::not_found("agent"))?;
    body::none(&caller, request).await?;
    caller.submit(Command::DeleteAgent(agent))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
