//! The task that owns a session: its journal, its mailbox, and the turn that runs.
//!
//! The task waits until a request arrives, the running turn has something to do, or the journal
//! is to be tried again. It does one thing at a time. The recorder never leaves it.

mod compaction;
mod handle;
mod request;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures::FutureExt as _;
use robota_core::close::RecoveryHint;
use robota_core::driver::{Drive, Recorder};
use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::event::{Event, TurnEnd};
use robota_core::hook::{EventDecision, HookData, HookEvent, Hooks as _, SessionSource};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore, LostReason};
use robota_core::message::Cause;
use robota_core::turn::{TurnInput, TurnReport};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use compaction::ManualCompaction;
pub(crate) use request::{Accepted, Reply, Request, Rewrite, SendRequest};

use crate::approvals::ApprovalQueue;
use crate::error::SessionError;
use crate::hooks::HookChain;
use crate::hub::{SessionHub, StoreFailure};
use crate::open::Strategy;
use crate::setup::TurnSetup;

/// While the journal cannot be written, it is tried again after this, then twice as long.
const FLUSH_FIRST: Duration = Duration::from_secs(1);
/// The longest of those delays.
const FLUSH_MOST: Duration = Duration::from_secs(30);

/// What the task and the handles of a session share. It holds no sender of requests, so that the
/// session ends when the last handle is dropped.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) hub: Arc<SessionHub>,
    pub(crate) approvals: Arc<ApprovalQueue>,
    pub(crate) hooks: Arc<HookChain>,
    turn_setup: RwLock<TurnSetup>,
}

impl Shared {
    pub(crate) fn new(
        id: SessionId,
        store: Arc<dyn JournalStore>,
        hub: Arc<SessionHub>,
        hooks: Arc<HookChain>,
        turn_setup: TurnSetup,
    ) -> Arc<Self> {
        let approvals = turn_setup.setup.approval_queue();
        let turn_setup = RwLock::new(turn_setup);
        Arc::new(Self { id, store, hub, approvals, hooks, turn_setup })
    }

    pub(crate) fn turn_setup(&self) -> RwLockReadGuard<'_, TurnSetup> {
        self.turn_setup.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn turn_setup_mut(&self) -> RwLockWriteGuard<'_, TurnSetup> {
        self.turn_setup.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn window(&self) -> u64 {
        self.turn_setup().setup.config.turn.context_window
    }
}

/// How a session's task starts.
pub(crate) struct StartOptions {
    pub(crate) source: SessionSource,
    /// What becomes of what a crash left open.
    pub(crate) recovery: Option<Strategy>,
    pub(crate) hints: Vec<RecoveryHint>,
    /// The previous writer closed the session and left nothing open.
    pub(crate) closed: bool,
    /// Something is open and waits for the caller's choice.
    pub(crate) needs_recovery: bool,
    /// Inputs that wait are delivered with the next one that is sent.
    pub(crate) defer_inputs: bool,
    /// Whether a turn that was interrupted is continued.
    pub(crate) continue_turn: bool,
}

impl StartOptions {
    pub(crate) fn new(source: SessionSource) -> Self {
        Self {
            source,
            recovery: None,
            hints: Vec::new(),
            closed: false,
            needs_recovery: false,
            defer_inputs: false,
            continue_turn: false,
        }
    }
}

/// What runs.
enum Work {
    Turn(Box<Drive>),
    Compaction(Box<ManualCompaction>),
}

impl Work {
    /// Returns when it has something to do. Cancel safe.
    async fn ready(work: &mut Option<Self>) {
        match work {
            Some(Self::Turn(drive)) => drive.ready().await,
            Some(Self::Compaction(compaction)) => compaction.ready().await,
            None => std::future::pending().await,
        }
    }
}

pub(crate) struct Actor {
    shared: Arc<Shared>,
    requests: mpsc::Receiver<Request>,
    recorder: Recorder,
    work: Option<Work>,
    /// Callers of interrupt, answered when what runs has ended.
    interrupting: Vec<Reply<bool>>,
    /// Appends that wait until nothing runs.
    deferred: Vec<(Vec<Event>, Reply<()>)>,
    options: StartOptions,
    /// The journal cannot be written: no turn starts until it can.
    blocked: Option<Backoff>,
    lost: CancellationToken,
    /// Hooks that run in the background; only closing the session waits for them.
    background: JoinSet<()>,
}

/// When the journal is tried again, and the delay before that.
struct Backoff {
    at: Instant,
    delay: Duration,
}

/// Whether the task continues.
enum Flow {
    Continue,
    Close {
        reason: String,
        reply: Option<Reply<()>>,
    },
    /// The session has ended; the hub says why.
    End,
}

