//! Entry points of the fuzz targets: each function takes arbitrary bytes and panics when an
//! invariant is violated. They are behind the feature `fuzzing`, for `fuzz/` and the test that
//! replays its corpora; programs do not need it.
//!
//! The invariants: reading never panics, the way in which the bytes are split into chunks does not
//! matter, an answer ends at most once and nothing follows its end, and call ids are unique.

use std::collections::BTreeSet;
use std::sync::Arc;

use robota_core::message::Block;
use robota_core::permission::Class;
use robota_core::provider::Delta;
use robota_core::tool::ToolSpec;
use serde_json::json;

use crate::failure::Failure;
use crate::http::{Limits, Sse};
use crate::profile::{Quirks, TextCallForm, ThinkMark, Wire};
use crate::wire::{self, Decode, DeltaQueue};

/// Decodes the bytes as an Anthropic Messages stream.
pub fn anthropic(data: &[u8]) {
    check(data, Wire::AnthropicMessages, &Quirks::default());
}

/// Decodes the bytes as a Chat Completions stream.
pub fn chat(data: &[u8]) {
    check(data, Wire::ChatCompletions, &Quirks::default());
}

/// Decodes the bytes as a Responses stream.
pub fn responses(data: &[u8]) {
    check(data, Wire::Responses, &Quirks::default());
}

/// Decodes the bytes as a Gemini stream.
pub fn gemini(data: &[u8]) {
    check(data, Wire::GeminiGenerateContent, &Quirks::default());
}

/// Reads tool calls and reasoning from text: the bytes are the text, streamed in pieces.
pub fn text_calls(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let size = usize::from(data.first().copied().unwrap_or(0) % 8) + 1;
    let letters: Vec<char> = text.chars().collect();
    let pieces = |size: usize| -> Vec<String> {
        letters.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
    };
    let quirks = local_quirks();
    let whole = read_text(&pieces(letters.len()), &quirks);
    let chunked = read_text(&pieces(size), &quirks);
    assert_eq!(whole, chunked, "the size of the pieces does not matter");
    let shown: String = whole.iter().filter_map(text_of).collect();
    let calls = whole.iter().any(|delta| matches!(delta, Delta::Block(_)));
    if !calls && !text.contains("think>") && !text.contains("channel") {
        assert_eq!(shown, text, "text without calls is unchanged");
    }
}

/// Converts tool schemas: any JSON results in an object schema.
pub fn tool_schemas(data: &[u8]) {
    let Ok(schema) = serde_json::from_slice(data) else { return };
    let plain = crate::schema::plain(&schema);
    assert_eq!(plain["type"], "object");
    assert_eq!(crate::schema::plain(&plain), plain, "normalising twice changes nothing");
    if let Some(subset) = crate::schema::open_api(&schema) {
        assert!(subset["properties"].is_object());
    }
    if let Some(strict) = crate::schema::strict(&schema) {
        assert_eq!(strict["additionalProperties"], false);
    }
}

/// Returns the number of text deltas in a stream that arrives in chunks of this size; for benches.
#[must_use]
pub fn count_deltas(wire: Wire, data: &[u8], chunk: usize) -> usize {
    let mut decoder = wire::decoder(wire, &Quirks::default(), "m", &Arc::from([]));
    let mut sse = Sse::new(Limits::default());
    let mut out = DeltaQueue::new();
    let mut count = 0;
    for chunk in data.chunks(chunk.max(1)) {
        let result = sse.push(chunk, &mut |name, data| decoder.event(name, data, &mut out));
        assert!(result.is_ok(), "the stream can be read");
        count += out.drain(..).filter(|delta| matches!(delta, Delta::Text(_))).count();
    }
    count
}

