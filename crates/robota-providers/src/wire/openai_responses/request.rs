//! Encodes requests.

use robota_core::message::{Block, Image, Message, ResultBlock, Role, ToolResult, ToolUse};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};
use url::Url;

use crate::json::merge;
use crate::profile::{MaxTokens, Quirks};
use crate::schema;
use crate::wire::encode::{
    Encode, EncodeContext, LeftOutCounter, Media, Object, Piece, PieceRole, RequestFrame,
    arguments, join_path, named_choice, push_element, tool_name, tool_schema,
};
use crate::wire::openai_chat::{file_name, system_role};
use crate::wire::plan::{IdRule, NO_RESULT};

/// Encodes requests for the Responses wire.
pub(crate) struct Encoder;

impl Encode for Encoder {
    fn ids(&self, _quirks: &Quirks) -> IdRule {
        IdRule::Plain
    }

    fn message(&self, message: &Message, context: &EncodeContext<'_>) -> Vec<Piece> {
        let (role, items) = match message.role() {
            Role::Assistant => (PieceRole::Model, assistant(message, context)),
            Role::User => (PieceRole::User, user("user", message, context)),
            Role::System => (PieceRole::User, user(system_role(context.quirks), message, context)),
            Role::Tool => (PieceRole::Tool, results(message, context)),
        };
        Piece::new(role, &items).into_iter().collect()
    }

    fn unanswered(&self, calls: &[&ToolUse], context: &EncodeContext<'_>) -> Vec<Piece> {
        let items = calls.iter().map(|call| {
            let id = context.plan.id(call.call.as_str(), &call.id);
            json!({"type": "function_call_output", "call_id": id, "output": NO_RESULT})
        });
        Piece::new(PieceRole::Tool, &items.collect::<Vec<_>>()).into_iter().collect()
    }

    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value> {
        tools
            .iter()
            .map(|tool| {
                let (schema, strict) = tool_schema(tool, quirks);
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    // If the field is missing, the service tries strict mode and rejects schemas
                    // that do not fit.
                    "strict": strict,
                    "parameters": schema,
                })
            })
            .collect()
    }

    fn body(&self, frame: &RequestFrame<'_>, pieces: &[&Piece]) -> Vec<u8> {
        let request = frame.request;
        // Nothing is stored at the service: the journal has the conversation, and it must work with
        // any other service.
        let mut head = json!({"model": request.model, "stream": true, "store": false});
        if frame.quirks.encrypted_reasoning {
            // Without storage, the service can continue its reasoning only if it gets it back
            // encrypted.
            head["include"] = json!(["reasoning.encrypted_content"]);
        }
        if let Some(limit) = request.max_output_tokens
            && frame.quirks.max_tokens != MaxTokens::Omit
        {
            head["max_output_tokens"] = limit.into();
        }
        if let Some(temperature) = request.temperature {
            head["temperature"] = temperature.into();
        }
        if let Some(choice) = tool_choice(frame) {
            head["tool_choice"] = choice;
        }
        if let Some(output) = &request.output {
            let strict = schema::strict_output(&output.schema);
            head["text"] = json!({"format": {
                "type": "json_schema",
                "name": output.name,
                "strict": strict.is_some(),
                "schema": strict.unwrap_or_else(|| schema::plain(&output.schema)),
            }});
        }
        let mut options = frame.options.clone();
        if let Some(effort) = options.shift_remove("effort") {
            merge(&mut head, &json!({"reasoning": {"effort": effort, "summary": "auto"}}));
        }
        merge(&mut head, &Value::Object(options));
        let mut body = Object::new();
        if let Value::Object(head) = &head {
            body.fields(head);
        }
        let mut tools = frame.tools.to_vec();
        if let Some(kind) = frame.quirks.web_search.as_ref().filter(|_| frame.web.search) {
            push_element(&mut tools, &json!({"type": kind}));
        }
        body.list("tools", &tools);
        if let Some(system) = request.system.as_deref().filter(|text| !text.is_empty()) {
            body.field("instructions", system);
        }
        let items: Vec<&[u8]> = pieces.iter().map(|piece| piece.json.as_slice()).collect();
        let out = body.key("input");
        out.push(b'[');
        out.extend_from_slice(&items.join(&b','));
        out.push(b']');
        body.close()
    }

    fn call_url(&self, base: &Url, _model: &str) -> Url {
        if base.path().trim_end_matches('/').ends_with("/responses") {
            base.clone()
        } else {
            join_path(base, "responses")
        }
    }

    fn count_request(&self, base: &Url, model: &str, body: &Value) -> Option<(Url, Value)> {
        let mut count_body = body.clone();
        let removed_fields = json!({"stream": null, "store": null, "include": null, "max_output_tokens": null,
            "temperature": null});
        merge(&mut count_body, &removed_fields);
        Some((join_path(&self.call_url(base, model), "input_tokens"), count_body))
    }
}

