//! The branches of an output schema, and which of them a refusal speaks of (DET-3, DET-4, DET-7).

use super::compile::Compiler;
use super::definitions::Definitions;
use super::discriminator::{Discriminator, Fit};
use super::explain::{self, Failure};
use super::faults::Faults;
use super::reason;
use super::reference::{branch_pointer, definition_pointer};
use super::shape::COMBINATORS;
use crate::detail::pointer_segment;
use jsonschema::Validator;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// The branches of a top-level `oneOf` or `anyOf`, compiled one by one.
pub(super) struct Branches {
    combinator: &'static str,
    branches: Vec<Branch>,
    discriminators: Vec<Discriminator>,
    /// What stands beside the combinator and doesn't depend on which branch fits.
    siblings: Option<Validator>,
    /// Schemas that a check of the whole may enter.
    weight: u64,
}

struct Branch {
    /// The branch's title, or `branch <index>`.
    title: String,
    /// `oneOf[0]`.
    place: String,
    validator: Validator,
    /// Schemas that a check of the branch may enter.
    weight: u64,
}

/// A failed rule in its frame: by path, then by rule, then by reason (DET-6).
pub(super) type Framed = (String, String, String);

impl Branches {
    /// The branches of `root`, which has passed all checks; none if it is one object schema.
    pub(super) fn compile(
        root: &Value,
        definitions: &Definitions,
        compiler: &Compiler,
    ) -> Result<Option<Self>, Faults> {
        let found = COMBINATORS.into_iter().find_map(|name| Some((name, root.get(name)?.as_array()?)));
        let Some((combinator, schemas)) = found else { return Ok(None) };
        let weights = definitions.expanded();
        let mut branches = Vec::with_capacity(schemas.len());
        for (index, schema) in schemas.iter().enumerate() {
            let pointer = branch_pointer(combinator, index);
            let title = schema.get("title").and_then(Value::as_str).filter(|title| !title.is_empty());
            branches.push(Branch {
                title: title.map_or_else(|| format!("branch {index}"), reason::shown),
                place: format!("{combinator}[{index}]"),
                validator: compiler.compile(&standalone(schema, root, definitions, &pointer))?,
                weight: weights[pointer.as_str()],
            });
        }
        let siblings = siblings(root).map(|schema| compiler.compile(&schema)).transpose()?;
        let discriminators = Discriminator::all_of(root, schemas);
        Ok(Some(Self { combinator, branches, discriminators, siblings, weight: weights[""] }))
    }

    /// Everything that is wrong with `content`, which `whole`, the schema with all its branches, refuses.
    pub(super) fn explain(&self, whole: &Validator, content: &Value) -> Vec<Framed> {
        let fitting: Vec<&Branch> =
            self.branches.iter().filter(|branch| branch.validator.is_valid(content)).collect();
        let mut framed = match (fitting.as_slice(), self.combinator) {
            ([], _) => self.explain_closest(content),
            ([_, _, ..], "oneOf") => vec![self.explain_several(&fitting)],
            _ => {
                // The combinator is content, so every failure is of a keyword beside it.
                let all = explain::is_affordable(content, self.weight);
                return explain::failures(whole, content, all).into_iter().map(plain).collect();
            }
        };
        if let Some(siblings) = &self.siblings {
            let all = explain::is_affordable(content, self.weight);
            let explained: BTreeSet<_> =
                framed.iter().map(|(path, rule, _)| (path.clone(), rule.clone())).collect();
            let failures = explain::failures(siblings, content, all).into_iter();
            let more =
                failures.filter(|failure| !explained.contains(&(failure.path.clone(), failure.rule.clone())));
            framed.extend(more.map(plain));
        }
        framed
    }

    fn explain_closest(&self, content: &Value) -> Vec<Framed> {
        let fits: Vec<Vec<Fit>> = (0..self.branches.len())
            .map(|index| self.discriminators.iter().map(|known| known.fit(content, index)).collect())
            .collect();
        let Some(best) = fits.iter().min() else { return Vec::new() };
        let closest: Vec<&Branch> = self
            .branches
            .iter()
            .zip(&fits)
            .filter(|(_, fit)| *fit == best)
            .map(|(branch, _)| branch)
            .collect();

        let all = explain::is_affordable(content, closest.iter().map(|branch| branch.weight).sum());
        let compared = if all { closest.as_slice() } else { &closest[..1] };
        let explained = compared
            .iter()
            .map(|branch| (branch, explain::failures(&branch.validator, content, all)))
            .min_by_key(|(_, failures)| failures.len());
        let Some((branch, failures)) = explained else { return Vec::new() };
        if let Some(entry) = self.explain_discriminator(content, branch) {
            return vec![entry];
        }
        failures.into_iter().map(|failure| branch.frame(failure)).collect()
    }

