//! The manager against a model: for any sequence of operations, the table of states holds, the
//! limit is kept, no waiter is lost, and every slot is freed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod properties;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use robota_core::clock::SystemClock;
use robota_core::event::{Envelope, Event};
use robota_core::ids::{CallId, CountingIds, TaskId};
use robota_core::state::State;
use robota_core::task::{
    TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskMode, TaskPlace, TaskQuestion,
    TaskState, TaskStatus, TaskUsage, TaskWorktree, Tasks, TimeoutReason,
};
use robota_core::usage::Usage;
use tokio::sync::mpsc;

use robota_runtime::{
    AgentWork, ProcessProgram, TaskEvent, TaskJob, TaskJournal, TaskLimits, TaskManager,
    TaskManagerError, TaskManagerOptions, TaskReporter, TaskRequest, TaskRunner, TaskWork,
};

/// What a test asks a task to do.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    Say(String),
    Work,
    /// Start a tool call that does not end.
    Act,
    /// Report a process and a worktree.
    Place,
    /// Ask for approval.
    Ask,
    Done,
    Fail,
    Panic,
    /// Report what a model call used.
    Use,
    /// Ignores cancellations.
    Deaf,
}

/// Runs tasks that do what the test says.
pub(crate) struct Puppets {
    kind: TaskKind,
    strings: Mutex<HashMap<TaskId, mpsc::UnboundedSender<Order>>>,
    pub(crate) running: Arc<AtomicUsize>,
    pub(crate) most: Arc<AtomicUsize>,
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Default for Puppets {
    fn default() -> Self {
        Self::of(TaskKind::Agent)
    }
}

impl Puppets {
    pub(crate) fn of(kind: TaskKind) -> Self {
        Self { kind, strings: Mutex::default(), running: Arc::default(), most: Arc::default() }
    }

    pub(crate) fn order(&self, task: &TaskId, order: Order) -> bool {
        let strings = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        strings.get(task).is_some_and(|string| string.send(order).is_ok())
    }
}

#[async_trait]
impl TaskRunner for Puppets {
    fn kind(&self) -> TaskKind {
        self.kind
    }

