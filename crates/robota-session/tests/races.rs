//! Races: in every order of tasks, answers count once, output keeps its order, and a panic
//! affects nothing else. These tests run on several threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::*;
use robota_core::approve::{RuleSink, Scope};
use robota_core::error::ErrorData;
use robota_core::event::Event;
use robota_core::gate::{Gate, Grant, Judgement, Source};
use robota_core::hook::{
    EventDecision, EventReport, HookAnswer, HookData, HookEvent, HookInput, HookPoint, HookReply,
    Hooks, PostToolDecision,
};
use robota_core::ids::CountingIds;
use robota_core::message::{Message, ToolUse};
use robota_core::permission::{Class, PermissionUpdate, Verdict};
use robota_core::provider::RetryPolicy;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSource, ToolSpec};
use robota_session::{
    Approvals, Callbacks, CodeHook, Decision, EventFilter, EventKind, HookScope, Session,
    SessionError, StartAt,
};
use robota_testkit::{Script, ScriptedAnswer, fn_tool};
use serde_json::Value;
use tokio::sync::Notify;

/// Asks about every call, and accepts rules.
struct AskingGate;

#[async_trait::async_trait]
impl Gate for AskingGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        Judgement {
            verdict: Verdict::Ask,
            class: tool.class,
            reason: "the test asks".to_owned(),
            source: Source::Rule,
            rules: vec!["act(*)".to_owned()],
            grant: Grant::Full,
        }
    }

    fn remember(&self, _rules: &[String]) -> Result<(), String> {
        Ok(())
    }
}

fn asks() -> Arc<AskingGate> {
    Arc::new(AskingGate)
}

/// A client that answers as soon as the journal has the question.
#[test]
fn sess_04_a_question_can_be_answered_the_moment_it_is_asked() {
    on_threads(async || {
        for _ in 0..100 {
            let (builder, _) = builder(yaml("- tools: [act, act, act]\n- text: Done."));
            let act = echo("act", Class::Execute);
            let session = builder
                .tools(tool(act.clone()))
                .gate(asks())
                .approvals(Approvals::Decide)
                .create(memory(), None)
                .await
                .unwrap();
            let mut asked =
                session.subscribe(StartAt::Now, [EventKind::PermissionAsk]).await.unwrap();
            let client = session.clone();
            let answers = tokio::spawn(async move {
                for _ in 0..3 {
                    let event = asked.next_event().await.unwrap().unwrap();
                    let Event::PermissionAsked(data) = event.event() else { panic!() };
                    let allow = Decision::Allow(Scope::Once);
                    client.permissions().decide(&data.call, allow, None).await.unwrap();
                }
            });
            assert_eq!(session.run("Go").await.unwrap(), "Done.");
            answers.await.unwrap();
            assert_eq!(act.inputs().len(), 3);
        }
    });
}

/// Saves rules when it is released.
#[derive(Default)]
struct SlowSink {
    saving: Notify,
    release: Notify,
    saved: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl RuleSink for SlowSink {
    async fn save(&self, update: &PermissionUpdate) -> Result<(), ErrorData> {
        self.saving.notify_one();
        self.release.notified().await;
        self.saved.lock().unwrap().extend_from_slice(update.allowed_rules());
        Ok(())
    }
}

/// An HTTP client that disconnects while its "always" is being saved has still approved the call.
#[test]
fn sess_04_an_answer_counts_although_its_caller_disconnects() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [act]\n- text: Done."));
        let (act, sink) = (echo("act", Class::Execute), Arc::new(SlowSink::default()));
        let session = builder
            .tools(tool(act.clone()))
            .gate(asks())
            .approvals(Approvals::Decide)
            .rule_sink(sink.clone())
            .create(memory(), None)
            .await
            .unwrap();
        let mut asked = session.subscribe(StartAt::Now, [EventKind::PermissionAsk]).await.unwrap();
        let waiting = session.clone();
        let run = tokio::spawn(async move { waiting.run("Go").await });
        let event = asked.next_event().await.unwrap().unwrap();
        let Event::PermissionAsked(data) = event.event() else { panic!() };
        let permissions = session.permissions();
        let always = Decision::Allow(Scope::Always);
        tokio::select! {
            biased;
            _ = permissions.decide(&data.call, always, None) => panic!("it waits for the sink"),
            () = sink.saving.notified() => {}
        }
        sink.release.notify_one();
        assert_eq!(run.await.unwrap().unwrap(), "Done.");
        assert_eq!(act.inputs().len(), 1, "it ran");
        assert_eq!(*sink.saved.lock().unwrap(), ["act(*)"]);
    });
}

