//! Decodes streams.
//!
//! Services on this wire differ a lot: reasoning has three field names, usage can come with any
//! chunk, the finish reason may come once or twice, with or without `[DONE]` after it, and calls
//! may be split or whole, with or without an index.

use std::fmt;

use robota_core::message::ToolInput;
use robota_core::provider::{Delta, StopReason};
use robota_core::usage::Usage;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::json::{self, Arguments, FirstElement, LenientCount, LenientStr};
use crate::profile::Wire;
use crate::wire::citations::CHAT;
use crate::wire::decode::{CallIds, Decode, DeltaQueue, opaque, origin, sources, stop};

const WIRE: Wire = Wire::ChatCompletions;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: FirstElement<Choice<'a>>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    /// Some services send a whole message in the stream.
    #[serde(borrow, default)]
    message: Option<Piece<'a>>,
    #[serde(borrow, default)]
    finish_reason: LenientStr<'a>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    reasoning_content: LenientStr<'a>,
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    /// The sources of the answer.
    #[serde(default)]
    annotations: Option<Value>,
    #[serde(borrow, default)]
    refusal: LenientStr<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
    #[serde(borrow, default)]
    function_call: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default)]
    index: LenientCount,
    #[serde(borrow, default)]
    id: LenientStr<'a>,
    #[serde(borrow, default)]
    function: Option<FunctionPiece<'a>>,
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Deserialize, Default)]
struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    name: LenientStr<'a>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
}

/// Text, or a list of parts that contain text or reasoning.
#[derive(Default)]
struct Content<'a> {
    text: LenientStr<'a>,
    parts: Vec<Value>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for ContentVisitor<'a> {
            type Value = Content<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of parts")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content { text: LenientStr(text.into()), parts: Vec::new() })
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content { text: LenientStr(text.to_owned().into()), parts: Vec::new() })
            }

            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Content { text: LenientStr(text.into()), parts: Vec::new() })
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let mut content = Content::default();
                while let Some(part) = all.next_element()? {
                    content.parts.push(part);
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(ContentVisitor(std::marker::PhantomData))
    }
}

/// A call whose pieces are still arriving.
struct Call {
    index: Option<u64>,
    number: u32,
    id: String,
    name: String,
    json: String,
    extra: Map<String, Value>,
}

pub(crate) struct Decoder {
    model: String,
    calls: Vec<Call>,
    ids: CallIds,
    details: Vec<Value>,
    sources: Vec<Value>,
    usage: Option<Usage>,
    refused: bool,
    stop: Option<StopReason>,
    done: bool,
}

impl Decoder {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: Vec::new(),
            ids: CallIds::default(),
            details: Vec::new(),
            sources: Vec::new(),
            usage: None,
            refused: false,
            stop: None,
            done: false,
        }
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut DeltaQueue) {
        // A service that sends both fields repeats the text in the second one.
        if !piece.reasoning_content.is_empty() {
            out.push_back(Delta::Thinking(piece.reasoning_content.into_string()));
        } else if let Some(Value::String(text)) = piece.reasoning
            && !text.is_empty()
        {
            out.push_back(Delta::Thinking(text));
        }
        for detail in piece.reasoning_details.into_iter().flatten() {
            merge_detail(&mut self.details, detail);
        }
        if let Some(Value::Array(sources)) = piece.annotations {
            self.sources.extend(sources);
        }
        for part in piece.content.parts {
            read_part(&part, out);
        }
        if !piece.content.text.is_empty() {
            out.push_back(Delta::Text(piece.content.text.into_string()));
        }
        if !piece.refusal.is_empty() {
            self.refused = true;
            // A refusal has a field of its own, but to the user it is the answer.
            out.push_back(Delta::Text(piece.refusal.into_string()));
        }
        if self.stop.is_some() {
            // The calls were emitted with the finish reason; this is a repetition.
            return;
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call, out);
        }
        if let Some(function) = piece.function_call {
            // The old form of the API has one call without an index.
            let call = CallPiece {
                index: LenientCount(Some(0)),
                id: LenientStr::default(),
                function: Some(function),
                extra_content: None,
            };
            self.call(call, out);
        }
    }

    /// Returns the index of the call that a piece belongs to, or `None` if the piece starts a new
    /// call.
    fn find_call(&self, piece: &CallPiece<'_>, name: &str) -> Option<usize> {
        let id = &*piece.id;
        let position = match piece.index.0 {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if !id.is_empty() => {
                return self.calls.iter().rposition(|call| call.id == id);
            }
            // Neither index nor id: a name starts a call, anything else continues the last one.
            None if !name.is_empty() => return None,
            None => self.calls.len().checked_sub(1),
        };
        let other = |at: &usize| {
            let call = &self.calls[*at];
            // A different id together with a name is another call, even with the same index.
            !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty()
        };
        position.filter(|at| !other(at))
    }

    fn call(&mut self, mut piece: CallPiece<'_>, out: &mut DeltaQueue) {
        let function = piece.function.take().unwrap_or_default();
        let at = self.find_call(&piece, &function.name).unwrap_or_else(|| {
            self.calls.push(Call {
                index: piece.index.0,
                number: self.ids.next_index(),
                id: String::new(),
                name: String::new(),
                json: String::new(),
                extra: Map::new(),
            });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            call.id.push_str(&piece.id);
        }
        let mut named = None;
        if call.name.is_empty() && !function.name.is_empty() {
            // Later pieces may repeat the name, so it is taken once.
            call.name.push_str(&function.name);
            named = Some(call.name.clone());
        }
        if let Some(extra) = piece.extra_content.filter(|extra| !extra.is_null()) {
            call.extra = origin(WIRE, &self.model);
            call.extra.insert("extra_content".to_owned(), extra);
        }
        let json = function.arguments.0;
        call.json.push_str(&json);
        if named.is_some() || !json.is_empty() {
            out.push_back(Delta::ToolInput {
                index: call.number,
                id: named.as_ref().and(Some(call.id.clone())).filter(|id| !id.is_empty()),
                name: named,
                json: json.into_owned(),
            });
        }
    }

    fn end(&mut self, finish_reason: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        let reason = match finish_reason {
            "stop" | "eos" | "end_turn" => StopReason::EndTurn,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "length" | "max_tokens" | "model_length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Filtered,
            "error" => return Err(Failure::new("the service aborted its answer").code("error")),
            other => StopReason::Other(other.to_owned()),
        };
        // Only now are the arguments of all calls complete.
        self.emit_calls(out);
        // If the service sends two finish reasons, the first one counts.
        self.stop.get_or_insert(reason);
        Ok(())
    }

    fn emit_calls(&mut self, out: &mut DeltaQueue) {
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            out.push_back(opaque(WIRE, &self.model, json!({"reasoning_details": details})));
        }
        for call in self.calls.drain(..) {
            let input = ToolInput::parse(&call.json);
            out.push_back(self.ids.tool_use(&call.id, &call.name, input, call.extra));
        }
    }

    fn close(&mut self, out: &mut DeltaQueue) {
        self.emit_calls(out);
        if !self.sources.is_empty() {
            let all = Value::Array(std::mem::take(&mut self.sources));
            out.push_back(sources(CHAT, &self.model, all));
        }
        if let Some(usage) = self.usage {
            out.push_back(Delta::Usage(usage));
        }
        let reason = match self.stop.take() {
            // The text of a refusal has a field of its own; the finish reason is the usual one.
            Some(StopReason::EndTurn) | None if self.refused => StopReason::Refusal,
            Some(reason) => reason,
            None => StopReason::EndTurn,
        };
        out.push_back(Delta::End(stop(reason, self.ids.has_calls())));
        self.done = true;
    }
}

