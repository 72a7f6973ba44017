//! Lists of names that have a meaning in every command: variables, options and functions.
//! Descriptions of single programs are in `program/data`.

use std::collections::HashMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("words.txt");

static LISTS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut lists: HashMap<_, Vec<_>> = HashMap::new();
    let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
    for (name, words) in lines.filter_map(|line| line.split_once(": ")) {
        lists.entry(name).or_default().extend(words.split_whitespace());
    }
    lists
});

pub(crate) fn list(name: &str) -> &'static [&'static str] {
    debug_assert!(LISTS.contains_key(name), "there is no list `{name}`");
    LISTS.get(name).map_or(&[], Vec::as_slice)
}

/// Returns the words of the list of this kind about a name, if there is one.
pub(crate) fn list_of(kind: &str, name: &str) -> Option<&'static [&'static str]> {
    LISTS.get(format!("{kind}.{name}").as_str()).map(Vec::as_slice)
}

pub(crate) fn has(name: &str, word: &str) -> bool {
    list(name).contains(&word)
}

/// Returns whether a list has a pattern for this word: `A*` for its beginning, `*A` for its end.
pub(crate) fn covers(name: &str, word: &str) -> bool {
    list(name).iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => word.ends_with(end),
        (_, Some(start)) => word.starts_with(start),
        _ => *pattern == word,
    })
}

pub(crate) fn within(name: &str, text: &str) -> bool {
    list(name).iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests;
