//! Compaction in a session: before a turn, between rounds, manually, and undone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use robota_core::error::ErrorKind;
use robota_core::event::{CompactionTrigger, Event, TurnEnd};
use robota_core::hook::{
    EventDecision, EventReport, HookData, HookEvent, HookInput, HookPoint, HookReply, Hooks,
    NoHooks,
};
use robota_core::message::Message;
use robota_core::permission::Class;
use robota_core::provider::{FailureReason, ProviderError};
use robota_core::resume::load;
use robota_core::usage::Usage;
use robota_session::{
    Callbacks, ChatEnd, CompactionReport, Resume, SUMMARY_PREFIX, SessionError, SessionState,
};
use robota_testkit::{Script, ScriptedAnswer, fn_tool};

fn reports() -> (Callbacks, Arc<Mutex<Vec<CompactionReport>>>) {
    let shown: Arc<Mutex<Vec<CompactionReport>>> = Arc::default();
    let sink = shown.clone();
    (Callbacks::new().on_compaction(move |report| sink.lock().unwrap().push(report)), shown)
}

#[test]
fn sess_06_a_full_window_is_compacted_before_the_turn() {
    both_runtimes(async || {
        let long = "x".repeat(6_000);
        let script = Script::new()
            .text(long.clone())
            .text("Part one.")
            .text("Part two.")
            .text("A summary.")
            .text("On we go.");
        let (builder, model) = builder(script);
        let (callbacks, shown) = reports();
        let store = memory();
        let session = builder
            .callbacks(callbacks)
            .configure(|config| config.turn.context_window = 2_000)
            .auto_compact(Some(0.6))
            .create(store.clone(), None)
            .await
            .unwrap();
        session.run("First").await.unwrap();
        assert_eq!(session.run("Second").await.unwrap(), "On we go.");
        let messages = session.context().messages().await.unwrap();
        assert_eq!(messages[0].text(), format!("{SUMMARY_PREFIX} A summary."));
        assert_eq!(messages[1].text(), "Second");
        assert_eq!(model.requests().len(), 5, "in three parts");
        let shown = shown.lock().unwrap().clone();
        assert_eq!((shown.len(), shown[0].trigger), (1, CompactionTrigger::Auto));
        assert!(shown[0].before.used_tokens > shown[0].after.used_tokens, "{shown:?}");
        assert!(shown[0].summary.ends_with("A summary."));
        let events = journal(&*store, session.id()).await;
        check(&events, &messages);
        let begun = events.iter().find_map(|event| match &event.event {
            Event::CompactionStarted(data) => Some((data.trigger, data.before.effective)),
            _ => None,
        });
        assert_eq!(begun, Some((CompactionTrigger::Auto, shown[0].before.used_tokens)));
        let at =
            events.iter().position(|event| event.event.kind() == "compaction_finished").unwrap();
        assert_eq!(events[at + 1].event.kind(), "prefix_changed");
    });
}

