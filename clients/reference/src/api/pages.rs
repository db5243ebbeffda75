//! Lists, page by page.

use serde_json::Value;
use serde_json::value::RawValue;

use super::outcome::{Failure, Judgement};
use super::retry::Tries;
use super::{Answer, Api, Request};
use crate::json;

impl Api {
    /// All entries of a list, whose pages `page` asks for by their cursor.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) async fn list(
        &self,
        page: impl Fn(Option<&str>) -> Request,
        tries: &Tries,
    ) -> Result<Vec<Value>, Failure> {
        let entries = self.list_raw(page, tries).await?;
        Ok(entries.iter().filter_map(|entry| json::read(entry)).collect())
    }

    /// The same, each entry as its text.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) async fn list_raw(
        &self,
        page: impl Fn(Option<&str>) -> Request,
        tries: &Tries,
    ) -> Result<Vec<Box<RawValue>>, Failure> {
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let text = self.text(&page(cursor.as_deref()), tries.clone()).await?;
            let members = json::members(&text).unwrap_or_default();
            let data: Vec<Box<RawValue>> =
                members.get("data").and_then(|data| json::read(data)).unwrap_or_default();
            let is_empty = data.is_empty();
            entries.extend(data);
            match json::text(&members, "next_cursor") {
                Some(next) if !is_empty && cursor.as_deref() != Some(&next) => cursor = Some(next),
                Some(_) | None => return Ok(entries),
            }
        }
    }

    /// As [`Self::call`], with the body as it came.
    async fn text(&self, request: &Request, mut tries: Tries) -> Result<String, Failure> {
        loop {
            let answer = self.send(request).await;
            let text = match &answer {
                Answer::Came { body, .. } => String::from_utf8_lossy(body).into_owned(),
                Answer::Lost(_) => String::new(),
            };
            match answer.judge(self.defects) {
                Judgement::Accepted(_) => return Ok(text),
                Judgement::Refused(failure) => return Err(failure),
                Judgement::Again { after, failure, .. } => tries.wait(after, failure).await?,
            }
        }
    }
}
