use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::hook::{
    AfterChange, HookElicitation, HookEvent, HookOutput, HookPermission, HookQuestion, HookVerdict,
    PreToolDecision, PromptDecision, StopDecision,
};

fn output(verdict: HookVerdict, reason: &str) -> HookOutput {
    let permission = Some(HookPermission { verdict, reason: Some(reason.to_owned()) });
    HookOutput { permission, ..HookOutput::default() }
}

fn input(value: &Value) -> HookOutput {
    HookOutput { updated_input: value.as_object().cloned(), ..HookOutput::default() }
}

fn merged(outputs: Vec<HookOutput>) -> PreToolDecision {
    HookOutput::merge(HookEvent::PreToolUse, outputs).into_pre_tool()
}

#[test]
fn core_22_the_strictest_answer_wins_with_the_first_reason() {
    let text = str::to_owned;
    let block = HookOutput { block: Some(text("no")), ..HookOutput::default() };
    let (allow, ask) = (output(HookVerdict::Allow, "a"), output(HookVerdict::Ask, "q1"));
    let (again, defer) = (output(HookVerdict::Ask, "q2"), output(HookVerdict::Defer, "later"));
    let nothing = HookOutput::default();
    assert_eq!(merged(vec![]), PreToolDecision::Continue);
    assert_eq!(
        merged(vec![nothing, allow.clone()]),
        PreToolDecision::Allow { reason: Some(text("a")) }
    );
    assert_eq!(
        merged(vec![allow.clone(), ask.clone(), again.clone()]),
        PreToolDecision::Ask(HookQuestion::new("q1"))
    );
    assert_eq!(merged(vec![again, defer, ask]), PreToolDecision::Ask(HookQuestion::new("later")));
    assert_eq!(merged(vec![allow, block]), PreToolDecision::Deny { reason: text("no") });
}

#[test]
fn core_22_changed_arguments_keep_the_decisions_of_other_hooks() {
    let (ls, rm) = (json!({"command": "ls"}), json!({"command": "rm"}));
    assert_eq!(
        merged(vec![input(&ls), output(HookVerdict::Ask, "sure?"), input(&ls)]),
        PreToolDecision::Change {
            input: ls.clone(),
            then: AfterChange::Ask(HookQuestion::new("sure?"))
        }
    );
    let PreToolDecision::Deny { reason } = merged(vec![input(&ls), input(&rm)]) else {
        panic!("two hooks cannot both have their way")
    };
    assert!(reason.contains("changed the arguments"), "{reason}");
}

#[test]
fn core_22_contexts_are_joined_and_stop_beats_continue() {
    let context =
        |text: &str| HookOutput { context: Some(text.to_owned()), ..HookOutput::default() };
    let all = HookOutput::merge(HookEvent::UserPromptSubmit, [context("a"), context("b")]);
    assert_eq!(all.into_prompt(), PromptDecision::Continue { context: Some("a\nb".to_owned()) });
    let stop = HookOutput { stop: Some("enough".to_owned()), ..HookOutput::default() };
    let go_on = HookOutput { block: Some("more".to_owned()), ..HookOutput::default() };
    let both = HookOutput::merge(HookEvent::Stop, [go_on.clone(), stop]);
    assert_eq!(both.into_stop(), StopDecision::Finish);
    assert_eq!(go_on.into_stop(), StopDecision::Continue { reason: "more".to_owned() });
}

/// Returns how strict a decision is.
fn strictness(decision: &PreToolDecision) -> u8 {
    match decision {
        PreToolDecision::Deny { .. } => 2,
        PreToolDecision::Ask(_) | PreToolDecision::Change { then: AfterChange::Ask(_), .. } => 1,
        PreToolDecision::Continue
        | PreToolDecision::Allow { .. }
        | PreToolDecision::Change { .. }
        | PreToolDecision::Answer { .. } => 0,
    }
}

fn any_output() -> impl Strategy<Value = HookOutput> {
    let verdict =
        prop_oneof![Just(HookVerdict::Allow), Just(HookVerdict::Ask), Just(HookVerdict::Defer)];
    let changed = prop::option::weighted(0.3, 0..2_u8);
    (
        prop::option::weighted(0.1, "[a-z]{1,3}"),
        prop::option::weighted(0.1, "[a-z]{1,3}"),
        prop::option::of((verdict, prop::option::of("[a-z]{1,3}"))),
        changed,
    )
        .prop_map(|(stop, block, permission, changed)| HookOutput {
            stop,
            block,
            permission: permission.map(|(verdict, reason)| HookPermission { verdict, reason }),
            updated_input: changed.map(|to| Map::from_iter([("to".to_owned(), to.into())])),
            ..HookOutput::default()
        })
}

proptest! {
    #[test]
    fn core_22_merged_output_is_never_less_strict_than_one_of_the_outputs(
        outputs in prop::collection::vec(any_output(), 0..6),
    ) {
        let all = strictness(&merged(outputs.clone()));
        for one in &outputs {
            prop_assert!(all >= strictness(&merged(vec![one.clone()])));
        }
        // The first hook gives the reason; the decision does not depend on the order.
        let mut reversed = outputs;
        reversed.reverse();
        prop_assert_eq!(all, strictness(&merged(reversed)));
    }
}

#[test]
fn core_22_hooks_that_answer_a_question_differently_block() {
    let answer = |answer| HookOutput { elicitation: Some(answer), ..HookOutput::default() };
    let merged = |outputs: Vec<_>| HookOutput::merge(HookEvent::Elicitation, outputs);
    let (accept, decline) = (HookElicitation::Accept(Map::new()), HookElicitation::Decline);
    let same = merged(vec![answer(accept.clone()), HookOutput::default(), answer(accept.clone())]);
    assert_eq!((same.elicitation, same.block), (Some(accept.clone()), None));
    let block = merged(vec![answer(accept), answer(decline)]).block;
    assert_eq!(block.as_deref(), Some("two Elicitation hooks answered one question differently"));
}
