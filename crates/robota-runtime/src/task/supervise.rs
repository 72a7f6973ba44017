//! Runs one task: it is the only code that changes the task while it has a slot.

use std::sync::Arc;
use std::time::Duration;

use robota_core::ids::{CallId, TaskId};
use robota_core::task::{
    TaskChange, TaskError, TaskErrorCategory, TaskFinished, TaskPlace, TaskStatus, TaskUsage,
    TaskWorktree, TimeoutReason,
};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::inputs::TaskInputs;
use super::limits::{TaskLimits, Watchdog, describe};
use super::manager::{Inner, TaskEvent};
use super::runner::{PendingText, TaskJob, TaskReport, TaskReporter, TaskRunner, TaskWork};

/// How long a task may take to end after it was cancelled.
// Longer than the time between SIGTERM and SIGKILL of a command, so that a runner can report how
// its process ended.
const GRACE: Duration = Duration::from_secs(15);

/// How long the end of a dropped task waits for the worktree that is being removed or kept.
// Git may have to compare all files of a large repository.
const SETTLING: Duration = Duration::from_secs(60);

/// A task that waits for its slot.
pub(super) struct Start {
    pub(super) runner: Arc<dyn TaskRunner>,
    pub(super) limits: TaskLimits,
    pub(super) call: Option<CallId>,
    pub(super) work: TaskWork,
    pub(super) inputs: TaskInputs,
}

/// Why a task is ended.
enum Ending {
    Cancelled,
    Limit(TimeoutReason),
}

/// What is known of a task while it runs.
struct Watched {
    watchdog: Watchdog,
    /// What its model calls used so far.
    usage: Vec<TaskUsage>,
    /// Receives which worktree was kept; none while nothing decides about it.
    settling: Option<oneshot::Receiver<Option<TaskWorktree>>>,
}

pub(super) async fn supervise(
    manager: Arc<Inner>,
    task: TaskId,
    start: Start,
    cancel: CancellationToken,
) {
    let Start { runner, limits, call, work, inputs } = start;
    begin(&manager, &task).await;
    let (reporter, text, mut reports) = TaskReporter::new();
    let watchdog = Watchdog::new(limits, Instant::now());
    let mut watched = Watched { watchdog, usage: Vec::new(), settling: None };
    // Not a child of `cancel`: the manager first notes why the task ends, and then cancels it.
    let job_cancel = CancellationToken::new();
    let ids = manager.options.ids.clone();
    let job = TaskJob { task: task.clone(), work, call, cancel: job_cancel.clone(), inputs, ids };
    // A task of its own, so that a panic is a failure of this task only. It is aborted when this
    // function is dropped.
    let mut run = tokio::task::JoinSet::new();
    run.spawn(async move { runner.run(job, reporter).await });
    // Why the task ends is decided once: a limit and a cancellation may come together.
    let mut ending: Option<Ending> = None;
    let mut give_up: Option<Instant> = None;
    let ended = loop {
        let limit = watched.watchdog.deadline().filter(|_| ending.is_none());
        let deadline = give_up.or(limit.map(|(at, _)| at));
        tokio::select! {
            // Reports come before the end: a task that is done has sent all of them.
            biased;
            Some(report) = reports.recv() => observe(&manager, &task, &mut watched, report).await,
            () = text.more.notified() => {
                let exceeded = take_text(&manager, &task, &mut watched.watchdog, &text).await;
                if let (Some(reason), None) = (exceeded, &ending) {
                    ending = Some(Ending::Limit(reason));
                }
            }
            ended = run.join_next() => break ended,
            () = cancel.cancelled(), if ending.is_none() => ending = Some(Ending::Cancelled),
            () = sleep_until(deadline), if deadline.is_some() => match (&ending, limit) {
                (None, Some((_, reason))) => ending = Some(Ending::Limit(reason)),
                // The runner did not stop within the grace period; it is aborted below.
                _ => break None,
            },
        }
        if ending.is_some() && give_up.is_none() {
            job_cancel.cancel();
            give_up = Some(Instant::now() + GRACE);
        }
    };
    // The task has no owner any more; it must not write after its end was recorded.
    run.shutdown().await;
    // Process the last reports before the end is recorded.
    while let Ok(report) = reports.try_recv() {
        observe(&manager, &task, &mut watched, report).await;
    }
    take_text(&manager, &task, &mut watched.watchdog, &text).await;
    let end = match ended {
        Some(Ok(end)) => end,
        Some(Err(error)) => dropped(&manager, &task, watched, format!("it crashed: {error}")).await,
        None => {
            let text = "it did not end after it was cancelled, and was dropped".to_owned();
            dropped(&manager, &task, watched, text).await
        }
    };
    manager.finish(&task, with_cause(end, ending)).await;
}

