//! Classifies failures: the reason, the error kind, whether to retry, and the hint.

use robota_core::error::ErrorKind;
use robota_core::provider::{FailureReason, ProviderError};

use super::{About, Failure};
use crate::http::Scrubber;

/// A longer requested delay makes the failure final: no turn waits that long.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_secs(600);

pub(super) fn error(failure: Failure, about: &About, scrub: &Scrubber) -> ProviderError {
    let reason = reason(&failure);
    let mut message = format!("{}: {}", about.vendor, failure.message.trim());
    let mut facts = Vec::new();
    if let Some(status) = failure.status {
        facts.push(format!("HTTP {status}"));
    }
    if let Some(code) = failure.codes.first() {
        facts.push(code.clone());
    }
    if let Some(id) = &failure.request_id {
        facts.push(format!("request {id}"));
    }
    if !facts.is_empty() {
        message.push_str(&format!(" ({})", facts.join(", ")));
    }
    let mut retryable = failure.should_retry.unwrap_or_else(|| retryable(reason));
    if failure.retry_after.is_some_and(|delay| delay > LONGEST_WAIT) {
        retryable = false;
    }
    let mut error = ProviderError::new(kind(reason), scrub.text(&message))
        .with_reason(reason)
        .with_retryable(retryable);
    if let Some(hint) = hint(reason, &failure, about) {
        error = error.with_hint(scrub.text(&hint));
    }
    if let Some(delay) = failure.retry_after {
        error = error.with_retry_after(delay);
    }
    if let Some(id) = failure.request_id {
        error = error.with_request_id(scrub.text(&id));
    }
    error
}

fn kind(reason: FailureReason) -> ErrorKind {
    match reason {
        FailureReason::BadKey => ErrorKind::Authentication,
        FailureReason::UnknownModel => ErrorKind::ModelNotAvailable,
        FailureReason::ContextTooLong | FailureReason::TooLarge | FailureReason::BadRequest => {
            ErrorKind::Validation
        }
        FailureReason::Quota | FailureReason::RateLimit => ErrorKind::RateLimit,
        FailureReason::ContentFilter
        | FailureReason::Overloaded
        | FailureReason::Server
        | FailureReason::Unreadable => ErrorKind::Provider,
        FailureReason::Connection | FailureReason::Truncated => ErrorKind::Network,
    }
}

fn retryable(reason: FailureReason) -> bool {
    match reason {
        FailureReason::RateLimit
        | FailureReason::Overloaded
        | FailureReason::Server
        | FailureReason::Connection
        | FailureReason::Truncated
        | FailureReason::Unreadable => true,
        FailureReason::BadKey
        | FailureReason::UnknownModel
        | FailureReason::ContextTooLong
        | FailureReason::TooLarge
        | FailureReason::Quota
        | FailureReason::ContentFilter
        | FailureReason::BadRequest => false,
    }
}

const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "exceeds the available context size",
    "context length exceeded",
    "context window exceeds",
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "input is too long",
    "too many tokens",
];
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "usage_not_included",
    "billing",
    "credit balance",
    "insufficient balance",
    "insufficient credits",
    "spend limit",
    "spending limit",
    "spend cap",
    "monthly limit",
    "perday",
];
const BAD_KEY: &[&str] = &[
    "authentication_error",
    "invalid_api_key",
    "api_key_invalid",
    "api key not valid",
    "incorrect api key",
    "invalid api key",
    "invalid x-api-key",
    "permission_error",
    "unauthenticated",
    "permission_denied",
];
const FILTER: &[&str] = &[
    "content_filter",
    "content management policy",
    "invalid_prompt",
    "bio_policy",
    "cyber_policy",
    "misalignment_policy_violation",
    "data_inspection_failed",
];
const OVERLOADED: &[&str] =
    &["overloaded", "slow_down", "server_is_overloaded", "unavailable", "capacity"];
const RATE: &[&str] =
    &["rate_limit", "rate limit", "resource_exhausted", "too many requests", "throttl"];
const MODEL: &[&str] = &["model_not_found", "model not found", "unknown model", "no such model"];
const BROKEN: &[&str] = &["api_error", "server_error", "internal", "timeout_error", "timed out"];
const WRONG: &[&str] = &[
    "invalid_request_error",
    "invalid_argument",
    "failed_precondition",
    "unsupported_value",
    "unsupported_parameter",
    "invalid_value",
];

