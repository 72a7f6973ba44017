//! Crashes: a session with many features is cut after every event and resumed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::sync::{Arc, Mutex};

use common::*;
use robota_core::approve::{Answer, Scope};
use robota_core::blob::Blobs;
use robota_core::checkpoint::{
    Before, Changing, CrashCleanup, FileChange, FileDelta, FoundFile, PathState, RestoreFiles,
};
use robota_core::event::{Envelope, Event, FilesWatched, NotRestored, ProcessStarted, ToolOutput};
use robota_core::hook::{
    BatchDecision, HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::MemoryStore;
use robota_core::message::{Cause, MessageState, Role};
use robota_core::permission::{Class, Verdict};
use robota_core::process::ProcessIdentity;
use robota_core::provider::ModelRequest;
use robota_core::resume::{load, load_whole};
use robota_session::{
    Approvals, CloseAs, EventFilter, EventKind, OpenOperation, Resume, ResumeStrategy,
    SessionBuilder, SessionError, SessionState, StartAt, approver_fn,
};
use robota_testkit::{Script, ScriptedAnswer, ScriptedGate, ScriptedProvider};

/// Hooks at every point of a turn; the one after a call adds a counter to the outcome.
struct AllHooks(Mutex<usize>);

#[async_trait::async_trait]
impl Hooks for AllHooks {
    fn has_point(&self, _point: HookPoint) -> bool {
        true
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::UserPromptSubmit { .. } => {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue {
                    context: Some("(hooked) ".to_owned()),
                })
                .into()
            }
            HookInput::PreToolUse { .. } => {
                HookAnswer::PreToolUse(PreToolDecision::Continue).into()
            }
            HookInput::PostToolUse { outcome, .. } => {
                *self.0.lock().unwrap() += 1;
                let text = format!("stamped: {}", outcome.text());
                let outcome = robota_core::tool::ToolOutcome::ok(text);
                HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }).into()
            }
            HookInput::PostToolBatch { calls } => {
                let context = Some(format!(" ({} calls)", calls.len()));
                HookAnswer::PostToolBatch(BatchDecision::Continue { context }).into()
            }
            HookInput::Stop { .. } => HookAnswer::Stop(StopDecision::Finish).into(),
        }
    }
}

/// Streaming, parallel tools, effects, approvals, hooks, a second turn.
fn rich() -> Script {
    yaml(
        "
- thinking: hm
  text: I look around.
  tools: [look, look, act, {tool: asked, input: {n: 1}}]
- tools: [act, nowhere]
- text: Done.
- text: The second answer.
",
    )
}

fn rich_builder(model: &ScriptedProvider) -> (SessionBuilder, robota_testkit::FnTool) {
    rich_builder_with(model, echo("look", Class::Inspect))
}

fn rich_builder_with(
    model: &ScriptedProvider,
    look: robota_testkit::FnTool,
) -> (SessionBuilder, robota_testkit::FnTool) {
    let act = echo("act", Class::Execute);
    let gate = ScriptedGate::new(Verdict::Allow).on("asked", Verdict::Ask);
    let yes = approver_fn(|_| async { Answer::Allow { note: None } });
    let builder = builder_with(model)
        .system("Be brief.")
        .tools(tool(look))
        .tools(tool(act.clone()))
        .tools(tool(echo("asked", Class::Execute)))
        .gate(Arc::new(gate))
        .approvals(Approvals::Handler(yes))
        .hooks(Arc::new(AllHooks(Mutex::new(0))));
    (builder, act)
}

async fn rich_journal() -> (SessionId, Vec<Envelope>) {
    let model = ScriptedProvider::new(rich());
    let (builder, _) = rich_builder(&model);
    let store = memory();
    let session = builder.create(store.clone(), None).await.unwrap();
    session.run("First").await.unwrap();
    session.run("Second").await.unwrap();
    let id = session.id().clone();
    let events = journal(&*store, &id).await;
    session.shutdown("end").await.unwrap();
    (id, events)
}

