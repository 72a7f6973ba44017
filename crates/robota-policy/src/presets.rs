//! Rule sets that are shipped and that users may add to their settings. A set is data: what it
//! allows is decided by the same rules and the same checks as everything else, so options that
//! write or run something are still asked about.

use std::sync::LazyLock;

/// Names a set of allow rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name it is added by.
    pub name: &'static str,
    /// What it allows, in one sentence.
    pub description: &'static str,
    /// The rules that it adds to the allow list.
    pub rules: &'static [&'static str],
}

fn rules(text: &'static str) -> &'static [&'static str] {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    // Leaked once: the rules are part of a static.
    Box::leak(lines.collect())
}

/// Every session starts with these rules: what an agent may always read are the instructions that
/// were written for it. Settings and credentials in the same folders are not among them.
pub static DEFAULT_ALLOW: LazyLock<&[&str]> =
    LazyLock::new(|| rules(include_str!("presets/defaults.rules")));

/// Returns every shipped rule set.
#[must_use]
pub fn presets() -> &'static [Preset] {
    static ALL: LazyLock<[Preset; 1]> = LazyLock::new(|| {
        [Preset {
            name: "queries",
            description: "Queries of development tools that show state and change nothing: \
                          containers, clusters, forges, package managers, services, networks.",
            rules: rules(include_str!("presets/queries.rules")),
        }]
    });
    &*ALL
}

#[cfg(test)]
mod tests;
