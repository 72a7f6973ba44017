//! The tool ReadOutput: reads stored output in pieces.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::message::BlobRef;
use robota_core::permission::Class;
use robota_core::tool::{READ_OUTPUT, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use serde_json::{Value, json};

use super::parts::{OutputName, parts_of};

/// At most this many bytes are returned by one call.
// Below the limit of a call's output, so that what is read is not cut again.
const MAX_READ: u64 = 20_000;

/// Reads output that was too long to be returned at once.
pub(crate) struct ReadOutput {
    spec: Arc<ToolSpec>,
    blobs: Arc<dyn Blobs>,
}

impl ReadOutput {
    pub(crate) fn new(blobs: Arc<dyn Blobs>) -> Self {
        let spec = ToolSpec {
            name: READ_OUTPUT.to_owned(),
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
        Self { spec: shared_spec(spec), blobs }
    }

    async fn read(&self, input: &Value) -> Result<ToolOutcome, ToolOutcome> {
        let name = input["output"].as_str().unwrap_or_default();
        let wrong = || {
            let text = format!("Error: `{}` is not the name of an output.", name.escape_debug());
            ToolOutcome::failed("invalid_input", text)
        };
        let parts = match OutputName::parse(name).ok_or_else(wrong)? {
            OutputName::Whole(blob) => vec![blob],
            OutputName::Parts(list) => parts_of(&self.get(&list).await?).ok_or_else(wrong)?,
        };
        let total = parts.iter().fold(0_u64, |total, part| total.saturating_add(part.bytes));
        let from = input["offset"].as_u64().unwrap_or(0).min(total);
        let limit = input["limit"].as_u64().unwrap_or(MAX_READ).clamp(1, MAX_READ);
        // Read a few bytes more: a character may cross the end of the requested range.
        let window = self.slice(&parts, from, from.saturating_add(limit + 3).min(total)).await?;
        // An offset of the model may lie inside of a character; its rest was part of the previous
        // read.
        let start = window.iter().take(3).take_while(|byte| *byte & 0xC0 == 0x80).count();
        let mut end = window.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        while window.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end += 1;
        }
        let text = String::from_utf8_lossy(window.get(start..end).unwrap_or_default());
        let (from, to) = (from + start as u64, from + end as u64);
        let rest = match total - to {
            0 => "that is the end".to_owned(),
            more => format!("{more} bytes follow, from offset {to}"),
        };
        Ok(ToolOutcome::ok(format!("{text}\n[bytes {from} to {to} of {total}; {rest}]")))
    }

    /// Reads a range of bytes, from the parts that contain it.
    async fn slice(&self, parts: &[BlobRef], from: u64, to: u64) -> Result<Vec<u8>, ToolOutcome> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let (mut found, mut begins) = (Vec::new(), 0_u64);
        for part in parts {
            let ends = begins.saturating_add(part.bytes);
            if begins < to && from < ends {
                let bytes = self.get(part).await?;
                let (first, last) = (from.saturating_sub(begins), to.min(ends) - begins);
                found.extend_from_slice(bytes.get(place(first)..place(last)).unwrap_or_default());
            }
            begins = ends;
        }
        Ok(found)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, ToolOutcome> {
        let missing =
            || ToolOutcome::failed("not_found", "Error: that output is no longer stored.");
        match self.blobs.get(blob).await {
            Ok(bytes) => bytes.ok_or_else(missing),
            Err(error) => Err(ToolOutcome::failed("storage", format!("Error: {error}"))),
        }
    }
}

#[async_trait::async_trait]
impl Tool for ReadOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.read(&input).await.unwrap_or_else(|failed| failed)
    }
}
