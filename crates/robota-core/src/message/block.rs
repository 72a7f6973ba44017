//! Content blocks: the parts of a message.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::ids::CallId;

/// Holds one part of a message. A block of an unknown type is preserved.
///
/// ```
/// use robota_core::message::Block;
///
/// let block = Block::text("Hello");
/// assert_eq!(serde_json::to_value(&block)?["type"], "text");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(description = "One part of a message. A block of an unknown type is preserved.")]
pub enum Block {
    /// Text for the reader, or for the model.
    Text(Text),
    /// The model's reasoning, with the signature that the provider requires to accept it back.
    Thinking(Thinking),
    /// An image, stored as a blob.
    Image(Image),
    /// A tool call that the model asks for.
    ToolUse(ToolUse),
    /// The result of a tool call.
    ToolResult(Arc<ToolResult>),
    /// Content that only one provider understands; it is sent back to that provider unchanged.
    Opaque(Opaque),
    /// A block of an unknown type, unchanged.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Value),
}

/// Refers to content in the blob store by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// The size of the content in bytes.
    pub bytes: u64,
}

macro_rules! blocks {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$fdoc:meta])* $field:ident : $type:ty ),* $(,)? } )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $( $(#[$fdoc])* pub $field: $type, )*
            /// Fields that this version does not know.
            #[serde(flatten)]
            pub extra: Map<String, Value>,
        }
    )* };
}

blocks! {
    /// Text of a message or of a tool result.
    Text {
        /// The text in UTF-8, as it was written.
        text: String,
    }

    /// The model's reasoning, which it wrote before its answer.
    Thinking {
        /// The text of the reasoning; empty if the provider hides it.
        thinking: String,
        /// The provider's proof that the reasoning is unaltered; absent if the provider uses none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    }

    /// An image, whose bytes are a blob of the session.
    Image {
        /// The blob with the image's bytes.
        blob: BlobRef,
        /// The MIME type, for example `image/png`.
        media_type: String,
    }

    /// A tool call that the model asks for.
    ToolUse {
        /// Our id of the call, unique across sessions.
        call: CallId,
        /// The provider's id of the call. It may repeat in later turns and is sent back unchanged.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments, which the tool's schema describes.
        input: ToolInput,
    }

    /// The result of a tool call.
    ToolResult {
        /// Our id of the call, as in its `tool_use`.
        call: CallId,
        /// The provider's id of the call.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The content that the model sees.
        content: Vec<ResultBlock>,
        /// Whether the call failed; absent if it succeeded.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Values for users and tools; never sent to a model.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }

    /// Content that only one provider understands.
    Opaque {
        /// The wire that produced the block; other wires omit it from their requests.
        wire: String,
        /// The content as that wire encodes it.
        value: Value,
    }
}

/// Holds one part of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    /// Text that the model reads; it may be cut at a limit.
    Text(Text),
    /// An image, for models that accept one.
    Image(Image),
    /// A part of an unknown type, unchanged.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Value),
}

impl ResultBlock {
    /// Creates a part with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), extra: Map::new() })
    }
}

/// Holds the arguments of a tool call: parsed JSON, or the text that could not be parsed.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum ToolInput {
    /// The text could not be parsed; the call gets an error result.
    Unparsed(UnparsedInput),
    /// The arguments as JSON, not yet checked against the tool's schema.
    Json(Value),
}

/// Arguments that are not valid JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnparsedInput {
    /// The text that the model wrote.
    #[serde(rename = "$unparsed")]
    pub raw: String,
    /// What the parser says about the text.
    #[serde(rename = "$error")]
    pub error: String,
}

/// Arguments from a model may look like the serialised form of [`UnparsedInput`]. Such arguments
/// are wrapped as `{"$json": …}` when they are written, so that they are read back unchanged.
const ESCAPED: &str = "$json";

impl Serialize for ToolInput {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unparsed(unparsed) => unparsed.serialize(serializer),
            // Arguments of a model that look like our own marker are wrapped, so that reading them
            // gives the same value again.
            Self::Json(value) if is_reserved(value) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(ESCAPED, value)?;
                map.end()
            }
            Self::Json(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        if !is_reserved(&value) {
            return Ok(Self::Json(value));
        }
        if let Some(escaped) = value.get_mut(ESCAPED) {
            return Ok(Self::Json(escaped.take()));
        }
        let unparsed = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Self::Unparsed(unparsed))
    }
}

/// Deserialises a value that is present. `null` becomes `Some(Value::Null)`, not `None`.
pub(crate) fn deserialize_some<'de, D>(deserializer: D) -> Result<Option<Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Value::deserialize(deserializer).map(Some)
}

