//! What hooks and answers may change, and what they may not.

use serde_json::json;

use super::harness::{INPUT, Job, Run, TurnConfig, config, judgement};
use super::invariants::assert_ended;
use crate::approve::{Answer, Scope};
use crate::event::{DecidedBy, Event, TurnEnd};
use crate::gate::{Judgement, Source};
use crate::hook::{
    AfterChange, HookAnswer, HookInput, HookPoint, HookQuestion, HookReply, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use crate::ids::InputId;
use crate::permission::Verdict;
use crate::tool::{DidRun, ToolOutcome};
use crate::turn::{HookPoints, Input, JudgeResult};

fn with(point: HookPoint) -> TurnConfig {
    TurnConfig { hooks: HookPoints::new([point]), ..config() }
}

/// Creates a run with a call of `bash` that was judged and waits for its PreToolUse hook.
fn before_hook(verdict: Verdict, source: Source) -> Run {
    let mut run = Run::new(with(HookPoint::PreToolUse));
    run.calls(&["bash"]);
    run.judge_with(|tool_use| {
        JudgeResult::Judgement(Judgement { source, ..judgement(verdict, &tool_use.name) })
    });
    assert!(!run.jobs.iter().any(|job| matches!(job, Job::Hook(_))), "not before the answer ends");
    run.end();
    run
}

fn ask_from(source: Source) -> JudgeResult {
    JudgeResult::Judgement(Judgement { source, ..judgement(Verdict::Ask, "bash") })
}

fn pre(run: &mut Run, decision: PreToolDecision) {
    run.hooked(HookAnswer::PreToolUse(decision));
}

/// Creates a run with a call of `bash` that ran and waits for its PostToolUse hook.
fn after_run() -> Run {
    let mut run = Run::new(with(HookPoint::PostToolUse));
    run.calls(&["bash"]);
    run.judge(Verdict::Allow);
    run.end();
    run.finish("bash", ToolOutcome::ok("output"));
    run
}

fn decisions(run: &Run) -> Vec<(Verdict, DecidedBy, String)> {
    let decided = run.journal.iter().filter_map(|line| match &line.event {
        Event::PermissionDecided(data) => Some((data.verdict, data.by, data.reason.clone())),
        _ => None,
    });
    decided.collect()
}

fn is_asked(run: &Run) -> bool {
    run.jobs.iter().any(|job| matches!(job, Job::Question(_)))
}

#[test]
fn core_22_a_pre_hook_may_deny() {
    let mut run = before_hook(Verdict::Allow, Source::Rule);
    pre(&mut run, PreToolDecision::Deny { reason: "not today".to_owned() });
    assert_eq!(run.results()[0].1, "Blocked by hook: not today");
    assert_eq!(decisions(&run), [(Verdict::Deny, DecidedBy::Hook, "not today".to_owned())]);
    assert_eq!(run.ran(), Vec::<String>::new());
}

#[test]
fn core_22_a_pre_hook_may_ask_for_what_was_allowed() {
    let mut run = before_hook(Verdict::Allow, Source::Rule);
    pre(&mut run, PreToolDecision::Ask(HookQuestion::new("sure?")));
    assert!(is_asked(&run));
    run.reply(Answer::Deny { note: None });
    assert_eq!(run.results()[0].1, "Permission denied: not approved");
    assert_eq!(run.ran(), Vec::<String>::new());
}

#[test]
fn core_22_a_pre_hook_lifts_an_ask_of_the_mode_and_is_recorded() {
    let mut run = before_hook(Verdict::Ask, Source::Mode);
    pre(&mut run, PreToolDecision::Allow { reason: Some("known good".to_owned()) });
    assert_eq!(run.running(), ["bash"]);
    assert_eq!(decisions(&run), [(Verdict::Allow, DecidedBy::Hook, "known good".to_owned())]);
}

#[test]
fn core_22_a_pre_hook_does_not_lift_an_ask_of_a_rule() {
    let mut run = before_hook(Verdict::Ask, Source::Rule);
    pre(&mut run, PreToolDecision::Allow { reason: None });
    assert!(is_asked(&run) && run.running().is_empty());
    run.reply(Answer::Allow { note: Some("go".to_owned()) });
    assert_eq!(run.running(), ["bash"]);
    assert_eq!(decisions(&run), [(Verdict::Allow, DecidedBy::User, "go".to_owned())]);
}

#[test]
fn core_22_changed_arguments_are_judged_again_and_hooks_are_not() {
    let mut run = before_hook(Verdict::Allow, Source::Mode);
    pre(
        &mut run,
        PreToolDecision::Change { input: json!({ "command": "rm" }), then: AfterChange::Judge },
    );
    assert!(run.running().is_empty());
    let Some(Job::Judge(again)) = run.jobs.first().cloned() else { panic!("{:?}", run.jobs) };
    assert_eq!(again.input.json(), Some(&json!({ "command": "rm" })));
    run.judge(Verdict::Ask);
    assert!(is_asked(&run), "no second hook: {:?}", run.jobs);
    run.reply(Answer::Allow { note: None });
    let Some(Job::Tool { tool_use, .. }) = run.jobs.first() else { panic!("{:?}", run.jobs) };
    assert_eq!(tool_use.input.json(), Some(&json!({ "command": "rm" })));
    let started = run.journal.iter().find_map(|line| match &line.event {
        Event::ToolStarted(data) => data.input.clone(),
        _ => None,
    });
    assert_eq!(started, Some(json!({ "command": "rm" })), "the journal says what really ran");
    let asked = run.messages()[1].tool_uses().next().unwrap().clone();
    assert_eq!(asked.input.json(), Some(&json!({ "at": 0 })), "the conversation what was asked");
}

#[test]
fn arguments_that_the_approver_changed_are_judged_and_only_a_denial_counts() {
    for (verdict, runs) in [(Verdict::Allow, true), (Verdict::Ask, true), (Verdict::Deny, false)] {
        let mut run = before_hook(Verdict::Ask, Source::Rule);
        pre(&mut run, PreToolDecision::Continue);
        let input = json!({ "command": "ls" });
        run.reply(Answer::AllowChanged { input: input.clone(), note: Some("safer".to_owned()) });
        run.judge(verdict);
        assert_eq!(run.running() == ["bash"], runs, "{verdict:?}");
        if let Some(Job::Tool { tool_use, .. }) = run.jobs.first() {
            assert_eq!(tool_use.input.json(), Some(&input));
            assert_eq!(decisions(&run), [(Verdict::Allow, DecidedBy::User, "safer".to_owned())]);
        }
    }
}

#[test]
fn a_question_without_an_answer_is_not_denied_by_the_user() {
    let mut run = before_hook(Verdict::Ask, Source::Mode);
    pre(&mut run, PreToolDecision::Continue);
    run.reply(Answer::Unanswered { reason: "no one was asked".to_owned() });
    assert_eq!(decisions(&run), [(Verdict::Deny, DecidedBy::Gate, "no one was asked".to_owned())]);
}

#[test]
fn core_22_arguments_changed_to_null_are_null_and_not_the_old_ones() {
    let mut run = before_hook(Verdict::Allow, Source::Mode);
    pre(&mut run, PreToolDecision::Change { input: json!(null), then: AfterChange::Judge });
    run.judge(Verdict::Allow);
    let Some(Job::Tool { tool_use, .. }) = run.jobs.first() else { panic!("{:?}", run.jobs) };
    assert_eq!(tool_use.input.json(), Some(&json!(null)));
}

#[test]
fn core_22_a_hook_that_changes_arguments_may_ask_or_allow_too() {
    let change = |then| PreToolDecision::Change { input: json!({ "command": "ls" }), then };
    let ask = || change(AfterChange::Ask(HookQuestion::new("look first")));
    let allow = || change(AfterChange::Allow { reason: None });

    let mut run = before_hook(Verdict::Allow, Source::Mode);
    pre(&mut run, ask());
    assert!(run.running().is_empty());
    run.judge(Verdict::Allow);
    assert!(is_asked(&run), "allowed by the gate, asked for by the hook: {:?}", run.jobs);

    let mut run = before_hook(Verdict::Ask, Source::Mode);
    pre(&mut run, allow());
    run.judge_with(|_| ask_from(Source::Mode));
    assert_eq!(run.running(), ["bash"], "an ask of the mode is lifted");

    let mut run = before_hook(Verdict::Ask, Source::Mode);
    pre(&mut run, allow());
    run.judge_with(|_| ask_from(Source::Rule));
    assert!(is_asked(&run) && run.running().is_empty(), "one of a rule is not");

    let mut run = before_hook(Verdict::Allow, Source::Mode);
    pre(&mut run, allow());
    run.judge(Verdict::Deny);
    assert!(run.results()[0].1.starts_with("Permission denied: "));
}

#[test]
fn core_22_changed_arguments_may_be_denied_or_wrong() {
    let mut run = before_hook(Verdict::Allow, Source::Mode);
    pre(&mut run, PreToolDecision::Change { input: json!(3), then: AfterChange::Judge });
    run.judge_with(|_| JudgeResult::Invalid("`3` is no object".to_owned()));
    assert!(run.results()[0].1.contains("`3` is no object"));

    let mut run = before_hook(Verdict::Allow, Source::Mode);
    pre(&mut run, PreToolDecision::Change { input: json!({}), then: AfterChange::Judge });
    run.judge(Verdict::Deny);
    assert!(run.results()[0].1.starts_with("Permission denied: "));
    assert_eq!(run.ran(), Vec::<String>::new());
}

#[test]
fn core_22_a_pre_hook_may_answer_instead_of_the_tool() {
    let mut run = before_hook(Verdict::Ask, Source::Rule);
    pre(&mut run, PreToolDecision::Answer { outcome: ToolOutcome::ok("from the cache") });
    assert_eq!(run.results()[0].1, "from the cache");
    let outcome = run.journal.iter().find_map(|line| match &line.event {
        Event::ToolFinished(data) => Some(data.outcome.clone()),
        _ => None,
    });
    assert_eq!(outcome.map(|outcome| outcome.ran), Some(DidRun::No));
    run.answer("ok");
    assert_eq!(run.report().tools_executed, 0);
}

#[test]
fn core_22_a_denied_call_reaches_no_hook() {
    let run = before_hook(Verdict::Deny, Source::Rule);
    assert!(run.results()[0].1.starts_with("Permission denied: "));
    assert!(!run.kinds().contains(&"hook_started".to_owned()));
}

#[test]
fn core_22_an_answer_for_another_point_blocks() {
    let wrong = HookAnswer::Stop(StopDecision::Finish);
    let mut run = before_hook(Verdict::Allow, Source::Mode);
    run.hooked(wrong.clone());
    assert!(run.results()[0].1.starts_with("Blocked by hook: "), "{:?}", run.results());

    let mut run = after_run();
    run.hooked(wrong.clone());
    assert!(run.results()[0].1.starts_with("Blocked by hook: "), "{:?}", run.results());

    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    run.hooked(wrong);
    assert_eq!(run.report().end, TurnEnd::Blocked);

    let mut run = Run::new(with(HookPoint::Stop));
    run.answer("done");
    run.hooked(HookAnswer::PreToolUse(PreToolDecision::Continue));
    assert_eq!(run.report().end, TurnEnd::Complete);
}

#[test]
fn core_22_a_post_hook_may_replace_or_block_a_result() {
    let mut run = after_run();
    assert!(
        matches!(run.hook(), HookInput::PostToolUse { outcome, .. } if outcome.text() == "output")
    );
    let outcome = ToolOutcome::ok("redacted");
    run.hooked(HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }));
    assert_eq!(run.results()[0].1, "redacted");

    let mut run = after_run();
    let reason = "a secret is in it".to_owned();
    run.hooked(HookAnswer::PostToolUse(PostToolDecision::Block { reason }));
    assert_eq!(run.results()[0].1, "Blocked by hook: a secret is in it");
    run.answer("ok");
    assert_ended(&run);
    assert_eq!(run.report().tools_executed, 1, "it ran, although the model does not see it");

    let mut run = after_run();
    run.hooked(HookAnswer::PostToolUse(PostToolDecision::Continue));
    assert_eq!(run.results()[0].1, "output");
}

