//! Opening, reading and closing streams, and the time that passes on them (contract §5).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bytes::Bytes;

use super::World;
use crate::effect::{Fired, FiredKind};
use crate::event::{Ephemeral, EphemeralBody, encode_ephemeral};
use crate::id::Kind;
use crate::log::{Read, Then, bounded_silence};
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::session::SessionIx;
use crate::stream::{self, StreamIx};
use crate::time::Timestamp;

impl World {
    pub(super) fn open_stream(
        &mut self,
        ix: SessionIx,
        after: Option<&str>,
        deltas: bool,
        now: Timestamp,
    ) -> Result<Reply, Rejection> {
        let Some(session) = self.sessions.get_mut(ix.0 as usize) else {
            return Err(Rejection::NotFound("session"));
        };
        let known = |id: &str| {
            let sequence = self.settings.ids.ordinal_within(ix.0, Kind::Event, id)?;
            (1..=session.log.head()).contains(&sequence).then_some(sequence)
        };
        let sequence = match after {
            None => 0,
            Some(id) => match known(id) {
                Some(sequence) => sequence,
                None if self.settings.variants.unknown_cursor_replays_all => 0,
                None => return Err(Rejection::InvalidLastEventId),
            },
        };
        session.streams += 1;
        let queued = session.active();
        let reader = session.log.open(sequence, deltas, now);
        let stream = self.streams.insert(ix, reader, now);
        if let Some(run) = queued {
            self.begin_run(run, now)?;
        }
        Ok(Reply::Stream(stream))
    }

    pub(super) fn close_stream(&mut self, ix: StreamIx) -> Result<Reply, Rejection> {
        let Some(stream) = self.streams.remove(ix) else { return Err(Rejection::NotFound("stream")) };
        let session = &mut self.sessions[stream.session.0 as usize];
        session.streams -= 1;
        session.log.close(&stream.reader);
        Ok(Reply::Done)
    }

    /// Reads on from where `stream` is: about `most_bytes` at most. A stream that has closed is at its end.
    pub fn read_stream(&mut self, ix: StreamIx, now: Timestamp, most_bytes: usize) -> Read {
        let Some(stream) = self.streams.get_mut(ix) else {
            return Read { bytes: Bytes::new(), sequence: 0, then: Then::End };
        };
        let session = &self.sessions[stream.session.0 as usize];
        let ends = stream::ends(session, &stream.reader, self.settings.variants);
        // A stream that is about to end is not silent, it is over.
        let silent_until = if ends { Timestamp::from_millis(0) } else { now };
        let mut read =
            session.log.read(&mut stream.reader, silent_until, self.settings.keep_alive, most_bytes);
        if ends && matches!(read.then, Then::Wait(_)) {
            read.then = Then::End;
        }
        read
    }

    /// Whether a stream has read all that there is for it by `now`, and goes on. One that is about to end has not.
    pub fn has_read_all(&self, ix: StreamIx, now: Timestamp) -> bool {
        let Some(stream) = self.streams.get(ix) else { return false };
        let session = &self.sessions[stream.session.0 as usize];
        session.log.is_read(&stream.reader)
            && stream.reader.next_keep_alive(self.settings.keep_alive).is_none_or(|due| due > now)
            && !stream::ends(session, &stream.reader, self.settings.variants)
    }

    /// The frame of `stream.resync` for `session`: no id, sent whatever the stream asked for (SSE-8).
    pub fn resync_frame(&self, session: SessionIx, now: Timestamp) -> Bytes {
        let Some(at) = self.session_at(session) else { return Bytes::new() };
        // It stands in no log, so it takes a number that no delta has.
        let id = self.settings.ids.within(session.0, Kind::Delta, u32::MAX);
        let run_id = at.active().map(|run| self.runs[run.0 as usize].id.as_str());
        encode_ephemeral(&Ephemeral {
            id: &id,
            event_type: "stream.resync",
            session_id: &at.id,
            run_id,
            created_at: now,
            body: EphemeralBody::Nothing,
        })
    }

    /// What makes the ids of this world's events, whatever becomes of it.
    pub fn ids(&self) -> crate::id::Ids {
        self.settings.ids
    }

