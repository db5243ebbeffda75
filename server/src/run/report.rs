//! How the verdict is told: to people, or as one JSON object.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitStatus;

use serde_json::{Value, json};

use super::command::code;
use super::verdict::{Judged, Judgement};
use crate::cli::LogFormat;
use crate::journal::{value_without_key, without_key};
use crate::log::Log;
use crate::verdict::Offence;
use crate::verify::{Failure, Verdict};

/// Prints it, to standard error.
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

/// `fail (of 3 expectations 1 failed, 2 offences)`
fn summary(judged: &Judged) -> String {
    let Judged { verdict, expectations, failures, offences, .. } = judged;
    let expected = match (*expectations, failures.len()) {
        (0, _) => "nothing was expected".to_owned(),
        (1, 0) => "the expectation holds".to_owned(),
        (1, _) if *verdict == Verdict::Inconclusive => "the expectation can't be judged".to_owned(),
        (1, _) => "the expectation failed".to_owned(),
        (all, 0) => format!("all {all} expectations hold"),
        (all, _) => {
            let count = |verdict| failures.iter().filter(|failure| failure.verdict == verdict).count();
            let (failed, unknown) = (count(Verdict::Fail), count(Verdict::Inconclusive));
            let parts = [(failed, "failed"), (unknown, "can't be judged")];
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
    let Offence { kind, entries: _, message } = offence;
    let mut told = format!("offence: {} ({}): {message}", kind.name(), kind.rule());
    for entry in entries {
        // Writing to a text can't fail.
        let _ = write!(told, "\n  {entry}");
    }
    let _ = write!(told, "\n  {}", kind.advice());
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
            let offences = judged.offences.iter().map(|(offence, _)| offence.render());
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::verdict::Kind;
    use crate::workspace::ApiKey;

    fn judged(verdict: Verdict, expectations: usize, failures: Vec<Failure>) -> Judged {
        Judged {
            workspace_id: "workspace_1".to_owned(),
            verdict,
            expectations,
            failures,
            offences: Vec::new(),
            notes: Vec::new(),
            key: ApiKey::new("pk_secret_key"),
        }
    }

    fn failure(index: usize, verdict: Verdict) -> Failure {
        let (expected, reason) = ("{ run: completed }".to_owned(), "expected pk_secret_key".to_owned());
        Failure { index, verdict, expected, found: 0, reason, nearest: Vec::new() }
    }

    #[track_caller]
    fn check(workspaces: Vec<Judged>, code: i32, expected: &str) {
        let judgement = Judgement { workspaces, notes: vec!["Mind this.".to_owned()] };
        let status = ExitStatus::from_raw(code << 8);
        assert_eq!(in_words(&judgement, super::code(status)), expected);
    }

    #[test]
    fn a_verdict_says_how_many_expectations_failed_and_which() {
        check(
            vec![judged(Verdict::Pass, 2, Vec::new())],
            0,
            "verdict: pass (all 2 expectations hold, no offence)\nnote: Mind this.\n",
        );
        let failures = vec![failure(0, Verdict::Inconclusive), failure(2, Verdict::Fail)];
        check(
            vec![judged(Verdict::Fail, 3, failures)],
            7,
            "verdict: fail (of 3 expectations 1 failed and 1 can't be judged, no offence)\n\
             inconclusive: /expect/0: { run: completed }\n  expected [redacted]\n\
             fail: /expect/2: { run: completed }\n  expected [redacted]\n\
             note: the command ended with 7, which is the exit code\nnote: Mind this.\n",
        );
    }

    #[test]
    fn an_offence_is_told_with_rule_entries_and_advice() {
        let offence = Offence {
            kind: Kind::ChangedBodyUnderKey,
            entries: vec![4, 7],
            message: "the second resume has another body".to_owned(),
        };
        let entries = vec!["entry 4: POST /x was answered 202".to_owned(), "entry 7: gone".to_owned()];
        let mut one = judged(Verdict::Fail, 0, Vec::new());
        one.offences.push((offence, entries));
        check(
            vec![one, judged(Verdict::Inconclusive, 1, vec![failure(0, Verdict::Inconclusive)])],
            0,
            "verdict: fail\n\nworkspace workspace_1: fail (nothing was expected, 1 offence)\n\
             offence: changed-body-under-key (C-TOOL-6): the second resume has another body\n  \
             entry 4: POST /x was answered 202\n  entry 7: gone\n  Keep the body beside its key and repeat both as they were; another body needs a \
             new key, and is right only after an answer that refused the first.\n\n\
             workspace workspace_1: inconclusive (the expectation can't be judged, no offence)\n\
             inconclusive: /expect/0: { run: completed }\n  expected [redacted]\nnote: Mind this.\n",
        );
    }
}
