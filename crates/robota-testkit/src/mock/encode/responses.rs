//! Encodes answers for OpenAI Responses.

use robota_core::provider::StopReason;
use serde_json::{Value, json};

use super::sse::Sse;
use super::{CompleteAnswer, Context, Encoder, Part, split_chars};
use crate::mock::Failure;
use crate::mock::quirk::{Quirk, Quirks};
use crate::mock::scenario::{Call, Search, Tokens};

/// The item that is being streamed.
enum OpenItem {
    Message { id: String, text: String },
    Reasoning { id: String, text: String },
}

pub(super) struct Responses {
    context: Context,
    tokens: Option<Tokens>,
    sequence: usize,
    calls: usize,
    open: Option<OpenItem>,
    output: Vec<Value>,
}

impl Responses {
    pub(super) fn new(context: Context, tokens: Option<Tokens>) -> Self {
        Self { context, tokens, sequence: 0, calls: 0, open: None, output: Vec::new() }
    }

    /// Sends an event. The type and the sequence number come first, as the service sends them.
    fn send(&mut self, sse: &mut Sse, kind: &str, fields: Value) {
        let mut event = json!({"type": kind, "sequence_number": self.sequence});
        self.sequence += 1;
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
            // Some compatible services leave it out; clients must then follow the order of events.
            if sse.quirks().has(Quirk::NoIndex) {
                event.shift_remove("output_index");
            }
        }
        sse.named(kind, &event);
    }

    fn item_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}_{}", self.context.serial, self.output.len())
    }

    fn added(&mut self, sse: &mut Sse, item: &Value) {
        let index = self.output.len();
        // Added and done items have the index at which the item will be in the output.
        self.send(sse, "response.output_item.added", json!({"output_index": index, "item": item}));
    }

    fn done(&mut self, sse: &mut Sse, item: Value) {
        let index = self.output.len();
        self.send(sse, "response.output_item.done", json!({"output_index": index, "item": item}));
        self.output.push(item);
    }

    fn close(&mut self, sse: &mut Sse, signature: Option<&str>) {
        let index = self.output.len();
        match self.open.take() {
            None => {}
            Some(OpenItem::Message { id, text }) => {
                let part = json!({"type": "output_text", "text": text, "annotations": []});
                let at = json!({"item_id": id, "output_index": index, "content_index": 0});
                self.send(
                    sse,
                    "response.output_text.done",
                    with(&at, json!({"text": text, "logprobs": []})),
                );
                self.send(sse, "response.content_part.done", with(&at, json!({ "part": part })));
                self.done(sse, message(&id, "completed", json!([part])));
            }
            Some(OpenItem::Reasoning { id, text }) => {
                let part = json!({"type": "summary_text", "text": text});
                let at = json!({"item_id": id, "output_index": index, "summary_index": 0});
                self.send(
                    sse,
                    "response.reasoning_summary_text.done",
                    with(&at, json!({ "text": text })),
                );
                self.send(
                    sse,
                    "response.reasoning_summary_part.done",
                    with(&at, json!({ "part": part })),
                );
                self.done(sse, reasoning(&id, &text, signature));
            }
        }
    }

    fn response(&self, status: &str) -> Value {
        response(&self.context, status, &self.output)
    }
}

fn with(at: &Value, fields: Value) -> Value {
    let mut all = at.clone();
    if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
        all.extend(fields);
    }
    all
}

fn message(id: &str, status: &str, content: Value) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content})
}

fn reasoning(id: &str, text: &str, signature: Option<&str>) -> Value {
    let summary = match text {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    let mut item = json!({"type": "reasoning", "id": id, "summary": summary});
    if let Some(signature) = signature {
        item["encrypted_content"] = json!(signature);
    }
    item
}

fn response(context: &Context, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", context.serial), "object": "response", "created_at": 1,
        "status": status, "model": context.model, "output": output,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    })
}

impl Encoder for Responses {
    fn begin(&mut self, sse: &mut Sse) {
        let response = self.response("in_progress");
        self.send(sse, "response.created", json!({ "response": response }));
        self.send(sse, "response.in_progress", json!({ "response": response }));
    }

    fn text(&mut self, sse: &mut Sse, piece: &str) {
        if !matches!(self.open, Some(OpenItem::Message { .. })) {
            self.close(sse, None);
            let id = self.item_id("msg");
            self.added(sse, &message(&id, "in_progress", json!([])));
            let index = self.output.len();
            self.send(
                sse,
                "response.content_part.added",
                json!({
                    "item_id": id, "output_index": index, "content_index": 0,
                    "part": {"type": "output_text", "text": "", "annotations": []},
                }),
            );
            // The text is collected, because the events at its end repeat all of it.
            self.open = Some(OpenItem::Message { id, text: String::new() });
        }
        if let Some(OpenItem::Message { id, text }) = &mut self.open {
            text.push_str(piece);
            let fields = json!({
                "item_id": id, "output_index": self.output.len(), "content_index": 0,
                "delta": piece, "logprobs": [],
            });
            self.send(sse, "response.output_text.delta", fields);
        }
    }

    fn thinking(&mut self, sse: &mut Sse, piece: &str) {
        if !matches!(self.open, Some(OpenItem::Reasoning { .. })) {
            self.close(sse, None);
            let id = self.item_id("rs");
            self.added(sse, &json!({"type": "reasoning", "id": id, "summary": []}));
            let index = self.output.len();
            self.send(
                sse,
                "response.reasoning_summary_part.added",
                json!({
                    "item_id": id, "output_index": index, "summary_index": 0,
                    "part": {"type": "summary_text", "text": ""},
                }),
            );
            self.open = Some(OpenItem::Reasoning { id, text: String::new() });
        }
        if let Some(OpenItem::Reasoning { id, text }) = &mut self.open {
            text.push_str(piece);
            let fields = json!({
                "item_id": id, "output_index": self.output.len(), "summary_index": 0,
                "delta": piece,
            });
            self.send(sse, "response.reasoning_summary_text.delta", fields);
        }
    }

