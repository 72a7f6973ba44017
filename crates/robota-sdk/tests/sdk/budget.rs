//! Budgets of sessions and turns.

use std::sync::{Arc, Mutex};

use robota_core::event::TurnEnd;
use robota_sdk::{
    Budget, BudgetLimits, Earlier, InteractiveSession, InteractiveSessionBuilder, ModelSetup,
    SessionChoice,
};

use crate::common::Scene;

const READ: &str =
    "{tools: [{tool: Read, input: {file_path: a.txt}}], usage: {input: 40, output: 10}}";

/// Returns a session with the same script, and a model whose price is known.
fn with_price(scene: &Scene) -> InteractiveSessionBuilder {
    let model = ModelSetup::new(scene.provider.clone(), "claude-sonnet-4-5");
    InteractiveSession::builder(scene.project(), model).store(scene.store.clone())
}

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
    assert_eq!(session.spending().used().tokens, 150);
    let warnings = seen.lock().unwrap().clone();
    assert_eq!(warnings.iter().filter(|text| text.contains("100 of 110 tokens")).count(), 1);
    // The session takes no further prompt.
    let blocked = session.submit("More.").await.unwrap().result().await.unwrap_err();
    assert!(blocked.to_string().contains("150 of 110 tokens"), "{blocked}");
    assert_eq!(scene.provider.requests().len(), 3);
}

