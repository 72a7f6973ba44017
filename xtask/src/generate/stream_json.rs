//! The JSON Schema of the lines that a headless run prints.
//!
//! The types are those of the program, compiled a second time: a dependency on the program would
//! make every build step build all of it.

#[allow(dead_code, reason = "only the schemas of the types are used here")]
#[path = "../../../crates/robota-cli/src/headless/control.rs"]
mod control;
#[allow(dead_code, reason = "only the schemas of the types are used here")]
#[path = "../../../crates/robota-cli/src/headless/line.rs"]
mod line;
#[allow(dead_code, reason = "only the schemas of the types are used here")]
#[path = "../../../crates/robota-cli/src/headless/message.rs"]
mod message;
#[allow(dead_code, reason = "only the schemas of the types are used here")]
#[path = "../../../crates/robota-cli/src/headless/result_line.rs"]
mod result_line;
#[path = "../../../crates/robota-cli/src/headless/tag.rs"]
mod tag;

use anyhow::Result;
use schemars::generate::SchemaSettings;
use serde_json::json;

use crate::tree::Tree;

/// The generated file.
pub const SCHEMA: &str = "docs/schema/stream-json.schema.json";

/// Makes the schema: any of the line types, each with its name in `$defs`.
///
/// # Errors
/// When the schema cannot be written as JSON.
pub fn schema(_: &Tree) -> Result<String> {
    let mut generator = SchemaSettings::default().for_serialize().into_generator();
    let lines = [
        generator.subschema_for::<line::InitLine<'_>>(),
        generator.subschema_for::<line::AssistantLine<'_>>(),
        generator.subschema_for::<line::UserLine<'_>>(),
        generator.subschema_for::<line::StreamEventLine<'_>>(),
        generator.subschema_for::<line::StatusLine<'_>>(),
        generator.subschema_for::<line::RetryLine<'_>>(),
        generator.subschema_for::<line::RateLimitLine<'_>>(),
        generator.subschema_for::<line::CompactLine<'_>>(),
        generator.subschema_for::<line::HookStartedLine<'_>>(),
        generator.subschema_for::<line::HookResponseLine<'_>>(),
        generator.subschema_for::<line::DeniedLine<'_>>(),
        generator.subschema_for::<line::InformationalLine<'_>>(),
        generator.subschema_for::<line::SessionStateLine<'_>>(),
        generator.subschema_for::<result_line::ResultLine<'_>>(),
        generator.subschema_for::<control::ControlRequestLine<'_>>(),
        generator.subschema_for::<control::ControlResponseLine<'_>>(),
        generator.subschema_for::<control::ControlCancelLine<'_>>(),
    ];
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of robota --output-format stream-json",
        "anyOf": lines,
        "$defs": generator.take_definitions(true),
    });
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
