//! Tools and their versions (contract §2).

use std::sync::Arc;

use crate::schema::{InputSchema, OutputSchema};
use crate::time::Timestamp;

/// A tool's place in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolIx(pub(crate) u32);

/// A registered tool. Its definitions never change; a version adds one (TOOL-6).
#[derive(Debug, Clone)]
pub struct Tool {
    /// `tool_…`
    pub id: String,
    /// Unique in its workspace (TOOL-3).
    pub name: ToolName,
    /// What people see.
    pub display_name: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its newest version came.
    pub updated_at: Timestamp,
    /// All definitions, the oldest first; there is always one.
    pub definitions: Vec<Arc<Definition>>,
}

impl Tool {
    /// The newest definition.
    pub fn latest(&self) -> &Arc<Definition> {
        self.definitions.last().expect("a tool is created with its first definition")
    }
}

/// One version of a tool.
#[derive(Debug, Clone)]
pub struct Definition {
    /// `tool_definition_…`
    pub id: String,
    /// The tool it belongs to.
    pub tool_id: String,
    /// That tool's name.
    pub name: ToolName,
    /// From 1.
    pub version: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// Everything that a version request may say.
    pub spec: Spec,
    pub(crate) tool: ToolIx,
}

/// What a definition says.
#[derive(Debug, Clone)]
pub struct Spec {
    /// For the model; none unless told.
    pub description: Option<String>,
    /// Who runs it.
    pub executor: Executor,
    /// What its input looks like (TOOL-8).
    pub input_schema: InputSchema,
    /// What its results must look like (TOOL-7).
    pub output_schema: OutputSchema,
    /// What running it changes.
    pub side_effect: SideEffect,
    /// Whether the service asks before it runs.
    pub confirmation: Confirmation,
}

/// A request for a new tool (TOOL-2).
#[derive(Debug, Clone)]
pub struct NewTool {
    /// Its name.
    pub name: ToolName,
    /// What people see; the name unless told.
    pub display_name: Option<String>,
    /// Its first definition.
    pub spec: Spec,
}

/// A request for a new version: what it omits takes the default, schemas are inherited (TOOL-5).
#[derive(Debug, Clone)]
pub struct NewVersion {
    /// For the model.
    pub description: Option<String>,
    /// Who runs it.
    pub executor: Executor,
    /// Inherited unless given.
    pub input_schema: Option<InputSchema>,
    /// Inherited unless given.
    pub output_schema: Option<OutputSchema>,
    /// What running it changes.
    pub side_effect: SideEffect,
    /// Whether the service asks before it runs.
    pub confirmation: Confirmation,
}

/// A tool's name: `^[A-Za-z0-9_-]{1,64}$` (TOOL-9).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// What a name must look like.
    pub const PATTERN: &'static str = "^[A-Za-z0-9_-]{1,64}$";

    /// Takes `text` as a name, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        fits.then(|| Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A closed set of words, as a request spells them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $variant),+
        }

        impl $name {
            /// The words, in the contract's order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The value that `word` stands for.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word for this value.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}

words! {
    /// Who executes a tool (TOOL-9).
    Executor {
        /// The application: the run pauses for it.
        #[default]
        Application = "application",
    }
}

words! {
    /// What running a tool changes (TOOL-4); kept and shown, with no effect on a run.
    SideEffect {
        /// Nothing.
        #[default]
        Nothing = "none",
        /// Something in the workspace.
        WorkspaceWrite = "workspace_write",
        /// Something outside.
        ExternalWrite = "external_write",
    }
}

words! {
    /// Whether the service asks before a tool runs (TOOL-4). `always` is refused.
    Confirmation {
        /// It doesn't.
        #[default]
        Never = "never",
        /// As a policy says; no visible effect in a run.
        Policy = "policy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_9_names() {
        for (text, fits) in
            [("echo_tool", true), ("A-9", true), ("", false), ("a b", false), ("é", false), ("a\rb", false)]
        {
            assert_eq!(ToolName::parse(text).is_some(), fits, "{text}");
        }
        assert!(ToolName::parse(&"x".repeat(64)).is_some() && ToolName::parse(&"x".repeat(65)).is_none());
    }

    #[test]
    fn tool_4_words_and_defaults() {
        assert_eq!(SideEffect::default().as_str(), "none");
        assert_eq!(Confirmation::default().as_str(), "never");
        assert_eq!(Confirmation::parse("always"), None);
        for word in SideEffect::WORDS {
            assert_eq!(SideEffect::parse(word).map(SideEffect::as_str), Some(*word));
        }
    }
}
