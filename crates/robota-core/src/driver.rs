//! The one driver: runs a [`Turn`] against a provider, tools, a gate and a journal. The
//! ephemeral agent and the durable session both use it; neither has a second match over
//! effects.
//!
//! Each effect is a task that ends in an [`Input`]. The driver starts them, in order, each only
//! when the append before it is durable; it decides nothing.

mod model;
mod recorder;
mod redact;
mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use model::ModelRun;
pub use recorder::{Observer, Recorder, SNAPSHOT_EVERY};
pub use redact::redact_reply;
use tasks::Tasks;

use crate::approve::Approver;
use crate::compact::Compactor;
use crate::error::{Diagnose as _, ErrorData};
use crate::event::{Event, PrefixChange, PrefixChanged, PromptSet, ToolsSet, TurnEnd};
use crate::gate::Gate;
use crate::hook::{HookPoint, Hooks};
use crate::ids::{Ids, InputId};
use crate::journal::JournalError;
use crate::message::{Block, Cause};
use crate::provider::{NativeWeb, Provider};
use crate::redact::Redactor;
use crate::state::State;
use crate::tool::ToolSet;
use crate::turn::{Effect, Env, HookPoints, Input, Turn, TurnConfig, TurnInput, TurnReport};

/// What a turn runs against. There is no driver without a gate.
#[derive(Clone)]
pub struct Ports {
    /// The model's service.
    pub provider: Arc<dyn Provider>,
    /// The tools.
    pub tools: ToolSet,
    /// Judges every call.
    pub gate: Arc<dyn Gate>,
    /// Is asked when the gate says so.
    pub approver: Arc<dyn Approver>,
    /// The user's hooks.
    pub hooks: Arc<dyn Hooks>,
    /// Summarises; without one a full context ends the turn.
    pub compactor: Option<Arc<dyn Compactor>>,
    /// Mints ids.
    pub ids: Arc<dyn Ids>,
}

/// How a turn runs: the machine's rules, and what only the driver needs.
#[derive(Debug, Clone)]
pub struct DriveConfig {
    /// The machine's rules. Tools, hooks and hashes in it are filled in by the driver.
    pub turn: TurnConfig,
    /// The system prompt.
    pub system: Option<Arc<str>>,
    /// How adventurous the model is to be.
    pub temperature: Option<f64>,
    /// Native web tools for every call.
    pub native_web: NativeWeb,
    /// Options for the provider, passed on as they are.
    pub options: Map<String, Value>,
    /// A stream silent for longer than this has failed.
    pub idle_timeout: Duration,
    /// A tool that was told to stop is abandoned after this.
    pub tool_grace: Duration,
    /// A call that runs longer is stopped, unless its tool says another limit; none has no limit.
    pub tool_timeout: Option<Duration>,
    /// What the user wants kept when the conversation is summarised.
    pub compact_instructions: Option<String>,
    /// Whether what went over the wire is journaled.
    pub record_payloads: bool,
    /// Takes secrets out of what tools, hooks and services say.
    pub redactor: Redactor,
}

impl DriveConfig {
    /// The defaults around these rules.
    #[must_use]
    pub fn new(turn: TurnConfig) -> Self {
        Self {
            turn,
            system: None,
            temperature: None,
            native_web: NativeWeb::default(),
            options: Map::new(),
            idle_timeout: Duration::from_secs(120),
            tool_grace: Duration::from_secs(5),
            tool_timeout: None,
            compact_instructions: None,
            record_payloads: false,
            redactor: Redactor::default(),
        }
    }
}

/// What can be said to a running turn.
pub enum Command {
    /// End now.
    Abort {
        /// Why.
        cause: Cause,
        /// In whose words.
        note: Option<String>,
    },
    /// Deliver an accepted input before the next model call.
    Send {
        /// Its id.
        input: InputId,
        /// What it says.
        content: Vec<Block>,
    },
    /// Append events that happen beside the turn: while it runs it has the journal.
    Append {
        /// The events.
        events: Vec<Event>,
        /// Is told when they are safe, or that they are not. Whoever does not wait drops the
        /// other end.
        done: oneshot::Sender<Result<(), JournalError>>,
    },
    /// Look at the state: while the turn runs it has that too.
    Inspect(Box<dyn FnOnce(&State) + Send>),
}

/// How a running turn is spoken to.
pub struct Mailbox {
    /// Commands; a closed channel says nothing more.
    pub commands: mpsc::Receiver<Command>,
    /// The shortest command: stop, the user says so.
    pub cancel: CancellationToken,
}

