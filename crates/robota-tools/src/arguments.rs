//! Parses the arguments that models send.

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use robota_core::tool::schema_of;
use robota_core::tool::{InvalidInput, ToolOutcome, ToolSpec, shared_spec, validate};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Parses the arguments of a call.
pub(crate) fn parse<T: DeserializeOwned>(input: Value) -> Result<T, InvalidInput> {
    serde_json::from_value(input).map_err(|error| InvalidInput(error.to_string()))
}

/// Arguments that a tool accepts and does not show in its schema. Models that were trained with
/// another agent send the arguments of its tools; showing them to every model would cost tokens in
/// every request.
pub(crate) struct HiddenArguments {
    /// The description with the hidden arguments. All sessions share it, as they share the other one.
    accepted: Arc<ToolSpec>,
}

impl HiddenArguments {
    /// Removes arguments from the schema of a tool, which still accepts them.
    pub(crate) fn of(spec: &mut ToolSpec, names: &[&str]) -> Self {
        let accepted = shared_spec(spec.clone());
        if let Some(shown) = spec.input_schema.get_mut("properties").and_then(Value::as_object_mut)
        {
            shown.retain(|name, _| !names.contains(&name.as_str()));
        }
        Self { accepted }
    }

    /// Checks arguments, as [`Tool::check`](robota_core::tool::Tool::check) does.
    pub(crate) fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.accepted.input_schema, input)
    }
}

/// Renames an argument that models call `other`, unless they use both names.
pub(crate) fn rename_argument(input: &Value, other: &str, name: &str) -> Value {
    let mut input = input.clone();
    if let Value::Object(object) = &mut input
        // With both names it is not clear which one is meant; the schema then reports the unknown
        // one.
        && !object.contains_key(name)
        && let Some(value) = object.remove(other)
    {
        object.insert(name.to_owned(), value);
    }
    input
}

/// The outcome of a call that ends early. It is the error type of the tools' functions, so `?` can
/// be used; boxed to keep `Result` small.
pub(crate) struct EarlyOutcome(pub(crate) Box<ToolOutcome>);

impl From<ToolOutcome> for EarlyOutcome {
    fn from(outcome: ToolOutcome) -> Self {
        Self(Box::new(outcome))
    }
}

impl From<InvalidInput> for EarlyOutcome {
    fn from(error: InvalidInput) -> Self {
        ToolOutcome::not_run("invalid_input", error.to_string()).into()
    }
}

/// Deserializes an integer that may be absent, null, or written as `2.0`, as models do.
pub(crate) fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(from)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        // Floats up to 2^53 without a fraction are exact integers.
        (float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float))
            .then_some(float as u64)
    });
    match whole {
        Some(whole) => Ok(Some(whole)),
        None => Err(serde::de::Error::custom(format!("{number} is not an integer of at least 0"))),
    }
}

/// Resolves a path argument: a relative path starts at the working directory.
pub(crate) fn resolve(cwd: &Path, path: &str) -> Result<PathBuf, InvalidInput> {
    if path.is_empty() {
        return Err(InvalidInput("`file_path` is empty".to_owned()));
    }
    Ok(cwd.join(path))
}

#[cfg(test)]
mod tests;
