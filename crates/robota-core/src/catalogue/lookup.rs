//! Finding a model under the many spellings of its id.
//!
//! No vendor and no family is named here: what counts is where separators and digits are.

use std::sync::Arc;

use indexmap::IndexMap;

use super::ModelInfo;

/// How well a known id fits the one asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// It is the id or an alias.
    Exact,
    /// It is the id with a date, a version tag or the like behind it: the same model.
    Snapshot,
    /// It is the id with something else behind it: a relative. Its limits are a fair guess,
    /// its prices are not.
    Variant,
}

impl Precision {
    /// Whether it is the model that was asked for, and not a relative.
    #[must_use]
    pub fn same_model(self) -> bool {
        match self {
            Self::Exact | Self::Snapshot => true,
            Self::Variant => false,
        }
    }
}

/// Words behind an id that do not make it another model.
const NEUTRAL: &[&str] = &["latest", "preview", "exp", "instruct", "it"];

/// The form in which ids are compared: lower case, without a path in front, every run of
/// other characters one dash. So `Claude-X-4.5`, `claude-x-4-5` and `v/claude-x-4-5` agree.
pub(super) fn key(id: &str) -> String {
    dashed(last_part(id))
}

fn last_part(id: &str) -> &str {
    id.rsplit('/').find(|part| !part.trim().is_empty()).unwrap_or_default()
}

fn dashed(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_alphanumeric() {
            key.extend(letter.to_lowercase());
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    key.truncate(key.trim_end_matches('-').len());
    key
}

/// The entry for the longest known id that `id` is or continues.
pub(super) fn find<'a>(
    entries: &'a IndexMap<String, Arc<ModelInfo>>,
    id: &str,
) -> Option<(&'a ModelInfo, Precision)> {
    let id = last_part(id);
    longest_prefix(entries, &dashed(id)).or_else(|| {
        // Clouds put regions and vendors in front with a dot (`eu.vendor.model-1`). Letters
        // alone can be such a front, and what follows is tried by itself.
        id.match_indices('.')
            .take_while(|(at, _)| {
                id[..*at].chars().all(|letter| letter == '.' || letter.is_ascii_alphabetic())
            })
            .find_map(|(at, _)| longest_prefix(entries, &dashed(&id[at + 1..])))
    })
}

fn longest_prefix<'a>(
    entries: &'a IndexMap<String, Arc<ModelInfo>>,
    key: &str,
) -> Option<(&'a ModelInfo, Precision)> {
    if let Some(model) = entries.get(key) {
        return Some((model, Precision::Exact));
    }
    key.rmatch_indices('-').find_map(|(at, _)| {
        let model = entries.get(&key[..at])?;
        Some((model.as_ref(), precision(&key[at + 1..])?))
    })
}

/// What stands behind a known id. `None` when it makes it another generation: `x-4-9` is not
/// a kind of `x-4`, and nothing about the one can be said of the other.
fn precision(rest: &str) -> Option<Precision> {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let first = rest.split('-').next().unwrap_or_default();
    if is_number(first) && first.len() <= 2 {
        return None;
    }
    let neutral = rest.split('-').all(|part| {
        is_number(part) || NEUTRAL.contains(&part) || part.strip_prefix('v').is_some_and(is_number)
    });
    Some(if neutral { Precision::Snapshot } else { Precision::Variant })
}
