//! Questions of the model and of MCP servers to the user, as forms of the editor.

use std::sync::{Arc, OnceLock};

use robota_sdk::host::{
    ElicitAnswer, Elicitation, ElicitationKind, Elicitor, QuestionHandler, UserQuestion,
};
use serde_json::{Value, json};

use super::connection::Connection;
use super::v1::{FormRequest, FormResponse};

const FIELD: &str = "answer";

/// Asks the user with a form of the editor.
pub(super) struct FormQuestions {
    pub(super) connection: Arc<Connection>,
    /// The session, known once it is open.
    pub(super) session: OnceLock<String>,
}

#[async_trait::async_trait]
impl QuestionHandler for FormQuestions {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        let request = FormRequest {
            mode: "form",
            session_id: self.session.get()?,
            message: &question.question,
            requested_schema: schema(question),
        };
        let answer: FormResponse =
            self.connection.request("elicitation/create", &request).await.ok()?;
        // "decline" and "cancel" are the same for the model: it got no answer.
        if answer.action != "accept" {
            return None;
        }
        answer_text(answer.content?.get(FIELD)?)
    }
}

/// Passes the forms of MCP servers on to the editor.
#[async_trait::async_trait]
impl Elicitor for FormQuestions {
    async fn ask(&self, question: Elicitation) -> ElicitAnswer {
        let Elicitation { server, message, kind } = question;
        let (Some(session_id), ElicitationKind::Form { schema, .. }) = (self.session.get(), kind)
        // `shows_addresses` is false, so servers are not offered addresses. One that sends one
        // anyway is declined.
        else {
            return ElicitAnswer::Decline;
        };
        let message = format!("The MCP server `{server}` asks: {message}");
        let request =
            FormRequest { mode: "form", session_id, message: &message, requested_schema: schema };
        let answer = self.connection.request("elicitation/create", &request).await;
        match answer.map(|FormResponse { action, content }| (action, content)) {
            Ok((action, content)) if action == "accept" => {
                ElicitAnswer::Accept(Value::Object(content.unwrap_or_default()))
            }
            // MCP distinguishes them: a server may ask again after a cancellation, not after a
            // decline.
            Ok((action, _)) if action == "cancel" => ElicitAnswer::Cancel,
            _ => ElicitAnswer::Decline,
        }
    }

    fn shows_addresses(&self) -> bool {
        false
    }
}

/// Returns the form of a question.
fn schema(question: &UserQuestion) -> Value {
    let title = question.header.as_deref().unwrap_or("Answer");
    let options = question.options.as_deref().unwrap_or_default();
    let choices: Vec<_> = options
        .iter()
        .map(|option| json!({"const": option.label(), "title": option.label()}))
        .collect();
    let field = if choices.is_empty() {
        json!({"type": "string", "title": title})
    } else if question.multi_select.unwrap_or(false) {
        json!({"type": "array", "title": title, "items": {"anyOf": choices}})
    } else {
        json!({"type": "string", "title": title, "oneOf": choices})
    };
    json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]})
}

fn answer_text(answer: &Value) -> Option<String> {
    match answer {
        Value::String(text) => Some(text.clone()),
        Value::Array(chosen) => {
            let chosen: Vec<_> = chosen.iter().filter_map(Value::as_str).collect();
            Some(chosen.join(", "))
        }
        // Taken as well, although the schema asks for text.
        Value::Number(_) | Value::Bool(_) => Some(answer.to_string()),
        Value::Null | Value::Object(_) => None,
    }
}
