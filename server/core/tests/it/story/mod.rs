//! Stories: tests as text. What a story commands and what comes of it stand in one text, like a session in a
//! terminal: lines at the left are commands, indented ones are what came of them.
//!
//! ```text
//! given s with add_todo              a tool, an agent, a deployment that binds the tool, a session
//! turn: say Hi |there; call add_todo {"title":"milk"}; say Done
//! open a on s
//!   open
//! start r in s: buy milk
//!   r queued
//! resume r key-0001: #4 = {"id":1}
//!   accepted #4; running
//! ```
//!
//! To add a case, write the commands, run the test with `UPDATE_EXPECT=1`, and read what came of them. All
//! commands stand in [`stage`], all words for outcomes in [`tell`]. Time is what `at` and `advance` say: nothing
//! waits. Ids are told by names: `#4` is the event of sequence 4, `~0` the first ephemeral event, `call.0`,
//! `pending.0` and `exec.0` the ids of the first call; with several sessions the session's name stands before. Bytes
//! that are told as they are stand behind a bar.

mod script;
mod span;
mod stage;
mod tell;

use expect_test::Expect;

pub(crate) use script::parse_turn;
pub(crate) use span::{parse_span, tell_time};
use stage::Stage;
pub(crate) use stage::strangers;

/// Plays the commands of `story` in a new world and checks that what comes of them is what it says.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "it reads `check(expect![…])`")]
pub(crate) fn check(story: Expect) {
    let mut stage = Stage::default();
    let mut told = String::new();
    for line in commands(story.data()) {
        told.push_str(line);
        told.push('\n');
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        for outcome in stage.play(line).lines().filter(|outcome| !outcome.is_empty()) {
            told.push_str("  ");
            told.push_str(outcome.trim_end());
            told.push('\n');
        }
    }
    story.assert_eq(&told);
}

/// The lines of `text` that are indented least.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let indent_of = |line: &str| line.len() - line.trim_start().len();
    let least = text.lines().filter(|line| !line.trim().is_empty()).map(indent_of).min().unwrap_or(0);
    let lines = text.strip_prefix('\n').unwrap_or(text).trim_end().lines();
    lines.filter(move |line| line.trim().is_empty() || indent_of(line) == least).map(str::trim)
}
