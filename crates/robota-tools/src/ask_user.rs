//! AskUserQuestion: questions that only the user can answer.

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of};
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Asks the user 1 to 4 questions and waits. Only for what you cannot find \
    out or decide yourself.";

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "")]
pub struct UserQuestion {
    /// In full.
    pub question: String,
    /// Answers to choose from.
    #[serde(default)]
    pub options: Option<Vec<String>>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub multi_select: Option<bool>,
}

/// Somebody who can be asked.
#[async_trait::async_trait]
pub trait Asker: Send + Sync {
    /// The answer in the user's words; `None` when the user does not want to answer, which
    /// ends the questions.
    async fn ask(&self, question: &UserQuestion) -> Option<String>;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    questions: Vec<UserQuestion>,
}

/// Asks the user.
pub struct AskUser {
    spec: ToolSpec,
    place: Workplace,
}

impl AskUser {
    /// A tool that asks whoever the workplace names.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "AskUserQuestion".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, place: place.clone() }
    }

    async fn ask(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let Input { questions } = parse(input)?;
        if !(1..=4).contains(&questions.len()) {
            return Err(InvalidInput("give 1 to 4 questions".to_owned()).into());
        }
        let Some(asker) = &self.place.asker else {
            let text = "Nobody can be asked: this run has no user. Decide yourself, or say in your \
                        answer what you would need to know.";
            return Err(ToolOutcome::not_run("unavailable", text).into());
        };
        let mut text = String::new();
        let mut answers = Vec::new();
        for question in &questions {
            let answer = tokio::select! {
                answer = asker.ask(question) => answer,
                () = context.scope.cancel.cancelled() => {
                    return Err(ToolOutcome::failed("interrupted", "interrupted while asking").into());
                }
            };
            let Some(answer) = answer else {
                text.push_str(&format!("{}: [the user does not answer]\n", question.question));
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
        self.ask(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
