//! Encodes requests.

use robota_core::message::{Block, Image, Message, ResultBlock, Role, ToolResult, ToolUse};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value, json};
use url::Url;

use crate::json::{merge, push_json};
use crate::profile::{
    EffortStyle, EmptyContent, MaxTokens, Quirks, ReasoningReplay, SystemRole, ToolIds,
};
use crate::schema;
use crate::wire::anthropic::last_user_turns;
use crate::wire::encode::{
    Cx, Encode, Frame, Lost, Media, Object, Piece, Side, arguments, below, tool_name,
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

    fn message(&self, message: &Message, cx: &Cx<'_>) -> Vec<Piece> {
        match message.role() {
            Role::Assistant => assistant(message, cx),
            Role::User => piece(Side::User, user("user", message, cx)),
            Role::System => piece(Side::User, user("system", message, cx)),
            Role::Tool => results(message, cx),
        }
    }

    fn unanswered(&self, calls: &[&ToolUse], cx: &Cx<'_>) -> Vec<Piece> {
        let answers = calls.iter().map(|call| {
            let id = cx.plan.id(call.call.as_str(), &call.id);
            json!({"role": "tool", "tool_call_id": id, "content": NO_RESULT})
        });
        Piece::new(Side::Tool, &answers.collect::<Vec<_>>()).into_iter().collect()
    }

    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value> {
        tools
            .iter()
            .map(|tool| {
                let strict =
                    quirks.strict_tools.then(|| schema::strict(&tool.input_schema)).flatten();
                let mut function = json!({"name": tool.name, "description": tool.description});
                if strict.is_some() {
                    function["strict"] = true.into();
                }
                function["parameters"] =
                    strict.unwrap_or_else(|| schema::plain(&tool.input_schema));
                json!({"type": "function", "function": function})
            })
            .collect()
    }

    fn body(&self, frame: &Frame<'_>, pieces: &[&Piece]) -> Vec<u8> {
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
        let mut options = frame.options.clone();
        if let Some(effort) = options.shift_remove("effort") {
            merge(&mut head, &effort_fields(frame.quirks, &effort));
        }
        merge(&mut head, &Value::Object(options));
        let mut body = Object::new();
        if let Value::Object(head) = &head {
            body.fields(head);
        }
        if !frame.tools.is_empty() {
            let out = body.key("tools");
            out.push(b'[');
            out.extend_from_slice(frame.tools);
            out.push(b']');
        }
        write_messages(frame, pieces, body.key("messages"));
        body.close()
    }

    fn call_url(&self, base: &Url, _model: &str) -> Url {
        if base.path().trim_end_matches('/').ends_with("/chat/completions") {
            base.clone()
        } else {
            below(base, "chat/completions")
        }
    }

    fn count(&self, _base: &Url, _model: &str, _body: &Value) -> Option<(Url, Value)> {
        None
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

fn piece(side: Side, element: Option<Value>) -> Vec<Piece> {
    element.and_then(|element| Piece::new(side, &[element])).into_iter().collect()
}

/// Encodes a user message: text alone as a string, text with attachments as parts.
fn user(role: &str, message: &Message, cx: &Cx<'_>) -> Option<Value> {
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if text.text.is_empty() => {}
            Block::Text(text) => parts.push(json!({"type": "text", "text": text.text})),
            Block::Image(image) => parts.push(media(image, cx)),
            Block::Opaque(_) | Block::Unknown(_) => Lost::count(&cx.lost.opaque),
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
    let only_text = parts.iter().all(|part| part["type"] == "text");
    if !only_text {
        return Value::Array(parts);
    }
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n\n").into()
}

fn media(image: &Image, cx: &Cx<'_>) -> Value {
    let url = |data: String| format!("data:{};base64,{data}", image.media_type);
    match cx.media(image) {
        Media::Image(data) => json!({"type": "image_url", "image_url": {"url": url(data)}}),
        Media::Document(data) => json!({"type": "file", "file": {
            "filename": file_name(image), "file_data": url(data)}}),
        Media::Words(words) => json!({"type": "text", "text": words}),
    }
}

/// Returns a file name for a document, always the same for the same bytes.
pub(crate) fn file_name(image: &Image) -> String {
    let kind = image.media_type.rsplit(['/', '+']).next().unwrap_or("bin");
    format!("{}.{kind}", image.blob.sha256.get(..12).unwrap_or("document"))
}

fn assistant(message: &Message, cx: &Cx<'_>) -> Vec<Piece> {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut details = None;
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(words) => text.push_str(&words.text),
            Block::Thinking(thinking) => reasoning.push_str(&thinking.thinking),
            Block::ToolUse(call) => calls.push(tool_call(call, cx)),
            Block::Opaque(opaque) => {
                let value = cx.own(opaque, false);
                details = value.and_then(|value| value.get("reasoning_details")).or(details);
            }
            Block::Image(_) => Lost::count(&cx.lost.images),
            Block::Unknown(_) => Lost::count(&cx.lost.opaque),
            Block::ToolResult(_) => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        if !reasoning.is_empty() {
            Lost::count(&cx.lost.reasoning);
        }
        return Vec::new();
    }
    let mut written = Map::new();
    written.insert("role".to_owned(), "assistant".into());
    match (text.is_empty(), cx.quirks.empty_content) {
        (false, _) => drop(written.insert("content".to_owned(), text.into())),
        (true, EmptyContent::Null) => drop(written.insert("content".to_owned(), Value::Null)),
        (true, EmptyContent::Empty) => drop(written.insert("content".to_owned(), "".into())),
        (true, EmptyContent::Omit) => {}
    }
    match cx.quirks.reasoning_replay {
        ReasoningReplay::ReasoningContent if !calls.is_empty() => {
            written.insert("reasoning_content".to_owned(), reasoning.into());
        }
        ReasoningReplay::ReasoningDetails if details.is_some() => {
            written.extend(details.map(|all| ("reasoning_details".to_owned(), all.clone())));
        }
        _ if !reasoning.is_empty() => Lost::count(&cx.lost.reasoning),
        _ => {}
    }
    if !calls.is_empty() {
        written.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    piece(Side::Model, Some(Value::Object(written)))
}

fn tool_call(call: &ToolUse, cx: &Cx<'_>) -> Value {
    let mut written = json!({
        "id": cx.plan.id(call.call.as_str(), &call.id),
        "type": "function",
        "function": {
            "name": tool_name(&call.name),
            "arguments": arguments(&call.input).to_string(),
        },
    });
    // Extra content that the service attached to its call must be sent back with it.
    if let Some(extra) = call.extra.get("extra_content")
        && cx.is_ours(&call.extra)
    {
        written["extra_content"] = extra.clone();
    }
    written
}

/// Encodes results, followed by a user message with the attachments that results cannot hold.
fn results(message: &Message, cx: &Cx<'_>) -> Vec<Piece> {
    let mut answers = Vec::new();
    let mut pictures = Vec::new();
    for result in message.tool_results().filter(|result| cx.plan.has_call(result)) {
        answers.push(json!({
            "role": "tool",
            "tool_call_id": cx.plan.id(result.call.as_str(), &result.id),
            "content": result_text(result, cx, &mut pictures),
        }));
    }
    let mut pieces: Vec<Piece> = Piece::new(Side::Tool, &answers).into_iter().collect();
    if !pictures.is_empty() {
        pieces.extend(piece(Side::User, Some(json!({"role": "user", "content": pictures}))));
    }
    pieces
}

fn result_text(result: &ToolResult, cx: &Cx<'_>, pictures: &mut Vec<Value>) -> String {
    let mut texts = Vec::new();
    for part in &result.content {
        match part {
            ResultBlock::Text(text) => texts.push(text.text.clone()),
            ResultBlock::Image(image) => match media(image, cx) {
                words if words["type"] == "text" => {
                    texts.extend(words["text"].as_str().map(str::to_owned));
                }
                picture => {
                    texts.push(format!("[see the attachment of {} below]", result.name));
                    pictures.push(picture);
                }
            },
            ResultBlock::Unknown(_) => Lost::count(&cx.lost.opaque),
        }
    }
    texts.join("\n")
}

fn write_messages(frame: &Frame<'_>, pieces: &[&Piece], out: &mut Vec<u8>) {
    let marks = if frame.quirks.part_cache_markers {
        last_user_turns(&pieces[..frame.lasting], 2)
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
        let role = match frame.quirks.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        let content = if frame.quirks.part_cache_markers { marked(system) } else { system.into() };
        push_json(out, &json!({"role": role, "content": content}));
    }
    let mut before = None;
    for (at, piece) in pieces.iter().enumerate() {
        if frame.quirks.no_user_after_tool && before == Some(Side::Tool) && piece.side == Side::User
        {
            comma(out);
            push_json(out, &json!({"role": "assistant", "content": BRIDGE}));
        }
        comma(out);
        match marks.contains(&at).then(|| with_marker(piece)).flatten() {
            Some(marked) => push_json(out, &marked),
            None => out.extend_from_slice(&piece.json),
        }
        before = Some(piece.side);
    }
    out.push(b']');
}

fn marked(text: &str) -> Value {
    json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}])
}

/// Adds a cache marker to a user message that consists of text only.
fn with_marker(piece: &Piece) -> Option<Value> {
    let mut message: Value = serde_json::from_slice(&piece.json).ok()?;
    let text = message.get("content")?.as_str()?.to_owned();
    message["content"] = marked(&text);
    Some(message)
}