/// Reads a part of an answer: text, or reasoning with text inside.
fn read_part(part: &Value, out: &mut DeltaQueue) {
    let text = |value: &Value| value.get("text").and_then(Value::as_str).map(str::to_owned);
    match part.get("type").and_then(Value::as_str) {
        Some("thinking") => match part.get("thinking") {
            Some(Value::Array(inner)) => {
                out.extend(inner.iter().filter_map(text).map(Delta::Thinking));
            }
            Some(Value::String(content)) => out.push_back(Delta::Thinking(content.clone())),
            _ => {}
        },
        _ => out.extend(text(part).filter(|content| !content.is_empty()).map(Delta::Text)),
    }
}

/// Details also arrive in pieces: text of the same type and index is appended to the previous
/// piece.
fn merge_detail(details: &mut Vec<Value>, detail: Value) {
    let same = |last: &Value, key: &str| last.get(key) == detail.get(key);
    if let Some(last) = details.last_mut()
        && same(last, "type")
        && same(last, "index")
        && let Value::Object(last) = last
    {
        let Value::Object(piece) = detail else { return };
        for (key, value) in piece {
            let is_text = matches!(key.as_str(), "text" | "summary" | "data");
            match (last.get_mut(&key), value) {
                (Some(Value::String(before)), Value::String(more)) if is_text => {
                    before.push_str(&more);
                }
                (_, Value::Null) => {}
                (_, value) => drop(last.insert(key, value)),
            }
        }
        return;
    }
    details.push(detail);
}

impl Decode for Decoder {
    fn event(&mut self, name: &str, data: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        if name == "error" {
            return Err(Failure::from_body(data));
        }
        if data.trim() == "[DONE]" {
            self.close(out);
            return Ok(());
        }
        let mut repaired = None;
        let chunk: Chunk<'_> = match json::decode(data, &mut repaired) {
            Ok(chunk) => chunk,
            Err(_) if data.trim().is_empty() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        if chunk.error.as_ref().is_some_and(|error| !error.is_null()) {
            return Err(Failure::from_body(repaired.as_deref().unwrap_or(data)));
        }
        if let Some(usage) = chunk.usage.as_ref().and_then(Usage::from_provider_value) {
            // Totals so far, in any number of chunks: the last one counts.
            self.usage = Some(usage);
        }
        if let Some(choice) = chunk.choices.0 {
            if let Some(piece) = choice.delta.or(choice.message) {
                self.piece(piece, out);
            }
            if !choice.finish_reason.is_empty() {
                self.end(&choice.finish_reason, out)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        // Not every service sends `[DONE]`, but each ends a complete answer with a finish reason.
        if self.stop.is_none() {
            return Err(Failure::truncated());
        }
        self.close(out);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }
}

#[cfg(test)]
mod tests;
