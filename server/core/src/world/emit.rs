//! Appending events: the one way into a session's log.

use crate::event::{Envelope, Ephemeral, EphemeralBody, Event, encode_durable, encode_ephemeral};
use crate::id::Kind;
use crate::session::{Session, SessionIx};
use crate::settings::Settings;
use crate::time::Timestamp;

/// What a world holds in all, and which sessions have something new.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    touched: Vec<SessionIx>,
}

impl Tally {
    /// The streams of `session` are to look again.
    pub(crate) fn touch(&mut self, session: SessionIx) {
        if self.touched.last() != Some(&session) {
            self.touched.push(session);
        }
    }

    pub(crate) fn take_touched(&mut self) -> Vec<SessionIx> {
        std::mem::take(&mut self.touched)
    }
}

/// Appends the events of one moment to the log of one session.
pub(crate) struct Emitter<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) tally: &'a mut Tally,
    pub(crate) ix: SessionIx,
    pub(crate) session: &'a mut Session,
    pub(crate) run_id: Option<&'a str>,
    pub(crate) at: Timestamp,
}

impl Emitter<'_> {
    /// The id that the next durable event will have.
    pub(crate) fn next_event_id(&self) -> String {
        self.event_id(self.session.log.head() + 1)
    }

    /// The id of the event of that sequence.
    pub(crate) fn event_id(&self, sequence: u32) -> String {
        self.settings.ids.within(self.ix.0, Kind::Event, sequence)
    }

    /// Appends a durable event and returns its sequence and id.
    pub(crate) fn durable(&mut self, event: &Event<'_>) -> (u32, String) {
        let id = self.next_event_id();
        let before = self.session.log.bytes();
        let session_id = self.session.id.as_str();
        let sequence = self.session.log.append(self.at, event.ends_run(), |out, sequence| {
            let envelope = Envelope {
                id: &id,
                sequence,
                workspace_id: &self.settings.workspace_id,
                session_id,
                run_id: self.run_id,
                created_at: self.at,
            };
            encode_durable(out, &envelope, event)
        });
        self.tally.events += 1;
        self.tally.bytes += (self.session.log.bytes() - before) as u64;
        self.tally.touch(self.ix);
        (sequence, id)
    }

    /// Appends an ephemeral event.
    pub(crate) fn ephemeral(&mut self, event_type: &str, body: EphemeralBody<'_>) {
        // Ephemeral events come in any number; the count of their ids may wrap, since nothing looks them up.
        let id = self.settings.ids.within(self.ix.0, Kind::Delta, self.session.log.next_delta() as u32);
        let frame = encode_ephemeral(&Ephemeral {
            id: &id,
            event_type,
            session_id: &self.session.id,
            run_id: self.run_id,
            created_at: self.at,
            body,
        });
        self.session.log.append_delta(self.at, frame);
        self.tally.touch(self.ix);
    }
}
