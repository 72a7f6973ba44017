//! Messages: the parts of a conversation (CORE-01).
//!
//! A [`Message`] has an id, a role and content blocks. Serialising it loses nothing: fields and
//! block types that this version does not know are preserved and written back.

mod block;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub use block::{
    BlobRef, Block, Image, Opaque, ResultBlock, Text, Thinking, ToolInput, ToolResult, ToolUse,
};

pub(crate) use block::deserialize_some;

use crate::ids::{Ids, MessageId};
use crate::usage::Usage;

/// The note that is added to an answer that the user interrupted, for the model to read.
pub const INTERRUPTED_BY_USER: &str = "[This response was interrupted by the user]";

/// Who wrote a message.
///
/// ```
/// use robota_core::ids::RandomIds;
/// use robota_core::message::{Message, Role};
///
/// assert_eq!(Message::user(&RandomIds, "Hello").role(), Role::User);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(description = "Who wrote a message.")]
pub enum Role {
    /// The user, or a program that acts for the user.
    User,
    /// The model: answers, with text, reasoning and tool calls.
    Assistant,
    /// Instructions that the program gives to the model.
    System,
    /// The results of all tool calls of one answer.
    Tool,
}

/// What ended a turn, an answer or an input early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The user interrupted it, for example with a key.
    User,
    /// The session was shut down, for example at the end of the process.
    Shutdown,
    /// The process that ran it ended without closing it.
    Crash,
    /// A call of the model service failed, and was not retried.
    Provider,
    /// The journal could not be written.
    Store,
}

/// Whether a message is complete, or what interrupted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MessageState {
    /// The message has everything that its author wrote.
    #[default]
    Complete,
    /// The message was interrupted. Only an assistant message can be.
    Interrupted(Cause),
}

/// Holds one message of a conversation. Role and state are set by the constructors: only
/// [`Message::assistant`] can create an interrupted message.
///
/// ```
/// use robota_core::ids::RandomIds;
/// use robota_core::message::{Message, MessageState};
///
/// let answer = Message::assistant(&RandomIds, "Done.", MessageState::Complete);
/// assert_eq!(answer.text(), "Done.");
/// assert_eq!(answer.tool_uses().count(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Wire")]
#[schemars(with = "Wire", description = "One message.")]
pub struct Message {
    /// The id of the message, which no other message of the session has.
    pub id: MessageId,
    role: Role,
    state: MessageState,
    /// The parts of the message, in the order in which the model gets them.
    pub content: Vec<Block>,
    /// Scalar values for users and tools; never sent to a model.
    pub metadata: Map<String, Value>,
    /// The tokens of the model call that produced an assistant message; `None` if not reported.
    pub usage: Option<Usage>,
    /// Fields that this version does not know.
    pub extra: Map<String, Value>,
}

/// The metadata entry of an answer that was refused or filtered.
const WITHHELD: &str = "answer_withheld";
const WITHHELD_NOTE: &str = "[No answer was given to this request]";

impl Message {
    fn new(ids: &dyn Ids, role: Role, content: Vec<Block>) -> Self {
        Self {
            id: MessageId::mint(ids),
            role,
            state: MessageState::Complete,
            content,
            metadata: Map::new(),
            usage: None,
            extra: Map::new(),
        }
    }

    /// Creates a message of the user with a new id.
    pub fn user(ids: &dyn Ids, content: impl Into<Content>) -> Self {
        Self::new(ids, Role::User, content.into().0)
    }

    /// Creates a message with instructions of the program, with a new id.
    pub fn system(ids: &dyn Ids, content: impl Into<Content>) -> Self {
        Self::new(ids, Role::System, content.into().0)
    }

    /// Creates an answer of the model.
    pub fn assistant(ids: &dyn Ids, content: impl Into<Content>, state: MessageState) -> Self {
        Self { state, ..Self::new(ids, Role::Assistant, content.into().0) }
    }

    /// Creates a message with tool results. The id is given: the results of one answer share it.
    #[must_use]
    pub fn tool(
        id: MessageId,
        results: impl IntoIterator<Item = impl Into<Arc<ToolResult>>>,
    ) -> Self {
        Self {
            id,
            role: Role::Tool,
            state: MessageState::Complete,
            content: results.into_iter().map(|result| Block::ToolResult(result.into())).collect(),
            metadata: Map::new(),
            usage: None,
            extra: Map::new(),
        }
    }

    /// Adds a value under a key, or replaces the one that is there.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the tokens that the provider counted for this message.
    #[must_use]
    pub fn with_usage(mut self, usage: Option<Usage>) -> Self {
        self.usage = usage;
        self
    }

    /// Returns who wrote the message.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns whether the message is complete.
    #[must_use]
    pub fn state(&self) -> MessageState {
        self.state
    }

