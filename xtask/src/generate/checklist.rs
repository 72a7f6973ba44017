//! `docs/checklist.md`: every promise clause by clause, and the tests that show each clause. It is
//! made from `docs/checklist.ids`, whose first lines explain the format. The names of the tests are
//! checked against the sources; whether a test asserts the clause is for the reviewer of a change.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};

use crate::tree::{File, Tree, function, package};

/// The source of the page, which people edit.
pub const IDS: &str = "docs/checklist.ids";
/// The page that is made from it.
pub const PAGE: &str = "docs/checklist.md";
/// The page whose sentence has the counts.
pub const README: &str = "README.md";

/// The paragraph after this line of the README is generated.
const MARKER: &str = "<!-- The next paragraph is written by `cargo xtask gen`. -->\n";

const HEAD: &str = "\
# The checklist: what is promised, and how far tests show it

Written by `cargo xtask gen` from [`checklist.ids`](checklist.ids); do not edit. A clause is *shown*
when the named tests assert it, *partial* when something is missing, and otherwise *not yet*.
`cargo xtask gen --check` fails when this page is out of date or a named test does not exist.
";

/// How far tests show a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Shown,
    Partial,
    NotYet,
}

const STATUSES: [(Status, &str); 3] =
    [(Status::Shown, "shown"), (Status::Partial, "partial"), (Status::NotYet, "not yet")];

#[derive(Debug)]
struct Clause {
    status: Status,
    text: String,
    tests: Vec<String>,
    missing: Option<String>,
}

#[derive(Debug)]
struct Promise {
    id: String,
    title: String,
    clauses: Vec<Clause>,
}

/// Makes the page.
pub fn page(tree: &Tree) -> Result<String> {
    let promises = load(tree)?;
    check(&promises, &tests(tree))?;
    let counts = counts(&promises);
    let mut page = format!("{HEAD}\n{} promises, {}.\n", promises.len(), counted(counts));
    for promise in &promises {
        let _ = write!(page, "\n## {} {}\n\n", promise.id, promise.title);
        page.push_str("| clause | status | tests |\n|---|---|---|\n");
        for Clause { status, text, tests, missing } in &promise.clauses {
            let name = STATUSES.iter().find(|(other, _)| other == status).map_or("", |pair| pair.1);
            let missing = missing.iter().map(|missing| format!(": {missing}")).collect::<String>();
            let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
            let row = format!("| {text} | {name}{missing} | {} |", tests.join("<br>"));
            let _ = writeln!(page, "{row}");
        }
    }
    Ok(page)
}

/// Makes the README: its text with the counts of today.
pub fn readme(tree: &Tree) -> Result<String> {
    let text = tree.text(README).context("it is missing")?;
    let (before, after) = text.split_once(MARKER).context("the marker line is missing")?;
    let rest = after.split_once("\n\n").map_or("", |(_, rest)| rest);
    let counted = counted(counts(&load(tree)?));
    Ok(format!(
        "{before}{MARKER}[The checklist](docs/checklist.md) splits the promises into {counted}.\n\n{rest}"
    ))
}

fn counts(promises: &[Promise]) -> [usize; 3] {
    let clauses = || promises.iter().flat_map(|promise| &promise.clauses);
    STATUSES.map(|(status, _)| clauses().filter(|clause| clause.status == status).count())
}

fn counted([shown, partial, not_yet]: [usize; 3]) -> String {
    let all = shown + partial + not_yet;
    format!("{all} clauses: {shown} are shown by tests, {partial} in part, {not_yet} not yet")
}

fn load(tree: &Tree) -> Result<Vec<Promise>> {
    parse(tree.text(IDS).with_context(|| format!("{IDS} is missing"))?)
}

fn parse(text: &str) -> Result<Vec<Promise>> {
    let mut promises: Vec<Promise> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !line.is_empty() && !line.starts_with('#') {
            parse_line(&mut promises, line).with_context(|| format!("{IDS}:{number}: `{line}`"))?;
        }
    }
    for Promise { id, clauses, .. } in &promises {
        ensure!(!clauses.is_empty(), "{IDS}: {id} has no clause");
        for Clause { status, text, tests, missing } in clauses {
            let complete = match status {
                Status::Shown => !tests.is_empty() && missing.is_none(),
                Status::Partial => missing.is_some(),
                Status::NotYet => tests.is_empty() && missing.is_none(),
            };
            ensure!(
                complete,
                "{IDS}: {id}: `{text}`: a shown clause names tests, a partial one says what is \
                 missing, and one that is not yet shown has neither"
            );
        }
    }
    Ok(promises)
}

