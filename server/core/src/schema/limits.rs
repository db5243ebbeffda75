//! The published bounds on schemas (TOOL-8) and on the explanation of a content (DET-6).

/// Bytes of names and strings in a schema, plus eight for every value: about its length as JSON.
pub const MAX_BYTES: usize = 256 * 1024;

/// How deep schemas may stand inside each other; the root is at depth 1.
pub const MAX_DEPTH: usize = 32;

/// Schemas in one document, each counted where it is written.
pub const MAX_NODES: usize = 5_000;

/// Schemas in one document, each counted wherever a reference brings it.
pub const MAX_EXPANDED_NODES: u64 = 10_000;

/// References that may follow each other before one leads to a property or an item.
pub const MAX_REFERENCE_HOPS: usize = 8;

/// Branches of a top-level `oneOf` or `anyOf` in an output schema.
pub const MAX_BRANCHES: usize = 100;

/// Values in one `enum`.
pub const MAX_ENUM_VALUES: usize = 1_000;

/// Different patterns in one schema, those of `patternProperties` included.
pub const MAX_PATTERNS: usize = 100;

/// Characters in one pattern.
pub const MAX_PATTERN_LENGTH: usize = 1_000;

/// Bytes of the program that one pattern may compile to.
pub const MAX_PATTERN_PROGRAM: usize = 256 * 1024;

/// Entries in one list of details (DET-6).
pub const MAX_DETAILS: usize = 50;

/// The work that an explanation may take: values in the content, each weighed by the length of its path, times
/// the schemas of the branches in question. Beyond it, the branches' failures are not counted, and the lowest
/// closest branch is explained by its first failure alone.
pub const MAX_EXPLANATION_WORK: u64 = 250_000;

/// Characters of one name, pattern or value that a reason shows; the rest is cut off.
pub const MAX_SHOWN_CHARS: usize = 100;

/// Values of an `enum` that a reason lists; of the rest it says how many there are.
pub const MAX_SHOWN_VALUES: usize = 20;
