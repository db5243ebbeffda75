//! Mistakes in answering calls.

use pantheon_core::json::Fingerprint;
use serde_json::Value;

use super::exchange::{Exchange, requires};
use super::{Kind, Offence};
use crate::verify::Evidence;

/// Judges all resumes: each by itself, and beside the last one before it that answers the same call.
pub(super) fn offences(exchanges: &[Exchange<'_>], evidence: &Evidence) -> Vec<Offence> {
    let resumes: Vec<_> = exchanges.iter().copied().filter(|it| it.is("runs.resume")).collect();
    let mut found = Vec::new();
    for (at, &later) in resumes.iter().enumerate() {
        found.extend(by_itself(later));
        found.extend(before_idle(later, exchanges, evidence));
        let earlier = resumes[..at].iter().rev().copied().filter(|it| same_run(*it, later));
        found.extend(after_another(earlier, later, evidence));
    }
    found
}

/// What its own answer shows.
fn by_itself(resume: Exchange<'_>) -> Option<Offence> {
    let code = resume.code().filter(|_| resume.is_judged())?;
    match code {
        "invalid_event_reference" => {
            let message = format!("the resume names {}, no input of its run", listed(&resume.references()));
            Some(Offence::new(Kind::WrongReference, [resume.seq()], message))
        }
        "invalid_idempotency_key" => {
            let message = match resume.key() {
                Some(key) => format!("the resume's key has {} characters", key.chars().count()),
                None => "the resume came without a key".to_owned(),
            };
            Some(Offence::new(Kind::UnusableKey, [resume.seq()], message))
        }
        _ => None,
    }
}

/// Whether the client could not yet know that the calls are required: no stream of the session had been given the
/// pause that names them, and no other answer had.
fn before_idle(resume: Exchange<'_>, exchanges: &[Exchange<'_>], evidence: &Evidence) -> Option<Offence> {
    if evidence.is_partial() {
        return None;
    }
    let unknown = resume.references().into_iter().find(|id| {
        let idle = evidence.events.iter().find(|event| requires(event, id));
        let is_told_by_stream = |idle: &Value| idle["sequence"].as_u64() <= Some(resume.told());
        let is_told_by_answer = || {
            let asked = ["runs.get", "runs.list", "events.list", "runs.resume"];
            let before = exchanges.iter().filter(|it| it.was_answered_before(resume));
            before.filter(|it| asked.iter().any(|route| it.is(route))).any(|it| it.may_have_told(id))
        };
        idle.is_some_and(|idle| !is_told_by_stream(idle) && !is_told_by_answer())
    })?;
    let message = format!("the result for {unknown} came before its `session.status_idle` had been sent");
    Some(Offence::new(Kind::ResumeBeforeIdle, [resume.seq()], message))
}

/// What a resume does wrong in view of those before it, the latest first.
fn after_another<'e>(
    mut earlier: impl Iterator<Item = Exchange<'e>> + Clone,
    later: Exchange<'e>,
    evidence: &Evidence,
) -> Option<Offence> {
    let known = |code: &'static str| {
        move |it: &Exchange<'e>| it.code() == Some(code) && it.was_answered_before(later)
    };
    if let Some(expired) = earlier.clone().find(known("event_expired")) {
        let message = format!("the run was resumed although {} had told that it has expired", expired.name());
        return Some(Offence::new(Kind::ResumeAfterExpiry, [expired.seq(), later.seq()], message));
    }
    // Of several inputs it isn't known which is resolved, so only the same ones again are held against the client.
    let resolved = earlier.clone().filter(known("event_already_resolved"));
    if let Some(resolved) = resolved.into_iter().find(|it| same_references(*it, later)) {
        let message = format!("{} had told that the input is resolved", resolved.name());
        return Some(Offence::new(Kind::ResumeAfterResolved, [resolved.seq(), later.seq()], message));
    }
    let invalid = earlier.clone().filter(known("tool_result_invalid"));
    if let Some(invalid) = invalid.into_iter().find(|it| same_body(*it, later) == Some(true)) {
        let message = format!("{} had told that this very result fails its schema", invalid.name());
        return Some(Offence::new(Kind::SameBodyAfterInvalid, [invalid.seq(), later.seq()], message));
    }
    // What is lost may have been the answer that permits the change.
    if evidence.is_partial() {
        return None;
    }
    let latest = earlier.clone().find(|it| overlap(*it, later))?;
    // The same request may have been sent twice at once; one answer that is known answers both.
    let is_twin = |it: &Exchange<'e>| it.key() == latest.key() && same_body(*it, latest) == Some(true);
    let settled = earlier.find(|it| is_twin(it) && it.was_answered_before(later) && !is_open(*it));
    changed(settled.unwrap_or(latest), later)
}

/// Whether a request may still have been accepted, or may come again, for all that its answer says.
fn is_open(exchange: Exchange<'_>) -> bool {
    match exchange.status() {
        None | Some(429 | 500..) => true,
        Some(_) => exchange.code() == Some("idempotency_in_progress"),
    }
}

/// What `later` changes that it must not, or answers that it need not, after the `earlier` one for the same call.
fn changed(earlier: Exchange<'_>, later: Exchange<'_>) -> Option<Offence> {
    let (is_same_key, is_same_body) = (earlier.key() == later.key(), same_body(earlier, later)?);
    let is_known = earlier.was_answered_before(later);
    let status = earlier.status().filter(|_| is_known);
    let is_accepted = status.is_some_and(|status| (200..300).contains(&status));
    let is_open = !is_known || is_open(earlier);
    let entries = [earlier.seq(), later.seq()];
    let fate = if is_known { earlier.fate() } else { "had not been answered, or not whole".to_owned() };
    if is_same_key && !is_same_body && (is_open || is_accepted) {
        let message = format!("{} {fate}, and its key came again with another body", earlier.name());
        return Some(Offence::new(Kind::ChangedBodyUnderKey, entries, message));
    }
    if !is_same_key && is_open {
        let message = format!("{} {fate}, and the result came again under another key", earlier.name());
        return Some(Offence::new(Kind::ChangedKeyOnRetry, entries, message));
    }
    if !is_same_key && is_accepted {
        let message = format!("{} had been accepted, and the call was answered again", earlier.name());
        return Some(Offence::new(Kind::ResumeAfterAcceptance, entries, message));
    }
    None
}

fn same_run(a: Exchange<'_>, b: Exchange<'_>) -> bool {
    a.text("run_id").is_some() && a.text("run_id") == b.text("run_id")
}

fn same_references(a: Exchange<'_>, b: Exchange<'_>) -> bool {
    let (a, b) = (a.references(), b.references());
    !a.is_empty() && a == b
}

fn overlap(a: Exchange<'_>, b: Exchange<'_>) -> bool {
    let b = b.references();
    a.references().iter().any(|id| b.contains(id))
}

/// Whether two bodies are equal as JSON (IDEM-1); `None` where one isn't known whole.
pub(super) fn same_body(a: Exchange<'_>, b: Exchange<'_>) -> Option<bool> {
    Some(Fingerprint::of(a.body()?) == Fingerprint::of(b.body()?))
}

fn listed(ids: &[&str]) -> String {
    if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
}
