//! Encodes requests.

use std::borrow::Cow;

use robota_core::catalogue::DEFAULT_MAX_OUTPUT;
use robota_core::message::{
    Block, Image, Message, MessageState, ResultBlock, Role, ToolResult, ToolUse,
};
use robota_core::provider::ToolChoice;
use robota_core::tool::ToolSpec;
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use crate::json::{merge, push_json};
use crate::profile::Quirks;
use crate::schema;
use crate::wire::encode::{
    Element, Encode, EncodeContext, LeftOutCounter, Media, OPENING, Object, Piece, PieceRole,
    RequestFrame, arguments, cache_control, join_path, push_element, tool_name, tool_schema,
    write_grouped,
};
use crate::wire::plan::{IdRule, NO_RESULT};

/// Encodes requests for the Anthropic Messages wire.
pub(crate) struct Encoder;

impl Encode for Encoder {
    fn ids(&self, _quirks: &Quirks) -> IdRule {
        IdRule::Plain
    }

    fn message(&self, message: &Message, context: &EncodeContext<'_>) -> Vec<Piece> {
        let role = match message.role() {
            Role::Assistant => PieceRole::Model,
            // Only the newest models accept system messages inside a conversation; all accept user
            // messages.
            Role::User | Role::Tool | Role::System => PieceRole::User,
        };
        let blocks = message.content.iter().enumerate();
        let parts = blocks.filter_map(|(at, block)| part(message, at, block, context));
        Piece::new(role, &parts.collect::<Vec<_>>()).into_iter().collect()
    }

    fn unanswered(&self, calls: &[&ToolUse], context: &EncodeContext<'_>) -> Vec<Piece> {
        let results: Vec<Value> = calls
            .iter()
            .map(|call| {
                let id = context.plan.id(call.call.as_str(), &call.id);
                json!({"type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": true})
            })
            .collect();
        Piece::new(PieceRole::User, &results).into_iter().collect()
    }

    fn tools(&self, tools: &[ToolSpec], quirks: &Quirks) -> Vec<Value> {
        tools
            .iter()
            .map(|tool| {
                let (schema, strict) = tool_schema(tool, quirks);
                let mut encoded = json!({"name": tool.name, "description": tool.description});
                if strict {
                    encoded["strict"] = true.into();
                }
                encoded["input_schema"] = schema;
                encoded
            })
            .collect()
    }

    fn body(&self, frame: &RequestFrame<'_>, pieces: &[&Piece]) -> Vec<u8> {
        let request = frame.request;
        // The wire requires the limit, whatever the quirks of the vendor say.
        let limit = request.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT);
        let mut head = json!({"model": request.model, "max_tokens": limit, "stream": true});
        if let Some(temperature) = request.temperature {
            head["temperature"] = temperature.into();
        }
        let tools = tools(frame);
        if let Some(choice) = tool_choice(frame) {
            head["tool_choice"] = choice;
        }
        // Only a schema in the strict subset is accepted; others stay in the prompt.
        if let Some(schema) =
            request.output.as_ref().and_then(|output| schema::strict_output(&output.schema))
        {
            head["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
        let mut options = frame.options.clone();
        if let Some(effort) = options.shift_remove("effort") {
            merge(&mut head, &json!({"output_config": {"effort": effort}}));
        }
        merge(&mut head, &Value::Object(options));
        let mut body = Object::new();
        if let Value::Object(head) = &head {
            body.fields(head);
        }
        let with_markers = frame.quirks.cache_markers;
        let ttl = frame.cache_ttl;
        body.list("tools", &if with_markers { with_marker(tools, ttl) } else { tools });
        if let Some(system) = request.system.as_deref().filter(|text| !text.is_empty()) {
            let out = body.key("system");
            out.push(b'[');
            push_json(out, &json!({"type": "text", "text": system}));
            if with_markers {
                mark(out, ttl);
            }
            out.push(b']');
        }
        write_messages(frame, pieces, with_markers, body.key("messages"));
        body.close()
    }

    fn call_url(&self, base: &Url, _model: &str) -> Url {
        let path = base.path().trim_end_matches('/');
        if path.ends_with("/messages") {
            base.clone()
        } else if path.ends_with("/v1") {
            join_path(base, "messages")
        } else {
            join_path(base, "v1/messages")
        }
    }

    fn count_request(&self, base: &Url, model: &str, body: &Value) -> Option<(Url, Value)> {
        let mut count_body = body.clone();
        // The count refuses `max_tokens`, and the others have no effect on it.
        merge(&mut count_body, &json!({"max_tokens": null, "stream": null, "temperature": null}));
        Some((join_path(&self.call_url(base, model), "count_tokens"), count_body))
    }
}

/// A part of a message. It is written as JSON directly: a long conversation has thousands of them.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    Image {
        source: MediaSource<'a>,
    },
    Document {
        source: MediaSource<'a>,
    },
    ToolUse {
        id: &'a str,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A part that the service sent, unchanged.
    #[serde(untagged)]
    Own(&'a Value),
}

#[derive(Serialize)]
struct MediaSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: String,
}

