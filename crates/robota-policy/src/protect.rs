//! Lists files that decide what other programs run. A write to them asks even if an allow rule
//! matches.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The names, by the program that reads them. A name that ends with `/` is a folder with all that is in it;
/// `a/b` is `b` in a folder `a`.
const NAMES: &str = include_str!("protect/names.txt");

/// Folders below protected ones where agents do their work.
const WORKTREES: &[(&str, &str)] = &[(".claude", "worktrees"), (".robota", "worktrees")];

static INDEX: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut index: HashMap<String, Vec<&'static str>> = HashMap::new();
    let lines = NAMES.lines().filter(|line| !line.starts_with('#'));
    for entry in lines.flat_map(str::split_whitespace) {
        let first = entry.split('/').next().unwrap_or(entry).to_ascii_lowercase();
        index.entry(first).or_default().push(entry);
    }
    index
});

/// Returns the protected name in this path, if there is one: a write to it is never pre-approved.
#[must_use]
pub fn protected(path: &str) -> Option<&'static str> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    // Compared without case, because some disks and some programs ignore it.
    let is = |at: usize, want: &str| {
        names.get(at).is_some_and(|name: &&str| name.eq_ignore_ascii_case(want))
    };
    for at in 0..names.len() {
        if WORKTREES.iter().any(|(a, b)| is(at, a) && is(at + 1, b) && names.len() > at + 2) {
            continue;
        }
        let Some(entries) = INDEX.get(&names[at].to_ascii_lowercase()) else { continue };
        let hit = |entry: &&&'static str| {
            let parts: Vec<&str> = entry.trim_end_matches('/').split('/').collect();
            parts.iter().enumerate().all(|(i, part)| is(at + i, part))
                && (entry.ends_with('/') || at + parts.len() == names.len())
        };
        if let Some(entry) = entries.iter().find(hit) {
            return Some(entry.trim_end_matches('/'));
        }
    }
    None
}
