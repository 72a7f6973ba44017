//! Promises of sessions, each followed through one run from its start to its trace in the journal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use robota_core::approve::{Answer, Scope};
use robota_core::error::ErrorKind;
use robota_core::event::{DecidedBy, Event};
use robota_core::hook::{
    EventReport, HookAnswer, HookData, HookEvent, HookInput, HookPoint, HookReply, Hooks,
    PreToolDecision, PromptDecision, StopDecision,
};
use robota_core::message::Block;
use robota_core::permission::{Class, Verdict};
use robota_core::provider::ProviderError;
use robota_core::tool::{DidRun, ToolOutcome};
use robota_session::{
    Approvals, Callbacks, ChatEnd, Decision, EventFilter, EventKind, Resume, SessionEvent,
    SessionState, StartAt, SubscriptionItem, ToolExecution, approver_fn,
};
use robota_testkit::{Script, ScriptedAnswer, ScriptedProvider, fn_tool};
use serde_json::json;

/// Returns the text of the only tool result of a session.
async fn result(session: &robota_session::Session) -> (String, bool) {
    let messages = session.context().messages().await.unwrap();
    let results: Vec<_> = messages.iter().flat_map(|message| message.tool_results()).collect();
    assert_eq!(results.len(), 1);
    (results[0].as_text(), results[0].is_error)
}

#[test]
fn kode_01_a_session_is_ready_busy_paused_and_ready_again() {
    both_runtimes(async || {
        let answer = ScriptedAnswer::new().gate("thinking").tool("act", json!({}));
        let (builder, model) = builder(Script::new().answer(answer).text("Done."));
        let session = builder
            .tool(echo("act", Class::Execute))
            .gate(ask())
            .approvals(Approvals::Decide)
            .create(memory(), None)
            .await
            .unwrap();
        let state = async || session.status().await.unwrap().state;
        assert_eq!(state().await, SessionState::Ready);
        let mut chat = session.chat("Go", EventFilter::default()).await.unwrap();
        model.reached("thinking").await;
        assert_eq!(state().await, SessionState::Busy);
        model.release("thinking");
        while chat.next().await.is_some() {}
        assert_eq!(state().await, SessionState::Paused);
        let ChatEnd::Paused { permissions } = chat.finish().await.unwrap().end else { panic!() };
        let mut events = session.subscribe(StartAt::Now, [EventKind::State]).await.unwrap();
        session.permissions().decide(&permissions[0], Decision::Deny, None).await.unwrap();
        while state().await != SessionState::Ready {
            events.next_event().await.unwrap().unwrap();
        }
    });
}

#[test]
fn kode_07_a_denied_call_leaves_a_complete_trail() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [act]\n- text: I see."));
        let store = memory();
        let handler = approver_fn(|_| async { Answer::Deny { note: Some("not today".into()) } });
        let tool = echo("act", Class::Execute);
        let session = builder
            .tool(tool.clone())
            .gate(ask())
            .approvals(Approvals::Handler(handler))
            .create(store.clone(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Go").await.unwrap(), "I see.");
        assert!(tool.inputs().is_empty(), "it did not run");
        let (text, is_error) = result(&session).await;
        assert!(is_error && text.starts_with("Permission denied"), "{text}");
        assert!(text.contains("not today"), "{text}");

        let events = journal(&*store, session.id()).await;
        let mut trail = Vec::new();
        for event in &events {
            match &event.event {
                Event::ToolCalled(data) => trail.push(("called", data.tool_use.call.clone())),
                Event::PermissionAsked(data) => trail.push(("asked", data.call.clone())),
                Event::PermissionDecided(data) => {
                    assert_eq!((data.verdict, data.by), (Verdict::Deny, DecidedBy::User));
                    assert!(data.reason.contains("not today"), "{}", data.reason);
                    trail.push(("decided", data.call.clone()));
                }
                Event::ToolStarted(_) => panic!("a denied call starts"),
                Event::ToolFinished(data) => {
                    assert_eq!((data.outcome.ok, data.outcome.ran), (false, DidRun::No));
                    assert_eq!(data.outcome.error_code.as_deref(), Some("denied"));
                    trail.push(("finished", data.call.clone()));
                }
                Event::ToolResultAdded(data) => trail.push(("result", data.result.call.clone())),
                _ => {}
            }
        }
        let steps: Vec<_> = trail.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, ["called", "asked", "decided", "finished", "result"]);
        assert!(trail.iter().all(|(_, call)| *call == trail[0].1), "all of one call");
    });
}