/// Prints faster than any journal writes, alternating between two threads.
struct Printer(ToolSpec);

const LINES: usize = 4_000;

#[async_trait::async_trait]
impl Tool for Printer {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let id = input["id"].as_u64().unwrap();
        for half in 0..2 {
            let progress = context.progress.clone();
            let printing = tokio::task::spawn_blocking(move || {
                for n in 0..LINES / 2 {
                    progress.show(format!("{id}:{}\n", half * (LINES / 2) + n));
                }
            });
            printing.await.unwrap();
        }
        ToolOutcome::ok("printed")
    }
}

#[test]
fn output_is_recorded_in_the_order_in_which_it_was_printed() {
    both_runtimes(async || {
        let calls: Vec<String> =
            (0..3).map(|id| format!("{{tool: print, input: {{id: {id}}}}}")).collect();
        let (builder, _) =
            builder(yaml(&format!("- tools: [{}]\n- text: Done.", calls.join(", "))));
        let spec = ToolSpec { name: "print".to_owned(), ..spec_of(Class::Inspect) };
        let store = memory();
        let session = builder
            .tools(tool(Printer(spec)))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let events = journal(&*store, session.id()).await;
        let mut output = std::collections::HashMap::<_, String>::new();
        let mut finished = std::collections::HashSet::new();
        for event in &events {
            match &event.event {
                Event::ToolOutput(data) => {
                    assert!(!finished.contains(&data.call), "output after its call has ended");
                    output.entry(data.call.clone()).or_default().push_str(&data.text);
                }
                Event::ToolFinished(data) => {
                    finished.insert(data.call.clone());
                }
                _ => {}
            }
        }
        assert_eq!(output.len(), 3);
        for text in output.values() {
            let id = text.split(':').next().unwrap();
            let printed: String = (0..LINES).map(|n| format!("{id}:{n}\n")).collect();
            assert_eq!(*text, printed);
        }
    });
}

fn spec_of(class: Class) -> ToolSpec {
    fn_tool("any", class, |_| async { ToolOutcome::ok("") }).spec().clone()
}

fn failing_once() -> Script {
    let cut = ScriptedAnswer::new().text("Half").cut_off();
    Script::new().answer(cut).text("Whole.")
}

/// Ordinary subscribers and callbacks learn that the text of a failed attempt is void.
#[test]
fn core_19_a_retried_stream_resets_its_text_for_all_subscribers() {
    both_runtimes(async || {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (text, reset) = (shown.clone(), shown.clone());
        let callbacks = Callbacks::new()
            .on_text(move |piece| text.lock().unwrap().push(piece))
            .on_text_reset(move || reset.lock().unwrap().clear());
        let (builder, _) = builder(failing_once());
        let retry = RetryPolicy { base: std::time::Duration::from_millis(1), ..Default::default() };
        let session = builder
            .callbacks(callbacks)
            .configure(|config| config.turn.retry = retry)
            .create(memory(), None)
            .await
            .unwrap();
        let mut events = session.subscribe(StartAt::Now, EventFilter::default()).await.unwrap();
        assert_eq!(session.run("Hi").await.unwrap(), "Whole.");
        session.shutdown("end").await.unwrap();
        let mut watched = String::new();
        while let Some(event) = events.next_event().await {
            match event.unwrap().event() {
                Event::TextChunk(data) => watched.push_str(&data.text),
                Event::StreamReset(_) => watched.clear(),
                _ => {}
            }
        }
        assert_eq!(watched, "Whole.", "a default subscriber");
        assert_eq!(shown.lock().unwrap().concat(), "Whole.", "a callback");
    });
}

