//! Groups of tasks that belong together (RUN-06).

use robota_core::event::TaskGroupChanged;
use robota_core::ids::{GroupId, TaskId};
use robota_core::task::{GroupChange, GroupState, GroupStatus, GroupSummary, WaitPolicy};

use tokio_util::sync::CancellationToken;

use crate::task::{CancelOnDrop, TaskManager, TaskManagerError, TaskRequest};

/// Creates groups of tasks, waits for them and ends them.
#[derive(Clone)]
pub struct Groups(TaskManager);

/// The tasks of a new group: one id, or why it was not started, for each request, in their order.
pub type StartedTasks = Vec<Result<TaskId, TaskManagerError>>;

impl TaskManager {
    /// Returns the handle for the groups of this manager.
    #[must_use]
    pub fn groups(&self) -> Groups {
        Groups(self.clone())
    }
}

impl Groups {
    /// Creates a group and starts its tasks. Returns after all of them were started. If this future is
    /// dropped, those that were started are cancelled.
    ///
    /// # Errors
    /// If the group cannot be recorded. A task that cannot be started does not hold up the others.
    pub async fn create(
        &self,
        label: impl Into<String>,
        policy: WaitPolicy,
        requests: Vec<TaskRequest>,
    ) -> Result<(GroupId, StartedTasks), TaskManagerError> {
        let (groups, label) = (self.clone(), label.into());
        // Cancelled when this future is dropped: then no further task is started.
        let dropped = CancellationToken::new();
        let _on_drop = dropped.clone().drop_guard();
        // In a task of its own, for the same reason as a single task: a group that was recorded gets
        // its tasks.
        let created = tokio::spawn(async move {
            let mut guard = groups.0.cancel_on_drop([]);
            let (group, started) =
                groups.start(label, policy, requests, (&mut guard, &dropped)).await?;
            Ok((group, started, guard))
        });
        let (group, started, guard) = created.await.unwrap_or(Err(TaskManagerError::Closed))?;
        guard.disarm();
        Ok((group, started))
    }

    async fn start(
        &self,
        label: String,
        policy: WaitPolicy,
        requests: Vec<TaskRequest>,
        (guard, dropped): (&mut CancelOnDrop, &CancellationToken),
    ) -> Result<(GroupId, StartedTasks), TaskManagerError> {
        let inner = &self.0.inner;
        let group = inner.new_group_id();
        let created = GroupChange::Created { label, policy, tasks: Vec::new() };
        if let Err(error) = inner.change_group(&group, created).await {
            inner.remove_group(&group);
            // The journal may get the group nevertheless, as with a task.
            let change = GroupChange::Done;
            let _ = inner.record(vec![TaskGroupChanged { group, change }.into()]).await;
            return Err(error);
        }
        let mut started = Vec::new();
        for mut request in requests {
            if dropped.is_cancelled() {
                break;
            }
            request.group = Some(group.clone());
            let task = self.0.spawn(request).await;
            if let Ok(task) = &task {
                guard.push(task.clone());
            }
            started.push(task);
        }
        let tasks: Vec<_> = started.iter().flatten().cloned().collect();
        let change =
            if tasks.is_empty() { GroupChange::Done } else { GroupChange::Added { tasks } };
        inner.change_group(&group, change).await?;
        // Some may have ended before they were in the group.
        inner.finish_groups().await;
        Ok((group, started))
    }

    /// Returns copies of all groups, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<GroupState> {
        self.0.inner.lock().tasks.groups.values().cloned().collect()
    }

    /// Returns a copy of a group.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn get(&self, group: &GroupId) -> Result<GroupState, TaskManagerError> {
        let state = self.0.inner.lock().tasks.groups.get(group).cloned();
        state.ok_or_else(|| TaskManagerError::UnknownGroup(group.clone()))
    }

    /// Waits until the policy of the group is fulfilled: for all tasks, for one that completed, or
    /// until [`finish`](Self::finish) is called. A detached group is not waited for.
    ///
    /// # Errors
    /// If there is no such group.
    pub async fn wait(&self, group: &GroupId) -> Result<GroupSummary, TaskManagerError> {
        if self.get(group)?.policy != WaitPolicy::Detached {
            let status = self.0.inner.lock().groups.get(group).map(|it| it.subscribe());
            let unknown = || TaskManagerError::UnknownGroup(group.clone());
            let mut status = status.ok_or_else(unknown)?;
            status.wait_for(|status| *status == GroupStatus::Done).await.map_err(|_| unknown())?;
        }
        self.summarize(group)
    }

    /// Ends the wait for a group with the policy `manual`.
    ///
    /// # Errors
    /// If there is no such group, or it cannot be recorded.
    pub async fn finish(&self, group: &GroupId) -> Result<GroupSummary, TaskManagerError> {
        if self.get(group)?.status == GroupStatus::Running {
            self.0.inner.change_group(group, GroupChange::Done).await?;
        }
        self.summarize(group)
    }

    /// Returns how the tasks of a group ended, and which still run.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn summarize(&self, group: &GroupId) -> Result<GroupSummary, TaskManagerError> {
        let state = self.get(group)?;
        let registry = self.0.inner.lock();
        let tasks = state.tasks.iter().filter_map(|task| registry.tasks.tasks.get(task).cloned());
        let tasks = tasks.collect();
        Ok(state.summary(tasks))
    }

    /// Cancels all tasks of a group.
    ///
    /// # Errors
    /// If there is no such group.
    pub async fn cancel(&self, group: &GroupId) -> Result<GroupSummary, TaskManagerError> {
        let state = self.get(group)?;
        let ends = state.tasks.iter().map(|task| self.0.cancel(task));
        // Those that have ended cannot be cancelled.
        futures::future::join_all(ends).await;
        self.summarize(group)
    }
}
