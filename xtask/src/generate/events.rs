//! `docs/events.md` and `docs/schema/events.schema.json`, from the event table and the types of events.

mod fields;
mod vocabulary;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use robota_core::event::{Barrier, Event, Nature, TABLE};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::table;

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

    /// Returns the named schemas that are not the data of an event.
    fn shared(&self) -> BTreeMap<&String, &Value> {
        let data: Vec<_> = self.events.iter().filter_map(|(_, it)| Self::target(it)).collect();
        self.named.iter().filter(|(name, _)| !data.contains(&name.as_str())).collect()
    }
}

/// Makes the JSON Schema of one line of a journal. `events/schema.json` has the fields around the data.
pub fn schema() -> Result<Value> {
    let shapes = Shapes::new();
    let kinds = shapes.events.iter().zip(TABLE).map(|((name, data), info)| {
        let properties = json!({"type": {"const": name}, "data": data});
        json!({"title": name, "description": info.doc, "properties": properties})
    });
    let names: Vec<&str> = TABLE.iter().map(|info| info.name).collect();
    let unknown = json!({
        "title": "unknown",
        "description": "A type that this version does not know. Readers keep it unchanged.",
        "properties": {"type": {"not": {"enum": names}}, "data": true},
    });
    let mut schema: Value = serde_json::from_str(include_str!("events/schema.json"))?;
    schema["oneOf"] = kinds.chain([unknown]).collect();
    schema["$defs"] = shapes.named.into();
    Ok(schema)
}

/// Makes the page.
pub fn page() -> Result<String> {
    let shapes = Shapes::new();
    let mut page = include_str!("events/head.txt").to_owned();
    let rows = TABLE.iter().map(|info| {
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
        let link = format!("[`{0}`](#{0})", info.name);
        vec![link, nature.to_owned(), barrier.to_owned(), info.doc.to_owned()]
    });
    let events = table(&["event", "nature", "barrier", "meaning"], rows);
    let vocabularies = vocabulary::section();
    page += &format!("\n## The table\n\n{events}\n## Other vocabularies\n\n{vocabularies}");
    page += "\n## Fields\n\nA field in *italics* is optional.\n";
    for ((name, schema), info) in shapes.events.iter().zip(TABLE) {
        let data = match Shapes::target(schema) {
            None => schema,
            Some(name) => shapes.named.get(name).with_context(|| format!("no schema {name}"))?,
        };
        page += &format!("\n### {name}\n\n{}\n\n{}", info.doc, fields::describe(data, &shapes));
    }
    page += "\n## Shapes\n\nThe types of the fields.\n";
    for (name, schema) in shapes.shared() {
        let text = fields::description(schema).map(|text| text + "\n\n").unwrap_or_default();
        page += &format!("\n### {name}\n\n{text}{}", fields::describe(schema, &shapes));
    }
    Ok(page)
}

#[cfg(test)]
mod tests;
