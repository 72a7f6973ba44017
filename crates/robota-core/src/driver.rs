//! The one driver: runs a [`Turn`] against a provider, tools, a gate and a journal. Both the
//! ephemeral agent and the durable session step it, so there is only one match over effects.
//!
//! Each effect is a task that ends in an [`Input`] for the machine. The driver starts the effects
//! in order, each one only when the append before it is durable. The driver makes no decisions.

mod checkpoints;
mod config;
mod model;
mod recorder;
mod redact;
mod task_events;
mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

pub use config::{Ports, SessionConfig};
use model::{ModelRun, ModelScope};
pub use recorder::{APPEND_RETRIES, Observer, Recorder, SNAPSHOT_EVERY};
pub use redact::redact_reply;
use task_events::TaskEventQueue;
use tasks::Tasks;

use crate::approve::Answer;
use crate::call::CallContext;
use crate::error::{Diagnose as _, ErrorData};
use crate::event::{Event, ModelAsked, PrefixChange, PrefixChanged, PromptSet, ToolsSet, TurnEnd};
use crate::gate::FailedGate;
use crate::guard::guarded;
use crate::hook::HookPoint;
use crate::ids::{CallId, InputId, TurnId};
use crate::journal::JournalError;
use crate::message::Cause;
use crate::provider::Provider;
use crate::telemetry;
use crate::tool::ToolSet;
use crate::turn::{
    Effect, Env, HookPoints, Input, Target, Turn, TurnFacts, TurnInput, TurnReport, TurnRules,
};

/// The reason of a denial for an approver that failed.
const APPROVER_PANICKED: &str = "the approver panicked, so the call is denied";

/// Runs one turn. The owner of the recorder waits until it is [`ready`](Drive::ready), then calls
/// [`step`](Drive::step), until `step` returns a report. Between two steps the owner may append its
/// own events. Dropping the drive cancels everything that the turn started; the turn stays open in
/// the recorder's state until [`close_turn`](crate::close::close_turn) closes it.
pub struct Drive {
    ports: Ports,
    config: SessionConfig,
    turn: Turn,
    started: Instant,
    inputs: VecDeque<Input>,
    model: Option<ModelRun>,
    tasks: Tasks,
    task_events: TaskEventQueue,
    /// The parent of every call's context; cancelled when the drive is dropped.
    context: CallContext,
    span: Span,
    /// The span of the current round, and its number.
    round: (Span, u32),
    /// An append failed: no more effects start, and events are recorded without being written.
    broken: bool,
    report: Option<TurnReport>,
}

impl Drive {
    /// Denies every call that is judged from now on, because the gate failed.
    #[doc(hidden)]
    pub fn deny_calls(&mut self) {
        self.ports.gate = Arc::new(FailedGate);
    }

    /// Starts a turn.
    ///
    /// # Errors
    /// When the journal cannot be written before the turn has started.
    pub async fn start(
        ports: Ports,
        config: SessionConfig,
        recorder: &mut Recorder,
        input: TurnInput,
    ) -> Result<Self, JournalError> {
        // Before the turn exists: its first request has to contain what is announced here.
        let facts = announce(&ports, &config, recorder).await?;
        let (turn, effects) = {
            let env = Env { state: recorder.state(), ids: &*ports.ids, elapsed: Duration::ZERO };
            Turn::start(config.turn.clone(), facts, input, &env)
        };
        let task_events = TaskEventQueue::default();
        let context = CallContext {
            session: recorder.state().session.clone(),
            turn: Some(turn.id().clone()),
            blobs: ports.blobs(),
            redactor: config.redactor.clone(),
            hooks: ports.hooks.clone(),
            ..CallContext::detached()
        };
        let (session, provider) = (context.session.as_ref(), provider_name(&*ports.provider));
        let span = telemetry::turn_span(session, turn.id(), &config.turn.model, &provider);
        let mut drive = Self {
            round: (span.clone(), 0),
            span,
            tasks: Tasks::new(task_events.clone(), context.clone()),
            ports,
            config,
            turn,
            started: Instant::now(),
            inputs: VecDeque::new(),
            model: None,
            task_events,
            context,
            broken: false,
            report: None,
        };
        let span = drive.span.clone();
        tracing::debug!(parent: &span, model = %drive.config.turn.model, "turn starts");
        drive.perform(recorder, effects).instrument(span).await;
        Ok(drive)
    }

    /// Returns the id that all events of the turn carry.
    #[must_use]
    pub fn id(&self) -> &TurnId {
        self.turn.id()
    }

    /// Returns the input that the turn has taken to run the UserPromptSubmit hooks on it.
    #[must_use]
    pub fn prompted_input(&self) -> Option<&InputId> {
        self.turn.prompted_input()
    }

