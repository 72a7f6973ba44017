//! Code of a program that panics in the session's task. Each panic counts as the stricter answer, and
//! the session continues.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use common::*;
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream};
use robota_core::approve::{Answer, RuleSink, Scope};
use robota_core::blob::Blobs;
use robota_core::call::CallContext;
use robota_core::checkpoint::{
    CrashCleanup, FileChange, FileDelta, FoundFile, PathState, RestoreFiles,
};
use robota_core::clock::Clock;
use robota_core::error::ErrorData;
use robota_core::event::{Durability, Envelope, Event, FilesWatched, NotRestored, ProcessStarted};
use robota_core::gate::{Gate, Grant, Judgement, Source};
use robota_core::ids::{CallId, Ids};
use robota_core::journal::{Journal, JournalError, JournalStore as _, MemoryStore};
use robota_core::message::ToolUse;
use robota_core::permission::{Class, PermissionUpdate, Verdict};
use robota_core::process::ProcessIdentity;
use robota_core::provider::{
    Capabilities, Delta, DeltaStream, ModelRequest, Provider, ProviderError,
};
use robota_core::tool::{AwaitedTools, Tool, ToolContext, ToolOutcome, ToolSource, ToolSpec};
use robota_session::{
    Approvals, Decision, RestoreOptions, Resume, ResumeStrategy, SendOptions, Session,
    SessionError, ToolChange, TurnPermissions, approver_fn,
};
use robota_testkit::{Script, ScriptedAnswer, ScriptedProvider};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Allows or asks, and panics in one method.
struct PanickingGate(Verdict, &'static str);

impl PanickingGate {
    fn enter(&self, method: &str) {
        assert_ne!(self.1, method, "a panic on purpose");
    }
}

#[async_trait::async_trait]
impl Gate for PanickingGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        Judgement {
            verdict: self.0,
            class: tool.class,
            reason: "the test decides".to_owned(),
            source: Source::Rule,
            rules: vec!["act(*)".to_owned()],
            grant: Grant::Full,
        }
    }

    fn remember(&self, _rules: &[String]) -> Result<(), String> {
        Ok(())
    }

    fn may_ask(&self) -> bool {
        self.enter("may_ask");
        true
    }

    fn add_turn_rules(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        if !allow.is_empty() || !deny.is_empty() {
            self.enter("add_turn_rules");
        }
        Vec::new()
    }

    fn forget_turn_rules(&self) {
        self.enter("forget_turn_rules");
    }
}

fn denying() -> TurnPermissions {
    TurnPermissions { deny: vec!["act".to_owned()], ..TurnPermissions::default() }
}

/// Returns the texts of all results in the conversation.
async fn results(session: &Session) -> Vec<String> {
    let messages = session.context().messages().await.unwrap();
    messages.iter().flat_map(|message| message.tool_results()).map(|it| it.as_text()).collect()
}

#[test]
fn sess_15_a_gate_that_panics_when_it_is_asked_denies() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [act]\n- text: Denied.\n- text: Still here."));
        let act = echo("act", Class::Execute);
        let session = builder
            .tools(tool(act.clone()))
            .gate(PanickingGate(Verdict::Ask, "may_ask"))
            .approver(approver_fn(|_| async { Answer::Allow { note: None } }))
            .create(memory(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Go").await.unwrap(), "Denied.");
        assert!(act.inputs().is_empty());
        let results = results(&session).await;
        assert!(results[0].contains("the gate panicked"), "{results:?}");
        assert_eq!(session.run("Hi").await.unwrap(), "Still here.");
    });
}

#[test]
fn sdk_13_a_gate_that_panics_over_the_rules_of_a_turn_denies_its_calls() {
    both_runtimes(async || {
        let script = "- tools: [act]\n- text: Denied.\n- tools: [act]\n- text: Done.";
        let (builder, _) = builder(yaml(script));
        let act = echo("act", Class::Execute);
        let session = builder
            .tools(tool(act.clone()))
            .gate(PanickingGate(Verdict::Allow, "add_turn_rules"))
            .create(memory(), None)
            .await
            .unwrap();
        let options = SendOptions { rules: denying(), ..SendOptions::default() };
        session.send_with("Go", options).await.unwrap();
        wait_until_idle(&session).await;
        assert!(act.inputs().is_empty(), "the rule that denies it may be missing");
        assert!(results(&session).await[0].contains("the gate panicked"));
        assert_eq!(session.run("Again").await.unwrap(), "Done.");
        assert_eq!(act.inputs().len(), 1, "the next turn has no such rule");
    });
}