#[tokio::test]
async fn each_limit_warns_once_and_those_of_a_turn_in_each_turn() {
    let answer = "{text: done, usage: {input: 75, output: 10}}";
    let scene = Scene::new(&format!("- {answer}\n- {answer}\n- {answer}\n- {answer}\n"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notices = seen.clone();
    let mut budget = Budget::default();
    budget.set("tokens=300").unwrap();
    budget.set("turns=5").unwrap();
    budget.set("turn.tokens=100").unwrap();
    let builder = scene.builder().budget(budget);
    let builder = builder.on_notice(move |notice| notices.lock().unwrap().push(notice.to_string()));
    let session = builder.open().await.unwrap();
    for _ in 0..4 {
        session.submit("Go.").await.unwrap().result().await.unwrap();
    }
    let seen = seen.lock().unwrap().clone();
    let of_turn = "the budget of the turn is nearly used up: 85 of 100 tokens";
    assert_eq!(seen.iter().filter(|text| text.contains(of_turn)).count(), 4, "{seen:?}");
    // The warning of a turn does not replace those of the session, which come once.
    let of_session = ["the budget is nearly used up: 255 of 300 tokens", "4 of 5 turns"];
    for text in of_session {
        assert_eq!(seen.iter().filter(|it| it.contains(text)).count(), 1, "{seen:?}");
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// Services count the prompt when they begin to answer, also if the answer never ends.
#[tokio::test(start_paused = true)]
async fn calls_that_fail_are_paid_for() {
    let half = "usage: {input: 100, output: 1}";
    let scene = Scene::new(&format!(
        "- {{{half}, error: {{kind: network, message: lost}}}}\n\
         - {{text: done, usage: {{input: 100, output: 20}}}}\n\
         - {{{half}, error: {{kind: validation, message: no}}}}\n\
         - steps: [{{text: half}}, {{{half}}}, {{stall: {{gate: go}}}}]\n"
    ));
    let mut budget = Budget::default();
    budget.set("tokens=1000").unwrap();
    let session = scene.builder().budget(budget).open().await.unwrap();
    let used = async || {
        let costs = session.spending().costs().await.unwrap();
        let in_journal = session.session().journal().state(|state| state.usage).await.unwrap();
        assert_eq!(costs.usage(), in_journal);
        assert_eq!(session.spending().used().tokens, in_journal.total());
        (in_journal.total(), costs.models["scripted"].calls)
    };
    // It is retried.
    let result = session.submit("1").await.unwrap().result().await.unwrap();
    assert_eq!((result.response.as_str(), used().await), ("done", (221, 2)));
    assert_eq!(result.usage.unwrap().total_tokens, 221);
    // It is not retried.
    let _ = session.submit("2").await.unwrap().result().await;
    assert_eq!(used().await, (322, 3));
    // It is interrupted.
    let turn = session.submit("3").await.unwrap();
    scene.provider.reached("go").await;
    assert!(session.abort().await.unwrap());
    let _ = turn.result().await;
    assert_eq!(used().await, (423, 4));
    let events = scene.store.read(session.session().id(), 0, usize::MAX).await.unwrap();
    assert_eq!(robota_core::state::State::fold(&events).unwrap().usage.total(), 423);
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

#[tokio::test]
async fn the_settings_limit_a_session_and_the_builder_wins() {
    let scene = Scene::new(&format!("- {READ}\n- {READ}\n- never\n"));
    scene.write("project/a.txt", "hello\n");
    scene.write(
        "home/.robota/settings.json",
        r#"{"budget": {"tokens": 60, "usd": 3, "turn": {"seconds": 90}, "subagent": {"turns": 4}}}"#,
    );
    let session = with_price(&scene).open().await.unwrap();
    let budget = session.spending().budget();
    assert_eq!((budget.session.tokens, budget.session.usd), (Some(60), Some(3.0)));
    assert_eq!(budget.turn.time, Some(std::time::Duration::from_secs(90)));
    assert_eq!(budget.subagent.turns, Some(4));
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!((result.end, scene.provider.requests().len()), (TurnEnd::Stopped, 2));
    assert!(session.spending().stop_reason().unwrap().contains("100 of 60 tokens"));
    let mut larger = Budget::default();
    larger.set("tokens=1000").unwrap();
    let other = scene.builder().budget(larger).open().await.unwrap();
    assert_eq!(other.spending().budget().session.tokens, Some(1_000));
    assert_eq!(other.spending().budget().subagent.turns, Some(4));
}

#[tokio::test]
async fn a_resumed_session_continues_its_budget_and_a_larger_one_raises_it() {
    let scene =
        Scene::new(&format!("- {READ}\n- {{text: one, usage: {{input: 9, output: 1}}}}\n- two\n"));
    scene.write("project/a.txt", "hello\n");
    let budget = |limits: &[&str]| {
        let mut budget = Budget::default();
        limits.iter().for_each(|limit| budget.set(limit).unwrap());
        budget
    };
    let first = scene.builder().budget(budget(&["tokens=60"])).open().await.unwrap();
    let result = first.submit("1").await.unwrap().result().await.unwrap();
    assert_eq!(result.end, TurnEnd::Complete, "{result:?}");
    let used = first.spending().used();
    let id = first.id().to_string();
    first.shutdown("done").await.unwrap();
    let again = async |limits: &[&str]| {
        let choice = SessionChoice::Earlier(Earlier::Named(id.clone()));
        scene.builder().choose(choice).budget(budget(limits)).open().await.unwrap()
    };
    // The same limits, of tokens and of turns, are used up.
    for (limits, text) in [(["tokens=60"], "60 of 60 tokens"), (["turns=1"], "1 turns")] {
        let session = again(&limits).await;
        let now = session.spending().used();
        assert_eq!(now.tokens, 60);
        assert!(now.turns >= used.turns && now.time >= used.time, "{now:?}");
        let refused = session.submit("2").await.unwrap().result().await.unwrap_err();
        assert!(refused.to_string().contains(text), "{refused}");
        session.shutdown("done").await.unwrap();
    }
    assert_eq!(scene.provider.requests().len(), 2, "nothing was sent");
    let session = again(&["tokens=1000", "turns=9"]).await;
    let result = session.submit("3").await.unwrap().result().await.unwrap();
    assert_eq!((result.end, result.response.as_str()), (TurnEnd::Complete, "two"));
    assert_eq!(
        session.spending().used().tokens,
        session.spending().costs().await.unwrap().usage().total()
    );
}

#[tokio::test]
async fn a_budget_of_dollars_refuses_a_model_without_a_price() {
    for limit in ["usd=5", "turn.usd=5"] {
        let mut budget = Budget::default();
        budget.set(limit).unwrap();
        let scene = Scene::new("- done\n");
        let session = scene.builder().budget(budget).open().await.unwrap();
        let refused = session.submit("Go.").await.unwrap().result().await.unwrap_err();
        let text = "the price of the model `scripted` is not known";
        assert!(refused.to_string().contains(text), "{refused}");
        assert_eq!(scene.provider.requests().len(), 0, "{limit}");
        let session = with_price(&scene).budget(budget).open().await.unwrap();
        let result = session.submit("Go.").await.unwrap().result().await.unwrap();
        assert_eq!(result.response, "done");
    }
}

#[tokio::test]
async fn an_earlier_call_without_a_price_does_not_block_prompts_of_a_model_with_one() {
    let scene = Scene::new("- one\n- two\n- three\n");
    // The model of the scene has no price.
    let first = scene.builder().open().await.unwrap();
    first.submit("1").await.unwrap().result().await.unwrap();
    let id = first.id().to_string();
    first.shutdown("done").await.unwrap();
    let mut budget = Budget::default();
    budget.set("usd=5").unwrap();
    let choice = SessionChoice::Earlier(Earlier::Named(id));
    let session = with_price(&scene).choose(choice).budget(budget).open().await.unwrap();
    for (prompt, response) in [("2", "two"), ("3", "three")] {
        let result = session.submit(prompt).await.unwrap().result().await.unwrap();
        assert_eq!(result.response, response);
    }
}

#[tokio::test]
async fn a_refused_prompt_is_no_turn() {
    let scene = Scene::new("- one\n- two\n");
    let check = "grep -q secret && exit 2 || exit 0";
    let hook = serde_json::json!({"type": "command", "command": check});
    scene.write(
        "home/.robota/settings.json",
        &serde_json::json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}).to_string(),
    );
    let mut budget = Budget::default();
    budget.set("turns=2").unwrap();
    let session = scene.builder().budget(budget).open().await.unwrap();
    for _ in 0..3 {
        session.submit("The secret.").await.unwrap().result().await.unwrap_err();
    }
    assert_eq!(session.spending().used().turns, 0);
    for answer in ["one", "two"] {
        let result = session.submit("Go.").await.unwrap().result().await.unwrap();
        assert_eq!(result.response, answer);
    }
    assert_eq!(session.spending().used().turns, 2);
    let refused = session.submit("Go.").await.unwrap().result().await.unwrap_err();
    assert!(refused.to_string().contains("2 turns"), "{refused}");
}

#[tokio::test]
async fn a_checkout_limits_nothing_before_it_is_trusted() {
    let scene = Scene::new("- done\n");
    scene.write("project/.robota/settings.json", r#"{"budget": {"tokens": 1}}"#);
    assert_eq!(scene.open().await.spending().budget(), Budget::default());
}

#[tokio::test]
async fn a_turn_that_runs_out_of_time_is_interrupted_and_the_session_continues() {
    let scene = Scene::new("- {tools: [{tool: Bash, input: {command: sleep 60}}]}\n- done\n");
    let mut budget = Budget::default();
    budget.set("turn.seconds=1").unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notices = seen.clone();
    let builder = scene.builder().mode(robota_core::permission::Mode::BypassPermissions);
    let builder = builder.on_notice(move |notice| notices.lock().unwrap().push(notice.to_string()));
    let session = builder.budget(budget).open().await.unwrap();
    let result = session.submit("Wait.").await.unwrap().result().await.unwrap();
    assert_eq!(result.end, TurnEnd::Interrupted, "{result:?}");
    assert!(session.spending().stop_reason().unwrap().contains("1 s"));
    // No event of the session comes at 80 %.
    let warned = seen.lock().unwrap().clone();
    assert_eq!(warned, ["the budget of the turn is nearly used up: 1 of 1 s"]);
    let next = session.submit("Go on.").await.unwrap().result().await.unwrap();
    assert_eq!((next.end, next.response.as_str()), (TurnEnd::Complete, "done"));
    assert_eq!(session.spending().stop_reason(), None);
}

#[tokio::test]
async fn the_tokens_of_hooks_count() {
    let scene = Scene::new(
        "- {text: '{\"ok\": true}', usage: {input: 70, output: 5}}\n\
         - {text: one, usage: {input: 10, output: 1}}\n- two\n",
    );
    let hook = serde_json::json!({"type": "prompt", "prompt": "Is it fine? $ARGUMENTS"});
    scene.write(
        "home/.robota/settings.json",
        &serde_json::json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}).to_string(),
    );
    let mut budget = Budget::default();
    budget.set("tokens=80").unwrap();
    let session = scene.builder().budget(budget).open().await.unwrap();
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.response, "one");
    // The call of the hook is recorded by a task of its own.
    while session.spending().used().tokens < 86 {
        tokio::task::yield_now().await;
    }
    assert_eq!(session.spending().used().tokens, 86);
    assert_eq!(session.spending().costs().await.unwrap().usage().total(), 86);
    let blocked = session.submit("More.").await.unwrap().result().await.unwrap_err();
    assert!(blocked.to_string().contains("86 of 80 tokens"), "{blocked}");
}
