//! AskUserQuestion: asks the user.

use std::sync::Arc;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{
    InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec, validate,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{EarlyOutcome, parse, schema_of};
use crate::tool_workspace::ToolWorkspace;

/// The name of the tool.
pub const ASK_USER: &str = "AskUserQuestion";

/// The error code of a call whose questions were refused.
pub const REFUSED: &str = "questions_refused";

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
    /// The text of the answer, without an explanation.
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

/// What the user answered to the questions of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The answers, in the order of the questions. `None` is a question without an answer; the
    /// questions at the end may be missing.
    Given(Vec<Option<String>>),
    /// The call was refused: the model receives an error instead of answers.
    Refused {
        /// Why, for the model.
        reason: Option<String>,
    },
}

/// Shows questions to the user.
#[async_trait::async_trait]
pub trait QuestionHandler: Send + Sync {
    /// Returns the user's answer. `None` if the user does not want to answer.
    async fn ask(&self, question: &UserQuestion) -> Option<String>;

    /// Asks the questions of one call. Without an implementation of its own they are asked one by
    /// one, until the user does not want to answer one: those that follow often depend on it.
    async fn ask_all(&self, _call: &CallId, questions: &[UserQuestion]) -> Answers {
        let mut given = Vec::new();
        for question in questions {
            let answer = self.ask(question).await;
            let ends = answer.is_none();
            given.push(answer);
            if ends {
                break;
            }
        }
        Answers::Given(given)
    }
}

/// Returns an answer that a client sent as text: several chosen labels are separated by commas.
/// `None` if there is none.
#[must_use]
pub fn answer_text(answer: &Value) -> Option<String> {
    match answer {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(labels) => {
            Some(labels.iter().filter_map(answer_text).collect::<Vec<_>>().join(", "))
        }
        other => Some(other.to_string()),
    }
}

/// Lets a builder take a handler that the caller shares.
#[async_trait::async_trait]
impl<T: QuestionHandler + ?Sized> QuestionHandler for Arc<T> {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        (**self).ask(question).await
    }

    async fn ask_all(&self, call: &CallId, questions: &[UserQuestion]) -> Answers {
        (**self).ask_all(call, questions).await
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    questions: Vec<UserQuestion>,
    /// Answers by question, which a hook or a client added to the call: these are not asked.
    #[serde(default)]
    #[schemars(skip)]
    answers: Option<Map<String, Value>>,
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
            name: ASK_USER.to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // Asking changes nothing, so the gate need not ask whether the user may be asked.
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn ask(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { questions, answers: known } = parse(input)?;
        let known = known.unwrap_or_default();
        if !(1..=4).contains(&questions.len()) {
            return Err(InvalidInput("give 1 to 4 questions".to_owned()).into());
        }
        let mut answers: Vec<_> =
            questions.iter().map(|asked| answer_text(known.get(&asked.question)?)).collect();
        let open: Vec<_> = questions
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.is_none())
            .map(|(question, _)| question.clone())
            .collect();
        if !open.is_empty() {
            let given = self.ask_user(&open, context).await?;
            let missing = answers.iter_mut().filter(|answer| answer.is_none());
            for (answer, given) in missing.zip(given) {
                *answer = given;
            }
        }
        while answers.last().is_some_and(Option::is_none) {
            answers.pop();
        }
        // The first question at the end without an answer is named; those after it were not asked.
        let shown = answers.iter().map(Option::as_deref).chain([None]);
        let text: String = questions
            .iter()
            .zip(shown)
            .map(|(question, answer)| {
                let answer = answer.unwrap_or("[the user did not answer]");
                format!("{}: {answer}\n", question.question)
            })
            .collect();
        Ok(ToolOutcome::ok(text).with_metadata("answers", answers))
    }

    /// Asks the questions and returns the answers; those at the end may be missing.
    async fn ask_user(
        &self,
        questions: &[UserQuestion],
        context: &ToolContext,
    ) -> Result<Vec<Option<String>>, EarlyOutcome> {
        let Some(handler) = &self.workspace.question_handler else {
            let text = "This run has no user who can answer. Decide yourself, or state in your answer \
                        what you need to know.";
            return Err(ToolOutcome::not_run("unavailable", text).into());
        };
        let answers = tokio::select! {
            answers = handler.ask_all(&context.call, questions) => answers,
            () = context.scope.cancel.cancelled() => {
                return Err(ToolOutcome::failed("interrupted", "interrupted while asking").into());
            }
        };
        match answers {
            Answers::Given(answers) => Ok(answers),
            Answers::Refused { reason } => {
                let text = reason.unwrap_or_else(|| "the user refused to answer".to_owned());
                Err(ToolOutcome::not_run(REFUSED, text).into())
            }
        }
    }
}

#[async_trait::async_trait]
impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    // A host gives the answers of its user with its approval. The schema does not have them, so
    // `check` refuses them: a model must not answer for the user.
    fn check_changed(&self, input: &Value) -> Result<(), InvalidInput> {
        let mut asked = input.clone();
        if let Some(fields) = asked.as_object_mut() {
            fields.remove("answers");
        }
        validate(&self.spec.input_schema, &asked)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.ask(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
