//! Files that are made from code, so that they cannot disagree with it. They are committed, so
//! that readers need no build; `gen --check` and `tidy` compare.

pub mod checklist;
pub mod events;
pub mod permissions;

use std::path::Path;

use anyhow::{Context, Result, bail};
use similar::TextDiff;

use crate::tidy::Finding;
use crate::tree::Tree;

/// A generated file: where it goes, and what makes its text.
pub type Generated = (&'static str, fn(&Tree) -> Result<String>);

/// Every generated file. What needs no sources ignores the tree: `("docs/x.md", |_| Ok(x()))`.
pub const GENERATED: &[Generated] = &[
    (checklist::PAGE, checklist::page),
    (events::PAGE, events::page),
    (events::SCHEMA, events::schema),
    (permissions::PAGE, permissions::page),
    ("docs/schema/settings.schema.json", settings_schema),
];

/// The JSON Schema of a settings file, for editors.
fn settings_schema(_: &Tree) -> Result<String> {
    let schema = serde_json::to_string_pretty(&robota_config::schema())?;
    Ok(schema + "\n")
}

/// Writes every generated file that differs.
pub fn write(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    for (path, make) in GENERATED {
        let text = make(&tree).with_context(|| format!("cannot make {path}"))?;
        if tree.text(path) == Some(&text) {
            println!("gen: {path} is up to date");
            continue;
        }
        let full = root.join(path);
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&full, text).with_context(|| format!("cannot write {}", full.display()))?;
        println!("gen: {path} written");
    }
    Ok(())
}

/// Fails, with a diff, when a generated file is not what the code makes.
pub fn check(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let stale = stale(&tree, GENERATED)?;
    for (_, diff) in &stale {
        println!("{diff}");
    }
    if !stale.is_empty() {
        let paths: Vec<_> = stale.iter().map(|(path, _)| *path).collect();
        bail!("out of date: {}; run `cargo xtask gen` and commit", paths.join(", "));
    }
    println!("gen: {} files are up to date", GENERATED.len());
    Ok(())
}

/// The same for tidy: one line each, without the diff.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    match stale(tree, GENERATED) {
        Ok(stale) => stale
            .into_iter()
            .map(|(path, _)| Finding::error(path, None, "out of date: run `cargo xtask gen`"))
            .collect(),
        Err(error) => vec![Finding::error("xtask/src/generate.rs", None, format!("{error:#}"))],
    }
}

/// Which files differ from what the code makes, and how.
fn stale(tree: &Tree, generated: &[Generated]) -> Result<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    for (path, make) in generated {
        let wanted = make(tree).with_context(|| format!("cannot make {path}"))?;
        let there = tree.text(path).unwrap_or_default();
        if there != wanted || !tree.has(path) {
            let diff = TextDiff::from_lines(there, &wanted)
                .unified_diff()
                .context_radius(1)
                .header(path, &format!("{path} (generated)"))
                .to_string();
            found.push((*path, diff));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