/// Returns what a runner that was dropped would have returned: what the task used, and its worktree.
async fn dropped(manager: &Inner, task: &TaskId, watched: Watched, text: String) -> TaskFinished {
    // It exists until the runner says that it was removed.
    let known = manager.lock().tasks.tasks.get(task).and_then(|it| it.worktree.clone());
    let worktree = match watched.settling {
        Some(settling) => match tokio::time::timeout(SETTLING, settling).await {
            Ok(Ok(kept)) => kept,
            _ => known,
        },
        None => known,
    };
    let error = TaskError::new(TaskErrorCategory::Crash, text);
    TaskFinished { worktree, usage: watched.usage, ..TaskFinished::failed(error) }
}

/// Records that the task runs, and creates its log.
async fn begin(manager: &Inner, task: &TaskId) {
    if let Err(error) = manager.change(task, TaskChange::Started).await {
        tracing::warn!(%task, %error, "the start of a task could not be recorded");
    }
    match manager.options.logs.create(task).await {
        Ok(None) => {}
        Ok(Some(path)) => {
            let log = Some(path.display().to_string());
            let placed = TaskChange::Placed(TaskPlace { log, ..TaskPlace::default() });
            let _ = manager.change(task, placed).await;
        }
        // The task runs without one: a full disk must not keep a command from running.
        Err(error) => tracing::warn!(%task, %error, "a task has no log"),
    }
}

/// Takes a report of the runner.
async fn observe(manager: &Inner, task: &TaskId, watched: &mut Watched, report: TaskReport) {
    let now = Instant::now();
    let watchdog = &mut watched.watchdog;
    let change = match report {
        TaskReport::Change(change) => change,
        TaskReport::Intent(place, recorded) => {
            watchdog.active(now);
            let change = manager.change(task, TaskChange::Placed(place)).await;
            // Fails only if the runner was aborted.
            let _ = recorded.send(change.map_err(|error| error.to_string()));
            return;
        }
        TaskReport::AgentEvent(envelope) => {
            watchdog.active(now);
            manager.publish(TaskEvent::Agent { task: task.clone(), envelope });
            return;
        }
        TaskReport::Settling(settling) => {
            watched.settling = Some(settling);
            return;
        }
        TaskReport::Usage(usage) => {
            watched.usage = usage;
            return;
        }
    };
    match &change {
        TaskChange::ToolStarted { .. } | TaskChange::PermissionAsked(_) => watchdog.busy(true, now),
        TaskChange::ToolEnded { .. } | TaskChange::PermissionDecided { .. } => {
            watchdog.busy(false, now);
        }
        TaskChange::Placed(_) => watchdog.active(now),
        // A runner reports progress; the manager decides about the rest.
        TaskChange::Spawned(_)
        | TaskChange::Started
        | TaskChange::Finished(_)
        | TaskChange::Reported
        | TaskChange::Closed => return,
    }
    if let Err(error) = manager.change(task, change).await {
        tracing::warn!(%task, %error, "a change of a task could not be recorded");
    }
}

/// Logs the text that the task wrote. Returns the limit that it exceeds.
async fn take_text(
    manager: &Inner,
    task: &TaskId,
    watchdog: &mut Watchdog,
    pending: &PendingText,
) -> Option<TimeoutReason> {
    let taken = pending.take();
    if taken.alive {
        watchdog.active(Instant::now());
    }
    if taken.pieces == 0 {
        return None;
    }
    let exceeded = watchdog.text(&taken.text, taken.pieces, taken.lost, Instant::now());
    let mut text = taken.text;
    if taken.lost > 0 {
        text.push_str(&format!("\n[{} bytes were not logged]\n", taken.lost));
    }
    if let Err(error) = manager.options.logs.append(task, text.clone()).await {
        tracing::warn!(%task, %error, "text of a task could not be logged");
    }
    manager.publish(TaskEvent::Text { task: task.clone(), text });
    exceeded
}

/// Says why the manager ended the task, and keeps what the runner knows: output, usage, worktree.
#[expect(clippy::needless_pass_by_value, reason = "the cause of one end")]
fn with_cause(end: TaskFinished, ending: Option<Ending>) -> TaskFinished {
    match ending {
        None => end,
        // The task completed before it noticed the cancellation.
        Some(Ending::Cancelled) if end.status == TaskStatus::Completed => end,
        Some(Ending::Cancelled) => {
            TaskFinished { status: TaskStatus::Cancelled, error: None, ..end }
        }
        Some(Ending::Limit(reason)) => {
            let text = format!("it was ended: {}", describe(reason));
            let error = Some(TaskError::new(TaskErrorCategory::Timeout, text));
            TaskFinished { status: TaskStatus::Failed, error, timeout: Some(reason), ..end }
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
