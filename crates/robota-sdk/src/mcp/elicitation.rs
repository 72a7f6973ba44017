//! Asks the user the questions of MCP servers, one field at a time, with the handler of the model's
//! questions.

use std::sync::Arc;

use robota_mcp::client::{
    ElicitAnswer, Elicitation, ElicitationKind, Elicitor, FieldKind, Form, FormField,
};
use robota_tools::{AnswerOption, QuestionHandler, UserQuestion};
use serde_json::{Map, Value};

/// How often the user may answer a field wrongly before the question is cancelled.
const TRIES: usize = 3;
/// The answer of a user who opened an address.
const OPENED: &str = "I opened it";
/// The answer of a user who does not want to.
const NO: &str = "No";

/// Asks the questions of servers with a [`QuestionHandler`].
pub(crate) struct QuestionElicitor(pub(crate) Arc<dyn QuestionHandler>);

#[async_trait::async_trait]
impl Elicitor for QuestionElicitor {
    async fn ask(&self, question: Elicitation) -> ElicitAnswer {
        let Elicitation { server, message, kind } = question;
        let intro = format!("The MCP server `{server}` asks: {message}");
        match kind {
            ElicitationKind::Address { url, .. } => {
                let text = format!("{intro}\nOpen this address if you trust it: {url}");
                match self.choose(text, &[OPENED, NO]).await.as_deref() {
                    Some(OPENED) => ElicitAnswer::Accept(Value::Null),
                    // Any other text is no consent: the address is that of a server, not of the
                    // user.
                    _ => ElicitAnswer::Decline,
                }
            }
            ElicitationKind::Form { form, .. } if form.fields.is_empty() => {
                match self.choose(intro, &["Yes", NO]).await.as_deref() {
                    Some("Yes") => ElicitAnswer::Accept(Value::Object(Map::new())),
                    _ => ElicitAnswer::Decline,
                }
            }
            ElicitationKind::Form { form, .. } => self.fill(&intro, &form).await,
        }
    }
}

impl QuestionElicitor {
    async fn choose(&self, question: String, answers: &[&str]) -> Option<String> {
        let options = answers.iter().map(|answer| AnswerOption::Label((*answer).to_owned()));
        let question = UserQuestion {
            question,
            header: Some("MCP".to_owned()),
            options: Some(options.collect()),
            multi_select: None,
        };
        self.0.ask(&question).await
    }

    async fn fill(&self, intro: &str, form: &Form) -> ElicitAnswer {
        let mut content = Map::new();
        for field in &form.fields {
            let mut problem = String::new();
            let mut tries = 0;
            loop {
                let answer = self.0.ask(&question(intro, field, &problem)).await;
                let Some(answer) = answer else { return ElicitAnswer::Decline };
                // A field that is left out gets the default of the server.
                if answer.trim().is_empty() && (!field.required || field.default.is_some()) {
                    break;
                }
                match field.read(&answer) {
                    Ok(value) => {
                        content.insert(field.name.clone(), value);
                        break;
                    }
                    Err(why) => problem = why,
                }
                tries += 1;
                if tries == TRIES {
                    return ElicitAnswer::Cancel;
                }
            }
        }
        ElicitAnswer::Accept(Value::Object(content))
    }
}

/// Returns the question for a field.
fn question(intro: &str, field: &FormField, problem: &str) -> UserQuestion {
    let titles = |choices: &[robota_mcp::client::FormChoice]| {
        choices.iter().map(|choice| AnswerOption::Label(choice.title.clone())).collect()
    };
    let (options, multi_select) = match &field.kind {
        FieldKind::Text { .. } | FieldKind::Number { .. } => (None, None),
        FieldKind::Switch => {
            let answers = ["Yes", NO].map(|answer| AnswerOption::Label(answer.to_owned()));
            (Some(answers.to_vec()), None)
        }
        FieldKind::One(choices) => (Some(titles(choices)), None),
        FieldKind::Many { choices, .. } => (Some(titles(choices)), Some(true)),
    };
    let mut text = format!("{intro}\n{}", field.title);
    if !field.description.is_empty() {
        text.push_str(&format!(": {}", field.description));
    }
    match &field.default {
        Some(Value::String(default)) => text.push_str(&format!(" (default: {default})")),
        Some(default) => text.push_str(&format!(" (default: {default})")),
        None if !field.required => text.push_str(" (optional)"),
        None => {}
    }
    if !problem.is_empty() {
        text.push_str(&format!("\n{problem}"));
    }
    UserQuestion { question: text, header: Some("MCP".to_owned()), options, multi_select }
}

#[cfg(test)]
mod tests;
