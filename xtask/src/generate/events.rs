//! `docs/events.md` and `docs/schema/events.schema.json`: the one vocabulary, told from the event
//! table and the types themselves.

mod fields;
pub mod vocabulary;

use std::fmt::Write as _;

use anyhow::{Context, Result};
use robota_core::event::{Barrier, Envelope, Event, Nature, TABLE, ToolStarted};
use robota_core::ids::{CallId, TurnId};
use robota_core::permission::Class;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::tree::Tree;

/// The page for people.
pub const PAGE: &str = "docs/events.md";
/// The schema for programs.
pub const SCHEMA: &str = "docs/schema/events.schema.json";

const HEAD: &str = include_str!("events/head.txt");

/// The shapes of all events: each event's data, and everything they are made of.
struct Shapes {
    /// The shape of each event's data, in the order of the table.
    events: Vec<(&'static str, Value)>,
    /// Every shape that has a name.
    named: Map<String, Value>,
}

impl Shapes {
    fn new() -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let events = Event::schemas(&mut generator)
            .into_iter()
            .map(|(name, schema)| (name, schema.to_value()))
            .collect();
        Self { events, named: generator.take_definitions(true) }
    }

    /// The name behind a reference, for example `Usage` behind `#/$defs/Usage`.
    fn target(schema: &Value) -> Option<&str> {
        schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
    }

    /// The shape of an event's data.
    fn data<'a>(&'a self, schema: &'a Value) -> Result<&'a Value> {
        match Self::target(schema) {
            None => Ok(schema),
            Some(name) => self.named.get(name).with_context(|| format!("no shape named {name}")),
        }
    }
}

/// JSON Schema of one line of a journal.
pub fn schema(_: &Tree) -> Result<String> {
    let shapes = Shapes::new();
    let names: Vec<&str> = TABLE.iter().map(|info| info.name).collect();
    let mut kinds: Vec<Value> = shapes
        .events
        .iter()
        .zip(TABLE)
        .map(|((name, data), info)| {
            json!({
                "title": name,
                "description": info.doc,
                "properties": {"type": {"const": name}, "data": data},
            })
        })
        .collect();
    kinds.push(json!({
        "title": "unknown",
        "description": "A type this version does not know: kept as it is.",
        "properties": {"type": {"not": {"enum": names}}, "data": true},
    }));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a Robota journal",
        "description": "Made by `cargo xtask gen`; do not edit. Explained in docs/events.md.",
        "type": "object",
        "properties": envelope(),
        "required": ["seq", "epoch", "ts", "type", "data", "crc"],
        "oneOf": kinds,
        "$defs": shapes.named,
    });
    Ok(format!("{schema:#}\n"))
}

/// The fields around an event's data.
fn envelope() -> Value {
    let field = |kind: &str, meaning: &str| json!({"type": kind, "description": meaning});
    let mut fields = json!({
        "seq": field("integer", "Its number; grows by one from event to event."),
        "epoch": field("integer", "Which writer wrote it."),
        "ts": field("string", "When, in UTC."),
        "turn": field("string", "In which turn, if in one."),
        "min_reader": field("integer", "A reader older than this must not use the journal."),
        "type": field("string", "What kind of event it is."),
        "data": {"description": "What it says."},
        "crc": field("string", "CRC-32 of every byte of the line before `,\"crc\"`."),
    });
    fields["ts"]["format"] = "date-time".into();
    fields["crc"]["pattern"] = "^[0-9a-f]{8}$".into();
    fields
}

/// The page.
pub fn page(_: &Tree) -> Result<String> {
    let shapes = Shapes::new();
    let mut page = HEAD.replace("{{LINE}}", &example()?.to_line());
    page.push_str(
        "\n## The table\n\n| event | nature | barrier | what it says |\n|---|---|---|---|\n",
    );
    for info in TABLE {
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {} | {} | {} |",
            nature(info.nature),
            barrier(info.barrier),
            info.doc,
            name = info.name,
        );
    }
    page.push_str("\n## In other words\n\n");
    page.push_str(&vocabulary::section());
    page.push_str("\n## Fields\n\nA field in *italics* may be absent.\n");
    for ((name, schema), info) in shapes.events.iter().zip(TABLE) {
        let _ = write!(page, "\n### {name}\n\n{}\n\n", info.doc);
        page.push_str(&fields::describe(shapes.data(schema)?, &shapes));
    }
    page.push_str("\n## Shapes\n\nWhat the fields are made of.\n");
    for (name, schema) in shapes.shared() {
        let _ = write!(page, "\n### {name}\n\n");
        if let Some(text) = fields::description(schema) {
            let _ = write!(page, "{text}\n\n");
        }
        page.push_str(&fields::describe(schema, &shapes));
    }
    Ok(page)
}

/// A line to show, with a checksum that holds.
fn example() -> Result<Envelope> {
    let started = ToolStarted { call: CallId::from("call-7"), class: Class::Execute, input: None };
    Ok(Envelope {
        seq: 1042,
        epoch: 3,
        ts: "2026-01-31T09:30:00Z".parse().context("the time of the example")?,
        turn: Some(TurnId::from("turn-2")),
        event: started.into(),
        min_reader: None,
    })
}

impl Shapes {
    /// The named shapes that are not an event's data, by name.
    fn shared(&self) -> Vec<(&String, &Value)> {
        let data: Vec<_> =
            self.events.iter().filter_map(|(_, schema)| Self::target(schema)).collect();
        let mut shared: Vec<_> =
            self.named.iter().filter(|(name, _)| !data.contains(&name.as_str())).collect();
        shared.sort_by_key(|(name, _)| *name);
        shared
    }
}

fn nature(nature: Nature) -> &'static str {
    match nature {
        Nature::Fact => "fact",
        Nature::Intent => "intent",
        Nature::Chunk => "chunk",
    }
}

fn barrier(barrier: Barrier) -> &'static str {
    match barrier {
        Barrier::Written => "written",
        Barrier::Synced => "synced",
        Barrier::SyncedForEffects => "synced for effects",
    }
}

#[cfg(test)]
mod tests;
