//! `Retry-After`, in seconds or as a date (C-HTTP-1).

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};

use crate::clock;
use crate::defect::{Defect, Defects};

/// When the server wants a request to be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// It doesn't say, or says what nobody can read: whoever tries again waits by its own back-off.
    None,
    /// Not before so much time has passed.
    Wait(Duration),
    /// It says what nobody can read, and a deliberate mistake dies of it.
    Nonsense,
}

/// Reads the header. A date is measured from the answer's own `Date`, since the clocks of two machines differ.
#[must_use]
pub fn read(headers: &HeaderMap, defects: Defects) -> Hint {
    let Some(value) = headers.get(RETRY_AFTER).and_then(text) else { return Hint::None };
    if defects.has(Defect::IgnoresRetryAfter) {
        return Hint::None;
    }
    let unit = if defects.has(Defect::RetryAfterInMilliseconds) { 1 } else { 1000 };
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too many digits for a number is still a very long time.
        let count: u64 = value.parse().unwrap_or(u64::MAX);
        return Hint::Wait(Duration::from_millis(count.saturating_mul(unit)));
    }
    let date = httpdate::parse_http_date(value).ok().filter(|_| !defects.has(Defect::IgnoresRetryAfterDate));
    match date {
        Some(date) => Hint::Wait(date.duration_since(server_time(headers, defects)).unwrap_or_default()),
        None if defects.has(Defect::NonsenseRetryAfterIsFatal) => Hint::Nonsense,
        None => Hint::None,
    }
}

/// What time it was at the server. `Date` has whole seconds, rounded down, so a wait from it is never too short.
fn server_time(headers: &HeaderMap, defects: Defects) -> SystemTime {
    let date = headers.get(DATE).and_then(text).and_then(|date| httpdate::parse_http_date(date).ok());
    match date {
        Some(date) if !defects.has(Defect::RetryAfterByOwnClock) => date,
        Some(_) | None => clock::time_of_day(),
    }
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

    fn hint(value: &str, defects: Defects) -> Hint {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, value.parse().unwrap());
        headers.insert(DATE, NOW.parse().unwrap());
        read(&headers, defects)
    }

    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        let expected = expected.map_or(Hint::None, |seconds| Hint::Wait(Duration::from_secs(seconds)));
        assert_eq!(hint(value, Defects::NONE), expected, "{value:?}");
    }

    #[test]
    fn c_http_1_seconds() {
        check("2", Some(2));
        check(" 0 ", Some(0));
        check("86400", Some(86_400));
        assert!(
            matches!(hint("99999999999999999999999", Defects::NONE), Hint::Wait(wait) if wait.as_secs() > 86_400)
        );
    }

    #[test]
    fn c_http_1_dates_are_measured_from_the_servers_own() {
        check("Thu, 01 Jan 2026 00:00:02 GMT", Some(2));
        check("Thursday, 01-Jan-26 00:00:02 GMT", Some(2));
        check("Thu Jan  1 00:00:02 2026", Some(2));
        check("Wed, 31 Dec 2025 23:59:59 GMT", Some(0));
    }

    #[test]
    fn c_http_1_nonsense_says_nothing() {
        for value in ["soon", "-1", "", "1.5", "2s", "2026-01-01T00:00:02Z"] {
            check(value, None);
        }
    }

    #[test]
    fn mistakes_show() {
        assert_eq!(hint("2", Defect::RetryAfterInMilliseconds.into()), Hint::Wait(Duration::from_millis(2)));
        assert_eq!(hint("2", Defect::IgnoresRetryAfter.into()), Hint::None);
        assert_eq!(hint("soon", Defect::NonsenseRetryAfterIsFatal.into()), Hint::Nonsense);
        assert_eq!(hint(NOW, Defect::IgnoresRetryAfterDate.into()), Hint::None);
        let date = "Thu, 01 Jan 2026 00:00:02 GMT";
        assert_eq!(hint(date, Defect::RetryAfterByOwnClock.into()), Hint::Wait(Duration::ZERO));
    }
}
