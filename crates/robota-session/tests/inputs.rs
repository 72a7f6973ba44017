//! Inputs and answers of a session: send, chat, reply, run, interrupt, shut down.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use robota_core::event::{Delivery, Event, TurnEnd};
use robota_core::hook::{
    EventReport, HookData, HookEvent, HookInput, HookPoint, HookReply, Hooks, NoHooks,
};
use robota_core::journal::JournalError;
use robota_core::message::{Block, Cause, Message, MessageState, Role};
use robota_core::permission::{Class, Mode};
use robota_session::{
    ChatEnd, Decision, EventFilter, EventKind, Resume, Session, SessionError, SessionState,
    StartAt, SubscriptionItem, ToolChange,
};
use robota_testkit::{Script, ScriptedAnswer, blocking_tool, stubborn_tool};

/// Records the data that lifecycle hooks receive.
#[derive(Default)]
struct RecordedHooks(Mutex<Vec<HookData>>);

impl RecordedHooks {
    fn of(&self, event: HookEvent) -> Vec<HookData> {
        self.0.lock().unwrap().iter().filter(|data| data.event() == event).cloned().collect()
    }
}

#[async_trait::async_trait]
impl Hooks for RecordedHooks {
    fn has_point(&self, _point: HookPoint) -> bool {
        false
    }

    async fn run(&self, input: HookInput) -> HookReply {
        NoHooks.run(input).await
    }

    fn has_event(&self, _event: HookEvent) -> bool {
        true
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        self.0.lock().unwrap().push(data);
        EventReport::default()
    }
}

#[test]
fn kode_02_send_returns_once_the_input_is_durable_and_before_it_is_answered() {
    both_runtimes(async || {
        let (builder, model) =
            builder(Script::new().answer(ScriptedAnswer::new().gate("think").text("Hi.")));
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        assert_eq!(session.status().await.unwrap().state, SessionState::Ready);
        let input = session.send("Hello").await.unwrap();
        assert!(session.is_running());
        let events = journal(&*store, session.id()).await;
        assert!(events.iter().any(|event| matches!(
            &event.event, Event::InputAccepted(data) if data.input == input
        )));
        model.reached("think").await;
        assert_eq!(session.status().await.unwrap().state, SessionState::Busy);
        model.release("think");
        let reply = session.reply("Again?").await;
        assert!(matches!(reply.unwrap().end, ChatEnd::Ended { end: TurnEnd::ProviderFailed, .. }));
    });
}

#[test]
fn kode_02_a_pause_begins_after_the_turn_and_keeps_later_inputs_waiting() {
    both_runtimes(async || {
        let answer = |gate: &str, text: &str| ScriptedAnswer::new().gate(gate).text(text);
        let script = Script::new().answer(answer("think", "One.")).answer(answer("later", "Two."));
        let (builder, model) = builder(script);
        let session = builder.create(memory(), None).await.unwrap();
        let first = session.send("Hello").await.unwrap();
        model.reached("think").await;
        let queue = session.queue();
        let mut pausing = std::pin::pin!(queue.pause());
        // The request is sent before the next one, so before the turn ends.
        assert!(futures::poll!(&mut pausing).is_pending());
        let second = session.send("Later").await.unwrap();
        model.release("think");
        let pause = pausing.await.unwrap();
        let waiting = session.queue().list().await.unwrap();
        let waiting: Vec<_> = waiting.into_iter().map(|it| it.input).collect();
        assert_eq!(waiting, [second], "not {first}: its turn has ended");
        assert_eq!(model.requests().len(), 1);
        drop(pause);
        model.reached("later").await;
        model.release("later");
    });
}

#[test]
fn kode_02_nothing_continues_or_summarises_during_a_pause() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("A summary."));
        let session = builder.create(memory(), None).await.unwrap();
        session.run("Hello").await.unwrap();
        let pause = session.queue().pause().await.unwrap();
        let compacted = session.context().compact(None).await;
        assert!(matches!(compacted, Err(SessionError::Busy { .. })), "{compacted:?}");
        let continued = session.recovery().continue_turn().await;
        assert!(matches!(continued, Err(SessionError::Busy { .. })), "{continued:?}");
        drop(pause);
        // At once, although the session may not have noticed yet that the pause has ended.
        session.context().compact(None).await.unwrap();
    });
}

