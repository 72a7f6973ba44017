//! The handle of a session.

mod chat;
mod checkpoints;
mod config;
mod context;
mod fork;
mod input_follower;
mod journal;
mod permissions;
mod queue;
mod recovery;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use jiff::Timestamp;
use robota_core::call::{CallContext, RetryWatch};
use robota_core::driver::Recorder;
use robota_core::error::{Diagnose as _, ErrorKind};
use robota_core::event::{Closed, Cursor, Delivery, Event, ModelAsked, ModelRetry, Renamed};
use robota_core::guard::{guarded, guarded_async};
use robota_core::ids::{CallId, InputId, SessionId};
use robota_core::into_arc::IntoArc;
use robota_core::message::{Content, Message};
use robota_core::provider::{ModelRequest, OutputSchema, Provider, ProviderError, ask};
use robota_core::state::{ForkOrigin, State};
use robota_core::typed::{self, Attempts, TypedAnswer};
use robota_core::usage::Usage;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument as _, Span};

pub use chat::{Chat, ChatEnd, Reply};
pub use checkpoints::CheckpointHandle;
pub use config::{ConfigHandle, ToolChange};
pub use context::ContextHandle;
pub(crate) use fork::ForkState;
pub use journal::JournalHandle;
pub use permissions::Permissions;
pub use queue::{QueueHandle, QueuePause, QueuedInput};
pub use recovery::Recovery;
pub use watch::{LiveTurn, TurnWatch};

use crate::actor::{
    AcceptedInput, Actor, Request, SendRequest, Shared, StartOptions, function_panicked, panicked,
};
use crate::builder::SessionBuilder;
use crate::error::SessionError;
use crate::event_kind::{EventFilter, EventKind};
use crate::hub::SessionState;
use crate::subscribe::{
    SessionEvent, StartAt, Subscription, SubscriptionItem, subscribe, subscribe_patiently,
};

/// Requests that may wait for the session's task.
// More requests than the clients of one session send at once. A caller beyond it waits, which
// limits the memory of a session whose task is busy.
const REQUESTS: usize = 64;

/// Controls a conversation that survives a crash of its process. Clones are handles to the same
/// session.
///
/// One task owns the session. Dropping the last handle shuts it down in the background, as
/// [`Session::shutdown`] with the reason `dropped` does: what runs is stopped and recorded.
///
/// ```
/// use robota_core::journal::MemoryStore;
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_session::Session;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedProvider::new(Script::new().text("Hello."));
/// let session = Session::builder(model, "any-model").create(MemoryStore::new(), None).await?;
/// assert_eq!(session.run("Say hello.").await?, "Hello.");
/// session.shutdown("done").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Session {
    requests: mpsc::Sender<Request>,
    shared: Arc<Shared>,
}

/// A handle to a session that does not keep it open.
#[derive(Clone)]
pub struct WeakSession {
    requests: mpsc::WeakSender<Request>,
    shared: Arc<Shared>,
}

impl From<&Session> for WeakSession {
    fn from(session: &Session) -> Self {
        Self { requests: session.requests.downgrade(), shared: Arc::clone(&session.shared) }
    }
}

impl WeakSession {
    /// Returns a handle to the session; none if it has ended or nothing keeps it open.
    #[must_use]
    pub fn upgrade(&self) -> Option<Session> {
        let requests = self.requests.upgrade()?;
        Some(Session { requests, shared: Arc::clone(&self.shared) })
    }

    /// Waits until the session has ended.
    pub async fn ended(&self) {
        self.shared.hub.ended.cancelled().await;
    }
}

/// Says what a session is doing (KODE-01).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether it waits for an input, runs a turn, or waits for an approval.
    pub state: SessionState,
    /// The id under which the store has the session.
    pub session: SessionId,
    /// Turns that ended with an answer.
    pub messages: u64,
    /// How many safe points there are.
    pub safe_points: u64,
    /// The last event that was published; `None` before the first.
    pub cursor: Option<Cursor>,
    /// Calls that wait for approval; each can be decided by its id.
    pub pending: Vec<CallId>,
    /// Inputs that are accepted and not delivered.
    pub queued: usize,
}

/// Describes a session, for lists and status lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// The id under which the store has it.
    pub session: SessionId,
    /// The name that a client gave it; none if it was never named.
    pub name: Option<String>,
    /// The working directory of its tools; `None` if it has none.
    pub cwd: Option<String>,
    /// The model of the next turn; a running turn keeps the model it started with.
    pub model: String,
    /// When it was created; for a fork, when it was forked.
    pub created: Timestamp,
    /// The time of the last event.
    pub updated: Timestamp,
    /// The sessions it was forked from, nearest first.
    pub lineage: Vec<ForkOrigin>,
    /// Turns that ended with an answer.
    pub messages: u64,
    /// How many safe points there are.
    pub safe_points: u64,
}

