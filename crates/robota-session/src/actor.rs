//! The task that owns a session: its journal, its mailbox, and what runs.
//!
//! While a turn runs it has the recorder; the actor speaks to it through the driver's commands.
//! Everything else waits here.

mod compaction;
mod handle;
mod request;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use robota_core::driver::{Command, Mailbox, Recorder, run_turn};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{Delivery, Event, InputCancelled, TurnEnd};
use robota_core::hook::{EventDecision, HookData, HookEvent, Hooks as _, SessionSource};
use robota_core::ids::{InputId, SessionId};
use robota_core::journal::{JournalError, JournalStore, LostReason};
use robota_core::message::Cause;
use robota_core::state::State;
use robota_core::tool::{ToolNameTaken, ToolSet};
use robota_core::turn::{TurnInput, TurnReport};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

pub(crate) use request::{Accepted, Reply, Request, Rewrite};

use crate::changes::TurnDoor;
use crate::desk::Desk;
use crate::error::SessionError;
use crate::hooks::HookChain;
use crate::live::Live;
use crate::open::Strategy;
use crate::parts::Parts;
use crate::recover::Evidence;

/// Commands that may wait for a turn to hear them.
const COMMANDS: usize = 64;

/// What the task and the handles of a session share. It holds no way to speak to the task: the
/// last handle that is dropped ends the session.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) live: Arc<Live>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) chain: Arc<HookChain>,
    /// How running calls get to the journal.
    pub(crate) door: Arc<TurnDoor>,
    makeup: RwLock<Makeup>,
}

/// What the next turn is made of.
pub(crate) struct Makeup {
    pub(crate) parts: Parts,
    pub(crate) tools: ToolSet,
}

impl Shared {
    pub(crate) fn new(
        id: SessionId,
        store: Arc<dyn JournalStore>,
        live: Arc<Live>,
        chain: Arc<HookChain>,
        parts: Parts,
    ) -> Result<Arc<Self>, ToolNameTaken> {
        let door = Arc::new(TurnDoor::default());
        let (desk, tools) = (parts.desk(), parts.tool_set(&*store, &id, &door)?);
        let makeup = RwLock::new(Makeup { parts, tools });
        Ok(Arc::new(Self { id, store, live, desk, chain, door, makeup }))
    }