#[test]
fn kode_02_reply_and_chat_end_when_the_turn_does() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two."));
        let session = builder.create(memory(), None).await.unwrap();
        let reply = session.reply("Hi").await.unwrap();
        assert_eq!(reply.text, "One.");
        assert_eq!(reply.end, ChatEnd::Ended { end: TurnEnd::Complete, error: None });
        assert_eq!(session.status().await.unwrap().messages, 1);
        let mut chat = session.chat("More", EventFilter::default()).await.unwrap();
        let mut seen = Vec::new();
        while let Some(event) = chat.next().await {
            seen.extend(event.unwrap().kinds);
        }
        assert_eq!(
            seen,
            [
                EventKind::MessagesUpdate,
                EventKind::TextChunk,
                EventKind::Usage,
                EventKind::Text,
                EventKind::MessagesUpdate
            ]
        );
    });
}

#[test]
fn sess_01_run_returns_the_answer_and_counts_completed_runs() {
    both_runtimes(async || {
        let (builder, model) = builder(Script::new().text("Hello!").text("Bye."));
        let session = builder.system("Be brief.").create(memory(), None).await.unwrap();
        assert_eq!(session.run("Hi").await.unwrap(), "Hello!");
        assert_eq!(session.run("Bye").await.unwrap(), "Bye.");
        let context = session.context();
        assert_eq!(context.message_count().await.unwrap(), 2);
        let messages = context.messages().await.unwrap();
        let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
        assert_eq!(texts, ["Hi", "Hello!", "Bye", "Bye."]);
        assert_eq!(context.full_history().await.unwrap().len(), 4);
        assert_eq!(model.requests()[1].system.as_deref(), Some("Be brief."));
        context.clear().await.unwrap();
        assert!(context.messages().await.unwrap().is_empty());
        assert_eq!(context.full_history().await.unwrap().len(), 4, "what happened stays");
        let used = context.state().await.unwrap().used_tokens;
        assert!(used < 10, "{used}");
    });
}

#[tokio::test(start_paused = true)]
async fn a_session_can_go_back_to_a_message() {
    let (builder, model) = builder(Script::new().text("One.").text("Two.").text("Again."));
    let session = builder.create(memory(), None).await.unwrap();
    session.run("1").await.unwrap();
    session.run("2").await.unwrap();
    let context = session.context();
    let first = context.messages().await.unwrap()[1].id.clone();
    context.rewind(&first).await.unwrap();
    session.run("3").await.unwrap();
    let sent: Vec<_> = model.requests()[2].messages.iter().map(|m| m.text()).collect();
    assert_eq!(sent, ["1", "One.", "3"]);
    assert_eq!(context.full_history().await.unwrap().len(), 6, "what happened stays");
    let unknown = robota_core::ids::MessageId::from("nothing");
    assert!(matches!(context.rewind(&unknown).await, Err(SessionError::NoSuchMessage(_))));
}

#[tokio::test(start_paused = true)]
async fn sess_01_messages_and_entries_can_be_added() {
    let (builder, model) = builder(Script::new().text("Yes."));
    let session = builder.create(memory(), None).await.unwrap();
    let ids = robota_testkit::CountingIds::default();
    let context = session.context();
    context.inject(Message::user(&ids, "Remember: 42.")).await.unwrap();
    let now = robota_testkit::FakeClock::START;
    let note = serde_json::json!({"text": "a note"});
    let entry = robota_core::history::HistoryEntry::event(&ids, now, "note", note);
    context.add_entry(entry).await.unwrap();
    session.run("Is it 42?").await.unwrap();
    let sent: Vec<_> = model.requests()[0].messages.iter().map(|m| m.text()).collect();
    assert_eq!(sent, ["Remember: 42.", "Is it 42?"]);
    assert_eq!(context.full_history().await.unwrap().len(), 4);
}