    /// The one entry of DET-7, when the first discriminator that all branches share fits none of them.
    fn explain_discriminator(&self, content: &Value, closest: &Branch) -> Option<Framed> {
        let index = self.branches.iter().position(|branch| std::ptr::eq(branch, closest))?;
        let shared = self.discriminators.iter().find(|discriminator| discriminator.is_shared_by_all())?;
        let fits_none = (0..self.branches.len()).all(|index| shared.fit(content, index) == Fit::Mismatch);
        if !fits_none {
            return None;
        }
        let template = match (content.get(&shared.property), shared.expected[index].as_ref()?.rule) {
            (None, _) => &reason::DISCRIMINATOR_REQUIRED,
            (Some(_), "const") => &reason::DISCRIMINATOR_CONST,
            (Some(_), _) => &reason::DISCRIMINATOR_ENUM,
        };
        let fills = [
            ("name", &*reason::shown(&shared.property)),
            ("values", &reason::shown_all(shared.allowed().into_iter())),
        ];
        Some(closest.frame(Failure {
            path: pointer_segment(&shared.property),
            rule: template.rule.to_owned(),
            what: template.fill(&fills),
        }))
    }

    fn explain_several(&self, fitting: &[&Branch]) -> Framed {
        let named: Vec<_> =
            fitting.iter().map(|branch| format!("`{}` at `{}`", branch.title, branch.place)).collect();
        let what = reason::ONE_OF.fill(&[("branches", &named.join(", "))]);
        let rule = reason::ONE_OF.rule;
        (String::new(), rule.to_owned(), reason::PLAIN.fill(&[("rule", rule), ("what", &what)]))
    }
}

impl fmt::Debug for Branches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Branches").field("combinator", &self.combinator).finish_non_exhaustive()
    }
}

impl Branch {
    fn frame(&self, failure: Failure) -> Framed {
        let fills = [
            ("title", self.title.as_str()),
            ("place", &self.place),
            ("rule", &failure.rule),
            ("what", &failure.what),
        ];
        let reason = reason::BRANCH.fill(&fills);
        (failure.path, failure.rule, reason)
    }
}

/// A failure outside of any branch.
pub(super) fn plain(failure: Failure) -> Framed {
    let reason = reason::PLAIN.fill(&[("rule", &failure.rule), ("what", &failure.what)]);
    (failure.path, failure.rule, reason)
}

/// The branch at `pointer` as a document of its own, with those definitions that it leads to. Copies are bounded,
/// since so is the number of schemas once references are followed.
fn standalone(branch: &Value, root: &Value, definitions: &Definitions, pointer: &str) -> Value {
    let mut document = branch.as_object().cloned().unwrap_or_default();
    let reachable = definitions.reachable(pointer);
    let needed: Map<String, Value> = root
        .get("$defs")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| reachable.contains(definition_pointer(name).as_str()))
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    document.insert("$defs".to_owned(), Value::Object(needed));
    Value::Object(document)
}

/// `root` without its branches and without the two keywords whose meaning depends on which branch fits; none if
/// nothing is left that a content could fail.
fn siblings(root: &Value) -> Option<Value> {
    let mut document = root.as_object()?.clone();
    document.retain(|keyword, _| {
        !COMBINATORS.contains(&keyword.as_str())
            && !matches!(keyword.as_str(), "unevaluatedItems" | "unevaluatedProperties")
    });
    let asserts = document.keys().any(|keyword| {
        !matches!(
            keyword.as_str(),
            "$schema"
                | "$comment"
                | "$defs"
                | "definitions"
                | "title"
                | "description"
                | "default"
                | "examples"
                | "type"
        )
    });
    asserts.then_some(Value::Object(document))
}
