//! The whole fake: its workspaces, each chosen by a key.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pantheon_core::Rejection;

use crate::connection::Shutdown;
use crate::faults::redirects::Redirects;
use crate::scenario::Scenario;
use crate::setup::{Defaults, Setup};
use crate::workspace::{ApiKey, Workspace};

/// A running fake.
#[derive(Debug)]
pub struct Mock {
    options: Options,
    workspaces: RwLock<Workspaces>,
    redirects: Arc<Redirects>,
    shutdown: Shutdown,
}

/// The workspaces that there are, and what new ones begin with.
#[derive(Debug)]
struct Workspaces {
    defaults: Arc<Defaults>,
    by_key: HashMap<ApiKey, Arc<Workspace>>,
    /// In order of their first use.
    in_order: Vec<Arc<Workspace>>,
}

/// What concerns the server as a whole.
#[derive(Debug, Clone)]
pub struct Options {
    /// The keys that are accepted, each with the name of its workspace if it has one; any key when there are none.
    pub keys: Vec<(ApiKey, Option<String>)>,
    /// What `X-Mock-Control-Token` must say, if anything.
    pub control_token: Option<String>,
    /// How many workspaces there may be.
    pub max_workspaces: usize,
    /// How many bytes a request body may have.
    pub max_body: usize,
    /// What workspaces begin with, at first: scenario files may change.
    pub defaults: Defaults,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            control_token: None,
            max_workspaces: 100_000,
            max_body: 4 << 20,
            defaults: Defaults::default(),
        }
    }
}

/// Why a key leads to no workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWorkspace {
    /// It is not among the keys that are accepted (AUTH-2).
    Unlisted,
    /// There are as many workspaces as there may be (ERR-5).
    TooMany {
        /// How many.
        most: usize,
    },
    /// The bounds are too small for what a new one holds (ERR-5).
    TooSmall(Rejection),
}

impl Mock {
    /// A fake without workspaces; its streams end when `shutdown` is requested.
    pub fn new(options: Options, shutdown: Shutdown) -> Arc<Self> {
        let defaults = Arc::new(options.defaults.clone());
        let workspaces = Workspaces { defaults, by_key: HashMap::new(), in_order: Vec::new() };
        Arc::new(Self { options, workspaces: RwLock::new(workspaces), redirects: Arc::default(), shutdown })
    }

    /// What concerns the server as a whole.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The redirects that faults have given.
    pub(crate) fn redirects(&self) -> &Arc<Redirects> {
        &self.redirects
    }

    /// When to end.
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// The workspace that `key` chooses, made on first use (AUTH-3).
    ///
    /// # Errors
    /// When the key is not accepted, or there is no room for another workspace.
    pub fn workspace(&self, key: &ApiKey) -> Result<Arc<Workspace>, NoWorkspace> {
        if let Some(workspace) = self.read().by_key.get(key) {
            return Ok(Arc::clone(workspace));
        }
        let listed = self.options.keys.iter().find(|(listed, _)| listed == key);
        if listed.is_none() && !self.options.keys.is_empty() {
            return Err(NoWorkspace::Unlisted);
        }
        let mut workspaces = self.write();
        if let Some(workspace) = workspaces.by_key.get(key) {
            return Ok(Arc::clone(workspace));
        }
        let most = self.options.max_workspaces;
        if workspaces.in_order.len() >= most {
            return Err(NoWorkspace::TooMany { most });
        }
        let setup = Setup::new(Arc::clone(&workspaces.defaults), listed.and_then(|(_, name)| name.clone()));
        let workspace = Workspace::new(key.clone(), setup).map_err(NoWorkspace::TooSmall)?;
        workspaces.by_key.insert(key.clone(), Arc::clone(&workspace));
        workspaces.in_order.push(Arc::clone(&workspace));
        Ok(workspace)
    }

    /// All workspaces, in order of their first use.
    pub fn workspaces(&self) -> Vec<Arc<Workspace>> {
        self.read().in_order.clone()
    }

    /// What new workspaces begin with.
    pub(crate) fn defaults(&self) -> Arc<Defaults> {
        Arc::clone(&self.read().defaults)
    }

    /// Puts `scenario` in the place of the file of that number for workspaces to come. Returns what they begin with,
    /// and all that there are already and know nothing of it.
    pub(crate) fn renew(&self, file: usize, scenario: Arc<Scenario>) -> (Arc<Defaults>, Vec<Arc<Workspace>>) {
        let mut workspaces = self.write();
        let mut defaults = Defaults::clone(&workspaces.defaults);
        defaults.scenarios[file] = scenario;
        workspaces.defaults = Arc::new(defaults);
        (Arc::clone(&workspaces.defaults), workspaces.in_order.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, Workspaces> {
        // Each change leaves it whole, so a panic elsewhere can't have broken it.
        self.workspaces.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Workspaces> {
        self.workspaces.write().unwrap_or_else(PoisonError::into_inner)
    }
}