#[test]
fn sess_01_a_message_injected_while_busy_waits_for_the_turn() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml("- tools: [slow]\n- text: Done.\n- text: More."));
        let slow = blocking_tool("slow", Class::Execute);
        let session =
            builder.tools(tool(slow.clone())).gate(allow()).create(memory(), None).await.unwrap();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        let ids = robota_testkit::CountingIds::default();
        let (context, injected) = (session.context(), Message::user(&ids, "By the way."));
        let inject = tokio::spawn(async move { context.inject(injected).await });
        tokio::task::yield_now().await;
        slow.release("ok");
        inject.await.unwrap().unwrap();
        let messages = session.context().messages().await.unwrap();
        let roles: Vec<_> = messages.iter().map(|message| message.role()).collect();
        use Role::{Assistant, Tool, User};
        assert_eq!(roles, [User, Assistant, Tool, Assistant, User]);
        assert_eq!(model.requests().len(), 2);
    });
}

#[test]
fn sess_02_the_threshold_is_a_share_of_the_window() {
    both_runtimes(async || {
        for bad in [0.0, -0.1, 1.1, f64::NAN] {
            let (builder, _) = builder(Script::new());
            let error = builder.auto_compact(Some(bad)).create(memory(), None).await.err().unwrap();
            assert!(matches!(error, SessionError::Setting(_)), "{error}");
        }
        let (builder, _) = builder(Script::new());
        let session = builder.create(memory(), None).await.unwrap();
        assert_eq!(session.context().auto_compact(), Some(0.835));
        session.context().set_auto_compact(None).unwrap();
        assert_eq!(session.context().auto_compact(), None);
        assert!(session.context().set_auto_compact(Some(2.0)).is_err());
        session.context().set_auto_compact(Some(1.0)).unwrap();
    });
}

#[test]
fn sess_02_an_id_is_reused_or_fresh() {
    both_runtimes(async || {
        let id = "agent:dev/session:main".into();
        let store = memory();
        let (first, _) = builder(Script::new());
        let session = first.clone().create(store.clone(), Some(id)).await.unwrap();
        assert_eq!(session.id().as_str(), "agent:dev/session:main");
        let again = first.clone().create(store.clone(), Some(session.id().clone())).await;
        assert!(matches!(again.err().unwrap(), SessionError::Journal(_)));
        let fresh = first.clone().create(store.clone(), None).await.unwrap();
        assert_eq!(fresh.id().as_str().len(), 36);
        let hostile = first.create(store, Some("../../etc".into())).await;
        let hostile = hostile.err().unwrap();
        assert!(matches!(hostile, SessionError::Journal(JournalError::BadId { .. })), "{hostile}");
    });
}

#[test]
fn sess_07_abort_keeps_the_partial_answer_and_reports_it() {
    both_runtimes(async || {
        let (builder, model) = builder(
            Script::new()
                .answer(ScriptedAnswer::new().text("Half an").gate("never"))
                .text("Whole."),
        );
        let session = builder.create(memory(), None).await.unwrap();
        let running = session.clone();
        let run = tokio::spawn(async move { running.run("Hi").await });
        model.reached("never").await;
        assert!(session.interrupt(Some("stop".to_owned())).await.unwrap());
        assert_eq!(session.status().await.unwrap().state, SessionState::Ready);
        let text = "Half an".to_owned();
        assert_eq!(run.await.unwrap(), Err(SessionError::Aborted { text }));
        let messages = session.context().messages().await.unwrap();
        assert_eq!(messages[1].state(), MessageState::Interrupted(Cause::User));
        assert_eq!(session.run("Again").await.unwrap(), "Whole.", "usable afterwards");
    });
}

#[test]
fn kode_02_interrupt_while_idle_does_nothing_and_swallows_nothing() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("Hi."));
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        let before = journal(&*store, session.id()).await.len();
        assert!(!session.interrupt(None).await.unwrap());
        assert_eq!(journal(&*store, session.id()).await.len(), before);
        assert_eq!(session.run("Hello").await.unwrap(), "Hi.");
    });
}

#[test]
fn kode_02_interrupt_while_tools_run_and_wait_pairs_every_call() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [quick, slow, slow, queued]\n- text: Never."));
        let slow = stubborn_tool("slow", Class::Execute);
        let store = memory();
        let session = builder
            .tools(tool(slow.clone()))
            .tools(tool(echo("quick", Class::Inspect)))
            .tools(tool(echo("queued", Class::Execute)))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        session.interrupt(None).await.unwrap();
        let messages = session.context().messages().await.unwrap();
        check(&journal(&*store, session.id()).await, &messages);
        let results: Vec<_> = messages[2].tool_results().map(|r| r.as_text()).collect();
        assert_eq!(results[0], "{}");
        assert!(results[1].contains("may have had effects"), "{}", results[1]);
        assert_eq!(results[2], "Execution interrupted by user");
        assert_eq!(results[3], "Execution interrupted by user");
    });
}

