//! The driver against a scripted model: what only shows when time passes and tasks run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use robota_core::agent::Agent;
use robota_core::approve::{Answer, Approver, Question};
use robota_core::call::CallContext;
use robota_core::event::{Durability, Event, TurnEnd};
use robota_core::gate::{AllowAll, ModeGate};
use robota_core::message::{Cause, MessageState, Role};
use robota_core::permission::{Class, Mode, Verdict};
use robota_core::provider::{
    DeltaStream, ModelRequest, NativePayload, NativeWeb, PayloadKind, PayloadSink, Provider,
    ProviderError, RetryPolicy,
};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_core::turn::ToolConcurrency;
use robota_testkit::{
    FailingJournal, RecordingApprover, Run, Script, ScriptedApprover, ScriptedGate,
    ScriptedProvider, blocking_tool, fn_tool, kinds,
};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn core_12_abort_while_streaming_keeps_the_partial_text() {
    let run = Run::script("- steps: [{text: Half an}, {stall: {gate: never}}]");
    let (model, cancel) = (run.model(), run.cancel());
    let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
        model.reached("never").await;
        cancel.cancel();
    });
    assert!(ran.report.interrupted());
    assert_eq!(ran.text, "Half an");
    let last = ran.state.view.messages.last().unwrap().clone();
    assert_eq!(last.state(), MessageState::Interrupted(Cause::User));
    assert_eq!(last.for_api().text(), "Half an\n\n[This response was interrupted by the user]");
}

#[tokio::test(start_paused = true)]
async fn core_12_abort_while_tools_run_gives_every_call_a_result() {
    let slow = blocking_tool("slow", Class::Execute);
    let run = Run::script("- tools: [quick, slow, slow]")
        .tool(fn_tool("quick", Class::Inspect, |_| async { ToolOutcome::ok("fast") }))
        .tool(slow.clone())
        .gate(AllowAll);
    let cancel = run.cancel();
    let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
        slow.started(1).await;
        cancel.cancel();
    });
    assert!(ran.report.interrupted());
    let results: Vec<_> = ran
        .state
        .view
        .messages
        .last()
        .unwrap()
        .tool_results()
        .map(|result| (result.is_error, result.as_text()))
        .collect();
    assert_eq!(results.len(), 3);
    assert_eq!(results[0], (false, "fast".to_owned()), "what finished keeps its result");
    assert!(results[1].0, "the running call was cancelled");
    assert_eq!(results[2], (true, "Execution interrupted by user".to_owned()));
}