#[test]
fn sess_04_a_handler_allows_or_denies_one_call() {
    both_runtimes(async || {
        for (decision, ran) in [(Answer::Allow { note: None }, 1), (Answer::Deny { note: None }, 0)]
        {
            let (builder, _) = builder(yaml("- tools: [act]\n- text: Done."));
            let tool = echo("act", Class::Execute);
            let handler = approver_fn(move |_| {
                let decision = decision.clone();
                async { decision }
            });
            let session = builder
                .tool(tool.clone())
                .gate(ask())
                .approvals(Approvals::Handler(handler))
                .create(memory(), None)
                .await
                .unwrap();
            session.run("Go").await.unwrap();
            assert_eq!(tool.inputs().len(), ran);
        }
    });
}

/// Hooks that record their calls; the PreToolUse hook denies if the test says so.
#[derive(Default)]
struct Recording {
    seen: Mutex<Vec<String>>,
    denies: bool,
}

#[async_trait::async_trait]
impl Hooks for Recording {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::Stop | HookPoint::UserPromptSubmit => true,
            HookPoint::PreToolUse => self.denies,
            _ => false,
        }
    }

    fn has_event(&self, event: HookEvent) -> bool {
        matches!(event, HookEvent::Stop | HookEvent::StopFailure | HookEvent::SessionEnd)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::Stop { text, active } => {
                self.seen.lock().unwrap().push(format!("Stop {text} {active}"));
                HookAnswer::Stop(StopDecision::Finish).into()
            }
            HookInput::UserPromptSubmit { content } => {
                let [Block::Text(text)] = &content[..] else { panic!("{content:?}") };
                self.seen.lock().unwrap().push(format!("UserPromptSubmit {}", text.text));
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context: None }).into()
            }
            _ => HookAnswer::PreToolUse(PreToolDecision::Deny { reason: "no".to_owned() }).into(),
        }
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        let seen = match data {
            HookData::StopFailure { error, .. } => format!("StopFailure {error}"),
            HookData::SessionEnd { reason } => format!("SessionEnd {reason}"),
            other => format!("{other:?}"),
        };
        self.seen.lock().unwrap().push(seen);
        EventReport::default()
    }
}

#[test]
fn sess_15_each_turn_has_its_hooks_and_stop_fires_after_a_success_only() {
    both_runtimes(async || {
        let hooks = Arc::new(Recording::default());
        let fails = ProviderError::new(ErrorKind::Authentication, "bad key");
        let (builder, _) = builder(Script::new().text("Fine.").error(fails));
        let session = builder.hooks(hooks.clone()).create(memory(), None).await.unwrap();
        session.run("One").await.unwrap();
        assert_eq!(*hooks.seen.lock().unwrap(), ["UserPromptSubmit One", "Stop Fine. false"]);
        session.run("Two").await.unwrap_err();
        session.shutdown("done").await.unwrap();
        session.shutdown("again").await.unwrap();
        let seen = hooks.seen.lock().unwrap();
        assert_eq!(seen.len(), 5, "{seen:?}");
        assert_eq!(seen[2], "UserPromptSubmit Two");
        assert_eq!(seen[3], "StopFailure authentication_failed");
        assert_eq!(seen[4], "SessionEnd done", "once");
    });
}

