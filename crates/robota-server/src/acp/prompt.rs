//! The content of prompts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::blob::Blobs;
use robota_core::message::{Block, Image};
use robota_sdk::PromptBlock;
use robota_sdk::mentions::mention_of_address;
use serde_json::Map;

use super::rpc::{INTERNAL_ERROR, RpcError};
use super::v1::{ContentBlock, Resource, ResourceContents};

/// The meaning of a prompt's content.
#[derive(Debug, PartialEq)]
pub(super) enum PromptInput {
    /// Text as the user typed it, which may be a command.
    Typed(String),
    /// Content that is no command. What the editor embedded mentions no files.
    Blocks(Vec<PromptBlock>),
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
            ContentBlock::Text { text } => PromptBlock::Typed(Block::text(text)),
            ContentBlock::ResourceLink { name, uri, .. } => match mention_of_address(&uri) {
                // Read through the gate; the editor sends no content with a link.
                Some(mention) => PromptBlock::Typed(Block::text(mention)),
                // The name of an issue or a page can contain anything.
                None => PromptBlock::Embedded(Block::text(other_link(&name, &uri))),
            },
            ContentBlock::Image { data, mime_type, .. } => {
                PromptBlock::Embedded(image(&data, mime_type, blobs).await?)
            }
            // No provider takes audio here, and `initialize` says so; an editor that sends it
            // anyway must not lose it silently.
            ContentBlock::Audio { .. } => {
                return Err(RpcError::invalid("this agent does not take audio; send text"));
            }
            ContentBlock::Resource { resource } => {
                PromptBlock::Embedded(embedded(resource, blobs).await?)
            }
        });
    }
    if content.is_empty() {
        return Err(RpcError::invalid("the prompt is empty"));
    }
    Ok(PromptInput::Blocks(content))
}

/// Returns a prompt of text and links as one text; none if it has anything else.
fn as_text(blocks: &[ContentBlock]) -> Option<String> {
    let mut typed = String::new();
    let mut after_link = false;
    for block in blocks {
        let (text, is_link) = match block {
            ContentBlock::Text { text } => (text.clone(), false),
            ContentBlock::ResourceLink { name, uri, .. } => {
                // In Markdown both are still the sign; an address contains no spaces, so that it stays.
                let (name, address) = (without_mentions(name, "\\@"), without_mentions(uri, "%40"));
                let link = || other_link(&name, &address);
                (mention_of_address(uri).unwrap_or_else(link), true)
            }
            _ => return None,
        };
        // A mention starts after a space and ends at one.
        let is_separate =
            typed.ends_with(char::is_whitespace) || text.starts_with(char::is_whitespace);
        if (is_link || after_link) && !is_separate && !typed.is_empty() {
            typed.push(' ');
        }
        typed.push_str(&text);
        after_link = is_link;
    }
    Some(typed)
}

/// Returns a link to something that is no file as text: name and address.
fn other_link(name: &str, uri: &str) -> String {
    format!("[{name}]({uri})")
}

/// Returns a part of a link that mentions nothing when it is read as typed: the name of an issue or a page can
/// contain anything. The sign of a mention becomes `sign`; every other one stays.
fn without_mentions(text: &str, sign: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        // A mention of a file starts after a space; that of a resource may have these between.
        let before = text[..at].trim_end_matches(['(', '"', '\'']);
        if letter == '@' && before.ends_with(char::is_whitespace) {
            shown.push_str(sign);
        } else {
            shown.push(letter);
        }
    }
    shown
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