impl Element for Part<'_> {
    fn markable(&self) -> bool {
        match self {
            Self::Own(value) => value.markable(),
            // The service refuses a marker on reasoning.
            Self::Thinking { .. } => false,
            Self::Text { .. }
            | Self::Image { .. }
            | Self::Document { .. }
            | Self::ToolUse { .. }
            | Self::ToolResult { .. } => true,
        }
    }
}

/// Returns the part of a block; none if it is not sent.
fn part<'a>(
    message: &Message,
    at: usize,
    block: &'a Block,
    context: &'a EncodeContext<'_>,
) -> Option<Part<'a>> {
    match block {
        Block::Text(text) if text.text.is_empty() => None,
        // The service refuses an empty text.
        Block::Text(text) => Some(Part::Text { text: Cow::Borrowed(&text.text) }),
        Block::Thinking(thinking) => match &thinking.signature {
            Some(signature) if context.same_origin(&thinking.extra) => {
                Some(Part::Thinking { thinking: &thinking.thinking, signature })
            }
            Some(_) => {
                LeftOutCounter::count(&context.counts.reasoning);
                None
            }
            // Reasoning without a signature is for display only: no service accepts it back.
            None => None,
        },
        Block::Image(image) => Some(media(image, context)),
        Block::ToolUse(call) => Some(Part::ToolUse {
            id: context.plan.id(call.call.as_str(), &call.id),
            name: tool_name(&call.name),
            input: arguments(&call.input),
        }),
        Block::ToolResult(result) => tool_result(result, context),
        Block::Opaque(opaque) => {
            let kind = opaque.value.get("type").and_then(Value::as_str).unwrap_or_default();
            // The service rejects a call of its own tool without the result.
            if kind == "server_tool_use" && !has_result(message, at, &opaque.value) {
                LeftOutCounter::count(&context.counts.opaque);
                return None;
            }
            // Only the model that wrote it can decrypt redacted reasoning.
            context.own_value(opaque, kind != "redacted_thinking").map(Part::Own)
        }
        Block::Unknown(_) => {
            LeftOutCounter::count(&context.counts.opaque);
            None
        }
    }
}

/// Returns whether the result of a server tool is in the same answer, or the answer was paused at
/// this call.
fn has_result(message: &Message, at: usize, call: &Value) -> bool {
    let paused = at + 1 == message.content.len() && message.state() == MessageState::Complete;
    paused
        || message.content.iter().any(|block| match block {
            Block::Opaque(result) => {
                result.value.get("tool_use_id").is_some_and(|id| Some(id) == call.get("id"))
            }
            _ => false,
        })
}

fn media<'a>(image: &'a Image, context: &EncodeContext<'_>) -> Part<'a> {
    let source = |data| MediaSource { kind: "base64", media_type: &image.media_type, data };
    match context.media(image) {
        Media::Image(data) => Part::Image { source: source(data) },
        Media::Document(data) => Part::Document { source: source(data) },
        Media::Text(note) => Part::Text { text: Cow::Owned(note) },
    }
}

