//! What a world may grow to (ERR-5).

use crate::rejection::Rejection;

/// The bounds of one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Definitions of tools, all versions counted.
    pub tool_definitions: u64,
    /// Agents, deleted ones too, and deployments: so many of each.
    pub deployments: u64,
    /// Sessions, archived ones too.
    pub sessions: u64,
    /// Durable events, over all sessions.
    pub events: u64,
    /// Idempotency keys.
    pub idempotency_keys: u64,
    /// Bytes of what requests left behind, and of the events.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tool_definitions: 100_000,
            deployments: 100_000,
            sessions: 100_000,
            events: 5_000_000,
            idempotency_keys: 1_000_000,
            bytes: 4 << 30,
        }
    }
}

/// Refuses what would be one more of `of` than `most`.
pub(crate) fn one_more(of: &'static str, count: u64, most: u64) -> Result<(), Rejection> {
    if count >= most { Err(Rejection::LimitExceeded { of, most }) } else { Ok(()) }
}

/// What is kept of a request, in bytes, roughly: enough to bound a workspace by.
mod weight {
    use serde_json::{Map, Value};

    use crate::agent::NewAgent;
    use crate::session::NewSession;
    use crate::tool::Definition;

    /// What any resource takes beside its texts.
    const BASE: u64 = 512;

    /// How much more than its text a compiled schema takes.
    const COMPILED: u64 = 8;

    impl Definition {
        pub(crate) fn weight(&self) -> u64 {
            let schemas = of(self.spec.input_schema.json()) + of(self.spec.output_schema.json());
            BASE + schemas * COMPILED + text(self.spec.description.as_deref())
        }
    }

    impl NewAgent {
        pub(crate) fn weight(&self) -> u64 {
            let lists = self.tools.iter().chain(self.tool_requirements.iter().map(|need| &need.tool_id));
            let lists: u64 = lists.map(|item| BASE / 8 + item.len() as u64).sum();
            let texts = [
                Some(self.name.as_str()),
                Some(&self.slug),
                self.model.as_deref(),
                self.system_prompt.as_deref(),
            ];
            BASE + lists + members(&self.metadata) + texts.into_iter().map(text).sum::<u64>()
        }
    }

    impl NewSession {
        pub(crate) fn weight(&self) -> u64 {
            let texts = [&self.title, &self.user_id, &self.environment_id, &self.model];
            BASE + members(&self.metadata) + texts.into_iter().map(|t| text(t.as_deref())).sum::<u64>()
        }
    }

    fn text(text: Option<&str>) -> u64 {
        text.map_or(0, |text| text.len() as u64)
    }

    fn members(members: &Map<String, Value>) -> u64 {
        members.iter().map(|(name, value)| 48 + name.len() as u64 + of(value)).sum()
    }

    fn of(value: &Value) -> u64 {
        32 + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len() as u64,
            Value::Array(items) => items.iter().map(of).sum(),
            Value::Object(object) => members(object),
        }
    }
}