#[test]
fn sdk_13_a_gate_that_panics_over_rules_for_the_running_turn_denies_the_rest_of_it() {
    both_runtimes(async || {
        let script = Script::new()
            .answer(ScriptedAnswer::new().gate("go").tool("act", json!({})))
            .text("Denied.")
            .answer(ScriptedAnswer::new().tool("act", json!({})))
            .text("Done.");
        let (builder, model) = builder(script);
        let act = echo("act", Class::Execute);
        let gate = PanickingGate(Verdict::Allow, "add_turn_rules");
        let builder = builder.tools(tool(act.clone())).gate(gate);
        let session = builder.create(memory(), None).await.unwrap();
        session.send("Hi").await.unwrap();
        model.reached("go").await;
        let error = session.permissions().add_turn_rules(denying()).await.unwrap_err();
        assert!(error.to_string().contains("the gate panicked"), "{error}");
        model.release("go");
        wait_until_idle(&session).await;
        assert!(act.inputs().is_empty(), "the rule that denies it may be missing");
        assert_eq!(session.run("Again").await.unwrap(), "Done.");
        assert_eq!(act.inputs().len(), 1, "the next turn has no such rule");
    });
}

/// What was allowed for one turn must not be allowed in the next one.
#[test]
fn sdk_13_a_gate_that_cannot_forget_the_rules_of_a_turn_is_not_asked_again() {
    both_runtimes(async || {
        let script = "- tools: [act]\n- text: Done.\n- tools: [act]\n- text: Denied.";
        let (builder, _) = builder(yaml(script));
        let act = echo("act", Class::Execute);
        let session = builder
            .tools(tool(act.clone()))
            .gate(PanickingGate(Verdict::Allow, "forget_turn_rules"))
            .create(memory(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Go").await.unwrap(), "Done.");
        assert_eq!(session.run("Again").await.unwrap(), "Denied.");
        assert_eq!(act.inputs().len(), 1);
        assert!(results(&session).await[1].contains("the gate panicked"));
    });
}

/// Panics when the session asks it about something other than its description and its run.
struct Unknowable(ToolSpec, bool);

#[async_trait::async_trait]
impl Tool for Unknowable {
    fn spec(&self) -> &ToolSpec {
        assert!(!self.1, "a panic on purpose");
        &self.0
    }

    fn awaited(&self) -> Vec<AwaitedTools> {
        panic!("on purpose")
    }

    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("It ran.")
    }
}

/// Offers a tool that panics when it is described, and one that does not.
struct HalfSource;

impl ToolSource for HalfSource {
    fn version(&self) -> u64 {
        1
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let spec = |name| echo(name, Class::Inspect).spec().clone();
        vec![Arc::new(Unknowable(spec("bad"), true)), Arc::new(Unknowable(spec("good"), false))]
    }
}

#[test]
fn sess_15_a_tool_that_panics_about_itself_leaves_the_others() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml("- tools: [good]\n- text: Done."));
        let fixed = Unknowable(echo("fixed", Class::Inspect).spec().clone(), false);
        let session = builder
            .tools(tool(fixed))
            .tool_source(HalfSource)
            .gate(allow())
            .output_limit(None)
            .create(memory(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Go").await.unwrap(), "Done.");
        assert_eq!(results(&session).await, ["It ran."]);
        let request = &model.requests()[0];
        let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(offered, ["fixed", "good"]);
    });
}

/// Panics when it says what it is.
struct Nameless(ScriptedProvider, bool);

#[async_trait::async_trait]
impl Provider for Nameless {
    fn name(&self) -> &str {
        panic!("on purpose")
    }

    fn capabilities(&self) -> Capabilities {
        assert!(!self.1, "a panic on purpose");
        self.0.capabilities()
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        self.0.stream(request, context).await
    }
}

