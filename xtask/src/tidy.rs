//! Conventions that no compiler and no lint checks. A check is a function from the tree to its
//! findings; to add one, write it here, register it in [`CHECKS`] and add a test that fails it.
//!
//! The sources are formatted by rustfmt, so the checks read them line by line: an item at the
//! first column is at the top level of its file, and four spaces are one level below.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use regex::Regex;

use crate::tree::{File, Tree, is_test_code, package};

/// The findings of a check, as `path:line: message`.
pub type Findings = Result<Vec<String>>;

/// A check and its name.
pub type Check = (&'static str, fn(&Tree) -> Findings);

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
        for finding in check(&tree)? {
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

/// Calls `check` with each line and returns its messages with their places.
fn each_line<'a>(
    files: impl IntoIterator<Item = &'a File>,
    mut check: impl FnMut(&'a File, &'a str) -> Option<String>,
) -> Findings {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            found.extend(check(file, line).map(|text| format!("{}:{number}: {text}", file.path)));
        }
    }
    Ok(found)
}

/// Returns the texts between backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Finds files with more than 800 lines.
pub fn length(tree: &Tree) -> Findings {
    let lines = |file: &File| file.text.lines().count();
    let long = tree.rust().filter(|file| lines(file) > 800);
    let long = long.map(|it| format!("{}: {} lines, at most 800: split it", it.path, lines(it)));
    Ok(long.collect())
}

