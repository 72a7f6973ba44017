use robota_core::usage::Usage;
use robota_sdk::{Budget, BudgetLimits, BudgetUse, Costs, ModelCost};
use serde_json::json;

use super::*;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

fn page(command: &str, lines: Vec<Line>) -> String {
    let mut program = Harness::open(110, 24);
    program.type_text(command);
    let effects = program.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Work(_)]), "{effects:?}");
    program.send(Event::Answered(Box::new(Report(Ok(lines)))));
    program.shown()
}

#[test]
fn the_page_of_costs_has_each_model_and_the_budget() {
    let mut costs = Costs::default();
    let usage = Usage { input_tokens: 1500, output_tokens: 300, ..Usage::default() };
    costs.models.insert("model-x".to_owned(), ModelCost { usage, cost: Some(0.25), calls: 3 });
    costs.models.insert("model-y".to_owned(), ModelCost { usage, cost: None, calls: 1 });
    let session = BudgetLimits { usd: Some(2.0), ..BudgetLimits::default() };
    let budget = Budget { session, ..Budget::default() };
    let used = BudgetUse { usd: 0.25, ..BudgetUse::default() };
    let shown = page("/cost", super::super::cost::lines(&costs, &budget, &used));
    assert!(shown.starts_with("Cost: at least $0.2500"), "{shown}");
    let used = "3 calls · 1.5K in · 300 out · 0 cache read · 0 cache write";
    assert!(shown.contains(&format!("model-x\n  $0.2500 · {used}")), "{shown}");
    assert!(shown.contains("model-y\n  unknown price · 1 call · "), "{shown}");
    assert!(shown.contains("Budget, dollars: $0.2500 of $2.00"), "{shown}");
}

#[test]
fn a_page_is_broken_again_when_the_terminal_changes_its_width() {
    let mut program = Harness::open(110, 24);
    program.type_text("/cost");
    program.press("enter");
    let text = format!("begin {}end", "word ".repeat(15));
    program.send(Event::Answered(Box::new(Report(Ok(vec![Line::new(text, Role::Text)])))));
    assert!(program.shown().starts_with("begin word"), "{}", program.shown());
    program.resize(40, 15);
    assert!(program.shown().contains(" end"), "{}", program.shown());
}

#[test]
fn the_page_of_todos_shows_what_is_done() {
    let todos = [
        json!({"content": "read", "status": "completed"}),
        json!({"content": "write", "status": "in_progress"}),
        json!({"content": "test", "status": "pending"}),
    ];
    let shown = page("/todos", super::super::todos::lines(&todos));
    assert!(shown.starts_with("To-do list: 1 of 3 done"), "{shown}");
    for line in ["☑ read", "▸ write", "☐ test"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn a_failure_is_a_message() {
    let mut program = Harness::open(80, 24);
    program.type_text("/cost");
    program.press("enter");
    program.send(Event::Answered(Box::new(Report(Err("no journal".to_owned())))));
    assert!(program.state.page.is_none());
    assert!(program.shown().contains("no journal"), "{}", program.shown());
}
