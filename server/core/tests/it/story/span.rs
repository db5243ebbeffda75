//! Times as stories tell them: how long after the virtual clock's start, like `29m59.999s`.

use std::time::Duration;

use pantheon_core::Timestamp;

/// Reads `1h`, `29m59.999s` or `15s`.
pub(crate) fn parse_span(text: &str) -> Duration {
    let mut ms = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let unit = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or_else(|| panic!("no unit in {text}"));
        let number: f64 = rest[..unit].parse().unwrap_or_else(|_| panic!("{text} is no span"));
        let per = match &rest[unit..=unit] {
            "h" => 3_600_000.0,
            "m" => 60_000.0,
            "s" => 1_000.0,
            other => panic!("{other} is no unit of time"),
        };
        ms += number * per;
        rest = &rest[unit + 1..];
    }
    Duration::from_millis(ms.round() as u64)
}

/// The time of a story that is `span` after its start.
pub(crate) fn at(span: Duration) -> Timestamp {
    Timestamp::VIRTUAL_START.after(span)
}

/// `time` as a story tells it.
pub(crate) fn tell_time(time: Timestamp) -> String {
    let ms = time.since(Timestamp::VIRTUAL_START).as_millis();
    let (minutes, seconds, millis) = (ms / 60_000, ms / 1_000 % 60, ms % 1_000);
    match (minutes, seconds, millis) {
        (0, seconds, 0) => format!("{seconds}s"),
        (0, seconds, millis) => format!("{seconds}.{millis:03}s"),
        (minutes, 0, 0) => format!("{minutes}m"),
        (minutes, seconds, 0) => format!("{minutes}m{seconds}s"),
        (minutes, seconds, millis) => format!("{minutes}m{seconds}.{millis:03}s"),
    }
}
