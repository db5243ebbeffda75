//! The open streams of a workspace: a place in a log each, and the rule of when they end (contract §5).

use crate::log::Reader;
use crate::session::{Session, SessionIx, State};
use crate::time::Timestamp;
use crate::variant::Variants;

/// An open stream's place in its workspace. It is given again once the stream has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamIx(pub(crate) u32);

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) session: SessionIx,
    /// How many were opened before it.
    pub(crate) opened: u64,
    pub(crate) reader: Reader,
    /// The last keep-alive that an advance has told of.
    pub(crate) told_until: Timestamp,
}

/// The open streams, by place.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    places: Vec<Option<Stream>>,
    free: Vec<StreamIx>,
    opened: u64,
}

impl Streams {
    /// Opens a stream that reads `session` with `reader`.
    pub(crate) fn insert(&mut self, session: SessionIx, reader: Reader, now: Timestamp) -> StreamIx {
        let stream = Stream { session, opened: self.opened, reader, told_until: now };
        self.opened += 1;
        match self.free.pop() {
            Some(ix) => {
                self.places[ix.0 as usize] = Some(stream);
                ix
            }
            None => {
                self.places.push(Some(stream));
                StreamIx((self.places.len() - 1) as u32)
            }
        }
    }

    pub(crate) fn remove(&mut self, ix: StreamIx) -> Option<Stream> {
        let stream = self.places.get_mut(ix.0 as usize)?.take()?;
        self.free.push(ix);
        Some(stream)
    }

    pub(crate) fn get_mut(&mut self, ix: StreamIx) -> Option<&mut Stream> {
        self.places.get_mut(ix.0 as usize)?.as_mut()
    }

    pub(crate) fn get(&self, ix: StreamIx) -> Option<&Stream> {
        self.places.get(ix.0 as usize)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StreamIx, &Stream)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(at, place)| Some((StreamIx(at as u32), place.as_ref()?)))
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

/// Whether a stream ends once it has read all: when it has then delivered the end of a run and no run is active
/// (SSE-11), or when the session is archived (SESS-2).
pub(crate) fn ends(session: &Session, reader: &Reader, variants: Variants) -> bool {
    match session.state {
        State::Archived { .. } => true,
        State::Open { active: Some(_) } => false,
        State::Open { active: None } => !variants.stream_outlives_run && session.log.ends_a_run_after(reader),
    }
}
