//! What a stream should have read: a second reading of SSE-5, SSE-9, SSE-10 and SSE-11.

use std::time::Duration;

use pantheon_core::Timestamp;
use pantheon_core::log::{Read, Then};
use pantheon_core::stream::StreamIx;
use serde_json::Value;

use super::{Fault, ensure};

const COMMENT: &str = ": keep-alive\n\n";

/// A frame that a session has sent, or would have.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) text: String,
    pub(super) at: Timestamp,
    /// For a durable event.
    pub(super) sequence: Option<u32>,
}

impl Sent {
    /// The frame of the durable event that has that JSON (SSE-1).
    pub(super) fn durable(json: &str, event: &Value) -> Self {
        let text = |member: &str| event[member].as_str().unwrap_or_default();
        Self {
            text: format!("event: {}\nid: {}\ndata: {json}\n\n", text("type"), text("id")),
            at: Timestamp::parse(text("created_at")).expect("an event has its time"),
            sequence: event["sequence"].as_u64().and_then(|sequence| u32::try_from(sequence).ok()),
        }
    }
}

/// The frames in what a stream was given, comments left out.
pub(super) fn frames(text: &str) -> Result<Vec<Sent>, Fault> {
    let frames = text.split_inclusive("\n\n").filter(|frame| *frame != COMMENT);
    let parse = |frame: &str| {
        let (head, json) =
            frame.split_once("data: ").ok_or_else(|| format!("a frame without data: {frame}"))?;
        let event: Value = serde_json::from_str(json).map_err(|error| format!("{error}: {frame}"))?;
        let at = event["created_at"].as_str().and_then(Timestamp::parse).ok_or("no time")?;
        let sequence = event["sequence"].as_u64().and_then(|sequence| u32::try_from(sequence).ok());
        ensure!(
            head.contains("id: ") == sequence.is_some(),
            "SSE-3: only durable events have an id: {frame}"
        );
        Ok(Sent { text: frame.to_owned(), at, sequence })
    };
    frames.map(parse).collect()
}

/// What is known of a session when one of its streams is judged.
pub(super) struct Scene<'a> {
    /// All it has sent, in order; without ephemeral events where nobody has witnessed them.
    pub(super) sent: &'a [Sent],
    pub(super) is_witnessed: bool,
    /// SSE-11 and SESS-2, for a stream that began after an event.
    pub(super) ends_after: &'a dyn Fn(u32) -> bool,
    pub(super) now: Timestamp,
    pub(super) keep_alive: Duration,
}

/// An open stream, and all that it has read.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) ix: StreamIx,
    /// Which session, by place.
    pub(super) session: usize,
    started_after: u32,
    wants_deltas: bool,
    opened_at: Timestamp,
    /// How much its session had sent before.
    sent_before: usize,
    pub(super) received: String,
    /// When it was last read before it was about to end: till then, silence got its comments.
    lived_until: Timestamp,
    /// It has read all: nothing but a touch or a keep-alive may bring more.
    pub(super) waits: bool,
    /// The keep-alives that `advance` told of.
    pub(super) told: Vec<Timestamp>,
}

impl Watcher {
    pub(super) fn new(
        ix: StreamIx,
        session: usize,
        started_after: u32,
        wants_deltas: bool,
        opened_at: Timestamp,
        sent_before: usize,
    ) -> Self {
        Self {
            ix,
            session,
            started_after,
            wants_deltas,
            opened_at,
            sent_before,
            received: String::new(),
            lived_until: opened_at,
            waits: false,
            told: Vec::new(),
        }
    }

