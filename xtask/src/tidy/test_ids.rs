//! A test that claims a line of the checklist claims one that exists.

use super::Finding;
use crate::generate::checklist;
use crate::rust_scan::scan;
use crate::tree::Tree;

/// Errors for tests named after an id that is not in the checklist, and for a list of ids that
/// cannot be read.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let ids = match checklist::ids(tree) {
        Ok(ids) => ids,
        Err(error) => return vec![Finding::error(checklist::IDS, None, error.to_string())],
    };
    let areas: Vec<&str> = ids.iter().map(|id| id.area.as_str()).collect();
    let mut found = Vec::new();
    for file in tree.rust() {
        for func in scan(&file.text).funcs.into_iter().filter(crate::rust_scan::Func::is_test) {
            for claim in checklist::claims(&func.name, &areas) {
                if !ids.iter().any(|id| id.name() == claim) {
                    let message = format!(
                        "`{}` claims {claim}, which {} does not have: rename the test",
                        func.name,
                        checklist::IDS
                    );
                    found.push(Finding::error(&file.path, func.line, message));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
