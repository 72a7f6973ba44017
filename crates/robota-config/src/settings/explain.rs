//! Explains where the value of a key comes from.

use serde::Serialize;
use serde_json::Value;

use super::Settings;
use crate::layer::Origin;
use crate::merge::Merged;
use crate::path::KeyPath;
use crate::report::{Dropped, Problem, redact};

/// The value of a key and where it comes from. Secrets are redacted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingExplanation {
    /// The key, with its full path.
    pub key: KeyPath,
    /// The value that applies, with secrets redacted.
    pub value: Value,
    /// The origins of the value: for a list, that of each item in order; for an object merged from
    /// several files, the highest layer first.
    pub set_by: Vec<Origin>,
    /// The values that it overrides, lowest layer first.
    pub overridden: Vec<(Value, Origin)>,
}

impl Settings {
    /// Explains a key, or each key below it.
    #[must_use]
    pub fn explain(&self, key: &KeyPath) -> Vec<SettingExplanation> {
        let matches = self.table.0.iter().filter(|(path, _)| {
            // The entry is below the key, or the key is inside the value of the entry.
            path.is_within(key) || key.is_within(path)
        });
        matches
            .map(|(path, (_, merged))| {
                // Redacted here: what explains a setting is often shown to others.
                let value = redact(path, &merged.to_value());
                let (set_by, overridden) = match merged {
                    Merged::Many(items) => {
                        (items.iter().map(|(_, origin)| origin.clone()).collect(), Vec::new())
                    }
                    Merged::One { by, overridden, .. } => {
                        let shown = |(value, origin): &(Value, Origin)| {
                            (redact(path, value), origin.clone())
                        };
                        (by.clone(), overridden.iter().map(shown).collect())
                    }
                };
                SettingExplanation { key: path.clone(), value, set_by, overridden }
            })
            .collect()
    }

    /// Returns the ignored values of a key and of the keys below it.
    pub fn dropped(&self, key: &KeyPath) -> impl Iterator<Item = &Dropped> {
        self.report
            .dropped
            .iter()
            .filter(move |dropped| dropped.key.is_within(key) || key.is_within(&dropped.key))
    }

    /// Returns the problems of a key and of the keys below it. A problem of a whole file concerns
    /// every key.
    pub fn problems(&self, key: &KeyPath) -> impl Iterator<Item = &Problem> {
        self.report.problems.iter().filter(move |problem| {
            problem.key.as_ref().is_none_or(|at| at.is_within(key) || key.is_within(at))
        })
    }
}
