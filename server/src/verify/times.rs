//! How often something must have happened.

use std::fmt;

use super::Verdict;
use crate::decode::{Faults, Node};

/// A range of counts, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

impl Default for Times {
    /// At least once.
    fn default() -> Self {
        Self { min: 1, max: None }
    }
}

impl Times {
    /// Reads `N` or `{ min, max }`.
    pub(super) fn read(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Self> {
        if node.value.is_number() {
            return node.count(faults).map(|times| Self { min: times, max: Some(times) });
        }
        if !node.value.is_object() {
            node.fault(faults, "must be a whole number, or { min, max } with one of them or both");
            return None;
        }
        let mut members = node.members(faults)?;
        let bounds = ["min", "max"].map(|name| members.optional(name));
        members.finish(faults);
        if bounds.iter().all(Option::is_none) {
            node.fault(faults, "say min, max or both");
            return None;
        }
        let [min, max] = bounds.map(|bound| bound.map(|node| node.count(faults)));
        let (min, max) = (min.unwrap_or(Some(0))?, max.map_or(Some(None), |max| max.map(Some))?);
        match max {
            Some(max) if max < min => node.fault(faults, "max is less than min"),
            None if min == 0 => node.fault(faults, "any count is at least 0; say a larger min, or a max"),
            Some(_) | None => {}
        }
        Some(Self { min, max })
    }

    /// Whether `certain` matches are right, and up to `possible` of them, or any number when that is `None`.
    pub(super) fn judge(self, certain: u64, possible: Option<u64>) -> Verdict {
        let is_too_many = |count: u64| self.max.is_some_and(|max| count > max);
        if is_too_many(certain) || possible.is_some_and(|possible| possible < self.min) {
            Verdict::Fail
        } else if certain >= self.min && possible.map_or(self.max.is_none(), |most| !is_too_many(most)) {
            Verdict::Pass
        } else {
            Verdict::Inconclusive
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, Some(max)) if min == max => write!(f, "exactly {min}"),
            (0, Some(max)) => write!(f, "at most {max}"),
            (min, Some(max)) => write!(f, "{min} to {max}"),
            (min, None) => write!(f, "at least {min}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(min: u64, max: Option<u64>, certain: u64, possible: Option<u64>, expected: Verdict) {
        assert_eq!(Times { min, max }.judge(certain, possible), expected);
    }

    #[test]
    fn a_count_is_judged_by_what_it_is_and_by_what_it_could_be() {
        use Verdict::{Fail, Inconclusive, Pass};
        // All is known.
        check(2, Some(2), 1, Some(1), Fail);
        check(2, Some(2), 2, Some(2), Pass);
        check(2, Some(2), 3, Some(3), Fail);
        // One entry could be a match.
        check(2, Some(2), 1, Some(2), Inconclusive);
        check(2, Some(2), 2, Some(3), Inconclusive);
        check(3, Some(3), 1, Some(2), Fail);
        check(1, None, 1, Some(2), Pass);
        // Entries are lost: never a false zero, and never a false pass.
        check(0, Some(0), 0, None, Inconclusive);
        check(0, Some(0), 1, None, Fail);
        check(1, None, 0, None, Inconclusive);
        check(1, None, 1, None, Pass);
        check(2, Some(2), 2, None, Inconclusive);
    }
}
