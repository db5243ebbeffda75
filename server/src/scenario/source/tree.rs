//! A document as serde hands it over: its values, each with the place where it stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::Mark;

/// A value and what is in it. Where it stands itself is told by the `Spanned` around it.
pub(super) struct Tree {
    pub(super) value: Value,
    /// In the order in which the value has its members or items.
    pub(super) parts: Vec<Marks>,
    /// A key that its map has already. The reader finds those itself, but takes `1` and `'1'` for two.
    pub(super) repeated: Option<Mark>,
}

/// Where a value stands, and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Marks {
    /// Its name; in a list, the value itself.
    pub(super) key: Mark,
    pub(super) value: Mark,
    pub(super) parts: Vec<Marks>,
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        Self { value, parts: Vec::new(), repeated: None }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Value::Null.into())
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Tree, E> {
        Ok(Value::from(truth).into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Value::from(number).into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Value::from(number).into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Tree, E> {
        let number = Number::from_f64(number).ok_or_else(|| E::custom("JSON has no such number"))?;
        Ok(Value::from(number).into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Value::from(text).into())
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Value::from(text).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let (mut values, mut parts, mut repeated) = (Vec::new(), Vec::new(), None);
        while let Some(item) = items.next_element::<Spanned<Tree>>()? {
            let at = Mark::of(&item);
            values.push(item.value.value);
            parts.push(Marks { key: at, value: at, parts: item.value.parts });
            repeated = repeated.or(item.value.repeated);
        }
        Ok(Tree { value: Value::Array(values), parts, repeated })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let (mut members, mut parts, mut repeated) = (Map::new(), Vec::new(), None);
        while let Some(name) = entries.next_key::<Spanned<String>>()? {
            let member = entries.next_value::<Spanned<Tree>>()?;
            let (key, value) = (Mark::of(&name), Mark::of(&member));
            if members.insert(name.value, member.value.value).is_some() {
                repeated = repeated.or(Some(key));
            }
            parts.push(Marks { key, value, parts: member.value.parts });
            repeated = repeated.or(member.value.repeated);
        }
        Ok(Tree { value: Value::Object(members), parts, repeated })
    }
}