/// An abort ends immediately although the provider never sends anything: time is paused and nothing
/// advances it.
#[tokio::test(start_paused = true)]
async fn core_13_abort_does_not_wait_for_a_silent_provider() {
    let started = tokio::time::Instant::now();
    let run = Run::script("- steps: [{stall: forever}]");
    let cancel = run.cancel();
    cancel.cancel();
    let ran = run.prompt("Hi").await;
    assert!(ran.report.interrupted());
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn core_14_a_silent_stream_fails_after_the_idle_timeout() {
    let ran = Run::script("- steps: [{text: Well}, {stall: forever}]")
        .configure(|config| {
            config.idle_timeout = Duration::from_secs(3);
            config.turn.retry = RetryPolicy::never();
        })
        .prompt("Hi")
        .await;
    assert_eq!(ran.report.end, TurnEnd::ProviderFailed);
    let error = ran.report.error.unwrap();
    assert_eq!(error.message, "the model's service sent nothing for 3 s");
    assert!(error.hint.unwrap().contains("timeout"));
    assert!(ran.state.view.messages.last().unwrap().text().contains("Well"), "text is kept");
}

#[tokio::test(start_paused = true)]
async fn core_14_any_bytes_rearm_the_idle_timer() {
    let ran = Run::script(
        "- steps: [{stall: {ms: 2000}}, activity, {stall: {ms: 2000}}, {text: Late}, {stall: {ms: 2000}}]",
    )
    .configure(|config| config.idle_timeout = Duration::from_secs(3))
    .prompt("Hi")
    .await;
    assert_eq!((ran.report.end, ran.text.as_str()), (TurnEnd::Complete, "Late"));
}

#[tokio::test(start_paused = true)]
async fn core_15_reads_overlap_up_to_the_limit_and_results_keep_their_order() {
    for (concurrency, expected) in [
        (ToolConcurrency::Sequential, 1),
        (ToolConcurrency::Parallel { max: Some(0) }, 1),
        (ToolConcurrency::Parallel { max: Some(2) }, 2),
        (ToolConcurrency::Parallel { max: None }, 4),
    ] {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (inside, peak) = (now.clone(), most.clone());
        let look = fn_tool("look", Class::Inspect, move |input| {
            let (inside, peak) = (inside.clone(), peak.clone());
            async move {
                let running = inside.fetch_add(1, Ordering::SeqCst) + 1;
                peak.fetch_max(running, Ordering::SeqCst);
                let n = input["n"].as_u64().unwrap();
                // Later calls end sooner; paused time makes this exact.
                tokio::time::sleep(Duration::from_secs(10 - n)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                if n == 2 {
                    ToolOutcome::failed("odd", "no")
                } else {
                    ToolOutcome::ok(n.to_string())
                }
            }
        });
        let calls: Vec<_> = (1..=4).map(|n| format!("{{tool: look, input: {{n: {n}}}}}")).collect();
        let ran = Run::script(&format!("- tools: [{}]\n- Done.", calls.join(", ")))
            .tool(look)
            .configure(|config| config.turn.concurrency = concurrency)
            .prompt("Hi")
            .await;
        assert_eq!(most.load(Ordering::SeqCst), expected, "{concurrency:?}");
        let results = ran.state.view.messages[2].tool_results().map(|result| result.as_text());
        assert_eq!(results.collect::<Vec<_>>(), ["1", "no", "3", "4"], "{concurrency:?}");
        let failed = ran.events.iter().find_map(|envelope| match &envelope.event {
            Event::ToolBatchFinished(data) => Some(data.failed),
            _ => None,
        });
        assert_eq!(failed, Some(1), "errors are counted once all have settled");
    }
}

/// A read may start while the answer still streams; a call with effects waits until the answer
/// is part of the conversation.
#[tokio::test(start_paused = true)]
async fn reads_start_early_and_effects_do_not() {
    for (class, early) in [(Class::Inspect, true), (Class::Modify, false)] {
        let tool = fn_tool("act", class, |_| async { ToolOutcome::ok("ok") });
        let run =
            Run::script("- steps: [{tool: act}, {stall: {gate: more}}, {text: tail}]\n- Done.")
                .tool(tool)
                .gate(AllowAll);
        let model = run.model();
        let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
            model.reached("more").await;
            // Let everything that can run, run.
            tokio::time::sleep(Duration::from_millis(1)).await;
            model.release("more");
        });
        let kinds = kinds(&ran.events);
        let finished = kinds.iter().position(|kind| *kind == "tool_finished").unwrap();
        let committed = kinds.iter().position(|kind| *kind == "assistant_message").unwrap();
        assert_eq!(finished < committed, early, "{class:?}: {kinds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_after_a_tool_ran_keeps_the_call() {
    let tool = fn_tool("look", Class::Inspect, |_| async { ToolOutcome::ok("seen") });
    let run = Run::script(
        "- steps: [{text: Let me look.}, {tool: look}, {stall: {gate: more}}, drop]\n- Done.",
    )
    .tool(tool.clone());
    let model = run.model();
    let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
        model.reached("more").await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        model.release("more");
    });
    assert_eq!((ran.report.end, ran.text.as_str()), (TurnEnd::Complete, "Done."));
    let roles: Vec<_> = ran.state.view.messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    assert_eq!(
        ran.state.view.messages[1].state(),
        MessageState::Interrupted(Cause::Provider),
        "the cut answer says so"
    );
    assert_eq!(tool.inputs().len(), 1, "nothing ran twice");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_before_a_tool_ran_is_retried() {
    let ran = Run::script("- steps: [{text: Half}, drop]\n- Whole.").prompt("Hi").await;
    assert_eq!(ran.text, "Whole.");
    assert_eq!(ran.state.view.messages.len(), 2, "the abandoned half is out of the view");
    let log = ran.log();
    assert!(log.contains("stream_reset"), "{log}");
    assert!(
        ran.events.iter().any(
            |envelope| matches!(&envelope.event, Event::TextChunk(chunk) if chunk.text == "Half")
        ),
        "and stays in the journal"
    );
}

#[tokio::test]
async fn core_04_native_web_fails_before_anything_is_sent() {
    let run = Run::script("- Hello.").configure(|config| {
        config.native_web = NativeWeb { search: true, fetch: false };
    });
    let model = run.model();
    let ran = run.prompt("Hi").await;
    assert_eq!(ran.report.end, TurnEnd::ProviderFailed);
    assert!(ran.report.error.unwrap().message.contains("no native web search"));
    assert!(model.requests().is_empty(), "the provider was never called");
}

#[tokio::test]
async fn core_06_payloads_are_journaled_in_order_when_asked_for() {
    let ran = Run::script("- tools: [look]\n- Hello.")
        .tool(fn_tool("look", Class::Inspect, |_| async { ToolOutcome::ok("seen") }))
        .configure(|config| config.record_payloads = true)
        .prompt("Hi")
        .await;
    let payloads: Vec<_> = ran
        .events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::ProviderPayload(data) => Some((data.round, data.sequence)),
            _ => None,
        })
        .collect();
    assert!(payloads.contains(&(1, 0)) && payloads.contains(&(2, 0)), "{payloads:?}");
    let mut sorted = payloads.clone();
    sorted.sort_unstable();
    assert_eq!(payloads, sorted, "numbered as they came, from zero in each call");
    let last = ran.events.last().unwrap().event.kind().to_owned();
    assert_eq!(last, "turn_finished", "nothing comes after the end");
}