#[test]
fn sess_06_a_window_that_fills_up_between_rounds_is_compacted_there() {
    both_runtimes(async || {
        let script = yaml(
            "- tools: [big]\n- tools: [big]\n- text: Part.\n- text: A summary.\n- text: Done.",
        );
        let (builder, model) = builder(script);
        let big = fn_tool("big", Class::Inspect, |_| async { "y".repeat(2_500) });
        let store = memory();
        let session = builder
            .tools(tool(big))
            .output_limit(None)
            .configure(|config| config.turn.context_window = 2_000)
            .auto_compact(Some(0.6))
            .create(store.clone(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Go").await.unwrap(), "Done.");
        let messages = session.context().messages().await.unwrap();
        assert!(messages[0].text().starts_with(SUMMARY_PREFIX), "{}", messages[0].text());
        check(&journal(&*store, session.id()).await, &messages);
        assert_eq!(model.requests().len(), 5);
    });
}

#[test]
fn sess_06_manual_compaction_takes_instructions_and_can_be_undone() {
    both_runtimes(async || {
        let (first, model) = builder(
            Script::new().text("a".repeat(400)).text("b".repeat(400)).text("Short.").text("After."),
        );
        let (callbacks, shown) = reports();
        let store = memory();
        let session = first.clone().callbacks(callbacks).create(store.clone(), None).await.unwrap();
        session.run("One").await.unwrap();
        session.run("Two").await.unwrap();
        let before = session.context().messages().await.unwrap();
        session.context().compact(Some("keep the names".to_owned())).await.unwrap();
        let after = session.context().messages().await.unwrap();
        assert!(after.len() < before.len() && after[0].text() == "[Context Summary] Short.");
        assert!(model.requests()[2].messages[0].text().contains("keep the names"));
        {
            let shown = shown.lock().unwrap();
            assert_eq!(shown[0].trigger, CompactionTrigger::Manual);
            assert!(shown[0].after.used_tokens < shown[0].before.used_tokens);
        }
        session.run("Three").await.unwrap();
        // The view before the compaction survives a resume.
        let id = session.id().clone();
        session.shutdown("end").await.unwrap();
        let again = first.resume(store.clone(), &id, Resume::default()).await.unwrap();
        again.context().restore().await.unwrap();
        let restored = again.context().messages().await.unwrap();
        assert_eq!(restored[..before.len()], before[..]);
        assert_eq!(restored.len(), before.len() + 2, "what was said since stays");
        let twice = again.context().restore().await;
        assert_eq!(twice, Err(SessionError::NothingToRestore));
        let state = load(&*store, &id).await.unwrap();
        assert_eq!(state.view.messages, restored);
        let history = again.context().full_history().await.unwrap();
        assert_eq!(history.len(), 7, "six messages and the compaction");
    });
}

/// Blocks compactions, or records them.
struct CompactHooks(Option<&'static str>, Mutex<Vec<HookData>>);

#[async_trait::async_trait]
impl Hooks for CompactHooks {
    fn has_point(&self, _point: HookPoint) -> bool {
        false
    }

    async fn run(&self, input: HookInput) -> HookReply {
        NoHooks.run(input).await
    }

    fn has_event(&self, event: HookEvent) -> bool {
        matches!(event, HookEvent::PreCompact | HookEvent::PostCompact)
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        self.1.lock().unwrap().push(data);
        let decision = match self.0 {
            Some(reason) => EventDecision::Block { reason: reason.to_owned() },
            None => EventDecision::default(),
        };
        EventReport { decision, ..EventReport::default() }
    }
}

#[test]
fn sess_06_system_messages_are_not_in_the_request_for_a_summary() {
    both_runtimes(async || {
        let (builder, model) = builder(Script::new().text("a".repeat(400)).text("Short."));
        let session = builder.create(memory(), None).await.unwrap();
        let rules = Message::system(&robota_testkit::CountingIds::default(), "The rules.");
        session.context().inject(rules).await.unwrap();
        session.run("One").await.unwrap();
        session.context().compact(None).await.unwrap();
        let asked = format!("{:?}", model.requests()[1].messages);
        assert!(asked.contains("aaaa") && !asked.contains("The rules."), "{asked}");
        let messages = session.context().messages().await.unwrap();
        let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
        assert_eq!(texts[..2], ["The rules.", "[Context Summary] Short."]);
    });
}

#[test]
fn sess_06_hooks_run_before_and_after_a_compaction() {
    both_runtimes(async || {
        for refuses in [None, Some("not now")] {
            let (builder, _) = builder(Script::new().text("a".repeat(400)).text("Short."));
            let guard = Arc::new(CompactHooks(refuses, Mutex::default()));
            let session = builder.hooks(guard.clone()).create(memory(), None).await.unwrap();
            session.run("One").await.unwrap();
            let result = session.context().compact(Some("briefly".to_owned())).await;
            let events: Vec<_> = guard.1.lock().unwrap().iter().map(|data| data.event()).collect();
            match refuses {
                None => {
                    result.unwrap();
                    assert_eq!(events, [HookEvent::PreCompact, HookEvent::PostCompact]);
                }
                Some(_) => {
                    let error = result.unwrap_err();
                    assert!(error.to_string().contains("Blocked by hook: not now"), "{error}");
                    assert_eq!(events, [HookEvent::PreCompact]);
                    assert_eq!(session.context().messages().await.unwrap().len(), 2);
                }
            }
            assert_eq!(session.status().await.unwrap().state, SessionState::Ready);
        }
    });
}

#[test]
fn sess_06_a_compaction_can_be_interrupted_and_inputs_wait_for_it() {
    both_runtimes(async || {
        let script = Script::new()
            .text("a".repeat(400))
            .answer(ScriptedAnswer::new().gate("summing"))
            .text("Next.")
            .text("Again.");
        let (builder, model) = builder(script);
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        session.run("One").await.unwrap();
        let context = session.context();
        let compact = tokio::spawn(async move { context.compact(None).await });
        model.reached("summing").await;
        assert_eq!(session.status().await.unwrap().state, SessionState::Busy);
        assert!(matches!(session.context().clear().await, Err(SessionError::Busy { .. })));
        session.rename("still answering").await.unwrap();
        assert!(session.interrupt(None).await.unwrap());
        assert!(matches!(compact.await.unwrap(), Err(SessionError::Compaction(_))));
        let messages = session.context().messages().await.unwrap();
        assert_eq!(messages.len(), 2, "the conversation stays as it was");
        assert_eq!(session.run("Two").await.unwrap(), "Next.");
        assert_eq!(count(&journal(&*store, session.id()).await, "compaction_failed"), 1);
    });
}

/// The model was paid for the tokens of a summary that is not used.
#[test]
fn sess_06_the_tokens_of_an_interrupted_compaction_count() {
    both_runtimes(async || {
        let (answered, half) = (Usage::new(900, 100), Usage::new(70, 7));
        for in_turn in [false, true] {
            let script = Script::new()
                .answer(ScriptedAnswer::new().text("a".repeat(400)).usage(answered))
                .answer(ScriptedAnswer::new().usage(half).gate("summing"))
                .text("Next.");
            let (builder, model) = builder(script);
            let builder = builder.configure(|config| config.turn.context_window = 2_000);
            let builder = builder.auto_compact(in_turn.then_some(0.1));
            let store = memory();
            let session = builder.create(store.clone(), None).await.unwrap();
            session.run("One").await.unwrap();
            let (context, other) = (session.context(), session.clone());
            let compact = tokio::spawn(async move {
                match in_turn {
                    true => drop(other.run("Two").await),
                    false => drop(context.compact(None).await),
                }
            });
            model.reached("summing").await;
            assert!(session.interrupt(None).await.unwrap());
            compact.await.unwrap();
            let used = session.journal().state(|state| state.usage).await.unwrap();
            assert_eq!(used, answered + half, "in a turn: {in_turn}");
            session.shutdown("end").await.unwrap();
            assert_eq!(count(&journal(&*store, session.id()).await, "model_asked"), 1);
        }
    });
}

#[test]
fn sess_06_without_a_compactor_a_full_window_says_what_to_do() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("x".repeat(9_000)).text("Never."));
        let session = builder
            .without_compactor()
            .configure(|config| config.turn.context_window = 2_000)
            .create(memory(), None)
            .await
            .unwrap();
        session.run("One").await.unwrap();
        let reply = session.reply("Two").await.unwrap();
        assert_eq!(reply.end, ChatEnd::Ended { end: TurnEnd::ContextFull, error: None });
        assert!(reply.text.contains("Compact or clear"));
        assert!(session.context().compact(None).await.is_err());
        session.context().clear().await.unwrap();
        assert!(session.context().state().await.unwrap().used_percentage < 1.0);
    });
}

