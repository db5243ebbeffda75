//! The one form of reference that is followed, `#/$defs/NAME` (TOOL-8), and the pointers to what it names.

use super::positions::unescape;
use crate::detail::pointer_segment;

/// The definition that `reference` names, when it has the form `#/$defs/NAME`.
pub(super) fn definition_name(reference: &str) -> Option<String> {
    let escaped = reference.strip_prefix("#/$defs/")?;
    let decoded = percent_decoded(escaped)?;
    let well_escaped = !decoded.replace("~0", "").replace("~1", "").contains('~');
    (well_escaped && !decoded.contains('/')).then(|| unescape(&decoded).into_owned())
}

/// The JSON Pointer of the definition `name`.
pub(super) fn definition_pointer(name: &str) -> String {
    format!("/$defs{}", pointer_segment(name))
}

/// The JSON Pointer of a branch at the root.
pub(super) fn branch_pointer(combinator: &str, index: usize) -> String {
    format!("/{combinator}/{index}")
}

/// A URI's fragment as text; none if it holds what a URI may not.
fn percent_decoded(fragment: &str) -> Option<String> {
    const PUNCTUATION: &[u8] = b"-._~!$&'()*+,;=:@/?";
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else if byte.is_ascii_alphanumeric() || PUNCTUATION.contains(&byte) {
            bytes.push(byte);
        } else {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_8_only_a_definition_at_the_root_can_be_named() {
        let cases = [
            ("#/$defs/a", Some("a")),
            ("#/$defs/a~1b%20c~0", Some("a/b c~")),
            ("#/$defs/%C3%A9", Some("é")),
            ("#/$defs/", Some("")),
            ("#/$defs/é", None),
            ("#/$defs/a b", None),
            ("#/$defs/a/b", None),
            ("#/$defs/a%2Fb", None),
            ("#/$defs/a~", None),
            ("#/$defs/a~2", None),
            ("#/$defs/%4", None),
            ("#/$defs/%FF", None),
            ("#/$defs", None),
            ("#/definitions/a", None),
            ("#", None),
            ("#a", None),
            ("", None),
            ("other.json#/$defs/a", None),
        ];
        for (reference, want) in cases {
            assert_eq!(definition_name(reference).as_deref(), want, "{reference}");
        }
    }
}
