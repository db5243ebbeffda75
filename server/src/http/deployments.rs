//! `/v1/deployments` (DEPLOY-1, DEPLOY-2).

use axum::extract::Request;
use axum::http::Uri;
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
    let list = caller.workspace.look(|world, _| {
        page.list(world.deployments(), |deployment| Some(json!(wire::agent::deployment(deployment))))
    });
    Ok(Answer::ok(&list))
}

pub(super) async fn create(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let deployment = body::decode(&caller, &body, Unknown::Ignored, wire::agent::new_deployment)?;
    let reply = caller.submit(Command::CreateDeployment(deployment))?;
    let Reply::Deployment(deployment) = reply else { return Err(ApiError::unexpected(&reply)) };
    Ok(Answer::created(&wire::agent::deployment(&deployment)))
}

pub(super) async fn get(caller: Caller, Ids(deployment): Ids<String>) -> Result<Answer, ApiError> {
    let found = caller.workspace.look(|world, _| world.deployment(&deployment).cloned());
    let deployment = found.ok_or_else(|| ApiError::not_found("deployment"))?;
    Ok(Answer::ok(&wire::agent::deployment(&deployment)))
}