/// No call with effects starts, and no outcome of one is shown, before its event is synced.
#[tokio::test]
async fn effects_are_synced_before_they_start_and_before_their_result_is_added() {
    let ran = Run::script("- tools: [act]\n- Done.")
        .tool(fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") }))
        .gate(AllowAll)
        .prompt("Hi")
        .await;
    for append in ran.journal.appends() {
        let must_sync = append.kinds().iter().any(|kind| {
            ["input_accepted", "tool_started", "tool_finished", "turn_finished"].contains(kind)
        });
        let synced = append.durability == Durability::Synced;
        assert_eq!(synced, must_sync, "{:?}", append.kinds());
    }
}

/// After any append that fails, no effect starts, and the next turn first writes the events that
/// were not written, so that the journal is complete.
#[tokio::test(start_paused = true)]
async fn a_failed_append_starts_nothing_and_is_written_later() {
    for nth in 1..24 {
        let journal = FailingJournal::new().fail_from(nth);
        let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
        let ran = Run::script("- tools: [act, act]\n- Done.\n- tools: [act, act]\n- Done.")
            .tool(act.clone())
            .gate(AllowAll)
            .journal(journal.clone())
            .prompt("Hi")
            .await;
        if ran.report.end == TurnEnd::Complete {
            assert!(nth > 10, "append {nth} should have failed");
            continue;
        }
        assert_eq!(ran.report.end, TurnEnd::StoreFailed, "append {nth}");
        let started = journal
            .events()
            .iter()
            .filter(|envelope| envelope.event.kind() == "tool_started")
            .count();
        assert_eq!(act.inputs().len(), started, "append {nth}: ran without a durable start");
        journal.heal();
        let ran = ran.then("again").await;
        let events: Vec<_> = journal.events();
        let folded = robota_core::state::State::fold(events.iter().map(AsRef::as_ref)).unwrap();
        assert_eq!(folded, ran.state, "append {nth}");
    }
}

#[tokio::test]
async fn a_call_that_needs_approval_is_denied_without_an_approver() {
    let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
    let ran = Run::script("- tools: [act]\n- {expect: {last: Permission denied}, text: Alas.}")
        .tool(act.clone())
        .gate(ScriptedGate::new(Verdict::Ask))
        .prompt("Hi")
        .await;
    assert_eq!(ran.text, "Alas.");
    assert!(act.inputs().is_empty());
    assert_eq!(ran.report.tools_executed, 0);
}

#[tokio::test]
async fn a_gate_that_may_not_ask_never_asks_its_approver() {
    let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
    let asked = RecordingApprover::new(ScriptedApprover::default().allow("act"));
    let ran = Run::script("- tools: [act]\n- {expect: {last: dontAsk}, text: Alas.}")
        .tool(act.clone())
        .gate(ModeGate(Mode::DontAsk))
        .approver(asked.clone())
        .prompt("Hi")
        .await;
    assert_eq!(ran.text, "Alas.");
    assert!(act.inputs().is_empty() && asked.questions().is_empty());
}

/// Panics when a question is announced or withdrawn.
struct Unannouncing;

#[async_trait::async_trait]
impl Approver for Unannouncing {
    fn announce(&self, _question: &Question) {
        panic!("on purpose")
    }

    fn withdraw(&self, _call: &robota_core::ids::CallId) {
        panic!("on purpose")
    }

    async fn ask(&self, _question: Question) -> Answer {
        Answer::Allow { note: None }
    }
}

#[tokio::test]
async fn a_call_is_denied_if_its_approver_panics() {
    let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
    let ran = Run::script("- tools: [act]\n- {expect: {last: the approver panicked}, text: Alas.}")
        .tool(act.clone())
        .gate(ScriptedGate::new(Verdict::Ask))
        .approver(Unannouncing)
        .prompt("Hi")
        .await;
    assert_eq!(ran.text, "Alas.");
    assert!(act.inputs().is_empty());
}

/// A tool whose calls a user must approve one by one.
struct Careful(robota_testkit::FnTool);

#[async_trait::async_trait]
impl Tool for Careful {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn always_asks(&self) -> bool {
        true
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.0.run(input, context).await
    }
}

#[tokio::test]
async fn a_tool_that_requires_a_user_never_runs_because_the_gate_allows_it() {
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
        Run::script("- tools: [act]\n- {expect: {last: Permission denied}, text: Alas.}")
            .tool(Careful(act.clone()))
            .gate(ScriptedGate::new(verdict))
            .prompt("Hi")
            .await;
        assert!(act.inputs().is_empty(), "{verdict:?}");
    }
}

