//! Redirects that clients may follow: each carries a mark, so that whoever comes back is known, with a key or without.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

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
    given: VecDeque<(u64, Weak<Workspace>, Faulted)>,
}

impl Redirects {
    /// `target` with a mark that leads back to `workspace` and what it was told of the fault.
    pub(crate) fn mark(&self, target: &str, workspace: &Arc<Workspace>, faulted: Faulted) -> String {
        let mut given = self.lock();
        given.count += 1;
        let number = given.count;
        given.given.push_back((number, Arc::downgrade(workspace), faulted));
        if given.given.len() > MOST {
            given.given.pop_front();
        }
        let (before, fragment) = target.split_once('#').map_or((target, None), |(b, f)| (b, Some(f)));
        let joint = if before.contains('?') { '&' } else { '?' };
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        format!("{before}{joint}{MARK}={number}{fragment}")
    }

    /// Notes in the journal of the workspace that a redirect came from that a request with that `query` follows it.
    pub(crate) fn note(&self, query: Option<&str>, has_key: bool) {
        // Nearly no request has a query that ends so.
        let Some((_, number)) = query.and_then(|query| query.rsplit_once(MARK)) else { return };
        let Some(number) = number.strip_prefix('=').and_then(|number| number.parse::<u64>().ok()) else {
            return;
        };
        let found = self
            .lock()
            .given
            .iter()
            .find(|(known, ..)| *known == number)
            .map(|(_, workspace, faulted)| (workspace.clone(), faulted.clone()));
        let Some((workspace, mut faulted)) = found else { return };
        if let Some(workspace) = workspace.upgrade() {
            let with = if has_key { "with an API key" } else { "without an API key" };
            faulted.reason = Some(format!("the redirect was followed {with}"));
            workspace.journal.write(workspace.clock.now(), Recorded::Fault(Box::new(faulted)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Given> {
        // Each change is one call on the queue, so a panic elsewhere can't have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
