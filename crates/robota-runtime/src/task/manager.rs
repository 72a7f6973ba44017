//! The manager of the tasks of one session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use robota_core::clock::{Clock, SystemClock};
use robota_core::event::{Envelope, Event, TaskChanged, TaskGroupChanged};
use robota_core::ids::{GroupId, Ids, RandomIds, TaskId};
use robota_core::task::{
    ForegroundCalls, GroupChange, GroupState, GroupStatus, TaskChange, TaskError,
    TaskErrorCategory, TaskFinished, TaskKind, TaskMode, TaskPlace, TaskState, TaskStatus, Tasks,
    WaitPolicy,
};
use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::TaskManagerError;
use super::inputs::TaskInputs;
use super::journal::TaskJournal;
use super::limits::TaskLimits;
use super::log::{LogPage, MemoryLogs, TaskLogs};
use super::queue::Slots;
use super::runner::{TaskRequest, TaskRunner};
use super::supervise::{Start, supervise};

/// How many events wait for a slow subscriber; beyond that it gets the number of lost events.
const EVENTS: usize = 1_024;

/// Something that happened to a task or a group.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskEvent {
    /// A task changed. It is in the journal.
    Changed {
        /// The state after the change, as the list has it.
        state: Box<TaskState>,
        /// The change, as the journal has it.
        change: Box<TaskChange>,
    },
    /// A task wrote text. It is in its log.
    Text {
        /// The id of the task that wrote it.
        task: TaskId,
        /// The text, which may end inside a line.
        text: String,
    },
    /// The conversation of an agent continued. The event is in the journal of the agent's session.
    Agent {
        /// The task that the agent runs as.
        task: TaskId,
        /// The event: `turn_started`, `user_message`, `model_responded`, `assistant_message` or
        /// `tool_result_added`.
        envelope: Arc<Envelope>,
    },
    /// A group changed. It is in the journal.
    Group {
        /// The state after the change, as the list has it.
        state: Box<GroupState>,
        /// The change, as the journal has it.
        change: GroupChange,
    },
}

/// What a task manager is built with.
pub struct TaskManagerOptions {
    /// How many agents may run at a time.
    pub agents: usize,
    /// How many processes may run at a time.
    pub processes: usize,
    /// When agents are ended whose request has no limits.
    pub agent_limits: TaskLimits,
    /// When processes are ended whose request has no limits.
    pub process_limits: TaskLimits,
    /// The deepest level of agents; 1 means that agents start no agents.
    pub max_depth: u32,
    /// Stores the text that tasks write, in memory or in files.
    pub logs: Arc<dyn TaskLogs>,
    /// Dates the changes of tasks; the watchdogs use tokio's time.
    pub clock: Arc<dyn Clock>,
    /// Makes the ids of groups, agents and their sessions.
    pub ids: Arc<dyn Ids>,
}

impl Default for TaskManagerOptions {
    fn default() -> Self {
        Self {
            // Agents are limited by what a model service accepts at once and by cost; processes
            // only by memory.
            agents: 8,
            processes: 64,
            agent_limits: TaskLimits::of(TaskKind::Agent),
            process_limits: TaskLimits::of(TaskKind::Process),
            max_depth: 1,
            logs: Arc::new(MemoryLogs::default()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
        }
    }
}

/// Runs the tasks of a session. Clones are handles to the same tasks; when the last one is dropped,
/// all tasks are cancelled.
#[derive(Clone)]
pub struct TaskManager {
    pub(crate) inner: Arc<Inner>,
    _cancel_on_last_drop: Arc<DropGuard>,
}

pub(crate) struct Inner {
    pub(super) options: TaskManagerOptions,
    runners: HashMap<TaskKind, Arc<dyn TaskRunner>>,
    journal: OnceLock<Arc<dyn TaskJournal>>,
    attached: CancellationToken,
    registry: Mutex<Registry>,
    /// Made for the first subscriber: a channel with all its slots takes more memory than the rest of an
    /// idle session.
    events: OnceLock<broadcast::Sender<TaskEvent>>,
    /// The same without text.
    changes: OnceLock<broadcast::Sender<TaskEvent>>,
    root: CancellationToken,
    foreground: ForegroundCalls,
}

pub(crate) struct Registry {
    pub(crate) tasks: Tasks,
    slots: Slots,
    waiting: HashMap<TaskId, Start>,
    /// Cancels the tasks that run.
    live: HashMap<TaskId, CancellationToken>,
    inputs: HashMap<TaskId, TaskInputs>,
    states: HashMap<TaskId, watch::Sender<TaskState>>,
    /// The tasks whose creation is being recorded, and whether they were cancelled meanwhile.
    starting: HashMap<TaskId, bool>,
    pub(crate) groups: HashMap<GroupId, watch::Sender<GroupStatus>>,
    /// The highest number of a command. Closed tasks are not in the list, and their ids are not given
    /// again.
    commands: u64,
    closed: bool,
}

/// Cancels tasks when it is dropped, because their caller no longer waits for them.
#[must_use = "the tasks are cancelled when it is dropped"]
pub struct CancelOnDrop {
    manager: TaskManager,
    tasks: Vec<TaskId>,
    /// Runs the tasks. Kept, because the guard may be dropped on a thread outside it.
    runtime: Option<Handle>,
}

impl CancelOnDrop {
    /// Cancels this task, too, when the guard is dropped.
    pub fn push(&mut self, task: TaskId) {
        self.tasks.push(task);
    }

