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
}

impl Redirects {
    /// `target` with a mark that leads back to the workspace of `caller` and what it was told of the fault.
    pub(crate) fn mark(&self, target: &str, caller: &Caller, faulted: Faulted) -> String {
        let mut given = self.lock();
        given.count += 1;
        let number = given.count;
        let (workspace, generation) = (Arc::downgrade(&caller.workspace), caller.generation);
        given.given.push_back(Redirect { number, workspace, generation, faulted });
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
        let Some(Redirect { workspace, generation, mut faulted, .. }) = found else { return };
        if let Some(workspace) = workspace.upgrade() {
            let with = if has_key { "with an API key" } else { "without an API key" };
            faulted.reason = Some(format!("the redirect was followed {with}"));
            workspace.journal.write_in(generation, workspace.clock.now(), Recorded::Fault(Box::new(faulted)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Given> {
        // Each change is one call on the queue, so a panic elsewhere can't have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
