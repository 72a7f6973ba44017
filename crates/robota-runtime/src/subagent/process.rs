//! Runs agents in processes of their own. The process opens the session of the agent, and this side
//! follows its events, answers its questions and ends it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::{FuturesUnordered, StreamExt as _};
use robota_core::event::{Envelope, Event};
use robota_core::gate::PermissionChange;
use robota_core::hook::{HookObserver, ObservedHook};
use robota_core::task::{
    TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskPlace, TaskStatus,
};
use robota_exec::{CommandSpec, Exit, OutputSink, Running, Stdin, Supervisor};
use serde_json::Value;
use tokio::sync::mpsc;

use super::conversation::{AgentConversations, Conversation, run_agent};
use super::events::AgentProgress;
use super::lines::{AgentReply, AgentRequest, FromAgent, LineSplitter, ToAgent, encode};
use super::{AgentJob, NoAgentHooks, SubagentHooks};
use crate::task::{TaskInputs, TaskJob, TaskReporter, TaskRunner, TaskWork};

/// How long a process may take to end after its session was closed.
// Closing writes a few events and runs SessionEnd hooks; a process that takes longer hangs.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes of standard error that an error shows.
const MAX_STDERR: usize = 2_000;

/// The process of an agent that is about to start.
pub struct NewAgentProcess {
    /// The program. Its streams are set by the runner.
    pub spec: CommandSpec,
    /// The first line, with the credentials.
    pub start: Value,
    /// Receives the events of the session. Returns why the agent must stop.
    pub observer: AgentObserver,
    /// Says why the agent must stop, at a time at which there may be no event: its time is used up.
    pub stops: mpsc::UnboundedReceiver<String>,
    /// What changes in the permissions of the session of the parent while the agent runs, and applies to
    /// it too.
    pub changes: mpsc::UnboundedReceiver<PermissionChange>,
    /// Observes the hooks of the agent; none if nothing shows them.
    pub hooks: Option<Arc<dyn HookObserver>>,
}

/// Receives the events of an agent's session, and returns why the agent must stop.
pub type AgentObserver = Box<dyn Fn(&Arc<Envelope>) -> Option<String> + Send + Sync>;

/// Prepares the processes of agents, and decides what they cannot.
#[async_trait]
pub trait AgentProcesses: Send + Sync {
    /// Returns the program of an agent, and what it is started with.
    ///
    /// # Errors
    /// If there is no such agent, or agents cannot run in processes here.
    async fn prepare(&self, job: &AgentJob) -> Result<NewAgentProcess, TaskError>;

    /// Answers a question of an agent, or runs hooks for it.
    async fn reply(&self, job: &AgentJob, request: AgentRequest) -> AgentReply;

    /// Closes the session of an agent whose process ended without doing so. The process may have ended
    /// before it created the session.
    async fn settle(&self, job: &AgentJob, reason: &str);
}

/// Runs agents in processes of their own.
#[derive(Clone)]
pub struct ProcessAgents {
    supervisor: Supervisor,
    processes: Arc<dyn AgentProcesses>,
    hooks: Arc<dyn SubagentHooks>,
}

impl ProcessAgents {
    /// Runs agents in processes of this supervisor.
    #[must_use]
    pub fn new(supervisor: Supervisor, processes: Arc<dyn AgentProcesses>) -> Self {
        Self { supervisor, processes, hooks: Arc::new(NoAgentHooks) }
    }

    /// Sets the hooks that run when agents start and end.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn SubagentHooks>) -> Self {
        self.hooks = hooks;
        self
    }
}

#[async_trait]
impl AgentConversations for ProcessAgents {
    fn agent_hooks(&self) -> &dyn SubagentHooks {
        &*self.hooks
    }

    async fn open(
        &self,
        job: &AgentJob,
        reporter: &TaskReporter,
    ) -> Result<Box<dyn Conversation>, TaskError> {
        let NewAgentProcess { mut spec, start, observer, stops, changes, hooks } =
            self.processes.prepare(job).await?;
        let (send, lines) = mpsc::unbounded_channel();
        let splitter = Mutex::new(LineSplitter::default());
        spec.stdin = Stdin::Open;
        spec.sink = Some(OutputSink::new(move |bytes| {
            let mut splitter = splitter.lock().unwrap_or_else(PoisonError::into_inner);
            for line in splitter.push(bytes) {
                match serde_json::from_slice(&line) {
                    // Fails only if the agent was dropped.
                    Ok(line) => drop(send.send(line)),
                    // A tool or a library may print to standard output by mistake. The protocol
                    // continues with the next line.
                    Err(error) => tracing::warn!(%error, "the process of an agent wrote no line"),
                }
            }
        }));
        let stderr: Arc<Mutex<String>> = Arc::default();
        let (log, end) = (reporter.clone(), stderr.clone());
        spec.stderr_sink = Some(OutputSink::new(move |bytes| {
            let text = String::from_utf8_lossy(bytes);
            log.text(&text);
            let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
            end.push_str(&text);
            let cut = end.len().saturating_sub(MAX_STDERR);
            let cut = (cut..=end.len()).find(|at| end.is_char_boundary(*at)).unwrap_or(0);
            end.drain(..cut);
        }));
        let running = self.supervisor.start(spec).await;
        let running =
            running.map_err(|error| TaskError::new(TaskErrorCategory::Start, error.to_string()))?;
        // By standard input and not by arguments or variables: those can be read by other processes
        // of the user.
        running.write(encode(&ToAgent::Start { start }));
        let pid = running.process().map(|process| process.pid);
        reporter.placed(TaskPlace { pid, ..TaskPlace::default() });
        Ok(Box::new(AgentProcess {
            running,
            lines,
            stderr,
            observer,
            stops,
            changes,
            hooks,
            hook_runs: HashMap::new(),
            processes: self.processes.clone(),
            job: job.clone(),
            crashed: None,
            stopped: None,
            sent: Vec::new(),
            read: 0,
            replies: FuturesUnordered::new(),
            requests: HashMap::new(),
        }))
    }
}

