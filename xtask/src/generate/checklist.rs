//! `docs/checklist.md`: every promise clause by clause, and the tests that show each clause. It is
//! made from `docs/checklist.ids`, whose first lines explain the format. The names of the tests are
//! checked against the sources; whether a test asserts the clause is for the reviewer of a change.

use anyhow::{Context, Result, ensure};
use regex::{Captures, Regex};

use super::{codes, table};
use crate::tree::{Tree, function};

/// The source of the page, which people edit.
const IDS: &str = "docs/checklist.ids";
/// The page whose sentence has the counts.
pub const README: &str = "README.md";

/// The paragraph after this line of the README is generated.
const MARKER: &str = "<!-- The next paragraph is written by `cargo xtask gen`. -->\n";

const HEAD: &str = include_str!("checklist/head.txt");

/// How far tests show a clause.
const STATUSES: [&str; 3] = ["shown", "partial", "not yet"];

#[derive(Debug)]
struct Clause<'a> {
    /// One of [`STATUSES`].
    status: &'a str,
    text: &'a str,
    tests: Vec<&'a str>,
    missing: Option<&'a str>,
}

#[derive(Debug)]
struct Promise<'a> {
    id: &'a str,
    title: &'a str,
    clauses: Vec<Clause<'a>>,
}

/// Makes the page.
pub fn page(tree: &Tree) -> Result<String> {
    let promises = load(tree)?;
    check(&promises, &tests(tree))?;
    let mut page = format!("{HEAD}\n{} promises, {}.\n", promises.len(), counts(&promises));
    for Promise { id, title, clauses } in &promises {
        let rows = clauses.iter().map(|clause| {
            let missing = clause.missing.map(|text| format!(": {text}")).unwrap_or_default();
            let status = format!("{}{missing}", clause.status);
            vec![clause.text.to_owned(), status, codes(&clause.tests, "<br>")]
        });
        page += &format!("\n## {id} {title}\n\n{}", table(&["clause", "status", "tests"], rows));
    }
    Ok(page)
}

/// Makes the README: its text with the counts of today.
pub fn readme(tree: &Tree) -> Result<String> {
    let text = tree.text(README).context("it is missing")?;
    let (before, after) = text.split_once(MARKER).context("the marker line is missing")?;
    let rest = after.split_once("\n\n").map_or("", |(_, rest)| rest);
    let counts = counts(&load(tree)?);
    Ok(format!(
        "{before}{MARKER}[The checklist](docs/checklist.md) splits the promises into {counts}.\n\n{rest}"
    ))
}

fn counts(promises: &[Promise<'_>]) -> String {
    let clauses: Vec<_> = promises.iter().flat_map(|promise| &promise.clauses).collect();
    let count = |status| clauses.iter().filter(|clause| clause.status == status).count();
    let ([shown, partial, not_yet], all) = (STATUSES.map(count), clauses.len());
    format!("{all} clauses: {shown} are shown by tests, {partial} in part, {not_yet} not yet")
}

fn load(tree: &Tree) -> Result<Vec<Promise<'_>>> {
    parse(tree.text(IDS).with_context(|| format!("{IDS} is missing"))?)
}

fn parse(text: &str) -> Result<Vec<Promise<'_>>> {
    let kinds = Regex::new(
        "^((?<id>[A-Z]+-[0-9]{2}) (?<title>.+)|(?<status>shown|partial|not yet): (?<text>.+)|\
         \x20 by (?<test>.+)|  missing: (?<missing>.+)|#.*|)$",
    )?;
    let mut promises = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let place = || format!("{IDS}:{number}: `{line}`");
        let found = kinds.captures(line).context("no line of one of the kinds");
        take(&mut promises, &found.with_context(place)?).with_context(place)?;
    }
    for Promise { id, clauses, .. } in &promises {
        ensure!(!clauses.is_empty(), "{IDS}: {id} has no clause");
        for Clause { status, text, tests, missing } in clauses {
            let by_details = match (missing, tests.is_empty()) {
                (Some(_), _) => "partial",
                (None, false) => "shown",
                (None, true) => "not yet",
            };
            ensure!(
                *status == by_details,
                "{IDS}: {id}: `{text}`: a shown clause names tests, a partial one says what is \
                 missing, and one that is not yet shown has neither"
            );
        }
    }
    Ok(promises)
}

