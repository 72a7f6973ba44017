//! The core never branches on a provider or a model: it does not even know a name. What differs
//! between vendors is capabilities, profiles and the model catalogue, which are data.

use super::Finding;
use crate::rust_text::{Keep, mask};
use crate::tree::{Tree, is_test_code};

const NAMES: [&str; 10] = [
    "anthropic",
    "claude",
    "openai",
    "gpt",
    "gemini",
    "mistral",
    "deepseek",
    "llama",
    "qwen",
    "grok",
];

/// Errors for names of vendors and models in the code and strings of the core; comments may
/// name whom they like.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let core = tree.rust().filter(|file| file.path.starts_with("crates/robota-core/src/"));
    for file in core.filter(|file| !is_test_code(&file.path)) {
        for (number, line) in mask(&file.text, Keep::Strings).lines().enumerate() {
            let line = line.to_lowercase();
            for name in NAMES.iter().filter(|name| line.contains(**name)) {
                let message = format!("the core names `{name}`: move it to data or an adapter");
                found.push(Finding::error(&file.path, number + 1, message));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
