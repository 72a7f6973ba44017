//! A request to a model.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::NativeWeb;
use crate::message::{Message, MessageState, Role};
use crate::tool::ToolSpec;

/// The conversation as the model sees it. Cloning is cheap; requests share it with the state.
pub type View = Arc<Vec<Arc<Message>>>;

/// One request that a provider sends to a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model's id.
    pub model: String,
    /// The system prompt; `None` sends none.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: View,
    /// A message for this request only, after the conversation.
    pub instruction: Option<Message>,
    /// The tools that the model may call, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// The maximum number of tokens of the answer; `None` leaves it to the provider.
    pub max_output_tokens: Option<u64>,
    /// The sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// The native web tools to use in this request.
    pub native_web: NativeWeb,
    /// Options that are passed to the provider unchanged.
    pub options: Map<String, Value>,
}

impl ModelRequest {
    /// Creates a request with only a model and a conversation.
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

    /// Iterates over the messages to send, in order. Interrupted answers contain a note that says
    /// so. Empty answers are omitted, because services refuse them.
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
