//! Conventions that no compiler and no lint checks. A check is a function from the tree to its
//! findings; to add one, write it here, register it in [`CHECKS`] and add a test that fails it.
//!
//! The sources are formatted by rustfmt, so the checks read them line by line: an item at the
//! first column is at the top level of its file, and four spaces are one level below.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};

use crate::tree::{File, Tree, function, is_test_code, package};

/// A check: its name, and its findings as `path:line: message`.
pub type Check = (&'static str, fn(&Tree) -> Vec<String>);

/// Every check.
pub const CHECKS: &[Check] = &[
    ("file length", length),
    ("public methods per type", methods),
    ("forgotten files", orphans),
    ("machine paths", machine_paths),
    ("links", links),
    ("named sources", named_sources),
    ("named methods", named_methods),
    ("short documentation", short_docs),
    ("tests of the threat model", threat_model),
    ("vendor names in core", vendors),
];

/// Runs every check over the repository and prints the findings.
pub fn run(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let mut errors = 0;
    for (name, check) in CHECKS {
        for finding in check(&tree) {
            println!("error: {finding} [{name}]");
            errors += 1;
        }
    }
    println!("tidy: {} files, {} checks, {errors} errors", tree.files.len(), CHECKS.len());
    if errors > 0 {
        bail!("tidy found {errors} errors");
    }
    Ok(())
}

/// Finds files with more than 800 lines.
#[must_use]
pub fn length(tree: &Tree) -> Vec<String> {
    let lines = |file: &File| file.text.lines().count();
    let long = tree.rust().filter(|file| lines(file) > 800);
    long.map(|file| format!("{}: {} lines, at most 800: split it", file.path, lines(file)))
        .collect()
}

/// Finds types with more than 30 public methods, in all files of their crate together.
#[must_use]
pub fn methods(tree: &Tree) -> Vec<String> {
    // Types with the same name in one crate are counted as one.
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for file in tree.rust().filter(|file| !is_test_code(&file.path)) {
        let mut owner = None;
        for line in file.text.lines() {
            if line.starts_with("impl") {
                owner = inherent_type(line);
            } else if line.starts_with('}') {
                owner = None;
            }
            let method = line.strip_prefix("    pub ").is_some_and(|rest| {
                let head = rest.split('(').next().unwrap_or_default();
                head.split(' ').any(|word| word == "fn")
            });
            if let (true, Some(owner)) = (method, &owner) {
                let package = package(&file.path).unwrap_or_default();
                *counts.entry((package, owner.clone())).or_default() += 1;
            }
        }
    }
    let many = counts.into_iter().filter(|(_, count)| *count > 30);
    many.map(|((package, name), count)| {
        format!("{package}: `{name}` has {count} public methods, at most 30: make two types of it")
    })
    .collect()
}

/// Returns the type of `impl<T> Type<T> {`; none for the implementation of a trait.
fn inherent_type(line: &str) -> Option<String> {
    if line.contains(" for ") {
        return None;
    }
    let rest = line.strip_prefix("impl")?;
    let rest = if rest.starts_with('<') { rest.split_once("> ")?.1 } else { rest.trim_start() };
    Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

/// Finds sources that are neither a target of cargo nor declared by a `mod` line: such a file is
/// never compiled, and its tests never run.
#[must_use]
pub fn orphans(tree: &Tree) -> Vec<String> {
    let forgotten = |file: &&File| !is_target(tree, &file.path) && !is_declared(tree, &file.path);
    let message = |file: &File| format!("{}: no `mod` line and no target compiles it", file.path);
    tree.rust().filter(forgotten).map(message).collect()
}

/// Returns whether cargo compiles this file as the root of a target.
fn is_target(tree: &Tree, path: &str) -> bool {
    let Some(package) = package(path) else { return false };
    let inner = &path[package.len() + 1..];
    let manifest = tree.text(&format!("{package}/Cargo.toml")).unwrap_or_default();
    let parts: Vec<&str> = inner.split('/').collect();
    let discovered = match parts.as_slice() {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] | ["src", "bin", ..] => true,
        [kind @ ("tests" | "benches" | "examples"), _]
        | [kind @ ("tests" | "benches"), _, "main.rs"] => {
            !manifest.contains(&format!("auto{kind} = false"))
        }
        _ => false,
    };
    discovered || manifest.contains(&format!("path = \"{inner}\""))
}

/// Returns whether a parent of this module declares it.
fn is_declared(tree: &Tree, path: &str) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    // What a `#[path]` attribute ends with.
    let tail = format!("{}/{file}", folder.rsplit('/').next().unwrap_or_default());
    let (folder, name) = match file {
        "mod.rs" => folder.rsplit_once('/').unwrap_or(("", folder)),
        file => (folder, file.trim_end_matches(".rs")),
    };
    let declares = |text: &str| {
        text.lines().any(|line| {
            let end = line.trim().strip_suffix(';').and_then(|line| line.strip_suffix(name));
            end.is_some_and(|line| matches!(line.split(' ').rev().nth(1), Some("mod")))
                && !line.contains("//")
        })
    };
    let parent = |other: &&File| {
        let in_folder = other.path.rsplit_once('/').is_some_and(|(parent, _)| parent == folder);
        let is_root = is_target(tree, &other.path) || other.path.ends_with("/mod.rs");
        // The children of a root or a `mod.rs` are in its own folder, those of `a.rs` in `a/`.
        other.path == format!("{folder}.rs") || in_folder && is_root
    };
    tree.rust().filter(parent).any(|other| declares(&other.text))
        || tree.rust().any(|other| other.text.contains(&format!("{tail}\"]\n")))
}