    /// Returns the text of all text blocks, joined without a separator.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.content {
            if let Block::Text(block) = block {
                text.push_str(&block.text);
            }
        }
        text
    }

    /// Iterates over the tool calls that the message asks for, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }

    /// Iterates over the tool results in the message, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(&**result),
            _ => None,
        })
    }

    /// Returns the note for the model about how this message was interrupted, or `None` if it is
    /// complete.
    #[must_use]
    pub fn interruption_note(&self) -> Option<&'static str> {
        match self.state {
            MessageState::Complete => None,
            MessageState::Interrupted(cause) => Some(match cause {
                Cause::User => INTERRUPTED_BY_USER,
                Cause::Shutdown => "[This response was interrupted by a shutdown]",
                Cause::Crash => "[This response was interrupted by a crash]",
                Cause::Provider => "[This response was interrupted by a provider error]",
                Cause::Store => "[This response was interrupted by a storage error]",
            }),
        }
    }

    /// Marks an answer that the model refused to give, or that a filter removed.
    #[must_use]
    pub fn with_answer_withheld(self) -> Self {
        self.with_metadata(WITHHELD, true)
    }

    /// Returns the message as a model should see it: an interrupted answer with a note that says
    /// so, and a note in place of what was left of an answer that was refused. Services refuse
    /// again while the beginning of such an answer is in the conversation.
    #[must_use]
    pub fn for_api(&self) -> std::borrow::Cow<'_, Self> {
        // With calls the content stays, because their results follow it.
        if self.metadata.contains_key(WITHHELD) && self.tool_uses().next().is_none() {
            let mut withheld = self.clone();
            withheld.content = vec![Block::text(WITHHELD_NOTE)];
            return std::borrow::Cow::Owned(withheld);
        }
        let Some(note) = self.interruption_note() else {
            return std::borrow::Cow::Borrowed(self);
        };
        let mut annotated = self.clone();
        // Before the tool calls: providers require that a tool call is followed by its result.
        let last_text = annotated.content.iter_mut().rev().find_map(|block| match block {
            Block::Text(text) => Some(text),
            _ => None,
        });
        match last_text {
            Some(text) => {
                text.text.push_str("\n\n");
                text.text.push_str(note);
            }
            None => {
                let at = annotated
                    .content
                    .iter()
                    .position(|block| matches!(block, Block::ToolUse(_)))
                    .unwrap_or(annotated.content.len());
                annotated.content.insert(at, Block::text(note));
            }
        }
        std::borrow::Cow::Owned(annotated)
    }
}

/// Holds content blocks; a string becomes one text block.
#[derive(Debug, Clone, PartialEq)]
pub struct Content(pub Vec<Block>);

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self(vec![Block::text(text)])
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(vec![Block::text(text)])
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self(blocks)
    }
}

/// The serialised form of a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Message")]
struct Wire {
    /// Unique in its session.
    id: MessageId,
    /// The author of the message.
    role: Role,
    /// Whether the message is complete; absent if it is.
    #[serde(default)]
    state: WireState,
    /// What interrupted the message; absent if it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interrupted_by: Option<Cause>,
    /// The parts of the message, in the order in which the model gets them.
    content: Vec<Block>,
    /// Scalar values for users and tools; never sent to a model.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    /// The tokens of the model call that produced the message; absent if not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Whether a message is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessageState")]
enum WireState {
    /// Nothing of it is missing.
    #[default]
    Complete,
    /// The message was interrupted. Only an assistant message can be.
    Interrupted,
}

impl TryFrom<Wire> for Message {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let state = match (wire.state, wire.interrupted_by) {
            (WireState::Complete, _) => MessageState::Complete,
            (WireState::Interrupted, cause) => {
                MessageState::Interrupted(cause.unwrap_or(Cause::User))
            }
        };
        // Refused here, so that no code has to handle it.
        if state != MessageState::Complete && wire.role != Role::Assistant {
            return Err(format!(
                "message {} is marked interrupted, but only an assistant message can be",
                wire.id
            ));
        }
        Ok(Self {
            id: wire.id,
            role: wire.role,
            state,
            content: wire.content,
            metadata: wire.metadata,
            usage: wire.usage,
            extra: wire.extra,
        })
    }
}

/// Serialises by reference, because messages are written and measured often and may be large.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("role", &self.role)?;
        if let MessageState::Interrupted(cause) = self.state {
            map.serialize_entry("state", "interrupted")?;
            map.serialize_entry("interrupted_by", &cause)?;
        }
        map.serialize_entry("content", &self.content)?;
        if !self.metadata.is_empty() {
            map.serialize_entry("metadata", &self.metadata)?;
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
