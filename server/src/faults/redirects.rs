//! Redirects that clients may follow: each carries a mark, so that whoever comes back is known, with a key or without.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::http::caller::Caller;
use crate::journal::{Faulted, Recorded};
use crate::workspace::Workspace;

/// The query member that carries the mark.
const MARK: &str = "mock_redirect";

/// How many redirects are remembered; of more, the oldest go.
const MOST: usize = 10_000;

/// The redirects of a server.
#[derive(Debug, Default)]
pub(crate) struct Redirects(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    count: u64,
    given: VecDeque<Redirect>,
}

/// A redirect that was given.
#[derive(Debug, Clone)]
struct Redirect {
    number: u64,
    workspace: Weak<Workspace>,
    /// The journal's generation that it belongs to.
    generation: u64,
    faulted: Faulted,
    /// Whether it leads to another origin, for which the key is not.
    is_elsewhere: bool,
}

impl Redirects {
    /// `target` with a mark that leads back to the workspace of `caller` and what it was told of the fault. The request
    /// that is redirected was for `host`.
    pub(crate) fn mark(&self, target: &str, host: Option<&str>, caller: &Caller, faulted: Faulted) -> String {
        let mut given = self.lock();
        given.count += 1;
        let number = given.count;
        let (workspace, generation) = (Arc::downgrade(&caller.workspace), caller.generation);
        given.given.push_back(Redirect {
            number,
            workspace,
            generation,
            faulted,
            is_elsewhere: is_elsewhere(target, host),
        });
        if given.given.len() > MOST {
            given.given.pop_front();
        }
        let (before, fragment) = target.split_once('#').map_or((target, None), |(b, f)| (b, Some(f)));
        let joint = if before.contains('?') { '&' } else { '?' };
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        format!("{before}{joint}{MARK}={number}{fragment}")
    }

    /// Notes in the journal of the workspace that a redirect came from that a request with that `query` follows it,
    /// unless the journal was cleared meanwhile.
    pub(crate) fn note(&self, query: Option<&str>, has_key: bool) {
        // Nearly no request has a query that ends so.
        let Some((_, number)) = query.and_then(|query| query.rsplit_once(MARK)) else { return };
        let Some(number) = number.strip_prefix('=').and_then(|number| number.parse::<u64>().ok()) else {
            return;
        };
        let found = self.lock().given.iter().find(|given| given.number == number).cloned();
        let Some(Redirect { workspace, generation, mut faulted, is_elsewhere, .. }) = found else { return };
        if let Some(workspace) = workspace.upgrade() {
            let with = if has_key { "with an API key" } else { "without an API key" };
            let to = if is_elsewhere { " to another origin" } else { "" };
            faulted.reason = Some(format!("the redirect{to} was followed {with}"));
            workspace.journal.write_in(generation, workspace.clock.now(), Recorded::Fault(Box::new(faulted)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Given> {
        // Each change is one call on the queue, so a panic elsewhere can't have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether `target` is of another origin than `host`, of which it is known by the name that it was asked under.
fn is_elsewhere(target: &str, host: Option<&str>) -> bool {
    let Some((_, rest)) = target.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    !host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
}