    /// Lets the tasks continue without this guard.
    pub fn disarm(mut self) {
        self.tasks.clear();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // Made outside a runtime: no task can run.
        let Some(runtime) = &self.runtime else { return };
        for task in self.tasks.drain(..) {
            let manager = self.manager.clone();
            // A destructor cannot wait; the manager records the end on its own.
            drop(runtime.spawn(async move { drop(manager.cancel(&task).await) }));
        }
    }
}

impl TaskManager {
    /// Creates a manager with the runners of its kinds of tasks. Tasks start when it is
    /// [attached](Self::attach) to a journal.
    #[must_use]
    pub fn new(
        options: TaskManagerOptions,
        runners: impl IntoIterator<Item = Arc<dyn TaskRunner>>,
    ) -> Self {
        let limits = [(TaskKind::Agent, options.agents), (TaskKind::Process, options.processes)];
        let registry = Registry {
            tasks: Tasks::default(),
            slots: Slots::new(limits.into()),
            waiting: HashMap::new(),
            live: HashMap::new(),
            inputs: HashMap::new(),
            states: HashMap::new(),
            starting: HashMap::new(),
            groups: HashMap::new(),
            commands: 0,
            closed: false,
        };
        let root = CancellationToken::new();
        let inner = Inner {
            options,
            runners: runners.into_iter().map(|runner| (runner.kind(), runner)).collect(),
            journal: OnceLock::new(),
            attached: CancellationToken::new(),
            registry: Mutex::new(registry),
            events: OnceLock::new(),
            changes: OnceLock::new(),
            root: root.clone(),
            foreground: ForegroundCalls::default(),
        };
        Self { inner: Arc::new(inner), _cancel_on_last_drop: Arc::new(root.drop_guard()) }
    }

    /// Sets the journal, and takes over the tasks that it has. Those that ran when an earlier process
    /// ended are recorded as interrupted; returns them.
    pub async fn attach(&self, journal: Arc<dyn TaskJournal>, tasks: Tasks) -> Vec<TaskState> {
        let inner = &self.inner;
        let open: Vec<TaskState> = {
            let mut registry = inner.lock();
            for state in tasks.tasks.values() {
                registry.states.insert(state.task.clone(), watch::Sender::new(state.clone()));
            }
            for group in tasks.groups.values() {
                registry.groups.insert(group.group.clone(), watch::Sender::new(group.status));
            }
            registry.tasks = tasks;
            let open = registry.tasks.tasks.values().filter(|task| !task.status.is_terminal());
            open.cloned().collect()
        };
        let _ = inner.journal.set(journal.clone());
        let mut interrupted = Vec::new();
        for state in open {
            let usage = journal.used(&state).await;
            let task = state.task;
            let text = "the process that ran it ended";
            let error = TaskError::new(TaskErrorCategory::Interrupted, text);
            let end = TaskFinished { usage, ..TaskFinished::failed(error) };
            let end = TaskChange::Finished(end);
            if let Err(error) = inner.change(&task, end).await {
                // The next process finds it open again.
                tracing::warn!(%task, %error, "an interrupted task could not be recorded");
            }
            interrupted.extend(self.get(&task).ok());
        }
        inner.repair_groups().await;
        inner.finish_groups().await;
        inner.attached.cancel();
        interrupted
    }

