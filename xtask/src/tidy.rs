//! Conventions that no compiler and no lint checks. A check is a function from the tree to its
//! findings; to add one, write it here, register it in [`CHECKS`] and add a test that fails it.
//!
//! The sources are formatted by rustfmt, so the checks read them line by line: an item at the
//! first column is at the top level of its file, and four spaces are one level below.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, ensure};
use regex::Regex;

use crate::tree::{Tree, is_test_code, package};

/// The findings of a check, as `path:line: message`.
pub type Findings = Result<Vec<String>>;

/// A check, after its name.
pub type Check = (&'static str, fn(&Tree) -> Findings);

/// Every check.
pub const CHECKS: &[Check] = &[
    ("file length", length),
    ("public methods per type", methods),
    ("forgotten files", orphans),
    ("machine paths", machine_paths),
    ("links", links),
    ("names on pages", names),
    ("short documentation", short_docs),
    ("vendor names in core", vendors),
];

/// Runs every check over the repository and prints the findings.
pub fn run(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let mut errors = 0;
    for (name, check) in CHECKS {
        for finding in check(&tree)? {
            println!("error: {finding} [{name}]");
            errors += 1;
        }
    }
    println!("tidy: {} files, {} checks, {errors} errors", tree.files().count(), CHECKS.len());
    ensure!(errors == 0, "tidy found {errors} errors");
    Ok(())
}

/// Calls `check` with each path and line and returns its messages with their places.
fn each_line<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    mut check: impl FnMut(&'a str, &'a str) -> Option<String>,
) -> Findings {
    let mut found = Vec::new();
    for (path, text) in files {
        for (number, line) in (1..).zip(text.lines()) {
            found.extend(check(path, line).map(|message| format!("{path}:{number}: {message}")));
        }
    }
    Ok(found)
}

/// Returns the texts between backticks.
pub fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Finds files with more than 800 lines.
pub fn length(tree: &Tree) -> Findings {
    let lengths = tree.rust().map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > 800);
    Ok(long.map(|(path, lines)| format!("{path}: {lines} lines, at most 800: split it")).collect())
}

/// Finds types with more than 30 public methods, in all files of their crate together.
pub fn methods(tree: &Tree) -> Findings {
    let (block, method) =
        (Regex::new(r"^impl(?:<.*?>)? (\w+)")?, Regex::new(r"^    pub (\w+ )*fn ")?);
    // Types with the same name in one crate are counted as one.
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (path, text) in tree.rust().filter(|(path, _)| !is_test_code(path)) {
        let mut owner = None;
        for line in text.lines() {
            if line.starts_with("impl") || line.starts_with('}') {
                let inherent = block.captures(line).filter(|_| !line.contains(" for "));
                owner = inherent.map(|found| found[1].to_owned());
            } else if let Some(owner) = &owner
                && method.is_match(line)
            {
                let package = package(path).unwrap_or_default();
                *counts.entry((package, owner.clone())).or_default() += 1;
            }
        }
    }
    let many = counts.into_iter().filter(|(_, count)| *count > 30);
    let many = many.map(|((package, name), count)| {
        format!("{package}: `{name}` has {count} public methods, at most 30: make two types of it")
    });
    Ok(many.collect())
}

