//! The agent as tools: start it, talk to it, wait for it, decide about its calls, stop it.
//!
//! MCP hosts cancel a call after about a minute, so every call answers before: with the result,
//! or with the state `running`, after which the host calls `agent_wait`.

mod describe;
mod prompts;
mod resources;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use robota_core::approve::Scope;
use robota_core::error::ErrorData;
use robota_core::event::TurnEnd;
use robota_core::ids::{CallId, InputId};
use robota_core::permission::Mode;
use robota_mcp::server::{McpHost, ServedCall, ServedContent, ServedResult, ServedTool};
use robota_sdk::host::SessionHost;
use robota_sdk::{
    ExecutionResult, InteractiveEvent, InteractiveSession, OpenRequest, SdkError, SessionChoice,
    Submission,
};
use robota_session::{Approvals, Decision, SessionError, StartAt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

use super::McpServerOptions;
use super::approval::{Decider, Questions, Waiter};
use prompts::Prompts;

/// How long a call waits at most, and by default.
// Many hosts give up on a call after 60 seconds.
const MAX_WAIT: Duration = Duration::from_secs(45);
/// How often the host gets a progress notification while the agent works. MCP lets hosts restart
/// their timeout at each one.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// How many sessions one server keeps open.
// Each has tools, hooks and perhaps programs of its own.
const MAX_SESSIONS: usize = 16;

/// The tools that start and control agents for hosts.
pub(super) struct AgentTools {
    sessions: Arc<dyn SessionHost>,
    options: McpServerOptions,
    open: Mutex<HashMap<String, Arc<Agent>>>,
    /// A permit for each session. A start takes it before the session opens, so that starts at the
    /// same time cannot exceed the limit together.
    free: Arc<Semaphore>,
    /// The folder that agents work in.
    root: PathBuf,
    /// The addresses of the resources that changed.
    changed: broadcast::Sender<String>,
}

struct Agent {
    session: InteractiveSession,
    /// The end of the last turn; none while a prompt is answered or waits.
    finished: watch::Sender<Option<Finished>>,
    /// The prompts that were sent. Held while one is sent, so that the last one is known.
    prompts: tokio::sync::Mutex<Prompts>,
    changed: broadcast::Sender<String>,
    questions: Questions,
    delivery: Mutex<Delivery>,
    _permit: OwnedSemaphorePermit,
}

/// Whether a host got the id of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The call that started it has not ended, or its result is on the way.
    Open,
    /// A host used the id, perhaps from the list of resources. This lasts, whatever becomes of the start.
    Known,
    /// The host cancelled or abandoned the call that started it.
    Forgotten,
}

/// The end of a turn.
#[derive(Debug, Clone)]
struct Finished {
    state: State,
    text: String,
    cursor: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Running,
    WaitingPermission,
    Done,
    Cancelled,
    Failed,
}

/// What a call returns.
#[derive(Debug, Serialize)]
struct Report {
    session: String,
    state: State,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<Waiting>,
}

