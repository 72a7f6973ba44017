//! Encodes answers for Anthropic Messages.

use robota_core::provider::StopReason;
use serde_json::{Value, json};

use super::sse::Sse;
use super::{CompleteAnswer, Context, Encoder, Part, split_chars};
use crate::mock::Failure;
use crate::mock::quirk::{Quirk, Quirks};
use crate::mock::scenario::{Call, Search, Tokens};

/// The kind of the open block.
#[derive(Clone, Copy, PartialEq)]
enum OpenBlock {
    Text,
    Thinking,
}

pub(super) struct Anthropic {
    context: Context,
    tokens: Option<Tokens>,
    blocks: usize,
    calls: usize,
    open: Option<OpenBlock>,
    /// Blocks that have started and not ended: with [`Quirk::Overlap`] they end together.
    delayed_ends: Vec<usize>,
}

impl Anthropic {
    pub(super) fn new(context: Context, tokens: Option<Tokens>) -> Self {
        Self { context, tokens, blocks: 0, calls: 0, open: None, delayed_ends: Vec::new() }
    }

    fn send(sse: &mut Sse, mut event: Value) {
        if sse.quirks().has(Quirk::NoIndex)
            && let Some(fields) = event.as_object_mut()
        {
            fields.shift_remove("index");
        }
        let name = event["type"].as_str().unwrap_or_default().to_owned();
        sse.named(&name, &event);
    }

    fn start(&mut self, sse: &mut Sse, block: Value) -> usize {
        let index = self.blocks;
        self.blocks += 1;
        Self::send(
            sse,
            json!({"type": "content_block_start", "index": index, "content_block": block}),
        );
        index
    }

