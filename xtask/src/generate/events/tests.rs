use std::collections::BTreeSet;

use super::vocabulary::{LATER, ROWS, VOCABULARIES};
use super::*;

mod projections;

fn parsed() -> Value {
    serde_json::from_str(&schema(&Tree::default()).unwrap()).unwrap()
}

#[test]
fn every_event_has_exactly_one_row_in_the_order_of_the_table() {
    let rows: Vec<_> = ROWS.iter().map(|row| row.event).collect();
    let table: Vec<_> = TABLE.iter().map(|info| info.name).collect();
    assert_eq!(rows, table);
}

#[test]
fn every_name_of_the_five_vocabularies_is_mapped_or_comes_later() {
    let later: BTreeSet<_> = LATER.iter().map(|(name, _)| *name).collect();
    for (column, vocabulary) in VOCABULARIES.iter().enumerate() {
        let mapped: BTreeSet<&str> =
            ROWS.iter().flat_map(|row| row.words[column].iter().copied()).collect();
        for name in vocabulary.names {
            let places = u8::from(mapped.contains(name)) + u8::from(later.contains(name));
            assert_eq!(places, 1, "{} {name}: mapped, or later, not both", vocabulary.id);
        }
        for name in mapped {
            assert!(vocabulary.names.contains(&name), "{} has no word {name}", vocabulary.id);
        }
    }
    let all: Vec<_> = VOCABULARIES.iter().flat_map(|vocabulary| vocabulary.names).collect();
    for name in later {
        assert!(all.contains(&&name), "{name} comes later, but no vocabulary has it");
    }
}

#[test]
fn the_schema_has_one_way_per_event_and_one_for_the_unknown() {
    let schema = parsed();
    let ways = schema["oneOf"].as_array().unwrap();
    assert_eq!(ways.len(), TABLE.len() + 1);
    for (way, info) in ways.iter().zip(TABLE) {
        assert_eq!(way["properties"]["type"]["const"], info.name);
    }
}

#[test]
fn every_reference_of_the_schema_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schema = parsed();
    let mut found = Vec::new();
    references(&schema, &mut found);
    assert!(found.len() > TABLE.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(schema.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[test]
fn the_page_has_a_section_for_every_event_and_every_link_has_a_target() {
    let page = page(&Tree::default()).unwrap();
    let titles = page.lines().filter(|line| line.starts_with("##"));
    let mut sections = BTreeSet::new();
    for title in titles.map(|line| line.trim_start_matches('#').trim_start()) {
        let anchor = title.to_lowercase().replace(' ', "-");
        assert!(sections.insert(anchor), "two sections are called {title}");
    }
    for info in TABLE {
        assert!(sections.contains(info.name), "{}", info.name);
    }
    let links = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links {
        assert!(sections.contains(link), "#{link} is no section");
    }
}

#[test]
fn every_field_has_a_meaning() {
    let page = page(&Tree::default()).unwrap();
    let empty: Vec<_> = page.lines().filter(|line| line.ends_with("|  |")).collect();
    assert_eq!(empty, [""; 0], "a row without a meaning: document the field in the code");
}

#[test]
fn the_line_on_the_page_is_a_line_of_a_journal() {
    let page = page(&Tree::default()).unwrap();
    let line = page.lines().find(|line| line.starts_with("{\"seq\"")).unwrap();
    let envelope = Envelope::decode(line.as_bytes()).unwrap();
    assert_eq!(envelope.event.kind(), "tool_started");
    assert!(page.contains(&format!("`{}`", envelope.cursor())), "the cursor is that of the line");
}
