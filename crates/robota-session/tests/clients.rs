//! Features for clients: changes between turns, the input queue, the live turn, forks with their
//! own tools, sessions that another process writes to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::*;
use futures::StreamExt as _;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{
    Delivery, EntryAdded, Envelope, Event, Failed, ModeChanged, RawJson, SpawnedBy,
};
use robota_core::history::HistoryEntry;
use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PromptDecision};
use robota_core::journal::{Journal, JournalError, JournalStore, MemoryStore};
use robota_core::permission::{Class, Mode};
use robota_core::provider::ProviderError;
use robota_core::resume::{load, load_whole};
use robota_core::state::CallStage;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolScope, ToolSpec};
use robota_session::{
    EventFilter, Resume, Selector, SendOptions, Session, SessionError, SessionState, StartAt,
    SubscriptionItem, ToolChange, follow,
};
use robota_testkit::{Script, ScriptedAnswer, ScriptedProvider, blocking_tool, fn_tool};
use serde_json::{Value, json};

#[test]
fn model_system_and_tools_change_between_turns() {
    both_runtimes(async || {
        let (builder, first) = builder(Script::new().text("One.").text("Two."));
        let session = builder
            .system("Be brief.")
            .tools(tool(echo("old", Class::Inspect)))
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Hi").await.unwrap();
        session.config().set_system(Some("Be long.".into()));
        session.config().set_tools(ToolChange::Add(tool(echo("new", Class::Inspect)))).unwrap();
        session.run("Hi").await.unwrap();
        let sent = first.requests();
        assert_eq!(sent[0].system.as_deref(), Some("Be brief."));
        assert_eq!(sent[1].system.as_deref(), Some("Be long."));
        let names = |at: usize| -> Vec<String> {
            sent[at].tools.iter().map(|tool| tool.name.clone()).collect()
        };
        assert_eq!(names(0), ["ReadOutput", "old"]);
        assert_eq!(names(1), ["ReadOutput", "new", "old"]);

        let second = ScriptedProvider::new(Script::new().text("Three.").text("Four."));
        session.config().set_model("other-model", Some(Arc::new(second.clone()))).await.unwrap();
        session.config().set_tools(ToolChange::Remove(vec!["old".to_owned()])).unwrap();
        session.run("Hi").await.unwrap();
        session.config().set_tools(ToolChange::Replace(Vec::new())).unwrap();
        session.run("Hi").await.unwrap();
        let sent = second.requests();
        assert_eq!(sent[0].model, "other-model");
        assert_eq!(sent[0].tools.len(), 2, "new and ReadOutput");
        assert!(sent[1].tools.is_empty());
        assert_eq!(session.info().await.unwrap().model, "other-model");
    });
}

#[test]
fn sess_01_an_input_carries_metadata_and_can_be_cancelled_while_it_waits() {
    both_runtimes(async || {
        let script = Script::new().answer(ScriptedAnswer::new().gate("hold")).text("Never.");
        let (builder, model) = builder(script);
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        let first = session.send("One").await.unwrap();
        model.reached("hold").await;
        let metadata = json!({"client": "editor"}).as_object().unwrap().clone();
        let options = SendOptions { metadata: metadata.clone(), ..SendOptions::default() };
        let second = session.send_with("Two", options).await.unwrap();
        assert!(!session.cancel(&first).await.unwrap(), "its turn runs");
        assert!(session.cancel(&second).await.unwrap());
        assert!(!session.cancel(&second).await.unwrap(), "once");
        assert!(!session.cancel(&"nobody's".into()).await.unwrap());
        model.release("hold");
        let mut watch = session.watch();
        while watch.next().await.unwrap().state != SessionState::Ready {}
        let events = journal(&*store, session.id()).await;
        assert_eq!(count(&events, "turn_started"), 1, "what was cancelled is not delivered");
        let kept = events.iter().find_map(|event| match &event.event {
            Event::InputAccepted(data) if data.input == second => Some(data.metadata.clone()),
            _ => None,
        });
        assert_eq!(kept, Some(metadata));
    });
}

