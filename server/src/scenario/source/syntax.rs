//! Why a text is no document, in words for people who write scenarios and not parsers.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::{Error, ExternalMessageSource, MessageFormatter, UserMessageFormatter};

use super::{MOST_DEPTH, MOST_NODES, MOST_SCALAR_BYTES, Mark};

pub(super) const REPEATED_KEY: &str = "this key stands twice in one map";

pub(super) const EMPTY: &str = "the document is empty; one that says nothing is `{}`";

const TAB: &str = "a tab in the indentation; YAML takes only spaces there";

const COLON: &str =
    "not YAML: a `:` where none can stand; put a text that holds `: ` in quotes, or check the indentation";

const INDENTATION: &str = "not YAML: this line goes with nothing above it; check its indentation";

/// Why a text is no document, and where that shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub at: Mark,
    /// What is wrong, in words.
    pub message: String,
}

impl SyntaxError {
    pub(super) fn of(error: &Error) -> Self {
        let at = error.location().map_or(Mark::START, Mark::at);
        // What is wrong with something that an alias repeats is wrong with the thing itself.
        let error = if let Error::AliasError { error, .. } = error { error } else { error };
        Self { at, message: explain(error) }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the reader's errors are its own; it has words for the others"
)]
fn explain(error: &Error) -> String {
    let too_deep = || format!("lists and maps stand more than {MOST_DEPTH} deep in each other");
    match error {
        Error::ExternalMessage { source, .. } => match source.as_ref() {
            ExternalMessageSource::Parser(error) => match error.kind() {
                ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
                    TAB.into()
                }
                ErrorKind::TabInPlainScalar => format!("on the next line, {TAB}"),
                ErrorKind::RecursionLimitExceeded => too_deep(),
                ErrorKind::MappingValueNotAllowed => COLON.into(),
                ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry => {
                    INDENTATION.into()
                }
                _ => format!("not YAML: {}", error.info()),
            },
            _ => in_its_own_words(error),
        },
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Depth { .. } => too_deep(),
            BudgetBreach::Nodes { .. } => {
                format!(
                    "with what its aliases repeat, the document has more than {MOST_NODES} keys and values"
                )
            }
            BudgetBreach::ScalarBytes { .. } => {
                format!(
                    "with what its aliases repeat, the document has more than {MOST_SCALAR_BYTES} bytes of text"
                )
            }
            BudgetBreach::AliasAnchorRatio { .. } | BudgetBreach::Aliases { .. } => "too many aliases".into(),
            BudgetBreach::Anchors { .. } => "too many anchors".into(),
            _ => "the document is too big".into(),
        },
        Error::MultipleDocuments { .. } => "a second document begins here; a file holds one".into(),
        Error::DuplicateMappingKey { .. } => REPEATED_KEY.into(),
        Error::NullIntoString { .. } => "a key must be text; put it in quotes".into(),
        Error::Unexpected { expected: "string scalar", .. } => {
            "a key must be text; put a text that begins with `{` or `[` in quotes".into()
        }
        Error::NonFiniteFloat { value, .. } => {
            format!("JSON has no number `{value}`; put it in quotes if it is text")
        }
        Error::UnknownAnchor { .. } => {
            "an alias of an anchor that is not there; put a text that begins with `*` in quotes".into()
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an anchor that holds its own alias".into(),
        Error::UnsupportedTag { tag, .. } => {
            format!("unknown tag `{tag}`; put a text that begins with `!` in quotes")
        }
        _ => in_its_own_words(error),
    }
}

