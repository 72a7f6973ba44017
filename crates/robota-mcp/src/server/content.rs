//! What servers return, and how it is written in the protocol.

use rmcp::model::{ContentBlock, PromptMessage, ResourceContents, Role};

/// Holds a part of a result, or of a message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServedContent {
    /// Plain text or Markdown, which the protocol does not tell apart.
    Text(String),
    /// An image with all of its bytes.
    Image {
        /// The bytes, as base64.
        data: String,
        /// The media type, such as `image/png`.
        media_type: String,
    },
    /// A recording with all of its bytes.
    Audio {
        /// The bytes, as base64.
        data: String,
        /// The media type, such as `audio/wav`.
        media_type: String,
    },
    /// A resource with its content, so that the host need not read it.
    Resource(ServedResource),
}

/// Holds a resource with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedResource {
    /// The address by which the host knows the resource.
    pub uri: String,
    /// The media type; none if it is not known.
    pub media_type: Option<String>,
    /// The complete content; the server sends no ranges.
    pub body: ResourceBody,
}

/// Holds the content of a resource as text or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// The text of a resource, which the protocol sends as a JSON string.
    Text(String),
    /// Bytes of a file that is no text, as base64.
    Base64(String),
}

/// Holds a message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedMessage {
    /// Whether the model says it; otherwise the user does.
    pub by_model: bool,
    /// One part; a message with several parts is several messages.
    pub content: ServedContent,
}

impl ServedMessage {
    /// Returns a message of the user.
    #[must_use]
    pub fn user(content: ServedContent) -> Self {
        Self { by_model: false, content }
    }
}

pub(super) fn block(content: ServedContent) -> ContentBlock {
    match content {
        ServedContent::Text(text) => ContentBlock::text(text),
        ServedContent::Image { data, media_type } => ContentBlock::image(data, media_type),
        ServedContent::Audio { data, media_type } => ContentBlock::audio(data, media_type),
        ServedContent::Resource(content) => ContentBlock::resource(resource(content)),
    }
}

pub(super) fn resource(served: ServedResource) -> ResourceContents {
    let ServedResource { uri, media_type, body } = served;
    match body {
        ResourceBody::Text(text) => {
            ResourceContents::TextResourceContents { uri, mime_type: media_type, text, meta: None }
        }
        ResourceBody::Base64(blob) => {
            ResourceContents::BlobResourceContents { uri, mime_type: media_type, blob, meta: None }
        }
    }
}

pub(super) fn message(served: ServedMessage) -> PromptMessage {
    let role = if served.by_model { Role::Assistant } else { Role::User };
    PromptMessage::new(role, block(served.content))
}
