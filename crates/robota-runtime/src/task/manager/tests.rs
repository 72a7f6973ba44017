use async_trait::async_trait;
use robota_core::ids::CountingIds;
use robota_core::task::MAX_ENDED;

use super::*;
use crate::task::{NoJournal, TaskJob, TaskReporter, TaskWork};

/// Runs tasks that end at once.
struct Short;

#[async_trait]
impl TaskRunner for Short {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, _: TaskJob, reporter: TaskReporter) -> TaskFinished {
        reporter.text("done");
        TaskFinished::new(TaskStatus::Completed)
    }
}

/// A session may run for months: only the tasks of the list take memory.
#[tokio::test]
async fn ended_tasks_and_groups_that_left_the_list_take_no_memory() {
    let logs = Arc::new(MemoryLogs::default());
    let options = TaskManagerOptions {
        logs: logs.clone(),
        ids: Arc::new(CountingIds::default()),
        ..TaskManagerOptions::default()
    };
    let manager = TaskManager::new(options, [Arc::new(Short) as Arc<dyn TaskRunner>]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let request = || TaskRequest::new(TaskWork::Agent(Box::default()), "work");
    let mut last = None;
    for _ in 0..MAX_ENDED + 20 {
        let created = manager.groups().create("g", WaitPolicy::WaitAll, vec![request()]).await;
        let (group, tasks) = created.unwrap();
        manager.groups().wait(&group).await.unwrap();
        last = tasks.into_iter().next();
    }
    {
        let registry = manager.inner.lock();
        let most = MAX_ENDED + 1;
        assert!(registry.states.len() <= most, "{} states", registry.states.len());
        assert!(registry.groups.len() <= most, "{} groups", registry.groups.len());
        assert!(logs.len() <= most, "{} logs", logs.len());
    }
    let last = last.unwrap().unwrap();
    assert_eq!(manager.read_log(&last, 0, 100).await.unwrap().text, "done");
    manager.close(&last).await.unwrap();
    assert_eq!(logs.read(&last, None, 0, 100).await.unwrap().text, "");
}