/// Returns only roles and texts: ids of messages and calls differ between two processes.
fn roles_and_texts(request: &ModelRequest) -> Vec<(Role, String)> {
    request
        .messages_for_api()
        .map(|message| {
            let results: String = message.tool_results().map(|result| result.as_text()).collect();
            let calls: String = message.tool_uses().map(|call| call.name.clone()).collect();
            (message.role(), format!("{}{calls}{results}", message.text()))
        })
        .collect()
}

#[test]
fn kode_05_a_session_cut_after_any_event_resumes_correctly() {
    both_runtimes(async || {
        let (id, events) = rich_journal().await;
        assert!(events.len() > 60, "a rich run: {}", events.len());
        for cut in 1..=events.len() {
            let store = crashed(&id, &events[..cut]).await;
            let model = ScriptedProvider::new(Script::new().text("Going on.").looped());
            let (builder, act) = rich_builder(&model);
            let resume = Resume { deliver: false, ..Resume::default() };
            let session = builder.resume(store.clone(), &id, resume).await.unwrap();
            let status = session.status().await.unwrap();
            assert_eq!(status.state, SessionState::Ready, "cut {cut}");
            assert_eq!(act.inputs().len(), 0, "cut {cut}: resuming runs nothing");
            assert!(model.requests().is_empty(), "cut {cut}: and asks no model");
            session.run("Go on").await.unwrap();
            let after = journal(&*store, &id).await;
            assert_eq!(after[..cut], events[..cut], "cut {cut}: history is never rewritten");
            let messages = session.context().messages().await.unwrap();
            check(&after, &messages);
            let systems = messages.iter().filter(|message| message.role() == Role::System).count();
            assert_eq!(systems, 0, "cut {cut}: no system text is inserted");
            let live = load(&*store, &id).await.unwrap();
            assert_eq!(live, load_whole(&*store, &id).await.unwrap(), "cut {cut}");
            assert_eq!(live.view.messages, messages, "cut {cut}: live and resumed are equal");
            assert!(live.inputs.is_empty(), "cut {cut}: nothing acknowledged is lost");
        }
    });
}

#[test]
fn kode_05_an_idle_session_continues_with_the_identical_request() {
    both_runtimes(async || {
        let (id, events) = rich_journal().await;
        let finished: Vec<usize> = (0..events.len())
            .filter(|at| matches!(events[*at].event, Event::TurnFinished(_)))
            .collect();
        let live = {
            let model = ScriptedProvider::new(rich());
            let (builder, _) = rich_builder(&model);
            let session = builder.create(memory(), None).await.unwrap();
            session.run("First").await.unwrap();
            session.run("Second").await.unwrap();
            model.requests().pop().unwrap()
        };
        let store = crashed(&id, &events[..=finished[0]]).await;
        let model = ScriptedProvider::new(Script::new().text("The second answer."));
        let (builder, _) = rich_builder(&model);
        let session = builder.resume(store, &id, Resume::default()).await.unwrap();
        session.run("Second").await.unwrap();
        let resumed = model.requests().pop().unwrap();
        let prefix = live.messages.len() - 1;
        let bytes =
            |request: &ModelRequest| serde_json::to_vec(&request.messages[..prefix]).unwrap();
        assert_eq!(
            bytes(&live),
            bytes(&resumed),
            "byte for byte, but for the id of the new message"
        );
        assert_eq!(roles_and_texts(&live), roles_and_texts(&resumed));
        assert_eq!(live.system, resumed.system);
        assert_eq!(live.tools, resumed.tools);
    });
}

