//! Plan mode: the user approves the plan, and the session continues in another mode.

use std::sync::Arc;

use robota_core::approve::{Answer, Question};
use robota_core::permission::Mode;
use robota_sdk::{InteractiveSession, ProjectOptions};
use robota_session::approver_fn;
use tokio::sync::mpsc;

use crate::common::Scene;

const PLAN: &str = "{tools: [{tool: ExitPlanMode, input: {plan: '# Plan'}}]}";
const WRITE: &str = "{tools: [{tool: Write, input: {file_path: a.txt, content: hello}}]}";

/// Opens a session in plan mode whose questions about plans get that answer.
async fn planning(
    scene: &Scene,
    allow: &[&str],
    answer: Answer,
) -> (InteractiveSession, mpsc::UnboundedReceiver<Question>) {
    let (asked, questions) = mpsc::unbounded_channel();
    let approver = approver_fn(move |question: Question| {
        let answer = match question.call.name.as_str() {
            "ExitPlanMode" => answer.clone(),
            _ => Answer::Allow { note: None },
        };
        asked.send(question).unwrap();
        async move { answer }
    });
    let options = ProjectOptions {
        mode: Some(Mode::Plan),
        allow: allow.iter().map(|rule| (*rule).to_owned()).collect(),
        ..ProjectOptions::default()
    };
    let builder = scene.builder_for(scene.project_with(options)).mode(Mode::Plan);
    let session = builder.approver(approver).open().await.unwrap();
    (session, questions)
}

async fn answer(session: &InteractiveSession, prompt: &str) -> robota_sdk::ExecutionResult {
    session.submit(prompt).await.unwrap().result().await.unwrap()
}

#[tokio::test]
async fn an_approved_plan_ends_plan_mode_and_changes_begin() {
    let scene = Scene::new(&format!("- {WRITE}\n- {PLAN}\n- {WRITE}\n- Done.\n"));
    let (session, mut questions) =
        planning(&scene, &["ExitPlanMode", "Write"], Answer::Allow { note: None }).await;
    let done = answer(&session, "Write a.txt.").await;
    assert_eq!(done.response, "Done.");
    let asked = questions.try_recv().unwrap();
    assert_eq!(asked.call.name, "ExitPlanMode", "an allow rule does not approve plans");
    assert!(asked.rules.is_empty(), "plans are approved one by one");
    assert_eq!(session.session().permissions().mode(), Mode::Default);
    let written = std::fs::read_to_string(scene.path().join("project/a.txt")).unwrap();
    assert_eq!(written, "hello");
    let requests = scene.provider.requests();
    assert!(requests[0].messages[0].text().contains("Plan mode is active"));
    let result = serde_json::to_string(requests[1].messages.last().unwrap()).unwrap();
    assert!(result.contains("plan mode changes nothing"), "the first write is denied: {result}");
    let result = serde_json::to_string(requests[2].messages.last().unwrap()).unwrap();
    assert!(result.contains("approved the plan"), "{result}");
}

#[tokio::test]
async fn a_refused_plan_keeps_plan_mode_and_the_model_reads_why() {
    let scene = Scene::new(&format!("- {PLAN}\n- Understood.\n- Bye.\n"));
    let note = Some("add tests first".to_owned());
    let (session, _questions) = planning(&scene, &[], Answer::Deny { note }).await;
    answer(&session, "Plan it.").await;
    assert_eq!(session.session().permissions().mode(), Mode::Plan);
    let requests = scene.provider.requests();
    let result = serde_json::to_string(requests[1].messages.last().unwrap()).unwrap();
    assert!(result.contains("add tests first"), "{result}");
    // Outside of plan mode prompts say nothing of it, and the tool asks nothing.
    session.set_mode(Mode::Default).await.unwrap();
    answer(&session, "Thanks.").await;
    let last = scene.provider.requests().pop().unwrap();
    assert!(!last.messages.last().unwrap().text().contains("Plan mode"));
}

