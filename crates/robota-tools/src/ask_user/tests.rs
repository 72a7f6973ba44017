use std::sync::Arc;

use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

/// Chooses the first option; does not answer the question `never`.
struct FirstOption;

#[async_trait::async_trait]
impl QuestionHandler for FirstOption {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        match question.question.as_str() {
            "never" => None,
            _ => Some(question.options.as_ref()?.first()?.label().to_owned()),
        }
    }
}

fn workspace() -> ToolWorkspace {
    ToolWorkspace::new("/", Supervisor::new(), Environment::new())
}

#[tokio::test]
async fn without_a_user_the_tool_is_unavailable() {
    let input = json!({"questions": [{"question": "which?"}]});
    let outcome = AskUser::new(&workspace()).run(input, ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("unavailable"));
}

#[tokio::test]
async fn the_questions_end_when_the_user_does_not_answer() {
    let tool = AskUser::new(&workspace().question_handler(Arc::new(FirstOption)));
    let question = |text: &str| json!({"question": text, "options": ["yes", "no"]});
    let described = json!({"question": "a", "header": "A", "multiSelect": false,
        "options": [{"label": "yes", "description": "go on"}, {"label": "no"}]});
    let input = json!({"questions": [described, question("never"), question("b")]});
    tool.check(&input).unwrap();
    let outcome = tool.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.text(), "a: yes\nnever: [the user did not answer]\n");
    assert_eq!(outcome.metadata["answers"], json!(["yes"]));
}

/// Refuses every call.
struct Refuses;

#[async_trait::async_trait]
impl QuestionHandler for Refuses {
    async fn ask(&self, _: &UserQuestion) -> Option<String> {
        None
    }

    async fn ask_all(&self, call: &CallId, questions: &[UserQuestion]) -> Answers {
        Answers::Refused { reason: Some(format!("{call} has {}", questions.len())) }
    }
}

#[tokio::test]
async fn a_refused_call_is_an_error_with_its_reason() {
    let tool = AskUser::new(&workspace().question_handler(Arc::new(Refuses)));
    let input = json!({"questions": [{"question": "a"}, {"question": "b"}]});
    let outcome = tool.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some(REFUSED));
    assert_eq!(outcome.text(), "direct has 2");
}

#[tokio::test]
async fn questions_that_are_answered_already_are_not_asked() {
    let tool = AskUser::new(&workspace().question_handler(Arc::new(Refuses)));
    let questions = json!([{"question": "a"}, {"question": "b"}]);
    let input = json!({"questions": questions, "answers": {"a": ["x", "y"], "b": "z"}});
    tool.check_changed(&input).unwrap();
    let outcome = tool.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.text(), "a: x, y\nb: z\n");
    let input = json!({"questions": questions, "answers": {"b": "z"}});
    let outcome = tool.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.text(), "direct has 1", "only the open one is asked");
}

#[test]
fn a_model_cannot_answer_for_the_user() {
    let tool = AskUser::new(&workspace());
    let input = json!({"questions": [{"question": "deploy?"}], "answers": {"deploy?": "yes"}});
    let refused = tool.check(&input).unwrap_err().to_string();
    assert!(refused.contains("answers"), "{refused}");
    tool.check_changed(&input).unwrap();
}
