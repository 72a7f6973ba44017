//! The content of prompts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::blob::Blobs;
use robota_core::message::{Block, Content, Image};
use serde_json::Map;

use super::rpc::{INTERNAL_ERROR, RpcError};
use super::v1::{ContentBlock, Resource, ResourceContents};

/// The meaning of a prompt's content.
#[derive(Debug, PartialEq)]
pub(super) enum PromptInput {
    /// Text as the user typed it, which may be a command.
    Typed(String),
    /// Content that is no command.
    Content(Content),
}

/// Reads a prompt. Images are stored as blobs.
///
/// # Errors
/// When the prompt has content that the agent does not take.
pub(super) async fn read(
    blocks: Vec<ContentBlock>,
    blobs: &dyn Blobs,
) -> Result<PromptInput, RpcError> {
    if let [ContentBlock::Text { text }] = blocks.as_slice() {
        return Ok(PromptInput::Typed(text.clone()));
    }
    // A command takes everything that follows as its arguments.
    if let Some(ContentBlock::Text { text }) = blocks.first()
        && text.starts_with('/')
        && let Some(typed) = as_text(&blocks)
    {
        return Ok(PromptInput::Typed(typed));
    }
    let mut content = Vec::with_capacity(blocks.len());
    for block in blocks {
        content.push(match block {
            ContentBlock::Text { text } => Block::text(text),
            ContentBlock::ResourceLink { name, uri, .. } => Block::text(link(&name, &uri)),
            ContentBlock::Image { data, mime_type, .. } => image(&data, mime_type, blobs).await?,
            // No provider takes audio here, and `initialize` says so; an editor that sends it
            // anyway must not lose it silently.
            ContentBlock::Audio { .. } => {
                return Err(RpcError::invalid("this agent does not take audio; send text"));
            }
            ContentBlock::Resource { resource } => embedded(resource, blobs).await?,
        });
    }
    if content.is_empty() {
        return Err(RpcError::invalid("the prompt is empty"));
    }
    Ok(PromptInput::Content(Content(content)))
}

/// Returns a prompt of text and links as one text; none if it has anything else.
fn as_text(blocks: &[ContentBlock]) -> Option<String> {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => Some(text.clone()),
        ContentBlock::ResourceLink { name, uri, .. } => Some(link(name, uri)),
        _ => None,
    };
    Some(blocks.iter().map(text).collect::<Option<Vec<_>>>()?.concat())
}

/// Returns a link as text: the path of a file, or name and address.
fn link(name: &str, uri: &str) -> String {
    match uri.strip_prefix("file://") {
        // As a mention, which is read through the gate; the editor sends no content with a link.
        Some(path) => format!("@{path}"),
        None => format!("[{name}]({uri})"),
    }
}

async fn embedded(resource: Resource, blobs: &dyn Blobs) -> Result<Block, RpcError> {
    let Resource { uri, mime_type, contents } = resource;
    let mime_type = mime_type.unwrap_or_default();
    match contents {
        ResourceContents::Text(text) => {
            // The address is put between quotes, and a file name may contain one.
            let uri = uri.replace('"', "%22");
            Ok(Block::text(format!("<resource uri=\"{uri}\">\n{text}\n</resource>")))
        }
        ResourceContents::Blob(data) if mime_type.starts_with("image/") => {
            image(&data, mime_type, blobs).await
        }
        ResourceContents::Blob(_) => Err(RpcError::invalid(format!(
            "this agent does not take {uri}: of embedded files it takes text and images"
        ))),
    }
}

async fn image(data: &str, media_type: String, blobs: &dyn Blobs) -> Result<Block, RpcError> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|error| RpcError::invalid(format!("an image is not base64: {error}")))?;
    let blob = blobs.put(&bytes).await.map_err(|error| {
        RpcError::new(INTERNAL_ERROR, format!("the image cannot be stored: {error}"))
    })?;
    Ok(Block::Image(Image { blob, media_type, extra: Map::new() }))
}

#[cfg(test)]
mod tests;