#[test]
fn sess_03_denial_block_and_failure_are_results_and_every_call_has_one() {
    both_runtimes(async || {
        let failing = || {
            fn_tool("act", Class::Execute, |_| async { ToolOutcome::failed("broken", "it broke") })
        };
        for (gate, denies, expected) in [
            (allow(), false, "it broke"),
            (allow(), true, "Blocked by hook: no"),
            (
                Arc::new(robota_testkit::ScriptedGate::new(Verdict::Deny)),
                false,
                "Permission denied",
            ),
        ] {
            let (builder, _) = builder(yaml("- tools: [act]\n- text: Done."));
            let store = memory();
            let hooks = Recording { denies, ..Recording::default() };
            let session = builder
                .tool(failing())
                .gate(gate)
                .hooks(hooks)
                .create(store.clone(), None)
                .await
                .unwrap();
            assert_eq!(session.run("Go").await.unwrap(), "Done.", "no error is returned");
            let (text, is_error) = result(&session).await;
            assert!(is_error && text.starts_with(expected), "{text}");
            let messages = session.context().messages().await.unwrap();
            check(&journal(&*store, session.id()).await, &messages);
        }
    });
}

#[test]
fn sess_16_sessions_that_stream_at_the_same_time_on_one_provider_see_only_their_own_text() {
    both_runtimes(async || {
        let answer = |name: &str| {
            ScriptedAnswer::new().text(format!("{name}1 ")).gate(name).text(format!("{name}2"))
        };
        let model = ScriptedProvider::new(Script::new().answer(answer("a")).answer(answer("b")));
        let start = async |name: &'static str| {
            let text: Arc<Mutex<String>> = Arc::default();
            let shown = text.clone();
            let callbacks =
                Callbacks::new().on_text(move |piece| shown.lock().unwrap().push_str(&piece));
            let builder = builder_with(&model).callbacks(callbacks);
            let session = builder.create(memory(), None).await.unwrap();
            let run = tokio::spawn(async move { session.run("Hi").await });
            model.reached(name).await;
            (text, run)
        };
        let (first, first_run) = start("a").await;
        let (second, second_run) = start("b").await;
        model.release("b");
        model.release("a");
        assert_eq!(first_run.await.unwrap().unwrap(), "a1 a2");
        assert_eq!(second_run.await.unwrap().unwrap(), "b1 b2");
        assert_eq!(*first.lock().unwrap(), "a1 a2");
        assert_eq!(*second.lock().unwrap(), "b1 b2");
    });
}

#[test]
fn sess_02_a_tool_callback_receives_arguments_outcome_and_denial() {
    both_runtimes(async || {
        let script =
            Script::new().tool("act", json!({"n": 1})).tool("act", json!({"n": 2})).text(".");
        let (builder, _) = builder(script);
        let shown: Arc<Mutex<Vec<ToolExecution>>> = Arc::default();
        let sink = shown.clone();
        // The last one is the first.
        let decisions = Mutex::new(vec![Answer::Deny { note: None }, Answer::Allow { note: None }]);
        let handler = approver_fn(move |_| {
            let decision = decisions.lock().unwrap().pop().unwrap();
            async { decision }
        });
        let session = builder
            .tool(echo("act", Class::Execute))
            .gate(ask())
            .approvals(Approvals::Handler(handler))
            .callbacks(Callbacks::new().on_tool(move |call| sink.lock().unwrap().push(call)))
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let shown = shown.lock().unwrap();
        let tool = || "act".to_owned();
        assert_eq!(shown[0], ToolExecution::Start { tool: tool(), input: json!({"n": 1}) });
        assert_eq!(
            shown[1],
            ToolExecution::End {
                tool: tool(),
                input: json!({"n": 1}),
                success: true,
                denied: false,
                result: r#"{"n":1}"#.to_owned(),
                error_code: None,
            }
        );
        let [ToolExecution::End { input, success: false, denied: true, error_code, result, .. }] =
            &shown[2..]
        else {
            panic!("{shown:?}")
        };
        assert_eq!((input, error_code.as_deref()), (&json!({"n": 2}), Some("denied")));
        assert!(result.starts_with("Permission denied"), "{result}");
    });
}

