//! The JSON Schema of the lines that a headless run prints.

use anyhow::Result;

use crate::tree::Tree;

/// The generated file.
pub const SCHEMA: &str = "docs/schema/stream-json.schema.json";

/// Makes the schema.
///
/// # Errors
/// When the schema cannot be written as JSON.
pub fn schema(_: &Tree) -> Result<String> {
    Ok(serde_json::to_string_pretty(&robota_stream_json::schema())? + "\n")
}
