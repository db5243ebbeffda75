//! `/v1/tools` (contract §2).

use axum::extract::Request;
use axum::http::Uri;
use pantheon_core::tool::ToolIx;
use pantheon_core::{Command, Reply};
use serde_json::json;

use super::answer::{Answer, ApiError};
use super::body;
use super::caller::{Caller, Ids};
use super::page::Page;
use super::query;
use crate::decode::Unknown;
use crate::wire;

pub(super) async fn list(caller: Caller, uri: Uri) -> Result<Answer, ApiError> {
    let page = Page::of(&uri)?;
    let name = query::value(&uri, "name");
    let list = caller.workspace.look(|world, _| match &name {
        Some(name) => page.list(world.tool_named(name), |tool| Some(json!(wire::tool::tool(tool)))),
        None => page.list(world.tools(), |tool| Some(json!(wire::tool::tool(tool)))),
    });
    Ok(Answer::ok(&list))
}

pub(super) async fn create(caller: Caller, request: Request) -> Result<Answer, ApiError> {
    let body = body::json(&caller, request).await?;
    let tool = body::decode(&caller, &body, Unknown::Ignored, wire::tool::new_tool)?;
    answer(&caller, Command::CreateTool(tool))
}

pub(super) async fn get(caller: Caller, Ids(tool): Ids<String>) -> Result<Answer, ApiError> {
    let tool = caller.workspace.look(|world, _| world.tool(&tool).map(|(_, tool)| tool.clone()));
    let tool = tool.ok_or_else(|| ApiError::not_found("tool"))?;
    Ok(Answer::ok(&wire::tool::tool(&tool)))
}

pub(super) async fn create_version(
    caller: Caller,
    Ids(tool): Ids<String>,
    request: Request,
) -> Result<Answer, ApiError> {
    let tool = find(&caller, &tool)?;
    let body = body::json(&caller, request).await?;
    let version = body::decode(&caller, &body, Unknown::Refused, wire::tool::new_version)?;
    answer(&caller, Command::AddToolVersion { tool, version })
}

pub(super) async fn list_versions(
    caller: Caller,
    Ids(tool): Ids<String>,
    uri: Uri,
) -> Result<Answer, ApiError> {
    find(&caller, &tool)?;
    let page = Page::of(&uri)?;
    let tool = caller.workspace.look(|world, _| world.tool(&tool).map(|(_, tool)| tool.clone()));
    let definitions = tool.map(|tool| tool.definitions.clone()).unwrap_or_default();
    Ok(Answer::ok(&page.list(&definitions, |definition| Some(json!(wire::tool::definition(definition))))))
}

fn find(caller: &Caller, tool: &str) -> Result<ToolIx, ApiError> {
    let found = caller.workspace.look(|world, _| world.tool(tool).map(|(ix, _)| ix));
    found.ok_or_else(|| ApiError::not_found("tool"))
}

fn answer(caller: &Caller, command: Command) -> Result<Answer, ApiError> {
    let reply = caller.submit(command)?;
    let Reply::Tool(tool) = reply else { return Err(ApiError::unexpected(&reply)) };
    Ok(Answer::created(&wire::tool::tool(&tool)))
}
