//! Any sequence of orders, against a model.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use robota_core::ids::TaskId;
use robota_core::task::{TaskErrorCategory, TaskMode, TaskStatus};

use super::*;

/// What a test does.
#[derive(Debug, Clone)]
enum Step {
    Spawn,
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
}

impl Model {
    fn open(&self) -> impl Iterator<Item = &TaskId> {
        self.order.iter().filter(|task| !self.ended.contains_key(*task))
    }

    fn runs(&self, task: &TaskId, limit: usize) -> bool {
        self.open().take(limit).any(|it| it == task)
    }

    fn end(&mut self, task: &TaskId, status: TaskStatus) {
        self.ended.insert(task.clone(), status);
    }
}

/// Waits until the tasks are what the model says.
async fn settle(stage: &Stage, model: &Model, limit: usize) {
    for task in model.open().take(limit) {
        while stage.manager.get(task).unwrap().status != TaskStatus::Running
            || !stage.puppets.order(task, Order::Say(String::new()))
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn play(steps: Vec<Step>, limit: usize) {
    let stage = stage(limit).await;
    let mut model = Model::default();
    let mut waiters = Vec::new();
    for step in steps {
        settle(&stage, &model, limit).await;
        let pick = |at: usize| model.order.get(at % model.order.len().max(1)).cloned();
        match step {
            Step::Spawn => {
                let limits = TaskLimits { idle: Some(IDLE), ..TaskLimits::NONE };
                let request = TaskRequest { limits: Some(limits), ..request() };
                let task = stage.manager.spawn(request).await.unwrap();
                let (manager, waited) = (stage.manager.clone(), task.clone());
                waiters
                    .push((task.clone(), tokio::spawn(async move { manager.wait(&waited).await })));
                // The waiter must be registered before the task can be closed.
                tokio::task::yield_now().await;
                model.order.push(task);
            }
            Step::Say(at) | Step::Work(at) => {
                if let Some(task) = pick(at)
                    && model.runs(&task, limit)
                {
                    let order = if matches!(step, Step::Work(_)) {
                        Order::Work
                    } else {
                        Order::Say("text".to_owned())
                    };
                    assert!(stage.puppets.order(&task, order));
                }
            }
            Step::Done(at) | Step::Fail(at) | Step::Panic(at) => {
                let Some(task) = pick(at).filter(|task| model.runs(task, limit)) else { continue };
                let (order, status) = match step {
                    Step::Done(_) => (Order::Done, TaskStatus::Completed),
                    Step::Fail(_) => (Order::Fail, TaskStatus::Failed),
                    _ => (Order::Panic, TaskStatus::Failed),
                };
                assert!(stage.puppets.order(&task, order));
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
        assert!(stage.puppets.most.load(Ordering::SeqCst) <= limit, "the limit is exceeded");
    }
    settle(&stage, &model, limit).await;
    resume_anywhere(&stage.journal).await;
    stage.manager.shutdown().await;
    assert_eq!(stage.puppets.running.load(Ordering::SeqCst), 0, "a slot is not freed");
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

/// After a crash at any event, the next process accounts for every task.
async fn resume_anywhere(journal: &Recorded) {
    for events in 0..=journal.events().len() {
        let tasks = journal.tasks(events);
        let before = tasks.clone();
        let next = Arc::new(Recorded::default());
        let puppets: Arc<dyn TaskRunner> = Arc::new(Puppets::default());
        let manager = TaskManager::new(TaskManagerOptions::default(), [puppets]);
        let interrupted = manager.attach(next.clone(), tasks).await;
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
