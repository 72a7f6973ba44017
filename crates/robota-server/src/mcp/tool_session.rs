//! The built-in tools. Every call is a turn of a session without a model: the "answer" of the
//! provider is the call of the MCP host. So a call passes the same stages as every other call:
//! schema, rules, hooks, approval, checkpoint, sandbox; and it is in the journal.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::call::CallContext;
use robota_core::event::{Event, TurnEnd};
use robota_core::ids::CallId;
use robota_core::message::{Block, ResultBlock, ToolInput, ToolResult, ToolUse};
use robota_core::permission::Class;
use robota_core::provider::{
    Delta, DeltaStream, ModelRequest, Provider, ProviderError, StopReason,
};
use robota_mcp::server::{ServedCall, ServedContent, ServedResult, ServedTool};
use robota_sdk::host::SessionHost;
use robota_sdk::{HostError, InteractiveSession, ModelSetup, OpenRequest, SessionChoice};
use robota_session::{Approvals, EventFilter};
use serde_json::Value;
use tokio::sync::MutexGuard;
use tokio::time::{Instant, Interval};

use super::McpServerOptions;
use super::approval::{Decider, Questions, Waiter};

/// Tools that make no sense without a conversation.
const FOR_MODELS: [&str; 6] =
    ["AskUserQuestion", "Skill", "Agent", "TodoWrite", "EnterPlanMode", "ExitPlanMode"];
/// How the tools begin that run commands of the program. They are for the model of a conversation.
const COMMANDS: &str = "robota_command_";
/// The interval of progress notifications while a call waits or runs.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// How long a question about a call may stay open while other calls wait for that call.
const MAX_QUESTION: Duration = Duration::from_secs(5 * 60);
/// How long a call with an open question keeps the HTTP session of a silent host, which may be gone.
const MAX_KEPT_QUESTION: Duration = Duration::from_secs(30 * 60);
/// How many calls wait at the same time; further ones are refused.
const MAX_WAITING: usize = 64;
/// The size limit of an image of a result.
const MAX_IMAGE: u64 = 8 * 1024 * 1024;

/// The session in which the calls of the host run.
pub(super) struct ToolSession {
    session: InteractiveSession,
    questions: Questions,
    calls: Arc<HostCalls>,
    tools: Vec<ServedTool>,
    /// Held while a call runs: the calls of a session run one after the other.
    running: tokio::sync::Mutex<()>,
    /// How many calls wait until they may run.
    waiting: AtomicUsize,
}

impl ToolSession {
    pub(super) async fn open(
        sessions: &dyn SessionHost,
        options: &McpServerOptions,
    ) -> Result<Self, HostError> {
        let calls = Arc::new(HostCalls::default());
        let provider: Arc<dyn Provider> = calls.clone();
        let request = OpenRequest {
            cwd: options.cwd.clone(),
            approvals: Approvals::Decide,
            // The provider is replaced, not the loop: the turn of a model call does everything that
            // a call needs.
            provider: Some(ModelSetup::new(provider, "mcp-host")),
            ..OpenRequest::new(SessionChoice::New(None))
        };
        let session = sessions.open(request).await?.session;
        let offered = |name: &str| {
            let chosen = options.tools.as_ref().is_none_or(|only| only.iter().any(|it| it == name));
            chosen && !FOR_MODELS.contains(&name) && !name.starts_with(COMMANDS)
        };
        let specs = session.tools().specs().iter().filter(|spec| offered(&spec.name));
        let tools = specs
            .map(|spec| ServedTool {
                name: spec.name.clone(),
                description: spec.description.clone(),
                input_schema: spec.input_schema.as_object().cloned().unwrap_or_default(),
                output_schema: None,
                read_only: spec.class == Class::Inspect,
            })
            .collect();
        let questions = Questions::new(session.session().permissions());
        let (running, waiting) = (tokio::sync::Mutex::default(), AtomicUsize::new(0));
        Ok(Self { session, questions, calls, tools, running, waiting })
    }

