use std::sync::{Arc, Mutex};

use robota_mcp::client::{ElicitAnswer, Elicitation, ElicitationKind, Elicitor as _, Form};
use robota_tools::{QuestionHandler, UserQuestion};
use serde_json::json;

use super::QuestionElicitor;

/// Gives prepared answers.
#[derive(Default)]
struct Answers {
    answers: Mutex<Vec<Option<&'static str>>>,
    asked: Mutex<Vec<UserQuestion>>,
}

#[async_trait::async_trait]
impl QuestionHandler for Answers {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        self.asked.lock().unwrap().push(question.clone());
        self.answers.lock().unwrap().remove(0).map(str::to_owned)
    }
}

async fn ask(
    kind: ElicitationKind,
    answers: Vec<Option<&'static str>>,
) -> (ElicitAnswer, Vec<UserQuestion>) {
    let answers = Arc::new(Answers { answers: Mutex::new(answers), ..Answers::default() });
    let (server, message) = ("fake".to_owned(), "Who are you?".to_owned());
    let answer = QuestionElicitor(answers.clone()).ask(Elicitation { server, message, kind }).await;
    let asked = answers.asked.lock().unwrap().clone();
    (answer, asked)
}

fn form() -> ElicitationKind {
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 2},
        "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
        "age": {"type": "integer"},
        "sure": {"type": "boolean"},
    }});
    ElicitationKind::Form { form: Form::parse(&schema).unwrap(), schema }
}

#[tokio::test]
async fn a_form_is_asked_field_by_field() {
    // The name is too short at first; the age is left out.
    let answers = vec![Some("A"), Some("Ada"), Some("Green"), Some(""), Some("Yes")];
    let (answer, asked) = ask(form(), answers).await;
    assert_eq!(answer, ElicitAnswer::Accept(json!({"name": "Ada", "color": "g", "sure": true})));
    assert!(asked[0].question.contains("The MCP server `fake` asks: Who are you?"));
    assert!(asked[1].question.contains("wrong length"), "{}", asked[1].question);
    assert_eq!(asked[2].options.as_ref().unwrap()[1].label(), "Green");
    assert!(asked[3].question.contains("(optional)"), "{}", asked[3].question);
}

#[tokio::test]
async fn users_decline_and_give_up() {
    assert_eq!(ask(form(), vec![None]).await.0, ElicitAnswer::Decline);
    let wrong = vec![Some("A"), Some("B"), Some("C")];
    assert_eq!(ask(form(), wrong).await.0, ElicitAnswer::Cancel);
}

#[tokio::test]
async fn addresses_are_shown_in_full() {
    let url = "https://example.com/login?next=%2F".to_owned();
    let kind = ElicitationKind::Address { url: url.clone(), id: None };
    let (answer, asked) = ask(kind.clone(), vec![Some("I opened it")]).await;
    assert_eq!(answer, ElicitAnswer::Accept(json!(null)));
    assert!(asked[0].question.contains(&url), "{}", asked[0].question);
    assert_eq!(ask(kind, vec![Some("No")]).await.0, ElicitAnswer::Decline);
}
