//! The supervisor handle, and the one thread behind it that starts and watches every child.
//!
//! All children are started from one thread, because Linux binds the parent-death signal to the
//! *thread* that spawned the child: a child of a worker thread would be killed when that worker
//! ends. The thread has its own runtime, so that children are ended on time even if the caller's
//! runtime is blocked, and so that a test with paused time does not end real processes early.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::ExecError;
use crate::outcome::Outcome;
use crate::reaper::ReaperProgram;
use crate::running::{BackgroundLink, Running};
use crate::spec::CommandSpec;

/// Owns all child processes. Clones share one thread, which starts with the first child.
///
/// When the last handle is dropped, the thread ends after its last child.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    closing: CancellationToken,
    closed: CancellationToken,
    reaper: Option<Arc<ReaperClient>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Running(mpsc::UnboundedSender<Job>),
    Closed,
}

#[derive(Debug)]
struct Job {
    spec: CommandSpec,
    stop: CancellationToken,
    link: BackgroundLink,
    reply: oneshot::Sender<Result<Outcome, ExecError>>,
}

impl Supervisor {
    /// Creates a supervisor. Its thread starts with the first child.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a supervisor whose children are monitored by a reaper, so that none of their
    /// descendants outlives the call or this process. The reaper starts with the first child. Works
    /// only on Linux; on other systems every start fails.
    #[must_use]
    pub fn with_reaper(reaper: ReaperProgram) -> Self {
        let reaper = Some(Arc::new(ReaperClient::new(reaper)));
        Self { shared: Arc::new(Shared { reaper, ..Shared::default() }) }
    }

    /// Runs a program to its end and returns its outcome. A program that exits with an error code is
    /// an `Ok`.
    ///
    /// Cancelling the token ends the program and its group, then returns; dropping the future
    /// ends them too. If the token is already cancelled, nothing is started.
    ///
    /// # Errors
    /// If the program cannot be started or its exit status is unknown.
    pub async fn run(
        &self,
        spec: CommandSpec,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ExecError> {
        // One token for both: dropping this future cancels `stop`, and so does the caller's token.
        let stop = cancel.child_token();
        let _stop_on_drop = stop.clone().drop_guard();
        let (reply, result) = oneshot::channel();
        self.submit(Job { spec, stop, link: BackgroundLink::none(), reply })?;
        match result.await {
            Ok(result) => result,
            Err(_) if self.shared.closing.is_cancelled() => Err(ExecError::ShutDown),
            Err(_) => Err(ExecError::SupervisorFailed),
        }
    }

    /// Starts a program and returns as soon as it runs. The supervisor ends it when
    /// [`Running::kill`] is called, when the last handle to it is dropped, and when this process
    /// ends.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn start(&self, mut spec: CommandSpec) -> Result<Running, ExecError> {
        let (reply, result) = oneshot::channel();
        let stop = CancellationToken::new();
        let (pending, link) = Running::connect(&mut spec, stop.clone());
        self.submit(Job { spec, stop, link, reply })?;
        pending.wait_until_started(result).await
    }

    /// Ends every child, and returns when all have ended. Nothing can be started afterwards.
    pub async fn shutdown(&self) {
        // Closed before the token is cancelled: a job that is submitted now gets an error instead
        // of a place in a queue that no one reads.
        let state = std::mem::replace(&mut *self.state(), State::Closed);
        self.shared.closing.cancel();
        match state {
            State::Idle => self.shared.closed.cancel(),
            State::Running(_) | State::Closed => self.shared.closed.cancelled().await,
        }
    }

    fn submit(&self, job: Job) -> Result<(), ExecError> {
        let mut state = self.state();
        if let State::Idle = *state {
            *state = State::Running(self.start_thread()?);
        }
        match &*state {
            State::Running(jobs) => jobs.send(job).map_err(|_| ExecError::SupervisorFailed),
            State::Idle | State::Closed => Err(ExecError::ShutDown),
        }
    }

    fn start_thread(&self) -> Result<mpsc::UnboundedSender<Job>, ExecError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .thread_name("robota-wait")
            .build()
            .map_err(ExecError::Supervisor)?;
        let (jobs, queue) = mpsc::unbounded_channel();
        let closing = self.shared.closing.clone();
        let reaper = self.shared.reaper.clone();
        // Cancelled by drop, so that `shutdown` returns even if the thread panics.
        let closed = self.shared.closed.clone().drop_guard();
        std::thread::Builder::new()
            .name("robota-exec".to_owned())
            .spawn(move || {
                let _closed = closed;
                runtime.block_on(serve(queue, closing, reaper));
                // A blocking wait may never return: SIGKILL does not end a process that sleeps
                // uninterruptibly in the kernel.
                runtime.shutdown_background();
            })
            .map_err(ExecError::Supervisor)?;
        Ok(jobs)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(
    mut queue: mpsc::UnboundedReceiver<Job>,
    closing: CancellationToken,
    reaper: Option<Arc<ReaperClient>>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            // First in the biased order: when both are ready, no further child is started.
            () = closing.cancelled() => break,
            Some(_) = running.join_next() => {}
            job = queue.recv() => match job {
                Some(job) => {
                    drop(running.spawn(serve_one(job, closing.clone(), reaper.clone())));
                }
                None => break,
            },
        }
    }
    // Queued jobs are dropped with the queue; their callers return `ExecError::ShutDown`.
    drop(queue);
    while running.join_next().await.is_some() {}
}

async fn serve_one(job: Job, closing: CancellationToken, reaper: Option<Arc<ReaperClient>>) {
    let Job { spec, stop, link, reply } = job;
    // Checked before the start: a job may have waited in the queue after its caller gave up.
    let result = if stop.is_cancelled() || closing.is_cancelled() {
        Ok(Outcome::not_started())
    } else {
        let cancelled = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = closing.cancelled() => {}
            }
        };
        supervise(spec, reaper, cancelled, link).await
    };
    // Fails only if the caller no longer waits.
    let _ = reply.send(result);
}

#[cfg(unix)]
use crate::unix::{ReaperClient, supervise};

#[cfg(not(unix))]
use crate::reaper_stub::ReaperClient;

#[cfg(not(unix))]
async fn supervise(
    _spec: CommandSpec,
    _reaper: Option<Arc<ReaperClient>>,
    _cancelled: impl Future<Output = ()>,
    _link: BackgroundLink,
) -> Result<Outcome, ExecError> {
    Err(ExecError::Unsupported)
}
