//! The in-memory agent (CORE-29): one object with its journal in memory, run by the same driver as
//! a durable session.
//!
//! ```
//! # #[cfg(feature = "scripted")]
//! # async fn example() -> Result<(), robota_core::tool::ToolNameTaken> {
//! use robota_core::agent::Agent;
//! use robota_core::scripted::{Script, ScriptedProvider};
//!
//! let model = ScriptedProvider::new(Script::new().text("Hello!"));
//! let mut agent = Agent::builder(model, "some-model").system("Be brief.").build()?;
//! let report = agent.run("Hi").await;
//! assert_eq!(report.text, "Hello!");
//! # Ok(())
//! # }
//! ```

mod builder;
mod factory;
mod module;
mod settings;

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

pub use builder::AgentBuilder;
pub use factory::{AgentFactory, AgentTemplate, TemplateError};
pub use module::{Module, ModuleError, ModuleRegistry};
pub use settings::AgentSettings;

use crate::clock::Clock;
use crate::close::{Closing, close_turn};
use crate::context::ContextState;
use crate::driver::{Observer, Ports, Recorder, SessionConfig, run_turn};
use crate::error::Diagnose as _;
use crate::event::{
    Delivery, EntryAdded, Envelope, FORMAT, InputAccepted, InputCancelled, MessageInjected,
    SessionCreated,
};
use crate::history::HistoryEntry;
use crate::ids::{InputId, SessionId};
use crate::into_arc::IntoArc;
use crate::journal::{JournalError, MemoryJournal};
use crate::message::{Cause, Content, Message};
use crate::project::{StreamText, TextUpdate, history};
use crate::provider::{OutputSchema, Provider, View};
use crate::state::State;
use crate::turn::{TurnInput, TurnReport};
use crate::typed::{self, Attempts, TypedAnswer, TypedError};

/// Runs turns in memory: the conversation ends with the process. Two agents share nothing but what
/// their builders were given. For an agent that survives a crash use a durable session.
///
/// ```
/// use robota_core::agent::Agent;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedProvider::new(Script::new().text("Hello, Ada!"));
/// let mut agent = Agent::builder(model, "any-model").system("Greet people.").build()?;
/// assert_eq!(agent.run("I am Ada.").await.text, "Hello, Ada!");
/// # Ok(()) }
/// ```
pub struct Agent {
    ports: Ports,
    config: SessionConfig,
    clock: Arc<dyn Clock>,
    journal: MemoryJournal,
    recorder: Recorder,
    observers: Vec<Observer>,
    drops_chunks: bool,
}

