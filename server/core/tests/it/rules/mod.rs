//! One story or more for each rule that the core decides, named after it.

mod deadlines;
mod deltas;
mod events;
mod ids;
mod keys;
mod limits;
mod pauses;
mod pieces;
mod registry;
mod resumes;
mod runs;
mod streams;
mod time;
