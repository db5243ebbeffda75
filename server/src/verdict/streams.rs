//! Mistakes in reading streams.

use std::collections::BTreeMap;

use serde_json::Value;

use super::exchange::{Exchange, clock_ms};
use super::{Kind, Offence};
use crate::journal::Moment;
use crate::verify::Evidence;

/// How many connections in a row make a storm (C-SSE-11).
const STORM: usize = 6;

/// What the gaps between them must come to, in milliseconds.
const LEAST_GAPS_MS: u64 = 300;

/// A connection that lasts no longer ended at once, in milliseconds, of real time and of the workspace's.
const AT_ONCE_MS: u64 = 250;

/// How often a refused position may be sent again before it looks like for ever.
const MOST_REFUSALS: usize = 3;

/// Judges where streams are opened, and how soon again.
pub(super) fn offences(exchanges: &[Exchange<'_>], evidence: &Evidence) -> Vec<Offence> {
    let mut sessions: BTreeMap<&str, Vec<Exchange<'_>>> = BTreeMap::new();
    for exchange in exchanges.iter().filter(|it| it.is("events.stream")) {
        if let Some(session_id) = session_of(*exchange) {
            sessions.entry(session_id).or_default().push(*exchange);
        }
    }
    let ends: BTreeMap<&str, End<'_>> = evidence.of_this_world().filter_map(End::of).collect();
    let mut found = Vec::new();
    for (session_id, attempts) in &sessions {
        found.extend(attempts.iter().filter_map(|attempt| position(*attempt)));
        found.extend(repeated_refusals(attempts));
        let session = Session { id: session_id, attempts, ends: &ends, exchanges, evidence };
        found.extend(attempts.iter().filter_map(|attempt| session.without_position(*attempt)));
        found.extend(session.storms());
    }
    found
}

/// The end of a stream.
#[derive(Debug, Clone, Copy)]
struct End<'e> {
    entry: &'e Value,
}

impl<'e> End<'e> {
    fn of(entry: &'e Value) -> Option<(&'e str, Self)> {
        let is_end = entry["kind"] == "stream_close";
        is_end.then_some(entry["stream_id"].as_str()?).map(|stream_id| (stream_id, Self { entry }))
    }

    fn moment(self) -> Moment {
        self.entry["moment"].as_u64().unwrap_or(0)
    }

    fn ms(self) -> u64 {
        self.entry["elapsed_ms"].as_u64().unwrap_or(0)
    }

    /// The last durable event that was sent whole.
    fn last(self) -> Option<&'e str> {
        self.entry["last_event_id"].as_str()
    }

    /// Whether it was sent any durable event.
    fn has_progress(self) -> bool {
        self.entry["events"].as_u64().unwrap_or(0) > 0
    }

    /// Whether whoever drives the mock ended it, and not the service or the client.
    fn is_outside(self) -> bool {
        self.entry["reason"] == "server: the workspace was reset"
            || self.entry["reason"] == "server: shutdown"
    }

    fn is_of_the_service(self) -> bool {
        self.entry["reason"].as_str().is_some_and(|reason| !reason.starts_with("client: "))
            && !self.is_outside()
    }
}

/// The streams of one session, those that were opened and those that were not.
struct Session<'a, 'e> {
    id: &'a str,
    attempts: &'a [Exchange<'e>],
    ends: &'a BTreeMap<&'e str, End<'e>>,
    exchanges: &'a [Exchange<'e>],
    evidence: &'e Evidence,
}

