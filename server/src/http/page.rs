//! Lists: `{"data": […], "has_more", "next_cursor"}`, in order of creation (LIST-1).

use axum::http::Uri;
use serde_json::Value;

use super::answer::ApiError;
use super::query;

/// A request for a part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    limit: usize,
    /// How many things the pages before have passed.
    passed: usize,
}

impl Page {
    /// Reads `limit` (1 to 100, 20 unless told) and `cursor`.
    ///
    /// # Errors
    /// 422 for a limit out of bounds, or a cursor that no list has given.
    pub(crate) fn of(uri: &Uri) -> Result<Self, ApiError> {
        let limit = query::parsed(uri, "limit", "a whole number from 1 to 100", |text| {
            text.parse().ok().filter(|limit| (1..=100).contains(limit))
        })?;
        let passed = query::parsed(uri, "cursor", "a next_cursor of this list", |text| {
            usize::from_str_radix(text.strip_prefix(CURSOR)?, 16).ok()
        })?;
        Ok(Self { limit: limit.unwrap_or(20), passed: passed.unwrap_or(0) })
    }

    /// This part of `all`, of which `shown` turns each into JSON, or leaves it out.
    pub(crate) fn list<T>(
        self,
        all: impl IntoIterator<Item = T>,
        shown: impl Fn(T) -> Option<Value>,
    ) -> Value {
        self.list_weighed(all, |thing| Some((shown(thing)?, 0)))
    }

    /// As [`Page::list`], where `shown` tells how many bytes each takes: a page of large things has fewer of them.
    pub(crate) fn list_weighed<T>(
        self,
        all: impl IntoIterator<Item = T>,
        shown: impl Fn(T) -> Option<(Value, usize)>,
    ) -> Value {
        let mut bytes = 0;
        let mut data = Vec::new();
        let mut passed = self.passed;
        let mut next = None;
        let rest = all.into_iter().enumerate().skip(self.passed);
        for (at, (shown, weight)) in rest.filter_map(|(at, thing)| Some((at, shown(thing)?))) {
            if data.len() == self.limit || bytes >= MOST_BYTES {
                next = Some(format!("{CURSOR}{passed:x}"));
                break;
            }
            data.push(shown);
            bytes += weight;
            passed = at + 1;
        }
        serde_json::json!({ "data": data, "has_more": next.is_some(), "next_cursor": next })
    }
}

/// A page is full when it has so many bytes.
const MOST_BYTES: usize = 8 << 20;

/// What a cursor begins with; the rest is for us to read.
const CURSOR: &str = "cur_";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Option<(&[u64], bool)>) -> Option<String> {
        let uri: Uri = format!("/v1/tools?{query}").parse().unwrap();
        let page = Page::of(&uri).ok().map(|page| page.list(1..=5_u64, |n| (n != 3).then(|| n.into())));
        let shown = page.as_ref().map(|page| {
            let data: Vec<u64> =
                page["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            (data, page["has_more"].as_bool().unwrap())
        });
        assert_eq!(shown, expected.map(|(data, more)| (data.to_vec(), more)), "{query}");
        page?["next_cursor"].as_str().map(str::to_owned)
    }

    #[test]
    fn list_1_pages_follow_each_other() {
        assert_eq!(check("", Some((&[1, 2, 4, 5], false))), None);
        let second = check("limit=2", Some((&[1, 2], true))).unwrap();
        let third = check(&format!("limit=1&cursor={second}"), Some((&[4], true))).unwrap();
        assert_eq!(check(&format!("limit=1&cursor={third}"), Some((&[5], false))), None);
        for wrong in ["limit=0", "limit=101", "limit=x", "cursor=x", "cursor=cur_x"] {
            check(wrong, None);
        }
    }
}
