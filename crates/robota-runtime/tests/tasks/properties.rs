//! Any sequence of orders, against a model.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use robota_core::ids::TaskId;
use robota_core::task::{GroupStatus, TaskErrorCategory, TaskMode, TaskStatus, WaitPolicy};

use super::*;

/// What a test does.
#[derive(Debug, Clone)]
enum Step {
    Spawn,
    /// Spawns a command.
    Command,
    /// Drops a spawn after so many polls.
    Abandon(usize),
    /// Creates a group with so many agents.
    Group(usize),
    /// Drops the creation of a group after so many polls.
    AbandonGroup(usize),
    Say(usize),
    Work(usize),
    Done(usize),
    Fail(usize),
    Panic(usize),
    Cancel(usize),
    Close(usize),
    /// Lets so much time pass that idle tasks are ended.
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Spawn),
        2 => Just(Step::Command),
        1 => (1..12_usize).prop_map(Step::Abandon),
        1 => (1..4_usize).prop_map(Step::Group),
        1 => (1..20_usize).prop_map(Step::AbandonGroup),
        1 => (0..8_usize).prop_map(Step::Say),
        1 => (0..8_usize).prop_map(Step::Work),
        2 => (0..8_usize).prop_map(Step::Done),
        1 => (0..8_usize).prop_map(Step::Fail),
        1 => (0..8_usize).prop_map(Step::Panic),
        2 => (0..8_usize).prop_map(Step::Cancel),
        2 => (0..8_usize).prop_map(Step::Close),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..30)
}

const IDLE: Duration = Duration::from_secs(30);

/// The expected tasks: in order of creation, those with a slot are the oldest that have not ended.
#[derive(Default)]
struct Model {
    order: Vec<TaskId>,
    ended: BTreeMap<TaskId, TaskStatus>,
    closed: Vec<TaskId>,
    /// The tasks of groups. Of those that wait, the one whose group runs the fewest tasks is next, so
    /// that the order is not that of the creation.
    grouped: Vec<TaskId>,
}

fn same_kind(one: &TaskId, other: &TaskId) -> bool {
    one.as_str().starts_with("bash_") == other.as_str().starts_with("bash_")
}

impl Model {
    fn open(&self) -> impl Iterator<Item = &TaskId> {
        self.order.iter().filter(|task| !self.ended.contains_key(*task))
    }

    /// Returns the open tasks of the kind of a task.
    fn like(&self, task: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.open().filter(move |it| same_kind(it, task))
    }

    /// Returns the tasks that have a slot. `None` if that depends on groups.
    fn have_slots(&self, kind: &TaskId, limit: usize) -> Option<Vec<TaskId>> {
        let grouped = self.like(kind).any(|task| self.grouped.contains(task));
        let all = self.like(kind).count() <= limit;
        (!grouped || all).then(|| self.like(kind).take(limit).cloned().collect())
    }

    fn end(&mut self, task: &TaskId, status: TaskStatus) {
        self.ended.insert(task.clone(), status);
    }
}