#[test]
fn sess_02_without_a_limit_a_turn_has_as_many_rounds_as_it_needs() {
    both_runtimes(async || {
        let script = (0..15).fold(Script::new(), |script, _| script.tool("look", json!({})));
        let (builder, _) = builder(script.text("Done."));
        let session =
            builder.tool(echo("look", Class::Inspect)).create(memory(), None).await.unwrap();
        assert_eq!(session.reply("Go").await.unwrap().rounds, 16);
    });
}

#[test]
fn kode_03_approvals_errors_and_resumes_are_kinds_of_their_own() {
    both_runtimes(async || {
        let fails = ProviderError::new(ErrorKind::Authentication, "bad key");
        let script = Script::new().tool("act", json!({})).text("Done.").error(fails);
        let (first, model) = builder(script);
        let store = memory();
        let handler = approver_fn(|_| async { Answer::Allow { note: None } });
        let session = first
            .tool(echo("act", Class::Execute))
            .gate(ask())
            .approvals(Approvals::Handler(handler))
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        session.run("One").await.unwrap();
        session.run("Two").await.unwrap_err();
        session.shutdown("end").await.unwrap();
        let again =
            builder_with(&model).resume(store.clone(), &id, Resume::default()).await.unwrap();
        let kinds = [
            EventKind::PermissionAsk,
            EventKind::PermissionDecision,
            EventKind::Error,
            EventKind::Resume,
        ];
        let mut events = again.subscribe(StartAt::Start, kinds).await.unwrap();
        again.shutdown("end").await.unwrap();
        let mut seen: Vec<(&str, &str)> = Vec::new();
        let mut items = Vec::new();
        while let Some(item) = futures::StreamExt::next(&mut events).await {
            items.push(item.unwrap());
        }
        for item in &items {
            let SubscriptionItem::Event(event) = item else { panic!("{item:?}") };
            for kind in &event.kinds {
                if kinds.contains(kind) {
                    seen.push((kind.name(), event.event().kind()));
                }
            }
        }
        assert!(seen.contains(&("permission_ask", "permission_asked")), "{seen:?}");
        assert!(seen.contains(&("permission_decision", "permission_decided")), "{seen:?}");
        assert!(seen.contains(&("error", "model_failed")), "{seen:?}");
        assert!(seen.contains(&("resume", "opened")), "{seen:?}");
    });
}

#[test]
fn kode_02_handlers_are_called_for_questions_and_errors() {
    both_runtimes(async || {
        let fails = ProviderError::new(ErrorKind::Authentication, "bad key");
        let script = Script::new().tool("act", json!({})).text("Done.").error(fails);
        let (builder, _) = builder(script);
        let session = builder
            .tool(echo("act", Class::Execute))
            .gate(ask())
            .approvals(Approvals::Decide)
            .create(memory(), None)
            .await
            .unwrap();
        let (send, mut seen) = tokio::sync::mpsc::unbounded_channel();
        for kind in [EventKind::PermissionAsk, EventKind::Error] {
            let send = send.clone();
            let handler = move |event: SessionEvent| send.send((kind, event)).unwrap();
            session.on(kind, handler).await.unwrap();
        }
        drop(send);
        session.send("One").await.unwrap();
        let (kind, event) = seen.recv().await.unwrap();
        let Event::PermissionAsked(asked) = event.event() else { panic!("{event:?}") };
        assert_eq!(kind, EventKind::PermissionAsk);
        let allow = Decision::Allow(Scope::Once);
        session.permissions().decide(&asked.call, allow, None).await.unwrap();
        session.run("Two").await.unwrap_err();
        let (kind, event) = seen.recv().await.unwrap();
        let Event::ModelFailed(failed) = event.event() else { panic!("{event:?}") };
        assert_eq!((kind, failed.error.kind), (EventKind::Error, ErrorKind::Authentication));
        session.shutdown("end").await.unwrap();
        while let Some((kind, event)) = seen.recv().await {
            assert_eq!(kind, EventKind::Error, "{event:?}");
        }
    });
}
