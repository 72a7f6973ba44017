//! Rounds, their limit, the forced summary, tools that do not exist, the room for results.

use serde_json::json;

use super::harness::{Run, Setup, TurnConfig, config, say};
use super::invariants::assert_ended;
use crate::error::ErrorKind;
use crate::event::{Event, MessageInjected, Purpose, TurnEnd};
use crate::ids::CountingIds;
use crate::message::{Cause, Message, MessageState, ToolInput};
use crate::permission::Verdict;
use crate::provider::{Delta, LeftOut, ProviderError, StopReason};
use crate::tool::{AwaitedTools, ToolOutcome};
use crate::turn::{AtLimit, FALLBACK, SKIPPED_RESULT};

/// One round: the model asks for a read, which runs.
fn read_round(run: &mut Run) {
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    run.end();
    run.finish("read", ToolOutcome::ok("contents"));
}

#[test]
fn core_08_a_plain_answer_takes_one_round() {
    let mut run = Run::new(config());
    run.usage(10, 2);
    run.answer("hello");
    assert_ended(&run);
    let report = run.report();
    assert_eq!((report.end, report.text.as_str(), report.rounds), (TurnEnd::Complete, "hello", 1));
    assert_eq!(report.usage.total(), 12);
    assert_eq!(
        run.kinds(),
        [
            "turn_started",
            "user_message",
            "context_measured",
            "model_requested",
            "text_chunk",
            "model_responded",
            "assistant_message",
            "turn_finished"
        ]
    );
}

#[test]
fn a_turn_that_stops_at_its_limit_makes_no_further_call() {
    let mut run = Run::new(TurnConfig { max_rounds: 1, at_limit: AtLimit::Stop, ..config() });
    read_round(&mut run);
    assert_ended(&run);
    let report = run.report();
    assert_eq!((report.end, report.rounds, report.tools_executed), (TurnEnd::RoundLimit, 1, 1));
    assert_eq!(run.kinds().iter().filter(|kind| *kind == "model_requested").count(), 1);
}

/// An answer enters the history by one event, at its end, with every character it streamed.
#[test]
fn core_03_an_answer_is_committed_once_and_its_text_is_not_stripped() {
    let mut run = Run::new(config());
    run.text("  Hel");
    run.text("lo \n");
    assert!(!run.kinds().contains(&"assistant_message".to_owned()), "not before its end");
    run.end();
    assert_ended(&run);
    assert_eq!(run.last_message().text(), "  Hello \n");
    assert_eq!(run.last_message().state(), MessageState::Complete);
    assert_eq!(run.kinds().iter().filter(|kind| *kind == "assistant_message").count(), 1);
}

#[test]
fn core_03_an_empty_answer_is_committed_also_on_abort() {
    for (end, state) in [
        (Run::end as fn(&mut Run), MessageState::Complete),
        (Run::abort, MessageState::Interrupted(Cause::User)),
    ] {
        let mut run = Run::new(config());
        end(&mut run);
        assert_eq!(run.kinds().iter().filter(|kind| *kind == "assistant_message").count(), 1);
        assert!(run.last_message().content.is_empty());
        assert_eq!(run.last_message().state(), state);
    }
}

#[test]
fn core_08_the_default_limit_is_ten_rounds() {
    let mut run = Run::new(config());
    for _ in 0..10 {
        assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
        read_round(&mut run);
    }
    assert_eq!(run.model().unwrap().purpose, Purpose::SummaryAtLimit);
    run.answer("what I have");
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::RoundLimit);
    assert_eq!(run.report().text, "what I have");
    assert_eq!(run.report().tools_executed, 10);
}

#[test]
fn core_08_zero_is_no_limit() {
    let mut run = Run::new(TurnConfig { max_rounds: 0, ..config() });
    for _ in 0..40 {
        assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
        read_round(&mut run);
    }
    run.answer("done");
    assert_eq!(run.report().end, TurnEnd::Complete);
    assert_eq!(run.report().rounds, 41);
}