/// Permission rules that apply to one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnPermissions {
    /// Rules for calls that run without approval.
    pub allow: Vec<String>,
    /// Rules for calls that do not run.
    pub deny: Vec<String>,
}

/// Says when an input is delivered, and what applies to its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct SendOptions {
    /// When it is delivered: after the turn that runs, or before its next model call.
    pub delivery: Delivery,
    /// Values of the caller that are recorded with the input; the session does not read them.
    pub metadata: Map<String, Value>,
    /// Permission rules for the turn that the input starts. Those that deny calls are recorded with the
    /// input, and also apply when the turn is continued. Those that allow calls are not recorded.
    pub rules: TurnPermissions,
    /// The form of the answer, for services that can enforce it. It is used when the input starts a
    /// turn, and is not recorded.
    pub output: Option<OutputSchema>,
    /// The model of the turn that the input starts; none for that of the session. It is called through
    /// the session's provider, and is not recorded with the input.
    pub model: Option<String>,
    /// Options of the model calls of that turn, such as `effort`, besides those of the session. They are
    /// not recorded.
    pub model_options: Map<String, Value>,
}

impl SendOptions {
    /// Returns whether something applies to the whole turn that the input starts. An input that joins a
    /// running turn loses it.
    #[must_use]
    pub fn has_turn_options(&self) -> bool {
        let Self { rules, output, model, model_options, delivery: _, metadata: _ } = self;
        *rules != TurnPermissions::default()
            || output.is_some()
            || model.is_some()
            || !model_options.is_empty()
    }
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            delivery: Delivery::AfterTurn,
            metadata: Map::new(),
            rules: TurnPermissions::default(),
            output: None,
            model: None,
            model_options: Map::new(),
        }
    }
}

impl From<Delivery> for SendOptions {
    fn from(delivery: Delivery) -> Self {
        Self { delivery, ..Self::default() }
    }
}

/// Answers a question outside the conversation: see [`Session::ask_llm`].
#[derive(Debug, Clone, PartialEq)]
pub struct AskReply {
    /// The whole text of the answer.
    pub text: String,
    /// The tokens used; none if the provider does not report them.
    pub usage: Option<Usage>,
    /// The session whose model and hooks were used.
    pub session: SessionId,
}

impl Session {
    /// Returns a builder for a session that uses this provider and model.
    pub fn builder(
        provider: impl IntoArc<dyn Provider>,
        model: impl Into<String>,
    ) -> SessionBuilder {
        SessionBuilder::new(provider.into_arc(), model.into())
    }

    pub(crate) fn launch(shared: Arc<Shared>, recorder: Recorder, options: StartOptions) -> Self {
        // Set the state before the task starts, so that the first status is correct.
        let pending = !recorder.state().inputs.is_empty() && !options.defer_inputs;
        shared.hub.set_busy((pending || options.continue_turn) && !options.needs_recovery);
        Self::launch_later(shared, std::future::ready(Ok((recorder, options))))
    }

    /// Starts the task of a session whose state it loads first. Requests wait for that.
    pub(crate) fn launch_later(
        shared: Arc<Shared>,
        load: impl Future<Output = Result<(Recorder, StartOptions), SessionError>> + Send + 'static,
    ) -> Self {
        let (requests, mailbox) = mpsc::channel(REQUESTS);
        let owner = shared.clone();
        drop(tokio::spawn(async move {
            // A panic here would leave callers waiting for a task that has ended.
            match guarded_async("the start of a session", load).await {
                Some(Ok((recorder, options))) => {
                    Actor::new(owner, mailbox, recorder, options).run().await;
                }
                Some(Err(error)) => owner.hub.end(error),
                None => owner.hub.end(panicked()),
            }
        }));
        Self { requests, shared }
    }

