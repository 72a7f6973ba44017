//! Content of prompts, answers and tool calls.

use serde::{Deserialize, Serialize};

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    /// Text; clients show it as Markdown.
    Text {
        /// Markdown from the agent; plain text from an editor is taken as it is.
        text: String,
    },
    /// An image with all of its bytes.
    Image {
        /// The bytes, as base64.
        data: String,
        /// The media type, such as `image/png`.
        mime_type: String,
        /// Where it comes from; not needed to show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// Sound. This agent takes none.
    Audio {
        /// The bytes, as base64.
        data: String,
        /// The media type, such as `audio/wav`.
        mime_type: String,
    },
    /// A link to something that the agent can read.
    ResourceLink {
        /// The name to show, without the folder.
        name: String,
        /// The address; `file://` for files.
        uri: String,
        /// What it is, for people; this agent does not use it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// Something with its content.
    Resource {
        /// The address, and the content itself.
        resource: Resource,
    },
}

/// Something with its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The address, by which the model can refer to it.
    pub uri: String,
    /// The media type; a blob without one is not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The content, which a JSON field named `text` or `blob` has.
    #[serde(flatten)]
    pub contents: ResourceContents,
}

/// What an embedded resource contains: text or bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceContents {
    /// The text as it is.
    Text(String),
    /// Bytes of a file that is no text, as base64.
    Blob(String),
}

impl ContentBlock {
    /// Makes a block of text, the only kind that this agent writes besides images.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