    /// Creates a task. It starts as soon as a slot is free. If this future is dropped, the task is
    /// cancelled.
    ///
    /// # Errors
    /// If it cannot be started here, or not be recorded.
    pub async fn spawn(&self, request: TaskRequest) -> Result<TaskId, TaskManagerError> {
        let manager = self.clone();
        // In a task of its own: a caller that is dropped in the middle would leave a task that is
        // recorded and never runs. What it returns to a dropped caller is dropped, and cancels.
        let started = tokio::spawn(async move {
            let task = manager.create(request).await?;
            let guard = manager.cancel_on_drop([task.clone()]);
            Ok((task, guard))
        });
        // The task ends without a result only with the runtime.
        let (task, guard) = started.await.unwrap_or(Err(TaskManagerError::Closed))?;
        guard.disarm();
        Ok(task)
    }

    /// Returns a guard that cancels these tasks when it is dropped.
    pub fn cancel_on_drop(&self, tasks: impl IntoIterator<Item = TaskId>) -> CancelOnDrop {
        CancelOnDrop {
            manager: self.clone(),
            tasks: tasks.into_iter().collect(),
            runtime: Handle::try_current().ok(),
        }
    }

    async fn create(&self, request: TaskRequest) -> Result<TaskId, TaskManagerError> {
        let inner = &self.inner;
        // Before the tasks of the journal are known, a new id could be one that the journal already
        // has.
        inner.attached.cancelled().await;
        let kind = request.work.kind();
        let runner = inner.runners.get(&kind).cloned();
        let runner = runner.ok_or(TaskManagerError::NoRunner(kind))?;
        if request.depth > inner.options.max_depth {
            return Err(TaskManagerError::TooDeep);
        }
        let spawned = TaskChange::Spawned(request.spawned());
        let task = {
            let mut registry = inner.lock();
            if registry.closed {
                return Err(TaskManagerError::Closed);
            }
            if request.now && !registry.slots.is_free(kind) {
                return Err(TaskManagerError::Full { kind, limit: registry.slots.limit(kind) });
            }
            let task = registry.new_id(kind, &*inner.options.ids);
            // Nothing else takes the id while the change is recorded.
            let at = inner.options.clock.now();
            let _ = registry.tasks.apply(&task, &spawned, at);
            registry.free_dropped(&*inner.options.logs);
            // It is in the list from now on, so it can be waited for and cancelled.
            if let Some(state) = registry.tasks.tasks.get(&task).cloned() {
                registry.states.insert(task.clone(), watch::Sender::new(state));
            }
            registry.starting.insert(task.clone(), false);
            task
        };
        let event = TaskChanged { task: task.clone(), change: spawned.clone() };
        if let Err(message) = inner.record(vec![event.into()]).await {
            {
                let mut registry = inner.lock();
                registry.tasks.tasks.shift_remove(&task);
                registry.states.remove(&task);
                registry.starting.remove(&task);
            }
            // The journal may get the start nevertheless: a session keeps events that it could not
            // write, and writes them later. Then it must not have a task that waits without end, or one
            // that is reported to the model after a restart: the caller has the error.
            let error = TaskError::new(TaskErrorCategory::Start, "its start could not be recorded");
            let end = TaskChange::Finished(TaskFinished::failed(error));
            for change in [end, TaskChange::Reported] {
                let task = task.clone();
                // One at a time, because each is refused now and kept for later.
                let _ = inner.record(vec![TaskChanged { task, change }.into()]).await;
            }
            return Err(TaskManagerError::Journal(message));
        }
        // Recorded first, started second: after a crash the journal names every task that may have
        // run.
        let (limits, group) = (request.limits.clone(), request.group.clone());
        let limits = limits.unwrap_or_else(|| match kind {
            TaskKind::Agent => self.inner.options.agent_limits.clone(),
            TaskKind::Process => self.inner.options.process_limits.clone(),
        });
        let inputs = TaskInputs::default();
        if !request.work.takes_input() {
            // What is sent to it is an error, and not lost.
            inputs.close();
        }
        let (call, work) = (request.call, request.work);
        let start = Start { runner, limits, call, work, inputs: inputs.clone() };
        let (state, cancelled, closed) = {
            let mut registry = inner.lock();
            let cancelled = registry.starting.remove(&task).unwrap_or(false);
            let Some(state) = registry.tasks.tasks.get(&task).cloned() else {
                return Err(TaskManagerError::Closed);
            };
            registry.inputs.insert(task.clone(), inputs);
            registry.waiting.insert(task.clone(), start);
            // After `waiting` has it: a slot that becomes free takes the task at once.
            registry.slots.add(task.clone(), kind, group);
            (state, cancelled, registry.closed)
        };
        inner.publish(TaskEvent::Changed { state: Box::new(state), change: Box::new(spawned) });
        if cancelled || closed {
            // The cancellation, or the shutdown, came before there was anything to end.
            let _ = self.cancel(&task).await;
            return if closed { Err(TaskManagerError::Closed) } else { Ok(task) };
        }
        inner.start_ready();
        Ok(task)
    }

