//! The edge of a stream: what faults make of its frames.
//!
//! What is to be sent stands in a queue of [`Op`]s. A frame of the log goes in as one, comes out as what faults make
//! of it, and the stream carries that out. What a fault puts in is never met by another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pantheon_core::Timestamp;
use pantheon_core::log::Then;
use pantheon_core::session::SessionIx;

use super::act::{self, About};
use super::frame::{self, Frame};
use super::pace::Pace;
use super::verb::{How, Insert, Inside, Part, Reframe};
use super::{Firing, Match, Side, Tallies, Verb};
use crate::http::caller::Caller;
use crate::journal::{Faulted, Recorded};
use crate::workspace::Workspace;

/// What is left to do before the stream reads on.
#[derive(Debug)]
pub(crate) enum Op {
    /// A frame, keep-alive or comment of the stream's own; it brings the client to that sequence.
    Frame(Bytes, u32),
    /// These bytes leave; with the last of a frame's, the client has come to that sequence.
    Send(Bytes, Option<u32>),
    /// What was sent has left.
    Flush,
    /// Time passes in silence, or for ever.
    Hold(String, Option<Duration>),
    /// The pause before a piece of a dribble; the first piece of a frame need not wait.
    Pause {
        /// Whether it is before the first piece of a frame.
        is_first: bool,
    },
    /// The stream ends so.
    Close(How),
    /// The stream ends cleanly after `stream.resync`.
    Resync,
    /// A fault happens.
    Fire(Firing, Option<Frame>),
    /// The faults on that side of a frame.
    Meet(Side, Frame),
    /// The frame itself.
    Body(Frame, u32),
    /// All that was read has been sent: this is what comes next.
    Then(Then),
}

/// What faults have made of one stream so far.
#[derive(Debug, Default)]
pub(crate) struct StreamFaults {
    pub(super) queue: VecDeque<Op>,
    pub(super) tallies: Tallies,
    reframe: Option<Box<Reframe>>,
    pace: Option<Pace>,
    due: Option<Timestamp>,
    /// Counts the line ends of a mixed stream.
    turn: usize,
    has_begun: bool,
}

/// Whose frames they are.
pub(crate) struct Whose<'a> {
    pub(crate) workspace: &'a Arc<Workspace>,
    /// The world that they come from.
    pub(crate) epoch: u64,
    pub(crate) session: SessionIx,
    pub(crate) session_id: &'a str,
    pub(crate) stream_id: &'a str,
    /// The last durable event that the client was sent.
    pub(crate) sequence: u32,
}

impl StreamFaults {
    /// Whether frames have to pass one by one.
    pub(crate) fn are_met(&self, workspace: &Workspace) -> bool {
        workspace.faults.at_events() || self.reframe.is_some() || self.pace.is_some()
    }

    /// What was read: it is met frame by frame, then comes `then`.
    pub(crate) fn take(&mut self, frames: impl Iterator<Item = Bytes>, sequence: u32, then: Then) {
        self.queue.extend(frames.map(|frame| Op::Frame(frame, sequence)));
        self.queue.push_back(Op::Then(then));
    }

    /// What to do next; what a frame or a fault comes to is put in its place.
    pub(crate) fn next(&mut self, whose: &Whose<'_>) -> Option<Op> {
        loop {
            match self.queue.pop_front()? {
                Op::Frame(bytes, sequence) => self.frame(bytes, sequence),
                Op::Meet(side, frame) => self.meet(side, &frame, whose),
                Op::Body(frame, sequence) => self.body(&frame, sequence, whose),
                Op::Fire(firing, frame) => self.fire(&firing, frame.as_ref(), whose),
                op @ (Op::Send(..)
                | Op::Flush
                | Op::Hold(..)
                | Op::Pause { .. }
                | Op::Close(_)
                | Op::Resync
                | Op::Then(..)) => return Some(op),
            }
        }
    }

    /// Until when the pause before a piece of a dribble lasts, and of which fault it is.
    pub(crate) fn pause(&mut self, is_first: bool, now: Timestamp) -> Option<(String, Timestamp)> {
        let pace = self.pace.as_ref()?;
        let due = match self.due {
            Some(due) if !is_first || due > now => due,
            Some(_) | None => now,
        };
        self.due = Some(due.after(pace.dribble.every));
        Some((pace.fault_id.clone(), due))
    }

    fn first(&mut self, ops: Vec<Op>) {
        for op in ops.into_iter().rev() {
            self.queue.push_front(op);
        }
    }

    fn frame(&mut self, bytes: Bytes, sequence: u32) {
        let frame = Frame(bytes);
        let ops = if frame.id().is_none() {
            self.sent(&frame, Some(sequence), None)
        } else {
            vec![
                Op::Meet(Side::Before, frame.clone()),
                Op::Body(frame.clone(), sequence),
                Op::Meet(Side::After, frame),
            ]
        };
        self.first(ops);
    }