#[test]
fn kode_05_continuing_asks_again_without_the_partial_answer() {
    both_runtimes(async || {
        let (first, model) =
            builder(Script::new().answer(ScriptedAnswer::new().text("Half an").gate("never")));
        let store = memory();
        let session = first.create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.send("Hi").await.unwrap();
        let mut watch = session.watch();
        while watch.next().await.unwrap().turn.is_none_or(|turn| turn.text != "Half an") {}
        let events = journal(&*store, &id).await;
        let store = crashed(&id, &events).await;
        let (second, again) = builder(Script::new().text("A whole answer."));
        let resume = Resume { continue_turn: true, ..Resume::default() };
        let resumed = second.resume(store.clone(), &id, resume).await.unwrap();
        let mut texts = resumed.subscribe(StartAt::Start, [EventKind::Text]).await.unwrap();
        let half = texts.next_event().await.unwrap().unwrap();
        let Event::AssistantMessage(half) = half.event() else { panic!() };
        assert_eq!(half.message.state(), MessageState::Interrupted(Cause::Crash));
        texts.next_event().await.unwrap().unwrap();
        wait_until_idle(&resumed).await;
        assert_eq!(
            roles_and_texts(&again.requests()[0]),
            roles_and_texts(&model.requests()[0]),
            "the same request"
        );
        let history = resumed.context().full_history().await.unwrap();
        assert_eq!(history.len(), 3, "the half answer stays in the history");
        assert_eq!(resumed.context().messages().await.unwrap().len(), 2);
        assert_eq!(resumed.recovery().continue_turn().await, Err(SessionError::NothingToContinue));
        let kinds = kinds_of(&journal(&*store, &id).await);
        let at = kinds.iter().position(|kind| kind == "rewound").unwrap();
        assert_eq!(kinds[at + 1], "prefix_changed");
    });
}

fn kinds_of(events: &[Envelope]) -> Vec<String> {
    kinds(events).into_iter().map(str::to_owned).collect()
}

#[test]
fn kode_05_an_accepted_input_is_delivered_and_its_hook_run_again() {
    both_runtimes(async || {
        let (id, events) = rich_journal().await;
        let cut = events.iter().position(|event| {
        matches!(&event.event, Event::HookStarted(data) if data.point == HookPoint::UserPromptSubmit)
    });
        let store = crashed(&id, &events[..=cut.unwrap()]).await;
        let model = ScriptedProvider::new(Script::new().text("Here."));
        let (builder, _) = rich_builder(&model);
        let session = builder.resume(store.clone(), &id, Resume::default()).await.unwrap();
        wait_until_idle(&session).await;
        let sent = roles_and_texts(&model.requests()[0]);
        assert_eq!(sent, [(Role::User, "(hooked) First".to_owned())]);
        let after = journal(&*store, &id).await;
        let accepted = after.iter().filter(|event| event.event.kind() == "input_accepted").count();
        assert_eq!(accepted, 1, "it is the same input");
    });
}

#[test]
fn kode_05_f_the_hook_is_run_again_on_the_recorded_outcome_and_the_tool_is_not() {
    both_runtimes(async || {
        let (id, events) = rich_journal().await;
        let cut = events.iter().position(|event| {
        matches!(&event.event, Event::HookStarted(data) if data.point == HookPoint::PostToolUse)
    });
        let store = crashed(&id, &events[..=cut.unwrap()]).await;
        let model = ScriptedProvider::new(Script::new().text("Fine."));
        let look = echo("look", Class::Inspect);
        let (builder, act) = rich_builder_with(&model, look.clone());
        let session = builder.resume(store.clone(), &id, Resume::default()).await.unwrap();
        let messages = session.context().messages().await.unwrap();
        let results: Vec<_> =
            messages.last().unwrap().tool_results().map(|r| r.as_text()).collect();
        assert!(results.iter().any(|text| text == "stamped: {}"), "{results:?}");
        assert!(look.inputs().is_empty() && act.inputs().is_empty(), "nothing ran again");
    });
}

#[test]
fn kode_05_f_the_hook_of_a_batch_is_run_again_and_no_tool_is() {
    both_runtimes(async || {
        let (id, events) = rich_journal().await;
        let cut = events.iter().position(|event| {
        matches!(&event.event, Event::HookStarted(data) if data.point == HookPoint::PostToolBatch)
    });
        let store = crashed(&id, &events[..=cut.unwrap()]).await;
        let model = ScriptedProvider::new(Script::new().text("Fine."));
        let look = echo("look", Class::Inspect);
        let (builder, act) = rich_builder_with(&model, look.clone());
        let session = builder.resume(store.clone(), &id, Resume::default()).await.unwrap();
        let messages = session.context().messages().await.unwrap();
        let results: Vec<_> =
            messages.last().unwrap().tool_results().map(|r| r.as_text()).collect();
        assert_eq!(results.len(), 4, "{results:?}");
        assert!(results[3].ends_with(" (4 calls)"), "{results:?}");
        assert!(results.iter().all(|text| text.starts_with("stamped: ")), "{results:?}");
        assert!(look.inputs().is_empty() && act.inputs().is_empty(), "nothing ran again");
        check(&journal(&*store, &id).await, &messages);
    });
}

