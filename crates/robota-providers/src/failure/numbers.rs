//! Reads delays and sizes from the text of messages and headers: some services report them nowhere
//! else.

use std::time::Duration;

/// The words before a delay in a message.
const BEFORE_DELAY: &[&str] =
    &["try again in ", "retry in ", "retry after ", "retrying in ", "wait for ", "wait "];

/// The words before the size of the context window in a message.
const BEFORE_WINDOW: &[&str] = &[
    "maximum context length is ",
    "context length is only ",
    "context length of ",
    "context window of ",
    "context size of ",
    "context size (",
    "tokens allowed (",
    "input tokens (",
    " tokens > ",
];

/// Parses the delay in a message such as "Please try again in 1.5s".
pub(crate) fn retry_delay(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    BEFORE_DELAY.iter().find_map(|words| {
        let (_, rest) = message.split_once(words)?;
        duration(rest.strip_prefix("about ").unwrap_or(rest))
    })
}

/// Parses the duration at the beginning of a text: `1.5s`, `20ms`, `6m0s`, `1h2m3s`, `2 minutes`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = None;
    loop {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let Ok(number) = number.parse::<f64>() else { return total };
        let after = after.trim_start();
        let unit_end = after.find(|letter: char| !letter.is_ascii_alphabetic());
        let (unit, next) = after.split_at(unit_end.unwrap_or(after.len()));
        let seconds = match unit {
            "ms" | "millisecond" | "milliseconds" => number / 1_000.0,
            "s" | "sec" | "secs" | "second" | "seconds" => number,
            "m" | "min" | "mins" | "minute" | "minutes" => number * 60.0,
            "h" | "hour" | "hours" => number * 3_600.0,
            "d" | "day" | "days" => number * 86_400.0,
            _ => return total,
        };
        let part = Duration::try_from_secs_f64(seconds).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(part)?);
        rest = next;
    }
}

/// Parses the size of the context window in a message such as "maximum context length is 8192
/// tokens".
pub(crate) fn context_window(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    BEFORE_WINDOW.iter().find_map(|words| {
        let (_, rest) = message.split_once(words)?;
        let digits: String = rest
            .chars()
            .take_while(|letter| letter.is_ascii_digit() || matches!(letter, ',' | '_'))
            .filter(char::is_ascii_digit)
            .collect();
        // A smaller number is something else: no model has such a window.
        digits.parse().ok().filter(|window| *window >= 256)
    })
}

#[cfg(test)]
mod tests;
