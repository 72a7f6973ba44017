//! What the transports of this crate share: decoding of messages, and their error.

use rmcp::model::{CustomResult, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RoleClient, RxJsonRpcMessage};
use robota_core::error::error_chain;
use serde_json::Value;

/// A message is at most this long, in bytes.
pub(super) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// A failure of a transport.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{problem}")]
pub(super) struct LinkError {
    problem: String,
    /// Whether the server sent more than is read.
    limit: bool,
}

impl LinkError {
    pub(super) fn new(error: impl std::fmt::Display) -> Self {
        Self { problem: error.to_string(), limit: false }
    }

    /// Describes what happened to a request, without its address, which may have secrets.
    pub(super) fn of_request(error: reqwest::Error) -> Self {
        Self::new(error_chain(&error.without_url()))
    }

    /// Says that the server sent more than is read.
    pub(super) fn limit(problem: String) -> Self {
        Self { problem, limit: true }
    }

    pub(super) fn is_limit(&self) -> bool {
        self.limit
    }
}

/// Decodes a message. Results are kept as they are: the library would try one type after another, and
/// lose what does not fit. Only the handshake needs its types. Returns none for what is not a message.
pub(super) fn decode(mut value: Value) -> Option<RxJsonRpcMessage<RoleClient>> {
    let is_response = value.get("result").is_some() && value.get("method").is_none();
    let is_handshake = value.pointer("/result/protocolVersion").is_some()
        || value.pointer("/result/supportedVersions").is_some();
    if is_response && !is_handshake {
        let Value::Object(mut fields) = value else { return None };
        let id: RequestId = serde_json::from_value(fields.remove("id")?).ok()?;
        let result = ServerResult::CustomResult(CustomResult::new(fields.remove("result")?));
        return Some(JsonRpcMessage::response(result, id));
    }
    if is_response && let Some(info) = value.pointer_mut("/result/serverInfo") {
        complete(info);
    }
    serde_json::from_value(value).ok()
}

/// Adds what a server left out of its description, which is for people only.
fn complete(info: &mut Value) {
    if let Value::Object(fields) = info {
        for key in ["name", "version"] {
            fields.entry(key).or_insert_with(|| Value::String(String::new()));
        }
    }
}