    /// Returns the working folder; empty for a session without a project.
    pub(super) fn folder(&self) -> PathBuf {
        self.session.project().map(|project| project.cwd().to_owned()).unwrap_or_default()
    }

    pub(super) fn list(&self) -> Vec<ServedTool> {
        self.tools.clone()
    }

    /// Runs a call as a turn, and waits for its end.
    pub(super) async fn call(&self, call: ServedCall) -> ServedResult {
        let mut progress = Progress::start(&call);
        let _running = match self.wait_to_run(&call, &mut progress).await {
            Ok(running) => running,
            Err(refused) => return ServedResult::error(refused),
        };
        let text = format!("The MCP host calls {}.", call.tool);
        self.calls.set(&call);
        match self.turn(&call, text, progress).await {
            Ok(result) => result,
            Err(error) => ServedResult::error(error.to_string()),
        }
    }

    /// Waits for the calls before this one. The host gets progress: many hosts cancel a call that is silent
    /// for a minute.
    ///
    /// # Errors
    /// If the host cancels it meanwhile, or too many calls wait; the text is for the model of the host.
    async fn wait_to_run(
        &self,
        call: &ServedCall,
        progress: &mut Progress<'_>,
    ) -> Result<MutexGuard<'_, ()>, String> {
        if let Ok(running) = self.running.try_lock() {
            return Ok(running);
        }
        let full = || format!("{MAX_WAITING} calls wait already; try again later");
        let _waiting = Waiting::count(&self.waiting).ok_or_else(full)?;
        // A call of a host that is gone must not take its turn from the others.
        call.host.keep_session(false);
        let running = self.running.lock();
        tokio::pin!(running);
        loop {
            tokio::select! {
                () = call.cancel.cancelled() => return Err("the call was cancelled".to_owned()),
                running = &mut running => {
                    call.host.keep_session(true);
                    return Ok(running);
                }
                () = progress.due() => {
                    progress.report(format!("{} waits for another call", call.tool)).await;
                }
            }
        }
    }

    async fn turn(
        &self,
        call: &ServedCall,
        text: String,
        mut progress: Progress<'_>,
    ) -> Result<ServedResult, HostError> {
        let session = self.session.session();
        let mut chat = session.chat(text, EventFilter::Everything).await?;
        chat.wait_for_approvals();
        let mut waiter = self.questions.waiter();
        let (mut result, mut end, mut asked, mut cancelled) = (None, None, None, false);
        loop {
            let event = tokio::select! {
                event = chat.next() => event,
                () = progress.due() => {
                    progress.report(format!("{} runs", call.tool)).await;
                    let since = asked.filter(|_| !self.session.approvals().is_empty());
                    let open = since.map_or(Duration::ZERO, |asked: Instant| asked.elapsed());
                    call.host.keep_session(open < MAX_KEPT_QUESTION);
                    if open >= MAX_QUESTION {
                        self.deny_if_others_wait().await;
                    }
                    continue;
                }
                () = waiter.unanswered() => {
                    self.ask_about_call(call, &waiter).await;
                    continue;
                }
                () = call.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    session.interrupt(Some("the host cancelled the call".to_owned())).await?;
                    continue;
                }
            };
            let Some(event) = event else { break };
            match event?.event() {
                Event::PermissionAsked(_) => {
                    asked = Some(Instant::now());
                    self.ask_about_call(call, &waiter).await;
                }
                Event::ToolOutput(output) => {
                    let last = output.text.lines().last().unwrap_or_default();
                    // A line of output can be as long as a file.
                    progress.report(last.chars().take(200).collect()).await;
                }
                Event::ToolResultAdded(added) => result = Some(added.result.clone()),
                Event::TurnFinished(turn) => end = Some((turn.end, turn.error.clone())),
                _ => {}
            }
        }
        drop(chat);
        // The next call starts with an empty conversation; the journal keeps this one.
        session.context().clear().await?;
        match (result, end) {
            (Some(result), _) => Ok(self.served(&result).await),
            (None, Some((TurnEnd::Interrupted, _))) => {
                Ok(ServedResult::error("the call was cancelled"))
            }
            (None, Some((_, Some(error)))) => Ok(ServedResult::error(error.message)),
            (None, _) => Ok(ServedResult::error("the call did not run: a hook blocked it")),
        }
    }

    /// Asks the user of the host about the call that waits for approval.
    async fn ask_about_call(&self, call: &ServedCall, waiter: &Waiter) {
        for question in self.session.approvals() {
            if waiter.ask(&call.host, &question).await == Decider::Nobody {
                let note = "it needs approval, and this host cannot ask its user; add an allow rule to \
                            the settings";
                self.questions.deny(&question.call.call, note).await;
            }
        }
    }

    /// Denies the call that waits for its user, if other calls wait for it. They may be of other hosts.
    async fn deny_if_others_wait(&self) {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let minutes = MAX_QUESTION.as_secs() / 60;
        let note =
            format!("the user did not answer within {minutes} minutes, and other calls wait");
        for question in self.session.approvals() {
            self.questions.deny(&question.call.call, &note).await;
        }
    }

    async fn served(&self, result: &ToolResult) -> ServedResult {
        let mut content = Vec::new();
        for block in &result.content {
            match block {
                ResultBlock::Text(text) => content.push(ServedContent::Text(text.text.clone())),
                ResultBlock::Image(image)
                    if image.blob.bytes <= MAX_IMAGE && image.media_type.starts_with("image/") =>
                {
                    let blobs = self.session.session().journal().blobs();
                    if let Ok(Some(bytes)) = blobs.get(&image.blob).await {
                        let (data, media_type) = (STANDARD.encode(bytes), image.media_type.clone());
                        content.push(ServedContent::Image { data, media_type });
                    }
                }
                ResultBlock::Image(_) | ResultBlock::Unknown(_) => {}
            }
        }
        ServedResult { content, structured: None, is_error: result.is_error }
    }

    /// Ends the session and its processes.
    pub(super) async fn close(&self) {
        if let Err(error) = self.session.shutdown("the MCP server ended").await {
            tracing::warn!(%error, "the session of the tools did not close cleanly");
        }
    }
}