/// Derives the reason of a failure. Codes take precedence over the message, and the message over
/// the
/// status, because compatible services do not use status codes consistently.
fn reason(failure: &Failure) -> FailureReason {
    if let Some(reason) = failure.reason {
        return reason;
    }
    let codes = failure.codes.join(" ").to_lowercase();
    let words = failure.message.to_lowercase();
    let coded = |list: &[&str]| list.iter().any(|one| codes.contains(one));
    let said = |list: &[&str]| list.iter().any(|one| codes.contains(one) || words.contains(one));
    let limited = said(RATE);
    // The service could not parse the call that its own model wrote; the next try may succeed.
    if coded(&["tool_use_failed"]) {
        return FailureReason::Server;
    }
    if said(OVERFLOW) && !limited {
        return FailureReason::ContextTooLong;
    }
    // Not in the list: this message has the token count in the middle.
    if words.contains("input token count") && words.contains("exceeds the maximum") {
        return FailureReason::ContextTooLong;
    }
    if failure.status == Some(402) || said(QUOTA) {
        return FailureReason::Quota;
    }
    if failure.status == Some(401) || said(BAD_KEY) {
        return FailureReason::BadKey;
    }
    if said(FILTER) {
        return FailureReason::ContentFilter;
    }
    let about_model = words.contains("model")
        && ["not found", "does not exist", "not exist", "not supported", "no access"]
            .iter()
            .any(|one| words.contains(one));
    match failure.status {
        Some(404) => return FailureReason::UnknownModel,
        Some(400..=499) if said(MODEL) || (about_model && coded(&["not_found"])) => {
            return FailureReason::UnknownModel;
        }
        Some(403) => return FailureReason::BadKey,
        Some(413) => return FailureReason::TooLarge,
        Some(429) => return FailureReason::RateLimit,
        Some(498 | 503 | 529) => return FailureReason::Overloaded,
        Some(408 | 409 | 425) => return FailureReason::Server,
        Some(501) => return FailureReason::BadRequest,
        Some(500..) => {
            return if coded(OVERLOADED) {
                FailureReason::Overloaded
            } else {
                FailureReason::Server
            };
        }
        _ => {}
    }
    if said(MODEL) || coded(&["not_found"]) || (about_model && failure.status.is_some()) {
        FailureReason::UnknownModel
    } else if limited {
        FailureReason::RateLimit
    } else if said(OVERLOADED) {
        FailureReason::Overloaded
    } else if coded(BROKEN) {
        FailureReason::Server
    } else if failure.status.is_some() || coded(WRONG) {
        FailureReason::BadRequest
    } else {
        // An error inside a stream without any known code: treat it as a server failure.
        FailureReason::Server
    }
}

fn hint(reason: FailureReason, failure: &Failure, about: &About) -> Option<String> {
    let more = about.help.as_ref().map(|url| format!("; see {url}")).unwrap_or_default();
    Some(match reason {
        FailureReason::BadKey => match &about.key_env {
            Some(variable) => format!(
                "check the key in `{variable}` or in the provider's `apiKey`, and that it may use \
                 `{}`{more}",
                about.model
            ),
            None => format!("check the provider's `apiKey`{more}"),
        },
        FailureReason::UnknownModel if failure.status == Some(404) => format!(
            "check the model name `{}` and the address {}: one of them does not exist. \
 `robota models` lists the available models",
            about.model, about.place
        ),
        FailureReason::UnknownModel => format!(
            "this key has no access to a model `{}`; `robota models` lists the available models",
            about.model
        ),
        FailureReason::ContextTooLong if about.local => "the conversation does not fit: compact \
             it, or start the server with a larger context"
            .to_owned(),
        FailureReason::ContextTooLong => "the conversation does not fit the model's context: \
             compact it (`/compact`), begin a new session, or choose a model with a larger window"
            .to_owned(),
        FailureReason::TooLarge => "the request has too many bytes: leave images or documents \
             out, or make them smaller"
            .to_owned(),
        FailureReason::Quota => {
            format!("the account's credit or quota is used up: top it up, or use another key{more}")
        }
        FailureReason::RateLimit => "this key has sent too many requests; wait before the next one".to_owned(),
        FailureReason::ContentFilter => {
            "the service's content filter refused the request; rephrase it".to_owned()
        }
        FailureReason::Connection if about.local => {
            format!("check that the server runs at {}, or set `baseURL`", about.place)
        }
        FailureReason::Connection => format!(
            "check the network and the address {}; behind a proxy, set it in the settings",
            about.place
        ),
        FailureReason::BadRequest => {
            "the service rejected the request; check the provider's `options` in the settings first, \
 because they are sent unchanged"
                .to_owned()
        }
        FailureReason::Overloaded
        | FailureReason::Server
        | FailureReason::Truncated
        | FailureReason::Unreadable => return None,
    })
}
