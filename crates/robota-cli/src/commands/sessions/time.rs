//! Parses and formats times, ages and sizes.

use jiff::{SignedDuration, Timestamp};

use crate::Usage;

/// Parses an age: a number and `s`, `m`, `h`, `d` or `w`.
pub(super) fn age(text: &str) -> Result<SignedDuration, Usage> {
    let invalid =
        || Usage(format!("invalid age `{text}`; use a number and a unit, such as 30d, 12h or 2w"));
    let unit = text.chars().last().ok_or_else(invalid)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return Err(invalid()),
    };
    let number: i64 =
        text[..text.len() - 1].parse().ok().filter(|n| *n >= 0).ok_or_else(invalid)?;
    number.checked_mul(seconds).map(SignedDuration::from_secs).ok_or_else(invalid)
}

/// Parses a time: RFC 3339, a date (midnight, UTC), or an age before now.
pub(super) fn when(text: &str, now: Timestamp) -> Result<Timestamp, Usage> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if let Ok(at) = format!("{text}T00:00:00Z").parse::<Timestamp>() {
        return Ok(at);
    }
    let invalid = || {
        Usage(format!(
            "invalid time `{text}`; use 2026-01-31T09:30:00Z, 2026-01-31 or an age such as 2d"
        ))
    };
    age(text).ok().and_then(|age| now.checked_sub(age).ok()).ok_or_else(invalid)
}

/// Parses a size in bytes, or with the unit `K`, `M` or `G`.
pub(super) fn size(text: &str) -> Result<u64, Usage> {
    let invalid =
        || Usage(format!("invalid size `{text}`; use a number and a unit, such as 500M or 2G"));
    let (number, unit) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 1 << 10),
        Some('M' | 'm') => (&text[..text.len() - 1], 1 << 20),
        Some('G' | 'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(invalid)
}

/// Formats a time to the minute, for tables.
pub(crate) fn minute(at: Timestamp) -> String {
    let text = second(at);
    format!("{}Z", text.get(..16).unwrap_or(&text))
}

/// Formats a time to the second.
pub(super) fn second(at: Timestamp) -> String {
    let whole = at.to_string();
    // Fractions of a second make columns uneven.
    let cut = whole.split(['.', 'Z']).next().unwrap_or(&whole);
    format!("{}Z", cut.replace('T', " "))
}

/// Formats a duration.
pub(super) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

/// Formats a number of bytes.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

#[cfg(test)]
mod tests;
