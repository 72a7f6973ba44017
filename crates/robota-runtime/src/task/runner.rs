//! The port that runs tasks, and what a task is given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use robota_core::event::Envelope;
use robota_core::ids::{CallId, GroupId, Ids, TaskId};
use robota_core::task::{
    AgentLimits, TaskChange, TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskMode,
    TaskPlace, TaskQuestion, TaskSpawned, TaskUsage, TaskWorktree,
};
use robota_exec::Stdin;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::inputs::TaskInputs;
use super::limits::TaskLimits;
use super::process::{ProcessProgram, ProcessWork};
use crate::subagent::AgentWork;

/// The most characters of the input that are recorded.
const MAX_INPUT_CHARS: usize = 400;

/// The most characters of the label that are recorded: a command without a description is its own
/// label.
const MAX_LABEL_CHARS: usize = 200;

/// The most text that waits to be logged. A process that writes faster than the disk loses the rest.
const MAX_PENDING: usize = 8 * 1024 * 1024;

/// What a task does: the work of its runner.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskWork {
    /// An agent works on a prompt.
    Agent(Box<AgentWork>),
    /// A command runs, in the background or as a call that waits.
    Process(Box<ProcessWork>),
}

impl TaskWork {
    /// Returns what runs it.
    #[must_use]
    pub fn kind(&self) -> TaskKind {
        match self {
            Self::Agent(_) => TaskKind::Agent,
            Self::Process(_) => TaskKind::Process,
        }
    }

    /// Returns whether text can be sent to it while it runs.
    pub(super) fn takes_input(&self) -> bool {
        match self {
            Self::Agent(_) => true,
            Self::Process(work) => match &work.program {
                ProcessProgram::Start { spec, .. } => spec.stdin == Stdin::Open,
                // The call that waited for it started it without an input.
                ProcessProgram::Running(_) => false,
            },
        }
    }
}

/// A task that is to be started, as the caller describes it.
#[derive(Debug)]
pub struct TaskRequest {
    /// The work, which decides about the runner.
    pub work: TaskWork,
    /// What it does, in a few words.
    pub label: String,
    /// Whether a tool call waits for it.
    pub mode: TaskMode,
    /// The tool call that starts it.
    pub call: Option<CallId>,
    /// The group it belongs to; none by default.
    pub group: Option<GroupId>,
    /// How many agents are above it; 1 for a task of the session itself.
    pub depth: u32,
    /// When it is ended; none for the limits of its kind.
    pub limits: Option<TaskLimits>,
    /// Whether it fails instead of waiting for a free slot.
    pub now: bool,
}

impl TaskRequest {
    /// Creates a background task of the session itself.
    pub fn new(work: TaskWork, label: impl Into<String>) -> Self {
        Self {
            work,
            label: label.into(),
            mode: TaskMode::Background,
            call: None,
            group: None,
            depth: 1,
            limits: None,
            now: false,
        }
    }

    /// Lets the caller wait for it.
    #[must_use]
    pub fn foreground(mut self) -> Self {
        self.mode = TaskMode::Foreground;
        self
    }

    /// Sets the tool call that starts it.
    #[must_use]
    pub fn call(mut self, call: CallId) -> Self {
        self.call = Some(call);
        self
    }

    pub(super) fn spawned(&self) -> TaskSpawned {
        let (agent, input, limits) = match &self.work {
            TaskWork::Agent(work) => {
                let limits = AgentLimits { tools: work.tools.clone(), deny: work.deny.clone() };
                (Some(work.agent.clone()), work.prompt.as_str(), limits)
            }
            TaskWork::Process(work) => (None, work.command.as_str(), AgentLimits::default()),
        };
        TaskSpawned {
            kind: self.work.kind(),
            mode: self.mode,
            label: self.label.chars().take(MAX_LABEL_CHARS).collect(),
            depth: self.depth,
            call: self.call.clone(),
            group: self.group.clone(),
            agent,
            input: input.chars().take(MAX_INPUT_CHARS).collect(),
            limits,
        }
    }
}

/// A task that a runner runs.
pub struct TaskJob {
    /// The id by which the runner reports.
    pub task: TaskId,
    /// The work that the runner has to do.
    pub work: TaskWork,
    /// The tool call that started it.
    pub call: Option<CallId>,
    /// Cancelled when the task is to end. The runner then ends everything that it started and
    /// returns.
    pub cancel: CancellationToken,
    /// What users and agents send to the task.
    pub inputs: TaskInputs,
    /// Makes the ids of what the task creates.
    pub ids: Arc<dyn Ids>,
}

/// Runs tasks of one kind; the manager has one runner per kind.
#[async_trait]
pub trait TaskRunner: Send + Sync {
    /// Returns the kind of tasks that it runs.
    fn kind(&self) -> TaskKind;

    /// Runs a task to its end. Progress does not end a task; only the return of this function does.
    async fn run(&self, job: TaskJob, reporter: TaskReporter) -> TaskFinished;
}

