//! Output that is too long for the model: its beginning and its end are told, the whole is kept
//! in a blob, and [`ReadOutput`] lets the model read the rest.

use std::sync::Arc;
use std::time::Duration;

use robota_core::blob::Blobs;
use robota_core::message::{BlobRef, ResultBlock};
use robota_core::permission::Class;
use robota_core::redact::Redactor;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

/// At most this much of one call is kept.
const MAX_KEPT: usize = 64 * 1024 * 1024;
/// At most this much is read back at once.
const MAX_READ: usize = 20_000;
/// Names of blobs in what the model is told.
const PREFIX: &str = "output:";

/// How much of a call's output the model is told at once, in bytes.
pub(crate) const DEFAULT_LIMIT: usize = 30_000;

/// A tool whose output is cut to a length.
pub(crate) struct Spilling {
    pub(crate) inner: Arc<dyn Tool>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) limit: usize,
    /// What is kept has no secrets either.
    pub(crate) redactor: Redactor,
}

#[async_trait::async_trait]
impl Tool for Spilling {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.inner.check(input)
    }

    fn timeout(&self) -> Option<Duration> {
        self.inner.timeout()
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let outcome = self.inner.run(input, context).await;
        let words: usize = outcome.content.iter().map(words).sum();
        if words <= self.limit {
            return outcome;
        }
        let mut outcome = outcome;
        self.redactor.outcome(&mut outcome);
        spill(outcome, &*self.blobs, self.limit).await
    }
}

fn words(block: &ResultBlock) -> usize {
    match block {
        ResultBlock::Text(text) => text.text.len(),
        _ => 0,
    }
}

async fn spill(outcome: ToolOutcome, blobs: &dyn Blobs, limit: usize) -> ToolOutcome {
    let whole = outcome.text();
    let kept = &whole[..floor(&whole, MAX_KEPT)];
    let head = floor(&whole, limit / 2);
    let tail = ceil(&whole, whole.len() - limit / 2);
    let (note, blob) = match blobs.put(kept.as_bytes()).await {
        Ok(blob) => {
            let name = format!("{PREFIX}{}-{}", blob.sha256, blob.bytes);
            let note = format!(
                "[... {} of {} bytes are left out. To read them, call ReadOutput with \
                 {{\"output\": \"{name}\", \"offset\": {head}}} ...]",
                tail - head,
                whole.len()
            );
            (note, Some(blob))
        }
        Err(error) => {
            let lost = tail - head;
            (format!("[... {lost} bytes are left out and could not be kept: {error} ...]"), None)
        }
    };
    let text = format!("{}\n{note}\n{}", &whole[..head], &whole[tail..]);
    let mut content = vec![ResultBlock::text(text)];
    let rest = outcome.content.into_iter();
    content.extend(rest.filter(|block| !matches!(block, ResultBlock::Text(_))));
    let mut outcome = ToolOutcome { content, ..outcome };
    if let Some(blob) = blob {
        outcome = outcome.with_metadata("spilled", json!(blob));
    }
    outcome
}

/// The last place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first place at or after `at` where a character begins.
fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Reads output that was too long to be told at once.
pub(crate) struct ReadOutput {
    spec: ToolSpec,
    blobs: Arc<dyn Blobs>,
}

impl ReadOutput {
    pub(crate) fn new(blobs: Arc<dyn Blobs>) -> Self {
        let spec = ToolSpec {
            name: "ReadOutput".to_owned(),
            description: "Reads a part of a tool's output that was too long to be shown whole. \
                          The shortened output names it."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "output": {"type": "string", "description": "The name, as it was shown"},
                    "offset": {"type": "integer", "description": "The first byte to read; 0 if absent"},
                    "limit": {"type": "integer", "description": "How many bytes, at most 20000"}
                },
                "required": ["output"],
                "additionalProperties": false
            }),
            class: Class::Inspect,
        };
        Self { spec, blobs }
    }
}

#[async_trait::async_trait]
impl Tool for ReadOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        let name = input["output"].as_str().unwrap_or_default();
        let number = |key: &str| input[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let Some(blob) = blob_of(name) else {
            let text = format!("Error: `{}` is not the name of an output.", name.escape_debug());
            return ToolOutcome::failed("invalid_input", text);
        };
        let whole = match self.blobs.get(&blob).await {
            Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(None) => {
                return ToolOutcome::failed(
                    "not_found",
                    "Error: that output is not kept any more.",
                );
            }
            Err(error) => return ToolOutcome::failed("storage", format!("Error: {error}")),
        };
        let from = ceil(&whole, number("offset").unwrap_or(0));
        let limit = number("limit").unwrap_or(MAX_READ).clamp(1, MAX_READ);
        let to = ceil(&whole, from.saturating_add(limit));
        let rest = match whole.len() - to {
            0 => "that is the end".to_owned(),
            more => format!("{more} bytes follow, from offset {to}"),
        };
        ToolOutcome::ok(format!(
            "{}\n[bytes {from} to {to} of {}; {rest}]",
            &whole[from..to],
            whole.len()
        ))
    }
}

/// The blob a name stands for.
fn blob_of(name: &str) -> Option<BlobRef> {
    let (sha256, bytes) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(())?;
    Some(BlobRef { sha256: sha256.to_owned(), bytes: bytes.parse().ok()? })
}

#[cfg(test)]
mod tests;
