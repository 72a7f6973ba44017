//! Encodes answers for Gemini generateContent. Every event is a complete response object.

use robota_core::provider::StopReason;
use serde_json::{Value, json};

use super::sse::Sse;
use super::{CompleteAnswer, Context, Encoder, Part};
use crate::mock::Failure;
use crate::mock::quirk::{Quirk, Quirks};
use crate::mock::scenario::{Call, Search, Tokens};

pub(super) struct Gemini {
    context: Context,
    tokens: Option<Tokens>,
    calls: usize,
    /// A signature that waits for the part that carries it.
    signature: Option<String>,
    grounding: Option<Value>,
}

impl Gemini {
    pub(super) fn new(context: Context, tokens: Option<Tokens>) -> Self {
        Self { context, tokens, calls: 0, signature: None, grounding: None }
    }

    fn parts(&self, sse: &mut Sse, parts: Vec<Value>) {
        let content = json!({"role": "model", "parts": parts});
        sse.data(&self.response(json!({"content": content, "index": 0})));
    }

    fn response(&self, candidate: Value) -> Value {
        let mut response = json!({ "candidates": [candidate] });
        if let Some(tokens) = self.tokens {
            response["usageMetadata"] = usage(tokens);
        }
        response["modelVersion"] = json!(self.context.model);
        response["responseId"] = json!(format!("resp-{}", self.context.serial));
        response
    }
}

impl Encoder for Gemini {
    // This wire has no event before the first part.
    fn begin(&mut self, _sse: &mut Sse) {}

    fn text(&mut self, sse: &mut Sse, piece: &str) {
        self.parts(sse, vec![json!({ "text": piece })]);
    }

    fn thinking(&mut self, sse: &mut Sse, piece: &str) {
        self.parts(sse, vec![json!({"text": piece, "thought": true})]);
    }

    fn end_thinking(&mut self, _sse: &mut Sse, signature: Option<&str>) {
        // The wire has no place of its own for a signature: the next part carries it.
        self.signature = signature.map(str::to_owned);
    }

    fn calls(&mut self, sse: &mut Sse, calls: &[Call]) {
        let mut parts = Vec::new();
        for call in calls {
            let id = self.context.call_id(self.calls, call, sse.quirks());
            self.calls += 1;
            let mut part = json!({ "functionCall": function_call(id, call) });
            // Only the first of parallel calls has a signature.
            if let Some(signature) = self.signature.take() {
                part["thoughtSignature"] = json!(signature);
            }
            parts.push(part);
        }
        if sse.quirks().has(Quirk::CallPerEvent) {
            for part in parts {
                self.parts(sse, vec![part]);
            }
        } else {
            self.parts(sse, parts);
        }
    }

    fn search(&mut self, _sse: &mut Sse, search: &Search) {
        self.grounding = Some(grounding(search));
    }

    fn activity(&mut self, sse: &mut Sse) {
        sse.comment("still here");
    }

    fn event(&mut self, sse: &mut Sse, event: &Value) {
        sse.data(event);
    }

    fn fail(&mut self, sse: &mut Sse, failure: &Failure) {
        sse.data(&failure.body(self.context.wire, ""));
    }

    fn stop(&mut self, sse: &mut Sse, reason: &StopReason) {
        // The last event has an empty text, on which the signature of an answer without calls is
        // sent.
        let mut part = json!({"text": ""});
        if let Some(signature) = self.signature.take() {
            part["thoughtSignature"] = json!(signature);
        }
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}});
        if sse.quirks().has(Quirk::NullContent) && part.get("thoughtSignature").is_none() {
            candidate = json!({});
        }
        candidate["finishReason"] = json!(finish(reason));
        candidate["index"] = json!(0);
        if let Some(grounding) = self.grounding.take() {
            candidate["groundingMetadata"] = grounding;
        }
        sse.data(&self.response(candidate));
    }
}

fn function_call(id: Option<String>, call: &Call) -> Value {
    let mut function = match id {
        Some(id) => json!({ "id": id }),
        None => json!({}),
    };
    function["name"] = json!(call.name);
    function["args"] = call.object();
    function
}

fn grounding(search: &Search) -> Value {
    json!({
        "webSearchQueries": [search.query],
        "groundingChunks": [{"web": {"uri": search.url, "title": search.title}}],
        "groundingSupports": [],
    })
}

fn finish(reason: &StopReason) -> &str {
    match reason {
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Pause => "STOP",
        StopReason::MaxTokens | StopReason::WindowFull => "MAX_TOKENS",
        StopReason::Refusal | StopReason::Filtered => "SAFETY",
        StopReason::Other(word) => word,
    }
}

fn usage(tokens: Tokens) -> Value {
    let mut usage = json!({
        "promptTokenCount": tokens.input,
        // The service counts reasoning apart from the answer.
        "candidatesTokenCount": tokens.output.saturating_sub(tokens.reasoning),
        "totalTokenCount": tokens.input + tokens.output,
    });
    if tokens.reasoning > 0 {
        usage["thoughtsTokenCount"] = json!(tokens.reasoning);
    }
    if tokens.cache_read > 0 {
        usage["cachedContentTokenCount"] = json!(tokens.cache_read);
    }
    usage
}

pub(super) fn whole(
    all: &CompleteAnswer,
    tokens: Option<Tokens>,
    quirks: &Quirks,
    context: &Context,
) -> Value {
    let mut parts = Vec::new();
    let mut signature = None;
    let mut metadata = None;
    let mut calls = 0;
    for part in &all.parts {
        match part {
            Part::Text(text) => parts.push(json!({ "text": text })),
            Part::Thinking(text, signed) => {
                signature.clone_from(signed);
                parts.push(json!({"text": text, "thought": true}));
            }
            Part::Call(call) => {
                let id = context.call_id(calls, call, quirks);
                calls += 1;
                let mut part = json!({ "functionCall": function_call(id, call) });
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = json!(signature);
                }
                parts.push(part);
            }
            Part::Search(search) => metadata = Some(grounding(search)),
        }
    }
    if let (Some(signature), Some(last)) = (signature, parts.last_mut()) {
        last["thoughtSignature"] = json!(signature);
    }
    let stop = all.stop();
    let mut candidate = json!({
        "content": {"role": "model", "parts": parts}, "finishReason": finish(&stop), "index": 0,
    });
    if let Some(grounding) = metadata {
        candidate["groundingMetadata"] = grounding;
    }
    Gemini::new(context.clone(), tokens).response(candidate)
}
