//! Converts content between the session and the Messages API.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::blob::Blobs;
use robota_core::message::{self, BlobRef, Image, ResultBlock, ToolInput, ToolResult};
use robota_providers::Citation;
use serde_json::{Map, Value, json};

use super::loaded::LoadedBlobs;
use robota_stream_json::{Block, ResultContent};

/// The wire whose blocks hosts send. Content that only that wire understands is passed through.
const MESSAGES_WIRE: &str = "anthropic-messages";

/// Returns the blocks of an answer that a line can show.
pub(crate) fn of_answer(content: &[message::Block]) -> impl Iterator<Item = Block<'_>> {
    content.iter().enumerate().filter_map(|(at, block)| match block {
        message::Block::Text(text) => Some(Block::Text {
            text: &text.text,
            citations: sources(&text.text, &content[at + 1..]),
        }),
        message::Block::Thinking(block) => Some(Block::Thinking {
            thinking: &block.thinking,
            signature: block.signature.as_deref().unwrap_or_default(),
        }),
        message::Block::ToolUse(call) => Some(Block::ToolUse {
            id: call.public_id(),
            name: &call.name,
            input: match &call.input {
                ToolInput::Json(input) => Cow::Borrowed(input),
                // The Messages API has an object here, and these arguments are not JSON.
                ToolInput::Unparsed(unparsed) => Cow::Owned(json!({"unparsed": unparsed.raw})),
            },
        }),
        message::Block::Opaque(opaque) if opaque.value.get("type").is_some() => {
            Some(Block::Other(Cow::Borrowed(&opaque.value)))
        }
        message::Block::Image(_)
        | message::Block::ToolResult(_)
        | message::Block::Opaque(_)
        | message::Block::Unknown(_) => None,
    })
}

/// Returns the sources of a text that the blocks after it name.
fn sources(text: &str, after: &[message::Block]) -> Option<Vec<Value>> {
    let opaque = after.iter().map_while(|block| match block {
        message::Block::Opaque(block) => Some(block),
        _ => None,
    });
    let found: Vec<Value> =
        opaque.filter_map(|block| citation_values(block, text)).flatten().collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the sources in a block in the shape of the Messages API; `None` if the block has other
/// content.
pub(crate) fn citation_values(block: &message::Opaque, text: &str) -> Option<Vec<Value>> {
    let found = robota_providers::citations(block, text)?;
    let value = |citation: Citation| {
        citation.original.unwrap_or_else(|| {
            json!({
                "type": "web_search_result_location",
                "url": citation.url,
                "title": citation.title,
                "cited_text": citation.text,
                // The Messages API requires it. Only the search of that service can fill it.
                "encrypted_index": "",
            })
        })
    };
    Some(found.into_iter().map(value).collect())
}

/// Returns the result of a call.
pub(crate) fn of_result<'a>(result: &'a ToolResult, blobs: &LoadedBlobs) -> Block<'a> {
    let content = match result.content.as_slice() {
        [ResultBlock::Text(text)] => ResultContent::Text(&text.text),
        blocks => ResultContent::Blocks(
            blocks
                .iter()
                .map(|block| match block {
                    ResultBlock::Text(text) => Block::text(&text.text),
                    ResultBlock::Image(image) => {
                        Block::Other(Cow::Owned(image_block(image, blobs)))
                    }
                    ResultBlock::Unknown(value) => Block::Other(Cow::Borrowed(value)),
                })
                .collect(),
        ),
    };
    Block::ToolResult { tool_use_id: result.public_id(), content, is_error: result.is_error }
}

/// Returns an image or a document, or a note that names it if it is too large for a line.
fn image_block(image: &Image, blobs: &LoadedBlobs) -> Value {
    // The core has one kind of block for images and documents.
    let kind = if image.media_type.starts_with("image/") { "image" } else { "document" };
    if let Some(bytes) = blobs.get(&image.blob) {
        let (media_type, data) = (&image.media_type, STANDARD.encode(bytes));
        let source = json!({"type": "base64", "media_type": media_type, "data": data});
        return json!({"type": kind, "source": source});
    }
    let text = format!("[{kind} {}, {} bytes]", image.media_type, image.blob.bytes);
    json!({"type": "text", "text": text})
}

