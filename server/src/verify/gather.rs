//! All that a workspace knows of what happened, for those who judge.

use std::sync::Arc;

use super::Evidence;
use crate::journal::Kind;
use crate::wire;
use crate::wire::RunIds;
use crate::workspace::Workspace;

/// What entries can tell something that is judged: not single frames, which nobody is asked about.
const JUDGED: [Kind; 5] = [Kind::Request, Kind::StreamOpen, Kind::StreamClose, Kind::Fault, Kind::Deadline];

/// All that is known of `workspace`, once what is due has happened. It takes as long as the journal is full, so not on
/// a thread that others wait for.
pub(crate) fn gather(workspace: &Arc<Workspace>, run_ids: RunIds) -> Evidence {
    let runs: Vec<_> =
        workspace.look(|world, _| world.run_ixs().filter_map(|ix| world.run_view(ix)).collect());
    let page = workspace.journal.page(0, &JUDGED, usize::MAX);
    let key = workspace.key().expose();
    // Events come after the entries, so that an entry never speaks of an event that isn't there.
    let (events, appended) = workspace
        .events()
        .into_iter()
        .filter_map(|(json, moment)| Some((serde_json::from_slice(&json).ok()?, moment)))
        .unzip();
    Evidence {
        entries: page.entries.iter().map(|entry| entry.render(key)).collect(),
        evicted: page.evicted,
        events,
        appended,
        runs: runs.iter().map(|run| wire::run::run(run, run_ids)).collect(),
        told: workspace.streams.all_told(),
    }
}
