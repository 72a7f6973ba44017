//! The lines of a transcript. They have the shape that scripts for Claude Code read: one line for
//! each block of an answer, each prompt and each result of a call.

use robota_core::event::{Author, Envelope, Event};
use robota_core::message::{Block, Message, ResultBlock, ToolInput, ToolResult};
use robota_core::usage::Usage;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Makes the lines of a session.
pub(super) struct Lines {
    session: String,
    cwd: String,
    model: String,
    /// The id of the last line.
    parent: Option<String>,
    /// The message of the last result, and how many results of it there are so far.
    results: (String, usize),
}

impl Lines {
    pub(super) fn new(session: &str, cwd: String) -> Self {
        let (session, model) = (session.to_owned(), String::new());
        Self { session, cwd, model, parent: None, results: (String::new(), 0) }
    }

    /// Adds the lines of an event.
    pub(super) fn add(&mut self, envelope: &Envelope, out: &mut String) {
        match &envelope.event {
            Event::TurnStarted(data) => self.model.clone_from(&data.model),
            Event::UserMessage(data) => {
                let id = line_id(data.message.id.as_str(), 0);
                let message = json!({"role": "user", "content": content(&data.message)});
                let mut line = self.line("user", id, message, envelope);
                if data.author != Author::User {
                    line.insert("isMeta".to_owned(), true.into());
                }
                push(line, out);
            }
            Event::AssistantMessage(data) => self.answer(&data.message, envelope, out),
            Event::ToolResultAdded(data) => {
                // Results of one message are numbered, because each line needs an id of its own.
                if self.results.0 != data.message.as_str() {
                    self.results = (data.message.as_str().to_owned(), 0);
                }
                let id = line_id(data.message.as_str(), self.results.1);
                self.results.1 += 1;
                let message = json!({"role": "user", "content": [result(&data.result)]});
                push(self.line("user", id, message, envelope), out);
            }
            Event::CompactionFinished(data) => {
                let id = line_id(data.summary.id.as_str(), 0);
                let message = json!({"role": "user", "content": data.summary.text()});
                let mut line = self.line("user", id, message, envelope);
                line.insert("isCompactSummary".to_owned(), true.into());
                push(line, out);
            }
            _ => {}
        }
    }

    fn answer(&mut self, message: &Message, envelope: &Envelope, out: &mut String) {
        let usage = message.usage.map(usage).unwrap_or_default();
        let blocks = message.content.iter().filter_map(block);
        for (index, block) in blocks.enumerate() {
            let id = line_id(message.id.as_str(), index);
            let message = json!({
                "id": message.id.as_str(),
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": usage,
            });
            push(self.line("assistant", id, message, envelope), out);
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "they become parts of the line")]
    fn line(
        &mut self,
        kind: &str,
        id: String,
        message: Value,
        envelope: &Envelope,
    ) -> Map<String, Value> {
        // Scripts follow the lines by their parents; here each line has the one before it.
        let parent = self.parent.replace(id.clone());
        let line = json!({
            "parentUuid": parent,
            "isSidechain": false,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": env!("CARGO_PKG_VERSION"),
            "type": kind,
            "message": message,
            "uuid": id,
            "timestamp": envelope.ts.to_string(),
        });
        match line {
            Value::Object(line) => line,
            _ => Map::new(),
        }
    }
}

fn push(line: Map<String, Value>, out: &mut String) {
    out.push_str(&Value::Object(line).to_string());
    out.push('\n');
}

/// Returns the id of the line of a block. Lines of `stream-json` have the same ids.
fn line_id(message: &str, index: usize) -> String {
    match Uuid::try_parse(message) {
        Ok(id) => Uuid::from_u128(id.as_u128().wrapping_add(index as u128)).to_string(),
        Err(_) => format!("{message}-{index}"),
    }
}

/// Returns the content of a prompt: text, or blocks if it has other content.
fn content(message: &Message) -> Value {
    match message.content.as_slice() {
        [Block::Text(text)] => Value::from(text.text.as_str()),
        blocks => blocks.iter().filter_map(block).collect(),
    }
}

fn block(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text(text) => json!({"type": "text", "text": text.text}),
        Block::Thinking(block) => json!({
            "type": "thinking",
            "thinking": block.thinking,
            "signature": block.signature.as_deref().unwrap_or_default(),
        }),
        Block::ToolUse(call) => {
            let input = match &call.input {
                ToolInput::Json(input) => input.clone(),
                ToolInput::Unparsed(unparsed) => json!({"unparsed": unparsed.raw}),
            };
            json!({"type": "tool_use", "id": call.public_id(), "name": call.name, "input": input})
        }
        Block::ToolResult(block) => result(block),
        // The data is in the session's blobs.
        Block::Image(image) => {
            let text = format!("[{}, {} bytes]", image.media_type, image.blob.bytes);
            json!({"type": "text", "text": text})
        }
        Block::Opaque(opaque) if opaque.value.get("type").is_some() => opaque.value.clone(),
        Block::Opaque(_) | Block::Unknown(_) => return None,
    })
}

fn result(result: &ToolResult) -> Value {
    let content = match result.content.as_slice() {
        [ResultBlock::Text(text)] => Value::from(text.text.as_str()),
        blocks => blocks
            .iter()
            .map(|block| match block {
                ResultBlock::Text(text) => json!({"type": "text", "text": text.text}),
                ResultBlock::Image(image) => {
                    let text = format!("[{}, {} bytes]", image.media_type, image.blob.bytes);
                    json!({"type": "text", "text": text})
                }
                ResultBlock::Unknown(value) => value.clone(),
            })
            .collect(),
    };
    json!({
        "type": "tool_result",
        "tool_use_id": result.public_id(),
        "content": content,
        "is_error": result.is_error,
    })
}

/// Returns token counts as the Messages API counts them: cached tokens are not part of the input.
fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.uncached_input(),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    })
}