#[test]
fn sess_05_the_context_is_shown_before_and_after_each_response() {
    both_runtimes(async || {
        let usage = robota_core::usage::Usage::new(900, 100);
        let (builder, _) =
            builder(Script::new().answer(ScriptedAnswer::new().text("Hi.").usage(usage)));
        let shown: Arc<Mutex<Vec<_>>> = Arc::default();
        let sink = shown.clone();
        let callbacks = Callbacks::new().on_context(move |state| sink.lock().unwrap().push(state));
        let session = builder
            .callbacks(callbacks)
            .configure(|config| config.turn.context_window = 10_000)
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Hello").await.unwrap();
        let shown = shown.lock().unwrap().clone();
        assert_eq!(shown.len(), 2);
        assert!(!shown[0].exact && shown[0].used_tokens < 100, "an estimate first");
        assert!(shown[1].exact && shown[1].used_tokens == 1_000, "then the count");
        assert_eq!(shown[1].used_percentage, 10.0);
        assert_eq!(session.context().state().await.unwrap(), shown[1]);
    });
}

#[test]
fn sess_06_a_crash_during_a_compaction_leaves_the_conversation_as_it_was() {
    both_runtimes(async || {
        let script =
            Script::new().text("a".repeat(400)).answer(ScriptedAnswer::new().gate("summing"));
        let (first, model) = builder(script);
        let store = memory();
        let session = first.create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.run("One").await.unwrap();
        let context = session.context();
        let compact = tokio::spawn(async move { context.compact(None).await });
        model.reached("summing").await;
        let events = journal(&*store, &id).await;
        assert!(matches!(events.last().unwrap().event, Event::CompactionStarted(_)));
        let store = crashed(&id, &events).await;
        let (second, _) = builder(Script::new().text("Fine."));
        let resumed = second.resume(store.clone(), &id, Resume::default()).await.unwrap();
        assert_eq!(resumed.context().messages().await.unwrap().len(), 2);
        assert_eq!(resumed.run("Two").await.unwrap(), "Fine.");
        assert_eq!(count(&journal(&*store, &id).await, "recovered"), 1);
        compact.abort();
    });
}

