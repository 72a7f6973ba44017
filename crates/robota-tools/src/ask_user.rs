//! AskUserQuestion: asks the user.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, schema_of};
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Asks the user 1 to 4 questions and waits for the answers. Only for what \
    you cannot find out or decide yourself.";

/// A question that the model asks the user, with the answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "")]
pub struct UserQuestion {
    /// The full question.
    pub question: String,
    /// A short heading.
    #[serde(default)]
    #[schemars(description = "")]
    pub header: Option<String>,
    /// Answers to choose from.
    #[serde(default)]
    #[schemars(schema_with = "any_options")]
    pub options: Option<Vec<AnswerOption>>,
    /// Whether several may be chosen.
    #[serde(default, rename = "multiSelect")]
    pub multi_select: Option<bool>,
}

/// Returns a schema that says little, because every request contains it; the tool reads the rest.
fn any_options(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["array", "null"], "items": {}})
}

/// An answer that the user can choose: its text, or its text and an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnswerOption {
    /// The answer alone.
    Label(String),
    /// The answer, and what it means.
    Described {
        /// The answer, which is returned to the model.
        label: String,
        /// What it means; the user reads it, the model does not get it back.
        #[serde(default)]
        description: String,
    },
}

impl AnswerOption {
    /// Returns the text of the answer that a client shows.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Label(label) | Self::Described { label, .. } => label,
        }
    }

    /// Returns what the answer means; empty if that is not said.
    #[must_use]
    pub fn description(&self) -> &str {
        match self {
            Self::Label(_) => "",
            Self::Described { description, .. } => description,
        }
    }
}

/// Shows questions to the user.
#[async_trait::async_trait]
pub trait QuestionHandler: Send + Sync {
    /// Returns the user's answer. `None` if the user does not want to answer; the tool then asks no
    /// more questions.
    async fn ask(&self, question: &UserQuestion) -> Option<String>;
}

/// Lets a builder take a handler that the caller shares.
#[async_trait::async_trait]
impl<T: QuestionHandler + ?Sized> QuestionHandler for Arc<T> {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        (**self).ask(question).await
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    questions: Vec<UserQuestion>,
}

/// The tool AskUserQuestion: asks the user and returns the answers.
pub struct AskUser {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl AskUser {
    /// Creates the tool. It uses the question handler of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "AskUserQuestion".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // Asking changes nothing, so the gate need not ask whether the user may be asked.
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn ask(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { questions } = parse(input)?;
        if !(1..=4).contains(&questions.len()) {
            return Err(InvalidInput("give 1 to 4 questions".to_owned()).into());
        }
        let Some(handler) = &self.workspace.question_handler else {
            let text = "This run has no user who can answer. Decide yourself, or state in your answer \
                        what you need to know.";
            return Err(ToolOutcome::not_run("unavailable", text).into());
        };
        let mut text = String::new();
        let mut answers = Vec::new();
        for question in &questions {
            let answer = tokio::select! {
                answer = handler.ask(question) => answer,
                () = context.scope.cancel.cancelled() => {
                    return Err(ToolOutcome::failed("interrupted", "interrupted while asking").into());
                }
            };
            let Some(answer) = answer else {
                // The questions that follow often depend on this one.
                text.push_str(&format!("{}: [the user did not answer]\n", question.question));
                break;
            };
            text.push_str(&format!("{}: {answer}\n", question.question));
            answers.push(answer);
        }
        Ok(ToolOutcome::ok(text).with_metadata("answers", answers))
    }
}

#[async_trait::async_trait]
impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.ask(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
