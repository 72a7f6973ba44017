//! Encodes requests.

use robota_core::message::{Block, Image, Message, ResultBlock, Role, ToolResult, ToolUse};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};
use url::Url;

use crate::json::{merge, push_json};
use crate::profile::{
    EffortStyle, EmptyContent, MaxTokens, OutputStyle, Quirks, ReasoningReplay, RequiredChoice,
    SystemRole, ToolIds,
};
use crate::schema;
use crate::wire::anthropic::last_user_turns;
use crate::wire::encode::{
    Encode, EncodeContext, LeftOutCounter, Media, Object, Piece, PieceRole, RequestFrame,
    arguments, cache_control, join_path, named_choice, tool_name, tool_schema,
};
use crate::wire::plan::{IdRule, NO_RESULT};

/// The assistant message between a tool result and a user message, for services that require one
/// there.
const BRIDGE: &str = "Understood.";

/// Encodes requests for the Chat Completions wire.
pub(crate) struct Encoder;

impl Encode for Encoder {
    fn ids(&self, quirks: &Quirks) -> IdRule {
        match quirks.tool_ids {
            ToolIds::Any => IdRule::Any,
            ToolIds::Alnum9 => IdRule::Alnum9,
        }
    }

    fn message(&self, message: &Message, context: &EncodeContext<'_>) -> Vec<Piece> {
        match message.role() {
            Role::Assistant => assistant(message, context),
            Role::User => piece(PieceRole::User, user("user", message, context)),
            Role::System => {
                let role = system_role(context.quirks);
                piece(PieceRole::User, user(role, message, context))
            }
            Role::Tool => results(message, context),
        }
    }

    fn unanswered(&self, calls: &[&ToolUse], context: &EncodeContext<'_>) -> Vec<Piece> {
        let answers = calls.iter().map(|call| {
            let id = context.plan.id(call.call.as_str(), &call.id);
            json!({"role": "tool", "tool_call_id": id, "content": NO_RESULT})
        });
        Piece::new(PieceRole::Tool, &answers.collect::<Vec<_>>()).into_iter().collect()
    }

    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value> {
        tools
            .iter()
            .map(|tool| {
                let (schema, strict) = tool_schema(tool, quirks);
                let mut function = json!({"name": tool.name, "description": tool.description});
                if strict {
                    function["strict"] = true.into();
                }
                function["parameters"] = schema;
                json!({"type": "function", "function": function})
            })
            .collect()
    }

    fn body(&self, frame: &RequestFrame<'_>, pieces: &[&Piece]) -> Vec<u8> {
        let request = frame.request;
        let mut head = json!({"model": request.model, "stream": true});
        if frame.quirks.stream_usage {
            head["stream_options"] = json!({"include_usage": true});
        }
        if let Some(limit) = request.max_output_tokens {
            match frame.quirks.max_tokens {
                MaxTokens::MaxTokens => head["max_tokens"] = limit.into(),
                MaxTokens::MaxCompletionTokens => head["max_completion_tokens"] = limit.into(),
                MaxTokens::Omit => {}
            }
        }
        if let Some(temperature) = request.temperature {
            head["temperature"] = temperature.into();
        }
        if let Some(choice) = tool_choice(frame) {
            head["tool_choice"] = choice;
        }
        if let Some(format) = response_format(frame) {
            head["response_format"] = format;
        }
        let mut options = frame.options.clone();
        if let Some(effort) = options.shift_remove("effort") {
            merge(&mut head, &effort_fields(frame.quirks, &effort));
        }
        merge(&mut head, &Value::Object(options));
        let mut body = Object::new();
        if let Value::Object(head) = &head {
            body.fields(head);
        }
        body.list("tools", frame.tools);
        write_messages(frame, pieces, body.key("messages"));
        body.close()
    }

    fn call_url(&self, base: &Url, _model: &str) -> Url {
        if base.path().trim_end_matches('/').ends_with("/chat/completions") {
            base.clone()
        } else {
            join_path(base, "chat/completions")
        }
    }

    fn count_request(&self, _base: &Url, _model: &str, _body: &Value) -> Option<(Url, Value)> {
        None
    }
}

/// Returns the choice of tools; none leaves it to the model.
fn tool_choice(frame: &RequestFrame<'_>) -> Option<Value> {
    let required = match frame.quirks.required_choice {
        RequiredChoice::Required => "required",
        RequiredChoice::Any => "any",
    };
    named_choice(frame, required, |name| json!({"type": "function", "function": {"name": name}}))
}

