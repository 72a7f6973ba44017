//! No path of somebody's machine: it leaks where a file was written and works nowhere else.

use super::Finding;
use crate::tree::Tree;

/// Put together from halves, so that this file does not find itself.
const PREFIXES: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Errors for absolute paths into a work or root folder, in any tracked text.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        for (number, line) in file.text.lines().enumerate() {
            for prefix in PREFIXES {
                if starts_a_path(line, prefix) {
                    let message = format!("an absolute path of one machine: `{prefix}…`");
                    found.push(Finding::error(&file.path, number + 1, message));
                }
            }
        }
    }
    found
}

/// Whether the line has an absolute path with this prefix: `a/work/b` is relative.
fn starts_a_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~/*}>)$".contains(c))
    })
}

#[cfg(test)]
mod tests;