/// Waits until the tasks are what the model says.
async fn settle(stage: &Stage, model: &Model, limit: usize) {
    for kind in ["agent-", "bash_"].map(TaskId::from) {
        let expected = model.like(&kind).count().min(limit);
        let running = || {
            let runs = |task: &&TaskId| {
                let state = stage.manager.get(task);
                state.is_ok_and(|it| it.status == TaskStatus::Running)
                    && stage.puppets_of(task).order(task, Order::Say(String::new()))
            };
            model.like(&kind).filter(runs).cloned().collect::<Vec<_>>()
        };
        while running().len() < expected {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if let Some(have_slots) = model.have_slots(&kind, limit) {
            assert_eq!(running(), have_slots, "the oldest tasks run");
        }
    }
}

fn runs(stage: &Stage, task: &TaskId) -> bool {
    stage.manager.get(task).is_ok_and(|state| state.status == TaskStatus::Running)
}

async fn play(steps: Vec<Step>, limit: usize) {
    let stage = stage(limit).await;
    let mut model = Model::default();
    let mut waiters = Vec::new();
    let mut groups = Vec::new();
    for step in steps {
        settle(&stage, &model, limit).await;
        let pick = |at: usize| model.order.get(at % model.order.len().max(1)).cloned();
        match step {
            Step::Spawn | Step::Command => {
                let limits = TaskLimits { idle: Some(IDLE), ..TaskLimits::NONE };
                let request = if matches!(step, Step::Command) { command() } else { request() };
                let request = TaskRequest { limits: Some(limits), ..request };
                let task = stage.manager.spawn(request).await.unwrap();
                wait_for(&stage, &mut waiters, &task).await;
                model.order.push(task);
            }
            Step::Group(agents) => {
                let requests = (0..agents).map(|_| request()).collect();
                let handle = stage.manager.groups();
                let created = handle.create("g", WaitPolicy::WaitAll, requests);
                let (group, tasks) = created.await.unwrap();
                let manager = stage.manager.clone();
                groups.push(tokio::spawn(async move { manager.groups().wait(&group).await }));
                for task in tasks.into_iter().map(Result::unwrap) {
                    wait_for(&stage, &mut waiters, &task).await;
                    model.grouped.push(task.clone());
                    model.order.push(task);
                }
            }
            Step::Abandon(polls) => {
                if let Some(task) = dropped_after(polls, stage.manager.spawn(request())).await {
                    stage.manager.cancel(&task.unwrap()).await.unwrap();
                }
                end_abandoned(&stage, &model).await;
            }
            Step::AbandonGroup(polls) => {
                let requests = vec![request(), request(), request()];
                let handle = stage.manager.groups();
                let created = handle.create("g", WaitPolicy::WaitAll, requests);
                if let Some(created) = dropped_after(polls, created).await {
                    handle.cancel(&created.unwrap().0).await.unwrap();
                }
                end_abandoned(&stage, &model).await;
            }
            Step::Say(at) | Step::Work(at) => {
                if let Some(task) = pick(at)
                    && runs(&stage, &task)
                {
                    let order = if matches!(step, Step::Work(_)) {
                        Order::Work
                    } else {
                        Order::Say("text".to_owned())
                    };
                    assert!(stage.puppets_of(&task).order(&task, order));
                }
            }
            Step::Done(at) | Step::Fail(at) | Step::Panic(at) => {
                let Some(task) = pick(at).filter(|task| runs(&stage, task)) else { continue };
                let (order, status) = match step {
                    Step::Done(_) => (Order::Done, TaskStatus::Completed),
                    Step::Fail(_) => (Order::Fail, TaskStatus::Failed),
                    _ => (Order::Panic, TaskStatus::Failed),
                };
                assert!(stage.puppets_of(&task).order(&task, order));
                assert_eq!(stage.manager.wait(&task).await.unwrap().status, status);
                model.end(&task, status);
            }
            Step::Cancel(at) => {
                let Some(task) = pick(at) else { continue };
                let cancelled = stage.manager.cancel(&task).await;
                if model.closed.contains(&task) {
                    assert_eq!(cancelled, Err(TaskManagerError::UnknownTask(task)));
                } else if let Some(status) = model.ended.get(&task) {
                    let status = *status;
                    assert_eq!(cancelled, Err(TaskManagerError::Ended { task, status }));
                } else {
                    assert_eq!(cancelled.unwrap().status, TaskStatus::Cancelled);
                    model.end(&task, TaskStatus::Cancelled);
                }
            }
            Step::Close(at) => {
                let Some(task) = pick(at) else { continue };
                let closed = stage.manager.close(&task).await;
                if model.closed.contains(&task) {
                    assert_eq!(closed, Err(TaskManagerError::UnknownTask(task)));
                } else if model.ended.contains_key(&task) {
                    closed.unwrap();
                    model.closed.push(task);
                } else {
                    assert!(matches!(closed, Err(TaskManagerError::NotEnded { .. })));
                }
            }
            Step::Wait => {
                tokio::time::sleep(IDLE + IDLE / 2).await;
                // Tasks that took their slots meanwhile may or may not be ended too.
                for task in model.order.clone() {
                    let Ok(state) = stage.manager.get(&task) else { continue };
                    if state.status.is_terminal() && !model.ended.contains_key(&task) {
                        assert_eq!(state.timeout, Some(TimeoutReason::Idle));
                        model.end(&task, TaskStatus::Failed);
                    }
                }
            }
        }
        for puppets in [&stage.puppets, &stage.commands] {
            assert!(puppets.most.load(Ordering::SeqCst) <= limit, "the limit is exceeded");
        }
    }
    settle(&stage, &model, limit).await;
    resume_anywhere(&stage.journal).await;
    stage.manager.shutdown().await;
    for puppets in [&stage.puppets, &stage.commands] {
        assert_eq!(puppets.running.load(Ordering::SeqCst), 0, "a slot is not freed");
    }
    for group in groups {
        assert_eq!(group.await.unwrap().unwrap().open, 0, "a waiter of a group is lost");
    }
    let done = stage.manager.groups().list();
    assert!(done.iter().all(|group| group.status == GroupStatus::Done), "{done:?}");
    for (task, waiter) in waiters {
        let state = waiter.await.unwrap().unwrap();
        let expected = model.ended.get(&task).copied().unwrap_or(TaskStatus::Cancelled);
        assert_eq!(state.status, expected, "a waiter is lost");
    }
    assert_eq!(stage.manager.spawn(request()).await, Err(TaskManagerError::Closed));
    // What the journal says is what the manager says.
    let recorded = stage.journal.tasks(usize::MAX);
    let statuses = |tasks: &Tasks| -> Vec<_> {
        tasks.tasks.values().map(|task| (task.task.clone(), task.status, task.reported)).collect()
    };
    let live: Vec<_> = stage
        .manager
        .list()
        .into_iter()
        .map(|task| (task.task.clone(), task.status, task.reported))
        .collect();
    assert_eq!(statuses(&recorded), live);
}

type Waiter = (TaskId, tokio::task::JoinHandle<Result<TaskState, TaskManagerError>>);

async fn wait_for(stage: &Stage, waiters: &mut Vec<Waiter>, task: &TaskId) {
    let (manager, waited) = (stage.manager.clone(), task.clone());
    waiters.push((task.clone(), tokio::spawn(async move { manager.wait(&waited).await })));
    // The waiter must be registered before the task can be closed.
    tokio::task::yield_now().await;
}

/// Waits until the tasks have ended that nothing waits for, because their creation was dropped.
async fn end_abandoned(stage: &Stage, model: &Model) {
    // The creation continues until it finds that it was dropped.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    for state in stage.manager.list().iter().filter(|it| !model.order.contains(&it.task)) {
        assert_eq!(state.status, TaskStatus::Cancelled, "a dropped creation left a task");
    }
}

/// After a crash at any event, the next process accounts for every task.
async fn resume_anywhere(journal: &Recorded) {
    for events in 0..=journal.events().len() {
        let tasks = journal.tasks(events);
        let before = tasks.clone();
        let next = Arc::new(Recorded::default());
        let puppets: Arc<dyn TaskRunner> = Arc::new(Puppets::default());
        let manager = TaskManager::new(TaskManagerOptions::default(), [puppets]);
        let interrupted = manager.attach(next.clone(), tasks).await;
        let groups = manager.groups().list();
        assert!(groups.iter().all(|group| group.status == GroupStatus::Done), "{groups:?}");
        for state in before.tasks.values() {
            let now = manager.get(&state.task).unwrap();
            if state.status.is_terminal() {
                assert_eq!(now, *state);
            } else {
                assert_eq!(now.status, TaskStatus::Failed);
                assert_eq!(now.error.unwrap().category, TaskErrorCategory::Interrupted);
                assert!(interrupted.iter().any(|it| it.task == state.task));
                assert_eq!(now.reported, state.mode == TaskMode::Foreground);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn run_01_any_sequence_of_steps_keeps_the_promises(steps in steps(), limit in 1..4_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps, limit));
    }
}
