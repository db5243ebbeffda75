//! The API of Pantheon, `/v1`: each handler parses, submits and renders.

mod agents;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod caller;
mod deployments;
mod edge;
mod events;
mod leaving;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod route;
mod runs;
mod sessions;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

pub(crate) use edge::{by_machine_time, dated, http_date, next_request_id, stranger};

use crate::mock::Mock;
use answer::ApiError;

/// All of `/v1`. Every answer passes the edge: key, request id, date, journal.
pub fn router(mock: &Arc<Mock>) -> Router<Arc<Mock>> {
    let route =
        |path: &str, methods: MethodRouter<Arc<Mock>>| (path.to_owned(), methods.fallback(wrong_method));
    let routes = [
        route("/v1/tools", get(tools::list).post(tools::create)),
        route("/v1/tools/{tool}", get(tools::get)),
        route("/v1/tools/{tool}/versions", get(tools::list_versions).post(tools::create_version)),
        route("/v1/agents", get(agents::list).post(agents::create)),
        route("/v1/agents/{agent}", get(agents::get).delete(agents::delete)),
        route("/v1/deployments", get(deployments::list).post(deployments::create)),
        route("/v1/deployments/{deployment}", get(deployments::get)),
        route("/v1/sessions", get(sessions::list).post(sessions::create)),
        route("/v1/sessions/{session}", get(sessions::get)),
        route("/v1/sessions/{session}/archive", post(sessions::archive)),
        route("/v1/sessions/{session}/runs", get(runs::list).post(runs::create)),
        route("/v1/sessions/{session}/runs/{run}", get(runs::get)),
        route("/v1/sessions/{session}/runs/{run}/resume", post(runs::resume)),
        route("/v1/sessions/{session}/runs/{run}/cancel", post(runs::cancel)),
        route("/v1/sessions/{session}/events", get(events::list)),
        route("/v1/sessions/{session}/events/stream", get(events::stream).head(events::probe)),
    ];
    routes
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| router.route(&path, methods))
        .fallback(no_such_path)
        .layer(from_fn_with_state(Arc::clone(mock), edge::edge))
}

async fn no_such_path() -> ApiError {
    ApiError::not_found("path")
}

async fn wrong_method() -> ApiError {
    ApiError::method_not_allowed()
}