#[test]
fn core_22_a_prompt_hook_adds_context_or_blocks() {
    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    assert!(run.messages().is_empty() && run.model().is_none());
    let context = Some("it is Tuesday ".to_owned());
    run.hooked(HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }));
    assert_eq!(run.last_message().text(), "it is Tuesday hello");

    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    let reason = "off topic".to_owned();
    run.hooked(HookAnswer::UserPromptSubmit(PromptDecision::Block { reason }));
    assert_ended(&run);
    assert_eq!((run.report().end, run.model_calls()), (TurnEnd::Blocked, 0));
    assert_eq!(run.report().text, "Blocked by hook: off topic");
    assert!(
        !run.state.inputs.contains_key(&crate::ids::InputId::from(INPUT))
            && run.messages().is_empty()
    );
}

fn prompt(run: &mut Run, decision: PromptDecision) {
    run.hooked(HookAnswer::UserPromptSubmit(decision));
}

fn go_on() -> PromptDecision {
    PromptDecision::Continue { context: None }
}

fn block(reason: &str) -> PromptDecision {
    PromptDecision::Block { reason: reason.to_owned() }
}

/// Returns the text of the input on which the hooks run.
fn prompted(run: &mut Run) -> String {
    let HookInput::UserPromptSubmit { content } = run.hook() else { panic!("another hook") };
    crate::message::Message::user(&crate::ids::CountingIds::default(), content).text()
}

