//! The schema of what a tool is called with.

use super::compile::{Compiler, check_metaschema};
use super::faults::Faults;
use super::lint::{Kind, check_size, lint};
use super::sample::sample;
use crate::detail::Detail;
use jsonschema::Validator;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A registered `input_schema`; cheap to clone.
///
/// It obeys TOOL-8 alone: combinators may stand anywhere, and its root need not say `type: object`. It must be a
/// JSON object, not a boolean, since clients read a tool's properties out of it.
#[derive(Clone)]
pub struct InputSchema(Arc<Registered>);

struct Registered {
    json: Value,
    validator: Validator,
}

impl InputSchema {
    /// Judges and compiles `schema` (TOOL-8).
    ///
    /// # Errors
    ///
    /// Every fault of the schema, at most fifty, by path and reason; paths are JSON Pointers from the schema's
    /// root.
    pub fn register(schema: Value) -> Result<Self, Vec<Detail>> {
        check_size(&schema).or_else(Faults::into_result)?;
        let compiler = Compiler::new();
        let mut faults = Faults::default();
        lint(&schema, Kind::Input, &compiler, &mut faults);
        check_metaschema(&schema, &mut faults);
        faults.into_result()?;

        let validator = compiler.compile(&schema).map_err(Faults::into_details)?;
        Ok(Self(Arc::new(Registered { json: schema, validator })))
    }

    /// The schema as the user wrote it.
    pub fn json(&self) -> &Value {
        &self.0.json
    }

    /// A small input that fits the schema as well as can be told from it; always the same for the same schema
    /// and words.
    ///
    /// It has the required properties. `words`, when given, stand unchanged in the first free-form string
    /// property, required ones first, even if that property is optional.
    pub fn sample(&self, words: Option<&str>) -> Value {
        sample(&self.0.json, words, &|input| self.0.validator.is_valid(input))
    }
}

impl fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InputSchema").field(&self.0.json).finish()
    }
}