    async fn run(&self, job: TaskJob, reporter: TaskReporter) -> TaskFinished {
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let _counted = Counted(self.running.clone());
        let (string, mut orders) = mpsc::unbounded_channel();
        {
            let mut strings = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
            strings.insert(job.task.clone(), string);
        }
        let mut deaf = false;
        loop {
            let order = tokio::select! {
                order = orders.recv() => order,
                Some(input) = job.inputs.recv() => Some(Order::Say(input)),
                () = job.cancel.cancelled(), if !deaf => {
                    return TaskFinished::new(TaskStatus::Cancelled);
                }
            };
            match order {
                Some(Order::Say(text)) => reporter.text(&text),
                Some(Order::Work) => {
                    reporter.tool_started("Read a");
                    reporter.tool_ended(None);
                }
                Some(Order::Act) => reporter.tool_started("Bash cargo test"),
                Some(Order::Place) => reporter.placed(TaskPlace {
                    pid: Some(7),
                    worktree: Some(TaskWorktree {
                        path: "/w".to_owned(),
                        branch: "robota/w".to_owned(),
                    }),
                    ..TaskPlace::default()
                }),
                Some(Order::Ask) => reporter.asked(TaskQuestion {
                    call: CallId::from("asked"),
                    tool: "Bash".to_owned(),
                    input: serde_json::json!({}),
                    reason: "the mode".to_owned(),
                }),
                Some(Order::Done) => {
                    let output = "done".to_owned();
                    return TaskFinished { output, ..TaskFinished::new(TaskStatus::Completed) };
                }
                Some(Order::Fail) => {
                    let error = TaskError::new(TaskErrorCategory::Runner, "it failed");
                    return TaskFinished::failed(error);
                }
                Some(Order::Panic) => panic!("a puppet panics"),
                Some(Order::Use) => reporter.used(vec![TaskUsage {
                    model: "m".to_owned(),
                    usage: Usage { output_tokens: 7, ..Usage::default() },
                    calls: 1,
                }]),
                Some(Order::Deaf) => deaf = true,
                None => std::future::pending().await,
            }
        }
    }
}

/// Keeps what is recorded.
#[derive(Default)]
pub(crate) struct Recorded(Mutex<Vec<Event>>);

#[async_trait]
impl TaskJournal for Recorded {
    async fn record(&self, events: Vec<Event>) -> Result<(), String> {
        // As with a real journal, others run meanwhile.
        tokio::task::yield_now().await;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(events);
        Ok(())
    }
}

impl Recorded {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the tasks that the first events of the journal make.
    pub(crate) fn tasks(&self, events: usize) -> Tasks {
        let mut state = State::default();
        for (at, event) in self.events().into_iter().take(events).enumerate() {
            let seq = at as u64 + 1;
            let ts = jiff::Timestamp::UNIX_EPOCH;
            let envelope = Envelope { seq, epoch: 1, ts, turn: None, event, min_reader: None };
            state.apply(&envelope).unwrap();
        }
        state.tasks
    }
}

pub(crate) struct Stage {
    pub(crate) manager: TaskManager,
    pub(crate) puppets: Arc<Puppets>,
    /// Those that run commands.
    pub(crate) commands: Arc<Puppets>,
    pub(crate) journal: Arc<Recorded>,
}

pub(crate) async fn stage(agents: usize) -> Stage {
    let puppets = Arc::new(Puppets::default());
    let commands = Arc::new(Puppets::of(TaskKind::Process));
    let options = TaskManagerOptions {
        agents,
        processes: agents,
        ids: Arc::new(CountingIds::default()),
        clock: Arc::new(SystemClock),
        ..TaskManagerOptions::default()
    };
    let runners = [puppets.clone(), commands.clone()].map(|it| it as Arc<dyn TaskRunner>);
    let manager = TaskManager::new(options, runners);
    let journal = Arc::new(Recorded::default());
    manager.attach(journal.clone(), Tasks::default()).await;
    Stage { manager, puppets, commands, journal }
}

pub(crate) fn request() -> TaskRequest {
    let work = AgentWork { agent: "a".to_owned(), prompt: "p".to_owned(), ..AgentWork::default() };
    TaskRequest::new(TaskWork::Agent(Box::new(work)), "work")
}

/// Returns the request of a command.
pub(crate) fn command() -> TaskRequest {
    let spec = robota_exec::CommandSpec::new("true", "/");
    let command = "true".to_owned();
    let program = ProcessProgram::Start { spec: Box::new(spec), started: None };
    let work = robota_runtime::ProcessWork { command, program };
    TaskRequest::new(TaskWork::Process(Box::new(work)), "true")
}

impl Stage {
    /// Returns the puppets that run a task.
    pub(crate) fn puppets_of(&self, task: &TaskId) -> &Puppets {
        if task.as_str().starts_with("bash_") { &self.commands } else { &self.puppets }
    }