#[test]
fn core_08_a_paused_answer_continues_in_another_round() {
    let mut run = Run::new(config());
    run.text("first half");
    run.delta(Delta::End(StopReason::Pause));
    run.answer("second half");
    assert_ended(&run);
    let texts: Vec<_> = run.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["hello", "first half", "second half"]);
}

#[test]
fn core_17_content_that_a_model_cannot_take_is_reported_once() {
    let mut run = Run::new(config());
    let parts = LeftOut { reasoning: 1, attachments: 2, ..LeftOut::default() };
    run.delta(Delta::LeftOut(parts));
    read_round(&mut run);
    // The same parts are omitted again, and more reasoning, which was reported already.
    run.delta(Delta::LeftOut(LeftOut { reasoning: 2, ..parts }));
    read_round(&mut run);
    let more = LeftOut { attachments: 3, ..parts };
    run.delta(Delta::LeftOut(more));
    run.delta(Delta::LeftOut(LeftOut::default()));
    run.answer("done");
    assert_ended(&run);
    let reported: Vec<_> = run
        .journal
        .iter()
        .filter_map(|line| match &line.event {
            Event::ContentLeftOut(data) => Some((data.round, data.parts)),
            _ => None,
        })
        .collect();
    assert_eq!(reported, [(1, parts), (3, more)]);
    assert_eq!(run.state.left_out.as_ref().map(|reported| reported.parts), Some(more));
}

#[test]
fn core_08_an_input_for_the_next_round_comes_after_the_results() {
    let mut run = Run::new(config());
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    run.end();
    run.send("input-2", "also look there");
    assert_eq!(run.messages().len(), 2, "never between a call and its result");
    run.finish("read", ToolOutcome::ok("contents"));
    let texts: Vec<_> = run.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["hello", "", "", "also look there"]);
    assert!(run.state.inputs.is_empty(), "it is delivered");
    run.send("input-3", "and there");
    run.answer("done");
    assert_eq!(run.last_message().text(), "and there", "an answer is not final while words wait");
    run.answer("really done");
    assert_ended(&run);
}

/// Creates a run at its limit: the forced summary is open.
fn at_limit() -> Run {
    let mut run = Run::new(TurnConfig { max_rounds: 1, ..config() });
    read_round(&mut run);
    let call = run.model().unwrap();
    assert_eq!(call.purpose, Purpose::SummaryAtLimit);
    assert!(call.instruction.as_ref().unwrap().contains("no more tools"));
    run
}

