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
    let blocked = session.submit("More.").await.unwrap().result().await.unwrap_err();
    assert!(blocked.to_string().contains("150 of 110 tokens"), "{blocked}");
    assert_eq!(scene.provider.requests().len(), 3);
}

#[tokio::test]
async fn a_turn_stops_at_its_own_budget_and_the_next_one_starts_anew() {
    let scene = Scene::new(&format!("- {READ}\n- {READ}\n- {READ}\n- done\n"));
    scene.write("project/a.txt", "hello\n");
    let turn = BudgetLimits { tokens: Some(90), ..BudgetLimits::default() };
    let budget = Budget { turn, ..Budget::default() };
    let session = scene.builder().budget(budget).open().await.unwrap();
    let first = session.submit("1").await.unwrap().result().await.unwrap();
    assert_eq!((first.end, scene.provider.requests().len()), (TurnEnd::Stopped, 2));
    let second = session.submit("2").await.unwrap().result().await.unwrap();
    assert_eq!((second.end, second.response.as_str()), (TurnEnd::Complete, "done"));
}

#[tokio::test]
async fn turns_are_counted() {
    let scene = Scene::new("- {text: a, usage: {input: 90, output: 1}}\n- b\n- c\n");
    let turns = BudgetLimits { turns: Some(2), ..BudgetLimits::default() };
    let budget = Budget { session: turns, ..Budget::default() };
    let session = scene.builder().budget(budget).open().await.unwrap();
    assert_eq!(session.submit("1").await.unwrap().result().await.unwrap().response, "a");
    assert_eq!(session.submit("2").await.unwrap().result().await.unwrap().response, "b");
    let third = session.submit("3").await.unwrap().result().await.unwrap_err();
    assert!(third.to_string().contains("2 turns"), "{third}");
    assert_eq!(scene.provider.requests().len(), 2);
}