    /// Waits until the puppet of a task can be ordered.
    async fn order(&self, task: &TaskId, order: Order) {
        while !self.puppets.order(task, order.clone()) {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn run_01_a_finished_task_frees_its_slot_at_once() {
    let stage = stage(1).await;
    let first = stage.manager.spawn(request()).await.unwrap();
    let second = stage.manager.spawn(request()).await.unwrap();
    assert_eq!(stage.manager.get(&second).unwrap().status, TaskStatus::Queued);
    stage.order(&first, Order::Done).await;
    let state = stage.manager.wait(&first).await.unwrap();
    assert_eq!((state.status, state.output.as_str()), (TaskStatus::Completed, "done"));
    stage.order(&second, Order::Fail).await;
    let state = stage.manager.wait(&second).await.unwrap();
    assert_eq!(state.error.unwrap().category, TaskErrorCategory::Runner);
}

#[tokio::test(start_paused = true)]
async fn run_03_a_panic_is_a_failure_of_its_task_only() {
    let stage = stage(2).await;
    let first = stage.manager.spawn(request()).await.unwrap();
    let second = stage.manager.spawn(request()).await.unwrap();
    stage.order(&first, Order::Panic).await;
    let error = stage.manager.wait(&first).await.unwrap().error.unwrap();
    assert_eq!((error.category, error.recoverable), (TaskErrorCategory::Crash, true));
    stage.order(&second, Order::Done).await;
    assert_eq!(stage.manager.wait(&second).await.unwrap().status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn run_02_watchdogs_end_a_task_with_the_reason() {
    let stage = stage(4).await;
    let limits = TaskLimits {
        idle: Some(Duration::from_secs(5)),
        runtime: Some(Duration::from_secs(60)),
        output: Some(100),
        pieces: Some(50),
        repetition: Some((10, 3)),
    };
    let spawn = || async {
        let request = TaskRequest { limits: Some(limits.clone()), ..request() };
        stage.manager.spawn(request).await.unwrap()
    };
    let idle = spawn().await;
    let state = stage.manager.wait(&idle).await.unwrap();
    assert_eq!((state.status, state.timeout), (TaskStatus::Failed, Some(TimeoutReason::Idle)));
    let loud = spawn().await;
    stage.order(&loud, Order::Say("x1y2".repeat(30))).await;
    let state = stage.manager.wait(&loud).await.unwrap();
    assert_eq!(state.timeout, Some(TimeoutReason::OutputLimit));
    let stuck = spawn().await;
    for _ in 0..8 {
        stage.order(&stuck, Order::Say("again. ".to_owned())).await;
    }
    let state = stage.manager.wait(&stuck).await.unwrap();
    assert_eq!(state.timeout, Some(TimeoutReason::Repetition));
    assert_eq!(state.error.unwrap().message, "it was ended: it repeated the same text");
    let long = spawn().await;
    for step in 0..20 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        if !stage.puppets.order(&long, Order::Say(format!("{step} "))) {
            break;
        }
    }
    let state = stage.manager.wait(&long).await.unwrap();
    assert_eq!(state.timeout, Some(TimeoutReason::MaxRuntime), "never idle, but too long");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_does_not_listen_is_dropped() {
    let stage = stage(1).await;
    let task = stage.manager.spawn(request()).await.unwrap();
    stage.order(&task, Order::Deaf).await;
    // It must have read the order.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let state = stage.manager.cancel(&task).await.unwrap();
    assert_eq!(state.status, TaskStatus::Cancelled);
    assert_eq!(stage.puppets.running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn run_03_what_a_dropped_task_used_and_its_worktree_are_in_its_end() {
    let stage = stage(2).await;
    for order in [Order::Deaf, Order::Panic] {
        let task = stage.manager.spawn(request()).await.unwrap();
        for first in [Order::Use, Order::Place, order.clone()] {
            stage.order(&task, first).await;
        }
        // It must have read the orders.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if matches!(order, Order::Deaf) {
            stage.manager.cancel(&task).await.unwrap();
        }
        let state = stage.manager.wait(&task).await.unwrap();
        assert_eq!(state.usage.len(), 1, "{order:?}: {state:?}");
        assert_eq!(state.usage[0].usage.output_tokens, 7);
        assert_eq!(state.worktree.unwrap().path, "/w", "{order:?}");
    }
}

/// Polls a future a few times, and drops it unless it is ready by then.
pub(crate) async fn dropped_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    for _ in 0..polls {
        if let std::task::Poll::Ready(value) = futures::poll!(&mut future) {
            return Some(value);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[tokio::test(start_paused = true)]
async fn run_01_a_spawn_that_is_dropped_leaves_no_task_that_runs_or_waits() {
    for polls in 1..12 {
        let stage = stage(4).await;
        let task = dropped_after(polls, stage.manager.spawn(request())).await;
        if let Some(task) = task {
            // It was started before it could be dropped.
            stage.manager.cancel(&task.unwrap()).await.unwrap();
        }
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        for state in stage.manager.list() {
            assert_eq!(state.status, TaskStatus::Cancelled, "{polls}");
            assert_eq!(stage.manager.wait(&state.task).await.unwrap().status, state.status);
        }
        assert_eq!(stage.puppets.running.load(Ordering::SeqCst), 0);
        // The journal agrees.
        let recorded = stage.journal.tasks(usize::MAX);
        assert!(recorded.tasks.values().all(|it| it.status == TaskStatus::Cancelled), "{polls}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_06_a_group_whose_creation_is_dropped_ends() {
    use robota_core::task::{GroupStatus, WaitPolicy};
    let mut dropped = 0;
    for polls in 1..30 {
        let stage = stage(2).await;
        let groups = stage.manager.groups();
        let requests = (0..4).map(|_| request()).collect();
        let created = groups.create("all", WaitPolicy::WaitAll, requests);
        if let Some(created) = dropped_after(polls, created).await {
            groups.cancel(&created.unwrap().0).await.unwrap();
        } else {
            dropped += 1;
        }
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        assert_eq!(stage.puppets.running.load(Ordering::SeqCst), 0, "{polls}");
        assert!(stage.manager.list().iter().all(|it| it.status.is_terminal()), "{polls}");
        assert!(groups.list().iter().all(|it| it.status == GroupStatus::Done), "{polls}");
        let recorded = stage.journal.tasks(usize::MAX);
        assert!(recorded.tasks.values().all(|it| it.status.is_terminal()), "{polls}");
        assert!(recorded.groups.values().all(|it| it.status == GroupStatus::Done), "{polls}");
    }
    assert!(dropped > 3, "{dropped}");
}

/// Reports from the second event on that it cannot write, and keeps the events, as the recorder of a
/// session does: it writes them when the disk has room again.
#[derive(Default)]
struct FullDisk {
    kept: Recorded,
    asked: AtomicUsize,
}

#[async_trait]
impl TaskJournal for FullDisk {
    async fn record(&self, events: Vec<Event>) -> Result<(), String> {
        self.kept.record(events).await?;
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        if before == 0 { Ok(()) } else { Err("no space left".to_owned()) }
    }
}

#[tokio::test(start_paused = true)]
async fn run_01_a_journal_that_fails_loses_no_waiter_and_frees_every_slot() {
    use robota_core::task::{GroupStatus, WaitPolicy};
    let puppets = Arc::new(Puppets::default());
    let options = TaskManagerOptions { agents: 1, ..TaskManagerOptions::default() };
    let manager = TaskManager::new(options, [puppets.clone() as Arc<dyn TaskRunner>]);
    let disk = Arc::new(FullDisk::default());
    manager.attach(disk.clone(), Tasks::default()).await;
    let task = manager.spawn(request()).await.unwrap();
    // The start of the second one cannot be recorded, so it does not exist.
    let refused = manager.spawn(request()).await;
    assert!(matches!(refused, Err(TaskManagerError::Journal(_))), "{refused:?}");
    let groups = manager.groups();
    let refused = groups.create("none", WaitPolicy::WaitAll, vec![request()]).await;
    assert!(matches!(refused, Err(TaskManagerError::Journal(_))), "{refused:?}");
    assert_eq!((manager.list().len(), groups.list().len()), (1, 0));
    // The journal may get their starts later: it must not have them as tasks that wait or run.
    let recorded = disk.kept.tasks(usize::MAX);
    for state in recorded.tasks.values().filter(|state| state.task != task) {
        assert_eq!(state.status, TaskStatus::Failed);
        assert_eq!(state.error.as_ref().unwrap().category, TaskErrorCategory::Start);
        // The caller has the error, so the model does not get a report after a restart.
        assert!(state.reported);
    }
    assert!(recorded.groups.values().all(|group| group.status == GroupStatus::Done));
    assert_eq!((recorded.tasks.len(), recorded.groups.len()), (2, 1));
    while !puppets.order(&task, Order::Done) {
        tokio::task::yield_now().await;
    }
    assert_eq!(manager.wait(&task).await.unwrap().status, TaskStatus::Completed);
    manager.shutdown().await;
    assert_eq!(puppets.running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_on_another_thread_cancels_its_tasks() {
    let stage = stage(1).await;
    let task = stage.manager.spawn(request()).await.unwrap();
    let guard = stage.manager.cancel_on_drop([task.clone()]);
    std::thread::spawn(move || drop(guard)).join().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), stage.manager.wait(&task)).await;
    assert_eq!(ended.unwrap().unwrap().status, TaskStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn run_04_text_to_a_task_that_waits_for_its_slot_is_kept() {
    let stage = stage(1).await;
    let first = stage.manager.spawn(request()).await.unwrap();
    let second = stage.manager.spawn(request()).await.unwrap();
    assert_eq!(stage.manager.get(&second).unwrap().status, TaskStatus::Queued);
    stage.manager.send(&second, "there").unwrap();
    stage.order(&first, Order::Done).await;
    let log = loop {
        let log = stage.manager.read_log(&second, 0, 100).await;
        match log {
            Ok(log) if !log.text.is_empty() => break log.text,
            _ => tokio::task::yield_now().await,
        }
    };
    assert_eq!(log, "there");
}

#[tokio::test(start_paused = true)]
async fn run_01_text_is_in_the_log_and_not_in_the_journal() {
    let stage = stage(1).await;
    let task = stage.manager.spawn(request()).await.unwrap();
    let mut events = stage.manager.subscribe();
    let mut received = String::new();
    stage.order(&task, Order::Say("hello ".to_owned())).await;
    while received != "hello " {
        if let TaskEvent::Text { text, .. } = events.recv().await.unwrap() {
            received.push_str(&text);
        }
    }
    stage.manager.send(&task, "there").unwrap();
    while received != "hello there" {
        if let TaskEvent::Text { text, .. } = events.recv().await.unwrap() {
            received.push_str(&text);
        }
    }
    let page = stage.manager.read_log(&task, 6, 3).await.unwrap();
    assert_eq!((page.text.as_str(), page.next, page.more), ("the", 9, true));
    stage.order(&task, Order::Done).await;
    stage.manager.wait(&task).await.unwrap();
    let recorded = format!("{:?}", stage.journal.events());
    assert!(!recorded.contains("hello"), "{recorded}");
}

#[tokio::test(start_paused = true)]
async fn run_06_groups_wait_as_their_policy_says() {
    use robota_core::task::{GroupStatus, WaitPolicy};
    let stage = stage(8).await;
    let groups = stage.manager.groups();
    let two = || vec![request(), request()];
    let (all, tasks) = groups.create("all", WaitPolicy::WaitAll, two()).await.unwrap();
    let tasks: Vec<_> = tasks.into_iter().map(Result::unwrap).collect();
    stage.order(&tasks[0], Order::Done).await;
    stage.manager.wait(&tasks[0]).await.unwrap();
    assert_eq!(groups.get(&all).unwrap().status, GroupStatus::Running);
    stage.order(&tasks[1], Order::Fail).await;
    let summary = groups.wait(&all).await.unwrap();
    assert_eq!((summary.open, summary.completed, summary.failed), (0, 1, 1));

    let (any, tasks) = groups.create("any", WaitPolicy::WaitAny, two()).await.unwrap();
    stage.order(tasks[1].as_ref().unwrap(), Order::Done).await;
    assert_eq!(groups.wait(&any).await.unwrap().open, 1);
    assert_eq!(groups.cancel(&any).await.unwrap().cancelled, 1);

    let (detached, _) = groups.create("detached", WaitPolicy::Detached, two()).await.unwrap();
    assert_eq!(groups.wait(&detached).await.unwrap().open, 2);
    let (manual, _) = groups.create("manual", WaitPolicy::Manual, two()).await.unwrap();
    assert_eq!(groups.finish(&manual).await.unwrap().group.status, GroupStatus::Done);
    let (empty, _) = groups.create("empty", WaitPolicy::WaitAll, Vec::new()).await.unwrap();
    assert_eq!(groups.wait(&empty).await.unwrap().open, 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_all_tasks() {
    let Stage { manager, puppets, .. } = stage(2).await;
    let task = manager.spawn(request()).await.unwrap();
    while !puppets.order(&task, Order::Work) {
        tokio::task::yield_now().await;
    }
    drop(manager);
    while puppets.running.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn agents_cannot_start_agents_and_foreground_tasks_count_as_reported() {
    let stage = stage(1).await;
    let deep = TaskRequest { depth: 2, ..request() };
    assert_eq!(stage.manager.spawn(deep).await, Err(TaskManagerError::TooDeep));
    let task = stage.manager.spawn(request().foreground()).await.unwrap();
    assert_eq!(stage.manager.get(&task).unwrap().mode, TaskMode::Foreground);
    stage.order(&task, Order::Done).await;
    stage.manager.wait(&task).await.unwrap();
    assert!(stage.manager.unreported().is_empty());
    let task = stage.manager.spawn(request()).await.unwrap();
    stage.order(&task, Order::Done).await;
    stage.manager.wait(&task).await.unwrap();
    assert_eq!(stage.manager.unreported().len(), 1);
    assert!(stage.manager.mark_reported(&task).await && !stage.manager.mark_reported(&task).await);
    assert!(stage.manager.unreported().is_empty());
}

impl Stage {
    /// Waits until the state of a task is what the test expects.
    async fn until(&self, task: &TaskId, expected: impl Fn(&TaskState) -> bool) -> TaskState {
        loop {
            let state = self.manager.get(task).unwrap();
            if expected(&state) {
                return state;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn run_01_the_state_of_a_task_has_all_its_fields_and_is_a_copy() {
    let stage = stage(1).await;
    let call = CallId::from("call-1");
    let request = TaskRequest { depth: 1, ..request().foreground().call(call.clone()) };
    let task = stage.manager.spawn(request).await.unwrap();
    stage.order(&task, Order::Place).await;
    stage.order(&task, Order::Act).await;
    let copy = stage.until(&task, |state| state.action.is_some()).await;
    assert_eq!((copy.mode, copy.label.as_str(), copy.depth), (TaskMode::Foreground, "work", 1));
    assert_eq!(copy.action.as_deref(), Some("Bash cargo test"));
    assert_eq!((copy.agent.as_deref(), copy.input.as_str()), (Some("a"), "p"));
    assert_eq!((copy.call.as_ref(), copy.pid), (Some(&call), Some(7)));
    let worktree = copy.worktree.clone().unwrap();
    assert_eq!((worktree.path.as_str(), worktree.branch.as_str()), ("/w", "robota/w"));
    assert!(copy.started.is_some_and(|started| started <= copy.last_activity));
    assert_eq!(copy.timeout, None);
    stage.order(&task, Order::Ask).await;
    let waiting = stage.until(&task, |state| !state.questions.is_empty()).await;
    assert_eq!(waiting.status, TaskStatus::WaitingPermission);
    assert!(waiting.last_activity >= copy.last_activity);
    stage.order(&task, Order::Done).await;
    let ended = stage.manager.wait(&task).await.unwrap();
    // The copies did not change.
    assert_eq!((copy.status, copy.questions.len()), (TaskStatus::Running, 0));
    assert_eq!((ended.status, ended.action), (TaskStatus::Completed, None));
}

/// Completes every task at once.
struct Quick(TaskKind);

#[async_trait]
impl TaskRunner for Quick {
    fn kind(&self) -> TaskKind {
        self.0
    }

    async fn run(&self, _: TaskJob, _: TaskReporter) -> TaskFinished {
        TaskFinished::new(TaskStatus::Completed)
    }
}

#[tokio::test(start_paused = true)]
async fn run_01_ids_say_what_was_requested_and_are_not_used_twice() {
    let journal = Arc::new(Recorded::default());
    let start = async |tasks: Tasks| {
        let runners = [TaskKind::Agent, TaskKind::Process]
            .map(|kind| Arc::new(Quick(kind)) as Arc<dyn TaskRunner>);
        let ids = Arc::new(CountingIds::default());
        let manager = TaskManager::new(TaskManagerOptions { ids, ..Default::default() }, runners);
        manager.attach(journal.clone(), tasks).await;
        manager
    };
    let manager = start(Tasks::default()).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(manager.spawn(request()).await.unwrap());
        ids.push(manager.spawn(command()).await.unwrap());
    }
    let is_agent = |id: &TaskId| id.as_str().starts_with("agent-");
    let kinds: Vec<_> = ids.iter().map(is_agent).collect();
    assert_eq!(kinds, [true, false, true, false, true, false]);
    let commands: Vec<_> = ids.iter().filter(|id| !is_agent(id)).map(TaskId::as_str).collect();
    assert_eq!(commands, ["bash_1", "bash_2", "bash_3"]);
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
    // The id of a closed task is not given again.
    let last = TaskId::from("bash_3");
    manager.wait(&last).await.unwrap();
    manager.close(&last).await.unwrap();
    assert_eq!(manager.spawn(command()).await.unwrap().as_str(), "bash_4");
    // The next process has the tasks of this one. Its source makes the same ids, which are avoided.
    let next = start(journal.tasks(usize::MAX)).await;
    let (agent, process) = (next.spawn(request()).await, next.spawn(command()).await);
    assert!(!ids.contains(&agent.unwrap()));
    assert_eq!(process.unwrap().as_str(), "bash_5");
}

#[tokio::test(start_paused = true)]
async fn run_03_errors_have_a_category_and_say_whether_a_retry_may_help() {
    use TaskErrorCategory as Category;
    for (category, recoverable) in [
        (Category::Start, false),
        (Category::Runner, false),
        (Category::Crash, true),
        (Category::Timeout, true),
        (Category::Interrupted, true),
        (Category::Limit, false),
    ] {
        assert_eq!(TaskError::new(category, "x").recoverable, recoverable, "{category:?}");
    }
    let stage = stage(4).await;
    let limits = TaskLimits { idle: Some(Duration::from_secs(5)), ..TaskLimits::NONE };
    let idle = TaskRequest { limits: Some(limits), ..request() };
    let idle = stage.manager.spawn(idle).await.unwrap();
    let (failed, crashed) =
        (stage.manager.spawn(request()).await, stage.manager.spawn(request()).await);
    let (failed, crashed) = (failed.unwrap(), crashed.unwrap());
    stage.order(&failed, Order::Fail).await;
    stage.order(&crashed, Order::Panic).await;
    for (task, category, recoverable) in [
        (failed, Category::Runner, false),
        (crashed, Category::Crash, true),
        (idle, Category::Timeout, true),
    ] {
        let error = stage.manager.wait(&task).await.unwrap().error.unwrap();
        assert_eq!((error.category, error.recoverable), (category, recoverable));
        assert!(!error.message.is_empty());
    }
}
