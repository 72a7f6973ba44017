//! The handle of a session.

mod chat;
mod context;
mod follow;
mod fork;
mod permissions;
mod recovery;

use std::sync::Arc;

use futures::StreamExt as _;
use jiff::Timestamp;
use robota_core::driver::Recorder;
use robota_core::event::{Cursor, Delivery, Event, Renamed};
use robota_core::ids::{CallId, InputId, SessionId};
use robota_core::message::{Content, Message};
use robota_core::provider::{ModelRequest, Provider, chat as ask};
use robota_core::state::{Origin, State};
use robota_core::tool::Tool;
use tokio::sync::{mpsc, oneshot};

pub use chat::{Chat, ChatEnd, Reply};
pub use context::ContextHandle;
pub use permissions::Permissions;
pub use recovery::Recovery;

use crate::actor::{Actor, Beginning, Request, Shared};
use crate::builder::SessionBuilder;
use crate::error::SessionError;
use crate::hooks::{CodeHook, RegisteredHook};
use crate::kind::{EventKind, Kinds};
use crate::live::SessionState;
use crate::subscribe::{Observed, SessionEvent, Since, Subscription, subscribe};

/// Requests that may wait for the session's task.
const REQUESTS: usize = 64;

/// A session: a conversation that outlives its process. Clones are the same session.
///
/// One task owns the session. Dropping the last handle shuts it down in the background, as
/// [`Session::shutdown`] with the reason `dropped` does: what runs is stopped and recorded.
#[derive(Clone)]
pub struct Session {
    requests: mpsc::Sender<Request>,
    shared: Arc<Shared>,
}

/// How a session stands (KODE-01).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Ready, busy or paused.
    pub state: SessionState,
    /// The session.
    pub session: SessionId,
    /// Turns that ended with an answer.
    pub messages: u64,
    /// How many safe points there are.
    pub safe_points: u64,
    /// The last event.
    pub cursor: Option<Cursor>,
    /// Calls that wait for approval; each can be decided by its id.
    pub pending: Vec<CallId>,
    /// Inputs that are accepted and not delivered.
    pub queued: usize,
}

/// What a session is.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// Its id.
    pub session: SessionId,
    /// Its name.
    pub name: Option<String>,
    /// Where it works.
    pub cwd: Option<String>,
    /// The model.
    pub model: String,
    /// When it began.
    pub created: Timestamp,
    /// When something last happened.
    pub updated: Timestamp,
    /// The sessions it was forked from, nearest first.
    pub lineage: Vec<Origin>,
    /// Turns that ended with an answer.
    pub messages: u64,
    /// How many safe points there are.
    pub safe_points: u64,
}

/// What a model said outside the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its words.
    pub text: String,
    /// The session that asked.
    pub session: SessionId,
}

impl Session {
    /// Begins to build one.
    pub fn builder(provider: Arc<dyn Provider>, model: impl Into<String>) -> SessionBuilder {
        SessionBuilder::new(provider, model.into())
    }

    pub(crate) fn launch(shared: Arc<Shared>, recorder: Recorder, beginning: Beginning) -> Self {
        let (requests, mailbox) = mpsc::channel(REQUESTS);
        // Whoever gets the handle finds the session busy with what it is about to do.
        let pending = !recorder.state().inputs.is_empty() && !beginning.hold;
        shared.live.set_busy((pending || beginning.go_on) && !beginning.open);
        drop(tokio::spawn(Actor::new(shared.clone(), mailbox, recorder, beginning).run()));
        Self { requests, shared }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.shared.id
    }

    /// Says something. Returns as soon as it is safe; it is worked on after the turn that is
    /// running.
    ///
    /// # Errors
    /// When it could not be made safe: it was then not accepted.
    pub async fn send(&self, content: impl Into<Content>) -> Result<InputId, SessionError> {
        self.send_with(content, Delivery::AfterTurn).await
    }

