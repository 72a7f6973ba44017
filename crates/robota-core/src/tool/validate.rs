//! Checks a JSON value against a JSON Schema (draft 2020-12, and what older drafts write differently).
//!
//! Every keyword that restricts a value is checked, except `format` (an annotation in that draft),
//! `unevaluatedProperties`, `unevaluatedItems`, `$anchor` and `$dynamicRef`. References are resolved
//! inside the schema; nothing is fetched.

mod combined;
mod containers;
mod mistakes;
mod path;
mod reference;
mod scalars;
mod schema_check;

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use mistakes::Mistakes;
use path::Path;
pub use schema_check::{InvalidSchema, check_schema};

/// Arguments that a tool cannot use. The text says what the model must correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid arguments: {0}")]
pub struct InvalidInput(pub String);

/// Checks arguments against the schema of a tool. Unknown keys are ignored unless the schema sets
/// `additionalProperties`; `format` and patterns that Rust's regular expressions do not have (such
/// as look-ahead) are not checked.
///
/// # Errors
/// When the arguments do not match the schema. The error lists the first few mistakes.
pub fn validate(schema: &Value, input: &Value) -> Result<(), InvalidInput> {
    validate_as("the arguments", schema, input).map_err(InvalidInput)
}

/// Checks a value against a schema, like [`validate`]. `what` names the whole value in the text of the
/// error.
pub(crate) fn validate_as(what: &str, schema: &Value, value: &Value) -> Result<(), String> {
    let mut checker = Checker {
        root: schema,
        steps: MAX_STEPS,
        depth: 0,
        exhausted: false,
        patterns: HashMap::new(),
    };
    let (at, mut mistakes) = (Path::root(what), Mistakes::default());
    checker.check(schema, value, &at, &mut mistakes);
    if checker.exhausted {
        // Refused, not accepted: a caller relies on what was checked.
        mistakes.push(|| format!("{at} cannot be checked: it is nested too deeply or too long"));
    }
    mistakes.into_result()
}

/// A value for which schemas are nested deeper than this is refused: a recursive schema must not
/// overflow the stack. JSON that is parsed has at most 128 levels, each with an alternative or two.
const MAX_DEPTH: usize = 300;

/// After this many schemas were applied the value is refused. Alternatives of alternatives would
/// otherwise take exponential time, and a schema can come from another program.
const MAX_STEPS: usize = 200_000;

/// So many references are followed for one value. A schema that refers to itself restricts nothing.
const MAX_REFERENCES: usize = 32;

/// A pattern that needs more memory than this is not checked.
const PATTERN_LIMIT: usize = 1 << 20;

/// At most this many patterns are compiled for one value.
const MAX_PATTERNS: usize = 64;

/// Compiling a pattern counts like so many schemas.
const PATTERN_STEPS: usize = 500;

/// Looking at so many bytes of text, or entries of a list, counts like one schema.
const STEP_BYTES: usize = 64;

/// The check of one value.
struct Checker<'a> {
    /// The whole schema, in which references are resolved.
    root: &'a Value,
    /// How many more schemas may be applied.
    steps: usize,
    /// How deep the current schema is nested.
    depth: usize,
    /// Whether a schema was not applied because of these limits.
    exhausted: bool,
    /// The patterns that were compiled so far: a list applies the same one to each item. `None` is
    /// a pattern that cannot be compiled.
    patterns: HashMap<&'a str, Option<Regex>>,
}

impl<'a> Checker<'a> {
    /// Adds to `mistakes` what is wrong with a value.
    fn check(&mut self, schema: &'a Value, value: &Value, at: &Path<'_>, mistakes: &mut Mistakes) {
        if self.steps == 0 || self.depth > MAX_DEPTH {
            self.exhausted = true;
            return;
        }
        self.depth += 1;
        let mut schema = schema;
        for _ in 0..MAX_REFERENCES {
            self.steps = self.steps.saturating_sub(1);
            match schema {
                Value::Object(fields) => {
                    self.check_fields(fields, value, at, mistakes);
                    // The keywords next to a reference apply too, so both are checked.
                    match reference::target(self.root, fields) {
                        Some(next) => schema = next,
                        None => break,
                    }
                }
                Value::Bool(false) => {
                    mistakes.push(|| format!("{at} is not allowed"));
                    break;
                }
                _ => break,
            }
        }
        self.depth -= 1;
    }

    /// Takes the steps for work that grows with the value or the schema. Returns false, and records
    /// that the check is incomplete, if not so many are left.
    fn take_steps(&mut self, steps: usize) -> bool {
        let enough = steps <= self.steps;
        self.steps = self.steps.saturating_sub(steps);
        self.exhausted |= !enough;
        enough
    }

    /// Checks what one schema says, without what it refers to.
    fn check_fields(
        &mut self,
        schema: &'a serde_json::Map<String, Value>,
        value: &Value,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        // Lists of required keys, allowed values and alternatives are walked through.
        let listed: usize = schema.values().filter_map(Value::as_array).map(Vec::len).sum();
        if !self.take_steps((schema.len() + listed) / STEP_BYTES)
            || !scalars::check_type(schema, value, at, mistakes)
        {
            // The other keywords would only repeat it.
            return;
        }
        self.check_choices(schema, value, at, mistakes);
        match value {
            Value::Object(object) => self.check_object(schema, object, at, mistakes),
            Value::Array(items) => self.check_array(schema, items, at, mistakes),
            Value::String(text) => self.check_text(schema, text, at, mistakes),
            Value::Number(number) => scalars::check_number(schema, number, at, mistakes),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combined(schema, value, at, mistakes);
    }

    /// Returns what is wrong with a value by a schema that need not apply.
    fn mistakes_of(&mut self, schema: &'a Value, value: &Value, at: &Path<'_>) -> Mistakes {
        let mut mistakes = Mistakes::of_branch(at.depth());
        self.check(schema, value, at, &mut mistakes);
        mistakes
    }

    /// Returns whether a text matches; true if that cannot be found out.
    fn matches(&mut self, pattern: &'a str, text: &str) -> bool {
        let is_new = !self.patterns.contains_key(pattern);
        if is_new && self.patterns.len() >= MAX_PATTERNS {
            self.exhausted = true;
            return true;
        }
        let steps = 1 + text.len() / STEP_BYTES + if is_new { PATTERN_STEPS } else { 0 };
        if !self.take_steps(steps) {
            return true;
        }
        let compiled = self
            .patterns
            .entry(pattern)
            .or_insert_with(|| RegexBuilder::new(pattern).size_limit(PATTERN_LIMIT).build().ok());
        // A schema is written for the expressions of JavaScript, which have more.
        compiled.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}

#[cfg(test)]
mod tests;
