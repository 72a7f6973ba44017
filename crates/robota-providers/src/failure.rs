//! How a service says that a call failed, in one shape for every wire.
//!
//! A wire reads its own error bodies into a [`Failure`]; what it means (whose problem it is,
//! whether trying again may help, what to do) is decided once, in [`classify`].

mod classify;
mod page;

use std::time::Duration;

use robota_core::provider::{FailureReason, ProviderError};
use serde_json::Value;

use crate::http::Scrubber;

/// At most this much of a service's own words is repeated.
const MAX_MESSAGE: usize = 2_000;

/// A failure as a service told it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Failure {
    /// The status of the answer; absent inside a stream.
    pub(crate) status: Option<u16>,
    /// Codes and types, as the service spells them.
    pub(crate) codes: Vec<String>,
    /// Its words.
    pub(crate) message: String,
    /// Its number of the request.
    pub(crate) request_id: Option<String>,
    /// When it says to come back.
    pub(crate) retry_after: Option<Duration>,
    /// Whether it says to come back at all.
    pub(crate) should_retry: Option<bool>,
    /// What it is, where the reader knows better than the words.
    pub(crate) reason: Option<FailureReason>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(crate) fn of(reason: FailureReason, message: impl Into<String>) -> Self {
        Self { reason: Some(reason), ..Self::new(message) }
    }

    pub(crate) fn code(mut self, code: impl Into<String>) -> Self {
        self.codes.push(code.into());
        self
    }

    /// The stream ended without its terminal record.
    pub(crate) fn truncated() -> Self {
        Self::of(
            FailureReason::Truncated,
            "the stream ended before the model finished its answer (no terminal record)",
        )
    }

    /// An event that is no JSON, or not of the shape it must have.
    pub(crate) fn unreadable(error: &serde_json::Error, data: &str) -> Self {
        let shown = cut(data, 120);
        Self::of(
            FailureReason::Unreadable,
            format!("the service sent an event that cannot be read ({error}): {shown}"),
        )
    }

    /// Reads an error body of any wire: `{"error": {…}}`, `{"error": "…"}`, the error object
    /// itself, one of those in an array, a page, or plain words.
    pub(crate) fn from_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body.trim()) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self::new(page::words(body)),
        }
    }

    /// The same, from JSON.
    pub(crate) fn from_value(value: &Value) -> Self {
        if let Some(first) = value.as_array().and_then(|list| list.first()) {
            return Self::from_value(first);
        }
        let inner = match value.get("error") {
            Some(error) if !error.is_null() => error,
            _ => value.get("response").and_then(|response| response.get("error")).unwrap_or(value),
        };
        let mut failure = Self::new(words(inner).or_else(|| words(value)).unwrap_or_else(|| {
            let shown = inner.to_string();
            format!("the service gave no reason: {}", cut(&shown, 300))
        }));
        for key in ["code", "type", "status", "param"] {
            match inner.get(key) {
                Some(Value::String(code)) if !code.is_empty() => failure.codes.push(code.clone()),
                Some(Value::Number(number)) if key == "code" => {
                    failure.status = number.as_u64().and_then(|code| u16::try_from(code).ok());
                }
                _ => {}
            }
        }
        if let Some(code) = inner.pointer("/details/error_code").and_then(Value::as_str) {
            failure.codes.push(code.to_owned());
        }
        read_details(inner, &mut failure);
        failure.retry_after = failure.retry_after.or_else(|| delay_in(&failure.message));
        failure.request_id = ["request_id", "requestId"]
            .iter()
            .find_map(|key| value.get(key).or_else(|| inner.get(key))?.as_str())
            .map(str::to_owned);
        failure
    }

    /// The error for people and for the turn.
    pub(crate) fn into_error(self, about: &About, scrub: &Scrubber) -> ProviderError {
        classify::error(self, about, scrub)
    }
}

/// The structured details of a Google-style error: how long to wait, and which quota.
fn read_details(error: &Value, failure: &mut Failure) {
    for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
        if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
            let seconds = delay.strip_suffix('s').and_then(|text| text.parse::<f64>().ok());
            failure.retry_after =
                seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        }
        if let Some(reason) = detail.get("reason").and_then(Value::as_str) {
            failure.codes.push(reason.to_owned());
        }
        let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
        for quota in violations.filter_map(|violation| violation.get("quotaId")?.as_str()) {
            failure.codes.push(quota.to_owned());
        }
    }
}

/// The delay in words such as "Please try again in 1.5s": some services give it nowhere else.
fn delay_in(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let number: f64 = rest[..end].parse().ok()?;
    let rest = &rest[end..];
    let seconds = if rest.starts_with("ms") {
        number / 1_000.0
    } else if rest.starts_with('m') {
        number * 60.0
    } else if rest.trim_start().starts_with('s') {
        number
    } else {
        return None;
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn words(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => Some(text.as_str()),
        _ => ["message", "detail", "error_description", "title"]
            .iter()
            .find_map(|key| value.get(key)?.as_str()),
    };
    text.map(str::trim).filter(|text| !text.is_empty()).map(|text| cut(text, MAX_MESSAGE))
}

/// The beginning of a text, with a sign that it goes on.
pub(crate) fn cut(text: &str, at_most: usize) -> String {
    match text.char_indices().nth(at_most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Whom a failure is about, for messages and hints.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// The vendor's name for people.
    pub(crate) vendor: String,
    /// The model asked for.
    pub(crate) model: String,
    /// Where the service is, without anything secret.
    pub(crate) place: String,
    /// The variable that usually holds the key.
    pub(crate) key_env: Option<String>,
    /// Where a key can be had.
    pub(crate) help: Option<String>,
    /// Whether it runs on the user's own machine.
    pub(crate) local: bool,
}

#[cfg(test)]
mod tests;