#[test]
fn kode_02_interrupt_while_approval_is_pending_withdraws_the_question() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [a, b]\n- text: Never."));
        let store = memory();
        let session = builder
            .tools(tool(echo("a", Class::Execute)))
            .tools(tool(echo("b", Class::Execute)))
            .gate(ask())
            .approvals(robota_session::Approvals::Decide)
            .create(store.clone(), None)
            .await
            .unwrap();
        let reply = session.reply("Go").await.unwrap();
        assert!(matches!(reply.end, ChatEnd::Paused { .. }), "{reply:?}");
        let mut watch = session.watch();
        let permissions = loop {
            let pending = watch.next().await.unwrap().pending;
            if pending.len() == 2 {
                break pending;
            }
        };
        assert_eq!(session.status().await.unwrap().state, SessionState::Paused);
        session.interrupt(None).await.unwrap();
        assert_eq!(session.status().await.unwrap().state, SessionState::Ready);
        assert!(session.permissions().pending().is_empty());
        let late = session.permissions().decide(&permissions[0], Decision::Deny, None).await;
        assert_eq!(late, Err(SessionError::NotAsked(permissions[0].clone())));
        check(&journal(&*store, session.id()).await, &session.context().messages().await.unwrap());
    });
}

#[test]
fn sess_01_text_for_the_next_round_never_lands_between_a_call_and_its_result() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml("- tools: [slow]\n- text: Done.\n- text: Later."));
        let slow = blocking_tool("slow", Class::Execute);
        let store = memory();
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        session.send_with("Also this", Delivery::NextRound).await.unwrap();
        let after = session.send("And then that").await.unwrap();
        assert_eq!(session.status().await.unwrap().queued, 2);
        slow.release("ok");
        let mut events = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
        let mut turn = None;
        loop {
            let event = events.next_event().await.unwrap().unwrap();
            match event.event() {
                Event::UserMessage(data) if data.input == Some(after.clone()) => {
                    turn.clone_from(&event.envelope.turn);
                }
                Event::TurnFinished(_) if turn.is_some() && event.envelope.turn == turn => break,
                _ => {}
            }
        }
        let messages = session.context().messages().await.unwrap();
        let texts: Vec<_> =
            messages.iter().map(|message| (message.role(), message.text())).collect();
        use Role::{Assistant, Tool, User};
        let says = |role, text: &str| (role, text.to_owned());
        assert_eq!(
            texts,
            [
                says(User, "Go"),
                says(Assistant, ""),
                says(Tool, ""),
                says(User, "Also this"),
                says(Assistant, "Done."),
                says(User, "And then that"),
                says(Assistant, "Later.")
            ]
        );
        assert_eq!(model.requests().len(), 3);
        check(&journal(&*store, session.id()).await, &messages);
    });
}

