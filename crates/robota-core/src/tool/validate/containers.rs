//! The keywords about objects and arrays.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::mistakes::Mistakes;
use super::path::Path;
use super::scalars::{canonical, check_size, size};
use super::{Checker, STEP_BYTES};

impl<'a> Checker<'a> {
    pub(super) fn check_object(
        &mut self,
        schema: &'a Map<String, Value>,
        object: &Map<String, Value>,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        for key in texts(schema.get("required")) {
            if !object.contains_key(key) {
                mistakes.push(|| format!("{} is required", at.key(key)));
            }
        }
        let bounds = (size(schema, "minProperties"), size(schema, "maxProperties"));
        check_size(object.len(), bounds, "keys", at, mistakes);
        self.check_values(schema, object, at, mistakes);
        self.check_dependent(schema, object, at, mistakes);
    }

    /// Checks each key and its value.
    fn check_values(
        &mut self,
        schema: &'a Map<String, Value>,
        object: &Map<String, Value>,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (key, value) in object {
            let place = at.key(key);
            if let Some(names) = schema.get("propertyNames") {
                self.check(names, &Value::String(key.clone()), &place, mistakes);
            }
            let own = properties.and_then(|properties| properties.get(key));
            if let Some(own) = own {
                self.check(own, value, &place, mistakes);
            }
            let mut known = own.is_some();
            for (pattern, of) in patterns.into_iter().flatten() {
                if self.matches(pattern, key) {
                    known = true;
                    self.check(of, value, &place, mistakes);
                }
            }
            match others {
                // Without the keyword they are accepted: models add harmless arguments, and a
                // refusal costs a round.
                _ if known => {}
                None => {}
                Some(Value::Bool(false)) => mistakes.push(|| {
                    let known: Vec<_> =
                        properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    self.counted(format!("{place} is not known (known: {})", known.join(", ")))
                }),
                Some(others) => self.check(others, value, &place, mistakes),
            }
        }
    }

    /// Checks what the presence of a key demands.
    fn check_dependent(
        &mut self,
        schema: &'a Map<String, Value>,
        object: &Map<String, Value>,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        // `dependencies` is the older name of both.
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(rules) = schema.get(keyword).and_then(Value::as_object) else { continue };
            if !self.take_steps(rules.len() / STEP_BYTES) {
                return;
            }
            for (key, demanded) in rules.iter().filter(|(key, _)| object.contains_key(*key)) {
                // The object is copied for each of them.
                if !self.take_steps(1 + object.len()) {
                    return;
                }
                if demanded.is_array() {
                    for other in texts(Some(demanded)).filter(|other| !object.contains_key(*other))
                    {
                        let (other, key) = (at.key(other), at.key(key));
                        mistakes.push(|| format!("{other} is required next to {key}"));
                    }
                } else {
                    // The value is the object itself, which the caller has only as its fields.
                    self.check(demanded, &Value::Object(object.clone()), at, mistakes);
                }
            }
        }
    }

    pub(super) fn check_array(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[Value],
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        let bounds = (size(schema, "minItems"), size(schema, "maxItems"));
        check_size(items.len(), bounds, "items", at, mistakes);
        // Older drafts write the schemas of the first items as a list at `items`.
        let listed = schema.get("items").filter(|items| items.is_array());
        let first = schema.get("prefixItems").or(listed).and_then(Value::as_array);
        let rest = match listed {
            Some(_) => schema.get("additionalItems"),
            None => schema.get("items"),
        };
        let first = first.map(Vec::as_slice).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            if let Some(of) = first.get(index).or(rest) {
                self.check(of, item, &at.index(index), mistakes);
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                let item = canonical(item);
                if !self.take_steps(1 + item.len() / STEP_BYTES) {
                    break;
                }
                if !seen.insert(item) {
                    mistakes.push(|| format!("{} occurs twice", at.index(index)));
                }
            }
        }
        if let Some(of) = schema.get("contains") {
            let mut found = 0;
            for (index, item) in items.iter().enumerate() {
                found += usize::from(self.mistakes_of(of, item, &at.index(index)).is_empty());
            }
            let bounds = (size(schema, "minContains").or(Some(1)), size(schema, "maxContains"));
            check_size(found, bounds, "items that fit `contains`", at, mistakes);
        }
    }
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
