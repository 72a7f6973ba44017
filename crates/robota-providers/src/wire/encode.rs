//! The encoder trait and shared helpers. A conversation is encoded message by message into pieces
//! that stay the same from round to round.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use base64::Engine as _;
use robota_core::message::{BlobRef, Block, Image, Message, Opaque, ToolInput, ToolUse};
use robota_core::provider::{LeftOut, ModelRequest, NativeWeb, ToolChoice};
use robota_core::tool::ToolSpec;
use serde::Serialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::plan::{IdRule, Origin, Plan};
use super::{MODEL_KEY, PREFIX_KEY, WIRE_KEY};
use crate::json::push_json;
use crate::profile::{Quirks, Wire};
use crate::schema;

/// The role that a piece belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceRole {
    /// The user, including tool results on wires that send them in user messages.
    User,
    Model,
    /// Tool results, on wires that separate them from user messages.
    Tool,
}

/// JSON elements, separated by commas: parts of a message, or whole messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) role: PieceRole,
    pub(crate) json: Vec<u8>,
    /// Whether the last element can hold a cache marker.
    pub(crate) markable: bool,
}

/// A JSON element of a piece.
pub(crate) trait Element: Serialize {
    /// Returns whether it can hold a cache marker.
    fn markable(&self) -> bool;
}

impl Element for Value {
    fn markable(&self) -> bool {
        let kind = self.get("type").and_then(Value::as_str).unwrap_or_default();
        // The Messages API refuses markers on reasoning.
        self.is_object() && !matches!(kind, "thinking" | "redacted_thinking")
    }
}

impl Piece {
    /// Creates a piece from elements; returns `None` if there are none.
    pub(crate) fn new(role: PieceRole, elements: &[impl Element]) -> Option<Self> {
        let markable = elements.last()?.markable();
        let mut json = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                json.push(b',');
            }
            push_json(&mut json, element);
        }
        Some(Self { role, json, markable })
    }
}

/// Counts the parts of a conversation that could not be sent unchanged.
#[derive(Debug, Default)]
pub(crate) struct LeftOutCounter {
    pub(crate) reasoning: Cell<u64>,
    pub(crate) opaque: Cell<u64>,
    pub(crate) images: Cell<u64>,
    pub(crate) missing: Cell<u64>,
}

impl LeftOutCounter {
    pub(crate) fn count(cell: &Cell<u64>) {
        cell.set(cell.get() + 1);
    }

    /// Returns the counts and resets them.
    pub(crate) fn take(&self) -> LeftOut {
        LeftOut {
            reasoning: self.reasoning.take(),
            foreign: self.opaque.take(),
            attachments: self.images.take(),
            missing: self.missing.take(),
        }
    }
}

/// Returns the metadata of a request's payload event: the counts that are not zero.
pub(crate) fn left_out_metadata(left_out: &LeftOut) -> Map<String, Value> {
    let all = [
        ("dropped_reasoning", left_out.reasoning),
        ("dropped_foreign", left_out.foreign),
        ("dropped_images", left_out.attachments),
        ("missing_blobs", left_out.missing),
    ];
    let nonzero = all.into_iter().filter(|(_, count)| *count > 0);
    nonzero.map(|(name, count)| (name.to_owned(), count.into())).collect()
}

/// What an encoder needs in addition to a message.
pub(crate) struct EncodeContext<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) wire: Wire,
    /// What reasoning must come from to be sent back with the current message.
    pub(crate) origin: Cell<Origin<'a>>,
    pub(crate) quirks: &'a Quirks,
    pub(crate) blobs: &'a HashMap<String, Vec<u8>>,
    pub(crate) counts: &'a LeftOutCounter,
}

/// An attachment in the form in which it can be sent.
pub(crate) enum Media {
    Image(String),
    Document(String),
    /// The attachment is sent as this text: its content, or a note that replaces it.
    Text(String),
}