/// Finds types with more than 30 public methods, in all files of their crate together.
pub fn methods(tree: &Tree) -> Findings {
    let (block, method) =
        (Regex::new(r"^impl(?:<.*?>)? (\w+)")?, Regex::new(r"^    pub (\w+ )*fn ")?);
    // Types with the same name in one crate are counted as one.
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for file in tree.rust().filter(|file| !is_test_code(&file.path)) {
        let mut owner = None;
        for line in file.text.lines() {
            if line.starts_with("impl") || line.starts_with('}') {
                let inherent = block.captures(line).filter(|_| !line.contains(" for "));
                owner = inherent.map(|found| found[1].to_owned());
            } else if let Some(owner) = &owner
                && method.is_match(line)
            {
                let package = package(&file.path).unwrap_or_default();
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

/// Finds sources that are neither the root of a target nor declared by a `mod` line: such a file is
/// never compiled, and its tests never run.
pub fn orphans(tree: &Tree) -> Findings {
    let root = Regex::new(
        r"^(crates/)?[^/]+/(build|src/(lib|main|bin/.+)|(tests|benches|examples)/[^/]+(/main)?)\.rs$",
    )?;
    let mut found = Vec::new();
    for File { path, .. } in tree.rust().filter(|file| !root.is_match(&file.path)) {
        let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let (folder, name) = module.rsplit_once('/').unwrap_or_default();
        let (private, public) = (format!("mod {name};"), format!(" mod {name};"));
        let declares = |line: &str| {
            line == private || line.starts_with("pub") && line.ends_with(public.as_str())
        };
        // The children of a root or a `mod.rs` are in its own folder, those of `a.rs` in `a/`.
        let is_parent = |other: &&File| {
            let (beside, file) = other.path.rsplit_once('/').unwrap_or_default();
            let of_folder = file == "mod.rs" || root.is_match(&other.path);
            beside == folder && of_folder || other.path == format!("{folder}.rs")
        };
        let end = path.rsplitn(3, '/').take(2).collect::<Vec<_>>();
        let attribute = format!("{}/{}\"]\n", end[1], end[0]);
        let mut parents = tree.rust().filter(is_parent);
        if !parents.any(|parent| parent.text.lines().any(|line| declares(line.trim_start())))
            && !tree.rust().any(|other| other.text.contains(&attribute))
        {
            found.push(format!("{path}: no `mod` line and no target compiles it"));
        }
    }
    Ok(found)
}

/// Finds absolute paths of one machine; `a/work/b` is relative. The pattern is written so that this
/// file does not match it.
pub fn machine_paths(tree: &Tree) -> Findings {
    let path = Regex::new(r"(^|[^\w\-.~/*}>)$])/(wo[r]k|ro[o]t)/")?;
    each_line(&tree.files, |_, line| {
        path.is_match(line).then(|| "an absolute path of one machine".to_owned())
    })
}

/// Finds links in Markdown to files that do not exist: `[text](target "title")` and `[name]: target`.
pub fn links(tree: &Tree) -> Findings {
    let link = Regex::new(r"(?:\]\(|^\[[^\]]*\]: )([^)\s]*)")?;
    let pages = tree.files.iter().filter(|file| {
        file.path.ends_with(".md") && !file.path.split('/').any(|part| part == "fixtures")
    });
    let mut fenced = false;
    each_line(pages, |page, line| {
        fenced ^= line.trim_start().starts_with("```");
        let text = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let mut dead = link.captures_iter(&text).map(|found| found[1].to_owned());
        let dead = dead.find(|target| !leads_to_a_file(tree, &page.path, target));
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

/// The pages that are about earlier versions, or have a check of their own.
const HISTORY: &str = r"^(docs/decisions/|fixtures/|CHANGELOG\.md|docs/checklist\.md)";

/// Finds sources (`a/b.rs`) and tests (`core_07_…`) that pages name in code and that do not exist.
pub fn named_sources(tree: &Tree) -> Findings {
    let source = Regex::new(r"^[a-z0-9_\-./]+/[a-z0-9_\-.]+\.rs$")?;
    let test = Regex::new(r"^[^_]*_\d\d(_|$)")?;
    let history = Regex::new(HISTORY)?;
    let functions = tree.functions();
    let exists = |span: &str| {
        if source.is_match(span) && !span.starts_with("foo/") {
            let end = format!("/{span}");
            tree.files.iter().any(|file| file.path == span || file.path.ends_with(&end))
        } else if test.is_match(span) {
            let prefix = span.trim_end_matches('…');
            functions.range(prefix..).next().is_some_and(|name| name.starts_with(prefix))
        } else {
            true
        }
    };
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    each_line(pages.filter(|file| !history.is_match(&file.path)), |_, line| {
        let missing = code_spans(line).find(|span| !exists(span))?;
        Some(format!("`{missing}` does not exist"))
    })
}

/// Finds methods and fields (`Type::name`) that pages name and that a type of this repository does not
/// have. Types of other crates and of `std::` are not checked.
pub fn named_methods(tree: &Tree) -> Findings {
    let member = Regex::new(r"^(\w+::)*(?<owner>[A-Z]\w*)::(?<name>[a-z_]+)$")?;
    let history = Regex::new(HISTORY)?;
    let macros = macros(tree)?;
    let exists = |span: &str| -> Result<bool> {
        let Some(found) = member.captures(span).filter(|_| !span.starts_with("std::")) else {
            return Ok(true);
        };
        let (owner, name) = (&found["owner"], &found["name"]);
        let item = Regex::new(&format!(r"^(\S.*)?\b(struct|enum|trait|impl|for) {owner}\b"))?;
        let implemented = Regex::new(&format!(r"^(unsafe )?impl\b.*\b{owner}\b"))?;
        let has = Regex::new(&format!(r"(?m)\bfn {name}[(<]|^\s*(pub(\(\w+\))? )?{name}: "))?;
        let is_head = |line: &str| item.is_match(line) || implemented.is_match(line);
        let files = tree.rust().filter(|file| file.text.contains(owner));
        let body: String = files.map(|file| bodies(&file.text, is_head)).collect();
        let used = macros.iter().filter(|(name, _)| body.contains(&format!("{name}!(")));
        let has = has.is_match(&body) || used.into_iter().any(|(_, text)| has.is_match(text));
        Ok(body.is_empty() || has)
    };
    let mut found = Vec::new();
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    for page in pages.filter(|file| !history.is_match(&file.path)) {
        for (number, line) in (1..).zip(page.text.lines()) {
            for span in code_spans(line) {
                if !exists(span)? {
                    found.push(format!("{}:{number}: `{span}` does not exist", page.path));
                }
            }
        }
    }
    Ok(found)
}

/// Returns the names of the macros and what they expand to: a macro may define the methods of a type.
fn macros(tree: &Tree) -> Result<Vec<(String, String)>> {
    let head = Regex::new(r"^macro_rules! (?<name>\w+)")?;
    let mut found = Vec::new();
    for file in tree.rust() {
        for name in file.text.lines().filter_map(|line| head.captures(line)) {
            let first = format!("macro_rules! {} ", &name["name"]);
            let body = bodies(&file.text, |line| line.starts_with(&first));
            found.push((name["name"].to_owned(), body));
        }
    }
    Ok(found)
}

/// Returns the items at the top level of a file whose first line is one of these: the definition and
/// the `impl` blocks of a type.
fn bodies(text: &str, is_head: impl Fn(&str) -> bool) -> String {
    let (mut body, mut inside) = (String::new(), false);
    for line in text.lines() {
        let begins = !inside && is_head(line);
        if begins || inside {
            body.push_str(line);
            body.push('\n');
        }
        inside = match inside {
            true => !line.starts_with(['}', ')']),
            false => begins && !line.ends_with([';', '}']),
        };
    }
    body
}

/// Finds tests that the threat model names and that do not exist.
pub fn threat_model(tree: &Tree) -> Findings {
    let functions = tree.functions();
    let page = tree.files.iter().filter(|file| file.path == "docs/threat-model.md");
    each_line(page, |_, line| {
        // The last column of a table has the names.
        let column = line.strip_suffix('|').and_then(|row| row.rsplit('|').next())?;
        let missing = code_spans(column).find(|name| !functions.contains(name))?;
        Some(format!("there is no test `{missing}`"))
    })
}

/// Finds public functions and types whose documentation has three words or fewer, and everything whose
/// documentation has only the words of its name.
pub fn short_docs(tree: &Tree) -> Findings {
    let item =
        Regex::new(r"^pub ((async|const|unsafe) )*(fn|struct|enum|trait|type) (?<name>\w+)")?;
    let field = Regex::new(r"^pub(\(\w+\))? (?<name>\w+): ")?;
    let variant = Regex::new(r"^(?<name>[A-Z]\w*)( \{|[,({])")?;
    let fewest_words = [(item, 4), (field, 0), (variant, 0)];
    let api = |file: &&File| file.path.starts_with("crates/") && !is_test_code(&file.path);
    let mut doc = String::new();
    each_line(tree.rust().filter(api), |_, line| {
        let line = line.trim_start();
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
        }
        if line.starts_with("///") || line.starts_with("#[") {
            return None;
        }
        let doc = std::mem::take(&mut doc);
        if doc.is_empty() {
            return None;
        }
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
    let core = tree.rust().filter(|file| {
        file.path.starts_with("crates/robota-core/src/") && !is_test_code(&file.path)
    });
    each_line(core, |_, line| {
        let code = if line.trim_start().starts_with("//") { "" } else { line };
        let name = vendor.find(code.split(" // ").next().unwrap_or_default())?.as_str();
        Some(format!("the core names `{name}`: move it to data or to an adapter"))
    })
}

#[cfg(test)]
mod tests;
