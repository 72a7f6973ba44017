use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Class;
use serde_json::json;

use super::*;
use crate::args::SettingsArgs;

fn questions(folder: &std::path::Path) -> AgentQuestions {
    let args = SettingsArgs {
        cwd: Some(folder.to_owned()),
        settings: None,
        allowed_tools: Vec::new(),
        disallowed_tools: Vec::new(),
        add_dir: Vec::new(),
        plugin_dir: Vec::new(),
        trust: false,
    };
    let setup = Arc::new(Setup::load(&args, None).unwrap());
    AgentQuestions { mailbox: Mailbox::new().unwrap(), setup }
}

fn question(agent: Option<&str>) -> Question {
    let input = ToolInput::Json(json!({"command": "cargo test"}));
    let call = ToolUse::new(CallId::from("c1"), "c1", "Bash", input);
    Question {
        call,
        class: Class::Execute,
        reason: "no rule allows it".to_owned(),
        rules: Vec::new(),
        needs_user: false,
        metadata: serde_json::Map::new(),
        agent: agent.map(str::to_owned),
        task: None,
    }
}

#[tokio::test]
async fn a_question_of_an_agent_is_shown_with_its_name_and_withdrawn_with_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let questions = questions(folder.path());
    let mut asking = Box::pin(questions.ask(question(Some("reviewer (t1)"))));
    assert!(futures::poll!(asking.as_mut()).is_pending());
    let events = questions.mailbox.drain();
    let [Event::Asked(asked)] = events.as_slices().0 else { panic!("not asked") };
    assert_eq!(asked.agent.as_deref(), Some("reviewer (t1)"));
    assert_eq!(asked.argument, "cargo test");
    drop(asking);
    let events = questions.mailbox.drain();
    assert!(matches!(events.as_slices().0, [Event::Withdrawn(call)] if call.as_str() == "c1"));
}

#[tokio::test]
async fn a_question_of_the_session_itself_comes_with_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let questions = questions(folder.path());
    let mut asking = Box::pin(questions.ask(question(None)));
    assert!(futures::poll!(asking.as_mut()).is_pending());
    assert!(questions.mailbox.drain().is_empty());
}
