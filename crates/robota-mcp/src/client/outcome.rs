//! Turns the result of a call into the outcome that a model gets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::blob::INLINE_LIMIT;
use robota_core::call::CallContext;
use robota_core::message::{BlobRef, Image, ResultBlock};
use robota_core::tool::{DidRun, ToolOutcome};
use serde_json::{Map, Value, json};

use crate::error::McpError;
use crate::text::clean_line;

/// Images of these types can be shown to models.
// SVG is not among them: no model service takes it.
const SHOWN: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Images above this size are kept as files, in bytes.
const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// At most this many parts of a result are used.
const MAX_PARTS: usize = 500;
/// At most this many contents of a resource are used.
const MAX_RESOURCES: usize = 100;

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
pub(super) async fn from_result(result: &Value, scope: &CallContext) -> ToolOutcome {
    let mut content = Content::new(scope);
    let parts = result.get("content").and_then(Value::as_array);
    let count = parts.map_or(0, Vec::len);
    for part in parts.into_iter().flatten().take(MAX_PARTS) {
        content.add_part(part).await;
    }
    if count > MAX_PARTS {
        content.note(&format!("{} more parts are left out", count - MAX_PARTS));
    }
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    // Here, because the driver redacts what the model gets and not what is stored.
    let structured = structured.map(|structured| {
        let mut structured = structured.clone();
        scope.redactor.value(&mut structured);
        structured
    });
    // The protocol asks servers to send structured content as text too; not all do.
    if let Some(structured) = &structured
        && content.blocks.is_empty()
    {
        content.text(structured.to_string());
    }
    if content.blocks.is_empty() {
        content.note("the result is empty");
    }
    let mut outcome = content.outcome();
    if result.get("isError") == Some(&Value::Bool(true)) {
        outcome.ok = false;
        outcome.error_code = Some("mcp_tool_error".to_owned());
    }
    let Some(structured) = structured else { return outcome };
    let text = structured.to_string();
    if text.len() <= INLINE_LIMIT {
        return outcome.with_metadata("structured_content", structured);
    }
    match scope.blobs.put(text.as_bytes()).await {
        Ok(blob) => outcome.with_metadata("structured_content_blob", json!(blob)),
        Err(error) => {
            tracing::warn!(%error, "the structured content of a result cannot be stored");
            outcome
        }
    }
}

/// Returns the outcome for a result of `resources/read`.
pub(super) async fn from_resource(result: &Value, scope: &CallContext) -> ToolOutcome {
    let mut content = Content::new(scope);
    for resource in resources(result) {
        content.add_resource(resource).await;
    }
    if content.blocks.is_empty() {
        content.note("the resource is empty");
    }
    content.outcome()
}

/// Returns the content of a resource without its address, for a prompt.
pub(super) async fn of_resource(result: &Value, scope: &CallContext) -> Vec<ResultBlock> {
    let mut content = Content::new(scope);
    for resource in resources(result) {
        content.add_resource_content(resource, "").await;
    }
    let mut outcome = content.outcome();
    // A prompt does not pass through the redactor of the driver.
    scope.redactor.outcome(&mut outcome);
    outcome.content
}

fn resources(result: &Value) -> impl Iterator<Item = &Value> {
    let all = result.get("contents").and_then(Value::as_array);
    all.into_iter().flatten().take(MAX_RESOURCES)
}

/// Content of a server as a model gets it.
struct Content<'a> {
    scope: &'a CallContext,
    blocks: Vec<ResultBlock>,
    /// The files that were stored, for the metadata of the outcome: an export finds them there.
    files: Vec<Value>,
}

impl<'a> Content<'a> {
    fn new(scope: &'a CallContext) -> Self {
        Self { scope, blocks: Vec::new(), files: Vec::new() }
    }

    fn outcome(self) -> ToolOutcome {
        let outcome = ToolOutcome { content: self.blocks, ..ToolOutcome::ok("") };
        match self.files.as_slice() {
            [] => outcome,
            _ => outcome.with_metadata("files", self.files),
        }
    }

    fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(ResultBlock::text(text));
    }

    fn note(&mut self, text: &str) {
        self.text(format!("[{text}]"));
    }

    async fn add_part(&mut self, part: &Value) {
        let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => self.text(text("text")),
            "image" => self.image("image", text("data"), text("mimeType")).await,
            "audio" => self.file("audio", text("data"), text("mimeType")).await,
            "resource" => self.add_resource(part.get("resource").unwrap_or(&Value::Null)).await,
            "resource_link" => {
                let name = clean_line(text("name"), 200);
                self.note(&format!("resource {name}: {}", clean_line(text("uri"), 2_000)));
            }
            // Newer kinds of content are data all the same.
            _ => self.text(part.to_string()),
        }
    }

    /// Adds a resource and its address.
    async fn add_resource(&mut self, resource: &Value) {
        let uri = resource.get("uri").and_then(Value::as_str).unwrap_or_default();
        let uri = clean_line(uri, 2_000);
        self.add_resource_content(resource, &format!("[resource {uri}]\n")).await;
    }

    /// Adds the content of a resource after its label.
    async fn add_resource_content(&mut self, resource: &Value, label: &str) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        let kind = text("mimeType").unwrap_or_default();
        if !label.is_empty() {
            self.text(label);
        }
        match (text("text"), text("blob")) {
            (Some(text), _) => self.text(text),
            (None, Some(data)) if kind.starts_with("image/") => {
                self.image("image", data, kind).await;
            }
            (None, Some(data)) if is_text(kind) => match decoded_text(data) {
                Some(text) => self.text(text),
                None => self.file("file", data, kind).await,
            },
            (None, Some(data)) => self.file("file", data, kind).await,
            (None, None) => self.note("it is empty"),
        }
    }

    /// Adds an image; one that models cannot read becomes a file.
    async fn image(&mut self, what: &str, data: &str, kind: &str) {
        // Base64 has four characters for three bytes; checked before it is decoded.
        if !SHOWN.contains(&kind) || data.len() / 4 * 3 > MAX_IMAGE {
            return self.file(what, data, kind).await;
        }
        if let Some(blob) = self.store(what, data, kind).await {
            let image = Image { blob, media_type: kind.to_owned(), extra: Map::new() };
            self.blocks.push(ResultBlock::Image(image));
        }
    }

    /// Stores what models cannot read, and adds a note that names it.
    async fn file(&mut self, what: &str, data: &str, kind: &str) {
        let Some(blob) = self.store(what, data, kind).await else { return };
        let kind = clean_line(kind, 100);
        let of_kind = if kind.is_empty() { String::new() } else { format!(" of type {kind}") };
        self.note(&format!(
            "{what}{of_kind}, {} bytes, which cannot be shown; the session keeps it as the blob {}",
            blob.bytes, blob.sha256
        ));
        self.files.push(json!({"blob": blob, "media_type": kind}));
    }

    /// Stores bytes; adds a note if that is not possible.
    async fn store(&mut self, what: &str, data: &str, kind: &str) -> Option<BlobRef> {
        let Ok(bytes) = STANDARD.decode(data.trim()) else {
            self.note(&format!("{what} that cannot be decoded"));
            return None;
        };
        let kind = clean_line(kind, 100);
        // Text may contain secrets, whatever its type is.
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => self.scope.redactor.text(&text).into_owned().into_bytes(),
            Err(binary) => binary.into_bytes(),
        };
        match self.scope.blobs.put(&bytes).await {
            Ok(blob) => Some(blob),
            Err(error) => {
                let bytes = bytes.len();
                self.note(&format!(
                    "{what} of type `{kind}`, {bytes} bytes, that cannot be stored: {error}"
                ));
                None
            }
        }
    }
}

/// Returns whether content of this type is text, although a server may send it encoded.
fn is_text(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let formats = ["json", "xml", "yaml", "toml", "csv", "javascript", "sql"];
    kind.starts_with("text/")
        || kind.strip_prefix("application/").is_some_and(|kind| {
            let format = kind.rsplit('+').next().unwrap_or(kind);
            formats.contains(&format.trim_start_matches("x-"))
        })
}

fn decoded_text(data: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(data.trim()).ok()?).ok()
}

#[cfg(test)]
mod tests;