fn tool_result<'a>(result: &'a ToolResult, context: &'a EncodeContext<'_>) -> Option<Part<'a>> {
    if !context.plan.has_call(result) {
        return None;
    }
    let parts = result.content.iter().filter_map(|part| match part {
        ResultBlock::Text(text) if text.text.is_empty() => None,
        ResultBlock::Text(text) => Some(Part::Text { text: Cow::Borrowed(&text.text) }),
        ResultBlock::Image(image) => Some(media(image, context)),
        ResultBlock::Unknown(_) => {
            LeftOutCounter::count(&context.counts.opaque);
            None
        }
    });
    Some(Part::ToolResult {
        tool_use_id: context.plan.id(result.call.as_str(), &result.id),
        content: parts.collect(),
        is_error: result.is_error,
    })
}

/// Returns the choice of tools; none leaves it to the model.
fn tool_choice(frame: &RequestFrame<'_>) -> Option<Value> {
    match &frame.request.tool_choice {
        // The conversation has calls, but there are no tools: see `tools`.
        _ if frame.tools.is_empty() => {
            (frame.has_calls && !has_web(frame)).then(|| json!({"type": "none"}))
        }
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Tool(name) => Some(json!({"type": "tool", "name": tool_name(name)})),
    }
}

fn has_web(frame: &RequestFrame<'_>) -> bool {
    frame.web.search && frame.quirks.web_search.is_some()
        || frame.web.fetch && frame.quirks.web_fetch.is_some()
}

fn tools(frame: &RequestFrame<'_>) -> Vec<u8> {
    let mut tools = frame.tools.to_vec();
    let mut add = |kind: &Option<String>, name: &str| {
        if let Some(kind) = kind {
            push_element(&mut tools, &json!({"type": kind, "name": name}));
        }
    };
    if frame.web.search {
        add(&frame.quirks.web_search, "web_search");
    }
    if frame.web.fetch {
        add(&frame.quirks.web_fetch, "web_fetch");
    }
    if tools.is_empty() && frame.has_calls {
        // The service rejects a conversation that contains calls if the request has no tools.
        push_json(
            &mut tools,
            &json!({
                "name": "none",
                "description": "There are no tools now.",
                "input_schema": {"type": "object", "properties": {}},
            }),
        );
    }
    tools
}

fn with_marker(mut tools: Vec<u8>, ttl: Option<&str>) -> Vec<u8> {
    mark(&mut tools, ttl);
    tools
}

/// Marks the end of a prefix that the service should cache: inserts a marker into the object that was
/// written last.
fn mark(out: &mut Vec<u8>, ttl: Option<&str>) {
    // Takes the closing brace away and writes it again after the marker.
    if out.pop().is_some() {
        out.extend_from_slice(br#","cache_control":"#);
        push_json(out, &cache_control(ttl));
        out.push(b'}');
    }
}

fn write_messages(
    frame: &RequestFrame<'_>,
    pieces: &[&Piece],
    with_markers: bool,
    out: &mut Vec<u8>,
) {
    // With those of the tools and of the system prompt these are four, as many as a request may have.
    // The service finds a cached prefix at the older mark, and stores a longer one at the newer.
    let marks =
        if with_markers { last_user_turns(&pieces[..frame.persistent], 2) } else { Vec::new() };
    out.push(b'[');
    if pieces.first().is_some_and(|piece| piece.role == PieceRole::Model) {
        push_json(out, &json!({"role": "user", "content": [{"type": "text", "text": OPENING}]}));
        out.push(b',');
    }
    let open = |role| -> &'static [u8] {
        match role {
            PieceRole::Model => br#"{"role":"assistant","content":["#,
            PieceRole::User | PieceRole::Tool => br#"{"role":"user","content":["#,
        }
    };
    write_grouped(pieces, out, open, |at, out| {
        if marks.contains(&at) {
            mark(out, frame.cache_ttl);
        }
    });
    out.push(b']');
}

/// Returns the indices of the last markable pieces of the last `turns` user turns.
pub(crate) fn last_user_turns(pieces: &[&Piece], turns: usize) -> Vec<usize> {
    let mut marks = Vec::new();
    let mut inside = false;
    for (at, piece) in pieces.iter().enumerate().rev() {
        match piece.role {
            PieceRole::Model => inside = false,
            PieceRole::User | PieceRole::Tool if !inside && piece.markable => {
                marks.push(at);
                inside = true;
                if marks.len() == turns {
                    break;
                }
            }
            PieceRole::User | PieceRole::Tool => {}
        }
    }
    marks
}
