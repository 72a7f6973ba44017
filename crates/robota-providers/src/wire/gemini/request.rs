//! Encodes requests.

use robota_core::message::{Block, Image, Message, ResultBlock, Role, ToolResult, ToolUse};
use robota_core::provider::ToolChoice;
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};
use url::Url;

use super::{CONTINUATION, SIGNATURE};
use crate::json::{merge, push_json};
use crate::profile::{GeminiSchema, GeminiThinking, MaxTokens, Quirks};
use crate::schema;
use crate::wire::encode::{
    Encode, EncodeContext, LeftOutCounter, Media, OPENING, Object, Piece, PieceRole, RequestFrame,
    arguments, join_path, push_element, tool_name, write_grouped,
};
use crate::wire::plan::{IdRule, NO_RESULT};

/// Replaces the signature of a call that has none, because another model wrote the call or the
/// answer was cut off.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Encodes requests for the Gemini wire. Call ids are not sent: the service matches results to
/// calls by order and tool name.
pub(crate) struct Encoder;

impl Encode for Encoder {
    fn ids(&self, _quirks: &Quirks) -> IdRule {
        IdRule::Any
    }

    fn message(&self, message: &Message, context: &EncodeContext<'_>) -> Vec<Piece> {
        let role = match message.role() {
            Role::Assistant => PieceRole::Model,
            Role::User | Role::Tool | Role::System => PieceRole::User,
        };
        let mut parts = Vec::new();
        let mut signed = false;
        // All results must come together, so attachments, which results cannot hold, follow them.
        let mut attachments = Vec::new();
        for block in &message.content {
            match block {
                Block::ToolResult(result) => {
                    tool_result(result, context, &mut parts, &mut attachments);
                }
                block => part(block, context, &mut signed, &mut parts),
            }
        }
        parts.append(&mut attachments);
        Piece::new(role, &parts).into_iter().collect()
    }

    fn unanswered(&self, calls: &[&ToolUse], _context: &EncodeContext<'_>) -> Vec<Piece> {
        let parts = calls.iter().map(|call| {
            json!({"functionResponse": {
                "name": tool_name(&call.name), "response": {"error": NO_RESULT}}})
        });
        Piece::new(PieceRole::User, &parts.collect::<Vec<_>>()).into_iter().collect()
    }

    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value> {
        tools
            .iter()
            .map(|tool| {
                let mut encoded = json!({"name": tool.name, "description": tool.description});
                match quirks.gemini_schema {
                    GeminiSchema::OpenApi => {
                        if let Some(schema) = schema::open_api(&tool.input_schema) {
                            encoded["parameters"] = schema;
                        }
                    }
                    GeminiSchema::JsonSchema => {
                        encoded["parametersJsonSchema"] = schema::plain(&tool.input_schema);
                    }
                }
                encoded
            })
            .collect()
    }

    fn body(&self, frame: &RequestFrame<'_>, pieces: &[&Piece]) -> Vec<u8> {
        let request = frame.request;
        let mut head = json!({"generationConfig": {}});
        if let Some(limit) = request.max_output_tokens
            && frame.quirks.max_tokens != MaxTokens::Omit
        {
            head["generationConfig"]["maxOutputTokens"] = limit.into();
        }
        if let Some(temperature) = request.temperature {
            head["generationConfig"]["temperature"] = temperature.into();
        }
        if let Some(config) = tool_config(frame) {
            head["toolConfig"] = config;
        }
        // Many models refuse a schema in a request with tools.
        if let Some(output) = request.output.as_ref().filter(|_| frame.tools.is_empty()) {
            head["generationConfig"]["responseMimeType"] = "application/json".into();
            head["generationConfig"]["responseJsonSchema"] = schema::plain(&output.schema);
        }
        if let Some(token) = continuation(frame) {
            head[CONTINUATION] = token.clone();
        }
        let mut options = frame.options.clone();
        if let Some(Value::String(effort)) = options.shift_remove("effort") {
            let thinking = thinking(frame.quirks, &effort);
            merge(&mut head, &json!({"generationConfig": {"thinkingConfig": thinking}}));
        }
        merge(&mut head, &Value::Object(options));
        let mut body = Object::new();
        if let Value::Object(head) = &head {
            body.fields(head);
        }
        write_tools(frame, &mut body);
        if let Some(system) = request.system.as_deref().filter(|text| !text.is_empty()) {
            body.field("systemInstruction", &json!({"parts": [{"text": system}]}));
        }
        write_contents(pieces, body.key("contents"));
        body.close()
    }

    fn call_url(&self, base: &Url, model: &str) -> Url {
        join_path(base, &format!("models/{}:streamGenerateContent?alt=sse", plain_name(model)))
    }

    fn count_request(&self, base: &Url, model: &str, body: &Value) -> Option<(Url, Value)> {
        let name = plain_name(model);
        let mut count_body = body.clone();
        count_body["model"] = format!("models/{name}").into();
        let url = join_path(base, &format!("models/{name}:countTokens"));
        Some((url, json!({"generateContentRequest": count_body})))
    }
}

/// Returns the token with which the service continues the answer that it paused last.
fn continuation<'a>(frame: &'a RequestFrame<'_>) -> Option<&'a Value> {
    let last = frame.request.messages.last()?;
    last.content.iter().rev().find_map(|block| match block {
        Block::Opaque(opaque) => opaque.value.get(CONTINUATION),
        _ => None,
    })
}

