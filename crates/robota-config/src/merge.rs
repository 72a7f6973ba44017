//! Merges layers. Each rule merges a lower and a higher value. All rules except that of the mode are
//! associative. (`Deep` is associative if no layer has a plain value where another has an
//! object.)

use indexmap::IndexMap;
use serde_json::Value;

use crate::keys::Merge;
use crate::layer::Origin;
use crate::path::KeyPath;
use crate::validate::{Content, Entry};

/// The merged value of a key, with its origins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Merged {
    /// One value, which a higher layer replaces or restricts.
    One {
        value: Value,
        /// The origins of the value, highest layer first.
        by: Vec<Origin>,
        /// The values that it overrides.
        overridden: Vec<(Value, Origin)>,
    },
    /// A list whose items have different origins.
    Many(Vec<(Value, Origin)>),
}

/// The merged values of all keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table(pub(crate) IndexMap<KeyPath, (Merge, Merged)>);

impl Table {
    /// Merges an entry of a higher layer into the table.
    pub(crate) fn add(&mut self, entry: Entry) {
        // An unknown key has no rule: the highest layer wins.
        let rule = entry.rule.map_or(Merge::Highest, |rule| rule.merge);
        let high = match (entry.content, rule) {
            (Content::Items(items), Merge::Union) => Merged::Many(unique(items)),
            (Content::Items(items), _) => Merged::Many(items),
            (Content::Whole(value), _) => {
                Merged::One { value, by: vec![entry.origin], overridden: Vec::new() }
            }
        };
        self.put(entry.path, rule, high);
    }

    /// Merges a table of higher layers into this one.
    #[cfg(test)]
    pub(crate) fn then(mut self, high: Self) -> Self {
        for (path, (rule, merged)) in high.0 {
            self.put(path, rule, merged);
        }
        self
    }

    fn put(&mut self, path: KeyPath, rule: Merge, high: Merged) {
        match self.0.get_mut(&path) {
            Some((_, low)) => {
                // An empty list stands in for the value while it is merged, because it is moved.
                let below = std::mem::replace(low, Merged::Many(Vec::new()));
                *low = merge(rule, below, high);
            }
            None => {
                self.0.insert(path, (rule, high));
            }
        }
    }

    /// Returns all values as one object.
    pub(crate) fn to_value(&self) -> Value {
        let mut root = serde_json::Map::new();
        for (path, (_, merged)) in &self.0 {
            insert(&mut root, path.names(), merged.to_value());
        }
        Value::Object(root)
    }
}

impl Merged {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::One { value, .. } => value.clone(),
            Self::Many(items) => items.iter().map(|(value, _)| value.clone()).collect(),
        }
    }
}

fn merge(rule: Merge, low: Merged, high: Merged) -> Merged {
    match (low, high) {
        (Merged::Many(mut low), Merged::Many(high)) => {
            low.extend(high);
            Merged::Many(if rule == Merge::Union { unique(low) } else { low })
        }
        (
            Merged::One { value: low, by: low_by, overridden: mut under },
            Merged::One { value: high, by: high_by, overridden: over },
        ) => match rule {
            Merge::Deep => {
                under.extend(over);
                let by = high_by.into_iter().chain(low_by).collect();
                Merged::One { value: deep(low, high), by, overridden: under }
            }
            // A higher layer cannot override the strict value.
            Merge::Sticky(strict) if strict.is(&low) => {
                under.extend(over);
                under.extend(high_by.into_iter().map(|by| (high.clone(), by)));
                // Both lists are sorted by layer; together they need not be.
                under.sort_by_key(|(_, by)| by.layer);
                Merged::One { value: low, by: low_by, overridden: under }
            }
            Merge::Highest | Merge::Sticky(_) | Merge::Mode | Merge::Union | Merge::Concat => {
                under.extend(low_by.into_iter().map(|by| (low.clone(), by)));
                under.extend(over);
                Merged::One { value: high, by: high_by, overridden: under }
            }
        },
        // A key is always a list or always a value, so these cases do not occur.
        (_, high) => high,
    }
}

/// Merges objects field by field; the higher of other values wins.
fn deep(low: Value, high: Value) -> Value {
    match (low, high) {
        (Value::Object(mut low), Value::Object(high)) => {
            for (name, value) in high {
                let below = low.get_mut(&name).map(Value::take);
                let merged = below.map_or(value.clone(), |below| deep(below, value));
                low.insert(name, merged);
            }
            Value::Object(low)
        }
        (_, high) => high,
    }
}

/// Removes repeated items of a layer. The same rule in two layers is two rules, because a path in it
/// is relative to the layer.
fn unique(items: Vec<(Value, Origin)>) -> Vec<(Value, Origin)> {
    let mut seen = std::collections::HashSet::new();
    // Equal rules of two layers are both kept: the trust in one of them may end.
    items.into_iter().filter(|(value, by)| seen.insert((by.layer, value.to_string()))).collect()
}

fn insert(object: &mut serde_json::Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => {
            object.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let inner =
                object.entry(name.clone()).or_insert_with(|| Value::Object(Default::default()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