/// Reads the content of a message of the host: text, or a list of blocks.
///
/// # Errors
/// When a block is malformed or cannot be stored; the text is for the host.
pub(crate) async fn from_host(
    content: &Value,
    blobs: &dyn Blobs,
) -> Result<Vec<message::Block>, String> {
    let blocks = match content {
        Value::String(text) => return Ok(vec![message::Block::text(text)]),
        Value::Array(blocks) => blocks,
        _ => return Err("the content of a message must be a string or a list".to_owned()),
    };
    let mut read = Vec::new();
    for block in blocks {
        let next = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = block.get("text").and_then(Value::as_str);
                message::Block::text(text.ok_or("a text block has no `text`")?)
            }
            // Stored as a blob, so that every wire can send it and the journal stays small.
            Some("image") if block.pointer("/source/type") == Some(&Value::from("base64")) => {
                image(block, blobs).await?
            }
            // A document that the model may cite is understood by that wire only.
            Some("document") if !is_cited(block) && document_source(block).is_some() => {
                read.extend(["title", "context"].iter().filter_map(|key| {
                    let text = block.get(*key)?.as_str().filter(|text| !text.is_empty())?;
                    Some(message::Block::text(text))
                }));
                document(block, blobs).await?
            }
            // The model knows no call of the host, so that the result is text for it.
            Some("tool_result") => message::Block::text(result_text(block)),
            // An image or document by address, or a block of a newer version.
            Some(_) => message::Block::Opaque(message::Opaque {
                wire: MESSAGES_WIRE.to_owned(),
                value: block.clone(),
                extra: Map::new(),
            }),
            None => return Err("a content block has no `type`".to_owned()),
        };
        read.push(next);
    }
    Ok(read)
}

/// Returns the text of a tool result that the host sent.
fn result_text(block: &Value) -> String {
    match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// How a document contains its content.
#[derive(Clone, Copy)]
enum DocumentSource {
    Base64,
    Text,
}

/// Returns how a document contains its content; none if it is somewhere else, or in blocks.
fn document_source(block: &Value) -> Option<DocumentSource> {
    match block.pointer("/source/type")?.as_str()? {
        "base64" => Some(DocumentSource::Base64),
        "text" => Some(DocumentSource::Text),
        _ => None,
    }
}

fn is_cited(block: &Value) -> bool {
    block.pointer("/citations/enabled") == Some(&Value::Bool(true))
}

/// Reads a document: a PDF file, or text. Every wire sends it, unlike a block of the host's.
async fn document(block: &Value, blobs: &dyn Blobs) -> Result<message::Block, String> {
    let text = |key: &str| block.pointer(key).and_then(Value::as_str);
    let data = text("/source/data").ok_or("a document block has no `source.data`")?;
    let media_type = text("/source/media_type").ok_or("a document block has no `media_type`")?;
    let bytes = match document_source(block) {
        Some(DocumentSource::Text) => data.as_bytes().to_vec(),
        Some(DocumentSource::Base64) | None => {
            STANDARD.decode(data).map_err(|error| format!("a document is not base64: {error}"))?
        }
    };
    stored(&bytes, media_type, blobs).await
}

async fn stored(
    bytes: &[u8],
    media_type: &str,
    blobs: &dyn Blobs,
) -> Result<message::Block, String> {
    let blob: BlobRef = blobs.put(bytes).await.map_err(|error| error.to_string())?;
    Ok(message::Block::Image(Image { blob, media_type: media_type.to_owned(), extra: Map::new() }))
}

async fn image(block: &Value, blobs: &dyn Blobs) -> Result<message::Block, String> {
    let text = |key: &str| block.pointer(key).and_then(Value::as_str);
    let data = text("/source/data").ok_or("an image block has no `source.data`")?;
    let media_type = text("/source/media_type").ok_or("an image block has no `media_type`")?;
    let bytes =
        STANDARD.decode(data).map_err(|error| format!("an image is not base64: {error}"))?;
    stored(&bytes, media_type, blobs).await
}
