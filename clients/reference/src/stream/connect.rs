//! One attempt to open a stream, judged (C-SSE-15 to C-SSE-17, C-SSE-13).

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::Reader;
use crate::api::code::Code;
use crate::api::outcome::{Answer, Failure, Judgement};
use crate::api::retry_after::Hint;
use crate::defect::Defect;

/// What became of an attempt.
pub(super) enum Attempt {
    /// It is open.
    Open(Response),
    /// To be tried again, not before the hint.
    Later(Hint, Failure),
    /// The cursor was refused: from the start, then.
    FromTheStart(Failure),
    /// It is never to be tried again.
    Stop(Failure),
}

impl Reader {
    /// Opens the stream after the cursor.
    pub(super) async fn connect(&self, cursor: Option<&str>) -> Attempt {
        let response = match self.api.open(&self.path, cursor).await {
            Ok(response) => response,
            Err(answer) => return self.judge(answer, cursor.is_some()),
        };
        match response.status().as_u16() {
            204 if !self.api.defects.has(Defect::LoopsOnNoContent) => {
                Attempt::Stop(Failure::new("stream_ended", "the server has no more events (204)"))
            }
            200 => self.accept(response),
            _ => self.judge(whole(response, self.api.timeout).await, cursor.is_some()),
        }
    }

    /// A 200 is a stream only if it says so.
    fn accept(&self, response: Response) -> Attempt {
        let defects = self.api.defects;
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("text/event-stream") && !defects.has(Defect::ContentTypeUnchecked) {
            let failure =
                Failure::new("no_event_stream", &format!("the server answered 200 with {essence:?}"));
            let ends = defects.has(Defect::PageEndsRun);
            return if ends { Attempt::Stop(failure) } else { Attempt::Later(Hint::None, failure) };
        }
        let live = response.headers().get("X-Pantheon-Live-Events");
        if live.is_some_and(|live| live == "unavailable") && defects.has(Defect::RefusesUnavailableLive) {
            return Attempt::Later(
                Hint::None,
                Failure::new("live_unavailable", "live events are unavailable"),
            );
        }
        Attempt::Open(response)
    }

    fn judge(&self, answer: Answer, had_cursor: bool) -> Attempt {
        let defects = self.api.defects;
        match answer.judge(defects) {
            Judgement::Accepted(_) => {
                Attempt::Later(Hint::None, Failure::new("no_event_stream", "a 2xx that is no stream"))
            }
            Judgement::Again { failure, .. } if stops_early(&failure, self.api.defects) => {
                Attempt::Stop(failure)
            }
            Judgement::Again { after, failure, .. } => Attempt::Later(after, failure),
            Judgement::Refused(failure) if is_cursors_fault(&failure) && had_cursor => {
                Attempt::FromTheStart(failure)
            }
            Judgement::Refused(failure) => {
                let goes_on = matches!(failure.status, Some(401 | 403 | 404));
                if goes_on && defects.has(Defect::RetriesUnauthorized) {
                    return Attempt::Later(Hint::None, failure);
                }
                Attempt::Stop(failure)
            }
        }
    }
}

/// Whether it is the cursor that the server refuses: by its code, or any 400 that has none that is known.
fn is_cursors_fault(failure: &Failure) -> bool {
    match failure.known() {
        Some(code) => code == Code::InvalidLastEventId,
        None => failure.status == Some(400),
    }
}

fn stops_early(failure: &Failure, defects: crate::defect::Defects) -> bool {
    match failure.status {
        Some(429) => defects.has(Defect::StopsAtTooManyRequests),
        Some(500..) => defects.has(Defect::StopsAtServerError),
        Some(_) | None => false,
    }
}

/// The answer with its body, read within the time-out: it says why there is no stream.
async fn whole(response: Response, timeout: std::time::Duration) -> Answer {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = match tokio::time::timeout(timeout, response.bytes()).await {
        Ok(Ok(body)) => body,
        // Its status and headers say enough.
        Ok(Err(_)) | Err(_) => bytes::Bytes::new(),
    };
    Answer::Came { status, headers, body }
}
