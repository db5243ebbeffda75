//! Spans of time as people write them: `200ms`, `15s`, `1.5s`, `30m`, `1h30m`.
//!
//! One small grammar for scenario files, the control API and the command line, that a regular expression can tell as
//! well. The crates that read durations take more: in theirs `1 5s` is fifteen seconds, `1M` is a month, and `1h ago`
//! is a duration.

use std::time::Duration;

use crate::decode::{Faults, Node};

/// The longest duration: ten years of 365 days.
pub const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The units and their length in milliseconds, in the order in which a duration has them.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads numbers with their units, the longest first and each at most once; the last number may have a fraction.
/// `None` for anything else, for what is no whole number of milliseconds, and for more than [`LONGEST`].
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut units = UNITS.iter();
    let mut total: u64 = 0;
    let mut fraction_met = false;
    while !rest.is_empty() && !fraction_met {
        let (number, after_number) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, after) = after_number
            .split_at(after_number.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after_number.len()));
        let (_, unit_ms) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(millis(number, *unit_ms)?)?;
        fraction_met = number.contains('.');
        rest = after;
    }
    let total = Duration::from_millis(total);
    (rest.is_empty() && !text.is_empty() && total <= LONGEST).then_some(total)
}

/// The duration that `node` holds, or a fault that says how to write one.
pub fn duration(node: &Node<'_, '_>, faults: &mut Faults) -> Option<Duration> {
    if node.value.is_number() {
        node.fault(faults, "must have a unit, such as `15s` or `200ms`; a bare number has none");
        return None;
    }
    let expected = "a duration such as `200ms`, `15s`, `1.5s`, `30m` or `1h30m`, of at most 3650 days";
    node.parsed(faults, expected, parse_duration)
}

/// `number`, of digits with perhaps a point, times `unit_ms`; `None` where that is no whole number.
fn millis(number: &str, unit_ms: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = fraction.parse::<u64>().ok()?.checked_mul(unit_ms)?;
    let part = (scaled % scale == 0).then_some(scaled / scale)?;
    whole.parse::<u64>().ok()?.checked_mul(unit_ms)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, millis: Option<u64>) {
        assert_eq!(parse_duration(text), millis.map(Duration::from_millis), "{text:?}");
    }

    #[test]
    fn numbers_with_units_the_longest_first() {
        check("0s", Some(0));
        check("200ms", Some(200));
        check("15s", Some(15_000));
        check("1.5s", Some(1_500));
        check("0.001s", Some(1));
        check("30m", Some(1_800_000));
        check("1h30m", Some(5_400_000));
        check("1h0.5m", Some(3_630_000));
        check("0.0001d", Some(8_640));
        check("2d3h4m5s6ms", Some(183_845_006));
        check("90m", Some(5_400_000));
        check("3650d", Some(LONGEST.as_secs() * 1_000));
    }

    #[test]
    fn anything_else_is_no_duration() {
        for text in [
            "",
            "s",
            "15",
            "1.5",
            "15 s",
            " 15s",
            "15s ",
            "1 5s",
            "+1s",
            "-1s",
            "1S",
            "1M",
            "1sec",
            "1w",
            "1y",
            "1,5s",
            ".5s",
            "1.s",
            "1..5s",
            "1.5.5s",
            "1e3s",
            "1s1s",
            "1m1h",
            "1.5h30m",
            "1h ago",
            "0.5ms",
            "1.0005s",
            "٣s",
            "3650d1ms",
            "1000000000000000000000s",
            "18446744073709551616ms",
            "1h30",
            "1h 30m",
            "µs",
            "1µs",
        ] {
            check(text, None);
        }
    }
}
