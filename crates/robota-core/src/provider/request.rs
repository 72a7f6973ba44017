//! A request to a model.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::NativeWeb;
use crate::message::{Message, MessageState, Role};
use crate::tool::ToolSpec;

/// Shares the conversation as the model sees it. Cloning is cheap; requests share it with the
/// state.
pub type View = Arc<Vec<Arc<Message>>>;

/// Whether the model may or must call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides whether it calls a tool.
    #[default]
    Auto,
    /// The model must not call a tool. The tools stay in the request, so that services can reuse the
    /// prefix that they cached.
    None,
    /// The model must call a tool.
    Required,
    /// The model must call the tool with this name.
    Tool(String),
}

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// A name for it: letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON Schema of the answer.
    pub schema: Arc<Value>,
}

impl OutputSchema {
    /// Creates the form from a JSON Schema.
    #[must_use]
    pub fn new(schema: Value) -> Self {
        Self { name: "answer".to_owned(), schema: Arc::new(schema) }
    }
}

/// One request that a provider sends to a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The id of the model, as the service names it.
    pub model: String,
    /// The system prompt; `None` sends none.
    pub system: Option<Arc<str>>,
    /// The messages of the conversation, shared with the state.
    pub messages: View,
    /// A message for this request only, after the conversation.
    pub instruction: Option<Message>,
    /// The tools that the model may call, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may or must call a tool.
    pub tool_choice: ToolChoice,
    /// The form of the answer; `None` for free text. Services that cannot enforce it ignore it.
    pub output: Option<OutputSchema>,
    /// The maximum number of tokens of the answer; `None` leaves it to the provider.
    pub max_output_tokens: Option<u64>,
    /// The sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// The native web tools to use in this request.
    pub native_web: NativeWeb,
    /// A name for the conversation: services that take one route its requests to the same cache.
    pub cache_key: Option<String>,
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
            tool_choice: ToolChoice::Auto,
            output: None,
            max_output_tokens: None,
            temperature: None,
            native_web: NativeWeb::default(),
            cache_key: None,
            options: Map::new(),
        }
    }

    /// Returns the tools that the model may call: none if the request forbids calls.
    #[must_use]
    pub fn callable_tools(&self) -> &[ToolSpec] {
        match self.tool_choice {
            ToolChoice::None => &[],
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => &self.tools,
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
