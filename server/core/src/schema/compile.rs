//! The one way in which schemas are compiled: 2020-12, nothing fetched, patterns in linear time (TOOL-8).

use super::explain;
use super::faults::Faults;
use super::limits::MAX_PATTERN_PROGRAM;
use super::reason;
use jsonschema::{Draft, PatternCache, PatternOptions, Validator};
use serde_json::{Value, json};
use std::fmt;

/// Parts of the metaschema that judge one and the same value: its vocabularies.
const METASCHEMA_WEIGHT: u64 = 8;

/// Compiles the schemas of one registration; they share their patterns.
pub(super) struct Compiler(PatternCache);

impl Compiler {
    pub(super) fn new() -> Self {
        Self(PatternCache::new())
    }

    /// Whether `pattern` compiles within its bounds.
    pub(super) fn accepts_pattern(&self, pattern: &str) -> bool {
        self.build(&json!({ "pattern": pattern })).is_ok()
    }

    /// Compiles a schema that has no fault left but such as only compiling shows.
    pub(super) fn compile(&self, schema: &Value) -> Result<Validator, Faults> {
        self.build(schema).map_err(|pointer| {
            let mut faults = Faults::default();
            faults.add(&pointer, &reason::NOT_COMPILED, &[]);
            faults
        })
    }

    fn build(&self, schema: &Value) -> Result<Validator, String> {
        let patterns =
            PatternOptions::regex().size_limit(MAX_PATTERN_PROGRAM).dfa_size_limit(MAX_PATTERN_PROGRAM);
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .with_pattern_cache(self.0.clone())
            .build(schema)
            .map_err(|error| error.instance_path().as_str().to_owned())
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler").finish_non_exhaustive()
    }
}

/// Adds every fault that the metaschema of 2020-12 finds in `schema`.
pub(super) fn check_metaschema(schema: &Value, faults: &mut Faults) {
    let metaschema = jsonschema::draft202012::meta::validator();
    if metaschema.is_valid(schema) {
        return;
    }
    let all = explain::is_affordable(schema, METASCHEMA_WEIGHT);
    for failure in explain::failures(&metaschema, schema, all) {
        // The metaschema has one `anyOf`: that of `type`.
        if failure.rule == "anyOf" {
            faults.add(&failure.path, &reason::UNKNOWN_TYPE, &[]);
        } else {
            let fills = [("rule", failure.rule.as_str()), ("what", failure.what.as_str())];
            faults.add(&failure.path, &reason::METASCHEMA, &fills);
        }
    }
}