/// Finds sources that are never compiled: no root of a target, and not declared by a `mod` line.
pub fn orphans(tree: &Tree) -> Findings {
    let root = Regex::new(
        r"^(crates/)?[^/]+/(build|src/(lib|main|bin/.+)|(tests|benches|examples)/[^/]+(/main)?)\.rs$",
    )?;
    let declaration = Regex::new(r"^\s*(?:pub(?:\(\w+\))? )?mod (\w+);")?;
    let attribute = Regex::new(r#"^\s*#\[path = "(?:\.\./)*([^"]+/[^"]+)"\]$"#)?;
    let (mut compiled, mut named) = (BTreeSet::new(), Vec::new());
    for (path, text) in tree.rust() {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        // The children of a root or a `mod.rs` are in its own folder, those of `a.rs` in `a/`.
        let in_folder = name == "mod.rs" || root.is_match(path);
        let below = if in_folder { folder } else { path.trim_end_matches(".rs") };
        for line in text.lines() {
            for module in groups(&declaration, line) {
                compiled.extend([".rs", "/mod.rs"].map(|end| format!("{below}/{module}{end}")));
            }
            named.extend(groups(&attribute, line).map(|path| format!("/{path}")));
        }
    }
    let is_compiled = |path: &str| {
        root.is_match(path) || compiled.contains(path) || named.iter().any(|it| path.ends_with(it))
    };
    let orphans = tree.rust().map(|(path, _)| path).filter(|path| !is_compiled(path));
    Ok(orphans.map(|path| format!("{path}: no `mod` line and no target compiles it")).collect())
}

/// Finds absolute paths of one machine. The pattern is written so that this file does not match it.
pub fn machine_paths(tree: &Tree) -> Findings {
    let path = Regex::new(r"(^|[^\w\-.~/*}>)$])/(wo[r]k|ro[o]t)/")?;
    let message = || "an absolute path of one machine".to_owned();
    each_line(tree.files(), |_, line| path.is_match(line).then(message))
}

/// Finds links in Markdown to files that do not exist: `[text](target "title")` and `[name]: target`.
pub fn links(tree: &Tree) -> Findings {
    let link = Regex::new(r"(?:\]\(|^\[[^\]]*\]: )([^)\s]*)")?;
    let pages = tree.files().filter(|(path, _)| {
        path.ends_with(".md") && !path.split('/').any(|part| part == "fixtures")
    });
    let mut fenced = false;
    each_line(pages, |page, line| {
        fenced ^= line.trim_start().starts_with("```");
        let text = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let mut dead = link.captures_iter(&text).map(|found| found[1].to_owned());
        let dead = dead.find(|target| !leads_to_a_file(tree, page, target));
        dead.filter(|_| !fenced).map(|target| format!("`{target}` does not exist"))
    })
}

/// Returns whether a target is a file of the tree, or not a path of this repository at all.
fn leads_to_a_file(tree: &Tree, page: &str, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/').filter(|part| !["", "."].contains(part)) {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return false;
        }
    }
    tree.has(&parts.join("/"))
}

/// Finds what pages name in code and what does not exist: sources (`a/b.rs`), tests (`core_07_…`, and
/// all that the threat model names), and methods and fields (`Type::name`) of our types.
pub fn names(tree: &Tree) -> Findings {
    let source = Regex::new(r"^[a-z0-9_\-./]+/[a-z0-9_\-.]+\.rs$")?;
    let test = Regex::new(r"^[^_]*_\d\d(_|$)")?;
    let member = Regex::new(r"^(\w+::)*(?<owner>[A-Z]\w*)::(?<name>[a-z_]+)$")?;
    // Pages about earlier versions, and one that has a check of its own.
    let history = Regex::new(r"^(docs/decisions/|fixtures/|CHANGELOG\.md|docs/checklist\.md)")?;
    let (functions, members) = (tree.functions(), members(tree)?);
    let exists = |span: &str| {
        if source.is_match(span) && !span.starts_with("foo/") {
            let end = format!("/{span}");
            tree.files().any(|(path, _)| path == span || path.ends_with(&end))
        } else if test.is_match(span) {
            let prefix = span.trim_end_matches('…');
            functions.range(prefix..).next().is_some_and(|name| name.starts_with(prefix))
        } else if let Some(found) = member.captures(span).filter(|_| !span.starts_with("std::")) {
            let has = |all: &BTreeSet<&str>| all.contains(&found["name"]);
            // A macro may define members of a type that uses it.
            let by_macro = |name: &&str| members.get(name).is_some_and(has);
            members.get(&found["owner"]).is_none_or(|all| has(all) || all.iter().any(by_macro))
        } else {
            true
        }
    };
    let pages = tree.files().filter(|(path, _)| path.ends_with(".md") && !history.is_match(path));
    each_line(pages, |page, line| {
        // The last column of the tables of the threat model has names of tests.
        let row = line.strip_suffix('|').filter(|_| page == "docs/threat-model.md");
        let tests = row.and_then(|row| row.rsplit('|').next()).unwrap_or_default();
        let missing = code_spans(tests).find(|name| !functions.contains(name));
        let missing = missing.or_else(|| code_spans(line).find(|span| !exists(span)))?;
        Some(format!("`{missing}` does not exist"))
    })
}

