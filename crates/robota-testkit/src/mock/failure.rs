//! Error responses of a service.

use robota_core::error::ErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Wire;

/// A failure. As the first step of a reply it is an HTTP error; later it is an error event in the
/// stream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Failure {
    /// The text in the error body of the service; empty unless it is set.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The HTTP status; derived from `kind` if absent, otherwise 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error kind of scripts, from which the status is derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
    /// The service's error code; if absent, the usual one for the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The value of the `retry-after` header: seconds or a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The delay in milliseconds, in the wire's most exact form: `retry-after-ms`, or Gemini's
    /// `RetryInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The value of the `x-should-retry` header; absent if the header is not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The form of the error response.
    #[serde(rename = "looks", skip_serializing_if = "FailureFormat::is_native")]
    pub format: FailureFormat,
}

/// The form of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureFormat {
    /// The form of the wire's vendor.
    #[default]
    Native,
    /// The OpenAI form on every wire, as local servers send it.
    Openai,
    /// An HTML page, as a proxy sends it.
    Html,
    /// One line of plain text, as gateways send it.
    Plain,
    /// An empty body, so that the status is all that the client has.
    Empty,
    /// The form of the vendor, with status 200.
    Ok,
    /// The form of the vendor, inside a list with one element (Gemini).
    List,
}

impl FailureFormat {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_native(&self) -> bool {
        *self == Self::Native
    }
}

impl Failure {
    /// Creates a failure with that status and message.
    pub fn status(status: u16, message: impl Into<String>) -> Self {
        Self { status: Some(status), message: message.into(), ..Self::default() }
    }

    /// Sets the error code of the service, instead of the usual one for the status.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the `retry-after` header.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        self.retry_after = Some(value.into());
        self
    }

    /// Sets the form of the error response.
    #[must_use]
    pub fn format(mut self, format: FailureFormat) -> Self {
        self.format = format;
        self
    }

    /// Returns the HTTP status of the failure.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        self.status.unwrap_or(match self.kind {
            Some(ErrorKind::Validation | ErrorKind::Configuration) => 400,
            Some(ErrorKind::Authentication) => 401,
            Some(ErrorKind::ModelNotAvailable) => 404,
            Some(ErrorKind::RateLimit) => 429,
            Some(ErrorKind::CircuitBreakerOpen) => 503,
            Some(
                ErrorKind::Provider
                | ErrorKind::Network
                | ErrorKind::ToolExecution
                | ErrorKind::Plugin
                | ErrorKind::Storage,
            )
            | None => 500,
        })
    }

    /// Returns the status that is sent: with [`FailureFormat::Ok`] it is 200.
    // Gateways answer so: the error is only in the body.
    pub(super) fn sent_status(&self) -> u16 {
        if self.format == FailureFormat::Ok { 200 } else { self.http_status() }
    }

    pub(super) fn headers(&self, wire: Wire) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        if let Some(value) = &self.retry_after {
            add("retry-after", value.clone());
        }
        // Gemini has the delay in the body.
        if let (Some(ms), false) = (self.retry_after_ms, wire == Wire::Gemini) {
            add("retry-after-ms", ms.to_string());
        }
        if let Some(retryable) = self.retryable {
            add("x-should-retry", retryable.to_string());
        }
        headers
    }

    /// Returns the content type and body of the response.
    pub(super) fn response(&self, wire: Wire, request_id: &str) -> (&'static str, String) {
        const JSON: &str = "application/json";
        let status = self.http_status();
        match self.format {
            FailureFormat::Native | FailureFormat::Ok => {
                (JSON, self.body(wire, request_id).to_string())
            }
            FailureFormat::Openai => (JSON, self.body(Wire::OpenaiChat, request_id).to_string()),
            FailureFormat::List => (JSON, json!([self.body(wire, request_id)]).to_string()),
            FailureFormat::Plain => ("text/plain", self.message.clone()),
            FailureFormat::Empty => ("text/plain", String::new()),
            FailureFormat::Html => (
                "text/html; charset=utf-8",
                format!(
                    "<!DOCTYPE html>\n<html><head><title>{status} {message}</title></head>\n\
                     <body><h1>{status} {message}</h1><hr><center>nginx</center></body></html>\n",
                    message = self.message
                ),
            ),
        }
    }

    /// Encodes the error as the wire does, for a response or a stream event.
    pub(super) fn body(&self, wire: Wire, request_id: &str) -> Value {
        let status = self.http_status();
        let code = self.code.clone().unwrap_or_else(|| usual_code(wire, status).to_owned());
        let message = &self.message;
        match wire {
            Wire::Anthropic => json!({
                "type": "error",
                "error": {"type": code, "message": message},
                "request_id": request_id,
            }),
            Wire::OpenaiChat | Wire::OpenaiResponses => json!({
                "error": {"message": message, "type": openai_error_type(status), "param": null, "code": code},
            }),
            Wire::Gemini => {
                let mut error = json!({"code": status, "message": message, "status": code});
                if let Some(ms) = self.retry_after_ms {
                    // The service writes whole seconds without a fraction.
                    let delay = if ms % 1000 == 0 {
                        format!("{}s", ms / 1000)
                    } else {
                        format!("{}.{:03}s", ms / 1000, ms % 1000)
                    };
                    error["details"] = json!([
                        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
                    ]);
                }
                json!({ "error": error })
            }
        }
    }
}

/// Returns the vendor's usual code for that status.
pub(super) fn usual_code(wire: Wire, status: u16) -> &'static str {
    match wire {
        Wire::Anthropic => match status {
            400 | 422 => "invalid_request_error",
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            409 => "conflict_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 | 408 => "timeout_error",
            529 => "overloaded_error",
            _ => "api_error",
        },
        Wire::OpenaiChat | Wire::OpenaiResponses => match status {
            400 | 422 => "invalid_value",
            401 => "invalid_api_key",
            403 => "unsupported_country_region_territory",
            404 => "model_not_found",
            413 => "request_too_large",
            429 => "rate_limit_exceeded",
            // 529 is a status of Anthropic only; a scenario for all wires may have it nevertheless.
            503 | 529 => "server_is_overloaded",
            _ => "server_error",
        },
        Wire::Gemini => match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            409 => "ABORTED",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            408 | 504 => "DEADLINE_EXCEEDED",
            _ => "INTERNAL",
        },
    }
}

fn openai_error_type(status: u16) -> &'static str {
    match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}
