//! Messages in the format of the session record: text in `content`, calls in `toolCalls`, one
//! message per result.
//!
//! The runtime's messages contain more (thinking, opaque blocks, several texts). If the format
//! would lose something, the field `robota` has the whole message. Readers that do not know this
//! field can ignore it.

use jiff::Timestamp;
use robota_core::ids::{CallId, CountingIds, Ids, MessageId};
use robota_core::message::{
    BlobRef, Block, Image, Message, MessageState, ResultBlock, Role, ToolInput, ToolResult, ToolUse,
};
use robota_core::usage::Usage;
use serde_json::{Map, Value, json};

/// Converts a message to the format of the record: one value, or one per result.
pub(super) fn write(message: &Message, at: Option<Timestamp>) -> Vec<Value> {
    let mut plain = write_plain(message, at);
    // A message of the runtime has all its ids, so none of these is used.
    let ids = CountingIds::default();
    let mut reader = Reader::new(&ids);
    for result in message.tool_results() {
        reader.open_calls.push((result.id.clone(), result.call.clone(), result.name.clone()));
    }
    let mut read: Vec<_> = plain.iter().filter_map(|value| reader.read(value).ok()).collect();
    read.push(reader.finish().into_iter().collect());
    let same = read.into_iter().flatten().map(|(read, _)| read).eq([message.clone()]);
    if !same && let Some(Value::Object(first)) = plain.first_mut() {
        // The common format cannot express everything (thinking, images, unknown blocks). Where
        // reading it back would not give the same message, the whole message goes along.
        first.insert("robota".to_owned(), json!(message));
    }
    plain
}

fn write_plain(message: &Message, at: Option<Timestamp>) -> Vec<Value> {
    let role = message.role();
    let state = match message.state() {
        MessageState::Complete => "complete",
        MessageState::Interrupted(_) => "interrupted",
    };
    let base = |id: String, content: Value| {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), id.into());
        fields.insert("role".to_owned(), json!(role));
        fields.insert("content".to_owned(), content);
        if let Some(at) = at {
            fields.insert("timestamp".to_owned(), at.to_string().into());
        }
        fields.insert("state".to_owned(), state.into());
        fields
    };
    if role == Role::Tool && message.tool_results().next().is_some() {
        let results = message.tool_results().enumerate();
        return results
            .map(|(index, result)| {
                let id = match index {
                    0 => message.id.to_string(),
                    _ => format!("{}:{}", message.id, index + 1),
                };
                let mut fields = base(id, result.as_text().into());
                fields.insert("toolCallId".to_owned(), result.id.as_str().into());
                fields.insert("callId".to_owned(), json!(result.call));
                fields.insert("name".to_owned(), result.name.as_str().into());
                if result.is_error {
                    fields.insert("isError".to_owned(), true.into());
                }
                if !result.metadata.is_empty() {
                    fields.insert("metadata".to_owned(), json!(result.metadata));
                }
                Value::Object(fields)
            })
            .collect();
    }
    let text = message.text();
    let calls: Vec<_> = message.tool_uses().map(write_call).collect();
    let content =
        if text.is_empty() && !calls.is_empty() { Value::Null } else { Value::from(text) };
    let mut fields = base(message.id.to_string(), content);
    if !calls.is_empty() {
        fields.insert("toolCalls".to_owned(), calls.into());
    }
    if !message.metadata.is_empty() {
        fields.insert("metadata".to_owned(), json!(message.metadata));
    }
    if let Some(usage) = message.usage {
        fields.insert("usage".to_owned(), json!(usage));
    }
    vec![Value::Object(fields)]
}

fn write_call(call: &ToolUse) -> Value {
    let arguments = match &call.input {
        ToolInput::Json(value) => value.to_string(),
        ToolInput::Unparsed(unparsed) => unparsed.raw.clone(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
        "callId": call.call,
    })
}

/// Reads messages in order. The results of one answer become one message again.
pub(super) struct Reader<'a> {
    ids: &'a dyn Ids,
    /// The calls of the last answer: the provider's id, the runtime's id, the tool.
    open_calls: Vec<(String, CallId, String)>,
    /// The tool message that is being collected.
    tools: Option<(Message, Option<Timestamp>)>,
    /// The calls whose results a `robota` field contained: their separate values are skipped.
    whole: Vec<CallId>,
    /// Images that came with the messages.
    pub(super) blobs: Vec<Vec<u8>>,
}