    /// The id of the event of `session` that has that sequence.
    pub fn event_id(&self, session: SessionIx, sequence: u32) -> Option<String> {
        let head = self.session_at(session)?.log.head();
        (1..=head).contains(&sequence).then(|| self.settings.ids.within(session.0, Kind::Event, sequence))
    }

    /// The id that the event of `session` numbered `sequence` has, or will have.
    pub fn event_id_at(&self, session: SessionIx, sequence: u32) -> String {
        self.settings.ids.within(session.0, Kind::Event, sequence)
    }

    /// Lets everything happen that is due by `now`, as [`World::settle`] does, and tells of the keep-alives too:
    /// in order of time, and at one moment keep-alives, then deadlines, then waits.
    pub fn advance(&mut self, now: Timestamp) {
        self.skip_silences(now);
        let due = |world: &Self, ix, opened| world.keep_alive_due(ix).map(|due| Reverse((due, opened, ix)));
        let open = self.streams.iter().filter_map(|(ix, stream)| due(self, ix, stream.opened));
        let mut silences: BinaryHeap<Reverse<(Timestamp, u64, StreamIx)>> = open.collect();
        loop {
            let timer = self.next_deadline().filter(|at| *at <= now);
            let silence = silences.peek().map(|Reverse(next)| *next).filter(|(due, ..)| *due <= now);
            match (timer, silence) {
                (timer, Some((until, opened, ix))) if timer.is_none_or(|at| until <= at) => {
                    silences.pop();
                    // Something may have been sent since: then the silence began anew.
                    if self.keep_alive_due(ix) == Some(until) {
                        self.tell_keep_alive(ix, until);
                    }
                    silences.extend(due(self, ix, opened));
                }
                (Some(at), _) => self.settle(at),
                (None, _) => return,
            }
        }
    }

    /// The silence of every stream begins now.
    pub(super) fn restart_silences(&mut self, now: Timestamp) {
        let places: Vec<StreamIx> = self.streams.iter().map(|(ix, _)| ix).collect();
        for ix in places {
            self.restart_silence(ix, now);
        }
    }

    /// The silence of a stream begins at `at`: keep-alives that were due before are never sent. What happens while a
    /// stream is kept from sending anything at all.
    pub fn restart_silence(&mut self, ix: StreamIx, at: Timestamp) {
        if let Some(stream) = self.streams.get_mut(ix) {
            stream.reader.sent_at(at);
            stream.told_until = stream.told_until.max(at);
        }
    }

    /// Of a long silence only the end is told, as streams send it.
    fn skip_silences(&mut self, now: Timestamp) {
        let places: Vec<StreamIx> = self.streams.iter().map(|(ix, _)| ix).collect();
        for ix in places {
            let Some(stream) = self.streams.get_mut(ix) else { continue };
            let since = self.sessions[stream.session.0 as usize].log.quiet_since(&stream.reader);
            let since = since.max(stream.told_until);
            stream.told_until = stream.told_until.max(bounded_silence(since, now, self.settings.keep_alive));
        }
    }

    /// When the next keep-alive of a stream is due, if all that has come so far is read.
    pub fn next_keep_alive(&self) -> Option<Timestamp> {
        self.streams.iter().filter_map(|(ix, _)| self.keep_alive_due(ix)).min()
    }

    /// When the next keep-alive of a stream is due, if all that has come so far is read; `None` where none comes.
    pub fn keep_alive_due(&self, ix: StreamIx) -> Option<Timestamp> {
        let stream = self.streams.get(ix)?;
        let session = &self.sessions[stream.session.0 as usize];
        if self.settings.keep_alive.is_zero() || stream::ends(session, &stream.reader, self.settings.variants)
        {
            return None;
        }
        let since = session.log.quiet_since(&stream.reader).max(stream.told_until);
        let due = since.after(self.settings.keep_alive);
        (due > since).then_some(due)
    }

    fn tell_keep_alive(&mut self, ix: StreamIx, due: Timestamp) {
        let Some(stream) = self.streams.get_mut(ix) else { return };
        stream.told_until = due;
        let session_id = self.sessions[stream.session.0 as usize].id.clone();
        self.effects().fire(Fired { at: due, what: FiredKind::KeepAlive { stream: ix, session_id } });
    }
}
