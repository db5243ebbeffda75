//! The core against the contract: stories that are read, and walks that are not.
//!
//! - [`rules`] tells stories, named after the rules that they show. A story is text: see [`story`].
//! - [`walk`] sends worlds random ways and judges each step by a second, simpler reading of the contract.

#[cfg(test)]
mod rules;
#[cfg(test)]
mod story;
#[cfg(test)]
mod walk;
