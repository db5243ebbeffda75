//! Idempotency keys: what each has been used for, and what was answered (IDEM-1, RES-3, RES-5, RES-13).

use std::collections::HashMap;

use crate::json::Fingerprint;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::run::RunIx;
use crate::session::SessionIx;

/// An idempotency key: 8 to 255 characters (RES-2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// Takes `text` as a key, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        (8..=255).contains(&text.chars().count()).then(|| Self(text.into()))
    }
}

/// A request that carries a key, and the body that the key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub key: Key,
    /// The body, as JSON.
    pub body: Fingerprint,
}

/// What a key belongs to: one method and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Start(SessionIx),
    Resume(RunIx),
}

/// The place of a bound key, for the one who sends its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    scope: Scope,
    key: Key,
}

/// All keys of a workspace that are bound.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    bound: HashMap<Claim, Bound>,
}

#[derive(Debug)]
struct Bound {
    body: Fingerprint,
    answer: Result<Reply, Rejection>,
    /// Its answer is on its way (variant `in-progress-409`).
    in_progress: bool,
}

impl Ledger {
    pub(crate) fn len(&self) -> usize {
        self.bound.len()
    }

    /// What the history of `keyed` says to a request: `None` where it has none, and the request is to be judged.
    pub(crate) fn judge(&self, scope: Scope, keyed: &Keyed) -> Option<Result<Reply, Rejection>> {
        let bound = self.bound.get(&Claim { scope, key: keyed.key.clone() })?;
        Some(if bound.body != keyed.body {
            // Another body is a conflict, whether or not the first one is still in progress (RES-3).
            Err(Rejection::KeyReused)
        } else if bound.in_progress {
            Err(Rejection::KeyInProgress)
        } else {
            bound.answer.clone().map(|reply| Reply::Replayed(Box::new(reply)))
        })
    }

    /// Binds the key of `keyed` to its first answer.
    pub(crate) fn bind(
        &mut self,
        scope: Scope,
        keyed: &Keyed,
        answer: Result<Reply, Rejection>,
        in_progress: bool,
    ) {
        let claim = Claim { scope, key: keyed.key.clone() };
        self.bound.insert(claim, Bound { body: keyed.body, answer, in_progress });
    }

    /// The answer to the key of `claim` has been sent, or can't be any more.
    pub(crate) fn answered(&mut self, claim: &Claim) {
        if let Some(bound) = self.bound.get_mut(claim) {
            bound.in_progress = false;
        }
    }
}

impl Claim {
    /// The place of `keyed` among the starts of runs in `session`.
    pub fn start(session: SessionIx, keyed: &Keyed) -> Self {
        Self { scope: Scope::Start(session), key: keyed.key.clone() }
    }

    /// The place of `keyed` among the resumes of `run`.
    pub fn resume(run: RunIx, keyed: &Keyed) -> Self {
        Self { scope: Scope::Resume(run), key: keyed.key.clone() }
    }
}