#[test]
fn kode_05_manual_reports_and_lets_the_caller_choose() {
    both_runtimes(async || {
        let (first, _) = builder(yaml("- tools: [slow, later]"));
        let slow = robota_testkit::blocking_tool("slow", Class::Execute);
        let later = echo("later", Class::Execute);
        let store = memory();
        let tools = || [tool(slow.clone()), tool(later.clone())].concat();
        let session = first.tools(tools()).gate(allow()).create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.send("Go").await.unwrap();
        slow.started(1).await;
        let store = crashed(&id, &journal(&*store, &id).await).await;
        let (second, model) = builder(Script::new().text("On it."));
        let resume = Resume { strategy: ResumeStrategy::Manual, ..Resume::default() };
        let resumed =
            second.tools(tools()).gate(allow()).resume(store.clone(), &id, resume).await.unwrap();
        let open = resumed.recovery().open_operations().await.unwrap();
        let calls: Vec<_> = open
            .iter()
            .map(|open| match open {
                OpenOperation::Call { call, ran } => (call.tool_use.name.as_str(), *ran),
                other => panic!("{other:?}"),
            })
            .collect();
        use robota_core::event::DidRun;
        assert_eq!(calls, [("slow", DidRun::Maybe), ("later", DidRun::No)]);
        let refused = resumed.send("Hello?").await.unwrap_err();
        assert!(matches!(refused, SessionError::Unrecovered { .. }));
        assert_eq!(count(&journal(&*store, &id).await, "recovered"), 0, "nothing is sealed yet");
        let OpenOperation::Call { call, .. } = &open[0] else { panic!() };
        let outcome = robota_core::tool::ToolOutcome::ok("I looked: it is done.");
        let choices = [(call.tool_use.call.clone(), CloseAs::Outcome(outcome))].into();
        resumed.recovery().recover(choices).await.unwrap();
        assert!(resumed.recovery().open_operations().await.unwrap().is_empty());
        resumed.recovery().continue_turn().await.unwrap();
        wait_until_idle(&resumed).await;
        let sent = roles_and_texts(&model.requests()[0]);
        assert!(sent[2].1.starts_with("I looked: it is done.later did not run"), "{sent:?}");
        let messages = resumed.context().messages().await.unwrap();
        check(&journal(&*store, &id).await, &messages);
        assert!(later.inputs().is_empty());
    });
}

#[test]
fn kode_05_hints_and_partial_output_reach_the_model_without_secrets() {
    both_runtimes(async || {
        let (first, _) = builder(yaml("- tools: [noisy]"));
        let noisy = PrintingTool(robota_testkit::blocking_tool("noisy", Class::Execute));
        let store = memory();
        let session = first
            .tools(tool(noisy.clone()))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        session.send("Go").await.unwrap();
        noisy.0.started(1).await;
        let mut events = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
        while !matches!(events.next_event().await.unwrap().unwrap().event(), Event::ToolOutput(_)) {
        }
        let written = journal(&*store, &id).await;
        let call = written.iter().find_map(|event| match &event.event {
            Event::ToolStarted(data) => Some(data.call.clone()),
            _ => None,
        });
        let store = crashed(&id, &written).await;
        let (second, _) = builder(Script::new());
        let hints = vec![robota_session::RecoveryHint {
            exit: Some(9),
            ..robota_session::RecoveryHint::of(call.unwrap())
        }];
        let secret = robota_core::env_ref::Secret::new("sk-12345678");
        let resumed = second
            .configure(|config| {
                config.redactor = robota_core::redact::Redactor::new([secret]).unwrap();
            })
            .resume(store, &id, Resume { hints, ..Resume::default() })
            .await
            .unwrap();
        let messages = resumed.context().messages().await.unwrap();
        let result = messages.last().unwrap().tool_results().next().unwrap().as_text();
        assert!(result.contains("code 9") && result.contains("half way [REDACTED]"), "{result}");
    });
}

