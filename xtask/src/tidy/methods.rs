//! No god objects: a type has few public methods, however many files its `impl`s are spread
//! over.

use std::collections::BTreeMap;

use super::Finding;
use crate::rust_scan::scan;
use crate::tree::{Tree, is_test_code, package};

const AT_MOST: usize = 25;

/// Errors for types with more than 25 public methods in one crate.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    // Types of one name in one crate are counted as one: two of them are confusing anyway.
    let mut types: BTreeMap<(String, String), Vec<(&str, usize)>> = BTreeMap::new();
    for file in tree.rust().filter(|file| !is_test_code(&file.path)) {
        let package = package(&file.path).unwrap_or_default();
        for func in scan(&file.text).funcs.into_iter().filter(|func| func.public) {
            if let Some(owner) = func.owner {
                let key = (package.to_owned(), owner);
                types.entry(key).or_default().push((&file.path, func.line));
            }
        }
    }
    let finding = |((package, name), methods): (&(String, String), &Vec<(&str, usize)>)| {
        let (path, line) = methods.get(AT_MOST)?;
        let count = methods.len();
        let message = format!(
            "`{name}` of {package} has {count} public methods, at most {AT_MOST}: make free \
             functions of some, or two types of one"
        );
        Some(Finding::error(path, *line, message))
    };
    types.iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests;
