//! The idempotency keys that a client makes: from what is durable, so that a restart makes them again.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::Call;
use crate::defect::{Defect, Defects};

/// The longest key that the server takes (RES-2).
const LONGEST: usize = 255;

/// The key of the `number`th body that answers a call: one for each call and body (C-TOOL-6).
pub(crate) fn of_answer(call: &Call, number: u32, nonce: u64, defects: Defects) -> String {
    if defects.has(Defect::ShortKeys) {
        return format!("r{number}");
    }
    if defects.has(Defect::OneKeyForAllCalls) {
        return format!("resume-{}", call.run.as_ref().map_or("none", |run| run.as_str()));
    }
    if defects.has(Defect::ResumeKeyDiesWithProcess) {
        return format!("resume-{nonce:016x}-{}-{number}", digest(&[&call.event_id]));
    }
    bounded(format!("resume-{}-{number}", call.event_id))
}

/// The key of a start: one for each task and message.
pub(crate) fn of_start(task: &str, session: &str, message: &str) -> String {
    format!("start-{}", digest(&[task, session, message]))
}

/// The key itself where a header can hold it; else one of the same length for all.
fn bounded(key: String) -> String {
    let is_plain = key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain && key.len() <= LONGEST { key } else { format!("resume-{}", digest(&[&key])) }
}

/// The same for the same parts, on every machine and in every release.
fn digest(parts: &[&str]) -> String {
    let mut hasher = SipHasher13::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part.as_bytes());
    }
    format!("{:032x}", hasher.finish128().as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_tool_6_keys_are_8_to_255_printable_characters() {
        for event in ["e", "evt_1", "é", "a b", &"x".repeat(300)] {
            let key = bounded(format!("resume-{event}-1"));
            assert!(
                (8..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()),
                "{key}"
            );
        }
        assert_ne!(
            bounded(format!("resume-{}-1", "x".repeat(300))),
            bounded(format!("resume-{}-2", "x".repeat(300)))
        );
    }

    #[test]
    fn c_run_1_a_start_has_a_key_of_its_own() {
        assert_eq!(of_start("t", "s", "m"), of_start("t", "s", "m"));
        assert_ne!(of_start("t", "s", "m"), of_start("t", "sm", ""));
    }
}
