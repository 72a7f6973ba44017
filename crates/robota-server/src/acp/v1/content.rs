//! Content of prompts, answers and tool calls.

use serde::{Deserialize, Serialize};

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The bytes, as base64.
        data: String,
        /// The media type.
        mime_type: String,
        /// Where it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// Sound.
    Audio {
        /// The bytes, as base64.
        data: String,
        /// The media type.
        mime_type: String,
    },
    /// A link to something that the agent can read.
    ResourceLink {
        /// The name.
        name: String,
        /// The address.
        uri: String,
        /// What it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// Something with its content.
    Resource {
        /// The thing.
        resource: Resource,
    },
}

/// Something with its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The address.
    pub uri: String,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The content.
    #[serde(flatten)]
    pub contents: ResourceContents,
}

/// What an embedded resource contains: text or bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceContents {
    /// Text.
    Text(String),
    /// Bytes, as base64.
    Blob(String),
}

impl ContentBlock {
    /// Makes a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
