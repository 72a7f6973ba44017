//! Decodes streams. Every event is a complete response object with the next parts; calls are never
//! split.

use robota_core::message::{Block, Text, ToolInput};
use robota_core::provider::{Delta, FailureReason, StopReason};
use robota_core::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{CONTINUATION, SIGNATURE};
use crate::failure::Failure;
use crate::json::{self, FirstElement, LenientCount, LenientStr};
use crate::profile::Wire;
use crate::wire::SERVER_TOOL_INDEX;
use crate::wire::citations::GROUNDING;
use crate::wire::decode::{CallIds, Decode, DeltaQueue, opaque, origin, sources, stop, thinking};

const WIRE: Wire = Wire::GeminiGenerateContent;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: FirstElement<Candidate<'a>>,
    #[serde(default)]
    usage_metadata: Option<Counts>,
    #[serde(default)]
    prompt_feedback: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(borrow, default)]
    finish_reason: LenientStr<'a>,
    #[serde(borrow, default)]
    finish_message: LenientStr<'a>,
    #[serde(default)]
    grounding_metadata: Option<Value>,
    /// Continues a paused answer in another request.
    #[serde(borrow, default)]
    continuation_token: LenientStr<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<LenientStr<'a>>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(borrow, default, alias = "thought_signature")]
    thought_signature: LenientStr<'a>,
    #[serde(borrow, default, alias = "function_call")]
    function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: LenientStr<'a>,
    #[serde(borrow, default)]
    name: LenientStr<'a>,
    #[serde(default)]
    args: Option<Value>,
}

/// Token counts. Nearly every event has them, so they are parsed without building a `Value`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    prompt_token_count: LenientCount,
    candidates_token_count: LenientCount,
    thoughts_token_count: LenientCount,
    cached_content_token_count: LenientCount,
    tool_use_prompt_token_count: LenientCount,
    total_token_count: LenientCount,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageFields {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

impl Counts {
    /// Converts the counts with the same function that all wires use.
    fn usage(self) -> Option<Usage> {
        let value = serde_json::to_value(UsageFields {
            prompt_token_count: self.prompt_token_count.0,
            candidates_token_count: self.candidates_token_count.0,
            thoughts_token_count: self.thoughts_token_count.0,
            cached_content_token_count: self.cached_content_token_count.0,
            tool_use_prompt_token_count: self.tool_use_prompt_token_count.0,
            total_token_count: self.total_token_count.0,
        });
        Usage::from_provider_value(&value.ok()?)
    }
}

pub(crate) struct Decoder {
    model: String,
    calls: CallIds,
    /// The reasoning since the last signature.
    thoughts: String,
    counts: Option<Counts>,
    stop: Option<StopReason>,
    searches: u32,
    /// How many queries the provider's own search ran.
    queries: u64,
    done: bool,
}

impl Decoder {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: CallIds::default(),
            thoughts: String::new(),
            counts: None,
            stop: None,
            searches: 0,
            queries: 0,
            done: false,
        }
    }

    fn part(&mut self, part: Part<'_>, out: &mut DeltaQueue) {
        let signature =
            (!part.thought_signature.is_empty()).then(|| part.thought_signature.0.into_owned());
        if let Some(call) = part.function_call {
            return self.call(call, signature, out);
        }
        let Some(text) = part.text else { return };
        if part.thought == Some(true) {
            if !text.is_empty() {
                self.thoughts.push_str(&text);
                out.push_back(Delta::Thinking(text.into_string()));
            }
            if signature.is_some() {
                let thoughts = std::mem::take(&mut self.thoughts);
                out.push_back(thinking(WIRE, &self.model, thoughts, signature));
            }
            return;
        }
        // Reasoning that no signature followed cannot be sent back, so it is not kept.
        self.thoughts.clear();
        match signature {
            None if text.is_empty() => {}
            None => out.push_back(Delta::Text(text.into_string())),
            // A part with a signature must be sent back unchanged, so it is not joined with others.
            Some(signature) if text.is_empty() => {
                let part = json!({"text": "", "thoughtSignature": signature});
                out.push_back(opaque(WIRE, &self.model, part));
            }
            Some(signature) => {
                let mut extra = origin(WIRE, &self.model);
                extra.insert(SIGNATURE.to_owned(), signature.into());
                out.push_back(Delta::Block(Block::Text(Text { text: text.into_string(), extra })));
            }
        }
    }

    fn call(&mut self, call: Call<'_>, signature: Option<String>, out: &mut DeltaQueue) {
        self.thoughts.clear();
        let args = call.args.filter(|args| !args.is_null()).unwrap_or_else(|| json!({}));
        out.push_back(Delta::ToolInput {
            index: self.calls.next_index(),
            // The call follows at once, with an id that may be generated.
            id: None,
            name: Some(call.name.to_string()),
            json: args.to_string(),
        });
        let mut extra = Map::new();
        if let Some(signature) = signature {
            extra = origin(WIRE, &self.model);
            extra.insert(SIGNATURE.to_owned(), signature.into());
        }
        let input = match args {
            // Arguments as text, as on other wires.
            Value::String(text) => ToolInput::parse(&text),
            args => ToolInput::Json(args),
        };
        out.push_back(self.calls.tool_use(&call.id, &call.name, input, extra));
    }

    fn grounding(&mut self, grounding: Value, out: &mut DeltaQueue) {
        if let Some(queries) = grounding.get("webSearchQueries") {
            self.queries += queries.as_array().map_or(0, |queries| queries.len() as u64);
            out.push_back(Delta::ToolInput {
                index: SERVER_TOOL_INDEX + self.searches,
                id: None,
                name: Some("web_search".to_owned()),
                json: json!({"queries": queries}).to_string(),
            });
            self.searches += 1;
        }
        out.push_back(sources(GROUNDING, &self.model, grounding));
    }

    fn end(&mut self, finish_reason: &str, message: &str) -> Result<(), Failure> {
        let reason = match finish_reason {
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "CONTINUATION" => StopReason::Pause,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
                StopReason::Filtered
            }
            finish_reason if finish_reason.starts_with("IMAGE_") => StopReason::Filtered,
            // The model produced invalid syntax: the same request may succeed.
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
                let more = if message.is_empty() { String::new() } else { format!(": {message}") };
                return Err(Failure::with_reason(
                    FailureReason::Server,
                    format!("the model's answer was malformed{more}"),
                )
                .code(finish_reason));
            }
            "FINISH_REASON_UNSPECIFIED" => return Ok(()),
            other => StopReason::Other(other.to_owned()),
        };
        self.stop = Some(reason);
        Ok(())
    }
}