    /// Returns the id under which the store keeps the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.shared.id
    }

    /// Sends an input. Returns as soon as it is stored. A turn works on it after the running one.
    ///
    /// # Errors
    /// When it could not be stored: it was then not accepted.
    pub async fn send(&self, content: impl Into<Content>) -> Result<InputId, SessionError> {
        self.send_with(content, SendOptions::default()).await
    }

    /// Sends an input with options: when it is delivered, and metadata that goes with it into the
    /// journal. It is never placed between a call and its result.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn send_with(
        &self,
        content: impl Into<Content>,
        options: impl Into<SendOptions>,
    ) -> Result<InputId, SessionError> {
        Ok(self.accept(content.into(), options.into()).await?.input)
    }

    async fn accept(
        &self,
        Content(content): Content,
        options: SendOptions,
    ) -> Result<AcceptedInput, SessionError> {
        let span = Span::current();
        let input = Box::new(SendRequest { content, options, span });
        self.ask(|reply| Request::Send { input, reply }).await
    }

    /// Cancels an input that no turn has taken yet; says whether it was cancelled.
    ///
    /// # Errors
    /// When the journal cannot be written or the session has ended.
    pub async fn cancel(&self, input: &InputId) -> Result<bool, SessionError> {
        let input = input.clone();
        self.ask(|reply| Request::Cancel { input, reply }).await
    }

    /// Follows the session: the events in its journal after `since`, then new ones, with no gap and
    /// no duplicate.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn subscribe(
        &self,
        since: impl Into<StartAt>,
        kinds: impl Into<EventFilter>,
    ) -> Result<Subscription, SessionError> {
        let Shared { store, id, hub, .. } = &*self.shared;
        subscribe(store.clone(), id, hub, since.into(), kinds.into()).await
    }

    /// Follows the session, and retries reads of the journal that fail for as long as it lives.
    pub(crate) async fn subscribe_patiently(
        &self,
        since: StartAt,
        kinds: EventFilter,
    ) -> Result<Subscription, SessionError> {
        let Shared { store, id, hub, .. } = &*self.shared;
        subscribe_patiently(store.clone(), id, hub, since, kinds).await
    }

    /// Sends an input and follows it to the end of its turn, or until a client has to approve a
    /// call.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn chat(
        &self,
        content: impl Into<Content>,
        kinds: impl Into<EventFilter>,
    ) -> Result<Chat, SessionError> {
        self.chat_with(content, SendOptions::default(), kinds).await
    }

    /// Does the same as [`Session::chat`], with options: an input for the next round may join the
    /// turn that runs, and its chat then ends with that turn.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn chat_with(
        &self,
        content: impl Into<Content>,
        options: impl Into<SendOptions>,
        kinds: impl Into<EventFilter>,
    ) -> Result<Chat, SessionError> {
        Chat::begin(self.clone(), content.into(), options.into(), kinds.into()).await
    }

    /// Sends an input and waits for the answer, or until a client has to approve a call.
    ///
    /// # Errors
    /// As [`Session::send`], and when the session ends first.
    pub async fn reply(&self, content: impl Into<Content>) -> Result<Reply, SessionError> {
        self.chat(content, EventFilter::default()).await?.finish().await
    }

    /// Sends an input and waits for the answer, also while calls wait for approval (SESS-01).
    ///
    /// # Errors
    /// When the run was aborted, a hook refused it, or it failed. The session can be used as
    /// before.
    pub async fn run(&self, content: impl Into<Content>) -> Result<String, SessionError> {
        let mut chat = self.chat(content, EventFilter::default()).await?;
        chat.wait_for_approvals();
        chat.finish().await?.into_text()
    }

    /// Sends an input and waits for an answer of type `T`: the schema of the type is part of the input,
    /// and an answer that does not match it is sent back to the model, at most
    /// [`MAX_REPAIRS`](robota_core::typed::MAX_REPAIRS) times.
    ///
    /// # Errors
    /// As [`Session::run`], and [`SessionError::Typed`] when the last answer still does not match.
    pub async fn run_as<T: DeserializeOwned + JsonSchema>(
        &self,
        content: impl Into<Content>,
    ) -> Result<T, SessionError> {
        let mut content = typed::ask_for::<T>(content);
        let mut attempts = Attempts::default();
        loop {
            let output = Some(typed::output_of::<T>());
            let options = SendOptions { output, ..SendOptions::default() };
            let kinds = EventFilter::default();
            let mut chat = Chat::begin(self.clone(), content, options, kinds).await?;
            // A chat ends at a question by default; a typed answer has to wait until it is
            // answered.
            chat.wait_for_approvals();
            let reply = chat.finish().await?;
            let stop = reply.stop.clone();
            match attempts.read(reply.into_text()?, stop.as_ref())? {
                TypedAnswer::Value(value) => return Ok(value),
                TypedAnswer::Repair(next) => content = next,
            }
        }
    }

    /// Asks the model something outside the conversation. The answer is not kept; its cost counts
    /// and is recorded as `model_asked`. The call uses the session's hooks, idle timeout and
    /// retries, and is cancelled when the session ends. A caller that stops waiting does not end the
    /// call: it runs to its end, so that its cost is recorded.
    ///
    /// # Errors
    /// When the model could not answer.
    pub async fn ask_llm(
        &self,
        text: impl Into<Content>,
        system: Option<Arc<str>>,
    ) -> Result<AskReply, SessionError> {
        let (provider, ids, config) = {
            let setup = &self.shared.turn_setup().setup;
            (setup.provider(&self.shared.hooks), setup.base.ids.clone(), setup.base.config.clone())
        };
        let message = Message::user(&*ids, text);
        let model = config.turn.model.clone();
        let request = ModelRequest {
            system: system.or_else(|| config.system.clone()),
            max_output_tokens: Some(config.turn.short_request_output()),
            temperature: config.temperature,
            options: config.options.clone(),
            ..ModelRequest::new(model.clone(), Arc::new(vec![Arc::new(message)]))
        };
        let retries = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&retries);
        let context = CallContext {
            session: Some(self.id().clone()),
            blobs: self.shared.store.blobs(self.id()),
            cancel: self.shared.hub.ended.child_token(),
            redactor: config.redactor.clone(),
            hooks: self.shared.hooks.clone(),
            // Collected and recorded after the call: the session's task may be in a turn now, and
            // its journal has one writer.
            retries: RetryWatch::new(move |retry| {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(Event::from(ModelRetry::of(0, retry)));
            }),
            ..CallContext::detached()
        };
        // Without a handle: a call must not keep the session open.
        let session = WeakSession::from(self);
        let call = async move {
            let asked = ask(&*provider, request, &context, config.ask_limits(), &*ids);
            let answer =
                guarded_async("the provider or a hook", asked).await.unwrap_or_else(|| {
                    let text = "the provider or a hook panicked";
                    Err(ProviderError::new(ErrorKind::Plugin, text).with_retryable(false))
                });
            let error = answer.as_ref().err().map(|error| {
                let mut error = error.to_data();
                config.redactor.error(&mut error);
                error
            });
            let usage = answer.as_ref().ok().and_then(|(answer, _)| answer.usage);
            let mut events =
                std::mem::take(&mut *retries.lock().unwrap_or_else(PoisonError::into_inner));
            // Attempts that failed were paid for as well.
            let lost = context.meter.take_beyond(usage.unwrap_or_default());
            events.extend(lost.into_iter().map(Event::from));
            events.push(ModelAsked { model, usage, error }.into());
            let id = session.shared.id.clone();
            let Some(session) = session.upgrade() else {
                return Err(session.shared.hub.why_ended(&id));
            };
            // Recorded also when the call failed: a retried call has cost something.
            session.append(events).await?;
            let (answer, _) = answer.map_err(|error| SessionError::Failed(error.to_data()))?;
            Ok(AskReply { text: answer.text(), usage, session: id })
        };
        tokio::spawn(call.in_current_span()).await.unwrap_or_else(|_| Err(panicked()))
    }

    /// Interrupts the running turn or compaction and cancels the inputs that wait for it. Returns when
    /// it has ended, and whether anything ran.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn interrupt(&self, note: Option<String>) -> Result<bool, SessionError> {
        self.ask(|reply| Request::Interrupt { note, keep_inputs: false, reply }).await
    }

    /// Shuts the session down: interrupts the running turn, writes everything, runs SessionEnd hooks with
    /// the reason, and lets other processes open the session. Inputs that wait are kept for the next resume.
    ///
    /// Shutting down a session that was shut down already does nothing. The end is a reason, or a
    /// reason with a message for people:
    ///
    /// ```
    /// use robota_session::Closed;
    ///
    /// # async fn example(session: robota_session::Session) -> Result<(), robota_session::SessionError> {
    /// session.shutdown(Closed::from("prompt_input_exit").message("The user quit.")).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the end could not be written.
    pub async fn shutdown(&self, end: impl Into<Closed>) -> Result<(), SessionError> {
        let end = end.into();
        match self.ask(|reply| Request::Shutdown { end, reply }).await {
            // Two owners of handles may both shut the session down; the second finds what it asked
            // for.
            Err(SessionError::Closed { .. }) => Ok(()),
            ended => ended,
        }
    }

    /// Shuts the session down if nothing runs, no input waits, no process of a call runs in the
    /// background and everything is written. Returns whether it was shut down.
    ///
    /// # Errors
    /// When the end could not be written.
    pub async fn close_if_idle(&self, end: impl Into<Closed>) -> Result<bool, SessionError> {
        let end = end.into();
        match self.ask(|reply| Request::CloseIfIdle { end, reply }).await {
            Err(SessionError::Closed { .. }) => Ok(true),
            ended => ended,
        }
    }

    /// Returns the status.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn status(&self) -> Result<Status, SessionError> {
        let (messages, safe_points, queued) = self
            .inspect(|state| (state.turns_completed, state.safe_points.count, state.inputs.len()))
            .await?;
        // Read after the answer of the task, so that the cursor is not older than the numbers.
        let status = self.shared.hub.status();
        Ok(Status {
            state: status.state(),
            session: self.id().clone(),
            messages,
            safe_points,
            cursor: status.last,
            pending: status.waiting_calls.into_iter().collect(),
            queued,
        })
    }

    /// Returns whether a turn or a compaction runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.shared.hub.status().state() != SessionState::Ready
    }

    /// Returns id, name, model, times, and the sessions it was forked from.
    ///
    /// # Errors
    /// When the session has ended or its store cannot be read.
    pub async fn info(&self) -> Result<SessionInfo, SessionError> {
        let (name, cwd, messages, safe_points) = self
            .inspect(|state| {
                let (name, cwd) = (state.name.clone(), state.cwd.clone());
                (name, cwd, state.turns_completed, state.safe_points.count)
            })
            .await?;
        let head = self.shared.store.head(self.id()).await?;
        let model = self.shared.turn_setup().setup.base.config.turn.model.clone();
        Ok(SessionInfo {
            session: self.id().clone(),
            name,
            cwd,
            model,
            created: head.created,
            updated: head.updated,
            // Read here and not in the session's task: following the parents reads other sessions.
            lineage: fork::lineage(&*self.shared.store, head.parent).await,
            messages,
            safe_points,
        })
    }

    /// Names the session.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn rename(&self, name: impl Into<String>) -> Result<(), SessionError> {
        self.append(vec![Renamed { name: name.into() }.into()]).await
    }

    /// Calls `handler` with every further event of a kind, until the session ends. If the journal
    /// cannot be read for a time, the events follow later.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn on(
        &self,
        kind: EventKind,
        handler: impl Fn(SessionEvent) + Send + 'static,
    ) -> Result<(), SessionError> {
        let mut events = self.subscribe_patiently(StartAt::Now, [kind].into()).await?;
        drop(tokio::spawn(async move {
            // A subscription and not an observer: a handler that blocks must not delay the
            // session's task.
            while let Some(Ok(observed)) = events.next().await {
                if let SubscriptionItem::Event(event) = observed {
                    // A panic of the handler is logged; the handler still receives the next event.
                    guarded("an event handler", || handler(event));
                }
            }
        }));
        Ok(())
    }

    /// Returns the handle for the configuration of the next turns: model, system prompt, tools, hooks.
    #[must_use]
    pub fn config(&self) -> ConfigHandle {
        ConfigHandle(self.clone())
    }

    /// Returns the handle for the journal: reading events, and recording events of the program.
    #[must_use]
    pub fn journal(&self) -> JournalHandle {
        JournalHandle(self.clone())
    }

    /// Returns the handle for permissions: mode, pending approvals, rules.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        Permissions(self.clone())
    }

    /// Returns the handle for the conversation and the context window.
    #[must_use]
    pub fn context(&self) -> ContextHandle {
        ContextHandle(self.clone())
    }

    /// Returns the handle for checkpoints: list, compare, restore.
    #[must_use]
    pub fn checkpoints(&self) -> CheckpointHandle {
        CheckpointHandle(self.clone())
    }

    /// Returns the handle for recovery after a crash.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        Recovery(self.clone())
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(crate::actor::Reply<T>) -> Request,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        if self.requests.send(request(reply)).await.is_ok()
            && let Ok(answer) = answer.await
        {
            return answer;
        }
        // The task is ending: it says why once its journal is released.
        self.shared.hub.ended.cancelled().await;
        Err(self.shared.hub.why_ended(self.id()))
    }

    async fn append(&self, events: Vec<Event>) -> Result<(), SessionError> {
        self.ask(|reply| Request::Append { events, at_rest: false, reply }).await
    }

    pub(crate) async fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.ask(|reply| {
            Request::Inspect(Box::new(move |state| {
                // The function of the caller runs in the session's task, so its panic must end here.
                let seen = guarded("a function", || look(state));
                let _ = reply.send(seen.ok_or_else(|| function_panicked("that reads the state")));
            }))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
