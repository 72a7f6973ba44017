//! Every crate opens with a page that says what it is for.

use super::Finding;
use crate::tree::Tree;

const AT_LEAST: usize = 5;

/// Errors for crate roots with less than five lines of documentation.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let roots = tree
        .rust()
        .filter(|file| file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs"));
    roots
        .filter_map(|file| {
            let lines = file.text.lines().filter(|line| line.starts_with("//!")).count();
            (lines < AT_LEAST).then(|| {
                let message = format!(
                    "{lines} lines of `//!`, at least {AT_LEAST}: what it is for, what it never \
                     does, an example"
                );
                Finding::error(&file.path, None, message)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