/// Clients append and read while a turn runs: the session's task does one thing at a time.
#[test]
fn sess_01_clients_append_and_read_while_a_turn_runs() {
    both_runtimes(async || {
        let answer = ScriptedAnswer::new().text("Half").gate("go").text(" done");
        let (builder, model) = builder(Script::new().answer(answer));
        let session = builder.create(memory(), None).await.unwrap();
        let running = session.clone();
        let run = tokio::spawn(async move { running.run("Hi").await });
        model.reached("go").await;
        session.rename("busy").await.unwrap();
        assert_eq!(session.info().await.unwrap().name.as_deref(), Some("busy"));
        let mut watch = session.watch();
        let live = loop {
            let live = watch.next().await.unwrap();
            if live.turn.as_ref().is_some_and(|turn| turn.text == "Half") {
                break live;
            }
        };
        assert_eq!(live.state, SessionState::Busy);
        assert!(live.cursor.is_some());
        model.release("go");
        assert_eq!(run.await.unwrap().unwrap(), "Half done");
        while watch.next().await.unwrap().state != SessionState::Ready {}
        assert_eq!(session.watch().current().await.unwrap().turn, None);
    });
}

/// A client that attaches late sees the running calls, with the end of their output.
#[test]
fn the_live_turn_shows_active_calls_and_what_they_print() {
    struct Talker(robota_testkit::HeldTool);

    #[async_trait::async_trait]
    impl Tool for Talker {
        fn spec(&self) -> &ToolSpec {
            self.0.spec()
        }

        async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
            context.progress.show("working...");
            self.0.run(input, context).await
        }
    }

    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [slow]\n- text: Done."));
        let slow = blocking_tool("slow", Class::Execute);
        let session = builder
            .tools(tool(Talker(slow.clone())))
            .gate(allow())
            .create(memory(), None)
            .await
            .unwrap();
        let running = session.clone();
        let run = tokio::spawn(async move { running.run("Hi").await });
        slow.started(1).await;
        let mut watch = session.watch();
        loop {
            let live = watch.next().await.unwrap();
            let calls = live.turn.iter().flat_map(|turn| turn.calls.values());
            let shown = |stage: &CallStage, output: &str| {
                *stage == CallStage::Started && output == "working..."
            };
            if calls.into_iter().any(|call| shown(&call.stage, call.output.as_str())) {
                break;
            }
        }
        slow.release("done");
        run.await.unwrap().unwrap();
    });
}

#[test]
fn entries_and_unknown_events_are_recorded_between_turns() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new());
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        let ids = robota_testkit::CountingIds::default();
        let at = "2026-01-02T03:04:05Z".parse().unwrap();
        let entry = HistoryEntry::event(&ids, at, "note", json!("hello"));
        session.journal().record(EntryAdded { entry }).await.unwrap();
        let error = ErrorData::new(ErrorKind::Plugin, "a task failed");
        session.journal().record(Failed { error }).await.unwrap();
        let data = RawJson::parse(r#"{"task":"t1"}"#).unwrap();
        session
            .journal()
            .record(Event::Unknown { kind: "task_started".to_owned(), data })
            .await
            .unwrap();
        let refused = session.journal().record(ModeChanged { mode: Mode::Plan }).await.unwrap_err();
        assert!(refused.to_string().contains("mode_changed"), "{refused}");
        let events = journal(&*store, session.id()).await;
        assert_eq!(kinds(&events)[2..], ["entry_added", "failed", "task_started"]);
    });
}

#[test]
fn a_session_knows_which_call_started_it() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new());
        let parent = SpawnedBy {
            session: "parent".into(),
            turn: Some("t1".into()),
            call: Some("c1".into()),
        };
        let store = memory();
        let session = builder.spawned_by(parent.clone()).create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.shutdown("end").await.unwrap();
        assert_eq!(load(&*store, &id).await.unwrap().spawned_by, Some(parent.clone()));
        assert_eq!(load_whole(&*store, &id).await.unwrap().spawned_by, Some(parent.clone()));
        let head = store.head(&id).await.unwrap();
        assert_eq!((head.spawned_by, head.parent), (Some(parent), None));
    });
}

/// Counts its own calls: state that must not leak between sessions.
struct Counter(ToolSpec, AtomicUsize, String);

#[async_trait::async_trait]
impl Tool for Counter {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: Value, context: ToolContext) -> ToolOutcome {
        assert_eq!(context.scope.session.as_ref().map(|id| id.as_str()), Some(&*self.2));
        assert!(context.scope.turn.is_some());
        let blob = context.scope.blobs.put(b"kept").await.unwrap();
        assert_eq!(context.scope.blobs.get(&blob).await.unwrap().as_deref(), Some(&b"kept"[..]));
        ToolOutcome::ok((self.1.fetch_add(1, Ordering::SeqCst) + 1).to_string())
    }
}