#[test]
fn sess_15_a_provider_that_panics_about_itself_ends_no_session() {
    both_runtimes(async || {
        for panics in [false, true] {
            let model = ScriptedProvider::new(Script::new().text("Hi."));
            let provider = Nameless(model, panics);
            let session = Session::builder(provider, "test-model").create(memory(), None);
            let session = session.await.unwrap();
            let ran = session.run("Hi").await;
            match panics {
                false => assert_eq!(ran.unwrap(), "Hi."),
                true => assert!(ran.unwrap_err().to_string().contains("the provider panicked")),
            }
            session.status().await.unwrap();
        }
    });
}

/// Gives neither ids nor the time.
struct Nothing;

impl Ids for Nothing {
    fn next(&self) -> uuid::Uuid {
        panic!("on purpose")
    }
}

impl Clock for Nothing {
    fn now(&self) -> jiff::Timestamp {
        panic!("on purpose")
    }
}

#[test]
fn sess_15_a_session_runs_without_the_ids_and_the_clock_of_its_program() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [look]\n- text: Done."));
        let builder = builder.tools(tool(echo("look", Class::Inspect))).ids(Nothing).clock(Nothing);
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        assert_eq!(session.run("Go").await.unwrap(), "Done.");
        let messages = session.context().messages().await.unwrap();
        session.shutdown("end").await.unwrap();
        check(&journal(&*store, session.id()).await, &messages);
    });
}

/// A store whose next append panics when a test wants it to.
#[derive(Clone, Default)]
struct Panicking {
    inner: MemoryStore,
    next: Arc<AtomicBool>,
}

struct PanickingWriter(Box<dyn Journal>, Panicking);

#[async_trait::async_trait]
impl Journal for PanickingWriter {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        self.0.append(events, durability).await?;
        assert!(!self.1.next.swap(false, Ordering::SeqCst), "a panic on purpose");
        Ok(())
    }

    fn lost(&self) -> CancellationToken {
        panic!("on purpose")
    }

    async fn release(self: Box<Self>) {
        panic!("on purpose")
    }
}

store_around!(Panicking, |store: &Panicking| store.inner.clone(), |store: &Panicking, inner| {
    Box::new(PanickingWriter(inner, store.clone())) as Box<dyn Journal>
});

/// A panic is like a lost answer: the append is tried again with the same events.
#[test]
fn sess_08_a_store_that_panics_fails_one_turn_and_loses_nothing() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- text: One.\n- text: Two."));
        let store = Panicking::default();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        store.next.store(true, Ordering::SeqCst);
        let error = session.run("Hi").await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        session.run("Again").await.unwrap();
        let messages = session.context().messages().await.unwrap();
        session.shutdown("end").await.unwrap();
        check(&journal(&store, session.id()).await, &messages);
    });
}

struct PanickingSink;

#[async_trait::async_trait]
impl RuleSink for PanickingSink {
    async fn save(&self, _update: &PermissionUpdate) -> Result<(), ErrorData> {
        panic!("on purpose")
    }
}

#[test]
fn sess_04_an_approval_counts_although_saving_its_rules_panics() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [act]\n- text: Done."));
        let (act, store) = (echo("act", Class::Execute), memory());
        let session = builder
            .tools(tool(act.clone()))
            .gate(PanickingGate(Verdict::Ask, "nothing"))
            .approvals(Approvals::Decide)
            .rule_sink(PanickingSink)
            .create(store.clone(), None)
            .await
            .unwrap();
        let reply = session.reply("Go").await.unwrap();
        let robota_session::ChatEnd::Paused { permissions } = reply.end else { panic!() };
        let always = Decision::Allow(Scope::Always);
        session.permissions().decide(&permissions[0], always, None).await.unwrap();
        wait_until_idle(&session).await;
        assert_eq!(act.inputs().len(), 1);
        let decided = decided(&journal(&*store, session.id()).await);
        assert_eq!(decided[0].scope, Some(Scope::Session), "nothing was saved");
        assert!(decided[0].reason.contains("the rule sink panicked"), "{decided:?}");
    });
}

/// Panics whatever it cleans up or restores.
struct PanickingCleanup;

#[async_trait::async_trait]
impl RestoreFiles for PanickingCleanup {
    async fn current(&self, _paths: &[String], _blobs: Option<&dyn Blobs>) -> Vec<PathState> {
        panic!("on purpose")
    }

