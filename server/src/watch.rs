//! `--watch`: a scenario file that has changed is applied to every workspace that uses it.
//!
//! Editors write in many ways: in place, in two steps, or to another file that then takes the name. So folders are
//! watched, not files; whatever happens there only says that it is time to look; and what a file then says is compared
//! with what it said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::apply;
use crate::clock::within_real;
use crate::log::Log;
use crate::mock::Mock;
use crate::scenario::Scenario;

/// A file is read once nothing has happened for so long.
const QUIET: Duration = Duration::from_millis(50);

/// How many such times it may take: a folder in which something always happens is looked at all the same.
const MOST_QUIETS: usize = 20;

/// Scenario files that are watched; dropped, they no longer are.
#[derive(Debug)]
pub(crate) struct Watch {
    following: AbortHandle,
}

/// The folders that are watched.
#[derive(Debug)]
struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

/// One of the files.
#[derive(Debug, Clone)]
struct File {
    path: PathBuf,
    /// What it said when it was last looked at, or why it could not be read.
    seen: Option<Result<String, Vec<String>>>,
    /// What is in force.
    scenario: Arc<Scenario>,
}

/// What looking at a file has come to.
enum Look {
    /// It says what it said.
    Same,
    /// It can't be used: why, a line each.
    Broken(Vec<String>),
    /// It is in order, and says what is in force.
    Mended,
    /// It says something else.
    Changed(Arc<Scenario>),
}

impl Watch {
    /// Watches the files at `paths`, which are the scenarios that `mock` began with, in their order. It must be called
    /// within a tokio runtime.
    ///
    /// # Errors
    /// When a folder can't be watched.
    pub(crate) fn start(paths: &[PathBuf], mock: &Arc<Mock>, log: Log) -> notify::Result<Self> {
        let (changes, changed) = watch::channel(());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error, too, may mean that something was missed.
            if event.map_or(true, |event| is_change(event.kind)) {
                changes.send_replace(());
            }
        })?;
        let mut folders = Folders { watcher, watched: BTreeSet::new() };
        folders.watch(paths)?;
        let scenarios = mock.defaults().scenarios.clone();
        let file = |(path, scenario): (&PathBuf, _)| File { path: path.clone(), seen: None, scenario };
        let files = paths.iter().zip(scenarios).map(file).collect();
        let following = tokio::spawn(follow(files, folders, changed, Arc::clone(mock), log));
        Ok(Self { following: following.abort_handle() })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Folders {
    /// Watches those of `paths` as well. Says whether there is one that wasn't watched yet.
    fn watch(&mut self, paths: &[PathBuf]) -> notify::Result<bool> {
        let mut are_more = false;
        for folder in paths.iter().flat_map(|path| folders_of(path)) {
            if !self.watched.contains(&folder) {
                self.watcher.watch(&folder, RecursiveMode::NonRecursive)?;
                self.watched.insert(folder);
                are_more = true;
            }
        }
        Ok(are_more)
    }
}

/// Whether a file may say something else after it. Reading a file, as we do, is no change.
fn is_change(kind: EventKind) -> bool {
    !kind.is_access() || kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}

/// The folder in which the name stands and, behind links, that in which the file does.
fn folders_of(path: &Path) -> Vec<PathBuf> {
    let parent = |path: &Path| match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    let behind = path.canonicalize().ok().map(|path| parent(&path));
    [Some(parent(path)), behind].into_iter().flatten().collect()
}

/// Looks at all files whenever something has changed, and once at first: that may have been before they were watched.
async fn follow(
    mut files: Vec<File>,
    mut folders: Folders,
    mut changed: watch::Receiver<()>,
    mock: Arc<Mock>,
    log: Log,
) {
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    loop {
        for (number, file) in files.iter_mut().enumerate() {
            let mut looker = file.clone();
            let looked = tokio::task::spawn_blocking(move || {
                let look = looker.look();
                (looker, look)
            });
            // It ends with the runtime.
            let Ok((looked, look)) = looked.await else { return };
            *file = looked;
            act(file, number, look, &mock, log).await;
        }
        // A link may lead elsewhere now. What happened there before it was watched is looked at once more.
        match folders.watch(&paths) {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => log.warning(&format!("not all scenario files can be watched: {error}")),
        }
        if changed.changed().await.is_err() {
            return;
        }
        for _ in 0..MOST_QUIETS {
            if within_real(QUIET, changed.changed()).await.is_none() {
                break;
            }
        }
    }
}

impl File {
    fn look(&mut self) -> Look {
        let name = self.path.display().to_string();
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| vec![format!("{name}: it can't be read: {error}")]);
        if self.seen.as_ref() == Some(&text) {
            return Look::Same;
        }
        let is_first = self.seen.is_none();
        let read = text.clone().and_then(|text| {
            Scenario::read(&text, &name)
                .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())
        });
        self.seen = Some(text);
        match read {
            Err(problems) => Look::Broken(problems),
            Ok(scenario) if scenario.source != self.scenario.source => Look::Changed(Arc::new(scenario)),
            Ok(_) if is_first => Look::Same,
            Ok(_) => Look::Mended,
        }
    }
}

/// Tells of a change, and applies it.
async fn act(file: &mut File, number: usize, look: Look, mock: &Arc<Mock>, log: Log) {
    let name = file.path.display();
    match look {
        Look::Same => {}
        Look::Broken(problems) => problems.iter().for_each(|problem| log.error(problem)),
        Look::Mended => log.info(&format!("{name}: says what is in force")),
        Look::Changed(scenario) => {
            file.scenario = Arc::clone(&scenario);
            let (defaults, workspaces) = mock.renew(number, scenario);
            let mut count = 0;
            for workspace in workspaces {
                match apply::renew(&workspace, &defaults, number).await {
                    Ok(uses) => count += usize::from(uses),
                    Err(refusal) => {
                        let id = workspace.look(|world, _| world.settings().workspace_id.clone());
                        log.error(&format!("{name}: {id} keeps what it had: {refusal}"));
                    }
                }
            }
            let workspaces = if count == 1 { "workspace" } else { "workspaces" };
            log.info(&format!("{name}: applied, to {count} {workspaces}"));
        }
    }
}