/// A message and when it was sent.
pub(super) type Dated = (Message, Option<Timestamp>);

impl<'a> Reader<'a> {
    pub(super) fn new(ids: &'a dyn Ids) -> Self {
        Self { ids, open_calls: Vec::new(), tools: None, whole: Vec::new(), blobs: Vec::new() }
    }

    /// Reads the next value. Returns the messages that are complete now.
    pub(super) fn read(&mut self, value: &Value) -> Result<Vec<Dated>, String> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let at = text("timestamp").and_then(|at| at.parse().ok());
        if let Some(message) = whole(value) {
            return Ok(self.take_whole(message, at));
        }
        let is_whole = |call: &str| self.whole.iter().any(|whole| whole.as_str() == call);
        if text("role") == Some("tool") && text("callId").is_some_and(is_whole) {
            return Ok(Vec::new());
        }
        let id = text("id").filter(|id| !id.is_empty());
        let id = id.map_or_else(|| MessageId::mint(self.ids), MessageId::from);
        match text("role") {
            Some("tool") => {
                let result = self.result(value);
                match &mut self.tools {
                    Some((message, _)) => message.content.push(Block::ToolResult(result.into())),
                    None => self.tools = Some((Message::tool(id, vec![result]), at)),
                }
                Ok(Vec::new())
            }
            Some(role @ ("user" | "assistant" | "system")) => {
                let mut done: Vec<_> = self.finish().into_iter().collect();
                let message = self.plain(role, &id, value)?;
                self.note_calls(&message);
                done.push((message, at));
                Ok(done)
            }
            Some(other) => Err(format!("a message of role `{other}`")),
            None => Err("a message without a role".to_owned()),
        }
    }

    fn take_whole(&mut self, message: Message, at: Option<Timestamp>) -> Vec<Dated> {
        if message.role() != Role::Tool {
            let mut done: Vec<_> = self.finish().into_iter().collect();
            self.note_calls(&message);
            done.push((message, at));
            return done;
        }
        self.whole = message.tool_results().map(|result| result.call.clone()).collect();
        match &mut self.tools {
            Some((tools, _)) if tools.id == message.id => {
                // The results of one answer are one message again.
                tools.content.extend(message.content);
                Vec::new()
            }
            _ => self.tools.replace((message, at)).into_iter().collect(),
        }
    }

    /// Returns whether results are being collected.
    pub(super) fn collecting(&self) -> bool {
        self.tools.is_some()
    }

    /// Returns the message that is being collected.
    pub(super) fn finish(&mut self) -> Option<Dated> {
        self.tools.take()
    }

    fn note_calls(&mut self, message: &Message) {
        if message.role() == Role::Assistant {
            let calls = message.tool_uses();
            self.open_calls =
                calls.map(|call| (call.id.clone(), call.call.clone(), call.name.clone())).collect();
        }
    }

    fn result(&mut self, value: &Value) -> ToolResult {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let id = text("toolCallId").or_else(|| text("tool_call_id")).unwrap_or_default();
        let ours = text("callId");
        let open_call = self.open_calls.iter().position(|(provider, call, _)| match &ours {
            Some(ours) => call.as_str() == ours,
            None => *provider == id,
        });
        // Removed, so that two results for one provider id, which may repeat, go to different
        // calls.
        let open_call = open_call.map(|at| self.open_calls.remove(at));
        let call = match (&ours, &open_call) {
            (Some(ours), _) => CallId::from(ours.as_str()),
            (None, Some((_, call, _))) => call.clone(),
            // The same id each time it is read.
            (None, None) => CallId::from(format!("?/{id}")),
        };
        let name = text("name").or_else(|| open_call.map(|(_, _, name)| name)).unwrap_or_default();
        let content = match value.get("content") {
            Some(Value::String(text)) => vec![ResultBlock::text(text.clone())],
            Some(Value::Null) | None => Vec::new(),
            Some(other) => vec![ResultBlock::text(other.to_string())],
        };
        let is_error = value.get("isError").and_then(Value::as_bool).unwrap_or(false);
        let metadata = value.get("metadata").and_then(Value::as_object).cloned();
        ToolResult {
            call,
            id,
            name,
            content,
            is_error,
            metadata: metadata.unwrap_or_default(),
            extra: Map::new(),
        }
    }

    fn plain(&mut self, role: &str, id: &MessageId, value: &Value) -> Result<Message, String> {
        let mut content = Vec::new();
        match value.get("content") {
            Some(Value::String(text)) if !text.is_empty() => content.push(Block::text(text)),
            Some(Value::String(_) | Value::Null) | None => {}
            // Some programs write the parts into `content`.
            Some(Value::Array(parts)) => {
                content.extend(parts.iter().filter_map(|part| self.part(part)));
            }
            Some(other) => content.push(Block::text(other.to_string())),
        }
        let parts = value.get("parts").and_then(Value::as_array).into_iter().flatten();
        // The text parts repeat `content`.
        let images = parts.filter(|part| part.get("type") != Some(&json!("text")));
        content.extend(images.filter_map(|part| self.part(part)).collect::<Vec<_>>());
        let calls = value.get("toolCalls").or_else(|| value.get("tool_calls"));
        for (index, call) in calls.and_then(Value::as_array).into_iter().flatten().enumerate() {
            content.push(Block::ToolUse(read_call(id, index, call)?));
        }
        // An empty answer is a message too, and a message needs a block.
        if content.is_empty() {
            content.push(Block::text(""));
        }
        let interrupted = role == "assistant" && value.get("state") == Some(&json!("interrupted"));
        let metadata = value.get("metadata").and_then(Value::as_object).cloned();
        let usage = match value.get("usage") {
            Some(usage) => serde_json::from_value::<Usage>(usage.clone()).ok(),
            None => value.get("metadata").and_then(Usage::from_provider_value),
        };
        let message = json!({
            "id": id,
            "role": role,
            "state": if interrupted { "interrupted" } else { "complete" },
            "content": content,
            "metadata": metadata.unwrap_or_default(),
            "usage": usage.filter(|_| role == "assistant"),
        });
        serde_json::from_value(message).map_err(|error| error.to_string())
    }

    fn part(&mut self, part: &Value) -> Option<Block> {
        use base64::Engine as _;

        let text = |name: &str| part.get(name).and_then(Value::as_str);
        match text("type")? {
            "text" => Some(Block::text(text("text")?)),
            "image_inline" => {
                let decode = |data| base64::engine::general_purpose::STANDARD.decode(data).ok();
                let Some(bytes) = text("data").and_then(decode) else {
                    // Not left out: a message without content would be refused by the model.
                    return Some(Block::text("[an image that cannot be read]"));
                };
                let blob = BlobRef::of(&bytes);
                self.blobs.push(bytes);
                let media_type = text("mimeType").unwrap_or("application/octet-stream").to_owned();
                Some(Block::Image(Image { blob, media_type, extra: Map::new() }))
            }
            // Not fetched: an import must not open addresses that a file names.
            "image_uri" => Some(Block::text(format!("[image: {}]", text("uri")?))),
            _ => Some(Block::Unknown(part.clone())),
        }
    }
}