    async fn restore(&self, _files: &[FileDelta], _blobs: &dyn Blobs) -> Vec<NotRestored> {
        panic!("on purpose")
    }

    async fn diffs(&self, _files: &[FileDelta], _blobs: &dyn Blobs) -> Vec<Option<String>> {
        panic!("on purpose")
    }

    async fn changed_since(&self, _watched: &FilesWatched, _blobs: &dyn Blobs) -> Vec<FileDelta> {
        panic!("on purpose")
    }
}

#[async_trait::async_trait]
impl CrashCleanup for PanickingCleanup {
    async fn end_process(&self, _call: &CallId, _process: &ProcessIdentity) -> Option<i32> {
        panic!("on purpose")
    }

    async fn settle_files(&self, _files: &[FileChange], _blobs: &dyn Blobs) -> Vec<FoundFile> {
        panic!("on purpose")
    }
}

#[test]
fn sess_11_a_restore_that_panics_is_an_error() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- text: One.\n- text: Two."));
        let builder = builder.cwd("/w").crash_cleanup(PanickingCleanup);
        let session = builder.create(memory(), None).await.unwrap();
        session.run("Hi").await.unwrap();
        let first = session.checkpoints().list().await.unwrap()[0].id.clone();
        let restored = session.checkpoints().restore(&first, RestoreOptions::default()).await;
        let error = restored.unwrap_err().to_string();
        assert!(error.contains("panicked"), "{error}");
        assert_eq!(session.run("Again").await.unwrap(), "Two.");
    });
}

#[test]
fn kode_05_a_recovery_that_panics_can_be_tried_again() {
    both_runtimes(async || {
        let (first, _) = builder(yaml("- tools: [slow]"));
        let slow = robota_testkit::blocking_tool("slow", Class::Execute);
        let store = memory();
        let session = first
            .tools(tool(slow.clone()))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        let mut events = journal(&*store, &id).await;
        let last = events.last().unwrap().clone();
        let Event::ToolStarted(started) = &last.event else { panic!("{last:?}") };
        let (call, boot_id) = (started.call.clone(), "boot".to_owned());
        let event = ProcessStarted { call, pid: 1, start_time: 1, boot_id, background: false };
        events.push(Envelope { seq: last.seq + 1, event: event.into(), ..last });
        let store = crashed(&id, &events).await;
        let (second, _) = builder(Script::new());
        let resume = Resume { strategy: ResumeStrategy::Manual, ..Resume::default() };
        let second = second.crash_cleanup(PanickingCleanup);
        let resumed = second.resume(store, &id, resume).await.unwrap();
        for _ in 0..2 {
            let error = resumed.recovery().recover([].into()).await.unwrap_err();
            assert!(error.to_string().contains("panicked"), "{error}");
        }
        assert_eq!(resumed.recovery().open_operations().await.unwrap().len(), 1);
        let refused = resumed.send("Hello?").await.unwrap_err();
        assert!(matches!(refused, SessionError::Unrecovered { .. }), "{refused}");
    });
}

/// A maker of observers that panics costs the observer, also when a fork reads its state later.
#[test]
fn kode_04_a_fork_opens_although_its_observer_cannot_be_made() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- text: One.\n- text: Two.\n- text: Three."));
        let forks = Arc::new(AtomicBool::default());
        let panics = forks.clone();
        let builder = builder.session_observer(move |_| {
            assert!(!panics.load(Ordering::SeqCst), "a panic on purpose");
            Arc::new(|_| {})
        });
        let session = builder.create(memory(), None).await.unwrap();
        session.run("First").await.unwrap();
        session.run("Second").await.unwrap();
        forks.store(true, Ordering::SeqCst);
        let place = robota_session::Selector::SafePoint(1);
        let child = session.fork(&place, None).await.unwrap();
        assert_eq!(child.run("Third").await.unwrap(), "Three.");
    });
}

/// Panics when it is dropped.
struct Faulty;

impl Drop for Faulty {
    fn drop(&mut self) {
        // A second panic would end the process: the language defines it so.
        assert!(std::thread::panicking(), "a panic on purpose");
    }
}

/// A future or a stream that panics when it is dropped.
struct FaultyEnd<F>(F, Faulty);

impl<T> Future for FaultyEnd<BoxFuture<'_, T>> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.0.poll_unpin(context)
    }
}