/// A callback without a reset handler receives a line that says what happened.
#[test]
fn core_19_without_a_reset_handler_the_text_says_that_it_starts_again() {
    both_runtimes(async || {
        let shown = Arc::new(Mutex::new(String::new()));
        let text = shown.clone();
        let callbacks =
            Callbacks::new().on_text(move |piece| text.lock().unwrap().push_str(&piece));
        let (builder, _) = builder(failing_once());
        let retry = RetryPolicy { base: std::time::Duration::from_millis(1), ..Default::default() };
        let session = builder
            .callbacks(callbacks)
            .configure(|config| config.turn.retry = retry)
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Hi").await.unwrap();
        let shown = shown.lock().unwrap().clone();
        assert_eq!(shown, "Half\n\n[the answer was cut off and starts again]\n\nWhole.");
    });
}

/// Panics in every method.
struct PanickingHooks(Vec<HookPoint>);

#[async_trait::async_trait]
impl Hooks for PanickingHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        self.0.contains(&point)
    }

    async fn run(&self, _input: HookInput) -> HookReply {
        panic!("the hook panics on purpose")
    }
}

struct PanickingCodeHook;

#[async_trait::async_trait]
impl CodeHook for PanickingCodeHook {
    fn name(&self) -> &str {
        "bomb"
    }

    async fn post_tool(
        &self,
        _call: &ToolUse,
        _outcome: &ToolOutcome,
        _scope: &HookScope,
    ) -> PostToolDecision {
        panic!("the hook panics on purpose")
    }
}

#[test]
fn sess_15_a_panic_in_a_hook_a_tool_or_a_callback_does_not_end_the_session() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [bang]\n- text: Still here.\n- text: Again."));
        let bang = robota_testkit::panicking_tool("bang", Class::Inspect);
        let callbacks = Callbacks::new()
            .on_text(|_| panic!("a callback panics"))
            .on_tool(|_| panic!("a callback panics"));
        let session = builder
            .tools(tool(bang))
            .gate(allow())
            .code_hook(Arc::new(PanickingCodeHook))
            .callbacks(callbacks)
            .create(memory(), None)
            .await
            .unwrap();
        session.on(EventKind::Text, |_| panic!("a handler panics")).await.unwrap();
        assert_eq!(session.run("Hi").await.unwrap(), "Still here.");
        assert_eq!(session.run("And now?").await.unwrap(), "Again.");
        session.shutdown("end").await.unwrap();
    });
}

/// Functions of a caller that run in the session's task end only the call that passed them.
#[test]
fn sess_15_a_panic_in_a_function_of_a_caller_ends_only_its_call() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("Still here."));
        let session = builder.create(memory(), None).await.unwrap();
        let looked: Result<(), _> = session.journal().state(|_| panic!("on purpose")).await;
        let error = looked.unwrap_err();
        assert!(error.to_string().contains("that reads the state panicked"), "{error}");
        let decided: Result<(), _> =
            session.journal().append_with(|_, _| panic!("on purpose")).await;
        let error = decided.unwrap_err();
        assert!(error.to_string().contains("that decides what to append panicked"), "{error}");
        assert_eq!(session.run("Hi").await.unwrap(), "Still here.");
    });
}

/// A callback that panics does not keep the others from the same event.
#[test]
fn sess_15_callbacks_run_although_another_one_panics() {
    both_runtimes(async || {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = |what: &'static str| {
            let seen = seen.clone();
            move || seen.lock().unwrap().push(what)
        };
        let (event, text, tools) = (record("event"), record("text"), record("tool"));
        let callbacks = Callbacks::new()
            .on_event(Arc::new(move |_| event()))
            .first_on_event(Arc::new(|_| panic!("on purpose")))
            .on_text(move |_| text())
            .on_tool(move |_| tools());
        let (builder, _) = builder(yaml("- tools: [look]\n- text: Done."));
        let session = builder
            .tools(tool(echo("look", Class::Inspect)))
            .callbacks(callbacks)
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Hi").await.unwrap();
        session.shutdown("end").await.unwrap();
        for what in ["event", "text", "tool"] {
            assert!(seen.lock().unwrap().contains(&what), "{what}");
        }

        let text = record("text after all");
        let callbacks =
            Callbacks::new().on_event(Arc::new(|_| panic!("on purpose"))).on_text(move |_| text());
        let (builder, _) = greeting();
        let session = builder.callbacks(callbacks).create(memory(), None).await.unwrap();
        session.run("Hi").await.unwrap();
        session.shutdown("end").await.unwrap();
        assert!(seen.lock().unwrap().contains(&"text after all"));
    });
}

