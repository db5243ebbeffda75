//! The names of routes, as the journal and scenario files call them (interfaces §2).

use axum::http::Method;

/// Method, path and name of each route.
const ROUTES: &[(&Method, &str, &str)] = &[
    (&Method::GET, "/v1/tools", "tools.list"),
    (&Method::POST, "/v1/tools", "tools.create"),
    (&Method::GET, "/v1/tools/{tool}", "tools.get"),
    (&Method::POST, "/v1/tools/{tool}/versions", "tools.versions.create"),
    (&Method::GET, "/v1/tools/{tool}/versions", "tools.versions.list"),
    (&Method::POST, "/v1/agents", "agents.create"),
    (&Method::GET, "/v1/agents", "agents.list"),
    (&Method::GET, "/v1/agents/{agent}", "agents.get"),
    (&Method::DELETE, "/v1/agents/{agent}", "agents.delete"),
    (&Method::POST, "/v1/deployments", "deployments.create"),
    (&Method::GET, "/v1/deployments", "deployments.list"),
    (&Method::GET, "/v1/deployments/{deployment}", "deployments.get"),
    (&Method::POST, "/v1/sessions", "sessions.create"),
    (&Method::GET, "/v1/sessions", "sessions.list"),
    (&Method::GET, "/v1/sessions/{session}", "sessions.get"),
    (&Method::POST, "/v1/sessions/{session}/archive", "sessions.archive"),
    (&Method::POST, "/v1/sessions/{session}/runs", "runs.create"),
    (&Method::GET, "/v1/sessions/{session}/runs", "runs.list"),
    (&Method::GET, "/v1/sessions/{session}/runs/{run}", "runs.get"),
    (&Method::POST, "/v1/sessions/{session}/runs/{run}/resume", "runs.resume"),
    (&Method::POST, "/v1/sessions/{session}/runs/{run}/cancel", "runs.cancel"),
    (&Method::GET, "/v1/sessions/{session}/events", "events.list"),
    (&Method::GET, "/v1/sessions/{session}/events/stream", "events.stream"),
];

/// The names of all routes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|(.., name)| *name)
}

/// A bit of its own for each route.
pub(crate) fn bit(name: &str) -> u32 {
    const { assert!(ROUTES.len() <= u32::BITS as usize, "each route has a bit") }
    ROUTES.iter().position(|(.., known)| *known == name).map_or(0, |at| 1 << at)
}

/// The name of the route for `method` on the path template `template`. `HEAD` counts as `GET`.
pub(super) fn name(method: &Method, template: &str) -> Option<&'static str> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    ROUTES.iter().find(|(of, path, _)| *of == method && *path == template).map(|(.., name)| *name)
}