    /// Waits until a task has ended, and returns its state.
    ///
    /// # Errors
    /// If there is no such task.
    pub async fn wait(&self, task: &TaskId) -> Result<TaskState, TaskManagerError> {
        let states = self.inner.lock().states.get(task).map(watch::Sender::subscribe);
        let unknown = || TaskManagerError::UnknownTask(task.clone());
        let mut states = states.ok_or_else(unknown)?;
        let ended = states.wait_for(|state| state.status.is_terminal()).await;
        ended.map(|state| state.clone()).map_err(|_| unknown())
    }

    /// Returns copies of all tasks, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<TaskState> {
        self.inner.lock().tasks.tasks.values().cloned().collect()
    }

    /// Returns a copy of a task.
    ///
    /// # Errors
    /// If there is no such task.
    pub fn get(&self, task: &TaskId) -> Result<TaskState, TaskManagerError> {
        let state = self.inner.lock().tasks.tasks.get(task).cloned();
        state.ok_or_else(|| TaskManagerError::UnknownTask(task.clone()))
    }

    /// Ends a task and everything below it. Returns when it has ended.
    ///
    /// # Errors
    /// If there is no such task, or it has ended.
    pub async fn cancel(&self, task: &TaskId) -> Result<TaskState, TaskManagerError> {
        let inner = &self.inner;
        let state = self.get(task)?;
        if state.status.is_terminal() {
            return Err(TaskManagerError::Ended { task: task.clone(), status: state.status });
        }
        let withdrawn = {
            let mut registry = inner.lock();
            // Under one lock with the slots: a task is either still in the queue or running, never
            // in between.
            let withdrawn = registry.slots.withdraw(task);
            if withdrawn {
                registry.waiting.remove(task);
            } else if let Some(cancel) = registry.live.get(task) {
                cancel.cancel();
            } else if let Some(cancelled) = registry.starting.get_mut(task) {
                *cancelled = true;
            }
            withdrawn
        };
        if withdrawn {
            inner.finish(task, TaskFinished::new(TaskStatus::Cancelled)).await;
        }
        self.wait(task).await
    }

    /// Removes a task that has ended from the list.
    ///
    /// # Errors
    /// If there is no such task, it has not ended, or this cannot be recorded.
    pub async fn close(&self, task: &TaskId) -> Result<(), TaskManagerError> {
        let status = self.get(task)?.status;
        if !status.is_terminal() {
            return Err(TaskManagerError::NotEnded { task: task.clone(), status });
        }
        self.inner.change(task, TaskChange::Closed).await
    }

    /// Sends text to a task: a follow-up to an agent, or input to a process. A task that waits for its
    /// slot receives it when it starts.
    ///
    /// # Errors
    /// If there is no such task, it has ended, or it takes no input any more.
    pub fn send(&self, task: &TaskId, text: impl Into<String>) -> Result<(), TaskManagerError> {
        let status = self.get(task)?.status;
        if status.is_terminal() {
            return Err(TaskManagerError::Ended { task: task.clone(), status });
        }
        let taken = self.inner.lock().inputs.get(task).is_some_and(|it| it.send(text.into()));
        if taken { Ok(()) } else { Err(TaskManagerError::NoInput(task.clone())) }
    }

