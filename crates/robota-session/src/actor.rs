//! The task that owns a session: its journal, its requests, and the running turn.
//!
//! The task waits until a request arrives, the running turn has something to do, or a failed
//! journal write is due for a retry. It does one thing at a time. Only this task has the recorder.

mod compaction;
mod handle;
mod request;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures::FutureExt as _;
use robota_core::backoff::Backoff;
use robota_core::close::RecoveryHint;
use robota_core::driver::{Drive, Ports, Recorder};
use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::event::{Closed, Event, MessageInjected, Renamed, TurnEnd};
use robota_core::gate::FailedGate;
use robota_core::guard::{guarded, guarded_async};
use robota_core::hook::{EventDecision, HookData, HookEvent, Hooks as _, SessionSource};
use robota_core::ids::{InputId, SessionId};
use robota_core::journal::{JournalError, JournalStore, LostReason};
use robota_core::message::{Block, Cause, Message};
use robota_core::turn::{TurnInput, TurnReport, TurnRules};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument as _;

use compaction::ManualCompaction;
pub(crate) use request::{
    AcceptedInput, DecideEvents, InputChange, Reply, Request, Rewrite, SendRequest,
};

use crate::approvals::ApprovalQueue;
use crate::error::SessionError;
use crate::hooks::HookChain;
use crate::hub::{SessionHub, StoreFailure};
use crate::open::ResumeStrategy;
use crate::session::SendOptions;
use crate::setup::TurnSetup;

/// The waits between retries of a failed journal write.
// The recorder has retried for a short time before the turn failed. This is the slow retry of an
// idle session: a database that restarts is back within seconds, a full disk within minutes.
const FLUSH_RETRY: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

/// What the task and the handles of a session share. It contains no sender of requests, so that the
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
        let approvals = turn_setup.setup.approval_queue(id.clone(), hooks.clone());
        let turn_setup = RwLock::new(turn_setup);
        Arc::new(Self { id, store, hub, approvals, hooks, turn_setup })
    }

    pub(crate) fn turn_setup(&self) -> RwLockReadGuard<'_, TurnSetup> {
        self.turn_setup.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn turn_setup_mut(&self) -> RwLockWriteGuard<'_, TurnSetup> {
        self.turn_setup.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the limits of the model that a turn found out, unless another model was chosen since.
    fn keep_limits(&self, found: &TurnRules) {
        // The catalogue does not know every model: a turn asks the provider for the limits, and a
        // request that was too long lowers the window.
        let known = &mut self.turn_setup_mut().setup.base.config.turn;
        if known.model == found.model {
            (known.context_window, known.max_output) = (found.context_window, found.max_output);
        }
    }

    fn forget_turn_rules(&self) {
        let gate = self.turn_setup().setup.base.gate.clone();
        if guarded("the gate", || gate.forget_turn_rules()).is_none() {
            // The gate may still allow what was allowed for that turn only.
            self.turn_setup_mut().setup.base.gate = Arc::new(FailedGate);
        }
    }

    fn window(&self) -> u64 {
        self.turn_setup().setup.base.config.turn.context_window
    }
}

