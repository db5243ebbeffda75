//! What each idempotency key stands for: IDEM-1, RES-3, RES-5 and RES-13, written a second time.

use pantheon_core::idempotency::{Claim, Keyed};
use pantheon_core::json::Fingerprint;
use pantheon_core::{Command, Rejection};

use super::play::Walk;
use super::{Fault, ensure};

/// What a key stands for.
pub(super) struct Bound {
    body: Fingerprint,
    outcome: Result<String, Rejection>,
    is_in_progress: bool,
}

/// The place of the key that `command` carries.
pub(super) fn claim(command: &Command) -> Option<Claim> {
    keyed(command).map(|(claim, _)| claim)
}

fn keyed(command: &Command) -> Option<(Claim, &Keyed)> {
    if let Command::StartRun { session, keyed: Some(keyed), .. } = command {
        return Some((Claim::start(*session, keyed), keyed));
    }
    if let Command::ResumeRun { run, keyed, .. } = command {
        return Some((Claim::resume(*run, keyed), keyed));
    }
    None
}

impl Walk {
    /// What the history of its key says to `command`.
    pub(super) fn history_of(&self, command: &Command) -> Option<&'static str> {
        let (claim, keyed) = keyed(command)?;
        let bound = self.keys.get(&claim)?;
        if bound.body != keyed.body {
            return Some("KeyReused");
        }
        if bound.is_in_progress {
            return Some("KeyInProgress");
        }
        match &bound.outcome {
            Ok(_) => Some("Replayed"),
            Err(rejection) => sticks(rejection),
        }
    }

    /// Keeps what an outcome makes of its key.
    pub(super) fn learn_keys(
        &mut self,
        command: &Command,
        told: &Result<String, Rejection>,
    ) -> Result<(), Fault> {
        if let Command::AnswerSent(claim) = command
            && let Some(bound) = self.keys.get_mut(claim)
        {
            bound.is_in_progress = false;
        }
        let Some((claim, keyed)) = keyed(command) else { return Ok(()) };
        if let Some(bound) = self.keys.get(&claim) {
            if let (Ok(replayed), Ok(first)) = (told, &bound.outcome) {
                ensure!(*replayed == format!("Replayed({first})"), "RES-3: {replayed} after {first}");
            }
            return Ok(());
        }
        let settings = self.world.settings();
        let has_room = (self.keys.len() as u64) < settings.limits.idempotency_keys;
        let is_sticky =
            settings.variants.sticky_keys && matches!(command, Command::ResumeRun { .. }) && has_room;
        let is_bound = match told {
            Ok(_) => true,
            Err(rejection) => is_sticky && sticks(rejection).is_some(),
        };
        if is_bound {
            let is_in_progress = settings.variants.in_progress_409;
            self.keys.insert(claim, Bound { body: keyed.body, outcome: told.clone(), is_in_progress });
        }
        Ok(())
    }
}

/// The refusals that bind a key under `sticky-keys`, by name: RES-4 and RES-6 to RES-12.
fn sticks(rejection: &Rejection) -> Option<&'static str> {
    const STICKY: [&str; 5] =
        ["InvalidEventReference", "Invalid", "EventAlreadyResolved", "EventExpired", "ToolResultInvalid"];
    let name = super::play::first_word(&format!("{rejection:?}"));
    STICKY.into_iter().find(|sticky| *sticky == name)
}