    /// Reads the text that a task wrote, from an offset on.
    ///
    /// # Errors
    /// If there is no such task, or its log cannot be read.
    pub async fn read_log(
        &self,
        task: &TaskId,
        offset: u64,
        bytes: usize,
    ) -> Result<LogPage, TaskManagerError> {
        let state = self.get(task)?;
        let logs = &self.inner.options.logs;
        logs.read(task, state.log.as_deref(), offset, bytes).await.map_err(|error| {
            TaskManagerError::Log { task: task.clone(), message: error.to_string() }
        })
    }

    /// Returns the tool calls that wait for a command or an agent, which a user can move to the
    /// background.
    #[must_use]
    pub fn foreground(&self) -> &ForegroundCalls {
        &self.inner.foreground
    }

    /// Records that no call waits for a task any longer: its end is reported to the model.
    ///
    /// # Errors
    /// If there is no such task, it has ended, or this cannot be recorded.
    pub async fn to_background(&self, task: &TaskId) -> Result<(), TaskManagerError> {
        let mode = Some(TaskMode::Background);
        let placed = TaskChange::Placed(TaskPlace { mode, ..TaskPlace::default() });
        self.inner.change(task, placed).await?;
        let TaskState { mode, status, .. } = self.get(task)?;
        match mode {
            TaskMode::Background => Ok(()),
            // It ended while the change was recorded.
            TaskMode::Foreground => Err(TaskManagerError::Ended { task: task.clone(), status }),
        }
    }

    /// Follows all tasks from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<TaskEvent> {
        self.inner.events.get_or_init(|| broadcast::channel(EVENTS).0).subscribe()
    }

    /// Does the same as [`subscribe`](Self::subscribe), without text: a task that writes much cannot make
    /// a slow subscriber lose the start or the end of another one.
    #[must_use]
    pub fn subscribe_changes(&self) -> broadcast::Receiver<TaskEvent> {
        self.inner.changes.get_or_init(|| broadcast::channel(EVENTS).0).subscribe()
    }

    /// Records that the end of a task is reported to the model. Returns false if it already was.
    pub async fn mark_reported(&self, task: &TaskId) -> bool {
        {
            let mut registry = self.inner.lock();
            let Some(state) = registry.tasks.tasks.get_mut(task) else { return false };
            // Set under the lock: of two calls that end at the same time, only one reports it.
            if state.reported || !state.status.is_terminal() {
                return false;
            }
            state.reported = true;
        }
        // If this is not recorded, a later process reports the end once more, which is better than
        // never.
        let _ = self.inner.change(task, TaskChange::Reported).await;
        true
    }

    /// Lets the end of a task be reported to the model again: the report was recorded, and the process ended
    /// before the conversation had it.
    pub fn report_again(&self, task: &TaskId) {
        if let Some(state) = self.inner.lock().tasks.tasks.get_mut(task) {
            state.reported = false;
        }
    }

    /// Returns the tasks whose end was not reported to the model yet.
    #[must_use]
    pub fn unreported(&self) -> Vec<TaskState> {
        let registry = self.inner.lock();
        let tasks = registry.tasks.tasks.values();
        tasks.filter(|task| task.status.is_terminal() && !task.reported).cloned().collect()
    }

    /// Cancels all tasks, and returns when they have ended. No task can be started afterwards.
    pub async fn shutdown(&self) {
        let open: Vec<TaskId> = {
            let mut registry = self.inner.lock();
            // Under the same lock as the list: a task that is spawned now is either in the list or
            // refused.
            registry.closed = true;
            let open = registry.tasks.tasks.values().filter(|task| !task.status.is_terminal());
            open.map(|task| task.task.clone()).collect()
        };
        // All at once: each may use its whole grace period.
        let ends = open.iter().map(|task| self.cancel(task));
        futures::future::join_all(ends).await;
    }
}

impl Inner {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an event to the subscribers.
    pub(super) fn publish(&self, event: TaskEvent) {
        if let Some(changes) =
            self.changes.get().filter(|_| !matches!(event, TaskEvent::Text { .. }))
        {
            let _ = changes.send(event.clone());
        }
        if let Some(events) = self.events.get() {
            // Fails only without subscribers.
            let _ = events.send(event);
        }
    }

