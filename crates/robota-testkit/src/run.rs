//! Runs turns of the real driver in tests.

use std::sync::Arc;

use robota_core::approve::{Approver, NoApprover};
use robota_core::clock::Clock;
use robota_core::compact::Compactor;
use robota_core::driver::{Ports, Recorder, SessionConfig, run_turn};
use robota_core::error::Diagnose as _;
use robota_core::event::{Delivery, Envelope, FORMAT, InputAccepted, SessionCreated};
use robota_core::gate::{Gate, ReadOnlyGate};
use robota_core::hook::{Hooks, NoHooks};
use robota_core::ids::{CountingIds, InputId, SessionId};
use robota_core::journal::JournalError;
use robota_core::message::{Block, Content};
use robota_core::provider::{ModelRequest, Provider};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::state::State;
use robota_core::tool::{Tool, ToolSet};
use robota_core::turn::{TurnInput, TurnReport, TurnRules};
use tokio_util::sync::CancellationToken;

use crate::{FailingJournal, FakeClock, render, without_chunks};

/// A run of the real driver with a scripted model, counted ids, a clock that does not advance and a
/// journal in memory. By default, only read-only tools may run; set a gate to change that.
///
/// To act during the run, take the handles first and join:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use robota_testkit::Run;
///
/// let run = Run::script("- steps: [{text: Well}, {stall: {gate: thinking}}]");
/// let (model, cancel) = (run.model(), run.cancel());
/// let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
///     model.reached("thinking").await;
///     cancel.cancel();
/// });
/// assert!(ran.report.interrupted());
/// # }
/// ```
pub struct Run {
    provider: ScriptedProvider,
    tools: Vec<Arc<dyn Tool>>,
    ports: Ports,
    config: SessionConfig,
    clock: Arc<dyn Clock>,
    journal: FailingJournal,
    cancel: CancellationToken,
}