impl EncodeContext<'_> {
    /// Returns whether a block was written by this wire and model, after the same conversation, and
    /// can be sent back.
    pub(crate) fn same_origin(&self, extra: &Map<String, Value>) -> bool {
        extra.get(WIRE_KEY).and_then(Value::as_str) == Some(self.wire.name())
            && self.same_model(extra)
    }

    fn same_model(&self, extra: &Map<String, Value>) -> bool {
        let origin = self.origin.get();
        let same_prefix = match (extra.get(PREFIX_KEY).and_then(Value::as_str), origin.prefix) {
            (Some(stored), Some(prefix)) => stored == prefix_text(prefix),
            // Journals of earlier versions do not have it.
            (None, _) | (_, None) => true,
        };
        same_prefix && extra.get(MODEL_KEY).and_then(Value::as_str) == Some(origin.model)
    }

    /// Counts signatures on text and calls that only another model can read. Signatures of
    /// reasoning blocks are counted where those are encoded.
    pub(crate) fn count_foreign_signatures(&self, message: &Message) {
        for block in &message.content {
            let extra = match block {
                Block::Text(text) => &text.extra,
                Block::ToolUse(call) => &call.extra,
                _ => continue,
            };
            if extra.contains_key(WIRE_KEY) && !self.same_origin(extra) {
                LeftOutCounter::count(&self.counts.reasoning);
            }
        }
    }

    /// Returns the value of an opaque block if it came from this wire, and from this model unless
    /// `any_model` is set.
    pub(crate) fn own_value<'b>(&self, block: &'b Opaque, any_model: bool) -> Option<&'b Value> {
        let is_own = block.wire == self.wire.name() && (any_model || self.same_model(&block.extra));
        if !is_own && !super::citations::ALL.contains(&block.wire.as_str()) {
            LeftOutCounter::count(&self.counts.opaque);
        }
        is_own.then_some(&block.value)
    }

    /// Encodes an attachment as base64, or returns the text that replaces it.
    pub(crate) fn media(&self, image: &Image) -> Media {
        let is_image = image.media_type.starts_with("image/");
        let is_text = image.media_type.starts_with("text/");
        let supported =
            is_text || if is_image { self.quirks.images } else { self.quirks.documents };
        if !supported {
            LeftOutCounter::count(&self.counts.images);
            let what = if is_image { "image" } else { "document" };
            return Media::Text(format!(
                "[{what} left out: this model's service does not take any ({})]",
                image.media_type
            ));
        }
        let Some(bytes) = self.blobs.get(&image.blob.sha256) else {
            LeftOutCounter::count(&self.counts.missing);
            return Media::Text(format!(
                "[attachment not available ({}, {} bytes)]",
                image.media_type, image.blob.bytes
            ));
        };
        // Every service accepts text, so text files are sent as text.
        if is_text {
            return Media::Text(String::from_utf8_lossy(bytes).into_owned());
        }
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        if is_image { Media::Image(data) } else { Media::Document(data) }
    }
}

/// Returns the form in which a block stores the fingerprint of the conversation before it.
pub(crate) fn prefix_text(prefix: u64) -> String {
    format!("{prefix:016x}")
}

/// An encoded request body.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// The fingerprint of the conversation that it contains.
    pub(crate) prefix: u64,
    /// What was left out of the conversation, including in messages that were encoded earlier.
    pub(crate) left_out: LeftOut,
}

/// Everything in a request apart from the encoded messages.
pub(crate) struct RequestFrame<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) quirks: &'a Quirks,
    /// The merged options of the vendor, the settings and the request.
    pub(crate) options: &'a Map<String, Value>,
    pub(crate) web: NativeWeb,
    /// The encoded tools, without the enclosing brackets.
    pub(crate) tools: &'a [u8],
    /// How long the service keeps what cache markers mark, as the service names it; `None` for its
    /// default.
    pub(crate) cache_ttl: Option<&'a str>,
    /// Whether the conversation contains tool calls.
    pub(crate) has_calls: bool,
    /// How many of the pieces are part of the conversation. The rest is for this call only and gets
    /// no cache marker.
    pub(crate) persistent: usize,
}

/// Encodes requests for one wire.
pub(crate) trait Encode: Send + Sync {
    /// Returns what the wire requires of tool call ids.
    fn ids(&self, quirks: &Quirks) -> IdRule;

    /// Encodes a message; no piece if nothing of it can be sent.
    fn message(&self, message: &Message, context: &EncodeContext<'_>) -> Vec<Piece>;

    /// Encodes results for calls that have none.
    fn unanswered(&self, calls: &[&ToolUse], context: &EncodeContext<'_>) -> Vec<Piece>;

    /// Encodes the whole request body.
    fn body(&self, frame: &RequestFrame<'_>, pieces: &[&Piece]) -> Vec<u8>;

    /// Returns the URL of a model call.
    fn call_url(&self, base: &Url, model: &str) -> Url;

    /// Encodes tools, one element per tool.
    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value>;

    /// Returns the URL and body of a token count request, or `None` if the wire has no such call.
    fn count_request(&self, base: &Url, model: &str, body: &Value) -> Option<(Url, Value)>;

    /// Reads the count from the response to such a request.
    fn parse_count(&self, answer: &Value) -> Option<u64> {
        ["input_tokens", "totalTokens"].iter().find_map(|key| answer.get(key)?.as_u64())
    }
}

/// A user message for a conversation that starts with an assistant message, which can happen after
/// compaction: some services require a user message first.
pub(crate) const OPENING: &str = "[The conversation continues.]";

/// Returns the arguments of a call as an object, because services accept nothing else.
pub(crate) fn arguments(input: &ToolInput) -> Cow<'_, Value> {
    match input {
        ToolInput::Json(value @ Value::Object(_)) => Cow::Borrowed(value),
        ToolInput::Json(Value::Null) => Cow::Owned(json!({})),
        ToolInput::Json(value) => Cow::Owned(json!({ "value": value })),
        // Sent back as it was, so that the model sees its own mistake.
        ToolInput::Unparsed(unparsed) => Cow::Owned(json!({ "invalid_json": unparsed.raw })),
    }
}

/// Returns the choice of tools on wires that name it by a word; none leaves it to the model.
/// `required` is the word for any tool, and `tool` makes the choice of one tool.
pub(crate) fn named_choice(
    frame: &RequestFrame<'_>,
    required: &str,
    tool: impl FnOnce(&str) -> Value,
) -> Option<Value> {
    if frame.tools.is_empty() {
        return None;
    }
    match &frame.request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some(required.into()),
        ToolChoice::Tool(name) => Some(tool(&tool_name(name))),
    }
}

/// Replaces characters that services reject in a tool's name: a name in the conversation may come
/// from another service, or a model may have invented it.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().map(|letter| if fits(letter) { letter } else { '_' });
    // The limit of most services is 64.
    let name: String = letters.take(64).collect();
    Cow::Owned(if name.is_empty() { "unnamed".to_owned() } else { name })
}

