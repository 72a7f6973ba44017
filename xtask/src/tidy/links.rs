//! Links in our pages lead somewhere.

use super::Finding;
use crate::tree::{Tree, is_fixture};

/// Errors for links in Markdown to files that do not exist.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    for page in pages.filter(|file| !is_fixture(&file.path)) {
        let mut fenced = false;
        for (number, line) in page.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in targets(&without_code(line)) {
                if !resolve(&page.path, &target).is_none_or(|path| tree.has(&path)) {
                    let message = format!("a link to `{target}`, which does not exist");
                    found.push(Finding::error(&page.path, number + 1, message));
                }
            }
        }
    }
    found
}

/// A line without its `code`.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Where the links of a line lead: `[text](target "title")` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let definition = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    let target = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.trim_matches(['<', '>']).to_owned()
    };
    inline.chain(definition).map(target).collect()
}

/// The path from the root that a target means; `None` when it is none of our files.
fn resolve(page: &str, target: &str) -> Option<String> {
    let (path, _anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        parts.clear();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Above the root is no file of ours: keep the dots, so that it is not found.
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(".."),
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests;