#[test]
fn kode_04_a_fork_has_its_own_tool_state() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml(
            "- tools: [count]\n- text: A.\n- tools: [count]\n- text: B.\n- tools: [count]\n- text: C.",
        ));
        let made = Arc::new(Mutex::new(Vec::new()));
        let seen = made.clone();
        let factory = move |scope: &ToolScope| -> Vec<Arc<dyn Tool>> {
            seen.lock().unwrap().push(scope.session.clone());
            let spec = fn_tool("count", Class::Inspect, |_| async { ToolOutcome::ok("") });
            let session = scope.session.to_string();
            vec![Arc::new(Counter(spec.spec().clone(), AtomicUsize::new(0), session))]
        };
        let session = builder
            .tool_factory(Arc::new(factory))
            .gate(allow())
            .create(memory(), None)
            .await
            .unwrap();
        let last = async |session: &robota_session::Session| {
            session.run("Go").await.unwrap();
            let messages = session.context().messages().await.unwrap();
            messages
                .iter()
                .rev()
                .find_map(|m| m.tool_results().next().map(|r| r.as_text()))
                .unwrap()
        };
        assert_eq!(last(&session).await, "1");
        let fork = session.fork(&Selector::Latest, None).await.unwrap();
        assert_eq!(last(&session).await, "2");
        assert_eq!(last(&fork).await, "1", "a fork starts with fresh tools");
        let ids = [session.id().clone(), fork.id().clone()];
        assert_eq!(*made.lock().unwrap(), ids);
    });
}

/// A fork has the tools that its parent has: what was removed or replaced does not come back from a
/// factory.
#[test]
fn kode_04_a_fork_has_the_changed_tools_of_its_parent() {
    both_runtimes(async || {
        let factory = |_: &ToolScope| -> Vec<Arc<dyn Tool>> {
            ["made", "shell"]
                .map(|name| Arc::new(echo(name, Class::Inspect)) as Arc<dyn Tool>)
                .to_vec()
        };
        let offered = async |change: ToolChange| {
            let (builder, model) = builder(Script::new().text("One.").text("Two."));
            let session = builder
                .tool_factory(Arc::new(factory))
                .tools(tool(echo("own", Class::Inspect)))
                .create(memory(), None)
                .await
                .unwrap();
            session.config().set_tools(change).unwrap();
            session.run("Go").await.unwrap();
            let fork = session.fork(&Selector::Latest, None).await.unwrap();
            fork.run("Go").await.unwrap();
            let names = |request: &robota_core::provider::ModelRequest| -> Vec<String> {
                let names = request.tools.iter().map(|tool| tool.name.clone());
                let mut names: Vec<_> = names.filter(|name| name != "ReadOutput").collect();
                names.sort();
                names
            };
            let requests = model.requests();
            assert_eq!(names(&requests[0]), names(&requests[1]), "parent and fork");
            names(&requests[1])
        };
        let remove = ToolChange::Remove(vec!["shell".to_owned(), "own".to_owned()]);
        assert_eq!(offered(remove).await, ["made"]);
        let replace = ToolChange::Replace(tool(echo("shell", Class::Execute)));
        assert_eq!(offered(replace).await, ["shell"]);
        let add = ToolChange::Add(tool(echo("more", Class::Inspect)));
        assert_eq!(offered(add).await, ["made", "more", "own", "shell"]);
    });
}

/// Two tools with one name are refused before the session exists in the store.
#[test]
fn a_name_clash_leaves_no_session_behind() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new());
        let store = memory();
        let twice =
            builder.tools(tool(echo("a", Class::Inspect))).tools(tool(echo("a", Class::Inspect)));
        assert!(twice.create(store.clone(), Some("clash".into())).await.is_err());
        assert!(store.head(&"clash".into()).await.is_err());
    });
}

/// A reader in another process follows the journal, not the session's task.
#[test]
fn kode_03_a_session_that_is_open_in_another_process_can_be_followed() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two."));
        let store = memory();
        let session = builder.clone().create(store.clone(), None).await.unwrap();
        session.run("Hi").await.unwrap();
        let id = session.id().clone();
        let mut events =
            follow(store.clone(), &id, StartAt::Start, EventFilter::Everything).await.unwrap();
        let (shown, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let follower = tokio::spawn(async move {
            while let Some(event) = events.next_event().await {
                match event {
                    Ok(event) => shown.send((*event.envelope).clone()).unwrap(),
                    Err(error) => return error.to_string(),
                }
            }
            panic!("it ends with an error when the session is deleted")
        });
        session.run("Again").await.unwrap();
        session.shutdown("end").await.unwrap();
        drop(session);
        // The next writer is followed too.
        let again = builder.resume(store.clone(), &id, Resume::default()).await.unwrap();
        again.shutdown("end").await.unwrap();
        let written = journal(&*store, &id).await;
        for event in &written {
            assert_eq!(seen.recv().await.as_ref(), Some(event));
        }
        let mut caught_up =
            follow(store.clone(), &id, written.last().unwrap().cursor(), EventFilter::Everything)
                .await
                .unwrap();
        store.delete(&id).await.unwrap();
        let error = follower.await.unwrap();
        assert!(error.contains("no session"), "{error}");
        assert!(caught_up.next_event().await.unwrap().is_err());
    });
}