/// Returns true for JSON that would not be read back as itself without escaping.
fn is_reserved(value: &Value) -> bool {
    let Value::Object(fields) = value else { return false };
    let text = |name| fields.get(name).is_some_and(Value::is_string);
    match fields.len() {
        1 => fields.contains_key(ESCAPED),
        2 => text("$unparsed") && text("$error"),
        _ => false,
    }
}

impl ToolInput {
    /// Parses the arguments that a model wrote; empty text is an empty object.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        // Services send an empty text for a call without arguments.
        if raw.trim().is_empty() {
            return Self::Json(Value::Object(Map::new()));
        }
        match serde_json::from_str::<Value>(raw) {
            Ok(value) => Self::Json(value),
            Err(error) => {
                Self::Unparsed(UnparsedInput { raw: raw.to_owned(), error: error.to_string() })
            }
        }
    }

    /// Returns the arguments, or `None` if they could not be parsed.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            Self::Unparsed(_) => None,
        }
    }
}

impl Block {
    /// Creates a block with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), extra: Map::new() })
    }

    /// Creates a block of reasoning, with the provider's signature if there is one.
    pub fn thinking(thinking: impl Into<String>, signature: Option<String>) -> Self {
        Self::Thinking(Thinking { thinking: thinking.into(), signature, extra: Map::new() })
    }
}

impl ToolUse {
    /// Creates a call without unknown fields.
    pub fn new(
        call: CallId,
        id: impl Into<String>,
        name: impl Into<String>,
        input: ToolInput,
    ) -> Self {
        Self { call, id: id.into(), name: name.into(), input, extra: Map::new() }
    }
}

impl ToolUse {
    /// Returns the id that hooks and hosts see: the provider's, or ours if the provider has none.
    #[must_use]
    pub fn public_id(&self) -> &str {
        public_id(&self.id, &self.call)
    }
}

fn public_id<'a>(id: &'a str, call: &'a CallId) -> &'a str {
    if id.is_empty() { call.as_str() } else { id }
}

impl ToolResult {
    /// Returns the id of the call, as [`ToolUse::public_id`] does.
    #[must_use]
    pub fn public_id(&self) -> &str {
        public_id(&self.id, &self.call)
    }

    /// Creates a text result for a call.
    pub fn text(call: &ToolUse, text: impl Into<String>, is_error: bool) -> Self {
        Self {
            call: call.call.clone(),
            id: call.id.clone(),
            name: call.name.clone(),
            content: vec![ResultBlock::text(text)],
            is_error,
            metadata: Map::new(),
            extra: Map::new(),
        }
    }

    /// Returns the text of all text parts, joined without a separator.
    #[must_use]
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        for block in &self.content {
            if let ResultBlock::Text(part) = block {
                text.push_str(&part.text);
            }
        }
        text
    }
}

/// Implements `Deserialize` for an enum of blocks. Blocks that we wrote begin with their type, and are
/// read straight into their struct; a block whose type comes later is collected first.
macro_rules! deserialize_blocks {
    ($enum:ident { $($tag:literal => $variant:ident),+ $(,)? }) => {
        impl<'de> Deserialize<'de> for $enum {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Blocks;

                impl<'de> Visitor<'de> for Blocks {
                    type Value = $enum;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a content block")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$enum, A::Error> {
                        let mut block = Map::new();
                        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                            // The fast path: the tag is the first field, as we write it, so the
                            // rest is read without an intermediate map.
                            if key != "type" || !block.is_empty() {
                                block.insert(key.into_owned(), map.next_value()?);
                                continue;
                            }
                            let tag: Value = map.next_value()?;
                            match tag.as_str() {
                                $(Some($tag) => {
                                    let data = MapAccessDeserializer::new(map);
                                    return Deserialize::deserialize(data).map($enum::$variant);
                                })+
                                _ => block.insert("type".to_owned(), tag),
                            };
                        }
                        let tag = block.get("type").and_then(Value::as_str);
                        match tag.ok_or_else(|| A::Error::custom("a content block has no `type`"))? {
                            $($tag => data(block).map($enum::$variant),)+
                            // A block of a newer version is kept as it is and written back
                            // unchanged.
                            _ => Ok($enum::Unknown(Value::Object(block))),
                        }
                    }
                }

                deserializer.deserialize_map(Blocks)
            }
        }
    };
}

deserialize_blocks!(Block {
    "text" => Text,
    "thinking" => Thinking,
    "image" => Image,
    "tool_use" => ToolUse,
    "tool_result" => ToolResult,
    "opaque" => Opaque,
});
deserialize_blocks!(ResultBlock { "text" => Text, "image" => Image });

/// Deserialises a block of a known type.
fn data<T: DeserializeOwned, E: serde::de::Error>(mut block: Map<String, Value>) -> Result<T, E> {
    // `shift_remove` preserves the order, so unknown fields are written back in their old order.
    block.shift_remove("type");
    serde_json::from_value(Value::Object(block)).map_err(E::custom)
}
