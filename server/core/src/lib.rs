//! The Pantheon contract as a pure state machine.

pub mod detail;
pub mod schema;
