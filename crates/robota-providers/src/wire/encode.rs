//! What encoders share: a conversation is written message by message, each into pieces that
//! stay the same from round to round.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use base64::Engine as _;
use robota_core::message::{BlobRef, Block, Image, Message, Opaque, ToolInput, ToolUse};
use robota_core::provider::{LeftOut, ModelRequest, NativeWeb};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};
use url::Url;

use super::plan::{IdRule, Plan};
use super::{MODEL_KEY, WIRE_KEY};
use crate::json::push_json;
use crate::profile::{Quirks, Wire};

/// Whose turn a piece belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The user's, tool results included.
    User,
    /// The model's.
    Model,
    /// Tool results, where a wire keeps them apart.
    Tool,
}

/// Elements of JSON, separated by commas: parts of a message, or messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) side: Side,
    pub(crate) json: Vec<u8>,
    /// Whether a cache marker can be put into the last element.
    pub(crate) markable: bool,
}

impl Piece {
    /// The elements as a piece; none when there are none.
    pub(crate) fn new(side: Side, elements: &[Value]) -> Option<Self> {
        let last = elements.last()?;
        let mut json = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                json.push(b',');
            }
            push_json(&mut json, element);
        }
        let kind = last.get("type").and_then(Value::as_str).unwrap_or_default();
        let markable = last.is_object() && !matches!(kind, "thinking" | "redacted_thinking");
        Some(Self { side, json, markable })
    }
}

/// What could not be sent as it is, counted.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    pub(crate) reasoning: Cell<u64>,
    pub(crate) opaque: Cell<u64>,
    pub(crate) images: Cell<u64>,
    pub(crate) missing: Cell<u64>,
}

impl Lost {
    pub(crate) fn count(cell: &Cell<u64>) {
        cell.set(cell.get() + 1);
    }

    /// What was counted since the last time.
    pub(crate) fn take(&self) -> LeftOut {
        LeftOut {
            reasoning: self.reasoning.take(),
            foreign: self.opaque.take(),
            attachments: self.images.take(),
            missing: self.missing.take(),
        }
    }
}

/// What there is to tell about a request, as scalars.
pub(crate) fn facts(left_out: &LeftOut) -> Map<String, Value> {
    let all = [
        ("dropped_reasoning", left_out.reasoning),
        ("dropped_foreign", left_out.foreign),
        ("dropped_images", left_out.attachments),
        ("missing_blobs", left_out.missing),
    ];
    let told = all.into_iter().filter(|(_, count)| *count > 0);
    told.map(|(name, count)| (name.to_owned(), count.into())).collect()
}

/// What an encoder needs beside a message.
pub(crate) struct Cx<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) wire: Wire,
    pub(crate) model: &'a str,
    pub(crate) quirks: &'a Quirks,
    pub(crate) blobs: &'a HashMap<String, Vec<u8>>,
    pub(crate) lost: &'a Lost,
}

/// A picture or a document, as far as it can be sent.
pub(crate) enum Media {
    Image(String),
    Document(String),
    /// It cannot be sent; these words stand for it.
    Words(String),
}

impl Cx<'_> {
    /// Whether a block goes back to this wire and model.
    pub(crate) fn is_ours(&self, extra: &Map<String, Value>) -> bool {
        extra.get(WIRE_KEY).and_then(Value::as_str) == Some(self.wire.name())
            && extra.get(MODEL_KEY).and_then(Value::as_str) == Some(self.model)
    }

    /// Counts proofs of reasoning beside words and calls that only another model can read. Those
    /// of whole thoughts are counted where they are written.
    pub(crate) fn count_foreign_proofs(&self, message: &Message) {
        for block in &message.content {
            let extra = match block {
                Block::Text(text) => &text.extra,
                Block::ToolUse(call) => &call.extra,
                _ => continue,
            };
            if extra.contains_key(WIRE_KEY) && !self.is_ours(extra) {
                Lost::count(&self.lost.reasoning);
            }
        }
    }

    /// What an opaque block holds, if it is this wire's. `any_model` when it does not matter
    /// which model wrote it.
    pub(crate) fn own<'b>(&self, block: &'b Opaque, any_model: bool) -> Option<&'b Value> {
        let model = block.extra.get(MODEL_KEY).and_then(Value::as_str);
        let own = block.wire == self.wire.name() && (any_model || model == Some(self.model));
        if !own && !super::ASIDE.contains(&block.wire.as_str()) {
            Lost::count(&self.lost.opaque);
        }
        own.then_some(&block.value)
    }

    /// A picture's bytes in base64, or what stands for it.
    pub(crate) fn media(&self, image: &Image) -> Media {
        let is_image = image.media_type.starts_with("image/");
        let is_text = image.media_type.starts_with("text/");
        let wanted = is_text || if is_image { self.quirks.images } else { self.quirks.documents };
        if !wanted {
            Lost::count(&self.lost.images);
            let what = if is_image { "image" } else { "document" };
            return Media::Words(format!(
                "[{what} left out: this model's service does not take any ({})]",
                image.media_type
            ));
        }
        let Some(bytes) = self.blobs.get(&image.blob.sha256) else {
            Lost::count(&self.lost.missing);
            return Media::Words(format!(
                "[attachment not available ({}, {} bytes)]",
                image.media_type, image.blob.bytes
            ));
        };
        // Every service reads words.
        if is_text {
            return Media::Words(String::from_utf8_lossy(bytes).into_owned());
        }
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        if is_image { Media::Image(data) } else { Media::Document(data) }
    }
}

