//! Values in reports: short, and never two that look the same and are not.

use serde_json::Value;

use super::field::Found;

/// How many characters of a value are shown.
const MOST_SHOWN: usize = 160;

/// How many characters are shown before the first one that is different, where the text is cut there.
const LEAD: usize = 24;

/// A value by itself.
pub(super) fn value(value: &Value) -> String {
    window(&raw(value), value.is_string(), usize::MAX)
}

/// A text by itself, in quotes.
pub(super) fn text(text: &str) -> String {
    window(text, true, usize::MAX)
}

/// What stands in a field, or that nothing does.
pub(super) fn found(found: Found<'_>) -> String {
    match found {
        Found::Value(it) => value(it),
        Found::Nothing => "nothing".to_owned(),
        Found::Cut => "a body of which the journal kept only the beginning".to_owned(),
    }
}

/// Two values that are different, so that one sees where: both are cut around the first difference, and from there on
/// all that could look like something else is escaped.
pub(super) fn apart(one: &Value, other: &Value) -> (String, String) {
    let (one_text, other_text) = (raw(one), raw(other));
    let pairs = one_text.chars().zip(other_text.chars());
    let difference = pairs.take_while(|(one, other)| one == other).count();
    (window(&one_text, one.is_string(), difference), window(&other_text, other.is_string(), difference))
}

/// `text`, cut at its end.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn raw(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The part of `text` that is shown when it differs from another at character number `difference`.
fn window(text: &str, is_text: bool, difference: usize) -> String {
    let length = text.chars().count();
    // Where all that is shown from the beginning would be the same in both, it is shown from the difference on.
    let is_late = difference != usize::MAX && difference > MOST_SHOWN / 2;
    let start = if is_late { difference.min(length).saturating_sub(LEAD) } else { 0 };
    let mut out = String::new();
    if start > 0 {
        out.push('…');
    }
    let quote = if is_text { "\"" } else { "" };
    out.push_str(quote);
    let mut before = None;
    let mut rest = text.chars().enumerate().skip(start).peekable();
    while let Some((index, c)) = rest.next_if(|(index, _)| *index < start + MOST_SHOWN) {
        let after = rest.peek().map(|(_, c)| *c);
        let stands_alone =
            !matches!((before, after), (None, _) | (_, None) | (Some(' '), _) | (_, Some(' ')));
        push(&mut out, c, is_text, stands_alone, index >= difference);
        before = Some(c);
    }
    out.push_str(quote);
    if rest.peek().is_some() {
        out.push_str(&format!("… ({length} characters)"));
    }
    out
}

/// Appends one character so that it is seen: a space at the edge or beside another as `·`.
fn push(out: &mut String, c: char, is_text: bool, stands_alone: bool, is_different: bool) {
    match c {
        ' ' if !stands_alone && is_text => out.push('·'),
        ' ' => out.push(' '),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '"' | '\\' if is_text => out.extend(['\\', c]),
        // What stands for a space must not be taken for one.
        '·' => out.push_str("\\u{b7}"),
        c if c.is_ascii_graphic() => out.push(c),
        c if is_different || is_unseen(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        c => out.push(c),
    }
}

/// White space, and what has no shape of its own: marks that join the letter before, joiners, directions.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(one: &Value, other: &Value, expected: (&str, &str)) {
        let (one, other) = apart(one, other);
        assert_ne!(one, other);
        assert_eq!((one.as_str(), other.as_str()), expected);
    }

    #[test]
    fn what_differs_never_looks_the_same() {
        check(&json!("a"), &json!("b"), (r#""a""#, r#""b""#));
        check(&json!(1), &json!("1"), ("1", r#""1""#));
        check(&json!(true), &json!("true"), ("true", r#""true""#));
        check(&json!("a"), &json!("a "), (r#""a""#, r#""a·""#));
        check(&json!("a b"), &json!("a  b"), (r#""a b""#, r#""a··b""#));
        check(&json!("a ·"), &json!("a  "), (r#""a \u{b7}""#, r#""a··""#));
        check(&json!("a b"), &json!("a\u{a0}b"), (r#""a b""#, r#""a\u{a0}b""#));
        check(&json!("a\nb"), &json!("a\\nb"), (r#""a\nb""#, r#""a\\nb""#));
        check(&json!("ab"), &json!("a\u{200b}b"), (r#""ab""#, r#""a\u{200b}b""#));
        // Composed and decomposed, Latin and Cyrillic.
        check(&json!("é"), &json!("e\u{301}"), (r#""\u{e9}""#, r#""e\u{301}""#));
        check(&json!("a"), &json!("а"), (r#""a""#, r#""\u{430}""#));
        // What is the same in both stays as it is.
        check(&json!("für x"), &json!("für y"), (r#""für x""#, r#""für y""#));
        check(&json!({"a": 1}), &json!({"a": "1"}), (r#"{"a":1}"#, r#"{"a":"1"}"#));
    }

    #[test]
    fn long_values_are_cut_around_the_difference() {
        let (one, other) = apart(&json!("x".repeat(5000) + "1" + &"y".repeat(500)), &json!("x".repeat(5000)));
        assert_eq!(one, format!("…\"{}1{}\"… (5501 characters)", "x".repeat(24), "y".repeat(135)));
        assert_eq!(other, format!("…\"{}\"", "x".repeat(24)));
        assert_eq!(value(&json!("x".repeat(161))), format!("\"{}\"… (161 characters)", "x".repeat(160)));
        let (text, number) = apart(&json!("7".repeat(18).parse::<u64>().unwrap()), &json!("7".repeat(18)));
        assert_eq!((text, number), ("7".repeat(18), format!("\"{}\"", "7".repeat(18))));
    }
}
