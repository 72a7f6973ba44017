//! A whole run, from a script to what came of it.

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

/// A run of the real driver with a scripted model, counted ids, a clock that stands still and a
/// journal in memory. As everywhere, only tools that look may run unless a gate says otherwise.
///
/// To act while it runs, take what is needed first and join:
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
    /// With that model.
    #[must_use]
    pub fn new(script: Script) -> Self {
        let provider = ScriptedProvider::new(script);
        let ports = Ports {
            provider: Arc::new(provider.clone()),
            tools: ToolSet::default(),
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
            clock: Arc::new(FakeClock::fixed()),
            journal: FailingJournal::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// With the model of that script, in YAML.
    ///
    /// # Panics
    /// When it is no script: the test is wrong.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test with a wrong script must fail where it is written")]
    pub fn script(yaml: &str) -> Self {
        match Script::from_yaml(yaml) {
            Ok(script) => Self::new(script),
            Err(error) => panic!("{error}"),
        }
    }

    /// One more tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Who judges every call.
    #[must_use]
    pub fn gate(mut self, gate: impl Gate + 'static) -> Self {
        self.ports.gate = Arc::new(gate);
        self
    }

    /// Who is asked when the gate says so.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.ports.approver = Arc::new(approver);
        self
    }

    /// Hooks.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.ports.hooks = Arc::new(hooks);
        self
    }

    /// Who summarises.
    #[must_use]
    pub fn compactor(mut self, compactor: impl Compactor + 'static) -> Self {
        self.ports.compactor = Some(Arc::new(compactor));
        self
    }

    /// The system prompt.
    #[must_use]
    pub fn system(self, prompt: &str) -> Self {
        self.configure(|config| config.system = Some(Arc::from(prompt)))
    }

    /// At most this many rounds; zero is no limit.
    #[must_use]
    pub fn max_rounds(self, rounds: u32) -> Self {
        self.configure(|config| config.turn.max_rounds = rounds)
    }

    /// Any other setting.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut SessionConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Where the time comes from.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Where events go.
    #[must_use]
    pub fn journal(mut self, journal: FailingJournal) -> Self {
        self.journal = journal;
        self
    }

    /// Another model in place of the scripted one: a real adapter, against a mock of its service.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.ports.provider = provider;
        self
    }

    /// The model: its gates can be released while the run goes on.
    #[must_use]
    pub fn model(&self) -> ScriptedProvider {
        self.provider.clone()
    }

    /// Stops the run.
    #[must_use]
    pub fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Says something and waits until the turn is over.
    ///
    /// # Panics
    /// When two tools have one name: the test is wrong.
    #[expect(clippy::panic, reason = "a test with two tools of one name must fail")]
    pub async fn prompt(mut self, prompt: impl Into<Content>) -> Ran {
        self.ports.tools = match ToolSet::new(std::mem::take(&mut self.tools)) {
            Ok(tools) => tools,
            Err(error) => panic!("{error}"),
        };
        let recorder =
            Recorder::new(Box::new(self.journal.clone()), self.clock.clone(), State::default());
        let Content(content) = prompt.into();
        Box::pin(turn(self, recorder, content)).await
    }
}

async fn turn(run: Run, mut recorder: Recorder, content: Vec<Block>) -> Ran {
    let report = match accept(&run, &mut recorder, content).await {
        Ok(input) => {
            let (ports, config) = (run.ports.clone(), run.config.clone());
            run_turn(ports, config, &mut recorder, input, &run.cancel).await
        }
        Err(error) => TurnReport::not_started(error.to_data()),
    };
    Ran {
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

/// As an agent does it: the session exists, the input is safe, then the turn begins.
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
    };
    recorder.append(None, vec![accepted.into()]).await?;
    Ok(TurnInput::Message { input: Some(input), content })
}

/// What came of a run.
pub struct Ran {
    /// The answer.
    pub text: String,
    /// How the turn ended.
    pub report: TurnReport,
    /// What the journal holds, oldest first.
    pub events: Vec<Arc<Envelope>>,
    /// What the model was sent, call by call.
    pub requests: Vec<ModelRequest>,
    /// What the events come to, those that could not be appended included.
    pub state: State,
    /// The journal, with every append that was asked of it.
    pub journal: FailingJournal,
    run: Run,
    recorder: Recorder,
}

impl Ran {
    /// The events without chunks, as text.
    #[must_use]
    pub fn log(&self) -> String {
        render(&without_chunks(&self.events))
    }

    /// The same session with another model from now on.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.run = self.run.provider(provider);
        self
    }

    /// Says one more thing in the same session. A run that was stopped may go on.
    pub async fn then(mut self, prompt: impl Into<Content>) -> Self {
        if self.run.cancel.is_cancelled() {
            self.run.cancel = CancellationToken::new();
        }
        let Content(content) = prompt.into();
        Box::pin(turn(self.run, self.recorder, content)).await
    }
}

impl std::fmt::Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ran").field("report", &self.report).field("log", &self.log()).finish()
    }
}