#[test]
fn core_22_a_prompt_hook_runs_on_each_input_for_the_next_round() {
    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    prompt(&mut run, go_on());
    run.calls(&["read"]);
    run.judge(Verdict::Allow);
    run.end();
    run.send("input-2", "bad");
    run.send("input-3", "good");
    run.finish("read", ToolOutcome::ok("contents"));
    assert_eq!(prompted(&mut run), "bad");
    assert_eq!(run.turn.prompted_input().map(InputId::as_str), Some("input-2"));
    assert_eq!(run.model_calls(), 1, "the model waits for the hooks");
    prompt(&mut run, block("off topic"));
    assert_eq!(prompted(&mut run), "good");
    prompt(&mut run, PromptDecision::Continue { context: Some("by the way: ".to_owned()) });
    let texts: Vec<_> = run.messages().iter().map(crate::message::Message::text).collect();
    assert_eq!(texts, ["hello", "", "", "by the way: good"]);
    let blocked: Vec<_> = run
        .journal
        .iter()
        .filter_map(|line| match &line.event {
            Event::InputBlocked(data) => Some((data.input.clone().unwrap(), data.reason.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(blocked, [("input-2".into(), "off topic".to_owned())]);
    assert!(run.state.inputs.is_empty());
    run.answer("done");
    assert_ended(&run);
    assert_eq!((run.report().end, run.model_calls()), (TurnEnd::Complete, 2));
}

#[test]
fn core_22_an_input_is_withdrawn_while_its_hooks_run_and_the_turn_goes_on() {
    for after_answer in [false, true] {
        let mut run = Run::new(with(HookPoint::UserPromptSubmit));
        prompt(&mut run, go_on());
        if !after_answer {
            run.calls(&["read"]);
            run.judge(Verdict::Allow);
            run.end();
        }
        run.send("input-2", "not needed");
        run.send("input-3", "good");
        match after_answer {
            true => run.answer("done"),
            false => run.finish("read", ToolOutcome::ok("contents")),
        }
        run.feed(Input::Withdraw { input: "input-3".into() });
        assert_eq!(run.turn.prompted_input().map(InputId::as_str), Some("input-2"), "not that one");
        run.feed(Input::Withdraw { input: "input-2".into() });
        assert_eq!(prompted(&mut run), "good", "the turn goes on with the next input");
        prompt(&mut run, go_on());
        assert!(run.state.inputs.is_empty());
        run.answer("done");
        assert_ended(&run);
        assert_eq!(run.report().end, TurnEnd::Complete);
        assert!(run.messages().iter().all(|message| message.text() != "not needed"));
    }
}

#[test]
fn core_22_a_blocked_input_after_an_answer_leaves_the_answer_final() {
    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    prompt(&mut run, go_on());
    run.send("input-2", "bad");
    run.answer("done");
    assert_eq!(prompted(&mut run), "bad");
    prompt(&mut run, block("off topic"));
    assert_ended(&run);
    assert_eq!((run.report().end, run.model_calls()), (TurnEnd::Complete, 1));
    assert_eq!(run.report().text, "done");

    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    prompt(&mut run, go_on());
    run.send("input-2", "more");
    run.answer("done");
    prompt(&mut run, go_on());
    assert_eq!(run.last_message().text(), "more");
    run.answer("really done");
    assert_eq!((run.report().end, run.model_calls()), (TurnEnd::Complete, 2));
}

#[test]
fn core_22_an_abort_while_a_prompt_hook_runs_keeps_no_input() {
    let mut run = Run::new(with(HookPoint::UserPromptSubmit));
    prompt(&mut run, go_on());
    run.calls(&["read"]);
    run.judge(Verdict::Allow);
    run.end();
    run.send("input-2", "more");
    run.finish("read", ToolOutcome::ok("contents"));
    assert_eq!(prompted(&mut run), "more");
    run.abort();
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Interrupted);
    assert!(run.state.inputs.is_empty() && run.jobs.is_empty(), "{:?}", run.jobs);
    assert!(run.messages().iter().all(|message| message.text() != "more"));
}

#[test]
fn core_22_a_stop_hook_continues_a_turn_eight_times_at_most() {
    let mut run = Run::new(TurnConfig { max_rounds: 0, ..with(HookPoint::Stop) });
    for round in 0..8 {
        run.answer("done");
        let HookInput::Stop { active, text } = run.hook() else { panic!("another hook") };
        assert_eq!((active, text.as_str()), (round > 0, "done"));
        let reason = format!("not yet {round}");
        run.hooked(HookAnswer::Stop(StopDecision::Continue { reason }));
        assert_eq!(run.last_message().text(), format!("not yet {round}"));
    }
    run.answer("now really");
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Complete);
    assert_eq!(run.report().text, "now really");
    assert_eq!(run.report().rounds, 9);
}

#[test]
fn core_21_a_question_may_be_answered_either_way_and_says_who_decided() {
    for (answer, verdict, ran) in [
        (Answer::Allow { note: None }, Verdict::Allow, 1),
        (Answer::Deny { note: Some("no".to_owned()) }, Verdict::Deny, 0),
    ] {
        let mut run = Run::new(config());
        run.calls(&["bash"]);
        run.judge(Verdict::Ask);
        assert!(!is_asked(&run), "no question about an answer that is not committed");
        run.end();
        run.reply(answer);
        let decided = decisions(&run);
        assert_eq!((decided[0].0, decided[0].1), (verdict, DecidedBy::User));
        assert_eq!(run.ran().len(), ran);
    }
}

#[test]
fn core_21_invalid_arguments_get_an_error_result_and_nothing_runs() {
    let mut run = Run::new(config());
    run.calls(&["bash"]);
    run.judge_with(|_| JudgeResult::Invalid("`command` is missing".to_owned()));
    run.end();
    assert!(run.results()[0].1.contains("`command` is missing"));
    assert_eq!(run.ran(), Vec::<String>::new());
}

fn beside(answer: HookAnswer, context: Option<&str>, stop: Option<&str>) -> HookReply {
    let (context, stop) = (context.map(str::to_owned), stop.map(str::to_owned));
    HookReply { answer, context, stop }
}

#[test]
fn core_22_text_of_tool_hooks_is_added_to_the_result() {
    let hooks = HookPoints::new([HookPoint::PreToolUse, HookPoint::PostToolUse]);
    let mut run = Run::new(TurnConfig { hooks, ..config() });
    run.calls(&["bash"]);
    run.judge(Verdict::Allow);
    run.end();
    let go = HookAnswer::PreToolUse(PreToolDecision::Continue);
    run.hook_replied(beside(go, Some("mind the branch"), None));
    run.finish("bash", ToolOutcome::ok("output"));
    let go = HookAnswer::PostToolUse(PostToolDecision::Continue);
    run.hook_replied(beside(go, Some("it was slow"), None));
    assert_eq!(run.results()[0].1, "outputmind the branch\nit was slow");
    let recorded = run.journal.iter().find_map(|line| match &line.event {
        Event::ToolFinished(data) => Some(data.outcome.text()),
        _ => None,
    });
    assert_eq!(recorded.as_deref(), Some("output"), "what the tool said stays what it said");
}

#[test]
fn core_22_a_pre_hook_that_stops_ends_the_turn_and_nothing_more_starts() {
    let mut run = Run::new(with(HookPoint::PreToolUse));
    run.calls(&["bash", "bash"]);
    run.judge(Verdict::Allow);
    run.judge(Verdict::Allow);
    run.end();
    let go = HookAnswer::PreToolUse(PreToolDecision::Continue);
    run.hook_replied(beside(go, None, Some("lunch")));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Stopped);
    assert_eq!(run.report().text, "Stopped by hook: lunch");
    assert_eq!(run.ran(), Vec::<String>::new());
    let results = run.results();
    assert_eq!(results[0].1, "Blocked by hook: lunch");
    assert_eq!(results[1].1, "Not executed: a hook ended the turn (lunch)");
}

#[test]
fn core_22_a_denial_that_stops_ends_the_turn_and_nothing_more_starts() {
    let mut run = Run::new(config());
    run.calls(&["bash", "bash"]);
    run.judge(Verdict::Ask);
    run.judge(Verdict::Allow);
    run.end();
    run.reply(Answer::DenyAndStop { reason: "not here".to_owned() });
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Stopped);
    assert_eq!(run.ran(), Vec::<String>::new());
    let results = run.results();
    assert!(results[0].1.contains("not here"), "{results:?}");
    assert_eq!(results[1].1, "Not executed: a hook ended the turn (not here)");
}