/// Appends a path to an address and keeps its query.
pub(crate) fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let whole = format!("{}/{}", url.path().trim_end_matches('/'), path.trim_start_matches('/'));
    url.set_path(&whole);
    if !query.is_empty() {
        let query = match url.query() {
            None | Some("") => query.to_owned(),
            Some(before) => format!("{before}&{query}"),
        };
        url.set_query(Some(&query));
    }
    url
}

/// Builds a JSON object whose fields keep the order in which they are added.
pub(crate) struct Object(Vec<u8>);

impl Object {
    pub(crate) fn new() -> Self {
        Self(vec![b'{'])
    }

    /// Writes a key and returns the buffer for its value.
    pub(crate) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        push_json(&mut self.0, key);
        self.0.push(b':');
        &mut self.0
    }

    pub(crate) fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        let out = self.key(key);
        push_json(out, value);
    }

    pub(crate) fn fields(&mut self, fields: &Map<String, Value>) {
        for (key, value) in fields {
            self.field(key, value);
        }
    }

    /// Writes a list of elements that are already encoded; an empty list is left out.
    pub(crate) fn list(&mut self, key: &str, elements: &[u8]) {
        if elements.is_empty() {
            return;
        }
        let out = self.key(key);
        out.push(b'[');
        out.extend_from_slice(elements);
        out.push(b']');
    }

    pub(crate) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Returns the schema of a tool's arguments, and whether it is one for strict mode.
pub(crate) fn tool_schema(tool: &ToolSpec, quirks: &Quirks) -> (Value, bool) {
    let strict = quirks.strict_tools.then(|| schema::strict(&tool.input_schema)).flatten();
    match strict {
        Some(strict) => (strict, true),
        None => (schema::plain(&tool.input_schema), false),
    }
}

/// Appends an element to encoded elements.
pub(crate) fn push_element(elements: &mut Vec<u8>, element: &Value) {
    if !elements.is_empty() {
        elements.push(b',');
    }
    push_json(elements, element);
}

/// Writes messages: neighbours with the same role become one message, which begins with `open`. `after`
/// is called after each piece.
pub(crate) fn write_grouped(
    pieces: &[&Piece],
    out: &mut Vec<u8>,
    open: impl Fn(PieceRole) -> &'static [u8],
    mut after: impl FnMut(usize, &mut Vec<u8>),
) {
    let mut role = None;
    for (at, piece) in pieces.iter().enumerate() {
        if role == Some(piece.role) {
            out.push(b',');
        } else {
            if role.is_some() {
                out.extend_from_slice(b"]},");
            }
            out.extend_from_slice(open(piece.role));
            role = Some(piece.role);
        }
        out.extend_from_slice(&piece.json);
        after(at, out);
    }
    if role.is_some() {
        out.extend_from_slice(b"]}");
    }
}

/// Returns the value of a cache marker.
pub(crate) fn cache_control(ttl: Option<&str>) -> Value {
    match ttl {
        None => json!({"type": "ephemeral"}),
        Some(ttl) => json!({"type": "ephemeral", "ttl": ttl}),
    }
}

/// Returns the blobs that are needed to encode a message.
pub(crate) fn blobs_of(message: &Message) -> Vec<&BlobRef> {
    use robota_core::message::ResultBlock;

    let mut blobs = Vec::new();
    for block in &message.content {
        match block {
            Block::Image(image) => blobs.push(&image.blob),
            Block::ToolResult(result) => {
                for part in &result.content {
                    if let ResultBlock::Image(image) = part {
                        blobs.push(&image.blob);
                    }
                }
            }
            Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolUse(_)
            | Block::Opaque(_)
            | Block::Unknown(_) => {}
        }
    }
    blobs
}