#[test]
fn sess_02_compact_instructions_are_part_of_every_request_for_a_summary() {
    both_runtimes(async || {
        let long = Script::new().text("x".repeat(4_000));
        let script =
            ["A.", "B.", "C.", "D.", "E.", "F.", "G."].into_iter().fold(long, Script::text);
        let (builder, model) = builder(script);
        let session = builder
            .configure(|config| {
                config.turn.context_window = 2_000;
                config.compact_instructions = Some("Keep the file names.".to_owned());
            })
            .auto_compact(Some(0.4))
            .create(memory(), None)
            .await
            .unwrap();
        let with_instructions = || {
            let texts = model.requests().iter().map(|request| format!("{request:?}")).collect();
            let texts: Vec<String> = texts;
            texts.iter().filter(|text| text.contains("Keep the file names.")).count()
        };
        session.run("First").await.unwrap();
        assert_eq!(with_instructions(), 0);
        session.run("Second").await.unwrap();
        let automatic = with_instructions();
        assert!(automatic > 0);
        session.context().compact(None).await.unwrap();
        assert!(with_instructions() > automatic);
    });
}

#[test]
fn sess_06_a_conversation_that_the_service_refuses_is_summarised_and_sent_again() {
    both_runtimes(async || {
        let too_long = || {
            ProviderError::new(ErrorKind::Validation, "prompt is too long")
                .with_reason(FailureReason::ContextTooLong)
                .with_context_window(Some(4_000))
        };
        let script = Script::new()
            .text("x".repeat(5_000))
            .error(too_long())
            .text("A summary.")
            .text("On we go.");
        let (builder, model) = builder(script);
        let session = builder.create(memory(), None).await.unwrap();
        session.run("First").await.unwrap();
        assert_eq!(session.run("Second").await.unwrap(), "On we go.");
        let messages = session.context().messages().await.unwrap();
        assert_eq!(messages[0].text(), format!("{SUMMARY_PREFIX} A summary."));
        assert_eq!(model.requests().len(), 4);
        let window = session.context().state().await.unwrap().max_tokens;
        assert_eq!(window, 4_000, "later turns know the window");
    });
}