    /// Returns the rules of the turn, with the limits of the model that it found out.
    #[must_use]
    pub fn rules(&self) -> &TurnRules {
        self.turn.rules()
    }

    /// Returns when the turn has something to do. Cancel safe.
    pub async fn ready(&mut self) {
        // The report is kept until the next step, so a caller that drops this future loses nothing.
        if !self.inputs.is_empty() || self.report.is_some() {
            return;
        }
        tokio::select! {
            biased;
            // Biased: what a task reported is appended before its outcome, and a fast stream does
            // not delay outcomes.
            () = self.task_events.ready() => {}
            Some(input) = self.tasks.next() => self.inputs.push_back(input),
            inputs = ModelRun::next(&mut self.model) => self.inputs.extend(inputs),
        }
    }

    /// Does one unit of work. Returns the report once the turn is over. Not cancel safe: await it
    /// to its end, or drop the drive.
    pub async fn step(&mut self, recorder: &mut Recorder) -> Option<TurnReport> {
        let span = self.span.clone();
        self.work(recorder).instrument(span).await;
        let mut report = self.report.take()?;
        report.duration = self.started.elapsed();
        telemetry::record_turn(&self.span, &report);
        tracing::debug!(parent: &self.span, end = ?report.end, rounds = report.rounds, "turn ends");
        Some(report)
    }

    async fn work(&mut self, recorder: &mut Recorder) {
        if self.report.is_none() {
            match self.inputs.pop_front() {
                Some(input) => self.feed(recorder, input).await,
                None => {
                    if !self.task_events.is_empty()
                        && let Err(error) = self.append(recorder, Vec::new()).await
                    {
                        self.append_failed(error.to_data(), Vec::new());
                    }
                }
            }
        }
    }

    /// Interrupts the turn. What has arrived from the model is kept, no more effects start, and
    /// running tasks are cancelled. The turn ends once its running calls have ended. If the user is the
    /// cause, the inputs that wait are cancelled too, unless they are kept.
    pub async fn interrupt(
        &mut self,
        recorder: &mut Recorder,
        cause: Cause,
        note: Option<String>,
        keep_inputs: bool,
    ) {
        // Text that arrived before the interrupt belongs to the answer, so it is processed first.
        let arrived = self.model.as_mut().map(ModelRun::take_arrived).unwrap_or_default();
        self.inputs.extend(arrived);
        while self.report.is_none()
            && let Some(input) = self.inputs.pop_front()
        {
            self.feed(recorder, input).await;
        }
        if self.report.is_none() {
            self.feed(recorder, Input::Abort { cause, note, keep_inputs }).await;
        }
    }

    /// Cancels an input that the turn has taken for a later round, if its UserPromptSubmit hooks still
    /// run. The turn continues without it. Returns whether it was cancelled.
    pub async fn withdraw(&mut self, recorder: &mut Recorder, input: &InputId) -> bool {
        // The hooks may have answered: then the input is a message already.
        while self.report.is_none()
            && let Some(arrived) = self.inputs.pop_front()
        {
            self.feed(recorder, arrived).await;
        }
        let runs = self.report.is_none() && self.prompted_input() == Some(input);
        if runs {
            self.feed(recorder, Input::Withdraw { input: input.clone() }).await;
        }
        runs && !recorder.state().inputs.contains_key(input)
    }

    async fn feed(&mut self, recorder: &mut Recorder, mut input: Input) {
        redact::redact(&self.config.redactor, &mut input);
        // Tools may change only between two model calls, and the machine prepares the next call
        // after an append.
        if matches!(input, Input::Appended)
            && let Err(error) = self.refresh_tools(recorder).await
        {
            self.append_failed(error.to_data(), Vec::new());
            return;
        }
        if matches!(input, Input::ToolFinished { .. }) {
            // A call can add hooks (a skill, for instance), which apply from the next call on.
            self.turn.set_hook_points(hook_points(&self.ports));
        }
        // The machine gets a borrowed state and returns before anything is performed, so it cannot
        // see half of a step.
        let effects = {
            let elapsed = self.started.elapsed();
            let env = Env { state: recorder.state(), ids: &*self.ports.ids, elapsed };
            self.turn.on(input, &env)
        };
        self.perform(recorder, effects).await;
    }

