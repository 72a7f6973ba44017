//! Typed answers: asks the model for a JSON value of a Rust type, and reads it.
//!
//! `run_as` of an agent and of a session appends the instruction of [`ask_for`] to the prompt and passes
//! [`output_of`] to the service, which may enforce it. It gives each answer to [`Attempts::read`], which
//! returns the value or the message that asks for a repair, at most [`MAX_REPAIRS`] times.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Diagnose, ErrorData, ErrorKind};
use crate::message::{Block, Content};
use crate::provider::{AnswerEnd, OutputSchema, StopReason};
use crate::tool::{schema_of, validate_as};

/// How often an answer that does not fit its type is sent back to the model.
// A model that did not understand the schema after two explanations will not understand the third.
pub const MAX_REPAIRS: u32 = 2;

/// Why a typed run has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// The last answer does not fit the type.
    #[error("the model's answer does not fit the type after {attempts} attempts: {reason}")]
    Mismatch {
        /// What is wrong with the answer.
        reason: String,
        /// The text of the last answer, which could not be read as the type.
        answer: String,
        /// How often the model was asked.
        attempts: u32,
    },
    /// The model refused to answer, or the service withheld the answer.
    #[error("the model refused to answer: {answer}")]
    Refused {
        /// The text of the answer; may be empty.
        answer: String,
    },
    /// The run was interrupted before there was an answer.
    #[error("the run was interrupted")]
    Interrupted,
    /// The run failed before there was an answer.
    #[error("{}", .0.message)]
    Failed(ErrorData),
}

impl Diagnose for TypedError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Mismatch { .. } | Self::Interrupted => ErrorKind::Validation,
            Self::Refused { .. } => ErrorKind::Provider,
            Self::Failed(data) => data.kind,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Mismatch { .. } => {
                Some("use a simpler type, describe its fields, or a larger model".to_owned())
            }
            Self::Failed(data) => data.hint.clone(),
            Self::Refused { .. } => Some("rephrase the prompt, or use another model".to_owned()),
            Self::Interrupted => None,
        }
    }
}

/// Appends to a prompt the instruction to answer with a JSON value of type `T`.
#[must_use]
pub fn ask_for<T: JsonSchema>(prompt: impl Into<Content>) -> Content {
    let Content(mut content) = prompt.into();
    content.push(Block::text(format!(
        "\n\nAnswer with one JSON value that matches this JSON Schema, and nothing else:\n{}",
        schema_of::<T>()
    )));
    Content(content)
}

/// Returns the form of an answer of type `T`, for services that can enforce it.
#[must_use]
pub fn output_of<T: JsonSchema>() -> OutputSchema {
    OutputSchema::new(schema_of::<T>())
}

/// Counts the answers of one typed run.
#[derive(Debug, Default)]
pub struct Attempts(u32);

/// What one answer of a typed run gives.
#[derive(Debug)]
pub enum TypedAnswer<T> {
    /// The value: the run is done.
    Value(T),
    /// The answer does not fit; this message asks the model for a corrected one.
    Repair(Content),
}

impl Attempts {
    /// Reads an answer that the model stopped for this reason.
    ///
    /// # Errors
    /// [`TypedError::Refused`] when the model refused, [`TypedError::Mismatch`] when the answer does
    /// not fit and no repair is left.
    pub fn read<T: DeserializeOwned + JsonSchema>(
        &mut self,
        answer: String,
        stop: Option<&StopReason>,
    ) -> Result<TypedAnswer<T>, TypedError> {
        match stop.map(StopReason::answer) {
            Some(AnswerEnd::Refused | AnswerEnd::Filtered) => {
                return Err(TypedError::Refused { answer });
            }
            Some(AnswerEnd::Whole | AnswerEnd::Cut | AnswerEnd::Paused) | None => {}
        }
        self.0 += 1;
        match read(&answer) {
            Ok(value) => Ok(TypedAnswer::Value(value)),
            Err(reason) if self.0 > MAX_REPAIRS => {
                Err(TypedError::Mismatch { reason, answer, attempts: self.0 })
            }
            Err(reason) => Ok(TypedAnswer::Repair(Content::from(format!(
                "That answer does not match the schema: {reason}. Answer with the corrected JSON value only."
            )))),
        }
    }
}

/// Reads the JSON value in an answer. Text around it and a Markdown code fence are ignored.
///
/// # Errors
/// When the answer has no JSON value, or the value does not match the schema of `T`. The text is
/// written for the model.
pub fn read<T: DeserializeOwned + JsonSchema>(answer: &str) -> Result<T, String> {
    let value = json_in(answer)?;
    // Before serde: its message names the path of the value, which helps the model more than a line
    // and a column.
    validate_as("the answer", &schema_of::<T>(), &value)?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn json_in(answer: &str) -> Result<Value, String> {
    let text = answer.trim();
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // Models often write a sentence or a code fence before the value.
    for (start, _) in text.match_indices(['{', '[']) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            return Ok(value);
        }
    }
    Err(format!("it is not JSON ({whole})"))
}

#[cfg(test)]
mod tests;