    fn delta(sse: &mut Sse, index: usize, delta: Value) {
        Self::send(sse, json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    fn end(&mut self, sse: &mut Sse, index: usize) {
        if sse.quirks().has(Quirk::Overlap) {
            self.delayed_ends.push(index);
        } else {
            Self::send(sse, json!({"type": "content_block_stop", "index": index}));
        }
    }

    fn close(&mut self, sse: &mut Sse) {
        if self.open.take().is_some() {
            self.end(sse, self.blocks - 1);
        }
    }

    fn open(&mut self, sse: &mut Sse, kind: OpenBlock) -> usize {
        if self.open != Some(kind) {
            self.close(sse);
            let block = match kind {
                OpenBlock::Text if sse.quirks().has(Quirk::NullContent) => {
                    json!({"type": "text", "text": null})
                }
                OpenBlock::Text => json!({"type": "text", "text": ""}),
                OpenBlock::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            };
            self.start(sse, block);
            self.open = Some(kind);
        }
        self.blocks - 1
    }
}

impl Encoder for Anthropic {
    fn begin(&mut self, sse: &mut Sse) {
        let mut message = json!({
            "id": format!("msg_{}", self.context.serial), "type": "message", "role": "assistant",
            "model": self.context.model, "content": [], "stop_reason": null, "stop_sequence": null,
        });
        if let Some(tokens) = self.tokens {
            // The tokens of the prompt are known at the start of the answer.
            message["usage"] = input_usage(tokens);
            // The service reports a first count at the start and the final one at the end.
            message["usage"]["output_tokens"] = json!(1);
        }
        Self::send(sse, json!({"type": "message_start", "message": message}));
    }

    fn text(&mut self, sse: &mut Sse, piece: &str) {
        let index = self.open(sse, OpenBlock::Text);
        Self::delta(sse, index, json!({"type": "text_delta", "text": piece}));
    }

    fn thinking(&mut self, sse: &mut Sse, piece: &str) {
        let index = self.open(sse, OpenBlock::Thinking);
        Self::delta(sse, index, json!({"type": "thinking_delta", "thinking": piece}));
    }

    fn end_thinking(&mut self, sse: &mut Sse, signature: Option<&str>) {
        let index = self.open(sse, OpenBlock::Thinking);
        if let Some(signature) = signature {
            Self::delta(sse, index, json!({"type": "signature_delta", "signature": signature}));
        }
        self.close(sse);
    }

    fn calls(&mut self, sse: &mut Sse, calls: &[Call]) {
        self.close(sse);
        for call in calls {
            let id = self.context.call_id(self.calls, call, sse.quirks());
            self.calls += 1;
            let mut block = json!({"type": "tool_use"});
            if let Some(id) = id {
                block["id"] = json!(id);
            }
            block["name"] = json!(call.name);
            let whole = sse.quirks().has(Quirk::ObjectArguments);
            if whole {
                block["input"] = call.object();
            } else if !sse.quirks().has(Quirk::NoInput) {
                block["input"] = json!({});
            }
            let index = self.start(sse, block);
            if !whole {
                let mut piece = |json: &str| {
                    Self::delta(
                        sse,
                        index,
                        json!({"type": "input_json_delta", "partial_json": json}),
                    );
                };
                // The service begins the arguments with an empty piece.
                piece("");
                split_chars(&call.arguments(), call.chunk).for_each(piece);
            }
            self.end(sse, index);
        }
    }

    fn search(&mut self, sse: &mut Sse, search: &Search) {
        self.close(sse);
        for block in search_blocks(search, self.blocks) {
            let index = self.start(sse, block);
            self.end(sse, index);
        }
    }

    fn activity(&mut self, sse: &mut Sse) {
        Self::send(sse, json!({"type": "ping"}));
    }

    fn event(&mut self, sse: &mut Sse, event: &Value) {
        // A block that the scenario sends as a raw event counts like the others.
        if event["type"] == "content_block_start" {
            self.close(sse);
            self.blocks += 1;
        }
        Self::send(sse, event.clone());
    }

    fn fail(&mut self, sse: &mut Sse, failure: &Failure) {
        let mut body = failure.body(self.context.wire, &self.context.request_id());
        if let Some(fields) = body.as_object_mut() {
            // Only a response has it; an event in a stream does not.
            fields.shift_remove("request_id");
        }
        Self::send(sse, body);
    }

    fn stop(&mut self, sse: &mut Sse, reason: &StopReason) {
        self.close(sse);
        for index in std::mem::take(&mut self.delayed_ends) {
            Self::send(sse, json!({"type": "content_block_stop", "index": index}));
        }
        let mut event = json!({"type": "message_delta", "delta": stop_fields(reason)});
        if let Some(tokens) = self.tokens {
            event["usage"] = json!({"output_tokens": tokens.output});
            if tokens.reasoning > 0 {
                event["usage"]["output_tokens_details"] =
                    json!({"thinking_tokens": tokens.reasoning});
            }
        }
        Self::send(sse, event);
        Self::send(sse, json!({"type": "message_stop"}));
    }
}

fn input_usage(tokens: Tokens) -> Value {
    json!({
        // The service counts cached tokens apart from the input.
        "input_tokens": tokens.input.saturating_sub(tokens.cache_read + tokens.cache_write),
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
    })
}

fn stop_fields(reason: &StopReason) -> Value {
    let name = match reason {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::WindowFull => "model_context_window_exceeded",
        // This wire has no filter of its own.
        StopReason::Refusal | StopReason::Filtered => "refusal",
        StopReason::Pause => "pause_turn",
        StopReason::Other(name) => name,
    };
    let sequence = (*reason == StopReason::StopSequence).then_some("END");
    let mut stop_fields = json!({"stop_reason": name, "stop_sequence": sequence});
    if matches!(reason, StopReason::Refusal | StopReason::Filtered) {
        stop_fields["stop_details"] =
            json!({"type": "refusal", "category": "policy", "explanation": "It would not."});
    }
    stop_fields
}

fn search_blocks(search: &Search, at: usize) -> [Value; 2] {
    let id = format!("srvtoolu_{at}");
    [
        json!({"type": "server_tool_use", "id": id, "name": "web_search",
               "input": {"query": search.query}}),
        json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [
            {"type": "web_search_result", "url": search.url, "title": search.title,
             "encrypted_content": "ZW5j", "page_age": null},
        ]}),
    ]
}

pub(super) fn whole(
    all: &CompleteAnswer,
    tokens: Option<Tokens>,
    quirks: &Quirks,
    context: &Context,
) -> Value {
    let mut content = Vec::new();
    let mut calls = 0;
    for part in &all.parts {
        match part {
            Part::Text(text) => content.push(json!({"type": "text", "text": text})),
            Part::Thinking(thinking, signature) => content.push(json!({
                "type": "thinking", "thinking": thinking,
                "signature": signature.as_deref().unwrap_or_default(),
            })),
            Part::Call(call) => {
                let id = context.call_id(calls, call, quirks);
                calls += 1;
                content.push(json!({
                    "type": "tool_use", "id": id, "name": call.name, "input": call.object(),
                }));
            }
            Part::Search(search) => content.extend(search_blocks(search, content.len())),
        }
    }
    let mut message = json!({
        "id": format!("msg_{}", context.serial), "type": "message", "role": "assistant",
        "model": context.model, "content": content,
    });
    if let (Value::Object(message), Value::Object(stop_fields)) =
        (&mut message, stop_fields(&all.stop()))
    {
        message.extend(stop_fields);
    }
    if let Some(tokens) = tokens {
        message["usage"] = input_usage(tokens);
        message["usage"]["output_tokens"] = json!(tokens.output);
    }
    message
}