    /// Says something, to be delivered after the turn that is running or before its next model
    /// call. It never lands between a call and its result.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn send_with(
        &self,
        content: impl Into<Content>,
        delivery: Delivery,
    ) -> Result<InputId, SessionError> {
        Ok(self.accept(content.into(), delivery).await?.input)
    }

    async fn accept(
        &self,
        Content(content): Content,
        delivery: Delivery,
    ) -> Result<crate::actor::Accepted, SessionError> {
        self.ask(|reply| Request::Send { content, delivery, reply }).await
    }

    /// Follows the session: what is in its journal after `since`, then what happens, with no gap
    /// and no duplicate.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn subscribe(
        &self,
        since: impl Into<Since>,
        kinds: impl Into<Kinds>,
    ) -> Result<Subscription, SessionError> {
        let Shared { store, id, live, .. } = &*self.shared;
        subscribe(store.clone(), id, live, since.into(), kinds.into()).await
    }

    /// Says something and follows what becomes of it, to the end of its turn, or until somebody
    /// has to approve a call.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn chat(
        &self,
        content: impl Into<Content>,
        kinds: impl Into<Kinds>,
    ) -> Result<Chat, SessionError> {
        Chat::begin(self.clone(), content.into(), kinds.into()).await
    }

    /// Says something and waits for the answer, or until somebody has to approve a call.
    ///
    /// # Errors
    /// As [`Session::send`], and when the session ends first.
    pub async fn reply(&self, content: impl Into<Content>) -> Result<Reply, SessionError> {
        self.chat(content, Kinds::default()).await?.finish().await
    }

    /// Says something and waits for the answer, whatever has to be approved on the way
    /// (SESS-01).
    ///
    /// # Errors
    /// When the run was aborted, a hook refused it, or it failed. The session can be used as
    /// before.
    pub async fn run(&self, content: impl Into<Content>) -> Result<String, SessionError> {
        let mut chat = self.chat(content, Kinds::default()).await?;
        chat.wait_for_approvals();
        chat.finish().await?.into_text()
    }

    /// Asks the model something outside the conversation: nothing of it is kept.
    ///
    /// # Errors
    /// When the model could not answer.
    pub async fn ask_llm(
        &self,
        text: impl Into<Content>,
        system: Option<Arc<str>>,
    ) -> Result<Asked, SessionError> {
        use robota_core::error::Diagnose as _;

        let (provider, ids, request) = {
            let parts = &self.shared.makeup().parts;
            let message = Message::user(&*parts.ids, text);
            let config = &parts.config;
            let request = ModelRequest {
                system: system.or_else(|| config.system.clone()),
                max_output_tokens: Some(config.turn.max_output),
                temperature: config.temperature,
                options: config.options.clone(),
                ..ModelRequest::new(config.turn.model.clone(), Arc::new(vec![Arc::new(message)]))
            };
            (parts.provider.clone(), parts.ids.clone(), request)
        };
        let (answer, _) = ask(&*provider, request, &*ids)
            .await
            .map_err(|error| SessionError::Failed(error.to_data()))?;
        Ok(Asked { text: answer.text(), session: self.id().clone() })
    }

    /// Stops what runs and cancels what waits behind it; returns when that has ended. Says
    /// whether anything ran.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn interrupt(&self, note: Option<String>) -> Result<bool, SessionError> {
        self.ask(|reply| Request::Interrupt { note, reply }).await
    }

    /// Shuts the session down: what runs is stopped, everything is safe, SessionEnd hooks are
    /// told the reason, and others may write.
    ///
    /// # Errors
    /// When the end could not be written.
    pub async fn shutdown(&self, reason: impl Into<String>) -> Result<(), SessionError> {
        let reason = reason.into();
        self.ask(|reply| Request::Shutdown { reason, reply }).await
    }

    /// How it stands.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn status(&self) -> Result<Status, SessionError> {
        let (messages, safe_points, queued) = self
            .inspect(|state| (state.turns_completed, state.safe_points.count, state.inputs.len()))
            .await?;
        let pulse = self.shared.live.pulse();
        Ok(Status {
            state: pulse.state(),
            session: self.id().clone(),
            messages,
            safe_points,
            cursor: pulse.last,
            pending: pulse.asked.into_iter().collect(),
            queued,
        })
    }

    /// Whether something runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.shared.live.pulse().state() != SessionState::Ready
    }

    /// What it is, with the sessions it was forked from.
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
        let model = self.shared.makeup().parts.config.turn.model.clone();
        Ok(SessionInfo {
            session: self.id().clone(),
            name,
            cwd,
            model,
            created: head.created,
            updated: head.updated,
            lineage: fork::lineage(&*self.shared.store, head.parent).await,
            messages,
            safe_points,
        })
    }

    /// Events of the journal after a place, oldest first, at most so many.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn history(
        &self,
        since: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<SessionEvent>, SessionError> {
        let after = since.map_or(0, |cursor| cursor.seq);
        let events = self.shared.store.read(self.id(), after, limit).await?;
        Ok(events
            .into_iter()
            .map(|envelope| SessionEvent {
                kinds: EventKind::of(&envelope.event).to_vec(),
                envelope: Arc::new(envelope),
            })
            .collect())
    }

    /// Names the session.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn rename(&self, name: impl Into<String>) -> Result<(), SessionError> {
        self.append(vec![Renamed { name: name.into() }.into()]).await
    }

    /// More tools, from the next turn on.
    ///
    /// # Errors
    /// When two have one name.
    pub fn register_tools(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<(), SessionError> {
        let mut makeup = self.shared.makeup_mut();
        let mut parts = makeup.parts.clone();
        parts.tools.extend(tools);
        makeup.tools = parts.tool_set(&*self.shared.store, self.id(), &self.shared.door)?;
        makeup.parts = parts;
        Ok(())
    }

    /// One more hook in code, from now on.
    pub fn use_hooks(&self, hook: Arc<dyn CodeHook>) {
        self.shared.chain.add(hook.clone());
        self.shared.makeup_mut().parts.code_hooks.push(hook);
    }

    /// The hooks there are.
    #[must_use]
    pub fn get_hooks(&self) -> Vec<RegisteredHook> {
        self.shared.chain.registered()
    }

    /// Calls `handler` with every further event of a kind, until the session ends.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn on(
        &self,
        kind: EventKind,
        handler: impl Fn(SessionEvent) + Send + 'static,
    ) -> Result<(), SessionError> {
        let mut events = self.subscribe(Since::Now, [kind]).await?;
        drop(tokio::spawn(async move {
            while let Some(Ok(observed)) = events.next().await {
                if let Observed::Event(event) = observed {
                    handler(event);
                }
            }
        }));
        Ok(())
    }

    /// Its permissions: mode, questions, rules.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        Permissions(self.clone())
    }

    /// Its conversation and the window it has to fit into.
    #[must_use]
    pub fn context(&self) -> ContextHandle {
        ContextHandle(self.clone())
    }

    /// What a dead writer left open, and going on after it.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        Recovery(self.clone())
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(crate::actor::Reply<T>) -> Request,
    ) -> Result<T, SessionError> {
        let why = || self.shared.live.why_ended(self.id());
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| why())?;
        answer.await.map_err(|_| why())?
    }

    async fn append(&self, events: Vec<Event>) -> Result<(), SessionError> {
        self.ask(|reply| Request::Append { events, at_rest: false, reply }).await
    }

    async fn inspect<T: Send + 'static>(
        &self,
        look: impl Fn(&State) -> T + Clone + Send + 'static,
    ) -> Result<T, SessionError> {
        loop {
            let (told, seen) = oneshot::channel();
            let look = look.clone();
            let request = Request::Inspect(Box::new(move |state| {
                let _ = told.send(look(state));
            }));
            if self.requests.send(request).await.is_err() {
                return Err(self.shared.live.why_ended(self.id()));
            }
            // A turn that ended just then did not hear it.
            if let Ok(seen) = seen.await {
                return Ok(seen);
            }
        }
    }
}