/// How a session's task starts: new, resumed or forked, and what is left to close.
pub(crate) struct StartOptions {
    pub(crate) source: SessionSource,
    /// What happens to work that a crash left open; none for a new session.
    pub(crate) recovery: Option<ResumeStrategy>,
    pub(crate) hints: Vec<RecoveryHint>,
    /// The previous writer closed the session and left nothing open.
    pub(crate) closed: bool,
    /// Some work is open and waits for the caller's choice.
    pub(crate) needs_recovery: bool,
    /// Waiting inputs are delivered with the next input that is sent.
    pub(crate) defer_inputs: bool,
    /// Whether to continue an interrupted turn.
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

/// What runs: a turn or a compaction.
enum Work {
    Turn(Box<Drive>),
    Compaction(Box<ManualCompaction>),
}

impl Work {
    /// Waits until it has something to do. Cancel safe.
    async fn ready(work: &mut Option<Self>) {
        match work {
            Some(Self::Turn(drive)) => drive.ready().await,
            Some(Self::Compaction(compaction)) => compaction.ready().await,
            None => std::future::pending().await,
        }
    }
}

/// The task of a session. It is boxed, and so are the futures of what it does now and then: the
/// future of an idle session, of which there may be thousands, is as large as the largest of them.
pub(crate) struct Actor {
    shared: Arc<Shared>,
    requests: mpsc::Receiver<Request>,
    recorder: Recorder,
    work: Option<Work>,
    /// Callers of interrupt; they get their answer when the running work has ended.
    interrupting: Vec<Reply<bool>>,
    /// Appends that wait until nothing runs.
    deferred: Vec<(Vec<Event>, Reply<()>)>,
    /// Callers that wait for a pause between two turns.
    pausing: VecDeque<Reply<oneshot::Sender<()>>>,
    /// The pause: no turn starts until the other end is dropped.
    paused: Option<oneshot::Receiver<()>>,
    options: StartOptions,
    /// Set while the journal cannot be written; no turn starts as long as it is set.
    blocked: Option<FlushRetry>,
    /// The options of inputs that have not started a turn.
    turn_options: HashMap<InputId, TurnOptions>,
    /// Hooks that run in the background; only closing the session waits for them.
    background: JoinSet<()>,
}

/// How the turn of an input is started. Not recorded.
#[derive(Clone)]
struct TurnOptions {
    options: SendOptions,
    /// The parent of the span of the turn.
    span: tracing::Span,
}

/// A planned retry of a write to the journal.
struct FlushRetry {
    at: Instant,
    /// How often the write failed in a row.
    failures: u32,
}

impl FlushRetry {
    fn after(failures: u32) -> Self {
        Self { at: Instant::now() + FLUSH_RETRY.after(failures), failures }
    }
}

/// Returns the error that a session ends with when its task panicked.
pub(crate) fn panicked() -> SessionError {
    let data = ErrorData::new(ErrorKind::Plugin, "the session's task panicked")
        .with_hint("resume the session: nothing acknowledged is lost");
    SessionError::Failed(data)
}

/// Returns the error of a call whose function panicked in the session's task.
pub(crate) fn function_panicked(which: &str) -> SessionError {
    code_panicked(&format!("the function {which}"))
}

/// Returns the error of a request in which code of the program panicked.
fn code_panicked(which: &str) -> SessionError {
    let text = format!("{which} panicked; the request was not carried out");
    SessionError::Failed(ErrorData::new(ErrorKind::Plugin, text))
}

/// Adds rules for the turn that starts. A gate that panics may lack a rule that denies calls, so it is
/// not asked in this turn.
fn add_turn_rules(ports: &mut Ports, allow: &[String], deny: &[String]) {
    let gate = ports.gate.clone();
    let Some(invalid) = guarded("the gate", || gate.add_turn_rules(allow, deny)) else {
        ports.gate = Arc::new(FailedGate);
        return;
    };
    for rule in invalid {
        tracing::warn!(rule, "the rule for this turn is not valid");
    }
}

/// Who waits for the end of the session.
enum CloseReply {
    Shutdown(Reply<()>),
    IfIdle(Reply<bool>),
}

impl CloseReply {
    fn send(self, result: Result<(), SessionError>) {
        let _ = match self {
            Self::Shutdown(reply) => reply.send(result).is_ok(),
            Self::IfIdle(reply) => reply.send(result.map(|()| true)).is_ok(),
        };
    }
}

/// What the task does next.
enum Flow {
    Continue,
    Close {
        end: Closed,
        reply: Option<CloseReply>,
    },
    /// The journal may no longer be written: the session ends without a record of it.
    End(SessionError),
}

impl Actor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        requests: mpsc::Receiver<Request>,
        recorder: Recorder,
        options: StartOptions,
    ) -> Box<Self> {
        Box::new(Self {
            shared,
            requests,
            recorder,
            work: None,
            interrupting: Vec::new(),
            deferred: Vec::new(),
            pausing: VecDeque::new(),
            paused: None,
            options,
            blocked: None,
            turn_options: HashMap::new(),
            background: JoinSet::new(),
        })
    }

    /// Runs until the session is shut down, dropped or lost, or its journal fails permanently. A
    /// panic ends the session with an error, so that no caller waits for a task that has ended.
    pub(crate) async fn run(self: Box<Self>) {
        let hub = Arc::clone(&self.shared.hub);
        let span = tracing::info_span!("session", session = %self.shared.id);
        // Code of the program is guarded where it is called. This is for a defect of the session
        // itself; nothing of the actor is used afterwards.
        if guarded_async("the session's task", self.serve().instrument(span)).await.is_none() {
            hub.end(panicked());
        }
    }

    async fn serve(mut self: Box<Self>) {
        let lost = self.recorder.lost();
        let flow = tokio::select! {
            biased;
            // Around everything, also around an append that does not return: once another process may
            // have the session, nothing that was started here may continue.
            () = lost.cancelled() => Flow::End(self.lease_error()),
            flow = self.work_until_end() => flow,
        };
        match flow {
            Flow::Continue => {}
            Flow::Close { end, reply } => Box::pin(self.close(end, reply)).await,
            Flow::End(reason) => Box::pin(self.release(reason)).await,
        }
    }

    /// Handles requests and steps the work until the session ends. If the future is dropped, the
    /// work may be in the middle of a step, so it has to be dropped too.
    async fn work_until_end(&mut self) -> Flow {
        Box::pin(self.begin()).await;
        loop {
            self.start_next().await;
            let flow = match self.check_journal() {
                Flow::Continue => self.next().await,
                end => end,
            };
            if !matches!(flow, Flow::Continue) {
                return flow;
            }
        }
    }

    /// Waits for something to do, and does it.
    async fn next(&mut self) -> Flow {
        let Self { work, requests, blocked, paused, .. } = self;
        let resumed = async {
            match paused {
                // Nothing is sent: the caller drops its end.
                Some(paused) => drop(paused.await),
                None => std::future::pending().await,
            }
        };
        let flush = async {
            match blocked {
                Some(retry) => tokio::time::sleep_until(retry.at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // Biased: a request (an interrupt, for instance) must not wait behind a stream that is
            // always ready.
            request = requests.recv() => {
                let flow = match request {
                    Some(request) => Box::pin(self.on_request(request)).await,
                    None => Flow::Close { end: "dropped".into(), reply: None },
                };
                // Many requests must not starve the running work.
                if matches!(flow, Flow::Continue)
                    && Work::ready(&mut self.work).now_or_never().is_some()
                {
                    self.step().await;
                }
                return flow;
            }
            () = Work::ready(work) => self.step().await,
            () = flush => self.retry_flush().await,
            () = resumed => self.paused = None,
        }
        Flow::Continue
    }

    /// Runs the SessionStart hooks before anything else. Their context is sent with the next input.
    async fn begin(&mut self) {
        let hooks = self.shared.hooks.clone();
        if hooks.has_event(HookEvent::SessionStart) {
            let model = Some(self.shared.turn_setup().setup.base.config.turn.model.clone());
            let session_title = self.recorder.state().name.clone();
            let source = self.options.source;
            let data = HookData::SessionStart { source, model, session_title };
            let report = hooks.run_event(data).await;
            if let Some(mut name) = report.session_title {
                self.shared.turn_setup().setup.base.config.redactor.clean(&mut name);
                // The session begins without the name if it cannot be recorded now.
                let _ = self.append(vec![Renamed { name }.into()]).await;
            }
            if let Some(text) = report.initial_user_message {
                let ids = self.shared.turn_setup().setup.base.ids.clone();
                let message = Message::user(&*ids, vec![Block::text(text)]);
                // As above: it is part of the conversation before the first prompt, or not at all.
                let _ = self.append(vec![MessageInjected { message: message.into() }.into()]).await;
            }
            if let EventDecision::Continue { context } = report.decision {
                hooks.set_start_context(context);
            }
        }
        if std::mem::take(&mut self.options.continue_turn) && !self.options.needs_recovery {
            // It is not a failure if there is nothing to continue.
            let _ = self.continue_turn().await;
        }
    }

    /// Starts the turn of the next input, unless something runs or no turn may start.
    async fn start_next(&mut self) {
        while self.work.is_none() {
            // Nothing runs, so every interrupt has done its work.
            self.interrupting.drain(..).for_each(|reply| {
                let _ = reply.send(Ok(true));
            });
            // Deferred appends come before the next turn: their callers sent them before its input
            // was taken.
            if !self.deferred.is_empty() {
                // Removed from the front, in the order in which they arrived; there are a handful
                // at most.
                let (events, reply) = self.deferred.remove(0);
                let _ = reply.send(self.append(events).await);
                continue;
            }
            if self.paused.is_some() {
                return;
            }
            if let Some(reply) = self.pausing.pop_front() {
                let (resume, paused) = oneshot::channel();
                self.shared.hub.set_busy(true);
                self.paused = reply.send(Ok(resume)).is_ok().then_some(paused);
                continue;
            }
            if self.recorder.failure().is_some() {
                // A turn that starts now would fail at its first append, and no request may come that
                // writes to the journal again.
                self.retry_later();
            }
            let waits =
                self.options.defer_inputs || self.options.needs_recovery || self.blocked.is_some();
            let next = self.recorder.state().inputs.first().filter(|_| !waits);
            let Some((id, input)) = next else {
                self.shared.hub.set_busy(false);
                return;
            };
            let content = input.content.clone();
            let input = TurnInput::Message { input: Some(id.clone()), content };
            Box::pin(self.start(input)).await;
        }
    }

    async fn start(&mut self, input: TurnInput) {
        self.shared.hub.set_busy(true);
        let (mut ports, mut config) = {
            let turn = self.shared.turn_setup();
            (turn.ports(&self.shared.approvals, &self.shared.hooks), turn.setup.base.config.clone())
        };
        let mut caller = tracing::Span::current();
        let input_id = match &input {
            TurnInput::Message { input, .. } => input.as_ref(),
            TurnInput::Continue => None,
        };
        // From the journal, so that a turn that is continued or delivered by another process has them.
        let deny = self.recorder.state().restrictions.of(input_id);
        add_turn_rules(&mut ports, &[], deny);
        // Present only in the process that accepted the input: a resume delivers it without them.
        // Kept until the turn has ended: if the journal fails, the input starts another one.
        if let Some(TurnOptions { options, span }) =
            input_id.and_then(|id| self.turn_options.get(id)).cloned()
        {
            let SendOptions { rules, output, model, model_options, .. } = options;
            caller = span;
            add_turn_rules(&mut ports, &rules.allow, &[]);
            config.output = output;
            if let Some(model) = model {
                config.turn.set_model(model);
            }
            config.options.extend(model_options);
        }
        let started = Drive::start(ports, config, &mut self.recorder, input).instrument(caller);
        match started.await {
            Ok(drive) => self.work = Some(Work::Turn(Box::new(drive))),
            Err(error) => self.turn_ended(&TurnReport::not_started(error.to_data())),
        }
    }

    /// Lets the running work do one step.
    async fn step(&mut self) {
        match &mut self.work {
            Some(Work::Turn(drive)) => {
                if let Some(report) = drive.step(&mut self.recorder).await {
                    // Before the drive is dropped: the limits that the turn found out are kept for
                    // the next turn.
                    let found = drive.rules().clone();
                    self.drop_work();
                    self.shared.keep_limits(&found);
                    self.turn_ended(&report);
                }
            }
            Some(Work::Compaction(compaction)) => {
                let window = self.shared.window();
                if compaction.step(&mut self.recorder, window).await {
                    self.drop_work();
                }
            }
            None => {}
        }
    }

    fn drop_work(&mut self) {
        // It may have the last reference to something of the program, such as a tool that was replaced.
        let work = self.work.take();
        guarded("a value of the program", || drop(work));
    }

    fn turn_ended(&mut self, report: &TurnReport) {
        // Before the next turn can start: rules of this turn must not reach it.
        self.shared.forget_turn_rules();
        // An input that was cancelled, or joined the turn that ran, starts none.
        let waiting = &self.recorder.state().inputs;
        self.turn_options.retain(|input, _| waiting.contains_key(input));
        if report.end == TurnEnd::StoreFailed {
            self.retry_later();
            let unknown = || ErrorData::new(ErrorKind::Storage, "the journal failed");
            let error = report.error.clone().unwrap_or_else(unknown);
            let undelivered = self.recorder.state().inputs.keys().cloned().collect();
            self.shared.hub.fail(StoreFailure { error, undelivered });
        }
        self.run_failure_hooks(report);
    }

    /// Plans to retry the journal write, unless that is planned already.
    fn retry_later(&mut self) {
        self.blocked.get_or_insert_with(|| FlushRetry::after(1));
    }

    /// Retries the journal write; after a success turns may start again.
    async fn retry_flush(&mut self) {
        // Taken, so that a success leaves nothing: turns may start then.
        let Some(retry) = self.blocked.take() else { return };
        // Once, because requests wait meanwhile; the next retry has its own delay.
        if self.recorder.flush_once().await.is_err() {
            self.blocked = Some(FlushRetry::after(retry.failures.saturating_add(1)));
        }
    }

    /// Runs the StopFailure hooks of a turn that the service or the store ended.
    fn run_failure_hooks(&mut self, report: &TurnReport) {
        // Ended tasks stay in a JoinSet until they are joined.
        while self.background.try_join_next().is_some() {}
        let failed = matches!(report.end, TurnEnd::ProviderFailed | TurnEnd::StoreFailed);
        let hooks = self.shared.hooks.clone();
        if !failed || !hooks.has_event(HookEvent::StopFailure) {
            return;
        }
        let data = HookData::stop_failure(report.error.as_ref(), &report.text);
        self.background.spawn(async move {
            // In the background: the user has the error already and must not wait for a hook before
            // the next input.
            hooks.run_event(data).await;
        });
    }

    /// Ends the session and its running work if the journal failed permanently.
    fn check_journal(&mut self) -> Flow {
        let Some(error) = self.recorder.failure().filter(|error| !error.retryable()) else {
            return Flow::Continue;
        };
        Flow::End(error.clone().into())
    }

    /// Returns why this writer lost its lease.
    fn lease_error(&self) -> SessionError {
        let session = self.shared.id.clone();
        let reason = LostReason::TakenOver { owner: None };
        let unknown = JournalError::Lost { session, reason };
        self.recorder.lost_error().unwrap_or(unknown).into()
    }

    /// Ends the running work and releases the journal. Only then are clients notified, so that they
    /// can open the session again, also in another process.
    async fn release(self: Box<Self>, reason: SessionError) {
        let Self { shared, recorder, work, background, .. } = *self;
        guarded("a value of the program", || drop(work));
        guarded("a value of the program", || drop(background));
        recorder.release().await;
        shared.hub.end(reason);
    }

    /// Ends the session: stops the running work, records the end in the journal, and runs the
    /// SessionEnd hooks once.
    async fn close(mut self: Box<Self>, end: Closed, reply: Option<CloseReply>) {
        let lost = self.recorder.lost();
        let result = tokio::select! {
            biased;
            // Without this, a running call or an append that does not end could keep a process alive
            // that may no longer write.
            () = lost.cancelled() => {
                let reason = self.lease_error();
                self.release(reason.clone()).await;
                if let Some(reply) = reply {
                    reply.send(Err(reason));
                }
                return;
            }
            result = self.record_end(&end) => result,
        };
        self.interrupting.drain(..).for_each(|reply| {
            let _ = reply.send(Ok(true));
        });
        // Hooks of the last turn end before the SessionEnd hooks start.
        while self.background.join_next().await.is_some() {}
        let hooks = self.shared.hooks.clone();
        if hooks.has_event(HookEvent::SessionEnd) {
            let data = HookData::SessionEnd { reason: end.reason.clone() };
            hooks.run_event(data).await;
        }
        let (session, reason) = (self.shared.id.clone(), end.reason);
        self.release(SessionError::Closed { session, reason }).await;
        if let Some(reply) = reply {
            reply.send(result);
        }
    }

    /// Stops the running work and records the end.
    async fn record_end(&mut self, end: &Closed) -> Result<(), SessionError> {
        self.stop_work(end).await;
        // After the work has ended, so that `closed` is the last event of this writer.
        let result = self.recorder.close(end.clone()).await.map_err(SessionError::from);
        if let Err(error) = &result {
            tracing::warn!(%error, "could not record the end of the session");
        }
        result
    }

    async fn stop_work(&mut self, end: &Closed) {
        match &mut self.work {
            Some(Work::Turn(drive)) => {
                let note = Some(end.message.as_ref().unwrap_or(&end.reason).clone());
                drive.interrupt(&mut self.recorder, Cause::Shutdown, note, true).await;
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
}
