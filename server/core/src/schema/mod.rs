//! The schemas of a tool: registered, checked, explained (TOOL-7, TOOL-8, RES-4, RES-12, DET-1 to DET-8).
//!
//! A schema is judged once, when a tool or a version registers it, and compiled; afterwards it is shared.
//! What a schema may be:
//!
//! - JSON Schema 2020-12. Unknown keywords are annotations. `format` is an annotation too, as 2020-12 has it
//!   by default, so a content is never refused because of it.
//! - `$ref` leads only to a definition at the root, `#/$defs/NAME`. Nothing is ever fetched.
//! - Patterns run in linear time, so look-around and back-references are refused.
//! - Its size and cost are within [`limits`].
//! - An output schema has one shape that a refusal can explain (TOOL-7).
//!
//! The words of every fault come from one table, [`reason`].

mod branches;
mod compile;
mod components;
mod definitions;
mod discriminator;
mod equality;
mod explain;
mod faults;
mod input;
pub mod limits;
mod lint;
mod output;
mod positions;
pub mod reason;
mod reference;
mod sample;
mod shape;
mod view;
mod walk;

pub use input::InputSchema;
pub use output::{OutputSchema, check_object};