/// Shows output, then runs until it is released.
#[derive(Clone)]
struct PrintingTool(robota_testkit::HeldTool);

#[async_trait::async_trait]
impl robota_core::tool::Tool for PrintingTool {
    fn spec(&self) -> &robota_core::tool::ToolSpec {
        self.0.spec()
    }

    async fn run(
        &self,
        input: serde_json::Value,
        context: robota_core::tool::ToolContext,
    ) -> robota_core::tool::ToolOutcome {
        context.progress.show("half way sk-12345678 \n".repeat(3));
        self.0.run(input, context).await
    }
}

#[test]
fn kode_05_approvals_do_not_survive_a_resume() {
    both_runtimes(async || {
        let (first, _) = builder(yaml("- tools: [act]\n- tools: [act]\n- text: Done."));
        let act = echo("act", Class::Execute);
        let store = memory();
        let session = first
            .tools(tool(act.clone()))
            .gate(ask())
            .approvals(Approvals::Decide)
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        let reply = session.reply("Go").await.unwrap();
        let store = crashed(&id, &journal(&*store, &id).await).await;
        let (second, _) = builder(Script::new().text("Fine."));
        let resumed = second.gate(ask()).resume(store, &id, Resume::default()).await.unwrap();
        assert_eq!(resumed.status().await.unwrap().state, SessionState::Ready);
        let robota_session::ChatEnd::Paused { permissions } = reply.end else { panic!() };
        let allow = robota_session::Decision::Allow(Scope::Once);
        assert!(resumed.permissions().decide(&permissions[0], allow, None).await.is_err());
        let messages = resumed.context().messages().await.unwrap();
        let result = messages.last().unwrap().tool_results().next().unwrap().as_text();
        assert!(result.contains("did not run") && act.inputs().is_empty(), "{result}");
    });
}

/// Starts a process and is about to change a file; then it runs until it is released.
#[derive(Clone)]
struct WritingTool(robota_testkit::HeldTool);

#[async_trait::async_trait]
impl robota_core::tool::Tool for WritingTool {
    fn spec(&self) -> &robota_core::tool::ToolSpec {
        self.0.spec()
    }

    async fn run(
        &self,
        input: serde_json::Value,
        context: robota_core::tool::ToolContext,
    ) -> robota_core::tool::ToolOutcome {
        let (start_time, boot_id) = (1, "boot".to_owned());
        context.processes.started(ProcessIdentity { pid: 4_711, start_time, boot_id });
        let file = Changing {
            path: Path::new("/w/a.txt"),
            before: Before::Missing,
            after: b"new",
            new_folders: &[],
        };
        context.checkpoints.before_change(&context.call, &[file]).await.unwrap();
        self.0.run(input, context).await
    }
}

/// Records the processes and files that a recovery asks for.
#[derive(Default)]
struct RecordedCleanup {
    ended: Mutex<Vec<u32>>,
    settled: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl RestoreFiles for RecordedCleanup {
    async fn current(&self, _paths: &[String], _blobs: Option<&dyn Blobs>) -> Vec<PathState> {
        Vec::new()
    }

    async fn restore(&self, _files: &[FileDelta], _blobs: &dyn Blobs) -> Vec<NotRestored> {
        Vec::new()
    }

    async fn diffs(&self, _files: &[FileDelta], _blobs: &dyn Blobs) -> Vec<Option<String>> {
        Vec::new()
    }

    async fn changed_since(&self, _watched: &FilesWatched, _blobs: &dyn Blobs) -> Vec<FileDelta> {
        Vec::new()
    }
}

#[async_trait::async_trait]
impl CrashCleanup for RecordedCleanup {
    async fn end_process(&self, _call: &CallId, process: &ProcessIdentity) -> Option<i32> {
        self.ended.lock().unwrap().push(process.pid);
        Some(9)
    }

