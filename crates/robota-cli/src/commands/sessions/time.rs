//! Times, ages and sizes as people write and read them.

use jiff::{SignedDuration, Timestamp};

use crate::Usage;

/// An age: a number and `s`, `m`, `h`, `d` or `w`.
pub(super) fn age(text: &str) -> Result<SignedDuration, Usage> {
    let wrong = || Usage(format!("`{text}` is no age; one looks like 30d, 12h or 2w"));
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - 1].parse().ok().filter(|n| *n >= 0).ok_or_else(wrong)?;
    number.checked_mul(seconds).map(SignedDuration::from_secs).ok_or_else(wrong)
}

/// A time: RFC 3339, a date (midnight, UTC), or an age before now.
pub(super) fn when(text: &str, now: Timestamp) -> Result<Timestamp, Usage> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if let Ok(at) = format!("{text}T00:00:00Z").parse::<Timestamp>() {
        return Ok(at);
    }
    let wrong = || {
        Usage(format!(
            "`{text}` is no time; say 2026-01-31T09:30:00Z, 2026-01-31 or an age such as 2d"
        ))
    };
    age(text).ok().and_then(|age| now.checked_sub(age).ok()).ok_or_else(wrong)
}

/// A size: bytes, or with `K`, `M` or `G`.
pub(super) fn size(text: &str) -> Result<u64, Usage> {
    let wrong = || Usage(format!("`{text}` is no size; one looks like 500M or 2G"));
    let (number, unit) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 1 << 10),
        Some('M' | 'm') => (&text[..text.len() - 1], 1 << 20),
        Some('G' | 'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(wrong)
}

/// To the minute, for tables.
pub(super) fn minute(at: Timestamp) -> String {
    let text = second(at);
    format!("{}Z", text.get(..16).unwrap_or(&text))
}

/// To the second.
pub(super) fn second(at: Timestamp) -> String {
    let whole = at.to_string();
    let cut = whole.split(['.', 'Z']).next().unwrap_or(&whole);
    format!("{}Z", cut.replace('T', " "))
}

/// How long something took.
pub(super) fn took(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

/// Bytes for people.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

#[cfg(test)]
mod tests;