    fn meet(&mut self, side: Side, frame: &Frame, whose: &Whose<'_>) {
        let ops =
            self.firing(side, frame, whose).into_iter().map(|firing| Op::Fire(firing, Some(frame.clone())));
        let ops = ops.collect();
        self.first(ops);
    }

    fn firing(&mut self, side: Side, frame: &Frame, whose: &Whose<'_>) -> Vec<Firing> {
        let Some(event_type) = frame.event_type() else { return Vec::new() };
        let has = |inside| frame::place(&frame.0, inside).is_some();
        let at = Match::Event { event_type, side, has: &has };
        whose.workspace.meet(whose.epoch, at, &mut self.tallies)
    }

    /// The frame as the faults within it have it.
    fn body(&mut self, frame: &Frame, sequence: u32, whose: &Whose<'_>) {
        if let Some(id) = frame.id() {
            whose.workspace.faults.forget_cursor(whose.session_id, id);
        }
        let firing = self.firing(Side::Within, frame, whose);
        let own = firing.iter().rev().find_map(|firing| {
            if let Verb::Reframe(reframe) = &firing.fault.verb { Some(reframe.clone()) } else { None }
        });
        firing.iter().for_each(|firing| journal(firing, Some(frame), whose, None));
        let Some((inside, then)) = firing.iter().find_map(broken_off) else {
            let ops = self.sent(frame, Some(sequence), own.as_deref());
            if !firing.is_empty() {
                journal_bytes(&ops, whose);
            }
            self.first(ops);
            return;
        };
        let written = self.written(frame, own.as_deref());
        // Written otherwise, the frame may have lost the place; then it breaks in its middle.
        let at = frame::place(&written, inside).unwrap_or(written.len() / 2);
        // After an endless silence the rest comes only if the stream is released.
        let (may_go_on, goes_on) = (matches!(then, Op::Hold(..)), matches!(then, Op::Hold(_, Some(_))));
        journal_sent(if goes_on { written.clone() } else { written.slice(..at) }, whose);
        let mut ops = vec![Op::Send(written.slice(..at), None), Op::Flush, then];
        if may_go_on {
            ops.push(Op::Send(written.slice(at..), Some(sequence)));
        }
        self.first(ops);
    }

    fn fire(&mut self, firing: &Firing, frame: Option<&Frame>, whose: &Whose<'_>) {
        let fault = &firing.fault;
        if let Verb::Act(act) = &fault.verb {
            let run_id = frame.and_then(Frame::run_id);
            let about = About { session_id: Some(whose.session_id), run_id: run_id.as_deref() };
            match act::carry_out(whose.workspace, whose.epoch, act, about) {
                Ok(()) => journal(firing, frame, whose, None),
                Err(reason) => {
                    whose.workspace.faults.skip(firing);
                    journal(firing, frame, whose, Some(format!("skipped: {reason}")));
                }
            }
            return;
        }
        journal(firing, frame, whose, None);
        let ops = match &fault.verb {
            Verb::Delay(span) => vec![Op::Hold(fault.id.clone(), Some(*span))],
            Verb::Stall(stall) => vec![Op::Hold(fault.id.clone(), stall.span)],
            Verb::Dribble(dribble) => {
                self.pace = Some(Pace { dribble: *dribble, fault_id: fault.id.clone() });
                whose.workspace.streams.pace(whose.stream_id);
                Vec::new()
            }
            Verb::Close(close) => vec![Op::Close(close.how)],
            Verb::Resync => vec![Op::Resync],
            Verb::Rewind(count) => self.rewound(*count, whose),
            Verb::Repeat(count) => match frame {
                Some(frame) => (0..*count).flat_map(|_| self.sent(frame, None, None)).collect(),
                None => Vec::new(),
            },
            Verb::Reframe(reframe) => {
                self.reframe = Some(reframe.clone());
                Vec::new()
            }
            Verb::Insert(insert) => {
                inserted(insert, whose).map(|bytes| Op::Send(bytes, None)).into_iter().collect()
            }
            Verb::LiveUnavailable | Verb::Redirect(_) | Verb::Respond(_) | Verb::Act(_) => Vec::new(),
        };
        journal_bytes(&ops, whose);
        self.first(ops);
    }

    /// The last `count` durable events that the client has, again.
    fn rewound(&mut self, count: u32, whose: &Whose<'_>) -> Vec<Op> {
        let first = whose.sequence.saturating_sub(count) + 1;
        let frames: Option<Vec<Bytes>> = whose.workspace.look_at(whose.epoch, |world| {
            let log = world.session_at(whose.session).map(|session| &session.log);
            (first..=whose.sequence).filter_map(|sequence| log?.frame(sequence)).collect()
        });
        frames.into_iter().flatten().flat_map(|frame| self.sent(&Frame(frame), None, None)).collect()
    }

