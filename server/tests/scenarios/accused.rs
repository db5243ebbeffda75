//! What the mock sees by itself of each mistake. What it can't see from outside, such as a client that gives up, it
//! doesn't accuse of: then the expectations of the file are what fails.

use std::collections::BTreeSet;

use crate::mistake::Mistake::{self, *};

/// A file, the mistake that is made in it, and an offence that is seen.
const ACCUSED: &[(&str, Mistake, &str)] = &[
    ("answer-without-end", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("answered-call-again", ActsOnEachDelivery, "resume-after-acceptance"),
    ("bad-gateway", ForgetsItsPlace, "reconnect-without-position"),
    ("chaos", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("chaos", MakesANewKeyForEachTry, "second-run-for-one-message"),
    ("code-over-status", JudgesByStatus, "resume-after-already-resolved"),
    ("cut-inside-an-id", BelievesHalfFrames, "position-never-issued"),
    ("cut-inside-an-id", TakesADeltaForItsPlace, "position-from-a-delta"),
    ("echo", AnswersToTheCallsId, "wrong-reference"),
    ("event-again", ActsOnEachDelivery, "resume-after-acceptance"),
    ("expired-while-answering", InsistsWhenExpired, "resume-after-expiry"),
    ("expired-while-working", InsistsWhenExpired, "resume-after-expiry"),
    ("gone-for-good", InsistsWhenExpired, "resume-after-expiry"),
    ("keys-of-their-own", AnswersToTheCallsId, "wrong-reference"),
    ("lost-answer", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("lost-request", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("lost-start", MakesANewKeyForEachTry, "second-run-for-one-message"),
    ("nonsense-retry-after", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("one-event-a-connection", ForgetsItsPlace, "reconnect-without-position"),
    ("overloaded", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("redirected", TakesItsKeyAlong, "key-sent-to-another-origin"),
    ("refused-cursor", RepeatsARefusedCursor, "refused-position-repeated"),
    ("replayed-history", ActsOnEachDelivery, "resume-after-acceptance"),
    ("replayed-history", ForgetsItsPlace, "reconnect-without-position"),
    ("resolved-elsewhere", InsistsWhenResolved, "resume-after-already-resolved"),
    ("result-refused-always", SendsARefusedResultAgain, "same-body-after-tool-result-invalid"),
    ("result-refused-once", SendsARefusedResultAgain, "same-body-after-tool-result-invalid"),
    ("resync-again-and-again", ForgetsItsPlace, "reconnect-without-position"),
    ("resync-once", TakesADeltaForItsPlace, "position-from-a-delta"),
    ("server-errors", MakesANewKeyForEachTry, "changed-key-on-retry"),
    ("sign-in-page", TakesAnyPage, "position-never-issued"),
    ("slow-answer", LosesPatience, "second-run-for-one-message"),
    ("still-in-progress", MakesANewKeyForEachTry, "changed-key-on-retry"),
];

/// What is wrong with the `offences` that a client with this mistake was accused of in this file.
pub fn check(file: &str, mistake: Mistake, offences: BTreeSet<String>) -> Option<String> {
    let due = ACCUSED.iter().filter(|(of, by, _)| *of == file && *by == mistake);
    let due: BTreeSet<String> = due.map(|(.., offence)| (*offence).to_owned()).collect();
    (due != offences).then(|| format!("{file}: {mistake:?} is accused of {offences:?}, not {due:?}"))
}