    /// Takes over tools that have changed, if the next model call is being prepared: no call of an
    /// answer is open then.
    async fn refresh_tools(&mut self, recorder: &mut Recorder) -> Result<(), JournalError> {
        // A broken drive closes its turn; other tools would only be one more event that cannot be
        // written.
        if self.broken || !self.turn.is_preparing() {
            return Ok(());
        }
        let live = self.ports.live_tools.as_ref();
        let changed = live.and_then(|live| guarded("a source of tools", || live.changed())?);
        let Some(tools) = changed else { return Ok(()) };
        let before = std::mem::replace(&mut self.ports.tools, tools);
        guarded("a tool", || drop(before));
        let events = tool_events(&self.ports.tools, recorder);
        let (names, awaited) = (self.ports.tools.callable_names(), self.ports.tools.awaited());
        self.turn.set_tools(names, awaited, offered_sha256(&self.ports.tools));
        if events.is_empty() { Ok(()) } else { self.append(recorder, events).await }
    }

    /// Starts effects, in order.
    async fn perform(&mut self, recorder: &mut Recorder, effects: Vec<Effect>) {
        let mut unannounced = Vec::new();
        for effect in &effects {
            // Before the journal says that the user is asked, because a client may answer
            // immediately.
            if let Effect::AskPermission(question) = effect
                && guarded("the gate", || self.ports.gate.may_ask()) == Some(true)
                && guarded("the approver", || self.ports.approver.announce(question)).is_none()
            {
                unannounced.push(question.call.call.clone());
            }
        }
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Append(events) => {
                    if let Err(error) = self.append(recorder, events).await {
                        self.append_failed(error.to_data(), effects.into());
                        return;
                    }
                    // Queued and not fed now: the remaining effects of this list start first.
                    self.inputs.push_back(Input::Appended);
                }
                Effect::Finish(report) => self.report = Some(report),
                Effect::Cancel(target) => {
                    match &target {
                        Target::Model => self.model = None,
                        // Withdraw the question now: the aborted task may end later, and until then a
                        // client could answer.
                        Target::Question(call) => self.withdraw_question(call),
                        _ => {}
                    }
                    self.tasks.cancel(&target);
                }
                // After a failed append no further effect starts.
                _ if self.broken => {}
                Effect::AskPermission(question) if unannounced.contains(&question.call.call) => {
                    let call = question.call.call;
                    self.withdraw_question(&call);
                    let note = Some(APPROVER_PANICKED.to_owned());
                    self.inputs.push_back(Input::Answered { call, answer: Answer::Deny { note } });
                }
                Effect::CallModel(call) => {
                    if self.round.1 != call.round {
                        self.round = (telemetry::round_span(&self.span, call.round), call.round);
                    }
                    let scope = ModelScope {
                        context: self.context.child(),
                        task_events: &self.task_events,
                        round: &self.round.0,
                    };
                    let (ports, config) = (&self.ports, &self.config);
                    self.model =
                        Some(ModelRun::start(ports, config, recorder.state(), call, scope));
                }
                effect => {
                    let (ports, config) = (&self.ports, &self.config);
                    self.tasks.start(effect, ports, config, recorder.state(), &self.round.0);
                }
            }
        }
    }

    fn withdraw_question(&self, call: &CallId) {
        guarded("the approver", || self.ports.approver.withdraw(call));
    }

    async fn append(
        &mut self,
        recorder: &mut Recorder,
        events: Vec<Event>,
    ) -> Result<(), JournalError> {
        // The tasks reported these events before the machine emitted its own.
        let (mut batch, mut acks) = (Vec::new(), Vec::new());
        for (event, ack) in self.task_events.take() {
            // Tokens of a compaction that no summary counts. The fold adds them to the turn, too.
            if let Event::ModelAsked(ModelAsked { usage: Some(usage), .. }) = &event {
                self.turn.count(*usage);
            }
            batch.push(event);
            acks.extend(ack);
        }
        batch.extend(events);
        let turn = Some(self.turn.id());
        if self.broken {
            // Dropping the senders reports to the waiting tasks that nothing was written.
            // Recorded without being written: the fold has to be complete, because closing the turn
            // reads it.
            recorder.record(turn, batch);
            return Ok(());
        }
        let result = recorder.append(turn, batch).await;
        // Set before the tasks get the answer: a tool that learns of the failure must not start anything.
        self.broken = result.is_err();
        for ack in acks {
            // Fails only if the task was cancelled; then nothing waits for the answer.
            let _ = ack.send(result.clone());
        }
        result
    }

    fn append_failed(&mut self, error: ErrorData, dropped: Vec<Effect>) {
        // These inputs answer effects of a turn that is closed now; running calls still report
        // their outcomes.
        self.inputs.clear();
        let mut finished = None;
        for effect in &dropped {
            match effect {
                Effect::AskPermission(question) => {
                    self.withdraw_question(&question.call.call);
                }
                Effect::Finish(report) => finished = Some(report.clone()),
                _ => {}
            }
        }
        match finished {
            Some(report) => {
                // The machine has finished the turn, so only the report can carry the failure.
                let end = TurnEnd::StoreFailed;
                self.report = Some(TurnReport { end, error: Some(error), ..report });
            }
            None => self.inputs.push_back(Input::AppendFailed { error, dropped }),
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        // Cancelled first: a task that wakes up because the queue closes finds its token cancelled.
        self.context.cancel.cancel();
        // Tasks that wait for an append get an error instead of waiting for a drive that is gone.
        self.task_events.close();
    }
}

