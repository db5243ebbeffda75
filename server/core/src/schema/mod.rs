//! TEMPORARY until the schema module is merged.
use serde_json::{json, Value};
use crate::detail::Detail;
/// x
#[derive(Debug, Clone)]
pub struct InputSchema(Value);
impl InputSchema {
    /// x
    pub fn register(v: Value) -> Result<Self, Vec<Detail>> { Ok(Self(v)) }
    /// x
    pub fn json(&self) -> &Value { &self.0 }
    /// x
    pub fn sample(&self, words: Option<&str>) -> Value {
        let name = self.0["properties"].as_object().and_then(|p| p.keys().next().cloned()).unwrap_or("x".into());
        json!({ name: words.unwrap_or("text") })
    }
}
/// x
#[derive(Debug, Clone)]
pub struct OutputSchema(Value);
impl OutputSchema {
    /// x
    pub fn register(v: Value) -> Result<Self, Vec<Detail>> { Ok(Self(v)) }
    /// x
    pub fn json(&self) -> &Value { &self.0 }
    /// x
    pub fn check(&self, content: &Value) -> Result<(), Vec<Detail>> { check_object(content) }
}
/// x
pub fn check_object(content: &Value) -> Result<(), Vec<Detail>> {
    if content.is_object() { Ok(()) } else { Err(vec![Detail::new("", "not an object")]) }
}