/// Receives text as it streams, and resets of text that is void.
pub type TextSink = Box<dyn FnMut(TextUpdate<'_>) + Send>;

/// How one run differs from the agent's own settings.
///
/// ```
/// use robota_core::agent::RunOptions;
///
/// let options = RunOptions { max_rounds: Some(3), ..RunOptions::default() };
/// assert!(!options.cancel.is_cancelled());
/// ```
#[derive(Default)]
pub struct RunOptions {
    /// Replaces the agent's round limit for this run; zero means no limit.
    pub max_rounds: Option<u32>,
    /// Interrupts the run when it is cancelled.
    pub cancel: CancellationToken,
    /// The form of the answer for this run, instead of the agent's.
    pub output: Option<OutputSchema>,
    /// Receives the text as it streams, rounds separated by a blank line.
    pub on_text: Option<TextSink>,
    /// Receives every event of this run.
    pub on_event: Option<Observer>,
}

impl Agent {
    /// Returns a builder for an agent that uses this provider and model.
    pub fn builder(provider: impl IntoArc<dyn Provider>, model: impl Into<String>) -> AgentBuilder {
        AgentBuilder::new(provider.into_arc(), model.into())
    }

    pub(crate) fn new(
        ports: Ports,
        config: SessionConfig,
        clock: Arc<dyn Clock>,
        drops_chunks: bool,
    ) -> Self {
        let journal = MemoryJournal::new();
        let recorder = Recorder::new(Box::new(journal.clone()), clock.clone(), State::default());
        Self { ports, config, clock, journal, recorder, observers: Vec::new(), drops_chunks }
    }

    /// Sends a message and waits for the answer.
    pub async fn run(&mut self, prompt: impl Into<Content>) -> TurnReport {
        self.run_with(prompt, RunOptions::default()).await
    }

    /// Sends a message and waits for the answer, with options for this run only. A failed model call
    /// is part of the report, not an error: the run always returns.
    ///
    /// The future may be dropped at any time. Dropping it ends everything that the run started; the
    /// next run first closes the turn as interrupted, so that every call in the conversation has its
    /// result.
    pub async fn run_with(
        &mut self,
        prompt: impl Into<Content>,
        options: RunOptions,
    ) -> TurnReport {
        let mut config = self.config.clone();
        if let Some(max_rounds) = options.max_rounds {
            config.turn.max_rounds = max_rounds;
        }
        if options.output.is_some() {
            config.output.clone_from(&options.output);
        }
        if let Err(error) = self.begin().await {
            return TurnReport::not_started(error.to_data());
        }
        let mut observers = self.observers.clone();
        observers.extend(options.on_event);
        observers.extend(options.on_text.map(text_observer));
        // The observers of one run are removed after it, also those that a caller forgot: the agent
        // may outlive what they refer to.
        self.recorder.set_observers(observers);
        let report = self.turn(config, prompt.into(), &options.cancel).await;
        self.recorder.set_observers(self.observers.clone());
        report
    }

    /// Sends a message and waits for an answer of type `T`: the schema of the type is part of the
    /// prompt, and an answer that does not match it is sent back to the model, at most
    /// [`MAX_REPAIRS`](crate::typed::MAX_REPAIRS) times.
    ///
    /// # Errors
    /// When the run fails, or the last answer still does not match.
    pub async fn run_as<T: DeserializeOwned + JsonSchema>(
        &mut self,
        prompt: impl Into<Content>,
    ) -> Result<T, TypedError> {
        let mut prompt = typed::ask_for::<T>(prompt);
        let mut attempts = Attempts::default();
        loop {
            let output = Some(typed::output_of::<T>());
            let options = RunOptions { output, ..RunOptions::default() };
            let report = self.run_with(prompt, options).await;
            if let Some(error) = report.error {
                return Err(TypedError::Failed(error));
            }
            if report.interrupted() {
                return Err(TypedError::Interrupted);
            }
            match attempts.read(report.text, report.stop.as_ref())? {
                TypedAnswer::Value(value) => return Ok(value),
                TypedAnswer::Repair(next) => prompt = next,
            }
        }
    }

    async fn turn(
        &mut self,
        config: SessionConfig,
        Content(content): Content,
        cancel: &CancellationToken,
    ) -> TurnReport {
        let input = InputId::mint(&*self.ports.ids);
        let accepted = InputAccepted {
            input: input.clone(),
            delivery: Delivery::AfterTurn,
            content: content.clone(),
            metadata: serde_json::Map::new(),
            source: None,
        };
        // Recorded like an input of a session, so that the same fold and the same projections work
        // for both.
        if let Err(error) = self.recorder.append(None, vec![accepted.into()]).await {
            return TurnReport::not_started(error.to_data());
        }
        let input = TurnInput::Message { input: Some(input), content };
        run_turn(self.ports.clone(), config, &mut self.recorder, input, cancel).await
    }

    /// Closes the turn that a dropped run left open, and writes the first event of a new journal.
    async fn begin(&mut self) -> Result<(), JournalError> {
        // Observers of a run whose future was dropped are still set: only `run_with` itself removes
        // them.
        self.recorder.set_observers(self.observers.clone());
        if self.drops_chunks {
            self.journal.drop_chunks();
        }
        let state = self.recorder.state();
        let turn = state.turn.as_ref().and_then(|turn| turn.id.clone());
        // A dropped run cannot close its turn itself, because closing appends and so awaits.
        let mut events = close_turn(state, &Closing::of(Cause::User), &*self.ports.ids);
        let cancelled = state
            .inputs
            .keys()
            .map(|input| InputCancelled { input: input.clone(), cause: Cause::User }.into());
        events.extend(cancelled);
        if !events.is_empty() {
            self.recorder.append(turn.as_ref(), events).await?;
        }
        if self.recorder.state().session.is_some() {
            return Ok(());
        }
        let session = SessionId::mint(&*self.ports.ids);
        let created =
            SessionCreated { session, format: FORMAT, cwd: None, parent: None, spawned_by: None };
        self.recorder.append(None, vec![created.into()]).await
    }

    /// Appends a message to the conversation.
    ///
    /// # Errors
    /// Never with the journal in memory; the result allows for other journals.
    pub async fn inject(&mut self, message: Message) -> Result<(), JournalError> {
        self.begin().await?;
        self.recorder.append(None, vec![MessageInjected { message: message.into() }.into()]).await
    }

    /// Adds an entry to the history that the model does not see.
    ///
    /// # Errors
    /// Never with the journal in memory; the result allows for other journals.
    pub async fn add_entry(&mut self, entry: HistoryEntry) -> Result<(), JournalError> {
        self.begin().await?;
        self.recorder.append(None, vec![EntryAdded { entry }.into()]).await
    }

    /// Passes every further event to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer.clone());
        self.recorder.observe(observer);
    }

    /// Clears the conversation and the journal.
    pub fn clear(&mut self) {
        // A new journal and not a `rewound` event: an agent in memory keeps nothing that was
        // cleared.
        self.journal = MemoryJournal::new();
        let journal = Box::new(self.journal.clone());
        self.recorder = Recorder::new(journal, self.clock.clone(), State::default());
        self.recorder.set_observers(self.observers.clone());
    }

    /// Returns the messages that the model sees.
    #[must_use]
    pub fn messages(&self) -> View {
        self.recorder.state().view.messages.clone()
    }

    /// Returns the history: messages and entries, oldest first.
    #[must_use]
    pub fn history(&self) -> Vec<HistoryEntry> {
        history(self.journal.events().iter().map(AsRef::as_ref))
    }

    /// Returns the journal, oldest event first. With [`AgentBuilder::drop_chunks`] the chunks of
    /// earlier runs are missing.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Envelope>> {
        self.journal.events()
    }

    /// Returns the state that the journal folds to.
    #[must_use]
    pub fn state(&self) -> &State {
        self.recorder.state()
    }

    /// Returns how full the context window is.
    #[must_use]
    pub fn context(&self) -> ContextState {
        self.recorder.state().context(self.config.turn.context_window).state()
    }
}

fn text_observer(on_text: TextSink) -> Observer {
    let state = Mutex::new((StreamText::default(), on_text));
    Arc::new(move |envelope| {
        // A poisoned lock means that an earlier call of the sink panicked; later text is still
        // shown.
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, on_text) = &mut *state;
        if let Some(update) = stream.push(&envelope.event) {
            on_text(update);
        }
    })
}

#[cfg(test)]
mod tests;
