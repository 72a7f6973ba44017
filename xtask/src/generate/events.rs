//! `docs/events.md` and `docs/schema/events.schema.json`, made from the event table and the types
//! of the events.

mod fields;
mod vocabulary;

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

/// The JSON Schemas of all events and of the types in them.
struct Shapes {
    /// The schema of the data of each event, in the order of the table.
    events: Vec<(&'static str, Value)>,
    /// Every schema that has a name.
    named: Map<String, Value>,
}

impl Shapes {
    fn new() -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let events = Event::schemas(&mut generator).into_iter();
        let events = events.map(|(name, schema)| (name, schema.to_value())).collect();
        Self { events, named: generator.take_definitions(true) }
    }

    /// Returns the name behind a reference: `Usage` behind `#/$defs/Usage`.
    fn target(schema: &Value) -> Option<&str> {
        schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
    }

    /// Returns the named schemas that are not the data of an event, by name.
    fn shared(&self) -> Vec<(&String, &Value)> {
        let data: Vec<_> = self.events.iter().filter_map(|(_, it)| Self::target(it)).collect();
        let other = self.named.iter().filter(|(name, _)| !data.contains(&name.as_str()));
        let mut shared: Vec<_> = other.collect();
        shared.sort_by_key(|(name, _)| *name);
        shared
    }
}

/// Makes the JSON Schema of one line of a journal.
pub fn schema(_: &Tree) -> Result<String> {
    let shapes = Shapes::new();
    let names: Vec<&str> = TABLE.iter().map(|info| info.name).collect();
    let kind = |((name, data), doc): (&(&str, Value), &str)| {
        json!({
            "title": name,
            "description": doc,
            "properties": {"type": {"const": name}, "data": data},
        })
    };
    let docs = TABLE.iter().map(|info| info.doc);
    let mut kinds: Vec<Value> = shapes.events.iter().zip(docs).map(kind).collect();
    kinds.push(json!({
        "title": "unknown",
        "description": "A type that this version does not know. Readers keep it unchanged.",
        "properties": {"type": {"not": {"enum": names}}, "data": true},
    }));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a Robota journal",
        "description": "Written by `cargo xtask gen`; do not edit. docs/events.md explains it.",
        "type": "object",
        "properties": envelope(),
        "required": ["seq", "epoch", "ts", "type", "data", "crc"],
        "oneOf": kinds,
        "$defs": shapes.named,
    });
    Ok(format!("{schema:#}\n"))
}

/// Returns the fields around the data of an event.
fn envelope() -> Value {
    let field = |kind: &str, meaning: &str| json!({"type": kind, "description": meaning});
    let mut fields = json!({
        "seq": field("integer", "The sequence number; it increases by one from event to event."),
        "epoch": field("integer", "The number of the opening of the session that wrote the event."),
        "ts": field("string", "The time, in UTC."),
        "turn": field("string", "The id of the turn; absent outside of a turn."),
        "min_reader": field("integer", "A reader older than this must not use the journal."),
        "type": field("string", "The name of the event."),
        "data": {"description": "The data of the event."},
        "crc": field("string", "CRC-32 of every byte of the line before `,\"crc\"`."),
    });
    fields["ts"]["format"] = "date-time".into();
    fields["crc"]["pattern"] = "^[0-9a-f]{8}$".into();
    fields
}

/// Makes the page.
pub fn page(_: &Tree) -> Result<String> {
    let shapes = Shapes::new();
    let mut page = HEAD.replace("{{LINE}}", &example()?.to_line());
    page.push_str("\n## The table\n\n| event | nature | barrier | meaning |\n|---|---|---|---|\n");
    for info in TABLE {
        let nature = match info.nature {
            Nature::Fact => "fact",
            Nature::Intent => "intent",
            Nature::Chunk => "chunk",
        };
        let barrier = match info.barrier {
            Barrier::Written => "written",
            Barrier::Synced => "synced",
            Barrier::SyncedForEffects => "synced for effects",
        };
        let (name, doc) = (info.name, info.doc);
        let _ = writeln!(page, "| [`{name}`](#{name}) | {nature} | {barrier} | {doc} |");
    }
    let _ = write!(page, "\n## Other vocabularies\n\n{}", vocabulary::section());
    page.push_str("\n## Fields\n\nA field in *italics* is optional.\n");
    for ((name, schema), info) in shapes.events.iter().zip(TABLE) {
        let _ = write!(page, "\n### {name}\n\n{}\n\n", info.doc);
        let data = match Shapes::target(schema) {
            None => schema,
            Some(name) => shapes.named.get(name).with_context(|| format!("no schema {name}"))?,
        };
        page.push_str(&fields::describe(data, &shapes));
    }
    page.push_str("\n## Shapes\n\nThe types of the fields.\n");
    for (name, schema) in shapes.shared() {
        let _ = write!(page, "\n### {name}\n\n");
        if let Some(text) = fields::description(schema) {
            let _ = write!(page, "{text}\n\n");
        }
        page.push_str(&fields::describe(schema, &shapes));
    }
    Ok(page)
}

/// Returns an example line with a valid checksum.
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

#[cfg(test)]
mod tests;