#[async_trait]
impl TaskRunner for ProcessAgents {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, task: TaskJob, reporter: TaskReporter) -> TaskFinished {
        run_agent(self, task, &reporter).await
    }
}

type Replied = Result<(u64, AgentReply), futures::future::Aborted>;

/// The running process of an agent.
struct AgentProcess {
    running: Running,
    lines: mpsc::UnboundedReceiver<FromAgent>,
    stderr: Arc<Mutex<String>>,
    observer: AgentObserver,
    stops: mpsc::UnboundedReceiver<String>,
    changes: mpsc::UnboundedReceiver<PermissionChange>,
    hooks: Option<Arc<dyn HookObserver>>,
    /// The hooks of the agent that run.
    hook_runs: HashMap<u64, Box<dyn ObservedHook>>,
    processes: Arc<dyn AgentProcesses>,
    job: AgentJob,
    /// Why the process ended before its session was closed.
    crashed: Option<String>,
    /// Why this side stopped the agent; none if it did not.
    stopped: Option<String>,
    /// The follow-ups of this turn.
    sent: Vec<String>,
    /// How many of them are in the conversation of the agent.
    read: usize,
    replies: FuturesUnordered<BoxFuture<'static, Replied>>,
    requests: HashMap<u64, AbortHandle>,
}

impl AgentProcess {
    fn send(&self, line: &ToAgent) {
        self.running.write(encode(line));
    }

    /// Stops the turn for a reason that the agent itself does not know. The first one counts.
    fn stop(&mut self, reason: String) {
        if self.stopped.is_none() {
            self.stopped = Some(reason.clone());
            self.send(&ToAgent::Cancel { reason });
        }
    }

    /// Takes a line. Returns the end of the turn.
    fn take(
        &mut self,
        line: FromAgent,
        inputs: &TaskInputs,
        progress: &mut AgentProgress,
        reporter: &TaskReporter,
    ) -> Option<TaskFinished> {
        match line {
            FromAgent::Opened => {}
            FromAgent::Event { line } => match Envelope::decode(line.as_bytes()) {
                Ok(envelope) => {
                    let envelope = Arc::new(envelope);
                    if let Event::UserMessage(data) = &envelope.event
                        && self.sent.get(self.read) == Some(&data.message.text())
                    {
                        self.read += 1;
                    }
                    progress.take(&envelope, reporter);
                    if let Some(reason) = (self.observer)(&envelope) {
                        self.stop(reason);
                    }
                }
                Err(error) => tracing::warn!(%error, "an event of an agent is not readable"),
            },
            FromAgent::Request { number, request } => {
                let (processes, job) = (self.processes.clone(), self.job.clone());
                let (abort, registration) = AbortHandle::new_pair();
                self.requests.insert(number, abort);
                let reply = async move { (number, processes.reply(&job, *request).await) };
                // Not awaited here: a question to the user must not stop the events of the agent.
                self.replies.push(Abortable::new(reply, registration).boxed());
            }
            FromAgent::Withdrawn { number } => {
                if let Some(abort) = self.requests.remove(&number) {
                    abort.abort();
                }
            }
            FromAgent::HookStarted { run, event, target } => {
                if let Some(hooks) = &self.hooks {
                    self.hook_runs.insert(run, hooks.started(event, &target));
                }
            }
            FromAgent::HookEnded { run, exit } => {
                // Dropped without an end if the hook was cancelled.
                if let (Some(mut hook), Some(exit)) = (self.hook_runs.remove(&run), exit) {
                    hook.ended(&exit.into());
                }
            }
            FromAgent::Ended { finished, taken } => {
                inputs.put_back(self.sent.split_off(taken.min(self.sent.len())));
                return Some(match self.stopped.take() {
                    // The agent only knows that it was cancelled; the reason is known on this side.
                    Some(reason) if finished.status == TaskStatus::Cancelled => TaskFinished {
                        output: finished.output,
                        ..TaskFinished::failed(TaskError::new(TaskErrorCategory::Limit, reason))
                    },
                    _ => *finished,
                });
            }
            FromAgent::Failed { error } => {
                self.put_back_unread(inputs);
                return Some(TaskFinished::failed(error));
            }
        }
        None
    }