/// Runs one turn to its end and returns its report. Dropping the future cancels everything that the
/// turn started and leaves the turn open in the recorder's state.
pub async fn run_turn(
    ports: Ports,
    config: SessionConfig,
    recorder: &mut Recorder,
    input: TurnInput,
    cancel: &CancellationToken,
) -> TurnReport {
    let mut drive = match Drive::start(ports, config, recorder, input).await {
        Ok(drive) => drive,
        Err(error) => return TurnReport::not_started(error.to_data()),
    };
    let mut cancelled = false;
    loop {
        tokio::select! {
            biased;
            // The token stays cancelled; without the condition this branch would win forever.
            () = cancel.cancelled(), if !cancelled => {
                cancelled = true;
                drive.interrupt(recorder, Cause::User, None, false).await;
            }
            () = drive.ready() => {
                if let Some(report) = drive.step(recorder).await {
                    return report;
                }
            }
        }
    }
}

/// Returns the points that have hooks now.
fn hook_points(ports: &Ports) -> HookPoints {
    // If it panics, the point counts as one with a hook: hooks never fail open.
    let has_hook =
        |point: &HookPoint| guarded("a hook", || ports.hooks.has_point(*point)).unwrap_or(true);
    HookPoints::new(HookPoint::ALL.into_iter().filter(has_hook))
}

/// Returns the name of the provider, which events and spans carry.
fn provider_name(provider: &dyn Provider) -> String {
    let name = guarded("the provider", || provider.name().to_owned());
    name.unwrap_or_else(|| telemetry::OTHER.to_owned())
}

/// Determines what the model is offered in this turn, and records what changed since the last one.
async fn announce(
    ports: &Ports,
    config: &SessionConfig,
    recorder: &mut Recorder,
) -> Result<TurnFacts, JournalError> {
    let mut facts = TurnFacts {
        provider: provider_name(&*ports.provider),
        has_compactor: ports.compactor.is_some(),
        assumed_limits: config.turn.has_assumed_limits(),
        hooks: hook_points(ports),
        tools: ports.tools.callable_names(),
        awaited: ports.tools.awaited(),
        ..TurnFacts::default()
    };
    let mut events: Vec<Event> = Vec::new();

    let prompt = config.system.clone().unwrap_or_else(|| Arc::from(""));
    let prompt_sha256 = crate::message::BlobRef::of(prompt.as_bytes()).sha256;
    let known = recorder.state().prompt.as_ref().map(|prompt| prompt.sha256.as_str());
    if known != Some(&prompt_sha256) && (known.is_some() || !prompt.is_empty()) {
        // Only a change costs the cache of the service; the first prompt of a session is no change.
        if known.is_some() {
            events.push(PrefixChanged { cause: PrefixChange::Prompt }.into());
        }
        events.push(PromptSet { sha256: prompt_sha256.clone(), text: prompt.to_string() }.into());
    }
    facts.prompt_sha256 = config.system.is_some().then_some(prompt_sha256);

    events.extend(tool_events(&ports.tools, recorder));
    facts.tools_sha256 = offered_sha256(&ports.tools);
    if !events.is_empty() {
        recorder.append(None, events).await?;
    }
    Ok(facts)
}

/// Returns the events that record the offered tools, if they differ from the recorded ones.
fn tool_events(tools: &ToolSet, recorder: &Recorder) -> Vec<Event> {
    let known = recorder.state().tools.as_ref().map(|tools| tools.sha256.as_str());
    if known == Some(tools.sha256()) || (known.is_none() && tools.is_empty()) {
        return Vec::new();
    }
    let change = known.map(|_| PrefixChanged { cause: PrefixChange::Tools }.into());
    let set = ToolsSet { sha256: tools.sha256().to_owned(), tools: tools.specs().to_vec() };
    change.into_iter().chain([set.into()]).collect()
}

/// Returns the hash of the offered tools; none if there are none.
fn offered_sha256(tools: &ToolSet) -> Option<String> {
    (!tools.is_empty()).then(|| tools.sha256().to_owned())
}