impl Stream for FaultyEnd<DeltaStream> {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

/// Its streams panic when they are dropped. While it does not answer, it only connects, and what it
/// does then panics when it is dropped.
struct FaultyProvider {
    model: ScriptedProvider,
    answers: Arc<AtomicBool>,
    connecting: Arc<Notify>,
}

#[async_trait::async_trait]
impl Provider for FaultyProvider {
    fn name(&self) -> &str {
        "faulty"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        if !self.answers.load(Ordering::SeqCst) {
            self.connecting.notify_one();
            let endless: BoxFuture<'_, ()> = std::future::pending().boxed();
            FaultyEnd(endless, Faulty).await;
        }
        let stream = self.model.stream(request, context).await?;
        Ok(Box::pin(FaultyEnd(stream, Faulty)))
    }
}

#[test]
fn sess_15_a_provider_whose_destructors_panic_ends_no_session() {
    both_runtimes(async || {
        let half = ScriptedAnswer::new().text("Half").gate("go");
        let model = ScriptedProvider::new(Script::new().text("One.").answer(half).text("Two."));
        let (answers, connecting) = (Arc::new(AtomicBool::new(true)), Arc::new(Notify::new()));
        let provider = FaultyProvider {
            model: model.clone(),
            answers: answers.clone(),
            connecting: connecting.clone(),
        };
        let session = Session::builder(provider, "test-model").create(memory(), None);
        let session = session.await.unwrap();
        assert_eq!(session.run("At its end").await.unwrap(), "One.");
        session.send("While it streams").await.unwrap();
        model.reached("go").await;
        assert!(session.interrupt(None).await.unwrap());
        answers.store(false, Ordering::SeqCst);
        session.send("While it connects").await.unwrap();
        connecting.notified().await;
        assert!(session.interrupt(None).await.unwrap());
        answers.store(true, Ordering::SeqCst);
        assert_eq!(session.run("Again").await.unwrap(), "Two.");
        session.shutdown("end").await.unwrap();
    });
}

/// The future of its call panics when it is dropped, and so does the tool itself.
struct FaultyTool(ToolSpec, Faulty);

impl Tool for FaultyTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a, 'b>(
        &'a self,
        _input: Value,
        _context: ToolContext,
    ) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let outcome = async { ToolOutcome::ok("It ran.") };
        Box::pin(FaultyEnd(outcome.boxed(), Faulty))
    }
}

#[test]
fn sess_15_a_tool_and_an_approver_whose_destructors_panic_keep_their_answers() {
    both_runtimes(async || {
        let (builder, model) = builder(
            Script::new()
                .tool("act", serde_json::json!({}))
                .answer(ScriptedAnswer::new().gate("go").text("Done."))
                .text("Next."),
        );
        let spec = echo("act", Class::Execute).spec().clone();
        let approve = |_| {
            let answer = async { Answer::Allow { note: None } };
            FaultyEnd(answer.boxed(), Faulty)
        };
        let session = builder
            .tools(tool(FaultyTool(spec, Faulty)))
            .gate(PanickingGate(Verdict::Ask, "nothing"))
            .approver(approver_fn(approve))
            .create(memory(), None)
            .await
            .unwrap();
        session.send("Go").await.unwrap();
        model.reached("go").await;
        assert_eq!(results(&session).await, ["It ran."]);
        // The turn that runs has the last reference to the tool.
        session.config().set_tools(ToolChange::Replace(Vec::new())).unwrap();
        model.release("go");
        wait_until_idle(&session).await;
        assert_eq!(session.run("On").await.unwrap(), "Next.");
        session.shutdown("end").await.unwrap();
    });
}

#[test]
fn sess_15_an_observer_whose_destructor_panics_does_not_keep_a_session_open() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- text: One."));
        let builder = builder.session_observer(|_| {
            let faulty = Faulty;
            Arc::new(move |_| {
                let _ = &faulty;
            })
        });
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        assert_eq!(session.run("First").await.unwrap(), "One.");
        session.shutdown("end").await.unwrap();
        let error = session.run("Second").await.unwrap_err();
        assert!(matches!(error, SessionError::Closed { .. }), "{error}");
        store.open(session.id()).await.unwrap();
    });
}
