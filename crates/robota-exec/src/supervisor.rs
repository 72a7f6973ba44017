//! The handle, and the one thread behind it that starts and watches every child.
//!
//! One thread, because Linux binds the parent-death signal to the *thread* that spawned: a
//! child of a worker thread would die with that worker. It has a runtime of its own, so that
//! children are ended on time whatever the caller's runtime does, and so that a test which
//! pauses time does not end real processes early.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::ExecError;
use crate::outcome::Outcome;
use crate::reaper::ReaperProgram;
use crate::running::{Link, Running};
use crate::spec::CommandSpec;

/// Owns every child. Clones share one thread, which starts with the first child.
///
/// When the last handle is gone, the thread ends after its last child.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    closing: CancellationToken,
    closed: CancellationToken,
    reaper: Option<Arc<Client>>,
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
    link: Link,
    reply: oneshot::Sender<Result<Outcome, ExecError>>,
}

impl Supervisor {
    /// A supervisor without children; it costs nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A supervisor whose children run below a reaper, so that none of their descendants outlives
    /// its call, or us. The reaper starts with the first child. Linux only; elsewhere nothing
    /// can be started then.
    #[must_use]
    pub fn with_reaper(reaper: ReaperProgram) -> Self {
        let reaper = Some(Arc::new(Client::new(reaper)));
        Self { shared: Arc::new(Shared { reaper, ..Shared::default() }) }
    }

    /// Runs a program to its end and returns what is known about it. A program that fails is
    /// an `Ok`: the error is for what could not be run.
    ///
    /// Cancelling the token ends the program and its group, then returns; dropping the future
    /// ends them too. With a token that is cancelled already, nothing is started.
    ///
    /// # Errors
    /// If the program cannot be started or its end cannot be observed.
    pub async fn run(
        &self,
        spec: CommandSpec,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ExecError> {
        let stop = cancel.child_token();
        let _stops_with_this_future = stop.clone().drop_guard();
        let (reply, answer) = oneshot::channel();
        self.submit(Job { spec, stop, link: Link::none(), reply })?;
        match answer.await {
            Ok(result) => result,
            Err(_) if self.shared.closing.is_cancelled() => Err(ExecError::ShutDown),
            Err(_) => Err(ExecError::Gone),
        }
    }

    /// Starts a program and returns as soon as it runs. It ends when it wants, when it is told
    /// to, when the last handle to it is dropped, and with us.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn start(&self, mut spec: CommandSpec) -> Result<Running, ExecError> {
        let (reply, answer) = oneshot::channel();
        let stop = CancellationToken::new();
        let (running, link) = Running::connect(&mut spec, stop.clone());
        self.submit(Job { spec, stop, link, reply })?;
        running.begin(answer).await
    }

    /// Ends every child, and returns when they are gone. Nothing can be started afterwards.
    pub async fn shutdown(&self) {
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
            State::Running(jobs) => jobs.send(job).map_err(|_| ExecError::Gone),
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
                // A waiter may hang on a process that not even KILL can end.
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
    reaper: Option<Arc<Client>>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            biased;
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
    // Jobs still queued are dropped with the queue; their callers see that we are closing.
    drop(queue);
    while running.join_next().await.is_some() {}
}

async fn serve_one(job: Job, closing: CancellationToken, reaper: Option<Arc<Client>>) {
    let Job { spec, stop, link, reply } = job;
    let result = if stop.is_cancelled() || closing.is_cancelled() {
        Ok(Outcome::not_started())
    } else {
        let unwanted = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = closing.cancelled() => {}
            }
        };
        supervise(spec, reaper, unwanted, link).await
    };
    // A caller that has gone away wants no answer.
    let _ = reply.send(result);
}

#[cfg(unix)]
use crate::unix::{Client, supervise};

#[cfg(not(unix))]
use crate::no_reaper::Client;

#[cfg(not(unix))]
async fn supervise(
    _spec: CommandSpec,
    _reaper: Option<Arc<Client>>,
    _unwanted: impl Future<Output = ()>,
    _link: Link,
) -> Result<Outcome, ExecError> {
    Err(ExecError::Unsupported)
}