    fn end_thinking(&mut self, sse: &mut Sse, signature: Option<&str>) {
        if !matches!(self.open, Some(OpenItem::Reasoning { .. })) {
            // Reasoning without text is an item without a summary.
            self.close(sse, None);
            let id = self.item_id("rs");
            self.added(sse, &json!({"type": "reasoning", "id": id, "summary": []}));
            self.done(sse, reasoning(&id, "", signature));
        }
        self.close(sse, signature);
    }

    fn calls(&mut self, sse: &mut Sse, calls: &[Call]) {
        self.close(sse, None);
        for call in calls {
            let call_id = self.context.call_id(self.calls, call, sse.quirks());
            self.calls += 1;
            let (id, arguments) = (self.item_id("fc"), call.arguments());
            let item = |arguments: &str, status: &str| {
                let mut item = json!({"type": "function_call", "id": id});
                if let Some(call_id) = &call_id {
                    item["call_id"] = json!(call_id);
                }
                with(&item, json!({"name": call.name, "arguments": arguments, "status": status}))
            };
            self.added(sse, &item("", "in_progress"));
            let at = json!({"item_id": id, "output_index": self.output.len()});
            for piece in split_chars(&arguments, call.chunk) {
                let kind = "response.function_call_arguments.delta";
                self.send(sse, kind, with(&at, json!({ "delta": piece })));
            }
            let last = json!({"name": call.name, "arguments": arguments});
            self.send(sse, "response.function_call_arguments.done", with(&at, last));
            // The whole item again, as the service sends it: clients may read only this event.
            let mut done = item(&arguments, "completed");
            if sse.quirks().has(Quirk::ObjectArguments) {
                done["arguments"] = call.object();
            }
            self.done(sse, done);
        }
    }

    fn search(&mut self, sse: &mut Sse, search: &Search) {
        self.close(sse, None);
        let id = self.item_id("ws");
        let item = |status: &str| {
            json!({"type": "web_search_call", "id": id, "status": status,
                   "action": {"type": "search", "queries": [search.query]}})
        };
        self.added(sse, &item("in_progress"));
        for step in ["in_progress", "searching", "completed"] {
            let at = json!({"output_index": self.output.len(), "item_id": id});
            self.send(sse, &format!("response.web_search_call.{step}"), at);
        }
        self.done(sse, item("completed"));
    }

    fn activity(&mut self, sse: &mut Sse) {
        sse.comment("keepalive");
    }

    fn event(&mut self, sse: &mut Sse, event: &Value) {
        let name = event["type"].as_str().unwrap_or("message").to_owned();
        sse.named(&name, event);
    }

    fn fail(&mut self, sse: &mut Sse, failure: &Failure) {
        let body = failure.body(self.context.wire, "");
        let mut response = self.response("failed");
        response["error"] =
            json!({"code": body["error"]["code"], "message": body["error"]["message"]});
        self.send(sse, "response.failed", json!({ "response": response }));
    }

    fn stop(&mut self, sse: &mut Sse, reason: &StopReason) {
        self.close(sse, None);
        let (status, why) = status(reason);
        let mut response = self.response(status);
        if let Some(why) = why {
            response["incomplete_details"] = json!({ "reason": why });
        }
        if let Some(tokens) = self.tokens {
            response["usage"] = usage(tokens);
        }
        self.send(sse, &format!("response.{status}"), json!({ "response": response }));
    }
}

fn status(reason: &StopReason) -> (&'static str, Option<&str>) {
    match reason {
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Pause => ("completed", None),
        StopReason::MaxTokens | StopReason::WindowFull => ("incomplete", Some("max_output_tokens")),
        StopReason::Refusal | StopReason::Filtered => ("incomplete", Some("content_filter")),
        StopReason::Other(word) => ("incomplete", Some(word)),
    }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write,
        },
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    })
}

pub(super) fn whole(
    all: &CompleteAnswer,
    tokens: Option<Tokens>,
    quirks: &Quirks,
    context: &Context,
) -> Value {
    let mut output = Vec::new();
    let mut calls = 0;
    for part in &all.parts {
        let id = format!("item_{}_{}", context.serial, output.len());
        output.push(match part {
            Part::Text(text) => message(
                &id,
                "completed",
                json!([{"type": "output_text", "text": text, "annotations": []}]),
            ),
            Part::Thinking(text, signature) => reasoning(&id, text, signature.as_deref()),
            Part::Call(call) => {
                let call_id = context.call_id(calls, call, quirks);
                calls += 1;
                json!({"type": "function_call", "id": id, "call_id": call_id, "name": call.name,
                       "arguments": call.arguments(), "status": "completed"})
            }
            Part::Search(search) => json!({
                "type": "web_search_call", "id": id, "status": "completed",
                "action": {"type": "search", "queries": [search.query]},
            }),
        });
    }
    let stop = all.stop();
    let (status, why) = status(&stop);
    let mut body = response(context, status, &output);
    if let Some(why) = why {
        body["incomplete_details"] = json!({ "reason": why });
    }
    if let Some(tokens) = tokens {
        body["usage"] = usage(tokens);
    }
    body
}