/// Allows every call in place of a user, as PermissionRequest hooks do.
struct HookThatAllows;

#[async_trait::async_trait]
impl Approver for HookThatAllows {
    async fn ask(&self, question: Question) -> Answer {
        assert!(question.needs_user);
        Answer::Allow { note: None }.by_hook()
    }
}

#[tokio::test]
async fn a_call_that_requires_a_user_does_not_run_because_a_hook_allows_it() {
    let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
    let ran = Run::script("- tools: [act]\n- {expect: {last: a user approves}, text: Alas.}")
        .tool(Careful(act.clone()))
        .gate(AllowAll)
        .approver(HookThatAllows)
        .prompt("Hi")
        .await;
    assert_eq!(ran.text, "Alas.");
    assert!(act.inputs().is_empty());
}

/// Returns a secret in every way that a tool has.
#[tokio::test(start_paused = true)]
async fn sess_13_secrets_never_reach_an_event_or_the_model() {
    let secret = "sk-live-0123456789";
    let leaky = robota_testkit::fn_tool("leaky", Class::Inspect, move |_| async move {
        ToolOutcome::ok(format!("the key is {secret}."))
            .with_metadata("apiKey", "whatever")
            .with_metadata("note", format!("again {secret}"))
    });
    let ran = Run::script(
        "- tools: [leaky]\n\
         - error: {kind: authentication, message: 'bad key sk-live-0123456789'}",
    )
    .tool(leaky)
    .configure(|config| {
        let secret = robota_core::env_ref::Secret::new(secret);
        config.redactor = robota_core::redact::Redactor::new([secret]).unwrap();
        config.turn.retry = RetryPolicy::never();
    })
    .prompt("Hi")
    .await;
    let journal: String = ran.events.iter().map(|event| event.to_line()).collect();
    assert!(!journal.contains(secret), "{journal}");
    assert!(!journal.contains("whatever"), "a field named like a secret");
    assert!(journal.contains("the key is [REDACTED]."), "{journal}");
    assert!(journal.contains("bad key [REDACTED]"), "{journal}");
}

