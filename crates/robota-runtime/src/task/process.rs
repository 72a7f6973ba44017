//! Runs commands as tasks, on the supervisor.

use async_trait::async_trait;
use robota_core::task::{
    TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskPlace, TaskStatus,
};
use robota_exec::{CommandSpec, ExecError, Exit, OutputSink, Running, Supervisor};
use tokio::sync::oneshot;

use super::runner::{TaskJob, TaskReporter, TaskRunner, TaskWork};

/// The most bytes of the end of the output that are recorded.
const MAX_OUTPUT: usize = 4_000;

/// Describes a command to run as a task.
#[derive(Debug)]
pub struct ProcessWork {
    /// The command line as people read it; it is recorded as the task's input.
    pub command: String,
    /// The program: to be started, or running already.
    pub program: ProcessProgram,
}

/// Whether the program of a command is started by the task or runs already.
#[derive(Debug)]
pub enum ProcessProgram {
    /// The program does not run yet; the task starts it.
    Start {
        /// The program with its arguments, folder and limits.
        spec: Box<CommandSpec>,
        /// Receives the running program, or why it could not be started.
        started: Option<oneshot::Sender<Result<Running, ExecError>>>,
    },
    /// It runs already: a call waited for it so far.
    Running(Running),
}

/// Runs the background tasks that are commands, through the supervisor.
#[derive(Debug, Clone)]
pub struct ProcessTasks {
    supervisor: Supervisor,
}

impl ProcessTasks {
    /// Runs commands on this supervisor.
    #[must_use]
    pub fn new(supervisor: Supervisor) -> Self {
        Self { supervisor }
    }
}

#[async_trait]
impl TaskRunner for ProcessTasks {
    fn kind(&self) -> TaskKind {
        TaskKind::Process
    }

    async fn run(&self, job: TaskJob, reporter: TaskReporter) -> TaskFinished {
        let TaskWork::Process(work) = job.work else {
            let text = "a process was expected";
            return TaskFinished::failed(TaskError::new(TaskErrorCategory::Start, text));
        };
        let (running, mut follow) = match work.program {
            // Its log has what it wrote so far.
            ProcessProgram::Running(running) => (running, Some(0)),
            ProcessProgram::Start { spec, started } => {
                match self.start(*spec, started, &reporter).await {
                    Ok(running) => (running, None),
                    Err(error) => return TaskFinished::failed(error),
                }
            }
        };
        let pid = running.process().map(|process| process.pid);
        reporter.placed(TaskPlace { pid, ..TaskPlace::default() });
        let mut ended = std::pin::pin!(running.ended());
        let outcome = loop {
            tokio::select! {
                biased;
                logged = next_output(&running, follow) => follow = Some(report(&running, logged, &reporter)),
                ended = &mut ended => break ended,
                () = job.cancel.cancelled() => {
                    running.kill();
                    break ended.await;
                }
                Some(input) = job.inputs.recv() => running.write(input),
            }
        };
        if let Some(logged) = follow {
            report(&running, logged, &reporter);
        }
        finished(outcome, &running)
    }
}

impl ProcessTasks {
    async fn start(
        &self,
        mut spec: CommandSpec,
        started: Option<oneshot::Sender<Result<Running, ExecError>>>,
        reporter: &TaskReporter,
    ) -> Result<Running, TaskError> {
        let (inner, log) = (spec.sink.take(), reporter.clone());
        spec.sink = Some(OutputSink::new(move |bytes| {
            log.text(&String::from_utf8_lossy(bytes));
            if let Some(inner) = &inner {
                inner.write(bytes);
            }
        }));
        let running = self.supervisor.start(spec).await;
        let result = match &running {
            Ok(running) => Ok(running.clone()),
            Err(error) => Err(TaskError::new(TaskErrorCategory::Start, error.to_string())),
        };
        if let Some(started) = started {
            let _ = started.send(running);
        }
        result
    }
}

/// Waits until there is output after what was logged, and returns where that ends. Waits for ever if
/// the output is not followed.
async fn next_output(running: &Running, logged: Option<u64>) -> u64 {
    match logged {
        Some(logged) => {
            running.log().wait_past(logged).await;
            logged
        }
        None => std::future::pending().await,
    }
}

/// Reports the output after what was logged. Returns where it ends.
fn report(running: &Running, logged: u64, reporter: &TaskReporter) -> u64 {
    let chunk = running.log().read(logged, usize::MAX);
    if chunk.skipped > 0 {
        reporter.text(&format!("\n[{} bytes were not logged]\n", chunk.skipped));
    }
    if !chunk.bytes.is_empty() {
        reporter.text(&String::from_utf8_lossy(&chunk.bytes));
    }
    chunk.next
}

fn finished(outcome: Result<robota_exec::Outcome, String>, running: &Running) -> TaskFinished {
    let end = running.log().end();
    let tail = running.log().read(end.saturating_sub(MAX_OUTPUT as u64), MAX_OUTPUT);
    let output = String::from_utf8_lossy(&tail.bytes).into_owned();
    let failed =
        |text: String| TaskFinished::failed(TaskError::new(TaskErrorCategory::Runner, text));
    let end = match outcome {
        Err(message) => TaskFinished::failed(TaskError::new(TaskErrorCategory::Crash, message)),
        Ok(outcome) => match outcome.exit {
            Exit::Code(0) => {
                TaskFinished { exit_code: Some(0), ..TaskFinished::new(TaskStatus::Completed) }
            }
            Exit::Code(code) => TaskFinished {
                exit_code: Some(code),
                ..failed(format!("it exited with code {code}"))
            },
            Exit::Signal(signal) => failed(format!("it was ended by signal {signal}")),
            Exit::TimedOut => failed("it was ended by its timeout".to_owned()),
            Exit::Cancelled => TaskFinished::new(TaskStatus::Cancelled),
        },
    };
    TaskFinished { output, ..end }
}