impl Mailbox {
    /// Nobody speaks; the token still stops the turn.
    #[must_use]
    pub fn silent(cancel: CancellationToken) -> Self {
        Self { commands: mpsc::channel(1).1, cancel }
    }
}

/// Runs one turn to its end. It always ends with a report; dropping the future ends everything
/// the turn started.
pub async fn run_turn(
    ports: &Ports,
    config: &DriveConfig,
    recorder: &mut Recorder,
    input: TurnInput,
    mailbox: &mut Mailbox,
) -> TurnReport {
    let mut config = config.clone();
    if let Err(error) = announce(ports, &mut config, recorder).await {
        return TurnReport::not_started(error.to_data());
    }
    let started = Instant::now();
    let (turn, effects) = {
        let env = Env { state: recorder.state(), ids: &*ports.ids, elapsed: Duration::ZERO };
        Turn::start(config.turn.clone(), input, &env)
    };
    let (side, side_events) = mpsc::channel(SIDE_EVENTS);
    let mut drive = Drive {
        ports,
        config: &config,
        recorder,
        turn,
        started,
        inputs: VecDeque::new(),
        model: None,
        tasks: Tasks::new(side.clone(), config.tool_grace, config.redactor.clone()),
        side,
        side_events,
        broken: false,
        report: None,
        cancelled: false,
    };
    tracing::debug!(turn = %drive.turn.id(), model = %config.turn.model, "turn begins");
    drive.perform(effects).await;
    loop {
        if let Some(report) = drive.report.take() {
            tracing::debug!(end = ?report.end, rounds = report.rounds, "turn ends");
            return report;
        }
        let mut input = match drive.inputs.pop_front() {
            Some(input) => input,
            None => drive.next_input(mailbox).await,
        };
        redact::redact(&config.redactor, &mut input);
        let effects = {
            let env = Env {
                state: drive.recorder.state(),
                ids: &*ports.ids,
                elapsed: drive.started.elapsed(),
            };
            drive.turn.on(input, &env)
        };
        drive.perform(effects).await;
    }
}

/// At most this many events beside the turn (output, payloads) wait to be appended; a tool that
/// floods them loses the surplus of what it *shows*, never of its result.
const SIDE_EVENTS: usize = 1024;

struct Drive<'a> {
    ports: &'a Ports,
    config: &'a DriveConfig,
    recorder: &'a mut Recorder,
    turn: Turn,
    started: Instant,
    inputs: VecDeque<Input>,
    model: Option<ModelRun>,
    tasks: Tasks,
    side: mpsc::Sender<Event>,
    side_events: mpsc::Receiver<Event>,
    /// An append failed: nothing starts any more, and events are kept in memory.
    broken: bool,
    report: Option<TurnReport>,
    cancelled: bool,
}

impl Drive<'_> {
    /// Starts effects, in order.
    async fn perform(&mut self, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Append(events) => {
                    if let Err(error) = self.append(events).await {
                        self.append_failed(error.to_data(), effects.into());
                        return;
                    }
                    self.inputs.push_back(Input::Appended);
                }
                Effect::Finish(report) => self.report = Some(report),
                Effect::Cancel(target) => {
                    if target == crate::turn::Target::Model {
                        self.model = None;
                    }
                    self.tasks.cancel(&target);
                }
                // The machine starts nothing once an append failed.
                _ if self.broken => {}
                Effect::CallModel(call) => {
                    self.model = Some(ModelRun::start(
                        self.ports,
                        self.config,
                        self.recorder.state(),
                        call,
                        self.side.clone(),
                    ));
                }
                effect => {
                    self.tasks.start(effect, self.ports, self.config, self.recorder.state());
                }
            }
        }
    }

    async fn append(&mut self, events: Vec<Event>) -> Result<(), JournalError> {
        if self.broken {
            self.recorder.owe(Some(self.turn.id()), events);
            return Ok(());
        }
        // What was seen beside the turn happened before what the turn says now.
        let mut batch = Vec::new();
        while let Ok(event) = self.side_events.try_recv() {
            batch.push(event);
        }
        batch.extend(events);
        let events = batch;
        let kept: Vec<_> = events.iter().filter(|event| !event.is_intent()).cloned().collect();
        let result = self.recorder.append(Some(self.turn.id()), events).await;
        if result.is_err() {
            self.broken = true;
            // What was only intended never happened; everything else is still owed.
            self.recorder.owe(Some(self.turn.id()), kept);
        }
        result
    }

    fn append_failed(&mut self, error: ErrorData, dropped: Vec<Effect>) {
        self.inputs.clear();
        let finished = dropped.iter().find_map(|effect| match effect {
            Effect::Finish(report) => Some(report.clone()),
            _ => None,
        });
        match finished {
            Some(report) => {
                let end = TurnEnd::StoreFailed;
                self.report = Some(TurnReport { end, error: Some(error), ..report });
            }
            None => self.inputs.push_back(Input::AppendFailed { error, dropped }),
        }
    }

    async fn next_input(&mut self, mailbox: &mut Mailbox) -> Input {
        loop {
            tokio::select! {
                biased;
                () = mailbox.cancel.cancelled(), if !self.cancelled => {
                    self.cancelled = true;
                    return self.after_held(Input::Abort { cause: Cause::User, note: None });
                }
                Some(command) = mailbox.commands.recv() => {
                    if let Some(input) = self.heard(command).await {
                        return input;
                    }
                }
                Some(event) = self.side_events.recv() => {
                    if let Err(error) = self.append(vec![event]).await {
                        return Input::AppendFailed { error: error.to_data(), dropped: Vec::new() };
                    }
                }
                Some(input) = self.tasks.next() => return input,
                input = ModelRun::next(&mut self.model, &mut self.inputs) => return input,
            }
        }
    }
}

