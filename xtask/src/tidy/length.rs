//! Files stay readable in one sitting.

use super::Finding;
use crate::tree::Tree;

const AT_MOST: usize = 800;
const LONG: usize = 500;

/// Errors over 800 lines, notes over 500.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let finding = |path: &str, lines: usize| {
        if lines > AT_MOST {
            let message =
                format!("{lines} lines, at most {AT_MOST}: one concept per file, split it");
            Some(Finding::error(path, None, message))
        } else if lines > LONG {
            Some(Finding::note(path, format!("{lines} lines; about 200 is usual")))
        } else {
            None
        }
    };
    tree.rust().filter_map(|file| finding(&file.path, file.text.lines().count())).collect()
}

#[cfg(test)]
mod tests;
