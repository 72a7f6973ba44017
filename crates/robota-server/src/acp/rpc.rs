//! JSON-RPC 2.0: requests, notifications and responses, one per line.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The id of a request: a number or a text, as the sender chose it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum RequestId {
    /// Our own requests have numbers.
    Number(i64),
    /// The specification allows texts, so editors may use them.
    Text(String),
}

/// A message of the other side.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// A request, which needs a response.
    Request {
        /// The response must repeat it.
        id: RequestId,
        method: String,
        /// The parameters; null if it has none.
        params: Value,
    },
    /// A notification, which must not be answered.
    Notification {
        method: String,
        /// The parameters; null if it has none.
        params: Value,
    },
    /// The response to one of our requests.
    Response {
        /// The id of our request.
        id: RequestId,
        result: Result<Value, RpcError>,
    },
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RpcError {
    /// One of the codes below, or one of the protocol ([`v1`](super::v1)).
    pub(super) code: i32,
    /// The problem, for people.
    pub(super) message: String,
    /// Details for programs, such as the id of a session or a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<Value>,
}

/// The line is not JSON.
pub(super) const PARSE_ERROR: i32 = -32700;
/// The JSON is not a message.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// There is no such method.
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters are not valid.
pub(super) const INVALID_PARAMS: i32 = -32602;
/// The request failed, for a reason that is neither its form nor its parameters.
pub(super) const INTERNAL_ERROR: i32 = -32603;

impl RpcError {
    /// Makes an error without details.
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Says that there is no such method.
    #[must_use]
    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("this agent has no method `{method}`"))
    }

    /// Says that parameters are not valid.
    pub(super) fn invalid(problem: impl std::fmt::Display) -> Self {
        Self::new(INVALID_PARAMS, format!("invalid parameters: {problem}"))
    }
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default, deserialize_with = "some")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// Reads a field that may be null and still be there.
fn some<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Reads a line.
///
/// # Errors
/// The error that the sender gets, with the id `null`.
pub(super) fn parse(line: &[u8]) -> Result<Incoming, RpcError> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| RpcError::new(PARSE_ERROR, format!("the line is not JSON: {error}")))?;
    let invalid = |problem: &str| RpcError::new(INVALID_REQUEST, problem.to_owned());
    let message: Message = serde_json::from_value(value)
        .map_err(|error| invalid(&format!("the line is not a JSON-RPC message: {error}")))?;
    match message {
        // A message with a method is a request even if it also has a result: the method decides, as
        // in the specification.
        Message { id: Some(id), method: Some(method), params, .. } => {
            Ok(Incoming::Request { id, method, params })
        }
        Message { id: None, method: Some(method), params, .. } => {
            Ok(Incoming::Notification { method, params })
        }
        Message { id: Some(id), error: Some(error), .. } => {
            Ok(Incoming::Response { id, result: Err(error) })
        }
        Message { id: Some(id), result: Some(result), .. } => {
            Ok(Incoming::Response { id, result: Ok(result) })
        }
        _ => Err(invalid("a message needs a `method`, or an `id` with `result` or `error`")),
    }
}

pub(super) fn request(id: &RequestId, method: &str, params: &impl Serialize) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(super) fn notification(method: &str, params: &impl Serialize) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Writes a response. An error about a line that could not be read has no id.
pub(super) fn response(id: Option<&RequestId>, result: &Result<Value, RpcError>) -> String {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string(),
    }
}

#[cfg(test)]
mod tests;
