//! A walk over every schema in a schema document, in the document's order.

use super::limits::{MAX_DEPTH, MAX_NODES};
use super::positions::Position;
use crate::detail::pointer_segment;
use serde_json::Value;

/// One step down from a schema to a schema inside it.
#[derive(Debug, Clone)]
pub(super) struct Step<'a> {
    /// The keyword that holds the inner schema.
    pub keyword: &'a str,
    /// The member's name, or the index in words, under a keyword that holds several schemas.
    pub name: String,
}

/// One schema of the document.
#[derive(Debug)]
pub(super) struct Node<'a, 'w> {
    /// JSON Pointer to it, from the document's root.
    pub pointer: &'w str,
    /// The schema itself: an object, a boolean, or a fault that the metaschema reports.
    pub schema: &'a Value,
    /// How the walk came here; empty at the root.
    pub trail: &'w [Step<'a>],
}

/// Why a walk stopped before it had seen everything.
#[derive(Debug)]
pub(super) enum Stop {
    /// The schema at this pointer stands too deep.
    TooDeep(String),
    /// The document holds too many schemas.
    TooMany,
}

/// Visits `root` and every schema inside it, each once, before those inside it.
pub(super) fn walk<'a>(root: &'a Value, visit: &mut dyn FnMut(&Node<'a, '_>)) -> Result<(), Stop> {
    let mut walk = Walk { visit, pointer: String::new(), trail: Vec::new(), nodes: 0 };
    walk.schema(root)
}

struct Walk<'a, 'v> {
    visit: &'v mut dyn FnMut(&Node<'a, '_>),
    pointer: String,
    trail: Vec<Step<'a>>,
    nodes: usize,
}

impl<'a> Walk<'a, '_> {
    fn schema(&mut self, schema: &'a Value) -> Result<(), Stop> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Stop::TooMany);
        }
        if self.trail.len() >= MAX_DEPTH {
            return Err(Stop::TooDeep(self.pointer.clone()));
        }
        (self.visit)(&Node { pointer: &self.pointer, schema, trail: &self.trail });

        let Some(members) = schema.as_object() else { return Ok(()) };
        for (keyword, value) in members {
            let here = self.pointer.len();
            match (Position::of(keyword), value) {
                (Position::Schema, inner) => {
                    self.step(keyword, String::new(), inner)?;
                }
                (Position::List, Value::Array(list)) => {
                    for (index, inner) in list.iter().enumerate() {
                        self.step(keyword, index.to_string(), inner)?;
                    }
                }
                (Position::Map, Value::Object(map)) => {
                    for (name, inner) in map {
                        // The old `dependencies` holds lists of names beside schemas.
                        if keyword != "dependencies" || !inner.is_array() {
                            self.step(keyword, name.clone(), inner)?;
                        }
                    }
                }
                (Position::List | Position::Map | Position::Data, _) => {}
            }
            debug_assert_eq!(here, self.pointer.len(), "a step leaves the pointer as it was");
        }
        Ok(())
    }

    fn step(&mut self, keyword: &'a str, name: String, inner: &'a Value) -> Result<(), Stop> {
        let here = self.pointer.len();
        self.pointer.push_str(&pointer_segment(keyword));
        if Position::of(keyword) != Position::Schema {
            self.pointer.push_str(&pointer_segment(&name));
        }
        self.trail.push(Step { keyword, name });
        let walked = self.schema(inner);
        self.trail.pop();
        self.pointer.truncate(here);
        walked
    }
}