fn parse_line(promises: &mut Vec<Promise>, line: &str) -> Result<()> {
    let clause = STATUSES.iter().find_map(|(status, name)| {
        Some((*status, line.strip_prefix(name)?.strip_prefix(": ")?.replace('|', "\\|")))
    });
    if let Some((status, text)) = clause {
        let promise = promises.last_mut().context("a clause before the first id")?;
        promise.clauses.push(Clause { status, text, tests: Vec::new(), missing: None });
    } else if let Some(detail) = line.strip_prefix("  ") {
        let clauses = promises.last_mut().and_then(|promise| promise.clauses.last_mut());
        let clause = clauses.context("a detail before the first clause")?;
        match (detail.strip_prefix("by "), detail.strip_prefix("missing: ")) {
            (Some(test), _) => clause.tests.push(test.to_owned()),
            (_, Some(text)) => clause.missing = Some(text.replace('|', "\\|")),
            _ => bail!("neither `by NAME` nor `missing: TEXT`"),
        }
    } else {
        let (id, title) = line.split_once(' ').context("not of the form `CORE-01 Title`")?;
        ensure!(id_of(&format!("{}_", id.replace('-', "_"))).as_deref() == Some(id), "no id");
        ensure!(!promises.iter().any(|promise| promise.id == id), "{id} is there twice");
        promises.push(Promise { id: id.to_owned(), title: title.to_owned(), clauses: Vec::new() });
    }
    Ok(())
}

/// Returns the id at the start of a name: `CORE-01` of `core_01_round_trip`.
fn id_of(name: &str) -> Option<String> {
    let (area, rest) = name.split_once('_')?;
    let (number, _) = rest.split_once('_')?;
    let digits = number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit());
    let letters = !area.is_empty() && area.bytes().all(|byte| byte.is_ascii_alphabetic());
    (digits && letters).then(|| format!("{}-{number}", area.to_uppercase()))
}

/// Checks that each named test is exactly one test, and that no test is named after an id that is
/// not in the list. Reports all mistakes together.
fn check(promises: &[Promise], tests: &[String]) -> Result<()> {
    let mut wrong = Vec::new();
    let short = |path: &String| path.rsplit("::").next().unwrap_or_default().to_owned();
    let names: Vec<String> = tests.iter().map(short).collect();
    for Promise { id, clauses, .. } in promises {
        for name in clauses.iter().flat_map(|clause| &clause.tests) {
            let suffix = format!("::{name}");
            let same = tests.iter().filter(|path| path.ends_with(&suffix)).collect::<Vec<_>>();
            match same.as_slice() {
                [_] => {}
                [] => {
                    let all: Vec<&str> = names.iter().map(String::as_str).collect();
                    let near = similar::get_close_matches(name.as_str(), &all, 1, 0.6).concat();
                    wrong.push(format!("{id}: there is no test `{name}` (the nearest: `{near}`)"));
                }
                several => wrong.push(format!("{id}: `{name}` is one of {several:?}")),
            }
        }
    }
    let known = |id: &String| promises.iter().any(|promise| promise.id == *id);
    let areas: Vec<&str> = promises.iter().filter_map(|p| Some(p.id.split_once('-')?.0)).collect();
    for name in &names {
        let id = id_of(name).filter(|id| areas.contains(&id.split('-').next().unwrap_or_default()));
        if let Some(id) = id.filter(|id| !known(id)) {
            wrong.push(format!("the test `{name}` names {id}, which is not in the list"));
        }
    }
    ensure!(wrong.is_empty(), "{IDS}:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Returns the tests that run by default, as `package::file::name`; inline modules are left out.
/// Cases of the conformance suites count as tests: the adapters run each of them.
fn tests(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.rust() {
        let suite = file.path.contains("_suite/");
        let (mut test, mut ignored) = (false, false);
        for line in file.text.lines().map(str::trim_start) {
            if line.starts_with("#[") {
                test |= line.starts_with("#[test]") || line.contains("::test");
                ignored |= line.starts_with("#[ignore");
            } else if let Some(name) = function(line) {
                if (test && !ignored) || (suite && line.starts_with("pub async fn ")) {
                    found.push(full_name(file, name));
                }
                (test, ignored) = (false, false);
            } else if !line.starts_with("//") && !line.is_empty() {
                (test, ignored) = (false, false);
            }
        }
    }
    found
}

fn full_name(file: &File, name: &str) -> String {
    let package = package(&file.path).unwrap_or_default();
    let inner = file.path[package.len()..].trim_end_matches(".rs").trim_start_matches('/');
    let mut parts = vec![package.rsplit('/').next().unwrap_or_default()];
    // `src` and `tests` are not modules, nor is the root of a crate or of a folder.
    parts.extend(inner.split('/').skip(1).filter(|part| !["lib", "main", "mod"].contains(part)));
    parts.push(name);
    parts.join("::")
}

#[cfg(test)]
mod tests;
