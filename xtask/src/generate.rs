//! Files that are made from code, so that they cannot differ from it. They are committed, because
//! readers should need no build; a test and `gen --check` compare.

pub mod api;
pub mod checklist;
pub mod events;
pub mod permissions;
pub mod vendors;

use std::path::Path;

use anyhow::{Context, Result, bail};
use similar::TextDiff;

use crate::tree::Tree;

/// A generated file: its path, and the function that makes its text.
pub type Generated = (&'static str, fn(&Tree) -> Result<String>);

/// Every generated file.
pub const GENERATED: &[Generated] = &[
    (api::ROBOTA, api::robota),
    (api::SDK, api::sdk),
    (checklist::PAGE, checklist::page),
    (checklist::README, checklist::readme),
    (events::PAGE, events::page),
    (events::SCHEMA, events::schema),
    (permissions::PAGE, permissions::page),
    (vendors::PAGE, vendors::page),
    ("docs/schema/settings.schema.json", settings_schema),
    ("docs/schema/stream-json.schema.json", stream_json_schema),
];

/// Returns the JSON Schema of a settings file, for editors.
fn settings_schema(_: &Tree) -> Result<String> {
    Ok(serde_json::to_string_pretty(&robota_config::schema())? + "\n")
}

/// Returns the JSON Schema of the lines that a headless run prints.
fn stream_json_schema(_: &Tree) -> Result<String> {
    Ok(serde_json::to_string_pretty(&robota_stream_json::schema())? + "\n")
}

/// Writes every generated file that differs.
pub fn write(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    for (path, text) in stale(&tree, GENERATED)? {
        let full = root.join(path);
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&full, text).with_context(|| format!("cannot write {}", full.display()))?;
        println!("gen: {path} written");
    }
    println!("gen: {} files are up to date", GENERATED.len());
    Ok(())
}

/// Fails, and prints a diff, when a generated file is out of date.
pub fn check(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let stale = stale(&tree, GENERATED)?;
    for (path, text) in &stale {
        let diff = TextDiff::from_lines(tree.text(path).unwrap_or_default(), text.as_str());
        println!("{}", diff.unified_diff().context_radius(1).header(path, "generated"));
    }
    if !stale.is_empty() {
        bail!("{} generated files are out of date: run `cargo xtask gen`", stale.len());
    }
    Ok(())
}

/// Returns the files that differ from what the code makes, with what the code makes.
fn stale(tree: &Tree, generated: &[Generated]) -> Result<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    for (path, make) in generated {
        let text = make(tree).with_context(|| format!("cannot make {path}"))?;
        if tree.text(path) != Some(&text) {
            found.push((*path, text));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