/// Takes a line: it begins a promise or a clause, or belongs to the last clause.
fn take<'a>(promises: &mut Vec<Promise<'a>>, line: &Captures<'a>) -> Result<()> {
    let part = |name: &str| line.name(name).map(|part| part.as_str());
    if let (Some(id), Some(title)) = (part("id"), part("title")) {
        ensure!(!promises.iter().any(|promise| promise.id == id), "{id} is there twice");
        promises.push(Promise { id, title, clauses: Vec::new() });
    } else if let (Some(status), Some(text)) = (part("status"), part("text")) {
        let promise = promises.last_mut().context("a clause before the first id")?;
        promise.clauses.push(Clause { status, text, tests: Vec::new(), missing: None });
    } else if let Some(detail) = part("test").or(part("missing")) {
        let clauses = promises.last_mut().and_then(|promise| promise.clauses.last_mut());
        let clause = clauses.context("a detail before the first clause")?;
        match part("test") {
            Some(test) => clause.tests.push(test),
            None => clause.missing = Some(detail),
        }
    }
    Ok(())
}

/// Checks that each named test is exactly one, and that no test has an id that is not in the list.
fn check(promises: &[Promise<'_>], tests: &[String]) -> Result<()> {
    let mut wrong = Vec::new();
    let names: Vec<&str> = tests.iter().filter_map(|path| path.rsplit("::").next()).collect();
    for Promise { id, clauses, .. } in promises {
        for name in clauses.iter().flat_map(|clause| &clause.tests) {
            let suffix = format!("::{name}");
            let same: Vec<_> = tests.iter().filter(|path| path.ends_with(&suffix)).collect();
            if same.is_empty() {
                let near = similar::get_close_matches(*name, &names, 1, 0.6).concat();
                wrong.push(format!("{id}: there is no test `{name}` (the nearest: `{near}`)"));
            } else if same.len() > 1 {
                wrong.push(format!("{id}: `{name}` is one of {same:?}"));
            }
        }
    }
    let ids: Vec<&str> = promises.iter().map(|promise| promise.id).collect();
    // A test that begins with the id of a promise: `core_01_round_trip`.
    let named = Regex::new("^([a-z]+)_([0-9]{2})_")?;
    for (name, found) in names.iter().filter_map(|name| Some((name, named.captures(name)?))) {
        let area = found[1].to_uppercase() + "-";
        let id = format!("{area}{}", &found[2]);
        let mut of_area = ids.iter().filter(|it| it.starts_with(&area)).peekable();
        if of_area.peek().is_some() && !of_area.any(|it| *it == id) {
            wrong.push(format!("the test `{name}` names {id}, which is not in the list"));
        }
    }
    ensure!(wrong.is_empty(), "{IDS}:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Returns the tests that run by default, as the path of the file and the name; inline modules are left
/// out. Cases of the conformance suites count as tests: the adapters run each of them.
fn tests(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.rust() {
        let suite = path.contains("_suite/");
        let path = path.trim_end_matches(".rs").replace('/', "::");
        let (mut test, mut ignored) = (false, false);
        for line in text.lines().map(str::trim_start) {
            if line.starts_with("#[") {
                test |= line.starts_with("#[test]") || line.contains("::test");
                ignored |= line.starts_with("#[ignore");
            } else if !line.starts_with("//") && !line.is_empty() {
                let runs = (test && !ignored) || (suite && line.starts_with("pub async fn "));
                found.extend(function(line).filter(|_| runs).map(|name| format!("{path}::{name}")));
                (test, ignored) = (false, false);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