fn text_of(delta: &Delta) -> Option<&str> {
    match delta {
        Delta::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the compatibility options of a local server, with every form of call and reasoning
/// enabled.
pub(crate) fn local_quirks() -> Quirks {
    use TextCallForm as F;
    Quirks {
        think_marks: vec![ThinkMark::Think, ThinkMark::GemmaChannel],
        text_calls: vec![
            F::ToolCallTag,
            F::FunctionXml,
            F::Gemma,
            F::FunctionGemma,
            F::ToolCallsToken,
            F::Fenced,
        ],
        ..Quirks::default()
    }
}

/// Two tools that the decoded text can call.
pub(crate) fn two_tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Tool {name}."),
        input_schema: json!({"type": "object", "properties": {
            "path": {"type": "string"}, "n": {"type": "integer"}}}),
        class: Class::Inspect,
    };
    Arc::from([tool("list"), tool("read")])
}

/// Decodes a Chat Completions answer whose text arrives in these pieces.
pub(crate) fn read_text(pieces: &[String], quirks: &Quirks) -> Vec<Delta> {
    let mut decoder = wire::decoder(Wire::ChatCompletions, quirks, "m", &two_tools());
    let mut out = DeltaQueue::new();
    let mut event = |data: String, out: &mut DeltaQueue| drop(decoder.event("", &data, out));
    for piece in pieces {
        event(json!({"choices": [{"delta": {"content": piece}}]}).to_string(), &mut out);
    }
    event(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string(), &mut out);
    event("[DONE]".to_owned(), &mut out);
    join(out)
}

/// Decodes a stream whose bytes arrive in chunks of this size.
pub(crate) fn read(
    data: &[u8],
    size: usize,
    decoder: &mut dyn Decode,
) -> (Vec<Delta>, Option<Failure>) {
    let mut sse = Sse::new(Limits::default());
    let mut out = DeltaQueue::new();
    for chunk in data.chunks(size.max(1)) {
        if let Err(failure) = sse.push(chunk, &mut |name, data| decoder.event(name, data, &mut out))
        {
            return (join(out), Some(failure));
        }
    }
    let bare = match sse.finish(&mut |name, data| decoder.event(name, data, &mut out)) {
        Ok(bare) => bare,
        Err(failure) => return (join(out), Some(failure)),
    };
    if let Some(bare) = bare.filter(|_| !decoder.is_done()) {
        return (join(out), Some(Failure::from_body(&bare)));
    }
    let failure = decoder.finish(&mut out).err();
    (join(out), failure)
}

/// Joins adjacent pieces of text, reasoning and arguments, as the turn does.
pub(crate) fn join(deltas: DeltaQueue) -> Vec<Delta> {
    let mut joined: Vec<Delta> = Vec::new();
    for delta in deltas {
        match (joined.last_mut(), delta) {
            (Some(Delta::Text(last)), Delta::Text(text)) => last.push_str(&text),
            (Some(Delta::Thinking(last)), Delta::Thinking(text)) => last.push_str(&text),
            (
                Some(Delta::ToolInput { index, json, .. }),
                Delta::ToolInput { index: same, id: None, name: None, json: more },
            ) if *index == same => json.push_str(&more),
            (_, delta) => joined.push(delta),
        }
    }
    joined
}

fn check(data: &[u8], wire: Wire, quirks: &Quirks) {
    // The first byte selects the chunk size.
    let (size, data) = match data.split_first() {
        Some((size, rest)) => (usize::from(*size % 16) + 1, rest),
        None => return,
    };
    let decoder = || wire::decoder(wire, quirks, "m", &two_tools());
    let whole = read(data, data.len(), &mut *decoder());
    let chunked = read(data, size, &mut *decoder());
    assert_eq!(whole, chunked, "the size of the chunks does not matter");
    let (deltas, failure) = whole;
    let ends = deltas.iter().filter(|delta| matches!(delta, Delta::End(_))).count();
    assert!(ends <= 1, "an answer ends once");
    if ends == 1 {
        assert!(matches!(deltas.last(), Some(Delta::End(_))), "nothing follows the end");
    } else {
        assert!(failure.is_some(), "an answer without an end is a failure");
    }
    let mut ids = BTreeSet::new();
    for delta in &deltas {
        if let Delta::Block(Block::ToolUse(call)) = delta {
            assert!(!call.id.is_empty() && ids.insert(&call.id), "every call has its own id");
        }
    }
}

#[cfg(test)]
mod tests;