/// What a hook answers instead of the user is output of a program.
#[tokio::test]
async fn sess_13_the_answer_of_a_permission_hook_is_recorded_without_secrets() {
    const SECRET: &str = "sk-live-0123456789";
    struct Hook(Mutex<Vec<Answer>>);
    #[async_trait::async_trait]
    impl Approver for Hook {
        async fn ask(&self, _question: Question) -> Answer {
            self.0.lock().unwrap().remove(0).by_hook()
        }
    }
    let text = || Some(format!("the key is {SECRET}"));
    let answers = vec![
        Answer::AllowChanged { input: json!({"key": SECRET}), note: text() },
        Answer::Deny { note: text() },
        Answer::DenyAndStop { reason: text().unwrap_or_default() },
    ];
    let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
    let ran = Run::script("- tools: [act]\n- tools: [act]\n- tools: [act]\n- text: Done.")
        .tool(act.clone())
        .gate(ScriptedGate::new(Verdict::Ask))
        .approver(Hook(Mutex::new(answers)))
        .configure(|config| {
            let secret = robota_core::env_ref::Secret::new(SECRET);
            config.redactor = robota_core::redact::Redactor::new([secret]).unwrap();
        })
        .prompt("Hi")
        .await;
    assert_eq!(act.inputs(), [json!({"key": "[REDACTED]"})]);
    let journal: String = ran.events.iter().map(|event| event.to_line()).collect();
    assert!(!journal.contains(SECRET), "{journal}");
    assert!(journal.matches("the key is [REDACTED]").count() >= 3, "{journal}");
}

/// A timeout ends the call; a tool that does not stop is abandoned.
#[tokio::test(start_paused = true)]
async fn kode_07_a_call_that_exceeds_its_timeout_is_ended() {
    for (tool, ran, says) in [
        (blocking_tool("slow", Class::Execute), robota_core::tool::DidRun::Yes, "was stopped"),
        (
            robota_testkit::stubborn_tool("slow", Class::Execute),
            robota_core::tool::DidRun::Maybe,
            "abandoned",
        ),
    ] {
        let run = Run::script("- tools: [slow]\n- text: Too slow.")
            .tool(tool)
            .gate(AllowAll)
            .configure(|config| config.tool_timeout = Some(Duration::from_secs(60)))
            .prompt("Hi")
            .await;
        assert_eq!(run.text, "Too slow.");
        let outcome = run.events.iter().find_map(|line| match &line.event {
            Event::ToolFinished(data) => Some(data.outcome.clone()),
            _ => None,
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.error_code.as_deref(), outcome.ran), (Some("timeout"), ran));
        assert!(outcome.text().contains("longer than 60 s"), "{}", outcome.text());
        assert!(outcome.text().contains(says), "{}", outcome.text());
    }
}

/// Deltas that arrive quickly are joined into one chunk, slow ones are passed on immediately, and
/// an abort loses none.
#[tokio::test(start_paused = true)]
async fn core_13_fast_text_is_joined_and_an_abort_loses_none() {
    let chunks = |ran: &robota_testkit::RunResult| {
        ran.events.iter().filter(|line| matches!(line.event, Event::TextChunk(_))).count()
    };
    let script = |millis: u64| {
        let steps: Vec<_> =
            (0..50).map(|_| format!("{{text: ab}}, {{stall: {{ms: {millis}}}}}")).collect();
        format!("- steps: [{}, {{stall: {{gate: never}}}}]", steps.join(", "))
    };
    for (millis, at_most, at_least) in [(1, 10, 1), (20, 50, 50)] {
        let run = Run::script(&script(millis));
        let (model, cancel) = (run.model(), run.cancel());
        let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
            model.reached("never").await;
            cancel.cancel();
        });
        assert_eq!(ran.text, "ab".repeat(50), "every {millis} ms");
        let count = chunks(&ran);
        assert!((at_least..=at_most).contains(&count), "{count} pieces, one every {millis} ms");
    }
}