/// Returns the choice of tools; none leaves it to the model.
fn tool_choice(frame: &RequestFrame<'_>) -> Option<Value> {
    named_choice(frame, "required", |name| json!({"type": "function", "name": name}))
}

fn user(role: &str, message: &Message, context: &EncodeContext<'_>) -> Vec<Value> {
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if text.text.is_empty() => {}
            Block::Text(text) => parts.push(json!({"type": "input_text", "text": text.text})),
            Block::Image(image) => parts.push(media(image, context)),
            Block::Opaque(_) | Block::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
            Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) => {}
        }
    }
    if parts.is_empty() {
        return Vec::new();
    }
    vec![json!({"type": "message", "role": role, "content": parts})]
}

fn media(image: &Image, context: &EncodeContext<'_>) -> Value {
    let url = |data: String| format!("data:{};base64,{data}", image.media_type);
    match context.media(image) {
        Media::Image(data) => json!({"type": "input_image", "image_url": url(data)}),
        Media::Document(data) => {
            json!({"type": "input_file", "filename": file_name(image), "file_data": url(data)})
        }
        Media::Text(note) => json!({"type": "input_text", "text": note}),
    }
}

/// Encodes an answer item by item. The service rejects a request in which a reasoning item is not
/// followed by the item it led to, so trailing reasoning is left out.
fn assistant(message: &Message, context: &EncodeContext<'_>) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if text.text.is_empty() => {}
            Block::Text(text) => items.push(json!({
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text.text}],
            })),
            // The text of reasoning is for display; the opaque item that follows it is sent back.
            Block::Thinking(thinking) if thinking.signature.is_none() => {}
            Block::Thinking(_) => LeftOutCounter::count(&context.counts.reasoning),
            Block::ToolUse(call) => items.push(json!({
                "type": "function_call",
                "call_id": context.plan.id(call.call.as_str(), &call.id),
                "name": tool_name(&call.name),
                "arguments": arguments(&call.input).to_string(),
            })),
            Block::Opaque(opaque) => {
                let Some(value) = context.own_value(opaque, false) else { continue };
                match value.get("type").and_then(Value::as_str) {
                    Some("reasoning" | "web_search_call") => items.push(value.clone()),
                    // The phase that the service assigned to the text before it.
                    _ => {
                        if let (Some(phase), Some(last)) = (value.get("phase"), items.last_mut())
                            && last["type"] == "message"
                        {
                            last["phase"] = phase.clone();
                        }
                    }
                }
            }
            Block::Image(_) => LeftOutCounter::count(&context.counts.images),
            Block::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
            Block::ToolResult(_) => {}
        }
    }
    while items.last().is_some_and(|item| item["type"] == "reasoning") {
        items.pop();
        LeftOutCounter::count(&context.counts.reasoning);
    }
    items
}

fn results(message: &Message, context: &EncodeContext<'_>) -> Vec<Value> {
    let encoded = message.tool_results().filter(|result| context.plan.has_call(result));
    encoded
        .map(|result| {
            let mut item = Map::new();
            item.insert("type".to_owned(), "function_call_output".into());
            let id = context.plan.id(result.call.as_str(), &result.id);
            item.insert("call_id".to_owned(), id.into());
            item.insert("output".to_owned(), output(result, context));
            Value::Object(item)
        })
        .collect()
}

fn output(result: &ToolResult, context: &EncodeContext<'_>) -> Value {
    let mut parts = Vec::new();
    for part in &result.content {
        match part {
            ResultBlock::Text(text) => parts.push(json!({"type": "input_text", "text": text.text})),
            ResultBlock::Image(image) => parts.push(media(image, context)),
            ResultBlock::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
        }
    }
    if parts.iter().any(|part| part["type"] != "input_text") {
        return Value::Array(parts);
    }
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n").into()
}
