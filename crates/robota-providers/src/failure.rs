//! Errors that services report, in one shape for every wire.
//!
//! A wire decodes its error bodies into a [`Failure`]. [`classify`] alone decides what the failure
//! means: the error kind, whether a retry may help, and the hint.

mod classify;
mod html;
mod numbers;

use std::time::Duration;

use robota_core::provider::{FailureReason, ProviderError};
use serde_json::Value;

pub(crate) use numbers::duration;

use crate::http::Scrubber;

/// The most characters of a service's message that an error repeats.
const MAX_MESSAGE: usize = 2_000;

/// A failure as the service reported it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Failure {
    /// The HTTP status of the response; absent for errors inside a stream.
    pub(crate) status: Option<u16>,
    /// Error codes and types, as the service spells them.
    pub(crate) codes: Vec<String>,
    /// The service's message, not yet without secrets; `classify` removes them.
    pub(crate) message: String,
    /// The service's id of the request.
    pub(crate) request_id: Option<String>,
    /// How long the service asks the client to wait before a retry.
    pub(crate) retry_after: Option<Duration>,
    /// The context window in tokens that the service names.
    pub(crate) context_window: Option<u64>,
    /// Whether the service explicitly allows or forbids a retry.
    pub(crate) should_retry: Option<bool>,
    /// The reason, where the decoder knows it; otherwise `classify` derives it from codes and text.
    pub(crate) reason: Option<FailureReason>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(crate) fn with_reason(reason: FailureReason, message: impl Into<String>) -> Self {
        Self { reason: Some(reason), ..Self::new(message) }
    }

    pub(crate) fn code(mut self, code: impl Into<String>) -> Self {
        self.codes.push(code.into());
        self
    }

    /// Creates the failure of a stream that ended without its terminal event.
    pub(crate) fn truncated() -> Self {
        Self::with_reason(
            FailureReason::Truncated,
            "the stream ended before the model finished its answer (no terminal event)",
        )
    }

    /// Creates the failure of an event that is not JSON, or does not have the required shape.
    pub(crate) fn unreadable(error: &serde_json::Error, data: &str) -> Self {
        let shown = shorten(data, 120);
        Self::with_reason(
            FailureReason::Unreadable,
            format!("the service sent an event that cannot be read ({error}): {shown}"),
        )
    }

    /// Reads an error body of any wire: `{"error": {…}}`, `{"error": "…"}`, the error object
    /// itself, one of those in an array, an HTML page, or plain text.
    pub(crate) fn from_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body.trim()) {
            Ok(value) => Self::from_value(&value),
            // Proxies and login pages answer with HTML.
            Err(_) => Self::new(html::summary(body)),
        }
    }

    /// Reads an error that is already parsed, in any of the JSON shapes of [`Self::from_body`].
    pub(crate) fn from_value(value: &Value) -> Self {
        if let Some(first) = value.as_array().and_then(|list| list.first()) {
            // One vendor wraps its errors into a list.
            return Self::from_value(first);
        }
        let inner = match value.get("error") {
            Some(error) if !error.is_null() => error,
            // Responses of OpenAI have the error inside of the response that failed.
            _ => value.get("response").and_then(|response| response.get("error")).unwrap_or(value),
        };
        let mut failure =
            Self::new(message_of(inner).or_else(|| message_of(value)).unwrap_or_else(|| {
                let shown = inner.to_string();
                format!("the service gave no reason: {}", shorten(&shown, 300))
            }));
        for key in ["code", "type", "status", "param"] {
            match inner.get(key) {
                Some(Value::String(code)) if !code.is_empty() => failure.codes.push(code.clone()),
                // Some services repeat the HTTP status in the body, and gateways pass on only the
                // body.
                Some(Value::Number(number)) if key == "code" => {
                    failure.status = number.as_u64().and_then(|code| u16::try_from(code).ok());
                }
                _ => {}
            }
        }
        // Anthropic puts the precise code here; `type` has only the class.
        if let Some(code) = inner.pointer("/details/error_code").and_then(Value::as_str) {
            failure.codes.push(code.to_owned());
        }
        read_details(inner, &mut failure);
        failure.retry_after =
            failure.retry_after.or_else(|| numbers::retry_delay(&failure.message));
        failure.context_window = inner
            .get("n_ctx")
            .and_then(Value::as_u64)
            // Most services name the window only in the text of the message.
            .or_else(|| numbers::context_window(&failure.message));
        failure.request_id = ["request_id", "requestId"]
            .iter()
            .find_map(|key| value.get(key).or_else(|| inner.get(key))?.as_str())
            .map(str::to_owned);
        failure
    }

    /// Classifies the failure and converts it into the error that callers see.
    pub(crate) fn into_error(self, service: &ServiceInfo, scrub: &Scrubber) -> ProviderError {
        classify::error(self, service, scrub)
    }
}

/// Reads the structured details of a Google-style error: the retry delay and the exceeded quota.
fn read_details(error: &Value, failure: &mut Failure) {
    for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
        if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
            failure.retry_after = numbers::duration(delay);
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

fn message_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => Some(text.as_str()),
        _ => ["message", "detail", "error_description", "title"]
            .iter()
            .find_map(|key| value.get(key)?.as_str()),
    };
    text.map(str::trim).filter(|text| !text.is_empty()).map(|text| shorten(text, MAX_MESSAGE))
}

/// Returns at most `at_most` characters of a text, with an ellipsis if it was cut.
pub(crate) fn shorten(text: &str, at_most: usize) -> String {
    match text.char_indices().nth(at_most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The service and model of a failed call, for messages and hints.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServiceInfo {
    /// The vendor's display name.
    pub(crate) vendor: String,
    /// The requested model, for hints; empty if the request is about none.
    pub(crate) model: String,
    /// The service's address without secrets.
    pub(crate) address: String,
    /// The environment variable that usually holds the key.
    pub(crate) key_env: Option<String>,
    /// The environment variable that can hold the address.
    pub(crate) address_env: Option<String>,
    /// The page where users get a key.
    pub(crate) help: Option<String>,
    /// Whether the service runs on the user's own machine.
    pub(crate) local: bool,
    /// Whether the user set options, which are sent unchanged.
    pub(crate) has_options: bool,
    /// Whether a status 429 that names no delay means that the account's spending limit is reached.
    pub(crate) bare_429_is_final: bool,
}

#[cfg(test)]
mod tests;
