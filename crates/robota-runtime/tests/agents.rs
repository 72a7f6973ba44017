//! Agents in this process: follow-ups, hooks and cancellation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use robota_core::event::Envelope;
use robota_core::ids::TaskId;
use robota_core::journal::MemoryStore;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::task::{TaskError, TaskErrorCategory, TaskKind, TaskStatus, Tasks};
use robota_runtime::{
    AgentJob, AgentSession, AgentSessions, AgentStop, AgentWork, InProcessAgents, NoJournal,
    SubagentHooks, TaskManager, TaskManagerOptions, TaskRequest, TaskRunner, TaskWork,
};
use robota_session::Session;
use tokio::sync::{Notify, Semaphore};

/// Opens sessions with a scripted model.
struct Sessions {
    provider: Arc<ScriptedProvider>,
    store: Arc<MemoryStore>,
    /// Whether opening fails.
    fails: bool,
    /// The session that was opened last.
    last: Arc<Mutex<Option<Session>>>,
}

#[async_trait]
impl AgentSessions for Sessions {
    async fn open(&self, job: &AgentJob) -> Result<AgentSession, TaskError> {
        if self.fails {
            return Err(TaskError::new(TaskErrorCategory::Start, "it cannot be opened"));
        }
        let builder = Session::builder(self.provider.clone(), "some-model");
        let session = builder.create(self.store.clone(), Some(job.session.clone())).await;
        let session = session.unwrap();
        *self.last.lock().unwrap() = Some(session.clone());
        Ok(AgentSession { session })
    }
}

/// Records the ends of turns. Each waits until the test lets it continue.
struct Hooks {
    stops: Mutex<Vec<String>>,
    reached: Notify,
    go: Semaphore,
    /// Whether the hooks of the start never end.
    hangs: bool,
}

#[async_trait]
impl SubagentHooks for Hooks {
    async fn started(&self, _: &AgentJob) -> Option<String> {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        None
    }

    async fn stopping(&self, _: &AgentJob, end: AgentStop<'_>) -> Option<String> {
        self.stops.lock().unwrap().push(end.answer.to_owned());
        self.reached.notify_one();
        self.go.acquire().await.unwrap().forget();
        // A hook that blocks the end of an agent that did not complete its work has no effect.
        end.answer.is_empty().then(|| "go on".to_owned())
    }
}

struct Stage {
    provider: Arc<ScriptedProvider>,
    store: Arc<MemoryStore>,
    hooks: Arc<Hooks>,
    manager: TaskManager,
    last: Arc<Mutex<Option<Session>>>,
}