impl Run {
    /// Creates a run with a scripted model.
    #[must_use]
    pub fn new(script: Script) -> Self {
        let provider = ScriptedProvider::new(script);
        let ports = Ports {
            provider: Arc::new(provider.clone()),
            tools: ToolSet::default(),
            live_tools: None,
            gate: Arc::new(ReadOnlyGate),
            approver: Arc::new(NoApprover),
            hooks: Arc::new(NoHooks),
            compactor: None,
            blobs: None,
            ids: Arc::new(CountingIds::default()),
        };
        Self {
            provider,
            tools: Vec::new(),
            ports,
            config: SessionConfig::new(TurnRules::new("test-model")),
            // Fixed, so that logs are equal in every run; a test about time sets its own.
            clock: Arc::new(FakeClock::fixed()),
            journal: FailingJournal::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// Creates a run with the model of a YAML script.
    ///
    /// # Panics
    /// When the script is invalid: the test is wrong.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test with an invalid script must fail where it is written")]
    pub fn script(yaml: &str) -> Self {
        match Script::from_yaml(yaml) {
            Ok(script) => Self::new(script),
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds a tool that the scripted model can call.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Sets the gate that judges every call.
    #[must_use]
    pub fn gate(mut self, gate: impl Gate + 'static) -> Self {
        self.ports.gate = Arc::new(gate);
        self
    }

    /// Sets the approver for calls with verdict ask.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.ports.approver = Arc::new(approver);
        self
    }

    /// Sets the hooks of the turn.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.ports.hooks = Arc::new(hooks);
        self
    }

    /// Sets what summarises the conversation when the window is full.
    #[must_use]
    pub fn compactor(mut self, compactor: impl Compactor + 'static) -> Self {
        self.ports.compactor = Some(Arc::new(compactor));
        self
    }

    /// Sets the system prompt; a run has none by default.
    #[must_use]
    pub fn system(self, prompt: &str) -> Self {
        self.configure(|config| config.system = Some(Arc::from(prompt)))
    }

    /// Limits the rounds of a turn; zero means no limit.
    #[must_use]
    pub fn max_rounds(self, rounds: u32) -> Self {
        self.configure(|config| config.turn.max_rounds = rounds)
    }

    /// Changes any other setting.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut SessionConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets the clock that stamps events.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the journal that receives the events.
    #[must_use]
    pub fn journal(mut self, journal: FailingJournal) -> Self {
        self.journal = journal;
        self
    }

    /// Replaces the scripted model, for example by a real adapter that calls the mock model server.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.ports.provider = provider;
        self
    }

    /// Returns the scripted model, whose gates can be released during the run.
    #[must_use]
    pub fn model(&self) -> ScriptedProvider {
        self.provider.clone()
    }

    /// Returns the token that cancels the run.
    #[must_use]
    pub fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Sends a prompt and waits for the end of the turn.
    ///
    /// # Panics
    /// When two tools have the same name: the test is wrong.
    #[expect(clippy::panic, reason = "a test with two tools of the same name must fail")]
    pub async fn prompt(mut self, prompt: impl Into<Content>) -> RunResult {
        self.ports.tools = match ToolSet::new(std::mem::take(&mut self.tools)) {
            Ok(tools) => tools,
            Err(error) => panic!("{error}"),
        };
        let recorder =
            Recorder::new(Box::new(self.journal.clone()), self.clock.clone(), State::default());
        let Content(content) = prompt.into();
        // Boxed, because the future of a turn is large.
        Box::pin(turn(self, recorder, content)).await
    }
}

async fn turn(run: Run, mut recorder: Recorder, content: Vec<Block>) -> RunResult {
    let report = match accept(&run, &mut recorder, content).await {
        Ok(input) => {
            let (ports, config) = (run.ports.clone(), run.config.clone());
            run_turn(ports, config, &mut recorder, input, &run.cancel).await
        }
        Err(error) => TurnReport::not_started(error.to_data()),
    };
    RunResult {
        text: report.text.clone(),
        report,
        events: run.journal.events(),
        requests: run.provider.requests(),
        state: recorder.state().clone(),
        journal: run.journal.clone(),
        run,
        recorder,
    }
}

/// Does what an agent does before a turn: creates the session and durably accepts the input.
async fn accept(
    run: &Run,
    recorder: &mut Recorder,
    content: Vec<Block>,
) -> Result<TurnInput, JournalError> {
    let ids = &*run.ports.ids;
    if recorder.state().session.is_none() {
        let session = SessionId::mint(ids);
        let created =
            SessionCreated { session, format: FORMAT, cwd: None, parent: None, spawned_by: None };
        recorder.append(None, vec![created.into()]).await?;
    }
    let input = InputId::mint(ids);
    let accepted = InputAccepted {
        input: input.clone(),
        delivery: Delivery::AfterTurn,
        content: content.clone(),
        metadata: serde_json::Map::new(),
        source: None,
    };
    // Before the turn, as an agent does it: a crash must not lose the input.
    recorder.append(None, vec![accepted.into()]).await?;
    Ok(TurnInput::Message { input: Some(input), content })
}

/// What a test checks after a run: report, state, events, text.
pub struct RunResult {
    /// The answer of the model.
    pub text: String,
    /// How the turn ended.
    pub report: TurnReport,
    /// The events in the journal, oldest first.
    pub events: Vec<Arc<Envelope>>,
    /// The requests that the scripted model received.
    pub requests: Vec<ModelRequest>,
    /// The folded state, including events that could not be appended.
    pub state: State,
    /// The journal, with a record of every append.
    pub journal: FailingJournal,
    run: Run,
    recorder: Recorder,
}

impl RunResult {
    /// Renders the events, without chunks, as text.
    #[must_use]
    pub fn log(&self) -> String {
        render(&without_chunks(&self.events))
    }

    /// Continues the same session with another model.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.run = self.run.provider(provider);
        self
    }

    /// Sends another prompt in the same session, also after a cancelled run.
    pub async fn then(mut self, prompt: impl Into<Content>) -> Self {
        if self.run.cancel.is_cancelled() {
            // A token stays cancelled, and would end the next turn at once.
            self.run.cancel = CancellationToken::new();
        }
        let Content(content) = prompt.into();
        Box::pin(turn(self.run, self.recorder, content)).await
    }
}

impl std::fmt::Debug for RunResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ran").field("report", &self.report).field("log", &self.log()).finish()
    }
}
