//! Runs commands as tasks, on the supervisor.

use async_trait::async_trait;
use robota_core::task::{
    TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskPlace, TaskStatus,
};
use robota_exec::{CommandSpec, ExecError, Exit, OutputSink, Running, Stdin, Supervisor};
use tokio::sync::oneshot;

use super::runner::{TaskJob, TaskReporter, TaskRunner, TaskWork};

/// The most bytes of the end of the output that are recorded.
const MAX_OUTPUT: usize = 4_000;

/// A command to run.
#[derive(Debug)]
pub struct ProcessWork {
    /// The command line, for people.
    pub command: String,
    /// The program.
    pub spec: CommandSpec,
    /// Receives the running program, or why it could not be started.
    pub started: Option<oneshot::Sender<Result<Running, ExecError>>>,
}

/// Runs commands.
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

    async fn run(&self, mut job: TaskJob, reporter: TaskReporter) -> TaskFinished {
        let TaskWork::Process(work) = job.work else {
            let text = "a process was expected";
            return TaskFinished::failed(TaskError::new(TaskErrorCategory::Start, text));
        };
        let ProcessWork { mut spec, started, .. } = *work;
        let (inner, log) = (spec.sink.take(), reporter.clone());
        spec.sink = Some(OutputSink::new(move |bytes| {
            log.text(&String::from_utf8_lossy(bytes));
            if let Some(inner) = &inner {
                inner.write(bytes);
            }
        }));
        let takes_input = spec.stdin == Stdin::Open;
        let running = match self.supervisor.start(spec).await {
            Ok(running) => running,
            Err(error) => {
                let failed = TaskError::new(TaskErrorCategory::Start, error.to_string());
                if let Some(started) = started {
                    let _ = started.send(Err(error));
                }
                return TaskFinished::failed(failed);
            }
        };
        let pid = running.process().map(|process| process.pid);
        reporter.placed(TaskPlace { pid, ..TaskPlace::default() });
        if let Some(started) = started {
            let _ = started.send(Ok(running.clone()));
        }
        let mut ended = std::pin::pin!(running.ended());
        let outcome = loop {
            tokio::select! {
                ended = &mut ended => break ended,
                () = job.cancel.cancelled() => {
                    running.kill();
                    break ended.await;
                }
                input = job.inputs.recv(), if takes_input => match input {
                    Some(input) => running.write(input),
                    None => break ended.await,
                },
            }
        };
        finished(outcome, &running)
    }
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
