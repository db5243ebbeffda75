//! The one notion of time: a point given from outside, in whole milliseconds.

use std::fmt;
use std::time::Duration;

/// A point in time, in milliseconds since the Unix epoch, between the years 1970 and 9999 (TIME-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// 9999-12-30T22:00:00Z, the last point that RFC 3339 text can tell in every offset.
const LAST_MS: i64 = 253_402_207_200_000;

impl Timestamp {
    /// Where a virtual clock starts unless told otherwise: 2026-01-01T00:00:00Z.
    pub const VIRTUAL_START: Self = Self(1_767_225_600_000);

    /// The last point in time that can be told.
    pub const MAX: Self = Self(LAST_MS);

    /// `ms` after the Unix epoch; a value out of bounds becomes the nearest bound.
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.clamp(0, LAST_MS))
    }

    /// Milliseconds since the Unix epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 text with any offset; `None` for anything else, or out of bounds.
    pub fn parse(text: &str) -> Option<Self> {
        // The parser takes more forms of ISO 8601 than RFC 3339 has.
        let is_rfc_3339 = text.len() >= "2026-09-03T12:00:02Z".len()
            && matches!(text.as_bytes()[..11], [_, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't'])
            && text.bytes().skip(11).all(|b| b.is_ascii_digit() || b":.+-Zz".contains(&b));
        let parsed = is_rfc_3339.then(|| text.parse::<jiff::Timestamp>().ok()).flatten();
        let ms = parsed?.as_millisecond();
        (0..=LAST_MS).contains(&ms).then_some(Self(ms))
    }

    /// The point `span` later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        let ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(ms).min(LAST_MS))
    }

    /// How long it is from `earlier` to this point; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with `Z`; whole seconds without a fraction, others with three digits of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time =
            jiff::Timestamp::from_millisecond(self.0).expect("a Timestamp is in bounds by construction");
        if self.0 % 1000 == 0 { write!(f, "{time:.0}") } else { write!(f, "{time:.3}") }
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: Option<&str>) {
        assert_eq!(Timestamp::parse(text).map(|time| time.to_string()).as_deref(), shown, "{text}");
    }

    #[test]
    fn time_1_text_is_rfc_3339_in_utc() {
        check("2026-09-03T12:00:02Z", Some("2026-09-03T12:00:02Z"));
        check("2026-09-03T14:00:02.5+02:00", Some("2026-09-03T12:00:02.500Z"));
        check("2026-09-03", None);
        check("tomorrow", None);
        check("2026-01-01T00Z", None);
        check("20260101T000000Z0000", None);
        check("2026-01-01T00:00:00Z[UTC]", None);
        check("1969-12-31T23:59:59Z", None);
        assert_eq!(Timestamp::VIRTUAL_START.to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(Timestamp::MAX.after(Duration::MAX).to_string(), "9999-12-30T22:00:00Z");
    }
}