/// Returns the choice of tools; none leaves it to the model.
fn tool_config(frame: &RequestFrame<'_>) -> Option<Value> {
    if frame.tools.is_empty() {
        return None;
    }
    let calling = match &frame.request.tool_choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [tool_name(name)]}),
    };
    Some(json!({"functionCallingConfig": calling}))
}

/// Returns how much the model reasons. Names of other services that have no level here become the
/// nearest one.
fn thinking(quirks: &Quirks, effort: &str) -> Value {
    let (level, budget) = match effort.to_ascii_lowercase().as_str() {
        // Models of older generations have no levels; the budgets stand for them.
        "none" | "off" | "minimal" => ("MINIMAL", 0),
        "low" => ("LOW", 2_048),
        "medium" => ("MEDIUM", 8_192),
        "high" | "xhigh" | "max" => ("HIGH", 24_576),
        // A level that is newer than this program.
        _ => return json!({"thinkingLevel": effort.to_uppercase(), "includeThoughts": true}),
    };
    match quirks.gemini_thinking {
        GeminiThinking::Level => json!({"thinkingLevel": level, "includeThoughts": true}),
        // With a budget of 0 there are no thoughts to include.
        GeminiThinking::Budget => json!({"thinkingBudget": budget, "includeThoughts": budget > 0}),
    }
}

fn plain_name(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

fn part(block: &Block, context: &EncodeContext<'_>, signed: &mut bool, out: &mut Vec<Value>) {
    match block {
        Block::Text(text) if text.text.is_empty() => {}
        Block::Text(text) => {
            let mut part = json!({"text": text.text});
            if let Some(signature) = signature(&text.extra, context) {
                part["thoughtSignature"] = signature.into();
            }
            out.push(part);
        }
        Block::Thinking(thinking) => match &thinking.signature {
            Some(signature) if context.same_origin(&thinking.extra) => out.push(json!({
                "text": thinking.thinking, "thought": true, "thoughtSignature": signature})),
            Some(_) => LeftOutCounter::count(&context.counts.reasoning),
            // Reasoning without a signature is for display only: no service accepts it back.
            None => {}
        },
        Block::Image(image) => out.push(media(image, context)),
        Block::ToolUse(call) => {
            let mut part = json!({"functionCall": {
                "name": tool_name(&call.name), "args": arguments(&call.input)}});
            match signature(&call.extra, context) {
                Some(signature) => part["thoughtSignature"] = signature.into(),
                // Only the first call of an answer must have a signature.
                None if !*signed && context.quirks.skip_signatures => {
                    part["thoughtSignature"] = NO_SIGNATURE.into();
                }
                None => {}
            }
            *signed = true;
            out.push(part);
        }
        Block::ToolResult(_) => {}
        // The token is a field of the request, not a part: see `continuation`.
        Block::Opaque(opaque) if opaque.value.get(CONTINUATION).is_some() => {}
        Block::Opaque(opaque) => out.extend(context.own_value(opaque, false).cloned()),
        Block::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
    }
}

fn signature<'a>(extra: &'a Map<String, Value>, context: &EncodeContext<'_>) -> Option<&'a str> {
    extra.get(SIGNATURE)?.as_str().filter(|_| context.same_origin(extra))
}

fn media(image: &Image, context: &EncodeContext<'_>) -> Value {
    match context.media(image) {
        Media::Image(data) | Media::Document(data) => {
            json!({"inlineData": {"mimeType": image.media_type, "data": data}})
        }
        Media::Text(note) => json!({"text": note}),
    }
}

fn tool_result(
    result: &ToolResult,
    context: &EncodeContext<'_>,
    out: &mut Vec<Value>,
    attachments: &mut Vec<Value>,
) {
    if !context.plan.has_call(result) {
        return;
    }
    let mut texts = Vec::new();
    for part in &result.content {
        match part {
            ResultBlock::Text(text) => texts.push(text.text.clone()),
            ResultBlock::Image(image) => match media(image, context) {
                note if note.get("text").is_some() => {
                    texts.extend(note["text"].as_str().map(str::to_owned));
                }
                attachment => attachments.push(attachment),
            },
            ResultBlock::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
        }
    }
    let key = if result.is_error { "error" } else { "output" };
    // The service requires an object; by convention it has one of these two keys.
    out.push(json!({"functionResponse": {
        "name": tool_name(&result.name), "response": {key: texts.join("\n")}}}));
}

fn write_tools(frame: &RequestFrame<'_>, body: &mut Object) {
    let mut tools = Vec::new();
    if !frame.tools.is_empty() {
        tools.extend_from_slice(br#"{"functionDeclarations":["#);
        tools.extend_from_slice(frame.tools);
        tools.extend_from_slice(b"]}");
    }
    let web =
        [(frame.web.search, &frame.quirks.web_search), (frame.web.fetch, &frame.quirks.web_fetch)];
    for kind in web.iter().filter(|(wanted, _)| *wanted).filter_map(|(_, kind)| kind.as_ref()) {
        push_element(&mut tools, &json!({kind: {}}));
    }
    body.list("tools", &tools);
}

fn write_contents(pieces: &[&Piece], out: &mut Vec<u8>) {
    out.push(b'[');
    if pieces.first().is_some_and(|piece| piece.role == PieceRole::Model) {
        push_json(out, &json!({"role": "user", "parts": [{"text": OPENING}]}));
        out.push(b',');
    }
    let open = |role| -> &'static [u8] {
        match role {
            PieceRole::Model => br#"{"role":"model","parts":["#,
            PieceRole::User | PieceRole::Tool => br#"{"role":"user","parts":["#,
        }
    };
    write_grouped(pieces, out, open, |_, _| {});
    out.push(b']');
}
