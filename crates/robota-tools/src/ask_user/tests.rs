use std::sync::Arc;

use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

struct Brief;

#[async_trait::async_trait]
impl Asker for Brief {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        match question.question.as_str() {
            "never" => None,
            _ => question.options.as_ref()?.first().cloned(),
        }
    }
}

fn place() -> Workplace {
    Workplace::new("/", Supervisor::new(), Environment::new())
}

#[tokio::test]
async fn without_a_user_it_says_so() {
    let input = json!({"questions": [{"question": "which?"}]});
    let outcome = AskUser::new(&place()).run(input, ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("unavailable"));
}

#[tokio::test]
async fn answers_come_in_order_until_the_user_has_enough() {
    let tool = AskUser::new(&place().asker(Arc::new(Brief)));
    let question = |text: &str| json!({"question": text, "options": ["yes", "no"]});
    let input = json!({"questions": [question("a"), question("never"), question("b")]});
    tool.check(&input).unwrap();
    let outcome = tool.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.text(), "a: yes\nnever: [the user does not answer]\n");
    assert_eq!(outcome.metadata["answers"], json!(["yes"]));
}
