//! What a model is sent.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::NativeWeb;
use crate::message::{Message, MessageState, Role};
use crate::tool::ToolSpec;

/// The conversation as a model sees it. Cloning is cheap; a request shares it with the state.
pub type View = Arc<Vec<Arc<Message>>>;

/// One model call.
#[derive(Debug, Clone, Serialize)]
pub struct ModelRequest {
    /// Which model.
    pub model: String,
    /// The system prompt.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: View,
    /// A message for this call alone, after the conversation.
    pub instruction: Option<Message>,
    /// The tools it may call, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// At most this many tokens of answer.
    pub max_output_tokens: Option<u64>,
    /// How adventurous the model is to be.
    pub temperature: Option<f64>,
    /// Native web tools for this call.
    pub native_web: NativeWeb,
    /// Options for the provider, passed on as they are.
    pub options: Map<String, Value>,
}

impl ModelRequest {
    /// A request with nothing but a model and a conversation.
    pub fn new(model: impl Into<String>, messages: View) -> Self {
        Self {
            model: model.into(),
            system: None,
            messages,
            instruction: None,
            tools: Arc::from([]),
            max_output_tokens: None,
            temperature: None,
            native_web: NativeWeb::default(),
            options: Map::new(),
        }
    }

    /// The messages to send, in order: interrupted answers say that they were, and answers
    /// with nothing in them are left out, because services refuse those.
    pub fn messages_for_api(&self) -> impl Iterator<Item = Cow<'_, Message>> {
        self.messages
            .iter()
            .map(AsRef::as_ref)
            .chain(&self.instruction)
            .filter(|message| {
                message.role() != Role::Assistant
                    || !message.content.is_empty()
                    || message.state() != MessageState::Complete
            })
            .map(Message::for_api)
    }
}