    pub(crate) fn new_group_id(&self) -> GroupId {
        let id = self.options.ids.next().simple().to_string();
        GroupId::from(format!("group-{}", &id[id.len() - 8..]))
    }

    pub(crate) async fn record(&self, events: Vec<Event>) -> Result<(), String> {
        match self.journal.get() {
            Some(journal) => journal.record(events).await,
            None => Err("the session is not open".to_owned()),
        }
    }

    /// Records a change of a task, then applies and publishes it. A change that does not fit is
    /// dropped.
    pub(super) async fn change(
        &self,
        task: &TaskId,
        change: TaskChange,
    ) -> Result<(), TaskManagerError> {
        let unknown = || TaskManagerError::UnknownTask(task.clone());
        let status = self.lock().tasks.tasks.get(task).map(|state| state.status);
        let status = status.ok_or_else(unknown)?;
        if robota_core::task::transition(status, &change).is_none() {
            return Err(TaskManagerError::Ended { task: task.clone(), status });
        }
        let event = TaskChanged { task: task.clone(), change: change.clone() };
        // Recorded without the lock, which must not be held over an await; `apply` checks the
        // change again.
        let recorded = self.record(vec![event.into()]).await;
        self.apply(task, change);
        recorded.map_err(TaskManagerError::Journal)
    }

    /// Applies and publishes a change. The change is applied even if it could not be recorded,
    /// because it has happened.
    fn apply(&self, task: &TaskId, change: TaskChange) {
        let at = self.options.clock.now();
        let mut registry = self.lock();
        let Some(before) = registry.tasks.tasks.get(task).cloned() else { return };
        if registry.tasks.apply(task, &change, at).is_err() {
            return;
        }
        let state = registry.tasks.tasks.get(task).cloned().unwrap_or(before);
        if change == TaskChange::Closed {
            registry.states.remove(task);
            self.options.logs.forget(task);
        } else if let Some(sender) = registry.states.get(task) {
            sender.send_replace(state.clone());
        }
        // Under the lock: who finds a task ended has received, or can receive, the event of its end.
        self.publish(TaskEvent::Changed { state: Box::new(state), change: Box::new(change) });
        drop(registry);
    }

    /// Records the end of a task, frees its slot, and starts the tasks that waited for it.
    pub(super) async fn finish(self: &Arc<Self>, task: &TaskId, end: TaskFinished) {
        let event = TaskChanged { task: task.clone(), change: TaskChange::Finished(end.clone()) };
        if let Err(error) = self.record(vec![event.into()]).await {
            tracing::warn!(%task, %error, "the end of a task could not be recorded");
        }
        {
            let mut registry = self.lock();
            registry.live.remove(task);
            registry.inputs.remove(task);
            // Before the end is published: a caller that waits for it may start the next task at
            // once.
            registry.slots.free(task);
        }
        self.apply(task, TaskChange::Finished(end));
        self.start_ready();
        self.finish_groups().await;
    }

    /// Starts the tasks that have a slot.
    pub(super) fn start_ready(self: &Arc<Self>) {
        loop {
            let (task, start, cancel) = {
                let mut registry = self.lock();
                let Some(task) = registry.slots.take_next() else { return };
                // The task was cancelled while it waited.
                let Some(start) = registry.waiting.remove(&task) else {
                    registry.slots.free(&task);
                    continue;
                };
                let cancel = self.root.child_token();
                registry.live.insert(task.clone(), cancel.clone());
                (task, start, cancel)
            };
            drop(tokio::spawn(supervise(self.clone(), task, start, cancel)));
        }
    }

    /// Records a change of a group, then applies and publishes it.
    pub(crate) async fn change_group(
        &self,
        group: &GroupId,
        change: GroupChange,
    ) -> Result<(), TaskManagerError> {
        let event = TaskGroupChanged { group: group.clone(), change: change.clone() };
        let recorded = self.record(vec![event.into()]).await;
        let at = self.options.clock.now();
        let mut registry = self.lock();
        registry.tasks.apply_group(group, &change, at);
        let Some(state) = registry.tasks.groups.get(group).cloned() else { return Ok(()) };
        registry.free_dropped_groups();
        let sender = registry.groups.entry(group.clone());
        // `send_replace` also without a receiver: a caller that subscribes later has to find the
        // last status.
        sender.or_insert_with(|| watch::Sender::new(state.status)).send_replace(state.status);
        drop(registry);
        self.publish(TaskEvent::Group { state: Box::new(state), change });
        recorded.map_err(TaskManagerError::Journal)
    }