#[test]
fn core_22_a_post_hook_that_stops_keeps_the_result_and_ends_the_turn() {
    let mut run = after_run();
    let go = HookAnswer::PostToolUse(PostToolDecision::Continue);
    run.hook_replied(beside(go, None, Some("enough")));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Stopped);
    assert_eq!(run.results()[0].1, "output");
}

#[test]
fn core_22_calls_that_run_when_a_hook_stops_end_and_get_their_hooks() {
    let hooks = HookPoints::new([HookPoint::PostToolUse]);
    let mut run = Run::new(TurnConfig { hooks, ..config() });
    run.calls(&["read", "read"]);
    run.judge(Verdict::Allow);
    run.judge(Verdict::Allow);
    run.end();
    run.finish("read", ToolOutcome::ok("first"));
    let go = HookAnswer::PostToolUse(PostToolDecision::Continue);
    run.hook_replied(beside(go.clone(), None, Some("enough")));
    assert_eq!(run.running(), ["read"], "the other one still runs");
    run.finish("read", ToolOutcome::ok("second"));
    run.hooked(go);
    assert_eq!(run.report().end, TurnEnd::Stopped);
    let results: Vec<_> = run.results().into_iter().map(|result| result.1).collect();
    assert_eq!(results, ["first", "second"]);
}

#[test]
fn core_22_text_of_a_stop_hook_continues_the_turn() {
    let mut run = Run::new(with(HookPoint::Stop));
    run.answer("done");
    run.hook_replied(beside(HookAnswer::Stop(StopDecision::Finish), Some("tests fail"), None));
    assert_eq!(run.last_message().text(), "tests fail");
    run.answer("fixed");
    run.hooked(HookAnswer::Stop(StopDecision::Finish));
    assert_eq!(run.report().text, "fixed");
}

#[test]
fn core_21_a_remembered_approval_records_its_scope() {
    let mut run = Run::new(config());
    run.calls(&["bash"]);
    run.judge(Verdict::Ask);
    run.end();
    let rules = vec!["Bash(make)".to_owned()];
    run.reply(Answer::Remember { scope: Scope::Session, rules: rules.clone(), note: None });
    assert_eq!(run.running(), ["bash"]);
    let decided = run.journal.iter().find_map(|line| match &line.event {
        Event::PermissionDecided(data) => Some((data.scope, data.rules.clone())),
        _ => None,
    });
    assert_eq!(decided, Some((Some(Scope::Session), rules)));
}
