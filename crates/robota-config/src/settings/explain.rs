//! Why a setting is what it is.

use serde::Serialize;
use serde_json::Value;

use super::Settings;
use crate::layer::Origin;
use crate::merge::Merged;
use crate::path::KeyPath;
use crate::report::{Dropped, Problem, redact};

/// Why a key has its value. Secrets are not shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The key.
    pub key: KeyPath,
    /// Its value.
    pub value: Value,
    /// Who set it: for a list, the origin of each item in turn; for a value that several
    /// files make up, the highest first.
    pub set_by: Vec<Origin>,
    /// What it would be without them, lowest first.
    pub overridden: Vec<(Value, Origin)>,
}

impl Settings {
    /// Why a key, or each key below it, has its value.
    #[must_use]
    pub fn explain(&self, key: &KeyPath) -> Vec<Explanation> {
        let asked = self.table.0.iter().filter(|(path, _)| {
            // Below the key, or the key lies in what is one value to us.
            path.is_within(key) || key.is_within(path)
        });
        asked
            .map(|(path, (_, merged))| {
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
                Explanation { key: path.clone(), value, set_by, overridden }
            })
            .collect()
    }

    /// What was written for a key, or below it, and does not count.
    pub fn dropped(&self, key: &KeyPath) -> impl Iterator<Item = &Dropped> {
        self.report
            .dropped
            .iter()
            .filter(move |dropped| dropped.key.is_within(key) || key.is_within(&dropped.key))
    }

    /// What is wrong with a key, or below it; what is wrong with a whole file is wrong with
    /// every key.
    pub fn problems(&self, key: &KeyPath) -> impl Iterator<Item = &Problem> {
        self.report.problems.iter().filter(move |problem| {
            problem.key.as_ref().is_none_or(|at| at.is_within(key) || key.is_within(at))
        })
    }
}