#[tokio::test]
async fn the_mode_that_the_approver_chose_stays() {
    let scene = Scene::new(&format!("- {PLAN}\n- Done.\n"));
    let session: Arc<std::sync::OnceLock<InteractiveSession>> = Arc::default();
    let of_approver = session.clone();
    let approver = approver_fn(move |_| {
        let session = of_approver.clone();
        async move {
            session.get().unwrap().set_mode(Mode::AcceptEdits).await.unwrap();
            Answer::Allow { note: None }
        }
    });
    let builder = scene.builder().mode(Mode::Plan).approver(approver);
    let opened = builder.open().await.unwrap();
    let _ = session.set(opened.clone());
    answer(&opened, "Go.").await;
    assert_eq!(opened.session().permissions().mode(), Mode::AcceptEdits);
}

#[tokio::test]
async fn without_an_approver_the_tool_is_not_offered() {
    let scene = Scene::new("- Hi.\n");
    let session = scene.open().await;
    answer(&session, "Hello.").await;
    let request = scene.provider.requests().remove(0);
    assert!(!request.tools.iter().any(|tool| tool.name.ends_with("PlanMode")));
}

#[tokio::test]
async fn the_model_begins_plan_mode_and_only_the_user_ends_it() {
    let enter = "{tools: [{tool: EnterPlanMode, input: {}}]}";
    let scene =
        Scene::new(&format!("- {enter}\n- {WRITE}\n- {enter}\n- {PLAN}\n- {WRITE}\n- Done.\n"));
    let (asked, mut questions) = mpsc::unbounded_channel();
    let approver = approver_fn(move |question: Question| {
        asked.send(question.call.name).unwrap();
        async move { Answer::Allow { note: None } }
    });
    let options = ProjectOptions { mode: Some(Mode::AcceptEdits), ..ProjectOptions::default() };
    let builder = scene.builder_for(scene.project_with(options)).mode(Mode::AcceptEdits);
    let session = builder.approver(approver).open().await.unwrap();
    assert_eq!(answer(&session, "Write a.txt.").await.response, "Done.");
    let requests = scene.provider.requests();
    let result = |at: usize| serde_json::to_string(requests[at].messages.last().unwrap()).unwrap();
    assert!(result(1).contains("Plan mode is active"), "{}", result(1));
    assert!(result(2).contains("plan mode changes nothing"), "{}", result(2));
    assert!(result(3).contains("already active"), "{}", result(3));
    assert_eq!(questions.try_recv().unwrap(), "ExitPlanMode", "only the plan is asked about");
    assert_eq!(session.session().permissions().mode(), Mode::Default, "not the mode before");
    assert!(scene.path().join("project/a.txt").exists());
}

#[tokio::test]
async fn a_rule_can_forbid_that_the_model_begins_plan_mode() {
    let scene = Scene::new("- {tools: [{tool: EnterPlanMode, input: {}}]}\n- Done.\n");
    let options =
        ProjectOptions { deny: vec!["EnterPlanMode".to_owned()], ..ProjectOptions::default() };
    let approver = approver_fn(|_| async { Answer::Allow { note: None } });
    let builder = scene.builder_for(scene.project_with(options));
    let session = builder.approver(approver).open().await.unwrap();
    let before = session.session().permissions().mode();
    assert_ne!(before, Mode::Plan);
    answer(&session, "Go.").await;
    assert_eq!(session.session().permissions().mode(), before);
}

#[tokio::test]
async fn the_mode_dont_ask_cannot_be_left_through_plan_mode() {
    let enter = "{tools: [{tool: EnterPlanMode, input: {}}]}";
    let scene = Scene::new(&format!("- {enter}\n- {PLAN}\n- {WRITE}\n- Done.\n"));
    let approver = approver_fn(|_| async { Answer::Allow { note: None } });
    let builder = scene.builder().mode(Mode::DontAsk);
    let session = builder.approver(approver).open().await.unwrap();
    answer(&session, "Write a.txt.").await;
    assert_eq!(session.session().permissions().mode(), Mode::DontAsk);
    assert!(!scene.path().join("project/a.txt").exists());
    let requests = scene.provider.requests();
    let result = serde_json::to_string(requests[1].messages.last().unwrap()).unwrap();
    assert!(result.contains("dontAsk"), "{result}");
}