    /// Removes a group that was not recorded.
    pub(crate) fn remove_group(&self, group: &GroupId) {
        let mut registry = self.lock();
        registry.tasks.groups.shift_remove(group);
        registry.groups.remove(group);
    }

    /// Completes the groups of an earlier process, which may have ended between two records: adds tasks
    /// that name their group, and ends groups that got no tasks.
    async fn repair_groups(&self) {
        let changes: Vec<(GroupId, GroupChange)> = {
            let registry = self.lock();
            let tasks = &registry.tasks;
            let running = tasks.groups.values().filter(|it| it.status == GroupStatus::Running);
            let repaired = running.filter_map(|group| {
                let of_group = tasks.tasks.values().filter(|task| {
                    task.group.as_ref() == Some(&group.group) && !group.tasks.contains(&task.task)
                });
                let missing: Vec<TaskId> = of_group.map(|task| task.task.clone()).collect();
                let change = match (missing.is_empty(), group.tasks.is_empty(), group.policy) {
                    (false, ..) => GroupChange::Added { tasks: missing },
                    (true, true, WaitPolicy::Manual) | (true, false, _) => return None,
                    (true, true, _) => GroupChange::Done,
                };
                Some((group.group.clone(), change))
            });
            repaired.collect()
        };
        for (group, change) in changes {
            if let Err(error) = self.change_group(&group, change).await {
                tracing::warn!(%group, %error, "a group could not be completed");
            }
        }
    }

    /// Records that groups are done whose policy is fulfilled.
    pub(crate) async fn finish_groups(&self) {
        let done: Vec<GroupId> = {
            let mut registry = self.lock();
            let registry = &mut *registry;
            let mut done = Vec::new();
            for group in registry.tasks.groups.values_mut() {
                let tasks = &registry.tasks.tasks;
                let states: Vec<_> = group
                    .tasks
                    .iter()
                    .map(|task| tasks.get(task).map(|task| task.status))
                    .collect();
                let open = group.status == GroupStatus::Running && !group.tasks.is_empty();
                if open && group.is_fulfilled(&states) {
                    // Two tasks that end at the same time finish the group once.
                    group.status = GroupStatus::Done;
                    done.push(group.group.clone());
                }
            }
            done
        };
        for group in done {
            if let Err(error) = self.change_group(&group, GroupChange::Done).await {
                tracing::warn!(%group, %error, "the end of a group could not be recorded");
            }
        }
    }
}

impl Registry {
    /// Frees what is kept for tasks that the list dropped, because it has newer ones that ended.
    fn free_dropped(&mut self, logs: &dyn TaskLogs) {
        let tasks = &self.tasks.tasks;
        self.states.retain(|task, _| {
            let listed = tasks.contains_key(task);
            if !listed {
                logs.forget(task);
            }
            listed
        });
    }

    /// Frees what is kept for groups that the list dropped.
    fn free_dropped_groups(&mut self) {
        let groups = &self.tasks.groups;
        self.groups.retain(|group, _| groups.contains_key(group));
    }

    /// Returns an id that no task of the session has: `bash_2`, `agent-7f3a9c01`.
    fn new_id(&mut self, kind: TaskKind, ids: &dyn Ids) -> TaskId {
        match kind {
            TaskKind::Process => {
                let numbers =
                    self.tasks.tasks.keys().filter_map(|task| {
                        task.as_str().strip_prefix("bash_")?.parse::<u64>().ok()
                    });
                // Not the count of the tasks: closed tasks leave the list, and an id is never used twice.
                self.commands = numbers.fold(self.commands, u64::max) + 1;
                TaskId::from(format!("bash_{}", self.commands))
            }
            TaskKind::Agent => loop {
                let id = ids.next().simple().to_string();
                let id = TaskId::from(format!("agent-{}", &id[id.len() - 8..]));
                if !self.tasks.tasks.contains_key(&id) {
                    return id;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests;
