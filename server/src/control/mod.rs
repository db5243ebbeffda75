//! The control API, `/__mock` (interfaces §2): for people and harnesses, never for the client under test. Faults
//! never touch it, and it is not journaled.

mod clock;
mod events;
mod faults;
mod journal;
mod reset;
mod runs;
mod scenario;
mod state;
mod streams;
mod verdict;
mod verify;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde_json::json;

use crate::http::answer::{Answer, ApiError};
use crate::http::caller::Caller;
use crate::http::{by_machine_time, dated, next_request_id, stranger};
use crate::mock::Mock;

/// Where it begins.
pub const PREFIX: &str = "/__mock";

/// All of the control API.
pub fn router(mock: &Arc<Mock>) -> Router<Arc<Mock>> {
    let route = |path: &str, methods: MethodRouter<Arc<Mock>>| {
        (format!("{PREFIX}{path}"), methods.fallback(wrong_method))
    };
    let routes = [
        route("/reset", post(reset::reset)),
        route("/scenario", get(scenario::get).put(scenario::put).delete(scenario::delete)),
        route("/faults", post(faults::add).get(faults::list).delete(faults::clear)),
        route("/faults/{fault}", get(faults::get).delete(faults::remove)),
        route("/clock", get(clock::get).put(clock::put)),
        route("/clock/advance", post(clock::advance)),
        route("/journal", get(journal::get)),
        route("/journal/tail", get(journal::tail)),
        route("/state", get(state::get)),
        route("/verify", post(verify::verify)),
        route("/verdict", get(verdict::get)),
        route("/sessions/{session}/events", post(events::append)),
        route("/sessions/{session}/streams", post(streams::act)),
        route("/runs/{run}/expire", post(runs::expire)),
        route("/runs/{run}/cancel", post(runs::cancel)),
        route("/runs/{run}/resolve", post(runs::resolve)),
    ];
    routes
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| router.route(&path, methods))
        .route(&format!("{PREFIX}/{{*rest}}"), axum::routing::any(no_such_path))
        .layer(from_fn_with_state(Arc::clone(mock), edge))
        // Needs no key, so it stands outside of the edge.
        .route(&format!("{PREFIX}/health"), get(health).fallback(wrong_method_plain))
}

async fn health() -> Response {
    let answer = Answer::ok(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
    by_machine_time(answer.into_response(), &next_request_id())
}

/// Sees `work` through even where its caller leaves meanwhile: it must not be left half-way.
async fn seen_through<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the end of the runtime cancels it, and then nobody waits for the answer.
            Err(_) => std::future::pending().await,
        },
    }
}

async fn no_such_path() -> ApiError {
    ApiError::not_found("path")
}

async fn wrong_method() -> ApiError {
    ApiError::method_not_allowed()
}

async fn wrong_method_plain() -> Response {
    stranger(&ApiError::method_not_allowed(), &next_request_id())
}

/// Lets a request through to its handler with its workspace, and renders what it refuses.
async fn edge(State(mock): State<Arc<Mock>>, mut request: Request, next: Next) -> Response {
    let request_id = next_request_id();
    let caller = match admit(&mock, &request) {
        Ok(caller) => caller,
        Err(refusal) => return stranger(&refusal, &request_id),
    };
    let (run_ids, workspace) = (caller.run_ids, Arc::clone(&caller.workspace));
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    let response = match response.extensions().get::<ApiError>() {
        Some(refusal) => refusal.render_over(&response, &request_id, run_ids),
        None => response,
    };
    dated(response, &request_id, workspace.clock.now())
}

/// Who asks, if he may.
fn admit(mock: &Arc<Mock>, request: &Request) -> Result<Caller, ApiError> {
    if let Some(token) = &mock.options().control_token {
        let sent = request.headers().get("x-mock-control-token");
        if sent.is_none_or(|sent| sent.as_bytes() != token.as_bytes()) {
            let message = "this mock was started with --control-token: send it as X-Mock-Control-Token";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "control_token_required", message));
        }
    }
    Caller::of(mock, request)
}
