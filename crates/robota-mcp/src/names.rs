//! The names under which models call tools: `mcp__<server>__<tool>`.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

/// The longest name that every model service accepts.
const MAX_NAME: usize = 64;
/// The maximum length of the server's part of a name, so that the names of its tools stay distinct.
const MAX_SERVER: usize = 32;

/// Returns the part of a server in the names of its tools. Neither end has an underscore and no two
/// are adjacent, so that `__` always ends the name of the server and a rule for one server never
/// covers another.
#[must_use]
pub fn server_part(server: &str) -> String {
    let mut part = String::new();
    for character in server.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => part.push(character),
            _ if part.ends_with('_') || part.is_empty() => {}
            _ => part.push('_'),
        }
    }
    let part = part.trim_end_matches('_');
    if part.is_empty() || part.len() > MAX_SERVER {
        shorten(server, part, MAX_SERVER)
    } else {
        part.to_owned()
    }
}

/// Returns the name of a tool that a model calls.
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    let prefix = format!("mcp__{}__", server_part(server));
    let part: String = tool
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || matches!(it, '_' | '-') { it } else { '_' })
        .collect();
    let room = MAX_NAME - prefix.len();
    let part = if part.is_empty() || part.len() > room { shorten(tool, &part, room) } else { part };
    prefix + &part
}

/// Returns the names of the tools of a server, in the same order. A tool whose name another one has
/// taken gets a suffix that depends on its own name only.
#[must_use]
pub fn tool_names(server: &str, tools: &[&str]) -> Vec<String> {
    let mut order: Vec<_> = tools.iter().enumerate().collect();
    // Sorted, so that the names do not depend on the order in which the server lists its tools.
    order.sort_by_key(|(_, tool)| **tool);
    let mut names = vec![String::new(); tools.len()];
    let mut taken = BTreeSet::new();
    for (at, tool) in order {
        let mut name = tool_name(server, tool);
        if !taken.insert(name.clone()) {
            name = shorten(tool, &name, MAX_NAME);
            taken.insert(name.clone());
        }
        if let Some(slot) = names.get_mut(at) {
            *slot = name;
        }
    }
    names
}

/// Returns a name that a server chose for people: on one line, without control characters.
#[must_use]
pub fn shown(name: &str) -> String {
    crate::text::clean_line(name, 128)
}

/// Cuts a text and adds a hash of the original, so that two long names stay different.
fn shorten(original: &str, text: &str, limit: usize) -> String {
    let hash = robota_core::hash::hex(&Sha256::digest(original.as_bytes()));
    let hash = hash.get(..8).unwrap_or_default();
    let kept: String = text.chars().take(limit.saturating_sub(hash.len() + 1)).collect();
    let kept = kept.trim_end_matches('_');
    if kept.is_empty() { hash.to_owned() } else { format!("{kept}_{hash}") }
}

#[cfg(test)]
mod tests;