fn greeting() -> (robota_session::SessionBuilder, robota_testkit::ScriptedProvider) {
    builder(Script::new().text("Hello."))
}

/// Returns context at the start of a session, and counts the results that it sees.
#[derive(Default)]
struct ResultCounter(AtomicUsize);

#[async_trait::async_trait]
impl Hooks for ResultCounter {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PostToolUse
    }

    async fn run(&self, _input: HookInput) -> HookReply {
        self.0.fetch_add(1, Ordering::SeqCst);
        HookAnswer::PostToolUse(PostToolDecision::Continue).into()
    }

    fn has_event(&self, event: HookEvent) -> bool {
        event == HookEvent::SessionStart
    }

    async fn run_event(&self, _data: HookData) -> EventReport {
        let context = Some("context of the start".to_owned());
        EventReport { decision: EventDecision::Continue { context }, ..EventReport::default() }
    }
}

/// Panics also at events.
struct PanickingAtEvents;

#[async_trait::async_trait]
impl Hooks for PanickingAtEvents {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PostToolUse
    }

    async fn run(&self, _input: HookInput) -> HookReply {
        panic!("the hook panics on purpose")
    }

    fn has_event(&self, event: HookEvent) -> bool {
        event == HookEvent::SessionStart
    }

    async fn run_event(&self, _data: HookData) -> EventReport {
        panic!("the hook panics on purpose")
    }
}

#[test]
fn sess_15_hooks_run_although_another_one_panics() {
    both_runtimes(async || {
        let recorder = Arc::new(ResultCounter::default());
        let (builder, model) = builder(yaml("- tools: [look]\n- text: Done."));
        let session = builder
            .tools(tool(echo("look", Class::Inspect)))
            .code_hook(Arc::new(PanickingCodeHook))
            .hooks(Arc::new(PanickingAtEvents))
            .hooks(recorder.clone())
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Hi").await.unwrap();
        assert_eq!(recorder.0.load(Ordering::SeqCst), 1, "it records every result");
        let sent = model.requests();
        assert!(sent[0].messages[0].text().contains("context of the start"));
        let result = sent[1].messages.last().unwrap().tool_results().next().unwrap().as_text();
        assert!(result.contains("it panicked"), "what the hook withholds stays withheld: {result}");
    });
}

/// Panics wherever the session asks about it.
struct Unknowable(ToolSpec);

#[async_trait::async_trait]
impl Tool for Unknowable {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn timeout(&self) -> Option<std::time::Duration> {
        panic!("on purpose")
    }

    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("never")
    }
}

struct UnknowableSource;

impl ToolSource for UnknowableSource {
    fn version(&self) -> u64 {
        panic!("on purpose")
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        panic!("on purpose")
    }
}

struct UnknowableHook;

#[async_trait::async_trait]
impl CodeHook for UnknowableHook {
    fn name(&self) -> &str {
        "unknowable"
    }

    fn points(&self) -> &[HookPoint] {
        panic!("on purpose")
    }
}

#[test]
fn sess_15_a_panic_of_a_part_that_the_session_asks_ends_nothing_else() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [odd]\n- text: Still here."));
        let odd = Unknowable(echo("odd", Class::Inspect).spec().clone());
        let store = memory();
        let session = builder
            .tools(tool(odd))
            .tool_source(Arc::new(UnknowableSource))
            .code_hook(Arc::new(UnknowableHook))
            .create(store.clone(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Hi").await.unwrap(), "Still here.");
        let messages = session.context().messages().await.unwrap();
        session.shutdown("end").await.unwrap();
        check(&journal(&*store, session.id()).await, &messages);
        let result = messages[2].tool_results().next().unwrap().as_text();
        assert!(result.contains("panicked"), "{result}");
    });
}

/// Panics before each model call.
struct PanickingModelHook;