/// A request's body, and what there is to tell about it.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// What of the conversation is not in it, written now or before.
    pub(crate) left_out: LeftOut,
}

/// What goes around the conversation.
pub(crate) struct Frame<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) quirks: &'a Quirks,
    /// Options of the vendor, the settings and the request, put together.
    pub(crate) options: &'a Map<String, Value>,
    pub(crate) web: NativeWeb,
    /// The tools, written, without brackets.
    pub(crate) tools: &'a [u8],
    /// Whether the conversation has tool calls in it.
    pub(crate) has_calls: bool,
    /// How many of the pieces belong to the conversation.
    pub(crate) lasting: usize,
}

/// Writes requests of one wire.
pub(crate) trait Encode: Send + Sync {
    /// What it asks of ids.
    fn ids(&self, quirks: &Quirks) -> IdRule;

    /// A message's pieces.
    fn message(&self, message: &Message, cx: &Cx<'_>) -> Vec<Piece>;

    /// Results for calls that nobody answered.
    fn unanswered(&self, calls: &[&ToolUse], cx: &Cx<'_>) -> Vec<Piece>;

    /// The whole body.
    fn body(&self, frame: &Frame<'_>, pieces: &[&Piece]) -> Vec<u8>;

    /// Where a call goes, below the service's address.
    fn call_url(&self, base: &Url, model: &str) -> Url;

    /// Tools, one element each.
    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value>;

    /// Where tokens are counted, and the body that asks; none when the wire cannot.
    fn count(&self, base: &Url, model: &str, body: &Value) -> Option<(Url, Value)>;

    /// The count in such an answer.
    fn counted(&self, answer: &Value) -> Option<u64> {
        ["input_tokens", "totalTokens"].iter().find_map(|key| answer.get(key)?.as_u64())
    }
}

/// What a user is made to say when a conversation begins with an answer, as one may that was
/// shortened: some services want a user's words first.
pub(crate) const OPENING: &str = "[The conversation goes on.]";

/// A call's arguments as an object, which is all that services take.
pub(crate) fn arguments(input: &ToolInput) -> Value {
    match input {
        ToolInput::Json(value @ Value::Object(_)) => value.clone(),
        ToolInput::Json(Value::Null) => json!({}),
        ToolInput::Json(value) => json!({ "value": value }),
        ToolInput::Unparsed(unparsed) => json!({ "invalid_json": unparsed.raw }),
    }
}

/// A tool's name as services take it: a name in the conversation may be another service's, or
/// what a model made up.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().map(|letter| if fits(letter) { letter } else { '_' });
    let name: String = letters.take(64).collect();
    Cow::Owned(if name.is_empty() { "unnamed".to_owned() } else { name })
}

/// An address with more path behind it. What it has for a query stays.
pub(crate) fn below(base: &Url, path: &str) -> Url {
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

/// The fields of a body one after the other, in the order in which they are put in.
pub(crate) struct Object(Vec<u8>);

impl Object {
    pub(crate) fn new() -> Self {
        Self(vec![b'{'])
    }

    /// The place of a field's value.
    pub(crate) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        push_json(&mut self.0, key);
        self.0.push(b':');
        &mut self.0
    }

    pub(crate) fn field<T: serde::Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        let out = self.key(key);
        push_json(out, value);
    }

    pub(crate) fn fields(&mut self, fields: &Map<String, Value>) {
        for (key, value) in fields {
            self.field(key, value);
        }
    }

    pub(crate) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// The blobs a message needs to be written.
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
