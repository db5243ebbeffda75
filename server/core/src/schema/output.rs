//! The schema that a tool's result must fit.

use super::branches::{Branches, Framed, plain};
use super::compile::{Compiler, check_metaschema};
use super::explain;
use super::faults::Faults;
use super::limits::MAX_DETAILS;
use super::lint::{Kind, check_size, lint};
use super::reason;
use super::shape::check_shape;
use crate::detail::Detail;
use jsonschema::Validator;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A registered `output_schema`, compiled; cheap to clone.
#[derive(Clone)]
pub struct OutputSchema(Arc<Registered>);

struct Registered {
    json: Value,
    whole: Validator,
    /// Schemas that a check of the whole may enter.
    weight: u64,
    branches: Option<Branches>,
}

impl OutputSchema {
    /// Judges and compiles `schema` (TOOL-7, TOOL-8).
    ///
    /// # Errors
    ///
    /// Every fault of the schema, at most fifty, by path and reason; paths are JSON Pointers from the schema's
    /// root.
    pub fn register(schema: Value) -> Result<Self, Vec<Detail>> {
        check_size(&schema).or_else(Faults::into_result)?;
        let compiler = Compiler::new();
        let mut faults = Faults::default();
        check_shape(&schema, &mut faults);
        let definitions = lint(&schema, Kind::Output, &compiler, &mut faults);
        check_metaschema(&schema, &mut faults);
        faults.into_result()?;

        let compiled = compiler
            .compile(&schema)
            .and_then(|whole| Ok((whole, Branches::compile(&schema, &definitions, &compiler)?)));
        let (whole, branches) = compiled.map_err(Faults::into_details)?;
        let weight = definitions.expanded()[""];
        Ok(Self(Arc::new(Registered { json: schema, whole, weight, branches })))
    }

    /// The schema as the user wrote it.
    pub fn json(&self) -> &Value {
        &self.0.json
    }

    /// Whether `content`, the result of a tool, fits the schema (RES-4, RES-12).
    ///
    /// # Errors
    ///
    /// What is wrong with it, as DET-1 to DET-8 have it: sorted by path, then by rule, and at most fifty entries.
    /// Paths are JSON Pointers from the content's root, so the caller puts its own place before them.
    pub fn check(&self, content: &Value) -> Result<(), Vec<Detail>> {
        let registered = &*self.0;
        check_object(content)?;
        if registered.whole.is_valid(content) {
            return Ok(());
        }
        let mut framed: Vec<Framed> = match &registered.branches {
            Some(branches) => branches.explain(&registered.whole, content),
            None => {
                let all = explain::is_affordable(content, registered.weight);
                let failures = explain::failures(&registered.whole, content, all);
                failures.into_iter().map(plain).collect()
            }
        };
        framed.sort();
        framed.truncate(MAX_DETAILS);
        let details: Vec<_> = framed.into_iter().map(|(path, _, reason)| Detail { path, reason }).collect();
        // A refusal always has a reason, even one that the explanation could not name.
        Err(if details.is_empty() { vec![whole_content(&reason::OTHER)] } else { details })
    }
}

/// Whether `content` is a JSON object: all that is asked of the result of a tool that has no schema (RES-12).
///
/// # Errors
///
/// One entry, for the content itself (DET-7).
pub fn check_object(content: &Value) -> Result<(), Vec<Detail>> {
    if content.is_object() { Ok(()) } else { Err(vec![whole_content(&reason::NOT_AN_OBJECT)]) }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutputSchema").field(&self.0.json).finish()
    }
}

/// The one entry that speaks of the content itself (DET-7).
fn whole_content(template: &reason::Template) -> Detail {
    let fills = [("rule", template.rule), ("what", template.text)];
    Detail::new("", reason::PLAIN.fill(&fills))
}
