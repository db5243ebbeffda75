//! Where schemas stand inside a schema: which keywords hold schemas, and which hold data.

use std::borrow::Cow;

/// What a keyword's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// One schema.
    Schema,
    /// An array of schemas.
    List,
    /// An object whose members' names are names, and whose values are schemas.
    Map,
    /// No schema, whatever it looks like; also every unknown keyword.
    Data,
}

impl Position {
    /// What stands under `keyword`. Keywords of older drafts that are still looked into count as well.
    pub(super) fn of(keyword: &str) -> Self {
        match keyword {
            "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Self::Schema,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Self::List,
            "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
            | "properties" => Self::Map,
            _ => Self::Data,
        }
    }
}

/// The keywords that combine schemas.
pub(super) fn is_combinator(keyword: &str) -> bool {
    matches!(keyword, "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else")
}

/// The keyword that holds the schema at `pointer`: `items` for `/properties/a/items`, and `properties` for
/// `/properties/items`. None for the root and for what is no schema.
pub(super) fn keyword_of(pointer: &str) -> Option<Cow<'_, str>> {
    let mut segments = segments(pointer);
    let mut holder = None;
    while let Some(keyword) = segments.next() {
        match Position::of(&keyword) {
            Position::Schema => {}
            Position::List | Position::Map => {
                segments.next()?;
            }
            Position::Data => return None,
        }
        holder = Some(keyword);
    }
    holder
}

/// The last segment of a JSON Pointer, unescaped; empty for the root.
pub(super) fn last_segment(pointer: &str) -> Cow<'_, str> {
    unescape(pointer.rsplit_once('/').map_or("", |(_, last)| last))
}

fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// `segment` of a JSON Pointer as the name that it stands for: `~1` first, then `~0`.
pub(super) fn unescape(segment: &str) -> Cow<'_, str> {
    if segment.contains('~') {
        Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_that_holds_a_schema() {
        let cases = [
            ("", None),
            ("/items", Some("items")),
            ("/properties/items", Some("properties")),
            ("/properties/items/items", Some("items")),
            ("/properties/properties/additionalProperties", Some("additionalProperties")),
            ("/$defs/a~1b/propertyNames", Some("propertyNames")),
            ("/prefixItems/0", Some("prefixItems")),
            ("/properties", None),
            ("/const/items", None),
        ];
        for (pointer, want) in cases {
            assert_eq!(keyword_of(pointer).as_deref(), want, "{pointer}");
        }
    }

    #[test]
    fn det_5_unescaping_turns_a_doubly_escaped_name_once() {
        assert_eq!(unescape("~01"), "~1");
        assert_eq!(unescape("a~1b~0c"), "a/b~c");
        assert_eq!(last_segment("/a/"), "");
    }
}