/// Returns each type and macro with the names of its methods and fields, and of the macros it uses.
fn members(tree: &Tree) -> Result<BTreeMap<&str, BTreeSet<&str>>> {
    let defined = Regex::new(r"^(?:[^/\s].*)?\b(?:struct|enum|trait|macro_rules!) (\w+)")?;
    let (implemented, named) = (Regex::new(r"^(unsafe )?impl\b")?, Regex::new(r"\b([A-Z]\w*)")?);
    let member = Regex::new(r"\bfn (\w+)[(<]|^\s*(?:pub(?:\(\w+\))? )?(\w+): |(\w+)!\(")?;
    let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (_, text) in tree.rust() {
        let mut owners: Vec<&str> = Vec::new();
        for line in text.lines() {
            let begins = owners.is_empty();
            if begins {
                let name = if implemented.is_match(line) { &named } else { &defined };
                owners = groups(name, line).collect();
            }
            for owner in &owners {
                all.entry(*owner).or_default().extend(groups(&member, line));
            }
            if (begins && line.ends_with([';', '}'])) || (!begins && line.starts_with(['}', ')'])) {
                owners.clear();
            }
        }
    }
    Ok(all)
}

/// Returns what the groups of a pattern match.
fn groups<'a>(pattern: &Regex, line: &'a str) -> impl Iterator<Item = &'a str> {
    let found = pattern.captures_iter(line).map(|found| found.iter().skip(1).flatten().last());
    found.flatten().map(|group| group.as_str())
}

/// Finds documentation with only the words of the name, or fewer than four for a function or type.
pub fn short_docs(tree: &Tree) -> Findings {
    let item =
        Regex::new(r"^pub ((async|const|unsafe) )*(fn|struct|enum|trait|type) (?<name>\w+)")?;
    let field = Regex::new(r"^pub(\(\w+\))? (?<name>\w+): ")?;
    let variant = Regex::new(r"^(?<name>[A-Z]\w*)( \{|[,({])")?;
    let fewest_words = [(item, 4), (field, 0), (variant, 0)];
    let api = |(path, _): &(&str, &str)| path.starts_with("crates/") && !is_test_code(path);
    let mut doc = String::new();
    each_line(tree.rust().filter(api), |_, line| {
        let line = line.trim_start();
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
        }
        if line.starts_with("///") || line.starts_with("#[") {
            return None;
        }
        let doc = Some(std::mem::take(&mut doc)).filter(|doc| !doc.is_empty())?;
        let (name, fewest) =
            fewest_words.iter().find_map(|(of, fewest)| Some((of.captures(line)?, *fewest)))?;
        says_nothing(&doc, &name["name"], fewest).then(|| format!("`{}` says nothing", doc.trim()))
    })
}

fn says_nothing(doc: &str, name: &str, fewest_words: usize) -> bool {
    const FILLERS: [&str; 8] = ["a", "an", "the", "of", "it", "its", "that", "for"];
    // `s` at the end of a word makes no difference.
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
    };
    let spaced: String =
        name.chars().flat_map(|c| c.is_uppercase().then_some(' ').into_iter().chain([c])).collect();
    let (of_name, of_doc) = (words(&spaced), words(doc));
    let repeats = |word: &String| FILLERS.contains(&word.as_str()) || of_name.contains(word);
    // A variant may have code in place of words: `( … )` for a subshell.
    of_doc.len() < fewest_words || (!of_doc.is_empty() && of_doc.iter().all(repeats))
}

/// Finds names of providers and models in the core, which must not branch on them.
pub fn vendors(tree: &Tree) -> Findings {
    let vendor =
        Regex::new("(?i)anthropic|claude|openai|gpt|gemini|mistral|deepseek|llama|qwen|grok")?;
    let core = |path: &str| path.starts_with("crates/robota-core/src/") && !is_test_code(path);
    each_line(tree.rust().filter(|(path, _)| core(path)), |_, line| {
        let code = if line.trim_start().starts_with("//") { "" } else { line };
        let name = vendor.find(code.split(" // ").next().unwrap_or_default())?.as_str();
        Some(format!("the core names `{name}`: move it to data or to an adapter"))
    })
}

#[cfg(test)]
mod tests;
