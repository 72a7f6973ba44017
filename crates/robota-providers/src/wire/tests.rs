//! Tests of the requests of all wires.

mod choices;
mod quirks;
mod stable;
mod stale;
mod wire_switch;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use robota_core::blob::Blobs;
use robota_core::ids::CountingIds;
use robota_core::journal::JournalError;
use robota_core::message::{
    BlobRef, Block, Image, Message, MessageState, ResultBlock, ToolInput, ToolResult, ToolUse,
};
use robota_core::provider::{ModelRequest, NativeWeb};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::cache::{BodyWriter, PieceCache};
use super::{Body, encoder};
use crate::fuzzing::two_tools;
use crate::profile::{Quirks, Wire};

const PNG: &[u8] = b"\x89PNG picture";
const PDF: &[u8] = b"%PDF document";

/// A blob store with two attachments that counts the reads.
#[derive(Default)]
struct Attachments(AtomicUsize);

#[async_trait::async_trait]
impl Blobs for Attachments {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        Ok(BlobRef::of(bytes))
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let all = [PNG, PDF, b"plain words"];
        Ok(all.iter().find(|bytes| BlobRef::of(bytes) == *blob).map(|bytes| bytes.to_vec()))
    }
}

/// The encoder, options and cache of one provider.
struct TestEncoder {
    wire: Wire,
    quirks: Quirks,
    cache: PieceCache,
    blobs: Attachments,
    options: Map<String, Value>,
    web: NativeWeb,
}

impl TestEncoder {
    fn new(wire: Wire) -> Self {
        let quirks = Quirks {
            web_search: Some(match wire {
                Wire::AnthropicMessages => "web_search_20250305".into(),
                Wire::GeminiGenerateContent => "googleSearch".into(),
                Wire::ChatCompletions | Wire::Responses => "web_search".into(),
            }),
            ..Quirks::default()
        };
        Self {
            wire,
            quirks,
            cache: PieceCache::default(),
            blobs: Attachments::default(),
            options: Map::new(),
            web: NativeWeb::default(),
        }
    }

    fn quirks(wire: Wire, quirks: Quirks) -> Self {
        Self { quirks, ..Self::new(wire) }
    }

    async fn body(&self, request: &ModelRequest) -> Body {
        let writer = BodyWriter {
            wire: self.wire,
            encoder: encoder(self.wire),
            quirks: &self.quirks,
            cache: &self.cache,
            blobs: &self.blobs,
        };
        writer.body(request, &self.options, self.web).await
    }

    async fn json(&self, request: &ModelRequest) -> Value {
        let body = self.body(request).await;
        serde_json::from_slice(&body.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body.bytes)))
    }
}

fn image(bytes: &[u8], media_type: &str) -> Image {
    Image { blob: BlobRef::of(bytes), media_type: media_type.into(), extra: Map::new() }
}

fn tool_use(call: &str, id: &str, name: &str, input: Value) -> ToolUse {
    ToolUse::new(call.into(), id, name, ToolInput::Json(input))
}

/// Returns a conversation with everything that all wires can encode.
fn conversation() -> Vec<Arc<Message>> {
    let ids = CountingIds::default();
    let read = tool_use("c1", "toolu_1", "read", json!({"path": "a.txt"}));
    let list = tool_use("c2", "toolu_2", "list", json!({}));
    let mut shown = ToolResult::text(&read, "hello", false);
    shown.content.push(ResultBlock::Image(image(PNG, "image/png")));
    let failed = ToolResult::text(&list, "no such folder", true);
    let messages = vec![
        Message::user(
            &ids,
            vec![
                Block::text("Look at these."),
                Block::Image(image(PNG, "image/png")),
                Block::Image(image(PDF, "application/pdf")),
                Block::Image(image(b"plain words", "text/plain")),
            ],
        ),
        Message::assistant(
            &ids,
            vec![
                Block::thinking("Nobody signed this.", None),
                Block::text("I look."),
                Block::ToolUse(read),
                Block::ToolUse(list),
            ],
            MessageState::Complete,
        ),
        Message::tool("m-tool".into(), vec![shown, failed]),
        Message::assistant(&ids, "It says hello.", MessageState::Complete),
        Message::user(&ids, "Thanks. And \"this\"?\nüñ😀"),
    ];
    messages.into_iter().map(Arc::new).collect()
}

fn request(messages: &[Arc<Message>]) -> ModelRequest {
    ModelRequest {
        system: Some("Be brief.".into()),
        tools: two_tools(),
        max_output_tokens: Some(1_000),
        ..ModelRequest::new("model-1", Arc::new(messages.to_vec()))
    }
}

fn no_tools() -> Arc<[ToolSpec]> {
    Arc::from([])
}
