//! The keywords about types, fixed values, numbers and text.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::mistakes::Mistakes;
use super::path::Path;
use super::{Checker, STEP_BYTES};

/// Checks `type`. Returns whether the value has a type that the schema allows.
pub(super) fn check_type(
    schema: &Map<String, Value>,
    value: &Value,
    at: &Path<'_>,
    mistakes: &mut Mistakes,
) -> bool {
    let Some(expected) = schema.get("type") else { return true };
    if type_matches(expected, value) {
        return true;
    }
    mistakes.mark_other_form(at.depth(), false);
    mistakes.push(|| format!("{at} must be {}, not {}", type_names(expected), type_name(value)));
    false
}

/// Checks the bounds of a number.
pub(super) fn check_number(
    schema: &Map<String, Value>,
    number: &Number,
    at: &Path<'_>,
    mistakes: &mut Mistakes,
) {
    let bound = |key: &str| schema.get(key).and_then(Value::as_number);
    // Draft 4 wrote `"minimum": 0, "exclusiveMinimum": true`.
    let strict = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let mut require = |text: &str, bound: Option<&Number>, ok: &[Ordering]| {
        if let Some(bound) = bound
            && !compare(number, bound).is_some_and(|order| ok.contains(&order))
        {
            mistakes.push(|| format!("{at} must be {text} {bound}, not {number}"));
        }
    };
    let (above, below) = ("greater than", "less than");
    if strict("exclusiveMinimum") {
        require(above, bound("minimum"), &[Ordering::Greater]);
    } else {
        require("at least", bound("minimum"), &[Ordering::Greater, Ordering::Equal]);
    }
    if strict("exclusiveMaximum") {
        require(below, bound("maximum"), &[Ordering::Less]);
    } else {
        require("at most", bound("maximum"), &[Ordering::Less, Ordering::Equal]);
    }
    require(above, bound("exclusiveMinimum"), &[Ordering::Greater]);
    require(below, bound("exclusiveMaximum"), &[Ordering::Less]);
    if let Some(step) = bound("multipleOf")
        && !is_multiple(number, step)
    {
        mistakes.push(|| format!("{at} must be a multiple of {step}, not {number}"));
    }
}

impl<'a> Checker<'a> {
    /// Checks `enum` and `const`.
    pub(super) fn check_choices(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &Value,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.iter().any(|one| self.same(one, value))
        {
            mistakes.mark_other_form(at.depth(), allowed.len() == 1);
            mistakes.push(|| {
                let allowed: Vec<_> = allowed.iter().map(ToString::to_string).collect();
                self.counted(format!("{at} must be one of {}", allowed.join(", ")))
            });
        }
        if let Some(expected) = schema.get("const")
            && !self.same(expected, value)
        {
            mistakes.mark_other_form(at.depth(), true);
            mistakes.push(|| self.counted(format!("{at} must be {expected}")));
        }
    }

    /// Returns true if two values are equal in JSON Schema, where 1 and 1.0 are the same number.
    fn same(&mut self, one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => match (whole(one), whole(other)) {
                (Some(one), Some(other)) => one == other,
                _ => one == other,
            },
            (Value::String(one), Value::String(other)) => {
                one.len() == other.len() && self.take_steps(one.len() / STEP_BYTES) && one == other
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && self.take_steps(1)
                    && one.iter().zip(other).all(|(one, other)| self.same(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && self.take_steps(1)
                    && one
                        .iter()
                        .all(|(key, one)| other.get(key).is_some_and(|other| self.same(one, other)))
            }
            _ => one == other,
        }
    }

    /// Takes the steps for a text of a mistake that quotes the schema.
    pub(super) fn counted(&mut self, text: String) -> String {
        self.take_steps(text.len() / STEP_BYTES);
        text
    }

    /// Checks the length and the pattern of a text.
    pub(super) fn check_text(
        &mut self,
        schema: &'a Map<String, Value>,
        text: &str,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        let (least, most) = (size(schema, "minLength"), size(schema, "maxLength"));
        if least.is_some() || most.is_some() {
            self.take_steps(text.len() / STEP_BYTES);
            check_size(text.chars().count(), (least, most), "characters", at, mistakes);
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            mistakes.push(|| format!("{at} must match the pattern {pattern}"));
        }
    }
}

/// Returns the value of a keyword that bounds a size.
pub(super) fn size(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    // A bound may be written as 2.0; one above the address space restricts nothing.
    let bound = schema.get(key)?;
    let bound = bound.as_u64().or_else(|| bound.as_f64().map(|bound| bound as u64))?;
    usize::try_from(bound).ok()
}

/// Checks a length or a number of entries against its bounds.
pub(super) fn check_size(
    size: usize,
    (least, most): (Option<usize>, Option<usize>),
    unit: &str,
    at: &Path<'_>,
    mistakes: &mut Mistakes,
) {
    if let Some(least) = least.filter(|least| size < *least) {
        mistakes.push(|| format!("{at} must have at least {least} {unit}, not {size}"));
    }
    if let Some(most) = most.filter(|most| size > *most) {
        mistakes.push(|| format!("{at} must have at most {most} {unit}, not {size}"));
    }
}

/// Returns a text that is the same for values that are equal in JSON Schema.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match whole(number) {
            Some(whole) => whole.to_string(),
            None => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", canonical(value))).collect();
            // The order of keys does not count.
            fields.sort_unstable();
            format!("{{{}}}", fields.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

fn whole(number: &Number) -> Option<i128> {
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    // Above 2^53 not every integer is a float, so two of them could look equal.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    integer.or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i128)
    })
}

fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (whole(one), whole(other)) {
        // Integers of 64 bits do not fit into a float.
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return step == 0 || number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
    let times = number / step;
    // 0.3 / 0.1 is 2.9999999999999996; and a quotient beyond the floats says nothing.
    !times.is_finite() || (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn type_names(expected: &Value) -> String {
    match expected {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        other => other.as_str().unwrap_or("something else").to_owned(),
    }
}

fn type_matches(expected: &Value, value: &Value) -> bool {
    let one = |expected: &str| match expected {
        "number" => value.is_number(),
        "integer" => {
            // Models write 2.0 for 2.
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        other => other == type_name(value),
    };
    match expected {
        Value::String(expected) => one(expected),
        Value::Array(types) => types.iter().filter_map(Value::as_str).any(one),
        _ => true,
    }
}
