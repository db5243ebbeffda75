//! Evidence of a workspace that lives.

use std::sync::Arc;

use super::evidence::Evidence;
use crate::journal::Kind;
use crate::wire;
use crate::wire::RunIds;
use crate::workspace::Workspace;

/// What entries can tell something that is judged: not single frames, which nobody is asked about.
const JUDGED: [Kind; 5] = [Kind::Request, Kind::StreamOpen, Kind::StreamClose, Kind::Fault, Kind::Deadline];

impl Evidence {
    /// All that is known of `workspace`, once what is due has happened. A full journal takes a while to read, so not
    /// on a thread that others wait for.
    pub(crate) fn of(workspace: &Arc<Workspace>) -> Self {
        let (runs, run_ids) = workspace.look(|world, _| {
            let views: Vec<_> = world.run_ixs().filter_map(|ix| world.run_view(ix)).collect();
            (views, RunIds { dashed: world.settings().variants.dashed_run_ids })
        });
        let began = workspace.began();
        let page = workspace.journal.page(0, &JUDGED, usize::MAX);
        let key = workspace.key().expose();
        // Events come after the entries, so that an entry never speaks of an event that isn't there.
        let (events, appended) = workspace
            .events()
            .into_iter()
            .filter_map(|(json, moment)| Some((serde_json::from_slice(&json).ok()?, moment)))
            .unzip();
        Self {
            entries: page.entries.iter().map(|entry| entry.render(key)).collect(),
            evicted: page.evicted,
            events,
            appended,
            runs: runs.iter().map(|run| wire::run::run(run, run_ids)).collect(),
            told: workspace.streams.all_told(),
            began,
            lost: page.lost,
        }
    }
}
