//! What is answered to a call: content or an error (RES-1, RES-11).

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::json;

/// What is answered to a call.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The tool's result, a JSON object.
    Content(Box<RawValue>),
    /// Why there is no result.
    Error(ToolError),
}

/// A structured error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolError {
    /// Upper-case letters, digits and underscores.
    pub code: String,
    /// For people.
    pub message: String,
    /// Whether the agent may call again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl ToolError {
    /// An error whose code is made valid (C-TOOL-10): letters become upper case, what is not allowed an underscore.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let valid =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
        let code: String = code.chars().map(valid).collect();
        let code = if code.is_empty() { "TOOL_FAILED".to_owned() } else { code };
        Self { code, message: message.into(), retryable: Some(false) }
    }

    /// Reads `{code, message, retryable?}`, as an application may tell it.
    #[must_use]
    pub fn read(error: &Value) -> Self {
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        let retryable = error["retryable"].as_bool();
        Self { retryable, ..Self::new(text("code"), text("message")) }
    }
}

impl Answer {
    /// An error with that code.
    #[must_use]
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self::Error(ToolError::new(code, message))
    }

    /// Whether both say the same.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Content(one), Self::Content(other)) => json::are_equal(one, other),
            (Self::Error(one), Self::Error(other)) => one == other,
            (Self::Content(_), Self::Error(_)) | (Self::Error(_), Self::Content(_)) => false,
        }
    }

    /// For the ledger. Content is kept as the text that it is, so that it is sent again byte for byte.
    pub(crate) fn to_record(&self) -> Value {
        match self {
            Self::Content(content) => json!({ "content": content.get() }),
            Self::Error(error) => json!({ "error": error }),
        }
    }

    pub(crate) fn from_record(record: &Value) -> Option<Self> {
        match record["content"].as_str() {
            Some(content) => json::checked(content).map(Self::Content),
            None => record.get("error").map(|error| Self::Error(ToolError::read(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_tool_10_codes_are_valid() {
        for (code, expected) in
            [("declined", "DECLINED"), ("not-found", "NOT_FOUND"), ("", "TOOL_FAILED"), ("É9", "_9")]
        {
            assert_eq!(ToolError::new(code, "").code, expected);
        }
    }

    #[test]
    fn c_tool_5_an_answer_comes_back_from_its_record_as_it_was() {
        let content =
            Answer::Content(json::checked(r#"{"n":12345678901234567890123, "s":"\u00e9"}"#).unwrap());
        let error = Answer::Error(ToolError { retryable: None, ..ToolError::new("A", "b") });
        for answer in [content, error] {
            let record = answer.to_record().to_string();
            let back = Answer::from_record(&serde_json::from_str(&record).unwrap()).unwrap();
            assert!(back.equals(&answer), "{record}");
            assert_eq!(back.to_record(), answer.to_record());
        }
    }
}