async fn stage(script: &str, fails: bool, hangs: bool) -> Stage {
    let provider = Arc::new(ScriptedProvider::new(Script::from_yaml(script).unwrap()));
    let store = Arc::new(MemoryStore::new());
    let last = Arc::new(Mutex::default());
    let sessions =
        Sessions { provider: provider.clone(), store: store.clone(), fails, last: last.clone() };
    let hooks =
        Hooks { stops: Mutex::default(), reached: Notify::new(), go: Semaphore::new(0), hangs };
    let hooks = Arc::new(hooks);
    let agents = InProcessAgents::new(Arc::new(sessions)).hooks(hooks.clone());
    let options = TaskManagerOptions { agents: 1, ..TaskManagerOptions::default() };
    let manager = TaskManager::new(options, [Arc::new(agents) as Arc<dyn TaskRunner>]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    Stage { provider, store, hooks, manager, last }
}

impl Stage {
    async fn start(&self, prompt: &str) -> TaskId {
        let work = AgentWork { prompt: prompt.to_owned(), ..AgentWork::default() };
        let request = TaskRequest::new(TaskWork::Agent(Box::new(work)), "work");
        let task = self.manager.spawn(request).await.unwrap();
        assert_eq!(self.manager.get(&task).unwrap().kind, TaskKind::Agent);
        task
    }

    /// Returns the journal of an agent's session.
    async fn journal(&self, task: &TaskId) -> Vec<Envelope> {
        let session = self.manager.get(task).unwrap().session.unwrap();
        common::events(&*self.store, &session).await
    }

    fn stops(&self) -> Vec<String> {
        self.hooks.stops.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn run_04_a_follow_up_during_the_hooks_of_the_end_is_answered() {
    let stage = stage("- First.\n- Second.\n", false, false).await;
    let task = stage.start("Look.").await;
    stage.hooks.reached.notified().await;
    // The agent has answered, and its hooks run.
    stage.manager.send(&task, "And the tests?").unwrap();
    stage.hooks.go.add_permits(2);
    let state = stage.manager.wait(&task).await.unwrap();
    assert_eq!((state.status, state.output.as_str()), (TaskStatus::Completed, "Second."));
    let journal = stage.journal(&task).await;
    assert_eq!(common::said(&journal, "And the"), ["And the tests?"]);
    assert_eq!(stage.stops(), ["First.", "Second."]);
    // After the end a follow-up is an error, and not lost.
    assert!(stage.manager.send(&task, "More?").is_err());
}

#[tokio::test]
async fn run_04_a_follow_up_whose_turn_cannot_start_is_in_the_reason_of_the_end() {
    let stage = stage("- First.\n- Second.\n", false, false).await;
    let task = stage.start("Look.").await;
    stage.hooks.reached.notified().await;
    stage.manager.send(&task, "And the tests?").unwrap();
    let session = stage.last.lock().unwrap().take().unwrap();
    session.shutdown("gone").await.unwrap();
    stage.hooks.go.add_permits(2);
    let state = stage.manager.wait(&task).await.unwrap();
    assert_eq!(state.status, TaskStatus::Failed);
    let error = state.error.unwrap().message;
    assert!(error.contains("did not read the last follow-up: And the tests?"), "{error}");
}

#[tokio::test]
async fn run_04_a_follow_up_during_the_last_answer_is_answered() {
    let stage =
        stage("- {steps: [{stall: {gate: last}}, {text: First.}]}\n- Second.\n", false, false)
            .await;
    stage.hooks.go.add_permits(2);
    let task = stage.start("Look.").await;
    stage.provider.reached("last").await;
    stage.manager.send(&task, "And the tests?").unwrap();
    // The session has it before the model ends its answer.
    loop {
        let journal = stage.journal(&task).await;
        if journal.iter().filter(|it| it.event.kind() == "input_accepted").count() == 2 {
            break;
        }
        tokio::task::yield_now().await;
    }
    stage.provider.release("last");
    let state = stage.manager.wait(&task).await.unwrap();
    assert_eq!((state.status, state.output.as_str()), (TaskStatus::Completed, "Second."));
    assert_eq!(stage.stops(), ["Second."], "the agent ends once");
    assert_eq!(state.usage.iter().map(|it| it.calls).sum::<u64>(), 2);
}

#[tokio::test]
async fn run_04_a_follow_up_to_an_agent_that_is_being_cancelled_starts_no_turn() {
    for _ in 0..20 {
        let stage = stage("- {steps: [{stall: {gate: never}}]}\n- Second.\n", false, false).await;
        stage.hooks.go.add_permits(9);
        let task = stage.start("Look.").await;
        stage.provider.reached("never").await;
        let mut cancelled = std::pin::pin!(stage.manager.cancel(&task));
        assert!(futures::poll!(&mut cancelled).is_pending());
        stage.manager.send(&task, "And the tests?").unwrap();
        assert_eq!(cancelled.await.unwrap().status, TaskStatus::Cancelled);
        let journal = stage.journal(&task).await;
        let count = |kind| journal.iter().filter(|it| it.event.kind() == kind).count();
        assert_eq!((count("turn_started"), count("input_accepted")), (1, 1));
        let log = stage.manager.read_log(&task, 0, 1_000).await.unwrap().text;
        assert!(log.contains("did not read the last follow-up: And the tests?"), "{log}");
    }
}

#[tokio::test]
async fn run_04_a_follow_up_to_an_agent_that_waits_for_its_slot_is_answered() {
    let stage = stage("- First.\n- Second.\n- Third.\n", false, false).await;
    let first = stage.start("One.").await;
    let second = stage.start("Two.").await;
    assert_eq!(stage.manager.get(&second).unwrap().status, TaskStatus::Queued);
    stage.manager.send(&second, "And three?").unwrap();
    stage.hooks.go.add_permits(9);
    stage.manager.wait(&first).await.unwrap();
    let state = stage.manager.wait(&second).await.unwrap();
    assert_eq!(state.status, TaskStatus::Completed);
    assert_eq!(common::said(&stage.journal(&second).await, "And three"), ["And three?"]);
}

#[tokio::test]
async fn run_09_the_hooks_of_the_end_run_however_an_agent_ends() {
    // It cannot be opened.
    let failed = stage("- First.\n", true, false).await;
    failed.hooks.go.add_permits(1);
    let task = failed.start("Look.").await;
    let state = failed.manager.wait(&task).await.unwrap();
    assert_eq!(state.error.unwrap().category, TaskErrorCategory::Start);
    assert_eq!(failed.stops().len(), 1);
    // It is cancelled; a hook cannot keep it from ending.
    let cancelled = stage("- {steps: [{stall: {gate: never}}]}\n- First.\n", false, false).await;
    cancelled.hooks.go.add_permits(9);
    let task = cancelled.start("Look.").await;
    cancelled.provider.reached("never").await;
    let state = cancelled.manager.cancel(&task).await.unwrap();
    assert_eq!((state.status, cancelled.stops().len()), (TaskStatus::Cancelled, 1));
}

#[tokio::test(start_paused = true)]
async fn run_04_hooks_that_hang_do_not_hold_up_a_cancellation() {
    // Those of the start.
    let starting = stage("- First.\n", false, true).await;
    starting.hooks.go.add_permits(1);
    let task = starting.start("Look.").await;
    while starting.manager.get(&task).unwrap().status == TaskStatus::Queued {
        tokio::task::yield_now().await;
    }
    let before = tokio::time::Instant::now();
    let state = starting.manager.cancel(&task).await.unwrap();
    assert_eq!((state.status, starting.stops().len()), (TaskStatus::Cancelled, 1));
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    // Those of the end: the answer and what it cost are kept.
    let ending = stage("- First.\n", false, false).await;
    let task = ending.start("Look.").await;
    ending.hooks.reached.notified().await;
    let before = tokio::time::Instant::now();
    let state = ending.manager.cancel(&task).await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    assert_eq!((state.output.as_str(), state.usage.len()), ("First.", 1));
    let last = ending.journal(&task).await.pop().unwrap();
    assert_eq!(last.event.kind(), "closed");
}