/// Blocks inputs with the word "bad"; waits before it answers for the word "slow".
#[derive(Default)]
struct PromptGate {
    asked: tokio::sync::Notify,
    release: tokio::sync::Notify,
}

#[async_trait::async_trait]
impl Hooks for PromptGate {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::UserPromptSubmit
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let HookInput::UserPromptSubmit { content } = input else { panic!() };
        let text = format!("{content:?}");
        if text.contains("slow") {
            self.asked.notify_one();
            self.release.notified().await;
        }
        let decision = match text.contains("bad") {
            true => PromptDecision::Block { reason: "bad".to_owned() },
            false => PromptDecision::Continue { context: None },
        };
        HookAnswer::UserPromptSubmit(decision).into()
    }
}

/// An input that joins a running turn passes the same hooks as one that starts a turn; while they run
/// on it, it can be neither changed nor cancelled.
#[test]
fn sess_15_prompt_hooks_run_on_inputs_for_the_next_round() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml("- tools: [slow]\n- text: Done."));
        let slow = robota_testkit::blocking_tool("slow", Class::Inspect);
        let hooks = Arc::new(PromptGate::default());
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .hooks(hooks.clone())
            .create(memory(), None)
            .await
            .unwrap();
        let running = session.clone();
        let run = tokio::spawn(async move { running.run("Go").await });
        slow.started(1).await;
        let next_round = || SendOptions::from(Delivery::NextRound);
        let bad = session.chat_with("bad", next_round(), EventFilter::default()).await.unwrap();
        let good = session.chat_with("slow", next_round(), EventFilter::default()).await.unwrap();
        slow.release("ok");
        hooks.asked.notified().await;
        assert!(!session.cancel(good.input()).await.unwrap(), "a turn has taken it");
        hooks.release.notify_one();
        assert_eq!(run.await.unwrap().unwrap(), "Done.");
        let error = bad.finish().await.unwrap().into_text().unwrap_err();
        assert!(matches!(error, SessionError::Blocked(_)), "{error}");
        assert_eq!(good.finish().await.unwrap().into_text().unwrap(), "Done.");
        let sent = model.requests();
        let texts: Vec<_> = sent[1].messages.iter().map(|message| message.text()).collect();
        assert_eq!(texts, ["Go", "", "", "slow"]);
    });
}

/// Context from SessionStart hooks is sent with the first prompt that is delivered.
#[test]
fn sess_15_a_blocked_prompt_does_not_use_up_the_session_start_context() {
    use robota_core::hook::{EventDecision, EventReport, HookData, HookEvent};

    struct Strict;

    #[async_trait::async_trait]
    impl Hooks for Strict {
        fn has_point(&self, point: HookPoint) -> bool {
            point == HookPoint::UserPromptSubmit
        }

        async fn run(&self, input: HookInput) -> HookReply {
            let HookInput::UserPromptSubmit { content } = input else { panic!() };
            let bad = format!("{content:?}").contains("bad");
            let decision = match bad {
                true => PromptDecision::Block { reason: "bad".to_owned() },
                false => PromptDecision::Continue { context: None },
            };
            HookAnswer::UserPromptSubmit(decision).into()
        }

        fn has_event(&self, event: HookEvent) -> bool {
            matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit)
        }

        async fn run_event(&self, _data: HookData) -> EventReport {
            let context = Some("the start's context".to_owned());
            let initial_user_message = Some("I am Ada.".to_owned());
            let decision = EventDecision::Continue { context };
            EventReport { decision, initial_user_message, ..Default::default() }
        }
    }

    both_runtimes(async || {
        let (builder, model) = builder(Script::new().text("Fine.").text("Still fine."));
        let session = builder.hooks(Arc::new(Strict)).create(memory(), None).await.unwrap();
        assert!(session.run("bad words").await.is_err());
        session.run("good words").await.unwrap();
        session.run("more").await.unwrap();
        let sent = model.requests();
        let said = |request: usize| {
            let texts = sent[request].messages.iter().map(|message| message.text());
            texts.collect::<Vec<_>>().join("|")
        };
        assert_eq!(said(1).matches("I am Ada.").count(), 1, "once: {}", said(1));
        let said = said(0);
        assert!(said.starts_with("I am Ada."), "before the first prompt: {said}");
        assert!(said.contains("the start's context") && said.contains("good words"), "{said}");
    });
}

