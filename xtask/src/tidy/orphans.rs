//! No forgotten files: a source that no target reaches is never compiled, and a test in it
//! never runs, while everybody believes it does.

use std::collections::BTreeSet;

use super::Finding;
use crate::rust_scan::scan;
use crate::tree::{Tree, package};

/// Errors for sources of a package that no `mod` leads to.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = tree
        .rust()
        .filter(|file| is_target(tree, &file.path))
        .map(|file| file.path.clone())
        .collect();
    while let Some(path) = open.pop() {
        if let Some(text) = tree.text(&path).filter(|_| !reached.contains(&path)) {
            open.extend(children(tree, &path, text));
            reached.insert(path);
        }
    }
    let forgotten = tree.rust().filter(|file| !reached.contains(&file.path));
    forgotten
        .map(|file| {
            let message = match file.path.strip_suffix("/tests.rs") {
                Some(parent) => format!(
                    "its tests never run: write `#[cfg(test)] mod tests;` at the end of {parent}.rs"
                ),
                None => "nothing reaches this file: no `mod` names it and no target is it".into(),
            };
            Finding::error(&file.path, None, message)
        })
        .collect()
}

/// The part of a path below its package.
fn inner(path: &str) -> &str {
    package(path).map_or(path, |package| path[package.len()..].trim_start_matches('/'))
}

/// Whether cargo compiles this file as the root of a target.
fn is_target(tree: &Tree, path: &str) -> bool {
    let manifest = package(path).and_then(|package| tree.text(&format!("{package}/Cargo.toml")));
    let manifest = manifest.unwrap_or_default();
    let inner = inner(path);
    let parts: Vec<_> = inner.split('/').collect();
    let discovered = |switch: &str| !manifest.contains(&format!("{switch} = false"));
    let named = manifest.contains(&format!("path = \"{inner}\""));
    named
        || match parts.as_slice() {
            ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
            ["src", "bin", _] | ["src", "bin", _, "main.rs"] => discovered("autobins"),
            ["tests", _] | ["tests", _, "main.rs"] => discovered("autotests"),
            ["benches", _] | ["benches", _, "main.rs"] => discovered("autobenches"),
            ["examples", _] | ["examples", _, "main.rs"] => discovered("autoexamples"),
            _ => false,
        }
}

/// The files that the `mod` lines of a file lead to.
fn children(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".rs");
    // The modules of a root, and of `mod.rs`, lie beside it, those of other files below.
    let below = if is_target(tree, path) || stem == "mod" {
        folder.to_owned()
    } else {
        format!("{folder}/{stem}")
    };
    let mut found = Vec::new();
    for module in scan(text).mods {
        if let Some(path) = &module.path {
            found.push(format!("{folder}/{path}"));
        }
        let mut base = below.clone();
        for part in module.inside.iter().chain([&module.name]) {
            base = format!("{base}/{part}");
        }
        found.push(format!("{base}.rs"));
        found.push(format!("{base}/mod.rs"));
    }
    found
}

#[cfg(test)]
mod tests;