    /// `frame` as it is written on this stream.
    fn written(&mut self, frame: &Frame, own: Option<&Reframe>) -> Bytes {
        let reframe = own.or(self.reframe.as_deref());
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let Some(reframe) = reframe else { return frame.0.clone() };
        let mut written = frame::rewritten(frame, reframe, &mut self.turn);
        if is_first && reframe.bom {
            written.splice(..0, *b"\xef\xbb\xbf");
        }
        written.into()
    }

    /// What sends `frame`; with its last byte the client has come to `sequence`.
    fn sent(&mut self, frame: &Frame, sequence: Option<u32>, own: Option<&Reframe>) -> Vec<Op> {
        let split = own.or(self.reframe.as_deref()).and_then(|reframe| reframe.split);
        let mut rest = self.written(frame, own);
        let Some(most) = self.pace.as_ref().map(|pace| pace.dribble.bytes).or(split) else {
            return vec![Op::Send(rest, sequence)];
        };
        let mut ops = Vec::new();
        while !rest.is_empty() {
            let piece = rest.split_to(most.min(rest.len()));
            if self.pace.is_some() {
                ops.push(Op::Pause { is_first: ops.is_empty() });
            }
            ops.push(Op::Send(piece, sequence.filter(|_| rest.is_empty())));
            ops.push(Op::Flush);
        }
        ops
    }
}

/// Where a fault breaks a frame off, if it does, and what comes then.
fn broken_off(firing: &Firing) -> Option<(Inside, Op)> {
    let fault = &firing.fault;
    if let Verb::Close(close) = &fault.verb {
        return Some((close.inside?, Op::Close(close.how)));
    }
    if let Verb::Stall(stall) = &fault.verb {
        return Some((stall.inside?, Op::Hold(fault.id.clone(), stall.span)));
    }
    None
}

/// The cursor that `after` stands for: its own, unless a fault has inserted it.
pub(crate) fn cursor(
    caller: &Caller,
    session: SessionIx,
    session_id: &str,
    after: Option<String>,
) -> Option<String> {
    match caller.workspace.faults.cursor(session_id, after.as_deref()?) {
        Some(0) => None,
        // Where the world is gone, so is the stream that it would be for.
        Some(sequence) => {
            caller.workspace.look_at(caller.epoch(), |world| world.event_id_at(session, sequence))
        }
        None => after,
    }
}

/// The bytes that `insert` stands for here; the cursors in them stand for this place from now on. None where the
/// session is gone.
fn inserted(insert: &Insert, whose: &Whose<'_>) -> Option<Bytes> {
    whose.workspace.look_at(whose.epoch, |world| {
        let id = |sequence| world.event_id_at(whose.session, sequence);
        let mut raw = Vec::new();
        for part in &insert.parts {
            match part {
                Part::Bytes(bytes) => raw.extend_from_slice(bytes),
                Part::LastEventId if whose.sequence == 0 => {}
                Part::LastEventId => raw.extend_from_slice(id(whose.sequence).as_bytes()),
                Part::NextEventId => raw.extend_from_slice(id(whose.sequence + 1).as_bytes()),
            }
        }
        for cursor in frame::cursors(&raw) {
            whose.workspace.faults.keep_cursor(whose.session_id, &cursor, whose.sequence);
        }
        raw.into()
    })
}

/// Writes down what a fault sends, where it sends something.
fn journal_bytes(ops: &[Op], whose: &Whose<'_>) {
    let sent: Vec<u8> = ops
        .iter()
        .filter_map(|op| if let Op::Send(bytes, _) = op { Some(bytes.as_ref()) } else { None })
        .collect::<Vec<&[u8]>>()
        .concat();
    if !sent.is_empty() {
        journal_sent(sent.into(), whose);
    }
}

fn journal_sent(frame: Bytes, whose: &Whose<'_>) {
    let (stream_id, session_id) = (whose.stream_id.to_owned(), whose.session_id.to_owned());
    let entry = Recorded::Frame { stream_id, session_id, frame };
    whose.workspace.record(whose.epoch, entry);
}

fn journal(firing: &Firing, frame: Option<&Frame>, whose: &Whose<'_>, reason: Option<String>) {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let faulted = Faulted {
        fault_id: firing.fault.id.clone(),
        verb: firing.fault.verb.name(),
        route: None,
        event_type: text(frame.and_then(Frame::event_type)),
        event_id: text(frame.and_then(Frame::id)),
        session_id: Some(whose.session_id.to_owned()),
        run_id: frame.and_then(Frame::run_id),
        stream_id: Some(whose.stream_id.to_owned()),
        reason,
    };
    whose.workspace.record(whose.epoch, Recorded::Fault(Box::new(faulted)));
}