#[test]
fn kode_02_interrupt_cancels_waiting_inputs_and_reports_it() {
    both_runtimes(async || {
        let (builder, model) =
            builder(Script::new().answer(ScriptedAnswer::new().gate("never")).text("Hi."));
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        session.send("One").await.unwrap();
        model.reached("never").await;
        let second = session.send("Two").await.unwrap();
        let third = session.send_with("Three", Delivery::NextRound).await.unwrap();
        session.interrupt(None).await.unwrap();
        assert_eq!(session.status().await.unwrap().queued, 0);
        let events = journal(&*store, session.id()).await;
        let cancelled: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.event {
                Event::InputCancelled(data) => Some(data.input.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(cancelled, [second, third]);
        assert_eq!(session.run("Four").await.unwrap(), "Hi.");
    });
}

#[test]
fn sess_08_a_failure_is_reported_and_the_session_stays_usable() {
    both_runtimes(async || {
        let error = robota_core::provider::ProviderError::new(
            robota_core::error::ErrorKind::Authentication,
            "no key",
        );
        let (builder, _) = builder(Script::new().error(error).text("Better."));
        let recorded = Arc::new(RecordedHooks::default());
        let store = memory();
        let session = builder.hooks(recorded.clone()).create(store.clone(), None).await.unwrap();
        let SessionError::Failed(error) = session.run("Hi").await.unwrap_err() else { panic!() };
        assert!(error.message.contains("no key"));
        assert_eq!(count(&journal(&*store, session.id()).await, "model_failed"), 1);
        assert_eq!(session.context().messages().await.unwrap()[0].text(), "Hi", "history intact");
        assert_eq!(
            session.context().message_count().await.unwrap(),
            0,
            "the run was not completed"
        );
        assert_eq!(session.run("Again").await.unwrap(), "Better.");
        assert_eq!(session.context().message_count().await.unwrap(), 1);
        session.shutdown("done").await.unwrap();
        let failures = recorded.of(HookEvent::StopFailure);
        assert_eq!(failures.len(), 1);
        assert!(format!("{failures:?}").contains("no key"));
    });
}

#[test]
fn sess_09_shutdown_stops_work_persists_and_fires_session_end_once() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [slow]\n- text: Never."));
        let (slow, recorded, store) =
            (blocking_tool("slow", Class::Execute), Arc::new(RecordedHooks::default()), memory());
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .hooks(recorded.clone())
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        session.shutdown("prompt_input_exit").await.unwrap();
        slow.cancelled(1).await;
        let events = journal(&*store, &id).await;
        assert_eq!(events.last().unwrap().event.kind(), "closed");
        let end = recorded.of(HookEvent::SessionEnd);
        assert_eq!(end, [HookData::SessionEnd { reason: "prompt_input_exit".to_owned() }]);
        let closed = session.send("More").await.unwrap_err();
        assert!(closed.to_string().contains("prompt_input_exit"), "{closed}");
        session.shutdown("again").await.unwrap();
        drop(session);
        assert_eq!(recorded.of(HookEvent::SessionEnd).len(), 1);
        store_is_free(&store, &id).await;
    });
}

async fn store_is_free(
    store: &Arc<robota_core::journal::MemoryStore>,
    id: &robota_core::ids::SessionId,
) {
    use robota_core::journal::JournalStore as _;
    drop(store.open(id).await.unwrap());
}

#[test]
fn sess_09_dropping_the_last_handle_shuts_down_in_the_background() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [slow]\n- text: Never."));
        let (slow, recorded, store) =
            (blocking_tool("slow", Class::Execute), Arc::new(RecordedHooks::default()), memory());
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .hooks(recorded.clone())
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        let other = session.clone();
        drop(session);
        assert!(other.is_running(), "one handle is enough");
        drop(other);
        let mut last = None;
        while let Some(event) = events.next_event().await {
            last = Some(event.unwrap());
        }
        let Event::Closed(closed) = last.unwrap().event().clone() else { panic!() };
        assert_eq!(closed.reason, "dropped");
        assert_eq!(recorded.of(HookEvent::SessionEnd).len(), 1);
        let messages = robota_core::resume::load(&*store, &id).await.unwrap().view.messages;
        check(&journal(&*store, &id).await, &messages);
    });
}

#[test]
fn sess_15_session_start_fires_once_and_its_context_is_sent_with_the_first_input() {
    both_runtimes(async || {
        struct Greets;
        #[async_trait::async_trait]
        impl Hooks for Greets {
            fn has_point(&self, _point: HookPoint) -> bool {
                false
            }
            async fn run(&self, input: HookInput) -> HookReply {
                NoHooks.run(input).await
            }
            fn has_event(&self, event: HookEvent) -> bool {
                event == HookEvent::SessionStart
            }
            async fn run_event(&self, data: HookData) -> EventReport {
                let HookData::SessionStart { source, .. } = data else { panic!("{data:?}") };
                let context = Some(format!("branch: main ({})", source.name()));
                let decision = robota_core::hook::EventDecision::Continue { context };
                EventReport { decision, ..EventReport::default() }
            }
        }
        let (builder, model) = builder(Script::new().text("One.").text("Two."));
        let store = memory();
        let session = builder.hooks(Arc::new(Greets)).create(store, None).await.unwrap();
        session.run("Hi").await.unwrap();
        session.run("Again").await.unwrap();
        let sent: Vec<_> = model.requests()[1].messages.iter().map(|m| m.text()).collect();
        assert_eq!(sent, ["branch: main (startup)Hi", "One.", "Again"]);
    });
}