/// The progress of a call, for its host.
struct Progress<'a> {
    call: &'a ServedCall,
    step: f64,
    ticks: Interval,
}

impl<'a> Progress<'a> {
    fn start(call: &'a ServedCall) -> Self {
        // Not at once: the first one is due only after a while.
        let first = Instant::now() + PROGRESS_EVERY;
        Self { call, step: 0.0, ticks: tokio::time::interval_at(first, PROGRESS_EVERY) }
    }

    /// Waits until the host must get progress again.
    async fn due(&mut self) {
        self.ticks.tick().await;
    }

    async fn report(&mut self, message: String) {
        self.step += 1.0;
        self.call.host.progress(self.step, None, Some(message)).await;
    }
}

/// Counts a call that waits, until this is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    /// None if too many calls wait already.
    fn count(waiting: &'a AtomicUsize) -> Option<Self> {
        // Counted before it is compared, so that calls at the same time cannot exceed the limit together.
        let counted = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING).then_some(counted)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// "Answers" with the call of the host, then with nothing.
#[derive(Default)]
struct HostCalls(Mutex<Option<ToolUse>>);

impl HostCalls {
    fn set(&self, call: &ServedCall) {
        let input = ToolInput::Json(Value::Object(call.arguments.clone()));
        // The reader of the stream makes our id of the call.
        let tool_use = ToolUse::new(CallId::from(""), "call", call.tool.clone(), input);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tool_use);
    }
}

#[async_trait::async_trait]
impl Provider for HostCalls {
    fn name(&self) -> &'static str {
        "mcp-host"
    }

    async fn stream(
        &self,
        _request: ModelRequest,
        _context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let deltas = match call {
            Some(call) => {
                vec![Ok(Delta::Block(Block::ToolUse(call))), Ok(Delta::End(StopReason::ToolUse))]
            }
            None => vec![Ok(Delta::Text("Done.".to_owned())), Ok(Delta::End(StopReason::EndTurn))],
        };
        Ok(Box::pin(futures::stream::iter(deltas)))
    }
}