impl<'e> Session<'_, 'e> {
    fn end_of(&self, attempt: Exchange<'e>) -> Option<End<'e>> {
        self.ends.get(attempt.text("stream_id")?).copied()
    }

    /// Whether `attempt` reconnects, but from the start.
    fn without_position(&self, attempt: Exchange<'e>) -> Option<Offence> {
        if !attempt.is_open_stream() || attempt.text("last_event_id").is_some() || self.evidence.is_partial()
        {
            return None;
        }
        let earlier = || self.attempts.iter().copied().filter(|it| it.began() < attempt.began());
        let ended = |it: &Exchange<'e>| self.end_of(*it).filter(|end| end.moment() < attempt.began());
        // Two readers side by side are two readers.
        if earlier().any(|it| it.is_open_stream() && ended(&it).is_none()) {
            return None;
        }
        let (dropped, end) =
            earlier().filter_map(|it| Some((it, ended(&it)?))).max_by_key(|(_, end)| end.moment())?;
        // Of what was sent to a client that left it isn't known what it had read.
        let run_id = self.unfinished_run(end).filter(|_| end.is_of_the_service())?;
        let between = |it: &&Exchange<'e>| it.began() > end.moment() && it.began() < attempt.began();
        // A position that was refused may be given up, a new run is a new beginning, and an answer may have told that
        // the old one is over.
        let is_refused = |it: &Exchange<'e>| it.is("events.stream") && it.status() == Some(400);
        let is_about = |it: &Exchange<'e>| {
            let routes = ["runs.create", "runs.cancel", "runs.get", "runs.list", "events.list"];
            routes.iter().any(|route| it.is(route)) && it.text("session_id") == Some(self.id)
        };
        if self.exchanges.iter().filter(between).any(|it| is_refused(it) || is_about(it)) {
            return None;
        }
        let message = format!(
            "the stream of {} had ended after {} and before run {run_id} was over, and the next one began without a \
             position",
            dropped.name(),
            end.last().unwrap_or("nothing"),
        );
        Some(Offence::new(Kind::ReconnectWithoutPosition, [dropped.seq(), attempt.seq()], message))
    }

    /// The run of which a stream had told at its end, but not the end of.
    fn unfinished_run(&self, end: End<'e>) -> Option<&'e str> {
        let last = end.last()?;
        let events = || self.evidence.events.iter().filter(|event| event["session_id"] == self.id);
        let last = events().find(|event| event["id"] == last)?;
        let run_id = last["run_id"].as_str()?;
        let is_told = |event: &&Value| event["sequence"].as_u64() <= last["sequence"].as_u64();
        let is_end = |event: &Value| {
            let ends = ["run.completed", "run.failed", "run.cancelled"];
            event["run_id"] == run_id && ends.iter().any(|end| event["type"] == *end)
        };
        let is_over = events().filter(is_told).any(is_end);
        (!is_over).then_some(run_id)
    }

    /// Connections in a row that ended at once with nothing new, and came again too soon.
    fn storms(&self) -> Vec<Offence> {
        let mut found = Vec::new();
        let mut row: Vec<Exchange<'e>> = Vec::new();
        for attempt in self.attempts {
            if !self.is_fruitless(*attempt) {
                row.clear();
                continue;
            }
            row.push(*attempt);
            if let Some(window) = row.len().checked_sub(STORM).map(|from| &row[from..])
                && let Some(gaps) = self.gaps(window)
                && gaps < LEAST_GAPS_MS
            {
                let message = format!(
                    "{STORM} connections in a row brought nothing new, with {gaps} ms between them in all; at least \
                     {LEAST_GAPS_MS} ms are due"
                );
                found.push(Offence::new(Kind::ReconnectStorm, window.iter().map(|it| it.seq()), message));
                row.clear();
            }
        }
        found
    }

    /// How long passed from the end of each to the beginning of the next, in all, by real time or by the workspace's
    /// clock, whichever is more; `None` where one is open still.
    fn gaps(&self, row: &[Exchange<'e>]) -> Option<u64> {
        let gap = |pair: &[Exchange<'e>]| {
            let (end, entry) = match self.end_of(pair[0]) {
                Some(end) => (end.ms(), end.entry),
                None if pair[0].is_open_stream() => return None,
                None => (pair[0].answered_ms(), pair[0].entry),
            };
            let by_clock = clock_ms(pair[1].entry).saturating_sub(clock_ms(entry));
            Some(pair[1].began_ms().saturating_sub(end).max(by_clock))
        };
        row.windows(2).map(gap).sum()
    }

    /// Whether the service ended a connection at once and it brought nothing new, or refused it for the moment.
    fn is_fruitless(&self, attempt: Exchange<'e>) -> bool {
        if !attempt.is_open_stream() {
            return attempt.status().is_none_or(|status| status == 429 || status >= 500);
        }
        let Some(end) = self.end_of(attempt) else { return false };
        let lasted = end.ms().saturating_sub(attempt.answered_ms());
        let by_clock = clock_ms(end.entry).saturating_sub(clock_ms(attempt.entry));
        let is_short = lasted.max(by_clock) < AT_ONCE_MS;
        is_short && !end.has_progress() && end.is_of_the_service()
    }
}

/// Whether `attempt` came with a position that its session had never issued.
fn position(attempt: Exchange<'_>) -> Option<Offence> {
    let position = attempt.header("last-event-id")?;
    let is_refused = attempt.code() == Some("invalid_last_event_id") && attempt.is_judged();
    // Taken in spite of that under a variant.
    let is_delta = position.starts_with("delta_");
    if !(is_refused || is_delta && attempt.is_open_stream()) {
        return None;
    }
    if is_delta {
        let message = format!("{position} is the id of an ephemeral event");
        return Some(Offence::new(Kind::PositionFromDelta, [attempt.seq()], message));
    }
    let message = format!("{position} is no event of this session");
    Some(Offence::new(Kind::PositionNeverIssued, [attempt.seq()], message))
}

/// A position that was refused, by the mock or by a fault, and came again too often.
fn repeated_refusals(attempts: &[Exchange<'_>]) -> Vec<Offence> {
    let mut refused: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut found = Vec::new();
    for attempt in attempts {
        let Some(position) = attempt.header("last-event-id") else { continue };
        if attempt.status() != Some(400) || attempt.sent().is_none() {
            refused.remove(position);
            continue;
        }
        let entries = refused.entry(position).or_default();
        entries.push(attempt.seq());
        if entries.len() == MOST_REFUSALS + 1 {
            let message = format!("{position} was refused, and sent {MOST_REFUSALS} times more");
            found.push(Offence::new(Kind::RefusedPositionRepeated, entries.clone(), message));
        }
    }
    found
}

/// The session of a stream; a fault's answer leaves it to the path.
fn session_of(exchange: Exchange<'_>) -> Option<&str> {
    exchange.text("session_id").or_else(|| exchange.text("path")?.split('/').nth(3))
}