/// Finds absolute paths of one machine. The prefixes are put together from halves, so that this
/// file does not contain them.
#[must_use]
pub fn machine_paths(tree: &Tree) -> Vec<String> {
    let prefixes = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    // `a/work/b` is relative.
    let absolute = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~/*}>)$".contains(c))
    };
    let finds = |line: &str| {
        prefixes.iter().any(|prefix| line.match_indices(prefix).any(|(at, _)| absolute(line, at)))
    };
    each_line(&tree.files, |_, line| finds(line).then(|| "an absolute path of one machine".into()))
}

/// Calls `check` with each line and returns its messages with their places.
fn each_line<'a>(
    files: impl IntoIterator<Item = &'a File>,
    mut check: impl FnMut(&'a File, &'a str) -> Option<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            found.extend(check(file, line).map(|text| format!("{}:{number}: {text}", file.path)));
        }
    }
    found
}

/// Finds links in Markdown to files that do not exist.
#[must_use]
pub fn links(tree: &Tree) -> Vec<String> {
    let pages = tree.files.iter().filter(|file| {
        file.path.ends_with(".md") && !file.path.split('/').any(|part| part == "fixtures")
    });
    let mut fenced = false;
    each_line(pages, |page, line| {
        fenced ^= line.trim_start().starts_with("```");
        let text = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let mut dead =
            targets(&text).into_iter().filter(|target| !leads_to_a_file(tree, &page.path, target));
        dead.next().filter(|_| !fenced).map(|target| format!("`{target}` does not exist"))
    })
}

/// Finds sources (`a/b.rs`) and tests (`core_07_…`) that pages name in code and that do not exist. The
/// changelog and the decisions are about earlier versions, and the checklist has a check of its own.
#[must_use]
pub fn named_sources(tree: &Tree) -> Vec<String> {
    let functions = functions(tree);
    let history = |path: &str| {
        path.starts_with("docs/decisions/")
            || ["CHANGELOG.md", "docs/checklist.md"].contains(&path)
            || path.starts_with("fixtures/")
    };
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    each_line(pages.filter(|file| !history(&file.path)), |_, line| {
        let mut spans = line.split('`').skip(1).step_by(2);
        let missing = |span: &str| {
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-/.".contains(c);
            let path = span.ends_with(".rs") && span.contains('/') && span.chars().all(plain);
            let path = path && !span.starts_with("foo/");
            let test =
                span.split('_').nth(1).is_some_and(|id| id.len() == 2 && id.parse::<u8>().is_ok());
            let end = format!("/{span}");
            let prefix = span.trim_end_matches('…');
            path && !tree.files.iter().any(|file| file.path == span || file.path.ends_with(&end))
                || test
                    && !functions
                        .range(prefix..)
                        .next()
                        .is_some_and(|name| name.starts_with(prefix))
        };
        spans.find(|span| missing(span)).map(|span| format!("`{span}` does not exist"))
    })
}

/// Finds methods and fields (`Type::name`) that the pages for developers name and that a type of this
/// repository does not have. Types of other crates and of `std::` are not checked.
#[must_use]
pub fn named_methods(tree: &Tree) -> Vec<String> {
    const PAGES: [&str; 3] = ["CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/glossary.md"];
    // The files that define or implement a type: one of them has its methods and fields.
    let homes = |name: &str| {
        let words = ["struct", "enum", "trait", "impl", "for"].map(|word| format!("{word} {name}"));
        let is_home = move |line: &str| {
            let end = |at: usize| line[at..].chars().next().is_none_or(|c| !c.is_alphanumeric());
            let found =
                |word: &String| line.find(word.as_str()).is_some_and(|at| end(at + word.len()));
            !line.starts_with(' ') && words.iter().any(found)
        };
        tree.rust().filter(move |file| file.text.lines().any(&is_home)).collect::<Vec<_>>()
    };
    let has = |file: &File, name: &str| {
        file.text.lines().any(|line| {
            let end = line.split(name).next().unwrap_or_default();
            let rest = &line[end.len()..].strip_prefix(name).unwrap_or_default();
            (end.ends_with("fn ") && rest.starts_with(['(', '<']))
                || (end.trim_start().is_empty() || end.ends_with("pub ")) && rest.starts_with(": ")
        })
    };
    each_line(tree.files.iter().filter(|file| PAGES.contains(&&*file.path)), |_, line| {
        let mut spans = line.split('`').skip(1).step_by(2);
        let missing = |span: &&str| {
            let Some((path, name)) = span.rsplit_once("::") else { return false };
            let owner = path.rsplit("::").next().unwrap_or_default();
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            let foreign = path.starts_with("std::") || !owner.starts_with(char::is_uppercase);
            if foreign || !name.chars().all(plain) {
                return false;
            }
            let homes = homes(owner);
            !homes.is_empty() && !homes.iter().any(|file| has(file, name))
        };
        spans.find(missing).map(|span| format!("`{span}` does not exist"))
    })
}

/// Finds public functions and types whose documentation has three words or fewer, or only the words of
/// their names. Fields and variants may be that short.
#[must_use]
pub fn short_docs(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    let api = |file: &&File| file.path.starts_with("crates/") && !is_test_code(&file.path);
    for file in tree.rust().filter(api) {
        let (mut doc, mut begin) = (String::new(), 0);
        for (number, line) in (1..).zip(file.text.lines()) {
            let line = line.trim_start();
            if let Some(text) = line.strip_prefix("///") {
                begin = if doc.is_empty() { number } else { begin };
                doc.push_str(text);
            } else if !line.starts_with("#[") {
                let doc = std::mem::take(&mut doc);
                if public_item(line).is_some_and(|name| !doc.is_empty() && says_nothing(&doc, name))
                {
                    found.push(format!("{}:{begin}: `{}` says nothing", file.path, doc.trim()));
                }
            }
        }
    }
    found
}

/// Returns the name of a public function or type that a line begins.
fn public_item(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("pub ")?.split([' ', '(', '<', ':', ';']);
    let kinds = ["fn", "struct", "enum", "trait", "type"];
    words
        .find(|word| !["async", "const", "unsafe"].contains(word))
        .filter(|it| kinds.contains(it))?;
    words.next()
}

fn says_nothing(doc: &str, name: &str) -> bool {
    const FILLERS: [&str; 7] = ["a", "an", "the", "of", "it", "that", "for"];
    // `s` at the end of a word makes no difference.
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
    };
    let spaced: String =
        name.chars().flat_map(|c| c.is_uppercase().then_some(' ').into_iter().chain([c])).collect();
    let (of_name, of_doc) = (words(&spaced), words(doc));
    let repeats = |word: &String| FILLERS.contains(&word.as_str()) || of_name.contains(word);
    of_doc.len() <= 3 || of_doc.iter().all(repeats)
}

/// Returns the names of all functions of the sources.
fn functions(tree: &Tree) -> BTreeSet<&str> {
    tree.rust().flat_map(|file| file.text.lines()).filter_map(function).collect()
}

/// Finds tests that the threat model names and that do not exist.
#[must_use]
pub fn threat_model(tree: &Tree) -> Vec<String> {
    let functions = functions(tree);
    let page = tree.files.iter().filter(|file| file.path == "docs/threat-model.md");
    each_line(page, |_, line| {
        // The last column of a table has the names.
        let column = line.strip_suffix('|').and_then(|row| row.rsplit('|').next());
        let mut names = column.unwrap_or_default().split('`').skip(1).step_by(2);
        let missing = names.find(|name| !functions.contains(name));
        missing.map(|name| format!("there is no test `{name}`"))
    })
}

/// Returns the targets of `[text](target "title")` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let definition = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    let target = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    inline.chain(definition).map(target).collect()
}

/// Returns whether a target is a file of the tree, or not a path of this repository at all.
fn leads_to_a_file(tree: &Tree, page: &str, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            part => parts.push(part),
        }
    }
    tree.has(&parts.join("/"))
}

/// Finds names of providers and models in the core, which must not branch on them.
#[must_use]
pub fn vendors(tree: &Tree) -> Vec<String> {
    const NAMES: &str = "anthropic claude openai gpt gemini mistral deepseek llama qwen grok";
    let core = tree.rust().filter(|file| {
        file.path.starts_with("crates/robota-core/src/") && !is_test_code(&file.path)
    });
    each_line(core, |_, line| {
        let code = if line.trim_start().starts_with("//") { "" } else { line };
        let code = code.split(" // ").next().unwrap_or_default().to_lowercase();
        let name = NAMES.split(' ').find(|name| code.contains(name))?;
        Some(format!("the core names `{name}`: move it to data or to an adapter"))
    })
}

#[cfg(test)]
mod tests;
