//! Nothing lands half-made. Clippy says so too, but an `allow` silences clippy.

use super::Finding;
use crate::rust_scan::{line_of, tokens};
use crate::rust_text::{Keep, mask};
use crate::tree::Tree;

/// Errors for `todo!` and `unimplemented!`.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        let code = mask(&file.text, Keep::Code);
        let tokens = tokens(&code);
        for pair in tokens.windows(2) {
            let [name, bang] = pair else { continue };
            if matches!(name.text, "todo" | "unimplemented") && bang.text == "!" {
                let line = line_of(&file.text, name.start);
                let message = format!("`{}!` must not land", name.text);
                found.push(Finding::error(&file.path, line, message));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