    /// Puts back the follow-ups that the agent did not read before it failed: the end of its task names
    /// them.
    fn put_back_unread(&mut self, inputs: &TaskInputs) {
        inputs.put_back(self.sent.split_off(self.read));
    }

    /// Returns the end of a task whose process exited before its turn ended.
    fn process_exited(
        &mut self,
        outcome: Result<robota_exec::Outcome, String>,
        inputs: &TaskInputs,
    ) -> TaskFinished {
        self.put_back_unread(inputs);
        let how = how_it_ended(outcome);
        let mut text = format!("the process of the agent ended too early: {how}");
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !stderr.trim().is_empty() {
            text.push_str(&format!("; it wrote: {}", stderr.trim()));
        }
        self.crashed = Some(text.clone());
        TaskFinished::failed(TaskError::new(TaskErrorCategory::Crash, text))
    }
}

#[async_trait]
impl Conversation for AgentProcess {
    async fn turn(
        &mut self,
        prompt: String,
        task: &mut TaskJob,
        progress: &mut AgentProgress,
        reporter: &TaskReporter,
    ) -> TaskFinished {
        self.sent.clear();
        self.read = 0;
        // What was forbidden since the last turn applies to this one.
        while let Ok(change) = self.changes.try_recv() {
            self.send(&ToAgent::Permissions { change });
        }
        self.send(&ToAgent::Prompt { text: prompt });
        let running = self.running.clone();
        let mut ended = std::pin::pin!(running.ended());
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                // First: calls that the agent asks about later are judged by them.
                Some(change) = self.changes.recv() => {
                    self.send(&ToAgent::Permissions { change });
                }
                // What the process wrote before it ended counts.
                Some(line) = self.lines.recv() => {
                    if let Some(end) = self.take(line, &task.inputs, progress, reporter) {
                        return end;
                    }
                }
                Some(replied) = self.replies.next() => {
                    // An aborted request was withdrawn.
                    if let Ok((number, reply)) = replied {
                        self.requests.remove(&number);
                        self.send(&ToAgent::Reply { number, reply });
                    }
                }
                Some(reason) = self.stops.recv() => self.stop(reason),
                // Once: the token stays cancelled, and the loop waits for the end that the agent
                // reports.
                () = task.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    self.send(&ToAgent::Cancel { reason: "the agent was cancelled".to_owned() });
                }
                Some(text) = task.inputs.recv() => {
                    self.sent.push(text.clone());
                    self.send(&ToAgent::Input { text });
                }
                outcome = &mut ended => {
                    // The end of the process and its last lines arrive through different channels.
                    while let Ok(line) = self.lines.try_recv() {
                        if let Some(end) = self.take(line, &task.inputs, progress, reporter) {
                            return end;
                        }
                    }
                    return self.process_exited(outcome, &task.inputs);
                }
            }
        }
    }

    async fn close(&mut self, reason: &str) {
        self.send(&ToAgent::Close { reason: reason.to_owned() });
        self.running.close_input();
        match tokio::time::timeout(CLOSE_TIMEOUT, self.running.ended()).await {
            Ok(Ok(outcome)) if outcome.exit.is_success() => {}
            // It was ended after its answer, before it could close its session.
            Ok(outcome) => {
                let how = how_it_ended(outcome);
                let text = format!("the process of the agent did not close its session: {how}");
                self.crashed.get_or_insert(text);
            }
            Err(_) => {
                self.running.kill();
                let _ = self.running.ended().await;
                self.crashed =
                    Some("the process of the agent did not exit and was killed".to_owned());
            }
        }
        if let Some(reason) = &self.crashed {
            self.processes.settle(&self.job, reason).await;
        }
    }
}

fn how_it_ended(outcome: Result<robota_exec::Outcome, String>) -> String {
    match outcome {
        Err(message) => message,
        Ok(outcome) => match outcome.exit {
            Exit::Code(code) => format!("it exited with code {code}"),
            Exit::Signal(signal) => format!("it was ended by signal {signal}"),
            Exit::TimedOut => "it was ended by its timeout".to_owned(),
            Exit::Cancelled => "it was ended with the session".to_owned(),
        },
    }
}

/// Runs each agent where its work says: in this process, or in one of its own.
#[derive(Clone)]
pub struct AgentRunners {
    /// Runs agents whose work does not ask for a process of its own.
    pub in_process: Arc<dyn TaskRunner>,
    /// Runs agents in processes of their own; none if this program cannot.
    pub process: Option<Arc<dyn TaskRunner>>,
}

#[async_trait]
impl TaskRunner for AgentRunners {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, task: TaskJob, reporter: TaskReporter) -> TaskFinished {
        let own_process = matches!(&task.work, TaskWork::Agent(work) if work.own_process);
        match (own_process, &self.process) {
            (false, _) => self.in_process.run(task, reporter).await,
            (true, Some(process)) => process.run(task, reporter).await,
            (true, None) => TaskFinished::failed(TaskError::new(
                TaskErrorCategory::Start,
                "the agent asks for a process of its own, which is not possible here: the session \
                 is not stored, or the program does not support it",
            )),
        }
    }
}
