//! Content blocks: the parts of a message.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::ids::CallId;

/// One part of a message. A block of a type that a reader does not know is kept as it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text(Text),
    /// The model's reasoning, with the signature that lets it be sent back.
    Thinking(Thinking),
    /// A picture, kept as a blob.
    Image(Image),
    /// A tool call the model asks for.
    ToolUse(ToolUse),
    /// What a tool call came to.
    ToolResult(ToolResult),
    /// Something only one provider understands, sent back to it as it came.
    Opaque(Opaque),
    /// A block type this version does not know, kept as it was.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Value),
}

/// A reference to bytes in the blob store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    /// Hash of the bytes, in hexadecimal.
    pub sha256: String,
    /// How many bytes.
    pub bytes: u64,
}

macro_rules! blocks {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$fdoc:meta])* $field:ident : $type:ty ),* $(,)? } )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $( $(#[$fdoc])* pub $field: $type, )*
            /// Fields this version does not know.
            #[serde(flatten)]
            pub extra: Map<String, Value>,
        }
    )* };
}

blocks! {
    /// Words.
    Text {
        /// The words.
        text: String,
    }

    /// The model's reasoning.
    Thinking {
        /// What it thought; empty when the provider hides it.
        thinking: String,
        /// The provider's proof that it is unaltered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    }

    /// A picture.
    Image {
        /// Where its bytes are.
        blob: BlobRef,
        /// For example `image/png`.
        media_type: String,
    }

    /// A tool call.
    ToolUse {
        /// Ours, unique.
        call: CallId,
        /// The provider's, which may repeat from turn to turn and is sent back as it came.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments.
        input: ToolInput,
    }

    /// The result of a tool call.
    ToolResult {
        /// Ours, the same as in the call.
        call: CallId,
        /// The provider's id of the call.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// What the model is told.
        content: Vec<ResultBlock>,
        /// Whether it failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Facts about it for people and tools; never sent to a model.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }

    /// Something only one provider understands.
    Opaque {
        /// Which wire wrote it; other wires leave it out.
        wire: String,
        /// What it wrote.
        value: Value,
    }
}

/// One part of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    /// Text.
    Text(Text),
    /// A picture.
    Image(Image),
    /// A part this version does not know, kept as it was.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Value),
}

impl ResultBlock {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), extra: Map::new() })
    }
}

/// The arguments of a tool call: whole, or declared unreadable. There is no third state.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum ToolInput {
    /// What the model sent could not be parsed; the call is answered with the error.
    Unparsed(Unparsed),
    /// Arguments as JSON.
    Json(Value),
}

/// Arguments that are not JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unparsed {
    /// What the model wrote.
    #[serde(rename = "$unparsed")]
    pub raw: String,
    /// Why it cannot be read.
    #[serde(rename = "$error")]
    pub error: String,
}

/// Arguments that a model chose to look like our own words for unreadable ones are written as
/// `{"$json": …}`: what it asked for is what is read back.
const ESCAPED: &str = "$json";

impl Serialize for ToolInput {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unparsed(unparsed) => unparsed.serialize(serializer),
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

/// Reads JSON that is there: a `null` that was given is not the same as nothing given.
pub(crate) fn given<'de, D>(deserializer: D) -> Result<Option<Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Value::deserialize(deserializer).map(Some)
}

/// Whether JSON would be read as something other than itself.
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
    /// Reads what a model wrote as arguments; nothing at all is an empty object.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self::Json(Value::Object(Map::new()));
        }
        match serde_json::from_str::<Value>(raw) {
            Ok(value) => Self::Json(value),
            Err(error) => {
                Self::Unparsed(Unparsed { raw: raw.to_owned(), error: error.to_string() })
            }
        }
    }

    /// The arguments, if they could be read.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            Self::Unparsed(_) => None,
        }
    }
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), extra: Map::new() })
    }

    /// A thinking block.
    pub fn thinking(thinking: impl Into<String>, signature: Option<String>) -> Self {
        Self::Thinking(Thinking { thinking: thinking.into(), signature, extra: Map::new() })
    }
}

impl ToolUse {
    /// A call with nothing unknown in it.
    pub fn new(
        call: CallId,
        id: impl Into<String>,
        name: impl Into<String>,
        input: ToolInput,
    ) -> Self {
        Self { call, id: id.into(), name: name.into(), input, extra: Map::new() }
    }
}

impl ToolResult {
    /// The result of that call, as text.
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

    /// All its words.
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

/// Reads a block of a known type.
fn data<T: DeserializeOwned, E: serde::de::Error>(mut block: Map<String, Value>) -> Result<T, E> {
    // In order, so that fields this version does not know are written back as they were.
    block.shift_remove("type");
    serde_json::from_value(Value::Object(block)).map_err(E::custom)
}
