//! Classifies failures: the reason, the error kind, whether to retry, and the hint.

use robota_core::error::ErrorKind;
use robota_core::provider::{FailureReason, ProviderError};

use super::{Failure, ServiceInfo};
use crate::http::Scrubber;

/// A longer requested delay makes the failure final: no turn waits that long.
const MAX_RETRY_DELAY: std::time::Duration = std::time::Duration::from_secs(300);

pub(super) fn error(failure: Failure, service: &ServiceInfo, scrub: &Scrubber) -> ProviderError {
    let reason = match reason(&failure) {
        // A service that always says how long to wait means another limit when it does not.
        FailureReason::RateLimit
            if service.bare_429_is_final
                && failure.status == Some(429)
                && failure.retry_after.is_none()
                && failure.should_retry != Some(true) =>
        {
            FailureReason::Quota
        }
        reason => reason,
    };
    let mut message = format!("{}: {}", service.vendor, failure.message.trim());
    let mut details = Vec::new();
    if let Some(status) = failure.status {
        details.push(format!("HTTP {status}"));
    }
    if let Some(code) = failure.codes.first() {
        details.push(code.clone());
    }
    if let Some(id) = &failure.request_id {
        details.push(format!("request {id}"));
    }
    if !details.is_empty() {
        message.push_str(&format!(" ({})", details.join(", ")));
    }
    // The service knows best: its explicit word wins over the reason.
    let mut retryable = failure.should_retry.unwrap_or_else(|| retryable(reason));
    if failure.retry_after.is_some_and(|delay| delay > MAX_RETRY_DELAY) {
        retryable = false;
    }
    let mut error = ProviderError::new(kind(reason), scrub.text(&message))
        .with_reason(reason)
        .with_retryable(retryable)
        .with_http_status(failure.status);
    if let Some(hint) = hint(reason, &failure, service) {
        error = error.with_hint(scrub.text(&hint));
    }
    if reason == FailureReason::ContextTooLong {
        error = error.with_context_window(failure.context_window);
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
        FailureReason::UnknownHost | FailureReason::Connection | FailureReason::Truncated => {
            ErrorKind::Network
        }
    }
}

