//! Budgets of sessions and turns.

use std::sync::{Arc, Mutex};

use robota_core::event::TurnEnd;
use robota_sdk::{Budget, BudgetLimits};

use crate::common::Scene;

const READ: &str =
    "{tools: [{tool: Read, input: {file_path: a.txt}}], usage: {input: 40, output: 10}}";

#[tokio::test]
async fn a_session_is_warned_near_its_budget_and_stops_at_it() {
    let scene = Scene::new(&format!("- {READ}\n- {READ}\n- {READ}\n- never\n"));
    scene.write("project/a.txt", "hello\n");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notices = seen.clone();
    let tokens = BudgetLimits { tokens: Some(110), ..BudgetLimits::default() };
    let session = scene
        .builder()
        .budget(Budget { session: tokens, ..Budget::default() })
        .on_notice(move |notice| notices.lock().unwrap().push(notice.to_string()))
        .open()
        .await
        .unwrap();
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.end, TurnEnd::Stopped, "{result:?}");
    // The call of the answer that used up the budget did not run.
    assert_eq!(scene.provider.requests().len(), 3);
    assert_eq!(session.budget_use().tokens, 150);
    let warnings = seen.lock().unwrap().clone();
    assert_eq!(warnings.iter().filter(|text| text.contains("100 of 110 tokens")).count(), 1);
    // The session takes no further prompt.
    let blocked = session.submit("More.").await.unwrap().result().await;
    assert!(blocked.is_err() || blocked.unwrap().end == TurnEnd::Blocked);
    assert_eq!(scene.provider.requests().len(), 3);
}

#[tokio::test]
async fn a_turn_has_a_budget_of_its_own_and_turns_are_counted() {
    let scene = Scene::new("- {text: a, usage: {input: 90, output: 1}}\n- b\n- c\n");
    let turn = BudgetLimits { tokens: Some(100), ..BudgetLimits::default() };
    let session = BudgetLimits { turns: Some(2), ..BudgetLimits::default() };
    let session = scene.builder().budget(Budget { session, turn }).open().await.unwrap();
    assert_eq!(session.submit("1").await.unwrap().result().await.unwrap().response, "a");
    assert_eq!(session.submit("2").await.unwrap().result().await.unwrap().response, "b");
    let third = session.submit("3").await.unwrap().result().await;
    assert!(third.is_err() || third.unwrap().end == TurnEnd::Blocked);
    assert_eq!(scene.provider.requests().len(), 2);
}