#[test]
fn kode_02_ask_llm_is_not_part_of_the_conversation_and_counts() {
    both_runtimes(async || {
        let aside =
            ScriptedAnswer::new().text("Aside.").usage(robota_core::usage::Usage::new(7, 2));
        let (builder, model) = builder(Script::new().answer(aside).text("Hi."));
        let store = memory();
        let session = builder
            .configure(|config| config.turn.max_output = config.turn.context_window)
            .create(store.clone(), None)
            .await
            .unwrap();
        let before = journal(&*store, session.id()).await;
        let asked = session.ask_llm("What is it?", Some("Be brief.".into())).await.unwrap();
        assert_eq!((asked.text.as_str(), &asked.session), ("Aside.", session.id()));
        let after = journal(&*store, session.id()).await;
        assert_eq!(after.len(), before.len() + 1, "one event says what it cost");
        assert_eq!(count(&after, "model_asked"), 1);
        assert!(session.context().messages().await.unwrap().is_empty());
        let state = robota_core::resume::load(&*store, session.id()).await.unwrap();
        assert_eq!(state.usage.total(), 9);
        session.run("Hello").await.unwrap();
        assert_eq!(model.requests()[1].messages.len(), 1);
        assert_eq!(model.requests()[0].tools.len(), 0);
        assert_eq!(model.requests()[0].max_output_tokens, Some(100_000), "half of the window");
    });
}

#[test]
fn kode_02_tools_hooks_and_handlers_can_be_added_while_it_is_open() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml("- text: None.\n- tools: [late]\n- text: Done."));
        let session = builder.gate(allow()).create(memory(), None).await.unwrap();
        let (recorded, seen) = tokio::sync::mpsc::unbounded_channel();
        session
            .on(EventKind::MessagesUpdate, move |event| recorded.send(event.cursor()).unwrap())
            .await
            .unwrap();
        session.run("Hi").await.unwrap();
        assert_eq!(model.requests()[0].tools.len(), 0);
        let late = || ToolChange::Add(tool(echo("late", Class::Inspect)).into_iter().collect());
        session.config().set_tools(late()).unwrap();
        assert!(session.config().set_tools(late()).is_err());
        assert_eq!(session.run("Use it").await.unwrap(), "Done.");
        let names: Vec<_> = model.requests()[1].tools.iter().map(|t| t.name.clone()).collect();
        assert_eq!(names, ["ReadOutput", "late"]);
        drop(session);
        let mut seen = seen;
        let mut cursors = Vec::new();
        while let Some(cursor) = seen.recv().await {
            cursors.push(cursor);
        }
        assert_eq!(cursors.len(), 6, "three messages, two of them answers, and a result");
    });
}

#[test]
fn kode_02_info_and_history_report_the_session() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("Hi."));
        let store = memory();
        let session =
            builder.name("mine").cwd("/work").mode(Mode::Plan).create(store, None).await.unwrap();
        session.run("Hello").await.unwrap();
        let info = session.info().await.unwrap();
        assert_eq!((info.name.as_deref(), info.cwd.as_deref()), (Some("mine"), Some("/work")));
        assert_eq!((info.messages, info.safe_points, info.lineage.len()), (1, 1, 0));
        assert_eq!(session.permissions().mode(), Mode::Plan);
        let all = session.journal().read(None, usize::MAX).await.unwrap();
        let some = session.journal().read(Some(all[2].cursor()), 2).await.unwrap();
        assert_eq!(some, all[3..5]);
        session.rename("ours").await.unwrap();
        assert_eq!(session.info().await.unwrap().name.as_deref(), Some("ours"));
    });
}

#[test]
fn kode_01_losing_the_session_ends_tools_and_reports_why() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [slow]\n- text: Never."));
        let slow = stubborn_tool("slow", Class::Execute);
        let store = Failing::new();
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .create(Arc::new(store.clone()), None)
            .await
            .unwrap();
        let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        store.lost.cancel();
        while let Some(event) = events.next_event().await {
            event.unwrap();
        }
        let error = session.send("More").await.unwrap_err();
        assert!(error.to_string().contains("taken over"), "{error}");
        let written = journal(&store, session.id()).await;
        assert_eq!(count(&written, "tool_finished"), 0, "nothing is written after the loss");
    });
}