impl Actor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        requests: mpsc::Receiver<Request>,
        recorder: Recorder,
        options: StartOptions,
    ) -> Self {
        let lost = recorder.lost();
        Self {
            shared,
            requests,
            recorder,
            work: None,
            interrupting: Vec::new(),
            deferred: Vec::new(),
            options,
            blocked: None,
            lost,
            background: JoinSet::new(),
        }
    }

    /// Runs until the session is shut down, dropped or lost, or its journal fails for good. A panic
    /// ends the session with an error, so that no caller waits for a task that is gone.
    pub(crate) async fn run(self) {
        let hub = Arc::clone(&self.shared.hub);
        let span = tracing::info_span!("session", session = %self.shared.id);
        if AssertUnwindSafe(self.serve().instrument(span)).catch_unwind().await.is_err() {
            let text = "the session's task panicked";
            let data = ErrorData::new(ErrorKind::Plugin, text)
                .with_hint("resume the session: nothing acknowledged is lost");
            hub.end(SessionError::Failed(data));
        }
    }

    async fn serve(mut self) {
        self.begin().await;
        loop {
            self.start_next().await;
            let flow = match self.check_journal() {
                Flow::Continue => self.next().await,
                end => end,
            };
            match flow {
                Flow::Continue => {}
                Flow::Close { reason, reply } => return self.close(&reason, reply).await,
                Flow::End => return,
            }
        }
    }

    /// Waits for something to do, and does it.
    async fn next(&mut self) -> Flow {
        let Self { work, requests, lost, blocked, .. } = self;
        let flush = async {
            match blocked {
                Some(backoff) => tokio::time::sleep_until(backoff.at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = lost.cancelled() => return self.on_lease_lost(),
            request = requests.recv() => {
                let flow = match request {
                    Some(request) => self.handle(request).await,
                    None => Flow::Close { reason: "dropped".to_owned(), reply: None },
                };
                // Requests do not starve what runs.
                if matches!(flow, Flow::Continue)
                    && Work::ready(&mut self.work).now_or_never().is_some()
                {
                    self.step().await;
                }
                return flow;
            }
            () = Work::ready(work) => self.step().await,
            () = flush => self.retry_flush().await,
        }
        Flow::Continue
    }

    /// SessionStart hooks, before anything else happens. Their context goes with the next input.
    async fn begin(&mut self) {
        let hooks = self.shared.hooks.clone();
        if hooks.has_event(HookEvent::SessionStart) {
            let model = Some(self.shared.turn_setup().setup.config.turn.model.clone());
            let data = HookData::SessionStart { source: self.options.source, model };
            let report = AssertUnwindSafe(hooks.run_event(data)).catch_unwind().await;
            if let Ok(EventDecision::Continue { context }) = report.map(|report| report.decision) {
                hooks.started_with(context);
            }
        }
        if std::mem::take(&mut self.options.continue_turn) && !self.options.needs_recovery {
            // Nothing to continue is no failure here.
            let _ = self.continue_turn().await;
        }
    }

    /// Starts the turn of the next input, unless something runs or no turn may start.
    async fn start_next(&mut self) {
        while self.work.is_none() {
            self.interrupting.drain(..).for_each(|reply| {
                let _ = reply.send(Ok(true));
            });
            if !self.deferred.is_empty() {
                let (events, reply) = self.deferred.remove(0);
                let _ = reply.send(self.append(events).await);
                continue;
            }
            let waits = self.options.defer_inputs
                || self.options.needs_recovery
                || self.blocked.is_some()
                || self.recorder.failure().is_some();
            let next = self.recorder.state().inputs.first().filter(|_| !waits);
            let Some((id, input)) = next else {
                self.shared.hub.set_busy(false);
                return;
            };
            let content = input.content.clone();
            let input = TurnInput::Message { input: Some(id.clone()), content };
            self.start(input).await;
        }
    }

    async fn start(&mut self, input: TurnInput) {
        self.shared.hub.set_busy(true);
        let (ports, config) = {
            let turn = self.shared.turn_setup();
            (turn.ports(&self.shared.approvals, &self.shared.hooks), turn.setup.config.clone())
        };
        match Drive::start(ports, config, &mut self.recorder, input).await {
            Ok(drive) => self.work = Some(Work::Turn(Box::new(drive))),
            Err(error) => self.turn_ended(&TurnReport::not_started(error.to_data())),
        }
    }

    /// Lets what runs do one thing.
    async fn step(&mut self) {
        match &mut self.work {
            Some(Work::Turn(drive)) => {
                if let Some(report) = drive.step(&mut self.recorder).await {
                    self.work = None;
                    self.turn_ended(&report);
                }
            }
            Some(Work::Compaction(compaction)) => {
                let window = self.shared.window();
                if compaction.step(&mut self.recorder, window).await {
                    self.work = None;
                }
            }
            None => {}
        }
    }

    fn turn_ended(&mut self, report: &TurnReport) {
        if report.end == TurnEnd::StoreFailed {
            let delay = FLUSH_FIRST;
            self.blocked = Some(Backoff { at: Instant::now() + delay, delay });
            let unknown = || ErrorData::new(ErrorKind::Storage, "the journal failed");
            let error = report.error.clone().unwrap_or_else(unknown);
            let undelivered = self.recorder.state().inputs.keys().cloned().collect();
            self.shared.hub.fail(StoreFailure { error, undelivered });
        }
        self.run_failure_hooks(report);
    }

    /// Tries again to write the journal; if that works, turns may start again.
    async fn retry_flush(&mut self) {
        let Some(backoff) = self.blocked.take() else { return };
        if self.recorder.flush().await.is_err() {
            let delay = (backoff.delay * 2).min(FLUSH_MOST);
            self.blocked = Some(Backoff { at: Instant::now() + delay, delay });
        }
    }

    /// StopFailure hooks.
    fn run_failure_hooks(&mut self, report: &TurnReport) {
        while self.background.try_join_next().is_some() {}
        let failed = matches!(report.end, TurnEnd::ProviderFailed | TurnEnd::StoreFailed);
        let hooks = self.shared.hooks.clone();
        if !failed || !hooks.has_event(HookEvent::StopFailure) {
            return;
        }
        let error = report.error.as_ref();
        let data = HookData::StopFailure {
            error: error.map_or("unknown", |error| error.kind.code()).to_owned(),
            error_details: error.map(|error| error.message.clone()),
            last_assistant_message: (!report.text.is_empty()).then(|| report.text.clone()),
        };
        self.background.spawn(async move {
            hooks.run_event(data).await;
        });
    }

    /// Ends the session, and what runs, when no retry can help its journal.
    fn check_journal(&mut self) -> Flow {
        let Some(error) = self.recorder.failure().filter(|error| !error.retryable()) else {
            return Flow::Continue;
        };
        self.shared.hub.end(error.clone().into());
        Flow::End
    }

    /// This writer lost the session: what runs here ends now.
    fn on_lease_lost(&mut self) -> Flow {
        self.work = None;
        let session = self.shared.id.clone();
        let reason = LostReason::TakenOver { owner: None };
        let unknown = JournalError::Lost { session, reason };
        let lost = self.recorder.lost_error().unwrap_or(unknown);
        self.shared.hub.end(lost.into());
        Flow::End
    }

    /// Ends the session: what runs is stopped, the journal says that the writer is done, and
    /// SessionEnd hooks run once.
    async fn close(mut self, reason: &str, reply: Option<Reply<()>>) {
        let ended = tokio::select! {
            biased;
            () = self.lost.clone().cancelled_owned() => false,
            () = self.stop_work(reason) => true,
        };
        if !ended {
            self.on_lease_lost();
            if let Some(reply) = reply {
                let _ = reply.send(Err(self.why_ended()));
            }
            return;
        }
        let result = self.recorder.close(reason).await.map_err(SessionError::from);
        if let Err(error) = &result {
            tracing::warn!(%error, "the end of the session could not be written");
        }
        self.interrupting.drain(..).for_each(|reply| {
            let _ = reply.send(Ok(true));
        });
        while self.background.join_next().await.is_some() {}
        let hooks = self.shared.hooks.clone();
        if hooks.has_event(HookEvent::SessionEnd) {
            let data = HookData::SessionEnd { reason: reason.to_owned() };
            let _ = AssertUnwindSafe(hooks.run_event(data)).catch_unwind().await;
        }
        // The journal is released before anybody hears that it is.
        let shared = Arc::clone(&self.shared);
        drop(self);
        let (session, reason) = (shared.id.clone(), reason.to_owned());
        shared.hub.end(SessionError::Closed { session, reason });
        if let Some(reply) = reply {
            let _ = reply.send(result);
        }
    }

    async fn stop_work(&mut self, reason: &str) {
        match &mut self.work {
            Some(Work::Turn(drive)) => {
                let note = Some(reason.to_owned());
                drive.interrupt(&mut self.recorder, Cause::Shutdown, note).await;
            }
            Some(Work::Compaction(compaction)) => compaction.cancel(),
            None => {}
        }
        while self.work.is_some() {
            Work::ready(&mut self.work).await;
            self.step().await;
        }
    }

    async fn append(&mut self, events: Vec<Event>) -> Result<(), SessionError> {
        Ok(self.recorder.append(None, events).await?)
    }

    fn why_ended(&self) -> SessionError {
        self.shared.hub.why_ended(&self.shared.id)
    }
}
