//! One story or more for each rule that the core decides, named after it.

mod deltas;
mod events;
mod ids;
mod limits;
mod pauses;
mod registry;
mod resumes;
mod runs;
mod streams;
mod time;