    /// Judges one read: what it brought, and what the stream is to do next.
    pub(super) fn judge(
        &mut self,
        read: &Read,
        scene: &Scene<'_>,
        clock_is_virtual: bool,
    ) -> Result<(), Fault> {
        let text = std::str::from_utf8(&read.bytes).map_err(|_| "a piece cuts a character".to_owned())?;
        ensure!(text.is_empty() || text.ends_with("\n\n"), "a piece cuts a frame: {text}");
        self.received.push_str(text);
        self.waits = false;
        let is_exact = scene.is_witnessed || !self.wants_deltas;
        let ends = (scene.ends_after)(self.started_after);
        let (mut expected, comments, quiet) = self.expected(scene, ends);
        if ends {
            expected.push_str(&self.comments_before_the_end(&expected, quiet, scene.keep_alive));
        } else {
            self.lived_until = scene.now;
        }
        let received = if is_exact { self.received.clone() } else { durable_only(&self.received)? };
        let expected = if is_exact { expected } else { durable_only(&expected)? };
        ensure!(expected.starts_with(&received), "SSE-5: read\n{received}\ninstead of\n{expected}");
        let has_all = expected.len() == received.len();
        match read.then {
            Then::More => ensure!(!text.is_empty(), "more was promised, nothing came"),
            Then::Gap => return Err("SSE-10: nothing was too much".to_owned()),
            Then::End => ensure!(ends && has_all, "SSE-11: it ends too early, or for no reason: {self:?}"),
            Then::Wait(until) => {
                ensure!(!ends && has_all, "SSE-11: it waits, with ends {ends} and all {has_all}: {self:?}");
                let due = (!scene.keep_alive.is_zero()).then(|| quiet.after(scene.keep_alive));
                ensure!(!is_exact || until == due, "SSE-9: it waits until {until:?} instead of {due:?}");
                let was_told_all = clock_is_virtual && is_exact && !scene_ended(scene, self.started_after);
                ensure!(
                    !was_told_all || self.told == comments,
                    "SSE-9: told of {:?}, not {comments:?}",
                    self.told
                );
                self.waits = true;
            }
        }
        Ok(())
    }

    /// The comments at the end of what it has read that were due while it still had something to wait for.
    fn comments_before_the_end(&self, expected: &str, quiet: Timestamp, keep_alive: Duration) -> String {
        let surplus = self.received.strip_prefix(expected).unwrap_or_default();
        let count = surplus.len() / COMMENT.len();
        let last_due = (0..count).fold(quiet, |due, _| due.after(keep_alive));
        let is_due = surplus == COMMENT.repeat(count) && last_due <= self.lived_until;
        if is_due { surplus.to_owned() } else { String::new() }
    }

    /// All that should have come by now, when the comments in it were due, and since when it is quiet.
    fn expected(&self, scene: &Scene<'_>, ends: bool) -> (String, Vec<Timestamp>, Timestamp) {
        let (mut out, mut comments, mut quiet) = (String::new(), Vec::new(), self.opened_at);
        let mut comment_until = |out: &mut String, quiet: &mut Timestamp, until: Timestamp| {
            while !scene.keep_alive.is_zero() && quiet.after(scene.keep_alive) <= until {
                *quiet = quiet.after(scene.keep_alive);
                out.push_str(COMMENT);
                comments.push(*quiet);
            }
        };
        for (at, sent) in scene.sent.iter().enumerate() {
            let is_mine = match sent.sequence {
                Some(sequence) => sequence > self.started_after,
                None => self.wants_deltas && at >= self.sent_before,
            };
            if is_mine {
                comment_until(&mut out, &mut quiet, sent.at);
                out.push_str(&sent.text);
                quiet = quiet.max(sent.at);
            }
        }
        if !ends {
            comment_until(&mut out, &mut quiet, scene.now);
        }
        (out, comments, quiet)
    }
}

/// Whether the session had a moment at which the stream was about to end: then silence is nobody's.
fn scene_ended(scene: &Scene<'_>, started_after: u32) -> bool {
    let ends_a_run = |sent: &Sent| {
        ["event: run.completed", "event: run.failed", "event: run.cancelled"]
            .iter()
            .any(|head| sent.text.starts_with(head))
    };
    scene
        .sent
        .iter()
        .any(|sent| sent.sequence.is_some_and(|sequence| sequence > started_after) && ends_a_run(sent))
}

fn durable_only(text: &str) -> Result<String, Fault> {
    Ok(frames(text)?.into_iter().filter(|sent| sent.sequence.is_some()).map(|sent| sent.text).collect())
}
