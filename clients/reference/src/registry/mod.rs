//! Making sure that a tool exists as it is given, and is deployed (C-REG-1 to C-REG-4).

mod definition;

use serde_json::{Value, json};

use crate::api::code::Code;
use crate::api::outcome::{Failure, Judgement};
use crate::api::retry::Tries;
use crate::api::{Api, Request};
use crate::defect::Defect;
use definition::{definition, is_equal};

/// How often each request is tried.
const TRIES: u32 = 7;

/// How often it is begun anew, when the answer to something that was to be made is lost.
const ROUNDS: u32 = 4;

/// What was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The tool.
    pub tool_id: String,
    /// Its definition.
    pub definition_id: String,
    /// Its version.
    pub version: u64,
    /// A deployment of the agent that binds the definition.
    pub deployment_id: String,
}

/// Makes sure that `tool` exists as it is given, and is deployed with the agent.
///
/// # Errors
/// When the server refuses.
pub async fn register(api: &Api, tool: &Value, agent_slug: &str) -> Result<Registered, Failure> {
    let registered = ensure_tool(api, tool).await?;
    let part = |pointer: &str| {
        let text = registered.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| Failure::new("no_tool", &format!("the server described a tool without {pointer}")))
    };
    let (tool_id, mut definition_id) = (part("/id")?, part("/latest_definition/id")?);
    if api.defects.has(Defect::BindsToolId) {
        definition_id.clone_from(&tool_id);
    }
    if api.defects.has(Defect::BindsFirstDefinition) {
        definition_id = first_definition(api, &tool_id).await.unwrap_or(definition_id);
    }
    let deployment_id = ensure_deployment(api, agent_slug, &tool_id, &definition_id).await?;
    let version = registered["latest_version"].as_u64().unwrap_or_default();
    Ok(Registered { tool_id, definition_id, version, deployment_id })
}

/// What came of asking for something to be made.
enum Made {
    Yes(Value),
    /// Whether it was made is not known: look again.
    Unknown(Failure),
}

/// The tool as it is given: found equal, given a version, or created.
async fn ensure_tool(api: &Api, tool: &Value) -> Result<Value, Failure> {
    let mut tries = Tries::new(ROUNDS, "register");
    loop {
        let made = match look_up(api, tool).await? {
            Some(found) if is_equal(tool, &found["latest_definition"]) => return Ok(found),
            Some(found) => add_version(api, tool, found["id"].as_str().unwrap_or_default()).await?,
            None => create(api, tool).await?,
        };
        match made {
            Made::Yes(tool) => return Ok(tool),
            Made::Unknown(failure) => tries.wait(crate::api::retry_after::Hint::None, failure).await?,
        }
    }
}

/// The tool of exactly that name.
async fn look_up(api: &Api, tool: &Value) -> Result<Option<Value>, Failure> {
    if api.defects.has(Defect::CreatesWithoutLookUp) {
        return Ok(None);
    }
    let name = tool["name"].as_str().unwrap_or_default();
    let any = api.defects.has(Defect::TakesFirstListedTool);
    let request = if any { Request::get("/v1/tools") } else { Request::tools(name) };
    let answer = api.call(&request, Tries::new(TRIES, name)).await?;
    let found = answer["data"].as_array().into_iter().flatten().find(|found| found["name"] == name || any);
    Ok(found.cloned())
}

/// Creates the tool. A name that is taken after all, by another or by our own lost request, gets a version.
async fn create(api: &Api, tool: &Value) -> Result<Made, Failure> {
    let mut body = definition(tool, api.defects);
    for name in ["name", "display_name"] {
        if let Some(value) = tool.get(name) {
            body[name] = value.clone();
        }
    }
    match make(api, &Request::create_tool(&body)).await {
        Err(failure) if failure.known() == Some(Code::IdempotencyConflict) => {
            if api.defects.has(Defect::ConflictIsFatal) {
                return Err(failure);
            }
            if api.defects.has(Defect::ConflictRenames) {
                body["name"] = json!(format!("{}_2", tool["name"].as_str().unwrap_or_default()));
                return make(api, &Request::create_tool(&body)).await;
            }
            match failure.error["details"]["tool_id"].as_str() {
                Some(id) => add_version(api, tool, id).await,
                None => Ok(Made::Unknown(failure)),
            }
        }
        made => made,
    }
}

async fn add_version(api: &Api, tool: &Value, id: &str) -> Result<Made, Failure> {
    let body = definition(tool, api.defects);
    let body = if api.defects.has(Defect::VersionWithName) { tool } else { &body };
    make(api, &Request::create_version(id, body)).await
}

/// Asks for something to be made. That is not repeated blindly: it would be made twice.
async fn make(api: &Api, request: &Request) -> Result<Made, Failure> {
    match api.send(request).await.judge(api.defects) {
        Judgement::Accepted(body) if body["id"].is_string() => Ok(Made::Yes(body)),
        Judgement::Accepted(_) => {
            Ok(Made::Unknown(Failure::new("no_answer", "a 2xx that describes nothing")))
        }
        Judgement::Refused(failure) => Err(failure),
        Judgement::Again { after, failure, .. } => {
            // The wait that the server asks for; what follows is a look, not a repetition.
            Tries::new(2, &request.path).wait(after, failure.clone()).await?;
            Ok(Made::Unknown(failure))
        }
    }
}

/// A deployment of the agent that binds the definition, and of other tools what the newest one binds.
async fn ensure_deployment(
    api: &Api,
    agent_slug: &str,
    tool: &str,
    definition: &str,
) -> Result<String, Failure> {
    let tries = Tries::new(TRIES, agent_slug);
    let agents = api.list(Request::agents, &tries).await?;
    let agent = agents.iter().find(|agent| agent["slug"] == agent_slug);
    let agent = agent.and_then(|agent| agent["id"].as_str());
    let agent =
        agent.ok_or_else(|| Failure::new("no_agent", &format!("there is no agent {agent_slug:?}")))?;
    let mut rounds = Tries::new(ROUNDS, "deploy");
    loop {
        let deployments = api.list(Request::deployments, &tries).await?;
        let newest = deployments.iter().rfind(|deployment| deployment["agent_id"] == agent);
        let bound = newest.and_then(|newest| newest["tool_definition_ids"].as_array());
        let bound: Vec<_> = bound.into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(id) = newest.and_then(|newest| newest["id"].as_str())
            && (bound.contains(&definition) || api.defects.has(Defect::NoNewDeployment))
        {
            return Ok(id.to_owned());
        }
        let versions = api.list(|cursor| Request::versions(tool, cursor), &tries).await?;
        let is_other = |id: &&str| !versions.iter().any(|version| version["id"] == **id);
        let ids: Vec<_> = bound.into_iter().filter(is_other).chain([definition]).collect();
        let body = json!({ "agent_id": agent, "tool_definition_ids": ids });
        match make(api, &Request::create_deployment(&body)).await? {
            Made::Yes(deployment) => return Ok(deployment["id"].as_str().unwrap_or_default().to_owned()),
            Made::Unknown(failure) => rounds.wait(crate::api::retry_after::Hint::None, failure).await?,
        }
    }
}

/// The tool's first definition; a deliberate mistake binds it.
async fn first_definition(api: &Api, tool: &str) -> Option<String> {
    let versions = api.list(|cursor| Request::versions(tool, cursor), &Tries::new(TRIES, tool)).await.ok()?;
    versions.first()?["id"].as_str().map(str::to_owned)
}