/// Receives what a running task reports. Clones report for the same task.
#[derive(Clone)]
pub struct TaskReporter {
    text: Arc<PendingText>,
    reports: mpsc::UnboundedSender<TaskReport>,
}

/// What a running task reports, in order.
pub(super) enum TaskReport {
    /// A change that is recorded, unless the table of transitions forbids it.
    Change(TaskChange),
    /// Where the task is about to run; the runner waits until this is recorded.
    Intent(TaskPlace, oneshot::Sender<Result<(), String>>),
    /// An event of the agent's own session, for subscribers.
    AgentEvent(Arc<Envelope>),
    /// What the model calls of the task used so far.
    Usage(Vec<TaskUsage>),
    /// The worktree of the task is being removed or kept, also if the runner is dropped meanwhile.
    Settling(oneshot::Receiver<Option<TaskWorktree>>),
}

/// Text that was reported and is not logged yet.
#[derive(Default)]
pub(super) struct PendingText {
    buffer: Mutex<TextBuffer>,
    pub(super) more: Notify,
}

#[derive(Default)]
pub(super) struct TextBuffer {
    pub(super) text: String,
    pub(super) pieces: u64,
    /// Bytes that were not kept.
    pub(super) lost: u64,
    /// Whether the task did something, with or without text.
    pub(super) alive: bool,
}

impl PendingText {
    pub(super) fn take(&self) -> TextBuffer {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, TextBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskReporter {
    pub(super) fn new() -> (Self, Arc<PendingText>, mpsc::UnboundedReceiver<TaskReport>) {
        let (reports, receiver) = mpsc::unbounded_channel();
        let text = Arc::new(PendingText::default());
        (Self { text: text.clone(), reports }, text, receiver)
    }

    /// Reports text that the task wrote.
    pub fn text(&self, text: &str) {
        {
            let mut buffer = self.text.lock();
            buffer.pieces += 1;
            if buffer.text.len() + text.len() <= MAX_PENDING {
                buffer.text.push_str(text);
            } else {
                buffer.lost += text.len() as u64;
            }
        }
        self.text.more.notify_one();
    }

    /// Reports that the task does something, such as thinking.
    pub fn alive(&self) {
        self.text.lock().alive = true;
        self.text.more.notify_one();
    }

    /// Reports where the task runs.
    pub fn placed(&self, place: TaskPlace) {
        self.send(TaskChange::Placed(place));
    }

    /// Reports where the task is about to run, and returns when the journal has it: so the next process
    /// finds what the task creates, also if this one ends in between.
    ///
    /// # Errors
    /// If it cannot be recorded. Then the task must not create anything.
    pub async fn intends(&self, place: TaskPlace) -> Result<(), TaskError> {
        let (recorded, answer) = oneshot::channel();
        // Fails only if the task has ended.
        let _ = self.reports.send(TaskReport::Intent(place, recorded));
        let answer = answer.await.unwrap_or_else(|_| Err("the task has ended".to_owned()));
        answer.map_err(|reason| {
            let text = format!("it could not be recorded: {reason}");
            TaskError::new(TaskErrorCategory::Start, text)
        })
    }

    /// Reports that the task starts a tool call.
    pub fn tool_started(&self, action: impl Into<String>) {
        self.send(TaskChange::ToolStarted { action: action.into() });
    }

    /// Reports that a tool call ended, with what failed.
    pub fn tool_ended(&self, error: Option<String>) {
        self.send(TaskChange::ToolEnded { error });
    }

    /// Reports that a call waits for approval.
    pub fn asked(&self, question: TaskQuestion) {
        self.send(TaskChange::PermissionAsked(question));
    }

    /// Reports that an approval was given or denied.
    pub fn decided(&self, call: CallId) {
        self.send(TaskChange::PermissionDecided { call });
    }

    /// Reports an event of the agent's own session to subscribers. It is in that session's journal.
    pub fn agent_event(&self, envelope: Arc<Envelope>) {
        let _ = self.reports.send(TaskReport::AgentEvent(envelope));
    }

    /// Reports what the model calls of the task used so far, for the case that its runner is dropped
    /// before it returns the end.
    pub fn used(&self, usage: Vec<TaskUsage>) {
        let _ = self.reports.send(TaskReport::Usage(usage));
    }

    /// Reports that the worktree of the task is being removed or kept, which continues if the
    /// runner is dropped.
    /// Returns the sender of the worktree that was kept.
    pub(crate) fn settling(&self) -> oneshot::Sender<Option<TaskWorktree>> {
        let (settled, settling) = oneshot::channel();
        let _ = self.reports.send(TaskReport::Settling(settling));
        settled
    }

    fn send(&self, change: TaskChange) {
        // Fails only if the task has ended.
        let _ = self.reports.send(TaskReport::Change(change));
    }
}
