//! The lines of the stream-json protocol that `robota` prints, as types: each serialises as one JSON
//! object. `docs/headless.md` describes the protocol; `docs/schema/stream-json.schema.json` is
//! generated from [`schema`].

mod control;
mod initialize;
mod line;
mod message;
mod result_line;
mod tag;
mod task_line;

pub use control::*;
pub use initialize::*;
pub use line::*;
pub use message::*;
pub use result_line::*;
pub use task_line::*;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the JSON Schema of all lines: any of the types, each with its name in `$defs`.
#[must_use]
pub fn schema() -> Value {
    // For writing: a field that is left out when it is empty is then optional, not required.
    let mut generator = SchemaSettings::default().for_serialize().into_generator();
    // A line type that is missing here fails the tests of the program: they validate every printed
    // line.
    let lines = [
        generator.subschema_for::<InitLine<'_>>(),
        generator.subschema_for::<AssistantLine<'_>>(),
        generator.subschema_for::<UserLine<'_>>(),
        generator.subschema_for::<StreamEventLine<'_>>(),
        generator.subschema_for::<StatusLine<'_>>(),
        generator.subschema_for::<RetryLine<'_>>(),
        generator.subschema_for::<RateLimitLine<'_>>(),
        generator.subschema_for::<CompactLine<'_>>(),
        generator.subschema_for::<HookStartedLine<'_>>(),
        generator.subschema_for::<HookResponseLine<'_>>(),
        generator.subschema_for::<DeniedLine<'_>>(),
        generator.subschema_for::<InformationalLine<'_>>(),
        generator.subschema_for::<SessionStateLine<'_>>(),
        generator.subschema_for::<TaskStartedLine<'_>>(),
        generator.subschema_for::<TaskProgressLine<'_>>(),
        generator.subschema_for::<TaskUpdatedLine<'_>>(),
        generator.subschema_for::<TaskNotificationLine<'_>>(),
        generator.subschema_for::<BackgroundTasksChangedLine<'_>>(),
        generator.subschema_for::<ResultLine<'_>>(),
        generator.subschema_for::<ControlRequestLine<'_>>(),
        generator.subschema_for::<ControlResponseLine<'_>>(),
        generator.subschema_for::<ControlCancelLine<'_>>(),
    ];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of robota --output-format stream-json",
        "anyOf": lines,
        "$defs": generator.take_definitions(true),
    })
}