/// Reads a call. Without a `callId` it gets an id that is the same each time it is read.
fn read_call(message: &MessageId, index: usize, value: &Value) -> Result<ToolUse, String> {
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
    let name = value.pointer("/function/name").or_else(|| value.get("name"));
    let name = name.and_then(Value::as_str).ok_or("a tool call without a name")?;
    let input = match value.pointer("/function/arguments").or_else(|| value.get("arguments")) {
        Some(Value::String(raw)) => ToolInput::parse(raw),
        Some(Value::Null) | None => ToolInput::parse(""),
        Some(other) => ToolInput::Json(other.clone()),
    };
    let call = value.get("callId").and_then(Value::as_str).map(CallId::from);
    let call = call.unwrap_or_else(|| CallId::from(format!("{message}/{}", index + 1)));
    Ok(ToolUse::new(call, id, name, input))
}

/// Returns the message in the field `robota`, unless the text outside was changed.
fn whole(value: &Value) -> Option<Message> {
    let message: Message = serde_json::from_value(value.get("robota")?.clone()).ok()?;
    let same = match message.role() {
        Role::Tool => true,
        Role::User | Role::Assistant | Role::System => {
            // If another program has changed the visible text, its text counts.
            value.get("content").and_then(Value::as_str).unwrap_or_default() == message.text()
        }
    };
    same.then_some(message)
}

#[cfg(test)]
mod tests;