/// A model call outside the conversation is retried within its budget, reports that, and runs its
/// hooks; one that fails is counted as a failure.
/// A caller that stops waiting does not hide what its question cost.
/// The message of a service can contain the key that it refused.
#[tokio::test(start_paused = true)]
async fn sess_13_failed_attempts_outside_a_turn_are_recorded_without_secrets() {
    const SECRET: &str = "sk-live-0123456789";
    let script = format!("- error: {{kind: network, message: 'bad {SECRET}'}}\n- text: Aside.");
    let (builder, _model) = builder(yaml(&script));
    let store = memory();
    let session = builder
        .configure(|config| {
            let secret = robota_core::env_ref::Secret::new(SECRET);
            config.redactor = robota_core::redact::Redactor::new([secret]).unwrap();
        })
        .create(store.clone(), None)
        .await
        .unwrap();
    assert_eq!(session.ask_llm("Well?", None).await.unwrap().text, "Aside.");
    let events = journal(&*store, session.id()).await;
    let retries: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            Event::ModelRetry(retry) => Some(retry.error.message.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(retries, ["bad [REDACTED]"]);
}

#[test]
fn kode_02_ask_llm_counts_although_its_caller_goes_away() {
    both_runtimes(async || {
        let usage = robota_core::usage::Usage::new(9, 1);
        let script =
            Script::new().answer(ScriptedAnswer::new().gate("asked").text("Yes.").usage(usage));
        let (builder, model) = builder(script);
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
        tokio::select! {
            biased;
            _ = session.ask_llm("Are you there?", None) => panic!("it waits for the model"),
            () = model.reached("asked") => {}
        }
        model.release("asked");
        loop {
            let event = events.next_event().await.unwrap().unwrap();
            if let Event::ModelAsked(data) = event.event() {
                assert_eq!(data.usage, Some(usage));
                break;
            }
        }
        session.shutdown("end").await.unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn kode_02_ask_llm_retries_and_counts() {
    let busy = || ProviderError::new(ErrorKind::RateLimit, "busy");
    let (builder, _) = builder(
        Script::new()
            .error(busy().with_retry_after(std::time::Duration::from_secs(5)))
            .text("Now.")
            .error(busy().with_retry_after(std::time::Duration::from_secs(100_000))),
    );
    let store = memory();
    let session = builder.create(store.clone(), None).await.unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!(session.ask_llm("?", None).await.unwrap().text, "Now.");
    assert_eq!(started.elapsed().as_secs(), 5, "Retry-After is honoured");
    assert!(session.ask_llm("?", None).await.is_err(), "a wait beyond the budget is not made");
    assert_eq!(started.elapsed().as_secs(), 5);
    let events = journal(&*store, session.id()).await;
    assert_eq!(kinds(&events)[2..], ["model_retry", "model_asked", "model_asked"]);
    let Event::ModelAsked(failed) = &events[4].event else { panic!() };
    assert_eq!(failed.error.as_ref().unwrap().kind, ErrorKind::RateLimit);
}

/// A silent stream ends a compaction as it ends an answer, and an interrupt ends it immediately.
#[tokio::test(start_paused = true)]
async fn sess_06_a_compaction_has_the_idle_timer_and_can_be_interrupted() {
    let stall = ScriptedAnswer::new().text("Sum").gate("never");
    let script = (0..6).fold(Script::new().text("One."), |script, _| script.answer(stall.clone()));
    let (builder, model) = builder(script);
    let store = memory();
    let session = builder
        .idle_timeout(std::time::Duration::from_secs(3))
        .configure(|config| {
            config.turn.retry = robota_core::provider::RetryPolicy {
                budget: std::time::Duration::from_secs(4),
                ..Default::default()
            };
        })
        .create(store.clone(), None)
        .await
        .unwrap();
    session.run("Hi").await.unwrap();
    let error = session.context().compact(None).await.unwrap_err();
    assert!(error.to_string().contains("sent nothing for 3 s"), "{error}");
    let events = journal(&*store, session.id()).await;
    assert!(count(&events, "model_retry") >= 1, "{:?}", kinds(&events));

    let before = model.requests().len();
    let compacting = session.clone();
    let running = tokio::spawn(async move { compacting.context().compact(None).await });
    while model.requests().len() == before {
        tokio::task::yield_now().await;
    }
    assert!(session.interrupt(None).await.unwrap());
    let error = running.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    let mut watch = session.watch();
    while watch.next().await.unwrap().state != SessionState::Ready {}
}

/// A store whose journals can be replaced by those of another one, as after a crash of its machine
/// and a new writer.
#[derive(Clone)]
struct Replaced(Arc<Mutex<Arc<MemoryStore>>>);

impl Replaced {
    fn now(&self) -> Arc<MemoryStore> {
        self.0.lock().unwrap().clone()
    }
}

store_around!(Replaced, Replaced::now, |_: &Replaced, journal| journal);

/// A follower that saw events which a crash of the store removed gets a reset, whether it returns
/// with its cursor or was subscribed all the time. It then continues with the events of the next
/// writer.
#[test]
fn kode_03_a_follower_is_reset_when_the_store_lost_what_it_saw() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two.").looped());
        let store = memory();
        let session = builder.clone().create(store.clone(), None).await.unwrap();
        session.run("Hi").await.unwrap();
        let id = session.id().clone();
        let written = journal(&*store, &id).await;
        let place = Replaced(Arc::new(Mutex::new(store)));
        let mut there =
            follow(Arc::new(place.clone()), &id, StartAt::Start, EventFilter::Everything)
                .await
                .unwrap();
        for event in &written {
            assert_eq!(*there.next_event().await.unwrap().unwrap().envelope, *event);
        }
        // The same journal without its last events, continued by another writer.
        let cut = written.len() - 3;
        let lost = crashed(&id, &written[..cut]).await;
        let again = builder.resume(lost.clone(), &id, Resume::default()).await.unwrap();
        again.run("Again").await.unwrap();
        again.shutdown("end").await.unwrap();
        let rest = journal(&*lost, &id).await;
        *place.0.lock().unwrap() = lost;
        let asked = written.last().unwrap().cursor();
        let back = follow(Arc::new(place), &id, asked, EventFilter::Everything).await.unwrap();
        for mut events in [there, back] {
            let first = events.next().await.unwrap().unwrap();
            let valid = Some(written[cut - 1].cursor());
            assert_eq!(first, SubscriptionItem::CursorReset { asked, valid });
            for event in &rest[cut..] {
                assert_eq!(*events.next_event().await.unwrap().unwrap().envelope, *event);
            }
        }
    });
}

#[test]
fn core_26_a_session_passes_every_event_to_a_callback() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("Hi."));
        let kinds: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = kinds.clone();
        let observer: robota_core::driver::Observer =
            Arc::new(move |event| seen.lock().unwrap().push(event.event.kind().to_owned()));
        let callbacks = robota_session::Callbacks::new().on_event(observer);
        let session = builder.callbacks(callbacks).create(memory(), None).await.unwrap();
        session.run("Hello").await.unwrap();
        session.shutdown("done").await.unwrap();
        let kinds = kinds.lock().unwrap();
        for kind in ["input_accepted", "assistant_message", "turn_finished"] {
            assert!(kinds.iter().any(|found| found == kind), "{kind} in {kinds:?}");
        }
    });
}

/// Each call is short, and all of them together have more tokens than a long prompt.
#[tokio::test]
async fn the_cost_of_a_reply_is_the_sum_of_its_calls() {
    let (model, usage) = ("gemini-2.5-pro", robota_core::usage::Usage::new(150_000, 10));
    let call = ScriptedAnswer::new().tool("look", json!({})).usage(usage);
    let script =
        Script::new().answer(call).answer(ScriptedAnswer::new().text("Done.").usage(usage));
    let session = Session::builder(Arc::new(ScriptedProvider::new(script)), model)
        .tools(tool(echo("look", Class::Inspect)))
        .gate(allow())
        .create(memory(), None)
        .await
        .unwrap();
    let reply = session.chat("Go", EventFilter::Everything).await.unwrap().finish().await.unwrap();
    let each = robota_core::catalogue::Catalogue::builtin().cost(model, usage).unwrap();
    assert!((reply.cost.unwrap() - 2.0 * each).abs() < 1e-9, "{:?}, not twice {each}", reply.cost);
}
