//! Encodes answers for OpenAI Chat Completions and compatible services.

use robota_core::provider::StopReason;
use serde_json::{Map, Value, json};

use super::sse::Sse;
use super::{CompleteAnswer, Context, Encoder, Part, split_chars};
use crate::mock::Failure;
use crate::mock::quirk::{Quirk, Quirks};
use crate::mock::scenario::{Call, Search, Tokens};

pub(super) struct Chat {
    context: Context,
    tokens: Option<Tokens>,
    calls: usize,
    /// Whether the text is inside `<think>`.
    in_think: bool,
}

impl Chat {
    pub(super) fn new(context: Context, tokens: Option<Tokens>) -> Self {
        Self { context, tokens, calls: 0, in_think: false }
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.context.serial), "object": "chat.completion.chunk",
            "created": 1, "model": self.context.model, "choices": choices,
        })
    }

    fn delta(&self, sse: &mut Sse, mut delta: Value) {
        if sse.quirks().has(Quirk::NullContent)
            && let Some(fields) = delta.as_object_mut()
            && !fields.contains_key("content")
        {
            fields.insert("content".to_owned(), Value::Null);
            fields.insert("role".to_owned(), Value::Null);
        }
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
        sse.data(&self.chunk(choices));
    }

    /// Encodes the entry of a call in a delta: index, id and name, and a piece of its arguments.
    fn entry(
        quirks: &Quirks,
        index: usize,
        head: Option<(&Option<String>, &str)>,
        arguments: Option<Value>,
    ) -> Value {
        let mut entry = Map::new();
        // The index joins the pieces of a call. Without it, clients have to join them by their
        // order.
        if !quirks.has(Quirk::NoIndex) {
            entry.insert("index".to_owned(), json!(index));
        }
        let mut function = Map::new();
        if let Some((id, name)) = head {
            if let Some(id) = id {
                entry.insert("id".to_owned(), json!(id));
            }
            entry.insert("type".to_owned(), json!("function"));
            // Only in the first piece of a call, as the service does it.
            function.insert("name".to_owned(), json!(name));
        }
        if let Some(arguments) = arguments {
            function.insert("arguments".to_owned(), arguments);
        }
        entry.insert("function".to_owned(), Value::Object(function));
        Value::Object(entry)
    }
}

impl Encoder for Chat {
    fn begin(&mut self, sse: &mut Sse) {
        // The first delta has the role and no text yet.
        let content = if sse.quirks().has(Quirk::NullContent) { Value::Null } else { json!("") };
        self.delta(sse, json!({"role": "assistant", "content": content}));
    }

    fn text(&mut self, sse: &mut Sse, piece: &str) {
        self.delta(sse, json!({"content": piece}));
    }

    fn thinking(&mut self, sse: &mut Sse, piece: &str) {
        if sse.quirks().has(Quirk::ThinkTags) {
            if !std::mem::replace(&mut self.in_think, true) {
                self.text(sse, "<think>");
            }
            self.text(sse, piece);
        } else if sse.quirks().has(Quirk::ReasoningField) {
            self.delta(sse, json!({"reasoning": piece}));
        } else {
            self.delta(sse, json!({"reasoning_content": piece}));
        }
    }

    fn end_thinking(&mut self, sse: &mut Sse, _signature: Option<&str>) {
        if std::mem::replace(&mut self.in_think, false) {
            self.text(sse, "</think>\n\n");
        }
    }

    fn calls(&mut self, sse: &mut Sse, calls: &[Call]) {
        let quirks = sse.quirks().clone();
        let mut entries = Vec::new();
        for call in calls {
            let index = self.calls;
            self.calls += 1;
            let id = self.context.call_id(index, call, &quirks);
            let head = Some((&id, call.name.as_str()));
            if quirks.has(Quirk::ObjectArguments) {
                entries.push(Self::entry(&quirks, index, head, Some(call.object())));
            } else if quirks.has(Quirk::OneDelta) {
                entries.push(Self::entry(&quirks, index, head, Some(json!(call.arguments()))));
            } else {
                // The first delta of a call has its id and name, and no arguments.
                let first = Self::entry(&quirks, index, head, Some(json!("")));
                self.delta(sse, json!({"tool_calls": [first]}));
                let repeated_head =
                    quirks.has(Quirk::RepeatHead).then_some((&id, call.name.as_str()));
                for piece in split_chars(&call.arguments(), call.chunk) {
                    let entry = Self::entry(&quirks, index, repeated_head, Some(json!(piece)));
                    self.delta(sse, json!({"tool_calls": [entry]}));
                }
            }
        }
        if quirks.has(Quirk::OneDelta) {
            self.delta(sse, json!({ "tool_calls": entries }));
        } else {
            for entry in entries {
                self.delta(sse, json!({"tool_calls": [entry]}));
            }
        }
    }

    fn search(&mut self, sse: &mut Sse, search: &Search) {
        self.delta(
            sse,
            json!({"annotations": [{"type": "url_citation", "url_citation": {
                "url": search.url, "title": search.title, "start_index": 0, "end_index": 0,
            }}]}),
        );
    }

    fn activity(&mut self, sse: &mut Sse) {
        sse.comment("PROCESSING");
    }

    fn event(&mut self, sse: &mut Sse, event: &Value) {
        sse.data(event);
    }

    fn fail(&mut self, sse: &mut Sse, failure: &Failure) {
        sse.data(&failure.body(self.context.wire, &self.context.request_id()));
    }

    fn stop(&mut self, sse: &mut Sse, reason: &StopReason) {
        let word = match finish(reason) {
            "tool_calls" if sse.quirks().has(Quirk::StopWithCalls) => "stop",
            word => word,
        };
        let choices = json!([{"index": 0, "delta": {}, "finish_reason": word}]);
        let mut finished = self.chunk(choices);
        let on_finish = sse.quirks().has(Quirk::UsageOnFinish);
        if let (true, Some(tokens)) = (on_finish, self.tokens) {
            finished["usage"] = usage(tokens);
        }
        sse.data(&finished);
        if sse.quirks().has(Quirk::FinishTwice) {
            sse.data(&finished);
        }
        // The service sends usage only if the request asks for it, in a chunk without choices.
        if let (true, false, Some(tokens)) = (self.context.usage_wanted, on_finish, self.tokens) {
            let mut last = self.chunk(json!([]));
            last["usage"] = usage(tokens);
            sse.data(&last);
        }
        if !sse.quirks().has(Quirk::NoDone) {
            sse.marker("[DONE]");
        }
    }
}

fn finish(reason: &StopReason) -> &str {
    match reason {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::Pause => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::WindowFull => "length",
        StopReason::Refusal | StopReason::Filtered => "content_filter",
        StopReason::Other(word) => word,
    }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    })
}

pub(super) fn whole(
    all: &CompleteAnswer,
    tokens: Option<Tokens>,
    quirks: &Quirks,
    context: &Context,
) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &all.parts {
        match part {
            Part::Text(piece) => text.push_str(piece),
            Part::Thinking(piece, _) => reasoning.push_str(piece),
            Part::Call(call) => {
                let id = context.call_id(calls.len(), call, quirks);
                calls.push(json!({
                    "id": id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments()},
                }));
            }
            Part::Search(_) => {}
        }
    }
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content});
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut response = json!({
        "id": format!("chatcmpl-{}", context.serial), "object": "chat.completion", "created": 1,
        "model": context.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(&all.stop())}],
    });
    if let Some(tokens) = tokens {
        response["usage"] = usage(tokens);
    }
    response
}