/// A call of the agent that waits for a decision.
#[derive(Debug, Serialize)]
struct Waiting {
    call: String,
    tool: String,
    input: Value,
    reason: String,
    rules: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StartInput {
    prompt: String,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    plan: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SendInput {
    session: String,
    prompt: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitInput {
    session: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecideInput {
    session: String,
    call: String,
    decision: DecisionInput,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionInput {
    Allow,
    AllowSession,
    Deny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelInput {
    session: String,
}

impl AgentTools {
    pub(super) fn new(
        sessions: Arc<dyn SessionHost>,
        options: McpServerOptions,
        root: PathBuf,
    ) -> Self {
        let changed = broadcast::channel(resources::KEPT_CHANGES).0;
        let free = Arc::new(Semaphore::new(MAX_SESSIONS));
        Self { sessions, options, open: Mutex::default(), free, root, changed }
    }

    pub(super) fn is_offered(&self) -> bool {
        self.options.agent
    }

    /// Returns whether a tool is one of these.
    pub(super) fn has(tool: &str) -> bool {
        describe::NAMES.contains(&tool)
    }

    pub(super) fn list(&self) -> Vec<ServedTool> {
        if !self.options.agent {
            return Vec::new();
        }
        describe::tools(self.options.host_decides)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Agent>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: &str) -> Result<Arc<Agent>, String> {
        let missing = || format!("there is no session `{id}`; agent_start starts one");
        let open = self.lock();
        let agent = open.get(id).cloned().ok_or_else(missing)?;
        // Before the map is free: a start that needs room must not take this agent for a forgotten one.
        *agent.delivery() = Delivery::Known;
        Ok(agent)
    }

    pub(super) async fn call(&self, call: ServedCall) -> ServedResult {
        let arguments = Value::Object(call.arguments.clone());
        let answered = match call.tool.as_str() {
            describe::START => match read(arguments) {
                Ok(input) => self.start(input, &call).await,
                Err(error) => Err(error),
            },
            describe::SEND => match read::<SendInput>(arguments) {
                Ok(input) => self.send(&input, &call).await,
                Err(error) => Err(error),
            },
            describe::WAIT => match read::<WaitInput>(arguments) {
                Ok(input) => self.wait(&input, &call).await,
                Err(error) => Err(error),
            },
            describe::DECIDE if self.options.host_decides => match read(arguments) {
                Ok(input) => self.decide(input).await,
                Err(error) => Err(error),
            },
            describe::CANCEL => match read::<CancelInput>(arguments) {
                Ok(input) => self.cancel(&input).await,
                Err(error) => Err(error),
            },
            other => Err(format!("there is no tool `{other}`")),
        };
        match answered {
            Ok(report) => served(&report),
            Err(error) => ServedResult::error(error),
        }
    }

    async fn start(&self, input: StartInput, call: &ServedCall) -> Result<Report, String> {
        let permit = self.permit().await?;
        let request = OpenRequest {
            cwd: Some(self.folder(input.cwd)?),
            mode: input.plan.then_some(Mode::Plan),
            model: input.model,
            approvals: Approvals::Decide,
            ..OpenRequest::new(SessionChoice::New(None))
        };
        let hosted = self.sessions.open(request).await.map_err(|error| match &error.hint {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        })?;
        let session = hosted.session;
        let agent = Arc::new(Agent {
            questions: Questions::new(session.session().permissions()),
            session,
            finished: watch::Sender::new(None),
            prompts: tokio::sync::Mutex::default(),
            changed: self.changed.clone(),
            delivery: Mutex::new(Delivery::Open),
            _permit: permit,
        });
        // Before the prompt is sent: `agent_cancel` has to find the session as soon as it works.
        self.lock().insert(agent.session.id().to_string(), agent.clone());
        let sent = match agent.submit(&input.prompt).await {
            Ok(sent) => sent,
            Err(error) => {
                // The host gets the error and no id.
                self.close_agent(&agent, "its prompt was refused").await;
                return Err(error.to_string());
            }
        };
        let report = self.follow(&agent, call, MAX_WAIT, Some(&sent)).await;
        if call.cancel.is_cancelled() {
            agent.forget();
        }
        report
    }

    /// Returns the permit for a session. If there are too many, one that the host does not know of, and that
    /// does nothing, is closed.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, String> {
        loop {
            if let Ok(permit) = self.free.clone().try_acquire_owned() {
                return Ok(permit);
            }
            let forgotten = self.take_forgotten();
            let full = || format!("{MAX_SESSIONS} sessions are open; cancel one with agent_cancel");
            let forgotten = forgotten.ok_or_else(full)?;
            self.close_agent(&forgotten, "the MCP host cancelled its start").await;
        }
    }

    /// Removes an agent that no host knows of, and that does nothing.
    fn take_forgotten(&self) -> Option<Arc<Agent>> {
        let mut open = self.lock();
        let id = open.iter().find(|(_, agent)| agent.is_forgotten()).map(|(id, _)| id.clone())?;
        open.remove(&id)
    }

    /// Stops an agent that no host can name, because none got the result of the start.
    pub(super) async fn undelivered(&self, tool: &str, result: &ServedResult) {
        let session = result.structured.as_ref().and_then(|report| report.get("session")?.as_str());
        let agent = session.filter(|_| tool == describe::START);
        let Some(agent) = agent.and_then(|session| self.lock().get(session).cloned()) else {
            return;
        };
        // Another host that uses the agent keeps its work.
        if agent.forget()
            && let Err(error) = agent.session.abort().await
        {
            tracing::warn!(%error, "an agent that no host knows of was not stopped");
        }
    }

    /// Closes an agent that the host cannot name.
    async fn close_agent(&self, agent: &Agent, reason: &str) {
        self.lock().remove(agent.session.id().as_str());
        if let Err(error) = agent.session.shutdown(reason).await {
            tracing::warn!(%error, "a session did not close cleanly");
        }
    }

    /// Returns the folder that an agent works in. It must be the folder of the server, or below it.
    fn folder(&self, given: Option<PathBuf>) -> Result<PathBuf, String> {
        let root = self.root.clone();
        let Some(given) = given else { return Ok(root) };
        let folder = root.join(given);
        // Compared as real paths: a link below the folder must not lead out of it.
        let real =
            folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        let inside = root.canonicalize().is_ok_and(|root| real.starts_with(root));
        let shown = (folder.display(), root.display());
        inside.then_some(real).ok_or_else(|| format!("{} is not inside {}", shown.0, shown.1))
    }

    async fn send(&self, input: &SendInput, call: &ServedCall) -> Result<Report, String> {
        let agent = self.get(&input.session)?;
        let sent = agent.submit(&input.prompt).await.map_err(|error| error.to_string())?;
        self.follow(&agent, call, MAX_WAIT, Some(&sent)).await
    }

    async fn wait(&self, input: &WaitInput, call: &ServedCall) -> Result<Report, String> {
        let limit = input.timeout_ms.map_or(MAX_WAIT, Duration::from_millis).min(MAX_WAIT);
        self.follow(&*self.get(&input.session)?, call, limit, None).await
    }

    async fn decide(&self, input: DecideInput) -> Result<Report, String> {
        let agent = self.get(&input.session)?;
        let decision = match input.decision {
            DecisionInput::Allow => Decision::Allow(Scope::Once),
            DecisionInput::AllowSession => Decision::Allow(Scope::Session),
            DecisionInput::Deny => Decision::Deny,
        };
        let permissions = agent.session.session().permissions();
        let call = CallId::from(input.call);
        permissions.decide(&call, decision, input.note).await.map_err(|error| error.to_string())?;
        Ok(agent.report())
    }

    async fn cancel(&self, input: &CancelInput) -> Result<Report, String> {
        let agent = self.get(&input.session)?;
        // Subscribed before the turn is stopped, so that its end is not missed.
        let mut finished = agent.finished.subscribe();
        let ran = agent.session.abort().await.map_err(|error| error.to_string())?;
        if ran {
            ended(&mut finished).await;
        }
        // The session stays in the store; `robota -r` continues it.
        self.lock().remove(&input.session);
        let report = agent.report();
        let closed = agent.session.shutdown("cancelled by the MCP host").await;
        closed.map_err(|error| error.to_string())?;
        Ok(report)
    }

    /// Waits for the end of the turn, reports progress to the host, and asks its user about calls.
    /// If the host cancels a call that `sent` a prompt, only that prompt is stopped.
    async fn follow(
        &self,
        agent: &Agent,
        call: &ServedCall,
        limit: Duration,
        sent: Option<&InputId>,
    ) -> Result<Report, String> {
        let mut finished = agent.finished.subscribe();
        let events = agent.session.events(StartAt::Now).await;
        let mut events = events.map_err(|error| error.to_string())?;
        let mut questions = agent.session.session().permissions().pending_changes();
        let mut waiter = agent.questions.waiter();
        let deadline = tokio::time::sleep(limit);
        tokio::pin!(deadline);
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        // The first tick is immediate; progress is due only after a while.
        ticks.tick().await;
        let mut step = 0.0;
        let mut report = |message: String| {
            step += 1.0;
            call.host.progress(step, None, Some(message))
        };
        loop {
            // In the loop: every wake-up may be a new question, and each call is asked about once.
            if !self.ask_about_calls(agent, &waiter, &call.host).await {
                return Ok(agent.report());
            }
            tokio::select! {
                () = ended(&mut finished) => return Ok(agent.report()),
                () = &mut deadline => return Ok(agent.report()),
                () = call.cancel.cancelled() => {
                    if let Some(input) = sent {
                        // The agent may still work on the prompt of another call.
                        let stopped = agent.session.session().queue().stop(input).await;
                        stopped.map_err(|error| error.to_string())?;
                    }
                    waiter.give_up();
                    return Ok(agent.report());
                }
                _ = ticks.tick() => report("the agent works".to_owned()).await,
                // Questions of its subagents are no events of its session.
                Ok(()) = questions.changed() => {}
                () = waiter.unanswered() => {}
                event = events.next() => match event {
                    Some(Ok(InteractiveEvent::ToolStart(tool))) => {
                        report(format!("{} {}", tool.tool, tool.first_argument)).await;
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error.to_string()),
                    None => return Ok(agent.report()),
                },
            }
        }
    }

    /// Asks about the calls that wait for approval. Returns false if the host has to decide by
    /// `agent_decide`.
    async fn ask_about_calls(&self, agent: &Agent, waiter: &Waiter, host: &McpHost) -> bool {
        for question in agent.session.approvals() {
            match waiter.ask(host, &question).await {
                Decider::User => {}
                Decider::Nobody if self.options.host_decides => return false,
                Decider::Nobody => {
                    let note = "it needs approval, and this host cannot ask its user";
                    agent.questions.deny(&question.call.call, note).await;
                }
            }
        }
        true
    }

    /// Ends all agents. Their sessions can be continued.
    pub(super) async fn close(&self) {
        let all: Vec<_> = self.lock().drain().map(|(_, agent)| agent).collect();
        for agent in all {
            if let Err(error) = agent.session.shutdown("the MCP server ended").await {
                tracing::warn!(%error, "a session did not close cleanly");
            }
        }
    }
}

impl Agent {
    /// Sends a prompt, and notes how the agent's work ended when no prompt is left. Returns its id.
    async fn submit(self: &Arc<Self>, prompt: &str) -> Result<InputId, SdkError> {
        // Held over the submission: the numbers have to be in the order in which the session got
        // the prompts.
        let mut prompts = self.prompts.lock().await;
        let submission: Submission = self.session.submit(prompt).await?;
        let number = prompts.begin();
        self.finished.send_replace(None);
        drop(prompts);
        let (agent, input) = (self.clone(), submission.input().clone());
        tokio::spawn(async move {
            let finished = match submission.result().await {
                // It was cancelled before its turn.
                Err(SdkError::Session(SessionError::Aborted { .. })) => None,
                result => Some(Finished::of(result)),
            };
            let mut prompts = agent.prompts.lock().await;
            if let Some(finished) = prompts.end(number, finished) {
                agent.finished.send_replace(Some(finished));
            }
            drop(prompts);
            // Fails only if no host listens.
            let _ = agent.changed.send(resources::uri(agent.session.id()));
        });
        Ok(input)
    }

    fn is_forgotten(&self) -> bool {
        *self.delivery() == Delivery::Forgotten && self.finished.borrow().is_some()
    }

    fn delivery(&self) -> MutexGuard<'_, Delivery> {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that its host did not get its id. Returns false if a host knows it nevertheless.
    fn forget(&self) -> bool {
        let mut delivery = self.delivery();
        if *delivery != Delivery::Known {
            *delivery = Delivery::Forgotten;
        }
        *delivery == Delivery::Forgotten
    }

    fn report(&self) -> Report {
        let session = self.session.id().to_string();
        let waiting = self.session.approvals().into_iter().map(|question| Waiting {
            call: question.call.call.to_string(),
            tool: question.call.name.clone(),
            input: question.call.input.json().cloned().unwrap_or_default(),
            reason: question.reason,
            rules: question.rules,
        });
        let permissions: Vec<_> = waiting.collect();
        let finished = self.finished.borrow().clone();
        match finished {
            Some(Finished { state, text, cursor, error }) => {
                Report { session, state, text, cursor, error, permissions }
            }
            None => {
                let waits = !permissions.is_empty();
                let state = if waits { State::WaitingPermission } else { State::Running };
                let (text, cursor, error) = (String::new(), None, None);
                Report { session, state, text, cursor, error, permissions }
            }
        }
    }
}

impl Finished {
    /// The end of an agent whose prompts were all cancelled before their turns.
    fn cancelled() -> Self {
        Self { state: State::Cancelled, text: String::new(), cursor: None, error: None }
    }

    fn of(result: Result<ExecutionResult, SdkError>) -> Self {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let (state, error) = (State::Failed, Some(error.to_string()));
                return Self { state, text: String::new(), cursor: None, error };
            }
        };
        let state = match (result.end, &result.error) {
            (TurnEnd::Interrupted, _) => State::Cancelled,
            // A blocked prompt has no answer, so the host must not take it for one.
            (TurnEnd::ProviderFailed | TurnEnd::StoreFailed | TurnEnd::Blocked, _) => State::Failed,
            (_, Some(_)) => State::Failed,
            (_, None) => State::Done,
        };
        let message = |error: ErrorData| error.message;
        Self {
            state,
            text: result.response,
            cursor: result.last.map(|cursor| cursor.to_string()),
            error: result.error.map(message),
        }
    }
}

/// Waits for the end of a turn.
async fn ended(finished: &mut watch::Receiver<Option<Finished>>) {
    // Cannot fail: the agent owns the sender.
    let _ = finished.wait_for(Option::is_some).await;
}

fn read<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("invalid arguments: {error}"))
}

/// Returns a report as text and as data.
fn served(report: &Report) -> ServedResult {
    // The text has the same JSON: hosts of older protocol versions read text only.
    let structured = serde_json::to_value(report).unwrap_or(Value::Object(Map::new()));
    let text = structured.to_string();
    ServedResult {
        content: vec![ServedContent::Text(text)],
        structured: Some(structured),
        is_error: report.state == State::Failed,
    }
}