fn response_format(frame: &RequestFrame<'_>) -> Option<Value> {
    let output = frame.request.output.as_ref()?;
    match frame.quirks.output_schema {
        OutputStyle::JsonSchema => {
            let strict = schema::strict_output(&output.schema);
            Some(json!({"type": "json_schema", "json_schema": {
                "name": output.name,
                "strict": strict.is_some(),
                "schema": strict.unwrap_or_else(|| schema::plain(&output.schema)),
            }}))
        }
        // A service in this mode refuses a request that also has tools.
        OutputStyle::JsonObject if frame.tools.is_empty() => Some(json!({"type": "json_object"})),
        OutputStyle::JsonObject | OutputStyle::Never => None,
    }
}

fn effort_fields(quirks: &Quirks, effort: &Value) -> Value {
    let off = matches!(effort.as_str(), Some("none" | "off"));
    match quirks.effort {
        EffortStyle::Wire => json!({"reasoning_effort": effort}),
        EffortStyle::ReasoningObject => json!({"reasoning": {"effort": effort}}),
        EffortStyle::EnableThinking => json!({"enable_thinking": !off}),
        EffortStyle::ThinkingType if off => json!({"thinking": {"type": "disabled"}}),
        EffortStyle::ThinkingType => {
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": effort})
        }
        EffortStyle::Never => json!({}),
    }
}

/// Returns the role of instructions, at the start and inside a conversation.
pub(crate) fn system_role(quirks: &Quirks) -> &'static str {
    match quirks.system_role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
    }
}

fn piece(role: PieceRole, element: Option<Value>) -> Vec<Piece> {
    element.and_then(|element| Piece::new(role, &[element])).into_iter().collect()
}

/// Encodes a user message: text alone as a string, text with attachments as parts.
fn user(role: &str, message: &Message, context: &EncodeContext<'_>) -> Option<Value> {
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if text.text.is_empty() => {}
            Block::Text(text) => parts.push(json!({"type": "text", "text": text.text})),
            Block::Image(image) => parts.push(media(image, context)),
            Block::Opaque(_) | Block::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
            Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) => {}
        }
    }
    if parts.is_empty() {
        return None;
    }
    Some(json!({"role": role, "content": content(parts)}))
}

/// Returns the parts, or a string if all parts are text.
fn content(parts: Vec<Value>) -> Value {
    // Many local servers accept parts for attachments only.
    let only_text = parts.iter().all(|part| part["type"] == "text");
    if !only_text {
        return Value::Array(parts);
    }
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n\n").into()
}

fn media(image: &Image, context: &EncodeContext<'_>) -> Value {
    let url = |data: String| format!("data:{};base64,{data}", image.media_type);
    match context.media(image) {
        Media::Image(data) => json!({"type": "image_url", "image_url": {"url": url(data)}}),
        Media::Document(data) => json!({"type": "file", "file": {
            "filename": file_name(image), "file_data": url(data)}}),
        Media::Text(text) => json!({"type": "text", "text": text}),
    }
}

/// Returns a file name for a document, always the same for the same bytes.
pub(crate) fn file_name(image: &Image) -> String {
    // The name has the ending of the type, and the hash makes it the same in every request.
    let kind = image.media_type.rsplit(['/', '+']).next().unwrap_or("bin");
    format!("{}.{kind}", image.blob.sha256.get(..12).unwrap_or("document"))
}

fn assistant(message: &Message, context: &EncodeContext<'_>) -> Vec<Piece> {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut details = None;
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(block) => text.push_str(&block.text),
            Block::Thinking(thinking) => reasoning.push_str(&thinking.thinking),
            Block::ToolUse(call) => calls.push(tool_call(call, context)),
            Block::Opaque(opaque) => {
                let value = context.own_value(opaque, false);
                details = value.and_then(|value| value.get("reasoning_details")).or(details);
            }
            Block::Image(_) => LeftOutCounter::count(&context.counts.images),
            Block::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
            Block::ToolResult(_) => {}
        }
    }
    // Services reject an assistant message without text and calls, so an answer that was
    // interrupted while the model was reasoning is not sent.
    if text.is_empty() && calls.is_empty() {
        if !reasoning.is_empty() {
            LeftOutCounter::count(&context.counts.reasoning);
        }
        return Vec::new();
    }
    let mut encoded = Map::new();
    encoded.insert("role".to_owned(), "assistant".into());
    match (text.is_empty(), context.quirks.empty_content) {
        (false, _) => drop(encoded.insert("content".to_owned(), text.into())),
        (true, EmptyContent::Null) => drop(encoded.insert("content".to_owned(), Value::Null)),
        (true, EmptyContent::Empty) => drop(encoded.insert("content".to_owned(), "".into())),
        (true, EmptyContent::Omit) => {}
    }
    match context.quirks.reasoning_replay {
        ReasoningReplay::ReasoningContent if !calls.is_empty() => {
            encoded.insert("reasoning_content".to_owned(), reasoning.into());
        }
        ReasoningReplay::ReasoningDetails if details.is_some() => {
            encoded.extend(details.map(|all| ("reasoning_details".to_owned(), all.clone())));
        }
        _ if !reasoning.is_empty() => LeftOutCounter::count(&context.counts.reasoning),
        _ => {}
    }
    if !calls.is_empty() {
        encoded.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    piece(PieceRole::Model, Some(Value::Object(encoded)))
}

