//! Evidence of a workspace that lives.

use std::sync::Arc;

use super::evidence::Evidence;
use crate::journal::Kind;
use crate::wire;
use crate::wire::RunIds;
use crate::workspace::Workspace;

impl Evidence {
    /// All that is known of `workspace`, once what is due has happened. A full journal takes a while to read.
    pub(crate) fn of(workspace: &Arc<Workspace>) -> Self {
        let (events, runs, run_ids) = workspace.look(|world, _| {
            let logs = world.sessions().iter().map(|session| &session.log);
            let events: Vec<_> =
                logs.flat_map(|log| (1..=log.head()).filter_map(|at| log.json(at))).collect();
            let views: Vec<_> = world.run_ixs().filter_map(|ix| world.run_view(ix)).collect();
            (events, views, RunIds { dashed: world.settings().variants.dashed_run_ids })
        });
        let page =
            workspace.journal.page(0, &[Kind::Request, Kind::StreamOpen, Kind::StreamClose], usize::MAX);
        let key = workspace.key().expose();
        Self {
            entries: page.entries.iter().map(|entry| entry.render(key)).collect(),
            evicted: page.evicted,
            events: events.iter().filter_map(|json| serde_json::from_slice(json).ok()).collect(),
            runs: runs.iter().map(|run| wire::run::run(run, run_ids)).collect(),
        }
    }
}
