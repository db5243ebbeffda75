//! How the definitions of a schema refer to each other, and what that costs (TOOL-8).
//!
//! The document is cut into parts that a check enters as wholes: the root, each branch of a combinator at the
//! root, and each definition. Every `$ref` is an edge from the part that it stands in to a definition. Two ways
//! to refer are refused, since a check could follow them for ever, or twice as often at every level:
//!
//! - An *idle cycle* leads back without a property or an item on the way.
//! - A *wide cycle* can reach the same value twice on one level, so its cost doubles with the value's depth. Only
//!   keywords that share out an object's members or an array's items are narrow. Input schemas may be wide:
//!   nothing but our own small sample is ever checked against them.

use super::components::Components;
use super::limits::{MAX_EXPANDED_NODES, MAX_REFERENCE_HOPS};
use super::positions::{Position, is_combinator};
use super::reason::{self, Template};
use super::reference::{branch_pointer, definition_name, definition_pointer};
use super::walk::{Node, Step};
use crate::detail::pointer_segment;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The part that is the root, less its branches and definitions.
const ROOT: usize = 0;

/// The parts of a schema and their references.
#[derive(Debug)]
pub(super) struct Definitions {
    /// The parts by their JSON Pointers.
    parts: BTreeMap<String, usize>,
    /// Schemas written in each part.
    nodes: Vec<u64>,
    edges: Vec<Edge>,
    /// References met so far, faulty ones included.
    references: usize,
}

/// One part's way into another.
#[derive(Debug)]
struct Edge {
    from: usize,
    to: usize,
    /// Which `$ref` it is in the walk's order; none from the root to its branches.
    reference: Option<usize>,
    /// No property or item stands between the part's own value and the reference.
    in_place: bool,
    /// Nothing else in the part leads to the same value.
    narrow: bool,
}

impl Definitions {
    /// The parts of `root`, still without references.
    pub(super) fn of(root: &Value) -> Self {
        let mut parts = BTreeMap::from([(String::new(), ROOT)]);
        let mut edges = Vec::new();
        for (keyword, value) in root.as_object().into_iter().flatten() {
            match (keyword.as_str(), value) {
                ("$defs", Value::Object(definitions)) => {
                    for name in definitions.keys() {
                        let next = parts.len();
                        parts.insert(definition_pointer(name), next);
                    }
                }
                ("oneOf" | "anyOf", Value::Array(branches)) => {
                    for index in 0..branches.len() {
                        let to = parts.len();
                        parts.insert(branch_pointer(keyword, index), to);
                        edges.push(Edge { from: ROOT, to, reference: None, in_place: true, narrow: true });
                    }
                }
                _ => {}
            }
        }
        let nodes = vec![0; parts.len()];
        Self { parts, nodes, edges, references: 0 }
    }