fn in_its_own_words(error: &Error) -> String {
    UserMessageFormatter.format_message(error).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{MOST_DEPTH, Source};
    use super::{COLON, EMPTY, INDENTATION, REPEATED_KEY};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = Source::read(text).unwrap_err();
        assert_eq!(format!("{}:{}: {}", error.at.line, error.at.column, error.message), expected, "{text:?}");
    }

    #[test]
    fn what_is_no_yaml_is_told_in_plain_words() {
        check("a:\n\t- b\n", "2:2: a tab in the indentation; YAML takes only spaces there");
        check(
            "a:\n  b: 1\n\tc: 2\n",
            "2:6: on the next line, a tab in the indentation; YAML takes only spaces there",
        );
        check("a: b: c\n", &format!("1:5: {COLON}"));
        check("a:\n  b: 1\n c: 2\n", &format!("3:2: {INDENTATION}"));
        check("- a\nb: c\n", &format!("2:1: {INDENTATION}"));
        check("a: \"x\n", "1:4: not YAML: unclosed quote");
        check("{\"a\": 1", "1:1: not YAML: unclosed bracket '{'");
        check("a: 1\n---\nb: 2\n", "3:1: a second document begins here; a file holds one");
    }

    #[test]
    fn what_json_lacks_is_refused() {
        check("a: .inf\n", "1:4: JSON has no number `.inf`; put it in quotes if it is text");
        check("a: 1e400\n", "1:4: JSON has no number `1e400`; put it in quotes if it is text");
        check("~: 3\n", "1:1: a key must be text; put it in quotes");
        check("key: {{ x }}\n", "1:7: a key must be text; put a text that begins with `{` or `[` in quotes");
        check("a: !foo b\n", "1:9: unknown tag `!foo`; put a text that begins with `!` in quotes");
    }

    #[test]
    fn a_document_says_something() {
        for text in ["", "\n", "# only a comment\n", "---\n", "null", "~"] {
            check(text, &format!("1:1: {EMPTY}"));
        }
    }

    #[test]
    fn a_key_stands_once_in_a_map() {
        for text in
            ["b: 1\na: 1\na: 2\n", "b: 1\n1: a\n'1': b\n", "b: 1\n1: a\n0x1: b\n", "{\n\"a\":1,\n\"a\":2}"]
        {
            check(text, &format!("3:1: {REPEATED_KEY}"));
        }
    }

    #[test]
    fn an_alias_needs_its_anchor() {
        check(
            "a: *x\n",
            "1:4: an alias of an anchor that is not there; put a text that begins with `*` in quotes",
        );
        check("a: &a [*a]\n", "1:8: an anchor that holds its own alias");
        check("a: &a\n  b: .nan\nc: *a\n", "2:6: JSON has no number `.nan`; put it in quotes if it is text");
    }

    #[test]
    fn nothing_makes_reading_long_deep_or_big() {
        let deep = "lists and maps stand more than 100 deep in each other";
        check(&"[".repeat(10_000), &format!("1:256: {deep}"));
        check(&"- ".repeat(10_000), &format!("1:201: {deep}"));
        let blocks: String = (0..1_000).map(|depth| " ".repeat(depth) + "a:\n").collect();
        check(&blocks, &format!("101:101: {deep}"));
        assert!(Source::read(&("[".repeat(MOST_DEPTH) + &"]".repeat(MOST_DEPTH))).is_ok());

        let bomb = |first: &str, each: &dyn Fn(usize) -> String| {
            (1..12).fold(format!("a0: &a0 {first}\n"), |text, level| text + &each(level))
        };
        let lists = |level: usize| {
            format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(","))
        };
        let merges =
            |level: usize| format!("a{level}: &a{level} {{ p: *a{0}, q: *a{0}, r: *a{0} }}\n", level - 1);
        let nodes = "with what its aliases repeat, the document has more than 50000 keys and values";
        for text in [bomb("[x,x,x,x,x,x,x,x,x,x]", &lists), bomb("{ x: 1 }", &merges)] {
            assert!(Source::read(&text).unwrap_err().message == nodes);
        }
        let fat = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 20].join(","));
        check(&fat, "2:23: with what its aliases repeat, the document has more than 8388608 bytes of text");
        check(&"x".repeat(5 << 20), "1:1: the document has 5242880 bytes; at most 4194304 are read");
        check(&"- a\n".repeat(60_000), &format!("50000:3: {nodes}"));
    }
}
