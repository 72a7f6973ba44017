//! The names under which models call tools, and users prompts: `mcp__<server>__<tool>`.

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
    name_of(server, tool, in_tool)
}

/// Returns the names of the tools of a server, in the same order. A tool whose name another one has
/// taken gets a suffix that depends on its own name only.
#[must_use]
pub fn tool_names(server: &str, tools: &[&str]) -> Vec<String> {
    distinct(server, tools, in_tool)
}

/// Returns the names of the prompts of a server as commands of the user, in the same order. They are made
/// distinct like those of tools.
#[must_use]
pub fn prompt_names(server: &str, prompts: &[&str]) -> Vec<String> {
    distinct(server, prompts, in_command)
}

/// Returns whether a character can be in the name of a command of the user. Other characters end the
/// name or make the line a prompt, such as the `/` of a path.
#[must_use]
pub fn in_command(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_' | ':' | '.')
}

fn in_tool(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// Returns the name of one thing of a server; characters that are not valid become `_`.
fn name_of(server: &str, own: &str, valid: fn(char) -> bool) -> String {
    let prefix = format!("mcp__{}__", server_part(server));
    let part: String = own.chars().map(|it| if valid(it) { it } else { '_' }).collect();
    let room = MAX_NAME - prefix.len();
    let part = if part.is_empty() || part.len() > room { shorten(own, &part, room) } else { part };
    prefix + &part
}

fn distinct(server: &str, all: &[&str], valid: fn(char) -> bool) -> Vec<String> {
    let mut order: Vec<_> = all.iter().enumerate().collect();
    // Sorted, so that the names do not depend on the order in which the server lists them.
    order.sort_by_key(|(_, own)| **own);
    let mut names = vec![String::new(); all.len()];
    let mut taken = BTreeSet::new();
    for (at, own) in order {
        let mut name = name_of(server, own, valid);
        if !taken.insert(name.clone()) {
            name = shorten(own, &name, MAX_NAME);
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

/// Cuts a text to a number of characters and adds a hash of the original, so that two long names stay
/// different.
fn shorten(original: &str, text: &str, limit: usize) -> String {
    let hash = robota_core::hash::hex(&Sha256::digest(original.as_bytes()));
    let hash = hash.get(..8).unwrap_or_default();
    let kept: String = text.chars().take(limit.saturating_sub(hash.len() + 1)).collect();
    let kept = kept.trim_end_matches('_');
    if kept.is_empty() { hash.to_owned() } else { format!("{kept}_{hash}") }
}

#[cfg(test)]
mod tests;
