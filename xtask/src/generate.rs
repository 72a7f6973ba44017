//! Files that are made from code. They are committed, because readers should need no build; a test and
//! `gen --check` compare.

pub mod api;
pub mod checklist;
pub mod events;
pub mod permissions;
pub mod vendors;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use similar::TextDiff;

use crate::tree::Tree;

/// A generated file: its path, and the function that makes its text.
pub type Generated = (&'static str, fn(&Tree) -> Result<String>);

/// Every generated file.
pub const GENERATED: &[Generated] = &[
    ("docs/api/robota.txt", |tree| api::page(tree, "robota")),
    ("docs/api/robota-sdk.txt", |tree| api::page(tree, "robota_sdk")),
    ("docs/checklist.md", checklist::page),
    (checklist::README, checklist::readme),
    ("docs/events.md", |_| events::page()),
    ("docs/schema/events.schema.json", |_| json(&events::schema()?)),
    ("docs/permission-examples.md", permissions::page),
    ("docs/vendors.md", |_| vendors::page()),
    // For editors.
    ("docs/schema/settings.schema.json", |_| json(&robota_config::schema())),
    // The lines that a headless run prints.
    ("docs/schema/stream-json.schema.json", |_| json(&robota_stream_json::schema())),
];

fn json(value: &impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Returns a table of Markdown.
fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n{}|\n", head.join(" | "), "|---".repeat(head.len()));
    for row in rows {
        // A bar would end the cell.
        let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// Returns names as code, in a list.
fn codes<T: AsRef<str>>(names: &[T], separator: &str) -> String {
    let codes = names.iter().map(|name| format!("`{}`", name.as_ref()));
    codes.collect::<Vec<_>>().join(separator)
}

/// Writes every generated file that differs.
pub fn write(root: &Path) -> Result<()> {
    for (path, text) in stale(&Tree::load(root)?, GENERATED)? {
        std::fs::write(root.join(path), text).with_context(|| format!("cannot write {path}"))?;
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
    ensure!(stale.is_empty(), "{} files are out of date: run `cargo xtask gen`", stale.len());
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