fn retryable(reason: FailureReason) -> bool {
    match reason {
        FailureReason::RateLimit
        | FailureReason::Overloaded
        | FailureReason::Server
        | FailureReason::UnknownHost
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

// The lists have phrases from the errors of many services and gateways, in lower case.
const CONTEXT_TOO_LONG: &[&str] = &[
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
    "credit balance",
    "insufficient balance",
    "insufficient credits",
    "spend limit",
    "spending limit",
    "spend cap",
    "monthly limit",
    "perday",
];
/// Words that messages about a rate limit contain as well, so they decide only if nothing in the
/// message mentions a rate limit.
const MAYBE_QUOTA: &[&str] = &["billing"];
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
const CONTENT_FILTER: &[&str] = &[
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
const RATE_LIMIT: &[&str] =
    &["rate_limit", "rate limit", "resource_exhausted", "too many requests", "throttl"];
const UNKNOWN_MODEL: &[&str] =
    &["model_not_found", "model not found", "unknown model", "no such model"];
const SERVER_ERROR: &[&str] =
    &["api_error", "server_error", "internal", "timeout_error", "timed out"];
const BAD_REQUEST: &[&str] = &[
    "invalid_request_error",
    "invalid_argument",
    "failed_precondition",
    "unsupported_value",
    "unsupported_parameter",
    "invalid_value",
];

/// Derives the reason of a failure. Codes take precedence over the message, and the message over
/// the status, because compatible services do not use status codes consistently.
fn reason(failure: &Failure) -> FailureReason {
    if let Some(reason) = failure.reason {
        return reason;
    }
    let codes = failure.codes.join(" ").to_lowercase();
    let message = failure.message.to_lowercase();
    let in_codes = |list: &[&str]| list.iter().any(|one| codes.contains(one));
    let mentioned =
        |list: &[&str]| list.iter().any(|one| codes.contains(one) || message.contains(one));
    let rate_limited = mentioned(RATE_LIMIT);
    // The service could not parse the call that its own model wrote; the next try may succeed.
    if in_codes(&["tool_use_failed"]) {
        return FailureReason::Server;
    }
    // "Too many tokens" is also how services word a rate limit.
    if mentioned(CONTEXT_TOO_LONG) && !rate_limited {
        return FailureReason::ContextTooLong;
    }
    // Not in the list: this message has the token count in the middle.
    if message.contains("input token count") && message.contains("exceeds the maximum") {
        return FailureReason::ContextTooLong;
    }
    let unpaid = mentioned(MAYBE_QUOTA) && !rate_limited && failure.retry_after.is_none();
    if failure.status == Some(402) || mentioned(QUOTA) || unpaid {
        return FailureReason::Quota;
    }
    if failure.status == Some(401) || mentioned(BAD_KEY) {
        return FailureReason::BadKey;
    }
    if mentioned(CONTENT_FILTER) {
        return FailureReason::ContentFilter;
    }
    let about_model = message.contains("model")
        && ["not found", "does not exist", "not exist", "not supported", "no access"]
            .iter()
            .any(|one| message.contains(one));
    match failure.status {
        // Also a wrong address gives 404; the hint names both.
        Some(404) => return FailureReason::UnknownModel,
        Some(400..=499)
            if mentioned(UNKNOWN_MODEL) || (about_model && in_codes(&["not_found"])) =>
        {
            return FailureReason::UnknownModel;
        }
        Some(403) => return FailureReason::BadKey,
        Some(413) => return FailureReason::TooLarge,
        Some(429) => return FailureReason::RateLimit,
        // 498 is Groq's "capacity exceeded", 529 is Anthropic's "overloaded".
        Some(498 | 503 | 529) => return FailureReason::Overloaded,
        // Timeouts and conflicts, which the SDKs of the vendors retry, too.
        Some(408 | 409 | 425) => return FailureReason::Server,
        // A server that does not implement something will not do so at the next try either.
        Some(501) => return FailureReason::BadRequest,
        Some(500..) => {
            return if in_codes(OVERLOADED) {
                FailureReason::Overloaded
            } else {
                FailureReason::Server
            };
        }
        _ => {}
    }
    if mentioned(UNKNOWN_MODEL)
        || in_codes(&["not_found"])
        || (about_model && failure.status.is_some())
    {
        FailureReason::UnknownModel
    } else if rate_limited {
        FailureReason::RateLimit
    } else if mentioned(OVERLOADED) {
        FailureReason::Overloaded
    } else if in_codes(SERVER_ERROR) {
        FailureReason::Server
    } else if failure.status.is_some() || in_codes(BAD_REQUEST) {
        FailureReason::BadRequest
    } else {
        // An error inside a stream without any known code: treat it as a server failure.
        FailureReason::Server
    }
}

fn hint(reason: FailureReason, failure: &Failure, service: &ServiceInfo) -> Option<String> {
    let see_also = service.help.as_ref().map(|url| format!("; see {url}")).unwrap_or_default();
    Some(match reason {
        FailureReason::BadKey => match &service.key_env {
            Some(variable) => format!(
                "check the key in `{variable}` or in the provider's `apiKey`, and that it may use \
                 `{}`{see_also}",
                service.model
            ),
            None => format!("check the provider's `apiKey`{see_also}"),
        },
        FailureReason::UnknownModel if failure.status == Some(404) => format!(
            "check the model name `{}` and the address {}: one of them does not exist. \
 `robota models` lists the available models",
            service.model, service.address
        ),
        FailureReason::UnknownModel => format!(
            "this key has no access to a model `{}`; `robota models` lists the available models",
            service.model
        ),
        FailureReason::ContextTooLong if service.local => "the conversation does not fit: compact \
             it, or start the server with a larger context"
            .to_owned(),
        FailureReason::ContextTooLong => "the conversation does not fit the model's context: \
             compact it, begin a new session, or choose a model with a larger window"
            .to_owned(),
        FailureReason::TooLarge => "the request has too many bytes: leave images or documents \
             out, or make them smaller"
            .to_owned(),
        FailureReason::Quota => {
            format!("the account's credit or quota is used up: top it up, or use another key{see_also}")
        }
        FailureReason::RateLimit => "this key has sent too many requests; wait before the next one".to_owned(),
        FailureReason::ContentFilter => {
            "the service's content filter refused the request; rephrase it".to_owned()
        }
        FailureReason::UnknownHost => {
            let variable = match &service.address_env {
                Some(name) => format!(" or in `{name}`"),
                None => String::new(),
            };
            format!(
                "check the address {}, in the provider's `baseURL`{variable}, and the network",
                service.address
            )
        }
        FailureReason::Connection if service.local => {
            format!("check that the server runs at {}, or set `baseURL`", service.address)
        }
        FailureReason::Connection => format!(
            "check the network and the address {}; behind a proxy, set it in the settings",
            service.address
        ),
        // Without options of the user only the message of the service says what is wrong.
        FailureReason::BadRequest if service.has_options => {
            "the service rejected the request; check the provider's `options` in the settings first, \
 because they are sent unchanged"
                .to_owned()
        }
        FailureReason::Truncated => "the connection was cut while the model was answering: by a \
             time limit of a proxy or of the server, or because the server was restarted. Try again"
            .to_owned(),
        FailureReason::BadRequest
        | FailureReason::Overloaded
        | FailureReason::Server
        | FailureReason::Unreadable => return None,
    })
}
