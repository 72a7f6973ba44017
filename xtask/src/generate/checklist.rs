//! `docs/checklist.md`: which test shows which promise, found in the sources and not remembered.
//!
//! A test claims a line by its name: `core_01_…` shows CORE-01, `sess_11_kode_12_…` shows two.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::rust_scan::{Func, scan};
use crate::tree::{Tree, package};

/// The list of ids, written by hand.
pub const IDS: &str = "docs/checklist.ids";
/// The page made of it.
pub const PAGE: &str = "docs/checklist.md";

const HEAD: &str = "\
# The checklist: what is promised, and which test shows it

Made by `cargo xtask gen`; do not edit. The ids and titles are those of
[`checklist.ids`](checklist.ids); the tests are found in the sources by their names: a test whose
name starts with `core_01_` shows CORE-01. `cargo xtask test` fails when this page is out of date
or a test claims an id that does not exist.
";

/// One promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// The part before the dash, in capitals.
    pub area: String,
    /// The part after it, two digits.
    pub number: String,
    /// What is promised, in a few words.
    pub title: String,
}

impl Id {
    /// As it is written: `CORE-01`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.area, self.number)
    }
}

/// The ids of the list, in its order. Empty lines and those that start with `#` are skipped.
pub fn ids(tree: &Tree) -> Result<Vec<Id>> {
    let text = tree.text(IDS).with_context(|| format!("{IDS} is missing"))?;
    let mut ids: Vec<Id> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let id = parse(line).with_context(|| {
            format!("{IDS}:{}: `{line}` is not of the form `CORE-01 Title`", number + 1)
        })?;
        if ids.iter().any(|other| other.name() == id.name()) {
            bail!("{IDS}:{}: {} is there twice", number + 1, id.name());
        }
        ids.push(id);
    }
    Ok(ids)
}

fn parse(line: &str) -> Option<Id> {
    let (name, title) = line.split_once(' ')?;
    let (area, number) = name.split_once('-')?;
    let valid = !area.is_empty()
        && area.bytes().all(|byte| byte.is_ascii_uppercase())
        && is_number(number)
        && !title.trim().is_empty();
    valid.then(|| Id {
        area: area.to_owned(),
        number: number.to_owned(),
        title: title.trim().to_owned(),
    })
}

fn is_number(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The ids that the name of a test claims: all `area_NN_` at its start.
#[must_use]
pub fn claims(test: &str, areas: &[&str]) -> Vec<String> {
    let mut claims = Vec::new();
    let mut words = test.split('_');
    while let (Some(area), Some(number)) = (words.next(), words.next()) {
        let area = area.to_uppercase();
        if !areas.contains(&area.as_str()) || !is_number(number) {
            break;
        }
        claims.push(format!("{area}-{number}"));
    }
    claims
}

/// The page.
pub fn page(tree: &Tree) -> Result<String> {
    let ids = ids(tree)?;
    let tests = tests(tree, &ids);
    let shown = ids.iter().filter(|id| tests.contains_key(&id.name())).count();
    let mut page = format!("{HEAD}\n{shown} of {} have a test.\n", ids.len());
    let mut area = "";
    for id in &ids {
        if id.area != area {
            area = &id.area;
            let _ = write!(page, "\n## {area}\n\n| id | what | shown by |\n|---|---|---|\n");
        }
        let by = tests.get(&id.name()).map_or("*not yet*".to_owned(), |tests| tests.join("<br>"));
        let _ = writeln!(page, "| {} | {} | {by} |", id.name(), id.title.replace('|', "\\|"));
    }
    Ok(page)
}

/// The tests that run by default, by the id they claim; ignored ones show nothing.
fn tests(tree: &Tree, ids: &[Id]) -> BTreeMap<String, Vec<String>> {
    let areas: Vec<&str> = ids.iter().map(|id| id.area.as_str()).collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in tree.rust() {
        let running = |func: &Func| func.is_test() && !func.is_ignored();
        for func in scan(&file.text).funcs.into_iter().filter(running) {
            for id in claims(&func.name, &areas) {
                let name = format!("`{}`", full_name(&file.path, &func));
                found.entry(id).or_default().push(name);
            }
        }
    }
    found
}

/// `package::module::test`, for tests in `tests/` with the file as the module.
fn full_name(path: &str, func: &Func) -> String {
    let package = package(path).unwrap_or_default();
    let inner = path[package.len()..].trim_start_matches('/').trim_end_matches(".rs");
    let mut parts = vec![package.rsplit('/').next().unwrap_or_default()];
    // `src` or `tests` is no module, neither is the root of a crate or of a folder.
    parts.extend(inner.split('/').skip(1));
    if matches!(parts.last(), Some(&("lib" | "main" | "mod"))) {
        parts.pop();
    }
    parts.extend(func.inside.iter().map(String::as_str));
    parts.push(&func.name);
    parts.join("::")
}

#[cfg(test)]
mod tests;