/// A tool that prints faster than one append: nothing is reordered, and all of it comes before
/// the outcome.
#[tokio::test]
async fn output_keeps_its_order_however_fast_it_comes() {
    struct Printer(robota_core::tool::ToolSpec);

    #[async_trait::async_trait]
    impl robota_core::tool::Tool for Printer {
        fn spec(&self) -> &robota_core::tool::ToolSpec {
            &self.0
        }

        async fn run(
            &self,
            _input: serde_json::Value,
            context: robota_core::tool::ToolContext,
        ) -> ToolOutcome {
            for n in 0..1_000 {
                context.progress.show(format!("{n},"));
                if n % 100 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            ToolOutcome::ok("printed")
        }
    }

    let spec = fn_tool("print", Class::Inspect, |_| async { ToolOutcome::ok("") });
    let spec = robota_core::tool::Tool::spec(&spec).clone();
    let ran = Run::script("- tools: [print]\n- Done.").tool(Printer(spec)).prompt("Hi").await;
    let mut printed = String::new();
    for event in &ran.events {
        match &event.event {
            Event::ToolOutput(data) => printed.push_str(&data.text),
            Event::ToolFinished(_) => break,
            _ => {}
        }
    }
    let expected: String = (0..1_000).map(|n| format!("{n},")).collect();
    assert_eq!(printed, expected);
}

/// An append that fails once is repeated with the same envelopes: the turn does not notice.
#[tokio::test(start_paused = true)]
async fn a_single_failed_append_is_repeated_with_the_same_envelopes() {
    for nth in 1..40 {
        let journal = FailingJournal::new().fail_once(nth);
        let act = fn_tool("act", Class::Modify, |_| async { ToolOutcome::ok("ok") });
        let ran = Run::script("- tools: [act]\n- Done.")
            .tool(act.clone())
            .gate(AllowAll)
            .journal(journal.clone())
            .prompt("Hi")
            .await;
        assert_eq!(ran.report.end, TurnEnd::Complete, "append {nth}");
        assert_eq!(act.inputs().len(), 1);
        let appends = journal.appends();
        let Some(failed) = appends.iter().position(|append| append.failed) else { return };
        let (first, again) = (&appends[failed].events, &appends[failed + 1].events);
        assert_eq!(first, again, "numbered and stamped once");
    }
    panic!("fewer appends were expected");
}

/// Reports many payloads before it answers, faster than they can be written.
struct Chatty(ScriptedProvider);

#[async_trait::async_trait]
impl Provider for Chatty {
    fn name(&self) -> &str {
        "chatty"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        for number in 0..PAYLOADS {
            context.payloads.report(NativePayload {
                api_surface: Some("test-surface".to_owned()),
                kind: PayloadKind::StreamEvent,
                sequence: None,
                payload: json!({ "number": number, "text": "x".repeat(1_000) }),
                metadata: serde_json::Map::from_iter([("attempt".to_owned(), json!(1))]),
            });
        }
        self.0.stream(request, CallContext { payloads: PayloadSink::none(), ..context }).await
    }
}

const PAYLOADS: u64 = 5_000;

#[tokio::test]
async fn core_06_no_payload_is_lost_or_reordered_however_many_arrive_at_once() {
    let model = Chatty(ScriptedProvider::new(Script::new().text("Hello.")));
    let mut agent = Agent::builder(model, "m")
        .configure(|config| config.record_payloads = true)
        .build()
        .unwrap();
    let report = agent.run("Hi").await;
    assert_eq!(report.text, "Hello.");
    let mut numbers = Vec::new();
    for envelope in agent.events() {
        if let Event::ProviderPayload(data) = &envelope.event {
            assert_eq!((data.provider.as_str(), data.kind), ("chatty", PayloadKind::StreamEvent));
            assert_eq!(data.api_surface.as_deref(), Some("test-surface"));
            assert_eq!(data.metadata["attempt"], 1);
            assert_eq!(data.payload["number"], data.sequence);
            numbers.push(data.sequence);
        }
    }
    assert!(numbers.iter().copied().eq(0..PAYLOADS), "{} payloads", numbers.len());
}
