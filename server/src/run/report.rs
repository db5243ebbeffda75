//! How the verdict is told: to people, or as one JSON object.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitStatus;

use serde_json::{Value, json};

use super::command::code;
use super::verdict::{Judged, Judgement, Offence};
use crate::cli::LogFormat;
use crate::journal::{value_without_key, without_key};
use crate::log::Log;
use crate::verify::{Failure, Verdict};

/// Prints it, to standard errors.
pub(super) fn print(judgement: &Judgement, status: ExitStatus, log: Log) {
    let told = match log.format {
        LogFormat::Text => in_words(judgement, code(status)),
        LogFormat::Json => format!("{}\n", in_json(judgement, code(status))),
    };
    // Nobody may be reading; the exit code tells it all the same.
    let _ = std::io::stderr().write_all(told.as_bytes());
}

fn in_words(judgement: &Judgement, code: u8) -> String {
    let mut told = String::new();
    let mut line = |text: String| {
        told.push_str(&text);
        told.push('\n');
    };
    let [only] = &judgement.workspaces[..] else {
        line(format!("verdict: {}", judgement.verdict().as_str()));
        for judged in &judgement.workspaces {
            line(format!("\nworkspace {}: {}", judged.workspace_id, summary(judged)));
            details(judged).into_iter().for_each(&mut line);
        }
        notes(&judgement.notes, code).into_iter().for_each(line);
        return told;
    };
    line(format!("verdict: {}", summary(only)));
    details(only).into_iter().for_each(&mut line);
    notes(&judgement.notes, code).into_iter().for_each(line);
    told
}

/// `fail (1 of 3 expectations does not hold, 2 offences)`
fn summary(judged: &Judged) -> String {
    let Judged { verdict, expectations, failures, offences, .. } = judged;
    let expected = match (*expectations, failures.len()) {
        (0, _) => "nothing was expected".to_owned(),
        (1, 0) => "the expectation holds".to_owned(),
        (all, 0) => format!("all {all} expectations hold"),
        (all, _) => {
            let count = |verdict| failures.iter().filter(|failure| failure.verdict == verdict).count();
            let (failed, unknown) = (count(Verdict::Fail), count(Verdict::Inconclusive));
            let parts = [(failed, "failed"), (unknown, "could not be told")];
            let parts =
                parts.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}"));
            format!("of {all} expectations {}", parts.collect::<Vec<_>>().join(" and "))
        }
    };
    let offended = match offences.len() {
        0 => "no offence".to_owned(),
        1 => "1 offence".to_owned(),
        more => format!("{more} offences"),
    };
    format!("{} ({expected}, {offended})", verdict.as_str())
}

fn details(judged: &Judged) -> Vec<String> {
    let failures = judged.failures.iter().map(Failure::to_string);
    let offences = judged.offences.iter().map(|(offence, entries)| in_lines(offence, entries));
    let notes = judged.notes.iter().map(|note| format!("note: {note}"));
    // Expectations are repeated as they were written, and may have been written with the key.
    failures.chain(offences).chain(notes).map(|text| without_key(text, judged.key.expose())).collect()
}

fn in_lines(offence: &Offence, entries: &[String]) -> String {
    let Offence { offence, rule, entries: _, message, advice } = offence;
    let mut told = format!("offence: {offence} ({rule}): {message}");
    for entry in entries {
        // Writing to a text can't fail.
        let _ = write!(told, "\n  {entry}");
    }
    let _ = write!(told, "\n  {advice}");
    told
}

fn notes(notes: &[String], code: u8) -> Vec<String> {
    let failed = (code != 0).then(|| format!("the command ended with {code}, which is the exit code"));
    failed.iter().chain(notes).map(|note| format!("note: {note}")).collect()
}

fn in_json(judgement: &Judgement, code: u8) -> Value {
    let workspaces: Vec<_> = judgement
        .workspaces
        .iter()
        .map(|judged| {
            let offences = judged.offences.iter().map(|(offence, _)| {
                let Offence { offence, rule, entries, message, advice } = offence;
                json!({ "offence": offence, "rule": rule, "entries": entries, "message": message, "advice": advice })
            });
            let told = json!({
                "workspace_id": judged.workspace_id,
                "verdict": judged.verdict.as_str(),
                "expectations": judged.expectations,
                "failures": judged.failures.iter().map(Failure::render).collect::<Vec<_>>(),
                "offences": offences.collect::<Vec<_>>(),
                "notes": judged.notes,
            });
            value_without_key(told, judged.key.expose())
        })
        .collect();
    json!({
        "event": "verdict",
        "verdict": judgement.verdict().as_str(),
        "command": code,
        "workspaces": workspaces,
        "notes": judgement.notes,
    })
}
