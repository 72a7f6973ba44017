//! Finds mentions of members in a message.

/// Who receives a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Receivers {
    /// The members that receive it.
    pub(super) to: Vec<String>,
    /// Names that it mentions and that are not in the room.
    pub(super) unknown: Vec<String>,
}

/// Returns the members that receive a message: those that it mentions, or all members but the sender if
/// it mentions no name. A message that mentions only names that are not in the room has no receivers.
pub(super) fn receivers<'a>(
    text: &str,
    from: &str,
    members: impl Iterator<Item = &'a String>,
) -> Receivers {
    let others: Vec<&String> = members.filter(|name| *name != from).collect();
    let mut mentioned = mentions(text);
    mentioned.retain(|name| *name != from);
    if mentioned.is_empty() {
        let to = others.into_iter().cloned().collect();
        return Receivers { to, unknown: Vec::new() };
    }
    let mut unknown: Vec<String> = Vec::new();
    for name in &mentioned {
        let known = others.iter().any(|other| other == name);
        if !known && !unknown.iter().any(|other| other == name) {
            unknown.push((*name).to_owned());
        }
    }
    let direct = others.into_iter().filter(|name| mentioned.contains(&name.as_str()));
    Receivers { to: direct.cloned().collect(), unknown }
}

/// Returns the names after an `@` at the start of a word: an address such as `bob@example.com`
/// mentions no member.
fn mentions(text: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut found = Vec::new();
    for (at, _) in text.match_indices('@') {
        let starts_word = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        // A full stop at the end belongs to the sentence.
        let name = rest[..end].trim_end_matches(['.', '-']);
        if starts_word && !name.is_empty() {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests;