impl Drive<'_> {
    /// What has arrived of an answer is heard before the word that ends it.
    fn after_held(&mut self, input: Input) -> Input {
        let held = self.model.as_mut().map(ModelRun::take_held).unwrap_or_default();
        self.inputs.extend(held);
        self.inputs.push_back(input);
        self.inputs.pop_front().unwrap_or(Input::Delta(crate::provider::Delta::Activity))
    }

    /// What the turn is to hear of a command; none when it was not for the turn.
    async fn heard(&mut self, command: Command) -> Option<Input> {
        match command {
            Command::Abort { cause, note } => Some(self.after_held(Input::Abort { cause, note })),
            Command::Send { input, content } => Some(Input::Send { input, content }),
            Command::Append { events, done } => {
                // A journal that failed is not tried again for this: whoever asks is told.
                let result = self.recorder.append(None, events).await;
                let _ = done.send(result);
                None
            }
            Command::Inspect(look) => {
                look(self.recorder.state());
                None
            }
        }
    }
}

/// Freezes what the model is told for this turn, and journals it where it changed.
async fn announce(
    ports: &Ports,
    config: &mut DriveConfig,
    recorder: &mut Recorder,
) -> Result<(), JournalError> {
    let points = [
        HookPoint::UserPromptSubmit,
        HookPoint::PreToolUse,
        HookPoint::PostToolUse,
        HookPoint::Stop,
    ];
    config.turn.hooks = HookPoints::new(points.into_iter().filter(|point| ports.hooks.has(*point)));
    config.turn.tools = ports.tools.names();
    config.turn.has_compactor = ports.compactor.is_some();
    let mut events: Vec<Event> = Vec::new();

    let prompt = config.system.clone().unwrap_or_else(|| Arc::from(""));
    let prompt_sha256 = crate::message::BlobRef::of(prompt.as_bytes()).sha256;
    let known = recorder.state().prompt.as_ref().map(|prompt| prompt.sha256.as_str());
    if known != Some(&prompt_sha256) && (known.is_some() || !prompt.is_empty()) {
        if known.is_some() {
            events.push(PrefixChanged { cause: PrefixChange::Prompt }.into());
        }
        events.push(PromptSet { sha256: prompt_sha256.clone(), text: prompt.to_string() }.into());
    }
    config.turn.prompt_sha256 = config.system.is_some().then_some(prompt_sha256);

    let tools_sha256 = ports.tools.sha256();
    let known = recorder.state().tools.as_ref().map(|tools| tools.sha256.as_str());
    if known != Some(tools_sha256) && (known.is_some() || !ports.tools.is_empty()) {
        if known.is_some() {
            events.push(PrefixChanged { cause: PrefixChange::Tools }.into());
        }
        events.push(
            ToolsSet { sha256: tools_sha256.to_owned(), tools: ports.tools.specs().to_vec() }
                .into(),
        );
    }
    config.turn.tools_sha256 = (!ports.tools.is_empty()).then(|| tools_sha256.to_owned());
    if events.is_empty() { Ok(()) } else { recorder.append(None, events).await }
}

#[cfg(test)]
mod tests;