#[test]
fn kode_02_chat_reports_the_end_of_the_session_instead_of_hanging() {
    both_runtimes(async || {
        let (builder, model) = builder(Script::new().answer(ScriptedAnswer::new().gate("never")));
        let store = Failing::new();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        let waiting = session.clone();
        let run = tokio::spawn(async move { waiting.run("Hi").await });
        model.reached("never").await;
        store.lost.cancel();
        assert!(matches!(run.await.unwrap(), Err(SessionError::Journal(_))));
    });
}

#[test]
fn sess_01_blocks_of_any_kind_can_be_sent() {
    both_runtimes(async || {
        let (builder, model) = builder(Script::new().text("Seen."));
        let session = builder.create(memory(), None).await.unwrap();
        session.run(vec![Block::text("a"), Block::text("b")]).await.unwrap();
        assert_eq!(model.requests()[0].messages[0].content.len(), 2);
    });
}

#[test]
fn sess_01_inputs_accepted_before_a_shutdown_are_delivered_after_it() {
    both_runtimes(async || {
        let (first, model) =
            builder(Script::new().answer(ScriptedAnswer::new().gate("never")).text("Late."));
        let store = memory();
        let session = first.clone().create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.send("One").await.unwrap();
        model.reached("never").await;
        session.send("Two").await.unwrap();
        session.shutdown("restart").await.unwrap();
        let again = first.resume(store.clone(), &id, Resume::default()).await.unwrap();
        let mut events =
            again.subscribe(StartAt::Start, EventFilter::from([EventKind::Text])).await.unwrap();
        use futures::StreamExt as _;
        let mut texts = Vec::new();
        while texts.len() < 2 {
            let SubscriptionItem::Event(event) = events.next().await.unwrap().unwrap() else {
                panic!()
            };
            let Event::AssistantMessage(data) = event.event() else { panic!() };
            texts.push(data.message.text());
        }
        assert_eq!(texts, ["", "Late."]);
        let handle: &Session = &again;
        check(&journal(&*store, &id).await, &handle.context().messages().await.unwrap());
    });
}

#[test]
fn kode_01_an_append_that_reports_a_lost_lease_ends_the_session() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [slow]\n- text: Never."));
        let slow = blocking_tool("slow", Class::Execute);
        let store = Failing::new();
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .create(Arc::new(store.clone()), None)
            .await
            .unwrap();
        let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        store.taken.store(true, std::sync::atomic::Ordering::SeqCst);
        slow.release("done");
        while let Some(event) = events.next_event().await {
            event.unwrap();
        }
        let error = session.run("More").await.unwrap_err();
        assert!(error.to_string().contains("taken over"), "{error}");
    });
}

#[test]
fn sess_08_a_disk_failure_is_reported_and_no_accepted_input_is_lost() {
    both_runtimes(async || {
        for wait in 0..12 {
            let (builder, model) = builder(Script::new().text("One.").text("Two.").looped());
            let store = Failing::new();
            let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
            let from = store.appends() + 1 + wait;
            store.fail(from, usize::MAX);
            let first = session.run("First").await;
            if store.appends() < from {
                first.unwrap();
                break;
            }
            let error = first.unwrap_err();
            assert!(error.to_string().contains("append to"), "{wait}: {error}");
            let second = session.run("Second").await;
            assert!(second.is_err(), "{wait}: it still fails, and says so");
            store.fail(0, 0);
            session.run("Third").await.unwrap();
            let messages = session.context().messages().await.unwrap();
            let events = journal(&store, session.id()).await;
            check(&events, &messages);
            // An input that could not be accepted was reported as an error, and is cancelled.
            let accepted = count(&events, "input_accepted") - count(&events, "input_cancelled");
            let said = messages.iter().filter(|message| message.role() == Role::User).count();
            assert_eq!(said, accepted, "{wait}: what was accepted is delivered");
            assert_eq!(session.status().await.unwrap().state, SessionState::Ready);
            drop(model);
        }
    });
}