#[test]
fn core_09_the_forced_summary_is_offered_no_tools_and_leaves_no_trace() {
    let config = TurnConfig {
        max_rounds: 1,
        tools_sha256: Some("t".to_owned()),
        prompt_sha256: Some("p".to_owned()),
        ..config()
    };
    let mut run = Run::new(config);
    read_round(&mut run);
    let instruction = run.model().unwrap().instruction.clone().unwrap();
    run.answer("summary");
    assert_ended(&run);
    let requested: Vec<_> = run
        .journal
        .iter()
        .filter_map(|line| match &line.event {
            Event::ModelRequested(data) => {
                Some((data.prompt.as_deref(), data.tools.as_deref(), data.instruction.clone()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        requested,
        [(Some("p"), Some("t"), None), (Some("p"), None, Some(instruction.clone()))]
    );
    assert!(run.messages().iter().all(|message| !message.text().contains(&instruction)));
}

#[test]
fn core_09_an_empty_summary_becomes_the_fallback() {
    for words in ["", "  \n"] {
        let mut run = at_limit();
        run.answer(words);
        assert_ended(&run);
        assert_eq!(run.report().text, FALLBACK);
        assert_eq!(run.report().end, TurnEnd::RoundLimit);
        assert!(run.last_message().text().ends_with(FALLBACK));
    }
}

#[test]
fn core_09_a_failing_summary_becomes_the_fallback() {
    let mut run = at_limit();
    run.fail_model(ProviderError::new(ErrorKind::Authentication, "refused"));
    assert_ended(&run);
    assert_eq!(run.report().text, FALLBACK);
    assert_eq!(run.report().end, TurnEnd::RoundLimit);
    assert_eq!(run.report().error, None);
    assert_eq!(run.last_message().text(), FALLBACK);

    // Text that had arrived stays in the conversation.
    let mut run = at_limit();
    run.text("half a summ");
    run.fail_model(ProviderError::new(ErrorKind::Authentication, "refused"));
    assert_ended(&run);
    assert_eq!(run.report().text, FALLBACK);
    assert_eq!(run.last_message().text(), "half a summ");
    assert_eq!(run.last_message().state(), MessageState::Interrupted(Cause::Provider));
}

#[test]
fn core_09_a_summary_that_fails_after_asking_for_tools_becomes_the_fallback_too() {
    let mut run = at_limit();
    run.call("call_9", "read", json!({}));
    run.fail_model(ProviderError::new(ErrorKind::Authentication, "refused"));
    assert_ended(&run);
    assert_eq!((run.report().end, run.report().error.clone()), (TurnEnd::RoundLimit, None));
    assert_eq!(run.report().text, FALLBACK);
}

#[test]
fn core_09_a_summary_that_asks_for_tools_gets_none() {
    let mut run = at_limit();
    run.text("I would read more");
    run.call("call_9", "read", json!({}));
    run.end();
    assert_ended(&run);
    assert_eq!(run.ran(), ["read"], "the one of the first round");
    assert!(run.results()[0].1.contains("not executed"));
    assert_eq!(run.report().text, "I would read more");
}

fn full_run(has_compactor: bool) -> Run {
    let mut message = Message::user(&CountingIds::default(), "x".repeat(4000));
    message.id = "old".into();
    Run::begin(Setup {
        config: TurnConfig { context_window: 1000, has_compactor, ..config() },
        before: vec![MessageInjected { message: message.into() }.into()],
        input: say("hello"),
        fail_at: None,
        reload: true,
    })
}

#[test]
fn core_10_nothing_is_sent_that_does_not_fit_and_the_numbers_say_why() {
    let run = full_run(false);
    assert_ended(&run);
    assert_eq!(run.model_calls(), 0);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
    let message = run.last_message();
    let facts = &message.metadata;
    let estimated = facts["estimated_tokens"].as_u64().unwrap();
    assert!(estimated > 950);
    assert_eq!(facts["max_tokens"], 1000);
    assert_eq!(facts["threshold"], 950);
    assert_eq!(facts["serialized_estimate"], estimated);
    assert_eq!(facts["provider_usage_floor"], 0);
    for number in [estimated, 1000, 950] {
        assert!(message.text().contains(&number.to_string()), "{}", message.text());
    }
}

#[test]
fn core_10_what_the_provider_counted_is_a_floor_between_rounds() {
    let mut run = Run::new(TurnConfig { context_window: 1000, ..config() });
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    run.usage(960, 10);
    run.end();
    run.finish("read", ToolOutcome::ok("contents"));
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::ContextFull);
    assert_eq!(run.last_message().metadata["provider_usage_floor"], 970);
}

#[test]
fn core_11_a_failed_call_becomes_an_answer_that_explains_it() {
    let mut run = Run::new(config());
    let error = ProviderError::new(ErrorKind::Authentication, "the key was refused");
    run.fail_model(error.with_hint("set another key"));
    assert_ended(&run);
    let report = run.report();
    assert_eq!(report.end, TurnEnd::ProviderFailed);
    assert_eq!(report.error.as_ref().unwrap().kind, ErrorKind::Authentication);
    let message = run.last_message();
    assert_eq!(message.text(), report.text);
    assert!(message.text().contains("the key was refused"));
    assert!(message.text().contains("Hint: set another key"));
    assert_eq!(message.metadata["error_code"], "AUTHENTICATION_ERROR");
}

#[test]
fn core_11_partial_text_stays_before_the_error_and_its_usage_counts() {
    let mut run = Run::new(config());
    run.text("half an ans");
    run.usage(7, 3);
    run.fail_model(ProviderError::new(ErrorKind::Validation, "too long"));
    assert_ended(&run);
    let message = run.last_message();
    assert!(message.text().starts_with("half an ans") && message.text().contains("too long"));
    assert_eq!(message.state(), MessageState::Interrupted(Cause::Provider));
    assert_eq!(run.state.usage, run.report().usage);
    assert_eq!(run.report().usage.total(), 10);
}

#[test]
fn core_11_calls_of_a_failed_answer_get_results_before_the_error() {
    let mut run = Run::new(config());
    run.calls(&["read", "edit"]);
    run.judge(Verdict::Allow);
    assert_eq!(run.running(), ["read"]);
    run.fail_model(ProviderError::new(ErrorKind::Authentication, "refused"));
    run.finish("read", ToolOutcome::ok("contents"));
    assert_ended(&run);
    assert_eq!(run.results()[0], ("read".to_owned(), "contents".to_owned()));
    assert!(run.results()[1].1.contains("not executed"));
    assert!(run.last_message().text().contains("refused"));
}

#[test]
fn core_16_a_call_of_a_tool_that_is_awaited_is_no_mistake() {
    let reason = "The server is starting; wait for it.".to_owned();
    let awaited = AwaitedTools { prefix: "mcp__docs__".to_owned(), reason };
    let mut run = Run::new(TurnConfig { awaited: vec![awaited], ..config() });
    // More often than a model may call tools that do not exist.
    for number in 0..6 {
        run.call(&format!("call_{number}"), "mcp__docs__find", json!({"at": number}));
        run.end();
        let result = run.last_message().tool_results().next().unwrap().clone();
        assert_eq!(result.metadata["error_code"], "tool_starting");
        let (_, text) = run.results().last().unwrap().clone();
        assert!(text.contains("wait for it"), "{text}");
    }
    run.answer("I see");
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::Complete);
}

#[test]
fn core_16_an_unknown_tool_is_answered_and_nothing_runs() {
    let mut run = Run::new(config());
    run.call("call_0", "agent", json!({}));
    assert!(run.jobs.len() == 1, "no question is open: {:?}", run.jobs);
    run.end();
    assert_eq!(run.ran(), Vec::<String>::new());
    let (name, text) = run.results()[0].clone();
    assert_eq!(name, "agent");
    assert!(text.contains("not executed") && text.contains("registered"), "{text}");
    assert!(text.contains("bash, edit, grep, read"), "{text}");
    let result = run.last_message().tool_results().next().unwrap().clone();
    assert!(result.is_error);
    assert_eq!(result.metadata["error_code"], "unknown_tool");
    assert_eq!(result.metadata["requested_tool"], "agent");
    assert_eq!(result.metadata["available_tools"], json!(["bash", "edit", "grep", "read"]));
    run.answer("I see");
    assert_ended(&run);
    assert_eq!(run.report().tools_executed, 0);
    assert_eq!(run.report().end, TurnEnd::Complete);
}

#[test]
fn core_16_after_two_rounds_a_last_call_without_tools_names_them() {
    let mut run = Run::new(config());
    for name in ["agent", "robot"] {
        assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
        run.calls(&["read", name]);
        run.judge(Verdict::Allow);
        run.end();
        run.finish("read", ToolOutcome::ok("contents"));
    }
    let call = run.model().unwrap().clone();
    assert_eq!(call.purpose, Purpose::SummaryWithoutTools);
    let instruction = call.instruction.unwrap();
    assert!(instruction.contains("agent, robot") && instruction.contains("not registered"));
    run.answer("then without");
    assert_ended(&run);
    assert_eq!(run.report().end, TurnEnd::UnknownTools);
    assert_eq!(run.report().tools_executed, 2);
}

#[test]
fn core_16_rounds_in_between_start_the_count_again() {
    let mut run = Run::new(config());
    for name in ["agent", "read", "agent"] {
        assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
        run.calls(&[name]);
        run.judge(Verdict::Allow);
        run.end();
        if name == "read" {
            run.finish("read", ToolOutcome::ok("contents"));
        }
    }
    assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
    // So does an answer without calls, if an input that arrived meanwhile continues the turn.
    run.send("input-2", "go on");
    run.answer("hm");
    run.calls(&["agent"]);
    run.end();
    assert_eq!(run.model().unwrap().purpose, Purpose::Answer);
}

#[test]
fn core_16_arguments_that_cannot_be_read_are_answered_and_nothing_runs() {
    let mut run = Run::new(config());
    run.delta(super::harness::tool_call("call_0", "read", ToolInput::parse("{\"a\":")));
    run.end();
    assert_eq!(run.ran(), Vec::<String>::new());
    assert!(run.results()[0].1.contains("not valid JSON"));
    let result = run.last_message().tool_results().next().unwrap().clone();
    assert_eq!(result.metadata["error_code"], "invalid_input");
}

#[test]
fn core_17_provider_ids_repeat_from_round_to_round() {
    let mut run = Run::new(config());
    read_round(&mut run);
    read_round(&mut run);
    run.answer("done");
    assert_ended(&run);
    let messages = run.messages();
    let calls: Vec<_> = messages.iter().flat_map(|message| message.tool_uses()).collect();
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["call_0", "call_0"]);
    assert_ne!(calls[0].call, calls[1].call, "ours differ");
    let results: Vec<_> = messages.iter().flat_map(|message| message.tool_results()).collect();
    assert_eq!(results[0].id, "call_0");
    assert_eq!(results[1].call, calls[1].call);
}

#[test]
fn core_17_the_same_id_twice_in_one_answer_is_one_call() {
    let mut run = Run::new(config());
    run.call("call_0", "read", json!({}));
    run.call("call_0", "read", json!({}));
    run.call("", "grep", json!({}));
    run.call("", "grep", json!({}));
    run.judge(Verdict::Allow);
    run.end();
    assert_eq!(run.ran(), ["read", "grep", "grep"]);
}

#[test]
fn core_18_results_that_do_not_fit_are_skipped_and_the_turn_continues() {
    let mut run = Run::new(TurnConfig { context_window: 1000, ..config() });
    run.calls(&["read", "grep", "read", "bash"]);
    run.judge(Verdict::Allow);
    run.end();
    // Two characters a token: 1,600 characters are the 80 %.
    run.finish("read", ToolOutcome::ok("a".repeat(1000)));
    run.finish("grep", ToolOutcome::ok("b".repeat(700)));
    run.finish("read", ToolOutcome::ok("c".repeat(10)));
    run.finish("bash", ToolOutcome::failed("exit", "d"));
    let texts: Vec<_> = run.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts[..2], ["a".repeat(1000), "b".repeat(700)]);
    assert_eq!(texts[2..], [SKIPPED_RESULT, SKIPPED_RESULT]);
    assert_eq!(
        SKIPPED_RESULT,
        "Error: Context window near capacity. Tool execution result skipped."
    );
    let batch = run.journal.iter().find_map(|line| match &line.event {
        Event::ToolBatchFinished(data) => Some(data.clone()),
        _ => None,
    });
    let batch = batch.unwrap();
    assert_eq!((batch.added, batch.skipped, batch.failed), (2, 2, 1));
    assert!(batch.overflowed());
    assert!(run.model().is_some(), "the turn continues");
    run.answer("from what I saw");
    assert_ended(&run);
    assert_eq!(run.report().tools_executed, 4);
}