    /// Takes in one schema of the walk; answers with what is wrong about its `$ref` itself.
    pub(super) fn visit(&mut self, node: &Node<'_, '_>) -> Option<&'static Template> {
        let (part, steps) = self.part_of(node.trail);
        let applied = !steps.iter().any(|step| matches!(step.keyword, "$defs" | "definitions"));
        self.nodes[part] += 1;
        let reference = node.schema.get("$ref")?.as_str()?;
        let number = self.references;
        self.references += 1;
        let Some(name) = definition_name(reference) else { return Some(&reason::FOREIGN_REFERENCE) };
        let Some(&to) = self.parts.get(&definition_pointer(&name)) else {
            return Some(&reason::UNKNOWN_DEFINITION);
        };
        if applied {
            let in_place = steps.iter().all(|step| applies_in_place(step.keyword));
            let narrow =
                steps.iter().all(|step| shares_out(step.keyword)) && !holds_other_schemas(node.schema);
            self.edges.push(Edge { from: part, to, reference: Some(number), in_place, narrow });
        }
        None
    }

    /// What is wrong with how references follow each other: faults of single references, by their number in the
    /// walk's order, and one of the whole document.
    pub(super) fn faults(
        &self,
        allow_wide_cycles: bool,
    ) -> (BTreeMap<usize, &'static Template>, Option<&'static Template>) {
        let mut faulty = BTreeMap::new();
        let whole = self.components(|_| true);
        let idle = self.components(|edge| edge.in_place);
        for edge in &self.edges {
            let Some(reference) = edge.reference else { continue };
            if edge.in_place && idle.of[edge.from] == idle.of[edge.to] {
                faulty.insert(reference, &reason::IDLE_CYCLE);
            } else if !allow_wide_cycles && !edge.narrow && whole.of[edge.from] == whole.of[edge.to] {
                faulty.insert(reference, &reason::WIDE_CYCLE);
            }
        }
        if faulty.is_empty() {
            let hops = self.hops(&idle);
            for edge in self.edges.iter().filter(|edge| edge.in_place) {
                if let Some(reference) = edge.reference
                    && hops[edge.to] >= MAX_REFERENCE_HOPS
                {
                    faulty.insert(reference, &reason::TOO_MANY_HOPS);
                }
            }
        }
        let too_many = self.expand(&whole)[ROOT] > MAX_EXPANDED_NODES;
        (faulty, too_many.then_some(&reason::TOO_MANY_EXPANDED))
    }

    /// The schemas that a check of each part may enter, each counted wherever a reference brings it; those of a
    /// cycle are counted once. The key is the part's JSON Pointer.
    pub(super) fn expanded(&self) -> BTreeMap<&str, u64> {
        let expanded = self.expand(&self.components(|_| true));
        self.parts.iter().map(|(pointer, &part)| (pointer.as_str(), expanded[part])).collect()
    }

    /// The JSON Pointers of all definitions that the part at `pointer` leads to.
    pub(super) fn reachable(&self, pointer: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<usize> = self.parts.get(pointer).copied().into_iter().collect();
        let mut targets = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            targets[edge.from].push(edge.to);
        }
        while let Some(part) = open.pop() {
            for &to in &targets[part] {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        self.parts.iter().filter(|(_, part)| seen.contains(part)).map(|(at, _)| at.as_str()).collect()
    }

    fn components(&self, includes: impl Fn(&Edge) -> bool) -> Components {
        let edges = self.edges.iter().filter(|edge| includes(edge)).map(|edge| (edge.from, edge.to));
        Components::of(self.nodes.len(), edges)
    }

    fn part_of<'t, 'a>(&self, trail: &'t [Step<'a>]) -> (usize, &'t [Step<'a>]) {
        let Some((first, rest)) = trail.split_first() else { return (ROOT, trail) };
        let pointer = match first.keyword {
            "$defs" | "oneOf" | "anyOf" => {
                format!("{}{}", pointer_segment(first.keyword), pointer_segment(&first.name))
            }
            _ => return (ROOT, trail),
        };
        self.parts.get(&pointer).map_or((ROOT, trail), |&part| (part, rest))
    }

    /// The longest chain of references that follow each other in place, from each part on.
    fn hops(&self, idle: &Components) -> Vec<usize> {
        let mut hops = vec![0; self.nodes.len()];
        let mut leaving = vec![Vec::new(); self.nodes.len()];
        for edge in self.edges.iter().filter(|edge| edge.in_place) {
            leaving[edge.from].push(edge);
        }
        for part in idle.callees_first() {
            for edge in &leaving[part] {
                hops[part] = hops[part].max(hops[edge.to] + usize::from(edge.reference.is_some()));
            }
        }
        hops
    }

    fn expand(&self, components: &Components) -> Vec<u64> {
        let mut sums = vec![0_u64; self.nodes.len()];
        let mut leaving = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            if components.of[edge.from] != components.of[edge.to] {
                leaving[edge.from].push(components.of[edge.to]);
            }
        }
        for part in components.callees_first() {
            let own = components.of[part];
            let entered = leaving[part].iter().fold(0_u64, |sum, &to| sum.saturating_add(sums[to]));
            sums[own] = sums[own].saturating_add(self.nodes[part]).saturating_add(entered);
        }
        components.of.iter().map(|&component| sums[component]).collect()
    }
}

/// Whether `keyword` applies its schemas to the very value that its own schema is applied to.
fn applies_in_place(keyword: &str) -> bool {
    is_combinator(keyword) || matches!(keyword, "dependentSchemas" | "dependencies")
}

/// Whether no two schemas under keywords like this one ever get the same value.
fn shares_out(keyword: &str) -> bool {
    matches!(keyword, "properties" | "additionalProperties" | "items" | "prefixItems")
}

/// Whether anything beside a `$ref` is applied to the value or inside it.
fn holds_other_schemas(schema: &Value) -> bool {
    schema.as_object().is_some_and(|members| {
        members.keys().any(|keyword| {
            Position::of(keyword) != Position::Data && keyword != "$defs" && keyword != "definitions"
        })
    })
}
