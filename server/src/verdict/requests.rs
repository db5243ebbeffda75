//! Mistakes that any request can make.

use super::exchange::{Exchange, clock_ms};
use super::resumes::same_body;
use super::{Kind, Offence};
use crate::verify::Evidence;

/// By how much a client's timer may be early, in milliseconds.
const SLACK_MS: u64 = 30;

/// Judges when requests are repeated, and where the key goes.
pub(super) fn offences(exchanges: &[Exchange<'_>], evidence: &Evidence) -> Vec<Offence> {
    let early = exchanges.iter().enumerate().filter_map(|(at, it)| too_early(*it, &exchanges[at + 1..]));
    early.chain(strayed_keys(evidence)).collect()
}

/// The first repetition of `asked` that came before its `Retry-After`, by real time and by the workspace's clock.
fn too_early(asked: Exchange<'_>, later: &[Exchange<'_>]) -> Option<Offence> {
    let wait = asked.retry_after_ms().filter(|_| asked.status().is_some_and(|status| status >= 400))?;
    let again = later.iter().find(|it| is_repeated(asked, **it))?;
    let waited = again.began_ms().saturating_sub(asked.answered_ms());
    let by_clock = clock_ms(again.entry).saturating_sub(clock_ms(asked.entry));
    if waited + SLACK_MS >= wait || by_clock >= wait {
        return None;
    }
    let message =
        format!("{} asked to wait {wait} ms, and the request came again after {waited} ms", asked.name());
    Some(Offence::new(Kind::RetryAfterIgnored, [asked.seq(), again.seq()], message))
}

fn is_repeated(asked: Exchange<'_>, again: Exchange<'_>) -> bool {
    let is_same = |member: &str| asked.text(member) == again.text(member);
    let is_same_body = match (asked.body(), again.body()) {
        // Of a body that is kept in part nothing is certain.
        (None, None) => asked.text("body").is_none() && again.text("body").is_none(),
        (Some(_), Some(_)) => same_body(asked, again) == Some(true),
        (Some(_), None) | (None, Some(_)) => false,
    };
    asked.was_answered_before(again)
        && is_same("method")
        && is_same("path")
        && is_same("query")
        && asked.header("last-event-id") == again.header("last-event-id")
        && asked.key() == again.key()
        && is_same_body
}

fn strayed_keys(evidence: &Evidence) -> impl Iterator<Item = Offence> + '_ {
    let followed = evidence.of_this_world().filter(|entry| {
        entry["kind"] == "fault"
            && entry["reason"]
                .as_str()
                .is_some_and(|it| it == "the redirect to another origin was followed with an API key")
    });
    followed.map(|entry| {
        let message = "the redirect to another origin was followed, with the API key";
        Offence::new(Kind::KeyToAnotherOrigin, entry["seq"].as_u64(), message)
    })
}
