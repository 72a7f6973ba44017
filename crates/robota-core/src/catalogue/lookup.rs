//! Finds a model under the many spellings of its id.
//!
//! The rules name no vendor and no model family: they depend on separators and digits only.

use std::sync::Arc;

use indexmap::IndexMap;

use super::ModelInfo;

/// How well a known id matches the requested one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// The requested id is the known id or an alias.
    Exact,
    /// The known id followed by a date, a version tag or the like: the same model.
    Snapshot,
    /// The known id followed by something else: a variant. Its limits are a reasonable guess, its
    /// prices are not.
    Variant,
}

impl Precision {
    /// Returns true if it is the requested model and not a variant.
    #[must_use]
    pub fn same_model(self) -> bool {
        match self {
            Self::Exact | Self::Snapshot => true,
            Self::Variant => false,
        }
    }
}

/// Suffixes that do not make an id another model.
const NEUTRAL: &[&str] = &["latest", "preview", "exp", "instruct", "it"];

/// Returns the form in which ids are compared: lower case, without a path before it, with every run
/// of other characters replaced by one dash. So `Claude-X-4.5`, `claude-x-4-5` and `v/claude-x-4-5`
/// are equal.
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

/// Finds the entry for the longest known id that `id` equals or continues.
pub(super) fn find<'a>(
    entries: &'a IndexMap<String, Arc<ModelInfo>>,
    id: &str,
) -> Option<(&'a ModelInfo, Precision)> {
    let id = last_part(id);
    longest_prefix(entries, &dashed(id)).or_else(|| {
        // Cloud providers add regions and vendors before the id, separated by dots
        // (`eu.vendor.model-1`). A prefix of letters only is dropped and the rest is looked up.
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
    // From the last dash on: the longest known id has the facts that fit best.
    key.rmatch_indices('-').find_map(|(at, _)| {
        let model = entries.get(&key[..at])?;
        Some((model.as_ref(), precision(&key[at + 1..])?))
    })
}

/// Classifies what follows a known id. Returns `None` if it makes the id another generation:
/// `x-4-9` is not a variant of `x-4`, and the facts of one do not apply to the other.
fn precision(rest: &str) -> Option<Precision> {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let first = rest.split('-').next().unwrap_or_default();
    // A date has at least four digits; one or two are the number of a version.
    if is_number(first) && first.len() <= 2 {
        return None;
    }
    let neutral = rest.split('-').all(|part| {
        is_number(part) || NEUTRAL.contains(&part) || part.strip_prefix('v').is_some_and(is_number)
    });
    Some(if neutral { Precision::Snapshot } else { Precision::Variant })
}
