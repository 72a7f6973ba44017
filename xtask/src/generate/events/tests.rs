use std::collections::BTreeSet;

use robota_core::event::Envelope;

use super::vocabulary::{rows, vocabularies};
use super::*;

mod projections;

#[test]
fn every_event_has_one_row_in_the_order_of_the_table() {
    let events: Vec<_> = rows().map(|(event, _)| event).collect();
    assert_eq!(events, TABLE.iter().map(|info| info.name).collect::<Vec<_>>());
    assert!(rows().all(|(_, columns)| columns.len() == vocabularies().count()));
}

#[test]
fn every_name_of_the_five_vocabularies_is_mapped() {
    for (column, (id, _, names)) in vocabularies().enumerate() {
        let names: BTreeSet<&str> = names.split_whitespace().collect();
        let mapped: BTreeSet<&str> = rows().flat_map(|(_, row)| row[column].clone()).collect();
        assert_eq!(mapped, names, "{id}");
    }
}

#[test]
fn the_schema_has_every_event_and_every_reference_has_a_target() {
    let schema = schema().unwrap();
    let kinds = schema["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), TABLE.len() + 1, "one for each event and one for unknown types");
    for (kind, info) in kinds.iter().zip(TABLE) {
        assert_eq!(kind["properties"]["type"]["const"], info.name);
    }
    let text = schema.to_string();
    let references: Vec<_> = text.split(r##""$ref":"#"##).skip(1).collect();
    assert!(references.len() > TABLE.len());
    for reference in references {
        let pointer = reference.split('"').next().unwrap();
        assert!(schema.pointer(pointer).is_some(), "{pointer}");
    }
}

#[test]
fn the_page_has_a_section_for_every_event_and_a_meaning_for_every_field() {
    let page = page().unwrap();
    let titles = page.lines().filter(|line| line.starts_with("##"));
    let mut sections = BTreeSet::new();
    for title in titles.map(|line| line.trim_start_matches('#').trim_start()) {
        let anchor = title.to_lowercase().replace(' ', "-");
        assert!(sections.insert(anchor), "two sections are called {title}");
    }
    assert!(TABLE.iter().all(|info| sections.contains(info.name)));
    for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(sections.contains(link), "#{link} is no section");
    }
    let empty: Vec<_> = page.lines().filter(|line| line.ends_with("|  |")).collect();
    assert_eq!(empty, [""; 0], "a row without a meaning: document the field in the code");
}

#[test]
fn the_line_on_the_page_is_a_line_of_a_journal() {
    let page = page().unwrap();
    let line = page.lines().find(|line| line.starts_with("{\"seq\"")).unwrap();
    let envelope = Envelope::decode(line.as_bytes()).unwrap();
    assert_eq!(envelope.to_line(), line);
    assert!(page.contains(&format!("`{}`", envelope.cursor())), "the cursor is that of the line");
}