fn tool_call(call: &ToolUse, context: &EncodeContext<'_>) -> Value {
    let mut encoded = json!({
        "id": context.plan.id(call.call.as_str(), &call.id),
        "type": "function",
        "function": {
            "name": tool_name(&call.name),
            "arguments": arguments(&call.input).to_string(),
        },
    });
    // Extra content that the service attached to its call must be sent back with it.
    if let Some(extra) = call.extra.get("extra_content")
        && context.same_origin(&call.extra)
    {
        encoded["extra_content"] = extra.clone();
    }
    encoded
}

/// Encodes results, followed by a user message with the attachments that results cannot hold.
fn results(message: &Message, context: &EncodeContext<'_>) -> Vec<Piece> {
    let mut answers = Vec::new();
    let mut attachments = Vec::new();
    for result in message.tool_results().filter(|result| context.plan.has_call(result)) {
        answers.push(json!({
            "role": "tool",
            "tool_call_id": context.plan.id(result.call.as_str(), &result.id),
            "content": result_text(result, context, &mut attachments),
        }));
    }
    let mut pieces: Vec<Piece> = Piece::new(PieceRole::Tool, &answers).into_iter().collect();
    if !attachments.is_empty() {
        pieces
            .extend(piece(PieceRole::User, Some(json!({"role": "user", "content": attachments}))));
    }
    pieces
}

fn result_text(
    result: &ToolResult,
    context: &EncodeContext<'_>,
    attachments: &mut Vec<Value>,
) -> String {
    let mut texts = Vec::new();
    for part in &result.content {
        match part {
            ResultBlock::Text(text) => texts.push(text.text.clone()),
            ResultBlock::Image(image) => match media(image, context) {
                note if note["type"] == "text" => {
                    texts.extend(note["text"].as_str().map(str::to_owned));
                }
                // A tool message can only have text; the attachment follows in a user message.
                attachment => {
                    texts.push(format!("[see the attachment of {} below]", result.name));
                    attachments.push(attachment);
                }
            },
            ResultBlock::Unknown(_) => LeftOutCounter::count(&context.counts.opaque),
        }
    }
    texts.join("\n")
}

fn write_messages(frame: &RequestFrame<'_>, pieces: &[&Piece], out: &mut Vec<u8>) {
    let marks = if frame.quirks.part_cache_markers {
        last_user_turns(&pieces[..frame.persistent], 2)
    } else {
        Vec::new()
    };
    out.push(b'[');
    let mut first = true;
    let mut comma = |out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
    };
    if let Some(system) = frame.request.system.as_deref().filter(|text| !text.is_empty()) {
        comma(out);
        let role = system_role(frame.quirks);
        let content = if frame.quirks.part_cache_markers {
            with_markers(system, frame.cache_ttl)
        } else {
            system.into()
        };
        push_json(out, &json!({"role": role, "content": content}));
    }
    let mut before = None;
    for (at, piece) in pieces.iter().enumerate() {
        if frame.quirks.no_user_after_tool
            && before == Some(PieceRole::Tool)
            && piece.role == PieceRole::User
        {
            comma(out);
            push_json(out, &json!({"role": "assistant", "content": BRIDGE}));
        }
        comma(out);
        match marks.contains(&at).then(|| with_marker(piece, frame.cache_ttl)).flatten() {
            Some(marked) => out.extend_from_slice(&marked),
            None => out.extend_from_slice(&piece.json),
        }
        before = Some(piece.role);
    }
    out.push(b']');
}

fn with_markers(text: &str, ttl: Option<&str>) -> Value {
    json!([{"type": "text", "text": text, "cache_control": cache_control(ttl)}])
}

/// Adds a cache marker to the last message of a piece: the results of parallel calls are several
/// messages.
fn with_marker(piece: &Piece, ttl: Option<&str>) -> Option<Vec<u8>> {
    let list = [b"[", piece.json.as_slice(), b"]"].concat();
    let mut messages: Vec<Value> = serde_json::from_slice(&list).ok()?;
    let content = messages.last_mut()?.get_mut("content")?;
    match content {
        Value::String(text) => *content = with_markers(&std::mem::take(text), ttl),
        Value::Array(parts) => parts.last_mut()?["cache_control"] = cache_control(ttl),
        _ => return None,
    }
    Some(Piece::new(piece.role, &messages)?.json)
}
