use std::sync::Arc;

use futures::FutureExt as _;
use jiff::Timestamp;
use robota_core::event::Event;
use robota_core::task::{AgentLimits, TaskChange, TaskFinished, TaskMode, TaskSpawned, Tasks};
use robota_runtime::{TaskJournal, TaskManagerOptions};

use super::*;

/// A journal that never completes a write.
struct Stuck;

#[async_trait]
impl TaskJournal for Stuck {
    async fn record(&self, _: Vec<Event>) -> Result<(), String> {
        std::future::pending().await
    }
}

/// Returns a manager with a task that has ended.
async fn manager(journal: Arc<dyn TaskJournal>) -> TaskManager {
    let spawned = TaskSpawned {
        kind: TaskKind::Process,
        mode: TaskMode::Background,
        label: "make".to_owned(),
        depth: 1,
        call: None,
        group: None,
        agent: None,
        input: "make".to_owned(),
        limits: AgentLimits::default(),
    };
    let at = Timestamp::UNIX_EPOCH;
    let mut task = TaskState::new(TaskId::from("bash_1"), &spawned, at);
    task.apply(&TaskChange::Started, at).unwrap();
    let finished = TaskFinished::new(TaskStatus::Completed);
    task.apply(&TaskChange::Finished(finished), at).unwrap();
    let mut tasks = Tasks::default();
    tasks.tasks.insert(task.task.clone(), task);
    let manager = TaskManager::new(TaskManagerOptions::default(), []);
    manager.attach(journal, tasks).await;
    manager
}

#[tokio::test]
async fn a_hook_that_is_cancelled_leaves_its_report_to_the_next() {
    let manager = manager(Arc::new(Stuck)).await;
    let notices = TaskNotices(manager.clone());
    assert!(notices.take().now_or_never().is_none(), "the mark is being recorded");
    assert_eq!(manager.unreported().len(), 1);
}

#[test]
fn a_report_is_recognised_by_its_task() {
    let text = "<task-notification>\nBackground task bash_12 (command: make) completed.";
    assert!(reports(text, &TaskId::from("bash_12")));
    assert!(!reports(text, &TaskId::from("bash_1")));
}
