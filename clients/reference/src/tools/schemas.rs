//! The input schemas of the tools that a session can call, and checking inputs against them (C-TOOL-19).
//!
//! A session's deployment pins the definition of each tool (DEPLOY-2), so the latest definition is not always the one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use super::Call;
use crate::api::retry::Tries;
use crate::api::{Api, Request};
use crate::json;

/// How often each look-up is tried. A schema that can't be had is not checked against: the tool checks its input too.
const TRIES: u32 = 2;

/// The schemas that have been looked up, by session and tool.
#[derive(Debug, Default)]
pub(crate) struct Schemas(Mutex<HashMap<(String, String), Arc<Validator>>>);

impl Schemas {
    /// Why the call's input doesn't fit, if it doesn't.
    pub(crate) async fn fault(&self, api: &Api, call: &Call) -> Option<String> {
        let input: Value = json::read(&call.input)?;
        let validator = self.of(api, &call.session, &call.name).await?;
        let fault = validator.iter_errors(&input).next()?;
        Some(format!("{}: {}", fault.instance_path(), fault.masked()))
    }

    async fn of(&self, api: &Api, session: &str, tool: &str) -> Option<Arc<Validator>> {
        let key = (session.to_owned(), tool.to_owned());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if known.is_some() {
            return known;
        }
        let schema = pinned_schema(api, session, tool).await?;
        let compiled = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex())
            .build(&schema);
        let validator = Arc::new(compiled.ok()?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&validator));
        Some(validator)
    }
}

/// The input schema of the definition that the session's deployment pins.
async fn pinned_schema(api: &Api, session: &str, tool: &str) -> Option<Value> {
    let tries = || Tries::new(TRIES, session);
    let session = api.call(&Request::session(session), tries()).await.ok()?;
    let deployment =
        api.call(&Request::deployment(session["deployment_id"].as_str()?), tries()).await.ok()?;
    let pinned = deployment["tool_definition_ids"].as_array()?;
    let tools = api.call(&Request::tools(tool), tries()).await.ok()?;
    let tool = tools["data"].as_array()?.iter().find(|found| found["name"] == tool)?;
    let is_pinned = |definition: &&Value| pinned.contains(&definition["id"]);
    let latest = &tool["latest_definition"];
    if is_pinned(&latest) {
        return Some(latest["input_schema"].clone());
    }
    let id = tool["id"].as_str()?;
    let versions = api.list(|cursor| Request::versions(id, cursor), &tries()).await.ok()?;
    versions.iter().find(is_pinned).map(|definition| definition["input_schema"].clone())
}
