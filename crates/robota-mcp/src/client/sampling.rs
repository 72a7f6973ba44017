//! Requests of servers to the model of the user.

use serde_json::{Value, json};

use crate::text::{clean, clean_line};

/// The longest request, in bytes of text.
const MAX_TEXT: usize = 256 * 1024;
/// The most messages of a request.
const MAX_MESSAGES: usize = 100;

/// Asks the model of the user for a server.
///
/// The implementation decides whether the server may do so, counts the cost, and shows the user the
/// answer.
#[async_trait::async_trait]
pub trait Sampler: Send + Sync {
    /// Returns the answer of the model.
    ///
    /// # Errors
    /// If the server may not use the model, or the model failed. The server gets the text.
    async fn sample(&self, request: SamplingRequest) -> Result<SamplingAnswer, String>;
}

/// What a server asks the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingRequest {
    /// The name of the server, for the person who decides.
    pub server: String,
    /// The system prompt that the server asks for; none if it asks for none.
    pub system: Option<String>,
    /// The conversation, in order; at least one message.
    pub messages: Vec<SamplingMessage>,
    /// The output limit that the server asks for, in tokens.
    pub max_tokens: u64,
}

/// Holds a message of the conversation that a server sends to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingMessage {
    /// Whether the model said it; otherwise the user.
    pub by_model: bool,
    /// What was said, without hidden characters so that the user sees all that the model sees.
    pub text: String,
}

/// What the model answered, for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingAnswer {
    /// The id of the model that answered; the server gets it.
    pub model: String,
    /// What the model wrote; the server gets it unchanged.
    pub text: String,
    /// Whether the answer was cut at the limit of tokens.
    pub cut: bool,
}

impl SamplingRequest {
    /// Reads the parameters of `sampling/createMessage`.
    pub(super) fn parse(server: &str, params: &Value) -> Result<Self, String> {
        let offers_tools = |tools: &Value| tools.as_array().is_some_and(|tools| !tools.is_empty());
        // Calls of such tools would run in the server, past the gate of the session.
        if params.get("tools").is_some_and(offers_tools) {
            return Err("this client does not let servers offer tools to its model".to_owned());
        }
        let messages = params.get("messages").and_then(Value::as_array);
        let messages = messages.ok_or("there are no messages")?;
        if messages.is_empty() || messages.len() > MAX_MESSAGES {
            return Err(format!("a request has 1 to {MAX_MESSAGES} messages"));
        }
        let messages = messages.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        let system = params.get("systemPrompt").and_then(Value::as_str).map(str::to_owned);
        let size = messages.iter().map(|message| message.text.len()).sum::<usize>()
            + system.as_ref().map_or(0, String::len);
        if size > MAX_TEXT {
            return Err(format!("a request has at most {MAX_TEXT} bytes of text"));
        }
        let max_tokens = params.get("maxTokens").and_then(Value::as_u64);
        let max_tokens = max_tokens.filter(|tokens| *tokens > 0).ok_or("`maxTokens` is missing")?;
        Ok(Self { server: server.to_owned(), system, messages, max_tokens })
    }

    /// Returns the start of the conversation, for people who decide about it.
    #[must_use]
    pub fn summary(&self) -> String {
        let texts: Vec<_> = self.messages.iter().map(|message| message.text.as_str()).collect();
        clean_line(&texts.join(" "), 500)
    }
}

fn message(message: &Value) -> Result<SamplingMessage, String> {
    let by_model = match message.get("role").and_then(Value::as_str) {
        Some("user") => false,
        Some("assistant") => true,
        _ => return Err("a message is of the user or of the assistant".to_owned()),
    };
    let content = message.get("content").unwrap_or(&Value::Null);
    let parts = match content {
        Value::Array(parts) => parts.iter().collect(),
        other => vec![other],
    };
    let texts = parts.into_iter().map(|part| match part.get("type").and_then(Value::as_str) {
        Some("text") => Ok(part.get("text").and_then(Value::as_str).unwrap_or_default()),
        _ => Err("this client gives only text of servers to its model".to_owned()),
    });
    let text = texts.collect::<Result<Vec<_>, _>>()?.join("\n");
    Ok(SamplingMessage { by_model, text: clean(&text, MAX_TEXT) })
}

impl SamplingAnswer {
    /// Returns the result of `sampling/createMessage`.
    pub(super) fn result(&self) -> Value {
        json!({
            "role": "assistant",
            "content": {"type": "text", "text": self.text},
            "model": self.model,
            "stopReason": if self.cut { "maxTokens" } else { "endTurn" },
        })
    }
}

#[cfg(test)]
mod tests;
