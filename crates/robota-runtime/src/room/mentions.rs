//! Finds mentions of members in a message.

/// Returns the members that receive a message: those that it mentions, or all but the sender if it
/// mentions none of them.
pub(super) fn receivers<'a>(
    text: &str,
    from: &str,
    members: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let others: Vec<&String> = members.filter(|name| *name != from).collect();
    let mentioned = mentions(text);
    let direct: Vec<String> = others
        .iter()
        .filter(|name| mentioned.contains(&name.as_str()))
        .map(|name| (*name).clone())
        .collect();
    match direct.is_empty() {
        false => direct,
        true => others.into_iter().cloned().collect(),
    }
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
