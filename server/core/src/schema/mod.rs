//! The schemas of a tool: registered, checked, explained.
