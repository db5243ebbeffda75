//! Mistakes in registering tools.

use super::exchange::Exchange;
use super::{Kind, Offence};
use crate::verify::Evidence;

/// Judges what was created, and what was added to it.
pub(super) fn offences(exchanges: &[Exchange<'_>], evidence: &Evidence) -> Vec<Offence> {
    let refused = exchanges.iter().filter_map(|it| refused_fields(*it));
    let created = exchanges.iter().filter(|it| it.is("tools.create")).filter_map(|create| {
        let name = create.body()?["name"].as_str()?;
        let looked_up: Vec<_> = exchanges
            .iter()
            .filter(|it| it.is("tools.list") && it.was_answered_before(*create))
            .filter(|it| asked_name(**it).is_none_or(|asked| asked == name))
            .collect();
        if looked_up.is_empty() {
            // It may have been among what is lost.
            let message = format!("`{name}` was created, and nobody had asked whether it exists");
            let offence = Offence::new(Kind::CreateWithoutLookUp, [create.seq()], message);
            return (!evidence.is_partial()).then_some(offence);
        }
        let found = looked_up.iter().rev().find(|it| found_name(***it, name))?;
        let message = format!("`{name}` was created, although {} had found it", found.name());
        Some(Offence::new(Kind::CreateDespiteMatch, [found.seq(), create.seq()], message))
    });
    refused.chain(created).collect()
}

fn refused_fields(request: Exchange<'_>) -> Option<Offence> {
    let is_version = request.is("tools.versions.create");
    if !(is_version || request.is("tools.create")) || !request.is_judged() || request.sent().is_none() {
        return None;
    }
    let details = request.answer()?["error"]["details"].as_array()?;
    let refused = details.iter().find(|detail| {
        let is_always = detail["path"] == "/confirmation"
            && request.body().is_some_and(|it| it["confirmation"] == "always");
        is_always || (is_version && detail["reason"] == "Extra inputs are not permitted")
    })?;
    let message = format!("the field at {} was refused", refused["path"].as_str().unwrap_or("?"));
    Some(Offence::new(Kind::VersionWithRefusedField, [request.seq()], message))
}

/// The name that a look-up asks for.
fn asked_name(list: Exchange<'_>) -> Option<String> {
    let query = list.text("query")?;
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "name").map(|(_, name)| name.into_owned())
}

fn found_name(list: Exchange<'_>, name: &str) -> bool {
    let data = list.answer().and_then(|answer| answer["data"].as_array());
    data.is_some_and(|data| data.iter().any(|tool| tool["name"] == name))
}
