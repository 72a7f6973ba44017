//! Turns the result of a call into the outcome that a model gets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::blob::Blobs;
use robota_core::message::{Image, ResultBlock};
use robota_core::tool::{DidRun, ToolOutcome};
use serde_json::{Map, Value};

use crate::error::McpError;
use crate::text::clean_line;

/// Images of these types can be shown to models.
// SVG is not among them: no model service takes it.
const SHOWN: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Images above this size are not passed on, in bytes.
const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// At most this many parts of a result are used.
const MAX_PARTS: usize = 500;

/// Returns the outcome for a failure.
pub(super) fn failed(error: &McpError) -> ToolOutcome {
    let outcome = ToolOutcome::failed(error.code(), error.to_string());
    if error.may_have_run() {
        let text = format!("{error}. The call may have had effects.");
        ToolOutcome { ran: DidRun::Maybe, ..ToolOutcome::failed(error.code(), text) }
    } else {
        match error {
            McpError::Answer { .. } => outcome,
            _ => ToolOutcome { ran: DidRun::No, ..outcome },
        }
    }
}

/// Returns the outcome for a result of `tools/call`.
pub(super) async fn from_result(result: &Value, blobs: &dyn Blobs) -> ToolOutcome {
    let mut content = Vec::new();
    let parts = result.get("content").and_then(Value::as_array);
    let count = parts.map_or(0, Vec::len);
    for part in parts.into_iter().flatten().take(MAX_PARTS) {
        content.extend(block(part, blobs).await);
    }
    if count > MAX_PARTS {
        content.push(note(&format!("{} more parts are left out", count - MAX_PARTS)));
    }
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    // The protocol asks servers to send structured content as text too; not all do.
    if let Some(structured) = structured
        && content.is_empty()
    {
        content.push(ResultBlock::text(structured.to_string()));
    }
    if content.is_empty() {
        content.push(note("the result is empty"));
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    let mut outcome = ToolOutcome { content, ..ToolOutcome::ok("") };
    if failed {
        outcome.ok = false;
        outcome.error_code = Some("mcp_tool_error".to_owned());
    }
    match structured {
        Some(structured) if structured.to_string().len() <= 32 * 1024 => {
            outcome.with_metadata("structured_content", structured.clone())
        }
        _ => outcome,
    }
}

fn note(text: &str) -> ResultBlock {
    ResultBlock::text(format!("[{text}]"))
}

async fn block(part: &Value, blobs: &dyn Blobs) -> Vec<ResultBlock> {
    let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => vec![ResultBlock::text(text("text"))],
        "image" => image(text("data"), text("mimeType"), blobs).await,
        "audio" => vec![note(&format!(
            "audio, {}: it cannot be played",
            clean_line(text("mimeType"), 100)
        ))],
        "resource" => resource(part.get("resource").unwrap_or(&Value::Null), blobs).await,
        "resource_link" => {
            let name = clean_line(text("name"), 200);
            vec![note(&format!("resource {name}: {}", clean_line(text("uri"), 2_000)))]
        }
        // Newer kinds of content are data all the same.
        _ => vec![ResultBlock::text(part.to_string())],
    }
}

/// Returns the content of a resource.
pub(super) async fn resource(resource: &Value, blobs: &dyn Blobs) -> Vec<ResultBlock> {
    let text = |key: &str| resource.get(key).and_then(Value::as_str);
    let uri = clean_line(text("uri").unwrap_or_default(), 2_000);
    let kind = text("mimeType").unwrap_or_default();
    match (text("text"), text("blob")) {
        (Some(text), _) => {
            vec![ResultBlock::text(format!("[resource {uri}]\n")), ResultBlock::text(text)]
        }
        (None, Some(data)) if kind.starts_with("image/") => {
            let mut blocks = vec![ResultBlock::text(format!("[resource {uri}]\n"))];
            blocks.extend(image(data, kind, blobs).await);
            blocks
        }
        (None, Some(data)) => {
            let bytes = data.len() / 4 * 3;
            vec![note(&format!(
                "resource {uri}, {}: about {bytes} bytes that are not text",
                clean_line(kind, 100)
            ))]
        }
        (None, None) => vec![note(&format!("resource {uri}: it is empty"))],
    }
}

async fn image(data: &str, kind: &str, blobs: &dyn Blobs) -> Vec<ResultBlock> {
    let kind = clean_line(kind, 100);
    if !SHOWN.contains(&kind.as_str()) {
        return vec![note(&format!("an image of type `{kind}`, which models cannot read"))];
    }
    // Base64 has four characters for three bytes; checked before it is decoded.
    if data.len() / 4 * 3 > MAX_IMAGE {
        return vec![note(&format!("an image of more than {MAX_IMAGE} bytes is left out"))];
    }
    let Ok(bytes) = STANDARD.decode(data.trim()) else {
        return vec![note("an image that cannot be decoded")];
    };
    match blobs.put(&bytes).await {
        Ok(blob) => {
            vec![ResultBlock::Image(Image { blob, media_type: kind, extra: Map::new() })]
        }
        Err(error) => vec![note(&format!("an image that cannot be stored: {error}"))],
    }
}

#[cfg(test)]
mod tests;