    pub(crate) fn makeup(&self) -> RwLockReadGuard<'_, Makeup> {
        self.makeup.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn makeup_mut(&self) -> RwLockWriteGuard<'_, Makeup> {
        self.makeup.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a session's task begins.
pub(crate) struct Beginning {
    pub(crate) source: SessionSource,
    /// What becomes of what a dead writer left open.
    pub(crate) recovery: Option<Strategy>,
    pub(crate) evidence: Vec<Evidence>,
    /// The writer before said that it was done, and left nothing open.
    pub(crate) closed: bool,
    /// Something is open and waits for the caller's choice.
    pub(crate) open: bool,
    /// Inputs wait for the next one.
    pub(crate) hold: bool,
    /// A turn that was cut short is gone on with.
    pub(crate) go_on: bool,
}

impl Beginning {
    pub(crate) fn new(source: SessionSource) -> Self {
        let (recovery, evidence) = (None, Vec::new());
        let (closed, open, hold, go_on) = (false, false, false, false);
        Self { source, recovery, evidence, closed, open, hold, go_on }
    }
}

/// How what ran ended.
enum Ended {
    Turn(TurnReport),
    Compaction,
}

/// What runs.
struct Running {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<(Recorder, Ended)>,
}

pub(crate) struct Actor {
    shared: Arc<Shared>,
    requests: mpsc::Receiver<Request>,
    /// None while something runs.
    recorder: Option<Recorder>,
    running: Option<Running>,
    /// Inputs that an interrupt cancels once the turn is over.
    cancelled: Vec<InputId>,
    /// Told when what runs has ended.
    waiting: Vec<oneshot::Sender<()>>,
    /// Requests that wait until nothing runs.
    deferred: Vec<Request>,
    beginning: Beginning,
    lost: CancellationToken,
    /// Hooks nobody waits for, but the end.
    chores: JoinSet<()>,
}

/// Whether the task goes on.
enum Flow {
    On,
    Over,
}

impl Actor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        requests: mpsc::Receiver<Request>,
        recorder: Recorder,
        beginning: Beginning,
    ) -> Self {
        let lost = recorder.lost();
        Self {
            shared,
            requests,
            recorder: Some(recorder),
            running: None,
            cancelled: Vec::new(),
            waiting: Vec::new(),
            deferred: Vec::new(),
            beginning,
            lost,
            chores: JoinSet::new(),
        }
    }

    /// Lives until it is shut down, dropped or lost.
    pub(crate) async fn run(mut self) {
        self.begin().await;
        loop {
            self.go_on().await;
            let Self { running, requests, lost, .. } = &mut self;
            let flow = tokio::select! {
                biased;
                () = lost.cancelled() => self.lose(),
                joined = join(running) => self.ended(joined).await,
                request = requests.recv() => match request {
                    Some(request) => self.handle(request).await,
                    None => self.close("dropped", None).await,
                },
            };
            if matches!(flow, Flow::Over) {
                return;
            }
        }
    }

    /// SessionStart, before anything else happens. Its words go with the next input.
    async fn begin(&mut self) {
        let chain = self.shared.chain.clone();
        if chain.stands_at(HookEvent::SessionStart) {
            let model = Some(self.shared.makeup().parts.config.turn.model.clone());
            let data = HookData::SessionStart { source: self.beginning.source, model };
            if let EventDecision::Continue { context } = chain.run_event(data).await.decision {
                chain.started_with(context);
            }
        }
        if std::mem::take(&mut self.beginning.go_on) && !self.beginning.open {
            // Nothing to continue is no failure here.
            let _ = self.continue_turn().await;
        }
    }

    /// Starts what can start, or says that nothing runs.
    async fn go_on(&mut self) {
        while self.running.is_none() && self.recorder.is_some() {
            self.cancel_inputs().await;
            if !self.deferred.is_empty() {
                let request = self.deferred.remove(0);
                let _ = self.handle(request).await;
                continue;
            }
            let held = self.beginning.hold || self.beginning.open;
            let next = self.recorder.as_ref().filter(|_| !held).and_then(|recorder| {
                let (id, input) = recorder.state().inputs.first()?;
                let content = input.content.clone();
                Some(TurnInput::Message { input: Some(id.clone()), content })
            });
            let rests = next.is_none();
            self.shared.live.set_busy(!rests);
            self.waiting.drain(..).for_each(|waiting| {
                let _ = waiting.send(());
            });
            match next {
                Some(input) => self.start(input),
                None => return,
            }
        }
    }

    /// Begins a turn in a task of its own.
    fn start(&mut self, input: TurnInput) {
        let Some(mut recorder) = self.recorder.take() else { return };
        self.shared.live.set_busy(true);
        let (ports, config) = {
            let Makeup { parts, tools } = &*self.shared.makeup();
            (parts.ports(tools, &self.shared.desk, &self.shared.chain), parts.config.clone())
        };
        let (sender, commands) = mpsc::channel(COMMANDS);
        self.shared.door.open(&sender);
        for (id, other) in recorder.state().inputs.iter().skip(1) {
            if other.delivery == Delivery::NextRound {
                let (input, content) = (id.clone(), other.content.clone());
                // One too many stays in the state and is delivered afterwards.
                let _ = sender.try_send(Command::Send { input, content });
            }
        }
        let span = tracing::info_span!("session", session = %self.shared.id);
        let turn = async move {
            let mut mailbox = Mailbox { commands, cancel: CancellationToken::new() };
            let report = run_turn(&ports, &config, &mut recorder, input, &mut mailbox).await;
            (recorder, Ended::Turn(report))
        };
        let task = tokio::spawn(tracing::Instrument::instrument(turn, span));
        self.running = Some(Running { commands: sender, task });
    }

    /// What ran is over: the recorder is back.
    async fn ended(&mut self, joined: Result<(Recorder, Ended), JoinError>) -> Flow {
        self.running = None;
        let (recorder, ended) = match joined {
            Ok(ended) => ended,
            Err(error) => {
                let text = format!("the session's work ended in an unexpected way: {error}");
                let data = ErrorData::new(ErrorKind::Plugin, text)
                    .with_hint("resume the session: nothing acknowledged is lost");
                self.shared.live.end(SessionError::Failed(data));
                return Flow::Over;
            }
        };
        self.recorder = Some(recorder);
        if let Ended::Turn(report) = ended {
            if report.end == TurnEnd::StoreFailed {
                // Trying the same again at once would not help; the next input does.
                self.beginning.hold = true;
                if let Some(recorder) = &mut self.recorder {
                    let owed = recorder.settle().await;
                    self.notice(owed.err().as_ref());
                }
                let unknown = || ErrorData::new(ErrorKind::Storage, "the journal failed");
                self.shared.live.fail(report.error.clone().unwrap_or_else(unknown));
            }
            self.tell_failure(&report);
        }
        Flow::On
    }

    /// What waited behind a turn that was interrupted is told that nobody will deliver it.
    async fn cancel_inputs(&mut self) {
        let cancelled = std::mem::take(&mut self.cancelled);
        let still = |state: &State, input: &InputId| state.inputs.contains_key(input);
        let events: Vec<Event> = self.recorder.as_ref().map_or(Vec::new(), |recorder| {
            let gone = cancelled.into_iter().filter(|input| still(recorder.state(), input));
            gone.map(|input| InputCancelled { input, cause: Cause::User }.into()).collect()
        });
        if !events.is_empty()
            && let Err(error) = self.append(events).await
        {
            // They stay, and are delivered: nothing acknowledged is lost.
            tracing::warn!(%error, "inputs could not be cancelled");
        }
    }

    /// StopFailure, for whoever wants to know.
    fn tell_failure(&mut self, report: &TurnReport) {
        let failed = matches!(report.end, TurnEnd::ProviderFailed | TurnEnd::StoreFailed);
        let chain = self.shared.chain.clone();
        if !failed || !chain.stands_at(HookEvent::StopFailure) {
            return;
        }
        let error = report.error.as_ref();
        let data = HookData::StopFailure {
            error: error.map_or("unknown", |error| error.kind.code()).to_owned(),
            error_details: error.map(|error| error.message.clone()),
            last_assistant_message: (!report.text.is_empty()).then(|| report.text.clone()),
        };
        self.chores.spawn(async move {
            chain.run_event(data).await;
        });
    }

    /// Somebody else has the session: what runs for it ends now.
    fn lose(&mut self) -> Flow {
        if let Some(running) = self.running.take() {
            // Dropping the turn ends everything it started.
            running.task.abort();
        }
        let reason = LostReason::TakenOver { owner: None };
        let session = self.shared.id.clone();
        self.shared.live.end(JournalError::Lost { session, reason }.into());
        Flow::Over
    }

    /// A journal that says it belongs to somebody else is lost, whoever heard it first.
    fn notice(&self, error: Option<&JournalError>) {
        if matches!(error, Some(JournalError::Lost { .. })) {
            self.lost.cancel();
        }
    }

    /// Appends, directly or through what runs.
    async fn append(&mut self, events: Vec<Event>) -> Result<(), SessionError> {
        loop {
            if let Some(recorder) = &mut self.recorder {
                let result = recorder.append(None, events).await;
                self.notice(result.as_ref().err());
                return Ok(result?);
            }
            let Some(running) = &mut self.running else { return Err(self.why_ended()) };
            let (done, appended) = oneshot::channel();
            let command = Command::Append { events: events.clone(), done };
            if running.commands.send(command).await.is_ok()
                && let Ok(result) = appended.await
            {
                self.notice(result.as_ref().err());
                return Ok(result?);
            }
            // It ended meanwhile, without hearing this.
            let joined = (&mut running.task).await;
            if let Flow::Over = Box::pin(self.ended(joined)).await {
                return Err(self.why_ended());
            }
        }
    }

    /// Looks at the state, directly or through what runs.
    async fn inspect<T: Send + 'static>(
        &mut self,
        look: impl Fn(&State) -> T + Clone + Send + 'static,
    ) -> Result<T, SessionError> {
        loop {
            if let Some(recorder) = &self.recorder {
                return Ok(look(recorder.state()));
            }
            let Some(running) = &mut self.running else { return Err(self.why_ended()) };
            let (told, seen) = oneshot::channel();
            let look = look.clone();
            let command = Command::Inspect(Box::new(move |state| {
                let _ = told.send(look(state));
            }));
            if running.commands.send(command).await.is_ok()
                && let Ok(seen) = seen.await
            {
                return Ok(seen);
            }
            let joined = (&mut running.task).await;
            if let Flow::Over = Box::pin(self.ended(joined)).await {
                return Err(self.why_ended());
            }
        }
    }

    fn why_ended(&self) -> SessionError {
        self.shared.live.why_ended(&self.shared.id)
    }
}

/// The end of what runs; never, while nothing does.
async fn join(running: &mut Option<Running>) -> Result<(Recorder, Ended), JoinError> {
    match running {
        Some(running) => (&mut running.task).await,
        None => std::future::pending().await,
    }
}
