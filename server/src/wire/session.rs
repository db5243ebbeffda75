//! Sessions (SESS-1, SESS-2).

use pantheon_core::Timestamp;
use pantheon_core::session::{NewSession, SessionView};
use serde::Serialize;
use serde_json::{Map, Value};

use super::agent::optional_text;
use crate::decode::{Faults, Members};

/// A session as answers show it.
#[derive(Debug, Serialize)]
pub struct SessionBody<'a> {
    id: &'a str,
    agent_slug: &'a str,
    deployment_id: &'a str,
    status: &'static str,
    title: Option<&'a str>,
    metadata: &'a Map<String, Value>,
    user_id: Option<&'a str>,
    environment_id: Option<&'a str>,
    model: Option<&'a str>,
    requires_sandbox: bool,
    sandbox_status: &'static str,
    sandbox_id: Option<&'a str>,
    created_at: Timestamp,
    archived_at: Option<Timestamp>,
}

/// Renders a session.
pub fn session(session: &SessionView) -> SessionBody<'_> {
    SessionBody {
        id: &session.id,
        agent_slug: &session.deployment.agent_slug,
        deployment_id: &session.deployment.id,
        status: session.status,
        title: session.spec.title.as_deref(),
        metadata: &session.spec.metadata,
        user_id: session.spec.user_id.as_deref(),
        environment_id: session.spec.environment_id.as_deref(),
        model: session.spec.model.as_deref(),
        requires_sandbox: session.deployment.requires_sandbox,
        // There are no sandboxes here: none is ever begun.
        sandbox_status: "none",
        sandbox_id: None,
        created_at: session.created_at,
        archived_at: session.archived_at,
    }
}

/// Reads a request for a new session. Whether slug and deployment fit is judged when it is opened, but one of them
/// must be there.
pub fn new_session(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<NewSession> {
    let agent_slug = optional_text(members, "agent_slug", faults);
    let deployment_id = optional_text(members, "deployment_id", faults);
    if !members.has("agent_slug") && !members.has("deployment_id") {
        members.fault(faults, "either agent_slug or deployment_id is required");
    }
    let title = optional_text(members, "title", faults);
    let metadata = members.optional("metadata").and_then(|node| node.map(faults)).cloned();
    Some(NewSession {
        agent_slug,
        deployment_id,
        title,
        metadata: metadata.unwrap_or_default(),
        user_id: optional_text(members, "user_id", faults),
        environment_id: optional_text(members, "environment_id", faults),
        model: optional_text(members, "model", faults),
    })
}
