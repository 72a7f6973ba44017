//! A test that does not run says why: `#[ignore = "needs a GPU"]`.

use super::Finding;
use crate::rust_scan::{scan, tokens};
use crate::rust_text::{Keep, mask};
use crate::tree::Tree;

/// Errors for `#[ignore]` without a reason.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for func in scan(&file.text).funcs {
            if func.attrs.iter().any(|attr| ignores_silently(attr)) {
                let message =
                    format!("`{}` is ignored without a reason: #[ignore = \"…\"]", func.name);
                found.push(Finding::error(&file.path, func.line, message));
            }
        }
    }
    found
}

/// Whether an attribute is `ignore`, or has it inside (`cfg_attr(windows, ignore)`), and no
/// reason follows.
fn ignores_silently(attr: &str) -> bool {
    let code = mask(attr, Keep::Code);
    let tokens = tokens(&code);
    let Some(at) = tokens.iter().position(|token| token.text == "ignore") else { return false };
    let reason = match tokens.get(at + 1..at + 3) {
        Some([equals, reason]) if equals.text == "=" => reason,
        _ => return true,
    };
    let written = &attr[reason.start..reason.start + reason.text.len()];
    written.trim_matches(['"', ' ']).is_empty()
}

#[cfg(test)]
mod tests;