#[async_trait::async_trait]
impl CodeHook for PanickingModelHook {
    fn name(&self) -> &str {
        "model bomb"
    }

    async fn pre_model(
        &self,
        _request: &mut robota_core::provider::ModelRequest,
        _scope: &HookScope,
    ) -> Result<(), String> {
        panic!("on purpose")
    }
}

#[test]
fn sess_15_a_panic_during_a_question_of_the_program_is_its_error() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("Never."));
        let session =
            builder.code_hook(Arc::new(PanickingModelHook)).create(memory(), None).await.unwrap();
        let error = session.ask_llm("Are you there?", None).await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        session.status().await.unwrap();
    });
}

/// A handler of events that is behind while the store cannot be read gets them later.
#[test]
fn kode_03_a_handler_continues_after_reads_that_failed() {
    on_threads(async || {
        let (builder, _) = builder(Script::new());
        let store = Failing::new();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let (send, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let wait = Mutex::new(wait);
        session
            .on(EventKind::MessagesUpdate, move |event| {
                // The first event waits until the sender is gone; the handler is behind then.
                let _ = wait.lock().unwrap().recv();
                let Event::MessageInjected(data) = event.event() else { return };
                send.send(data.message.text()).unwrap();
            })
            .await
            .unwrap();
        let notes: Vec<_> = (0..400).map(|note| note.to_string()).collect();
        for note in &notes {
            let message = Message::user(&CountingIds::default(), note.clone());
            session.context().inject(message).await.unwrap();
        }
        store.fail_reads(3);
        drop(release);
        for note in &notes {
            assert_eq!(seen.recv().await.as_ref(), Some(note));
        }
        assert_eq!(store.failing_reads(), 0, "it had to read");
    });
}

#[test]
fn sess_15_a_prompt_hook_that_panics_blocks_only_its_prompt() {
    both_runtimes(async || {
        let (builder, model) = builder(Script::new().text("Never."));
        let session = builder
            .hooks(Arc::new(PanickingHooks(vec![HookPoint::UserPromptSubmit])))
            .create(memory(), None)
            .await
            .unwrap();
        for _ in 0..2 {
            let error = session.run("Hi").await.unwrap_err();
            assert!(matches!(error, SessionError::Blocked(_)), "{error}");
        }
        assert!(model.requests().is_empty());
    });
}

/// Two chats wait; the turn of the first one ends with a failed journal. The second one is not
/// affected: its input is delivered when the journal can be written again.
#[test]
fn sess_08_a_store_failure_ends_only_the_chat_of_its_turn() {
    both_runtimes(async || {
        let script =
            Script::new().answer(ScriptedAnswer::new().text("One").gate("hold")).text("Two.");
        let (builder, model) = builder(script);
        let store = Failing::new();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        let (first, second) = (session.clone(), session.clone());
        let first = tokio::spawn(async move { first.run("First").await });
        model.reached("hold").await;
        let second = tokio::spawn(async move { second.run("Second").await });
        while session.status().await.unwrap().queued == 0 {
            tokio::task::yield_now().await;
        }
        store.fail(1, usize::MAX);
        model.release("hold");
        let error = first.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("append to"), "{error}");
        assert!(!second.is_finished());
        store.fail(0, 0);
        assert_eq!(
            second.await.unwrap().unwrap(),
            "Two.",
            "the session continues without another call"
        );
        let messages = session.context().messages().await.unwrap();
        check(&journal(&store, session.id()).await, &messages);
    });
}

/// Sessions that are dropped at any point leave no task behind.
#[test]
fn a_dropped_session_leaves_no_task() {
    on_threads(async || {
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.num_alive_tasks();
        for _ in 0..50 {
            let script = Script::new().answer(ScriptedAnswer::new().text("Half").gate("never"));
            let (builder, model) = builder(script);
            let session: Session = builder.create(memory(), None).await.unwrap();
            let mut events =
                session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
            session.send("Hi").await.unwrap();
            model.reached("never").await;
            drop(session);
            while let Some(event) = events.next_event().await {
                event.unwrap();
            }
        }
        while metrics.num_alive_tasks() > before {
            tokio::task::yield_now().await;
        }
    });
}