    async fn settle_files(&self, files: &[FileChange], _blobs: &dyn Blobs) -> Vec<FoundFile> {
        self.settled.lock().unwrap().extend(files.iter().map(|file| file.path.clone()));
        vec![FoundFile::Old; files.len()]
    }
}

/// The processes and files of a call are part of the state, so recovery needs no window of recent
/// events to find them.
#[test]
fn kode_05_e_processes_and_files_are_found_however_much_the_call_printed_since() {
    both_runtimes(async || {
        let (first, _) = builder(yaml("- tools: [write]"));
        let write = WritingTool(robota_testkit::blocking_tool("write", Class::Execute));
        let store = memory();
        let session = first
            .tools(tool(write.clone()))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        let id = session.id().clone();
        session.send("Go").await.unwrap();
        write.0.started(1).await;
        let mut events = journal(&*store, &id).await;
        let changing = events.iter().find(|event| event.event.kind() == "files_changing").unwrap();
        assert!(changing.turn.is_some(), "it says which turn changes the files");
        let Event::FilesChanging(data) = &changing.event else { panic!() };
        let (call, last) = (data.call.clone(), events.last().unwrap().clone());
        for line in 1..=10_000 {
            let event = ToolOutput { call: call.clone(), text: format!("line {line}\n") }.into();
            events.push(Envelope { seq: last.seq + line, event, ..last.clone() });
        }
        let store = crashed(&id, &events).await;
        let (second, _) = builder(Script::new());
        let cleanup = Arc::new(RecordedCleanup::default());
        let resumed = second
            .crash_cleanup(cleanup.clone())
            .resume(store, &id, Resume::default())
            .await
            .unwrap();
        assert_eq!(*cleanup.ended.lock().unwrap(), [4_711], "the process is ended once");
        assert_eq!(*cleanup.settled.lock().unwrap(), ["/w/a.txt"]);
        let messages = resumed.context().messages().await.unwrap();
        let result = messages.last().unwrap().tool_results().next().unwrap().as_text();
        for part in ["code 9", "/w/a.txt", "line 10000"] {
            assert!(result.contains(part), "{part} is not in {result}");
        }
    });
}

/// Returns the journal of a process that crashed between turns, while a command ran in the
/// background.
async fn crashed_with_background_command() -> (SessionId, Arc<MemoryStore>) {
    let (first, _) = builder(yaml("- text: Started."));
    let store = memory();
    let session = first.create(store.clone(), None).await.unwrap();
    let id = session.id().clone();
    session.run("Go").await.unwrap();
    let mut events = journal(&*store, &id).await;
    let last = events.last().unwrap().clone();
    let started = ProcessStarted {
        call: CallId::from("call"),
        pid: 4_711,
        start_time: 1,
        boot_id: "boot".to_owned(),
        background: true,
    };
    events.push(Envelope { seq: last.seq + 1, turn: None, event: started.into(), ..last });
    let store = crashed(&id, &events).await;
    (id, store)
}

/// A change of a session that is not open must not hide the crash from the process that resumes it.
#[test]
fn kode_05_a_stored_session_that_is_renamed_after_a_crash_is_still_cleaned_up() {
    both_runtimes(async || {
        let (id, store) = crashed_with_background_command().await;
        let clock = || Arc::new(robota_core::clock::SystemClock);
        for name in ["First", "Second"] {
            robota_session::rename_stored(&*store, &id, name, clock()).await.unwrap();
        }
        let cleanup = Arc::new(RecordedCleanup::default());
        let (second, _) = builder(Script::new());
        let resumed = second
            .crash_cleanup(cleanup.clone())
            .resume(store.clone(), &id, Resume::default())
            .await
            .unwrap();
        assert_eq!(*cleanup.ended.lock().unwrap(), [4_711]);
        resumed.shutdown("end").await.unwrap();
        // A session that was closed stays closed.
        robota_session::rename_stored(&*store, &id, "Third", clock()).await.unwrap();
        let state = load(&*store, &id).await.unwrap();
        assert!(state.closed && state.name.as_deref() == Some("Third"), "{:?}", state.name);
    });
}