impl Decode for Decoder {
    fn event(&mut self, name: &str, data: &str, out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        if name == "error" {
            return Err(Failure::from_body(data));
        }
        let mut repaired = None;
        let chunk: Chunk<'_> = match json::decode(data, &mut repaired) {
            Ok(chunk) => chunk,
            Err(_) if matches!(data.trim(), "" | "[DONE]") => return Ok(()),
            // An error inside a list.
            Err(_) if data.trim_start().starts_with('[') => return Err(Failure::from_body(data)),
            Err(failure) => return Err(failure),
        };
        if chunk.error.as_ref().is_some_and(|error| !error.is_null()) {
            return Err(Failure::from_body(repaired.as_deref().unwrap_or(data)));
        }
        if chunk.usage_metadata.is_some() {
            self.counts = chunk.usage_metadata;
        }
        let Some(candidate) = chunk.candidates.0 else {
            let blocked =
                chunk.prompt_feedback.as_ref().and_then(|metadata| metadata.get("blockReason"));
            return match blocked.and_then(Value::as_str) {
                Some(reason) => Err(Failure::with_reason(
                    FailureReason::ContentFilter,
                    format!("the prompt was blocked: {reason}"),
                )
                .code(reason)),
                None => Ok(()),
            };
        };
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out);
        }
        if let Some(grounding) = candidate.grounding_metadata.filter(|metadata| !metadata.is_null())
        {
            self.grounding(grounding, out);
        }
        if !candidate.continuation_token.is_empty() {
            let token = json!({CONTINUATION: &*candidate.continuation_token});
            out.push_back(opaque(WIRE, &self.model, token));
        }
        if !candidate.finish_reason.is_empty() {
            self.end(&candidate.finish_reason, &candidate.finish_message)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut DeltaQueue) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        let Some(reason) = self.stop.take() else { return Err(Failure::truncated()) };
        if let Some(usage) = self.counts.and_then(Counts::usage) {
            // The usage of this wire does not count searches; the answer lists their queries.
            out.push_back(Delta::Usage(Usage { web_searches: self.queries, ..usage }));
        }
        out.push_back(Delta::End(stop(reason, self.calls.has_calls())));
        self.done = true;
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
