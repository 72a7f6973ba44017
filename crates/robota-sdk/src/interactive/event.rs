//! The events of a session for clients (SDK-02): a projection of the journal.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use robota_core::context::{ContextEstimate, ContextInputs, ContextState, estimate};
use robota_core::error::ErrorData;
use robota_core::event::{Cursor, Envelope, Event, TurnEnd};
use robota_core::ids::{CallId, GroupId, InputId, SessionId, TaskId};
use robota_core::journal::JournalStore;
use robota_core::message::{Block, ToolUse};
use robota_core::permission::Mode;
use robota_core::project::{AnswerText, StreamText, TextUpdate};
use robota_core::task::{GroupChange, TaskChange};
use robota_session::{
    EventFilter, SessionError, SessionEvent, StartAt, Subscription, SubscriptionItem,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::history::DISPLAY;
use super::result::{ExecutionResult, UsageSnapshot};
use super::tool_state::ToolState;

/// Something that happened in a session, prepared for display.
///
/// ```
/// use robota_sdk::InteractiveEvent;
///
/// fn show(event: &InteractiveEvent) -> Option<&str> {
///     match event {
///         InteractiveEvent::TextDelta { text } => Some(text),
///         InteractiveEvent::ToolStart(tool) => Some(&tool.tool),
///         _ => None,
///     }
/// }
/// # let _ = show;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum InteractiveEvent {
    /// A prompt was accepted. It waits until its turn begins.
    PromptAccepted {
        /// The id of the prompt; the later events about it have the same.
        input: InputId,
        /// What the user typed, which may differ from what the model gets.
        text: String,
    },
    /// A waiting prompt was changed, or moved to another place of the queue.
    PromptChanged {
        /// The id from [`PromptAccepted`](Self::PromptAccepted).
        input: InputId,
        /// What the user typed, after the change.
        text: String,
        /// How many prompts are answered before it.
        position: u32,
    },
    /// A waiting prompt was cancelled, or a hook blocked it.
    PromptCancelled {
        /// The id from [`PromptAccepted`](Self::PromptAccepted).
        input: InputId,
        /// Why a hook blocked it; none if it was cancelled.
        reason: Option<String>,
    },
    /// The turn of a prompt began: the prompt is part of the conversation.
    PromptStarted {
        /// The id from [`PromptAccepted`](Self::PromptAccepted).
        input: InputId,
        /// What the user typed, or the text of the message if the acceptance was not seen.
        text: String,
    },
    /// The permission mode changed, by a client or by a tool for plan mode.
    ModeChanged {
        /// The mode that applies from now on.
        mode: Mode,
    },
    /// The model wrote a piece of its answer.
    TextDelta {
        /// The piece that is appended to the answer so far.
        text: String,
    },
    /// The text since the last whole answer is void: its model call failed and is retried.
    TextReset,
    /// The session started or stopped to work on a prompt.
    Thinking {
        /// True when a turn begins, false when it has ended.
        active: bool,
    },
    /// A tool call starts: it was allowed.
    ToolStart(ToolState),
    /// A running tool call printed something.
    ToolOutput {
        /// The call, whose [`ToolStart`](Self::ToolStart) came before.
        call: CallId,
        /// The piece that was printed since the last event of this call.
        text: String,
    },
    /// A tool call ended, or did not run.
    ToolEnd(ToolState),
    /// A tool call waits for an approval. Decide it with the session's permissions.
    ApprovalAsked {
        /// The call, by which it is decided.
        call: CallId,
        /// The name of the tool; empty if the event of the call was not seen.
        tool: String,
        /// Why the call needs approval, as the gate or a hook explains it.
        reason: String,
        /// The rules that the answer "always" would save.
        rules: Vec<String>,
    },
    /// A tool call that waited for approval was decided.
    ApprovalDecided {
        /// The call of the [`ApprovalAsked`](Self::ApprovalAsked) before.
        call: CallId,
    },
    /// The number of tokens in the context window changed.
    ContextUpdate(ContextState),
    /// The conversation was compacted: a summary replaces the older messages.
    Compacted {
        /// The text that replaces the older messages.
        summary: String,
    },
    /// The model call failed and is tried again.
    Retry {
        /// The failure of the call that is tried again.
        error: ErrorData,
        /// How long the session waits before the next try, in milliseconds.
        delay_ms: u64,
    },
    /// Something happened to a background task.
    BackgroundTaskEvent {
        /// The id of the task, as the session's tasks have it.
        task: TaskId,
        /// The change, as the journal records it.
        change: Box<TaskChange>,
    },
    /// Something happened to a group of background tasks.
    BackgroundJobGroupEvent {
        /// The id of the group, as the session's tasks have it.
        group: GroupId,
        /// The change, as the journal records it.
        change: GroupChange,
    },
    /// The prompt was answered. Every turn ends with this, `Interrupted` or `Error`.
    Complete(Box<ExecutionResult>),
    /// The turn was interrupted, by a client or by the budget. The result has what was done so far.
    Interrupted(Box<ExecutionResult>),
    /// The turn failed, or a hook blocked the prompt.
    Error(Box<ExecutionResult>),
}

/// Turns the events of a journal into events for clients. [`InteractiveEvents`] does it for a
/// client that needs nothing else of the journal.
///
/// ```
/// use robota_sdk::InteractiveEvent;
/// use robota_sdk::interactive::Projection;
///
/// fn events(journal: &[robota_core::event::Envelope]) -> Vec<InteractiveEvent> {
///     let (mut projection, mut found) = (Projection::default(), Vec::new());
///     for envelope in journal {
///         projection.push(envelope, &mut found);
///     }
///     found
/// }
/// assert!(events(&[]).is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Projection {
    text: StreamText,
    /// The texts to show of the prompts that wait.
    prompts: HashMap<InputId, String>,
    calls: HashMap<CallId, ToolUse>,
    running: HashMap<CallId, ToolState>,
    tools: Vec<ToolState>,
    answer: AnswerText,
    model: String,
    context: Option<ContextState>,
    window: u64,
}

impl Projection {
    /// Takes an event of the journal and adds what clients see of it.
    pub fn push(&mut self, envelope: &Envelope, out: &mut Vec<InteractiveEvent>) {
        match self.text.push(&envelope.event) {
            Some(TextUpdate::Append(text)) => {
                out.push(InteractiveEvent::TextDelta { text: text.into_owned() });
            }
            Some(TextUpdate::Reset) => out.push(InteractiveEvent::TextReset),
            None => {}
        }
        self.answer.push(&envelope.event);
        match &envelope.event {
            Event::InputAccepted(data) => {
                let (input, text) = (data.input.clone(), shown_text(&data.content, &data.metadata));
                self.prompts.insert(input.clone(), text.clone());
                out.push(InteractiveEvent::PromptAccepted { input, text });
            }
            Event::InputChanged(data) => {
                let (input, text) = (data.input.clone(), shown_text(&data.content, &data.metadata));
                self.prompts.insert(input.clone(), text.clone());
                let position = data.position;
                out.push(InteractiveEvent::PromptChanged { input, text, position });
            }
            Event::InputCancelled(data) => {
                self.prompts.remove(&data.input);
                let (input, reason) = (data.input.clone(), None);
                out.push(InteractiveEvent::PromptCancelled { input, reason });
            }
            Event::InputBlocked(data) => {
                if let Some(input) = data.input.clone() {
                    self.prompts.remove(&input);
                    let reason = Some(data.reason.clone());
                    out.push(InteractiveEvent::PromptCancelled { input, reason });
                }
            }
            Event::UserMessage(data) => {
                if let Some(input) = data.input.clone() {
                    let text = self.prompts.remove(&input);
                    // A client that attached later has not seen that the prompt was accepted.
                    let text = text.unwrap_or_else(|| data.message.text());
                    out.push(InteractiveEvent::PromptStarted { input, text });
                }
            }
            Event::ModeChanged(data) => {
                out.push(InteractiveEvent::ModeChanged { mode: data.mode });
            }
            Event::TurnStarted(data) => {
                self.model.clone_from(&data.model);
                self.tools.clear();
                out.push(InteractiveEvent::Thinking { active: true });
            }
            Event::TaskChanged(data) => out.push(InteractiveEvent::BackgroundTaskEvent {
                task: data.task.clone(),
                change: Box::new(data.change.clone()),
            }),
            Event::TaskGroupChanged(data) => {
                out.push(InteractiveEvent::BackgroundJobGroupEvent {
                    group: data.group.clone(),
                    change: data.change.clone(),
                });
            }
            Event::ToolCalled(data) => {
                self.calls.insert(data.tool_use.call.clone(), data.tool_use.clone());
            }
            Event::PermissionAsked(data) => out.push(InteractiveEvent::ApprovalAsked {
                call: data.call.clone(),
                tool: self.calls.get(&data.call).map(|call| call.name.clone()).unwrap_or_default(),
                reason: data.reason.clone(),
                rules: data.rules.clone(),
            }),
            Event::PermissionDecided(data) => {
                out.push(InteractiveEvent::ApprovalDecided { call: data.call.clone() });
            }
            Event::ToolStarted(data) => {
                if let Some(call) = self.calls.get(&data.call) {
                    let state = ToolState::started(call, data.input.as_ref());
                    self.running.insert(data.call.clone(), state.clone());
                    out.push(InteractiveEvent::ToolStart(state));
                }
            }
            Event::ToolOutput(data) => {
                let (call, text) = (data.call.clone(), data.text.clone());
                out.push(InteractiveEvent::ToolOutput { call, text });
            }
            Event::ToolFinished(data) => {
                let state = self.running.remove(&data.call);
                let call = self.calls.remove(&data.call);
                // A call that was denied has no start.
                let state = state.or_else(|| Some(ToolState::started(call.as_ref()?, None)));
                if let Some(state) = state {
                    let state = state.ended(&data.outcome);
                    self.tools.push(state.clone());
                    out.push(InteractiveEvent::ToolEnd(state));
                }
            }
            Event::ContextMeasured(data) => self.update_context(&data.estimate, out),
            Event::AssistantMessage(data) => {
                // The provider has counted the tokens of this answer; before, they were estimated.
                let exact = estimate(&ContextInputs {
                    latest_usage: data.message.usage,
                    usage_is_last: true,
                    window: self.window,
                    ..ContextInputs::default()
                });
                if exact.exact {
                    self.update_context(&exact, out);
                }
            }
            Event::CompactionFinished(data) => {
                out.push(InteractiveEvent::Compacted { summary: data.summary.text() });
            }
            Event::ModelRetry(data) => out.push(InteractiveEvent::Retry {
                error: data.error.clone(),
                delay_ms: data.delay_ms,
            }),
            Event::TurnFinished(data) => {
                out.push(InteractiveEvent::Thinking { active: false });
                let usage = UsageSnapshot::new(&self.model, data.usage, self.context.as_ref());
                // Boxed, because the other events are small and there are many of them.
                let result = Box::new(ExecutionResult {
                    response: std::mem::take(&mut self.answer.text),
                    end: data.end,
                    error: data.error.clone(),
                    tools: std::mem::take(&mut self.tools),
                    context: self.context,
                    usage,
                    rounds: data.rounds,
                    last: Some(envelope.cursor()),
                });
                // An interrupted turn leaves calls without an end.
                self.calls.clear();
                self.running.clear();
                out.push(match data.end {
                    TurnEnd::Interrupted => InteractiveEvent::Interrupted(result),
                    TurnEnd::ProviderFailed | TurnEnd::StoreFailed | TurnEnd::Blocked => {
                        InteractiveEvent::Error(result)
                    }
                    // No failure: the field `end` says what ended the turn.
                    TurnEnd::Complete
                    | TurnEnd::RoundLimit
                    | TurnEnd::UnknownTools
                    | TurnEnd::ContextFull
                    | TurnEnd::Stopped => InteractiveEvent::Complete(result),
                });
            }
            _ => {}
        }
    }

    fn update_context(&mut self, estimate: &ContextEstimate, out: &mut Vec<InteractiveEvent>) {
        let state = estimate.state();
        self.window = state.max_tokens;
        if self.context != Some(state) {
            self.context = Some(state);
            out.push(InteractiveEvent::ContextUpdate(state));
        }
    }
}

/// Returns the text of a prompt that clients show.
pub(super) fn shown_text(content: &[Block], metadata: &Map<String, Value>) -> String {
    if let Some(display) = metadata.get(DISPLAY).and_then(Value::as_str) {
        return display.to_owned();
    }
    joined_texts(content)
}

/// Returns the texts of a content, each on a line of its own.
pub(super) fn joined_texts(content: &[Block]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Receives the events of a session for clients, as they happen. It ends with the session.
///
/// ```
/// use robota_sdk::{InteractiveEvent, InteractiveSession, SdkError};
/// use robota_session::StartAt;
///
/// async fn follow(session: &InteractiveSession) -> Result<(), SdkError> {
///     let mut events = session.events(StartAt::Now).await?;
///     while let Some(event) = events.next().await {
///         drop(event);
///     }
///     Ok(())
/// }
/// # let _ = (follow, None::<InteractiveEvent>);
/// ```
pub struct InteractiveEvents {
    events: Subscription,
    projection: Projection,
    /// The last event before those that come next, if the projection has not seen its turn.
    unseen: Option<u64>,
    /// An event that was received and is not in the projection yet.
    received: Option<SessionEvent>,
    ready: std::collections::VecDeque<InteractiveEvent>,
    last: Option<Cursor>,
}

impl InteractiveEvents {
    pub(super) fn new(events: Subscription) -> Self {
        let unseen = Some(events.starts_after());
        let projection = Projection::default();
        let (received, ready) = (None, Default::default());
        Self { events, projection, unseen, received, ready, last: None }
    }

    /// Follows a session that need not be open in this process: another process may write to it.
    ///
    /// # Errors
    /// If there is no such session, or its journal cannot be read.
    pub async fn follow(
        store: Arc<dyn JournalStore>,
        session: &SessionId,
        start: StartAt,
    ) -> Result<Self, SessionError> {
        let filter = EventFilter::Everything;
        Ok(Self::new(robota_session::follow(store, session, start, filter).await?))
    }

    /// Waits for the next event; none once the session has ended. Cancel safe: no event is lost if the
    /// future is dropped, and none after an error of a read: the next call reads again, so wait before it.
    ///
    /// # Errors
    /// If the journal cannot be read, or the session was lost.
    pub async fn next(&mut self) -> Option<Result<InteractiveEvent, SessionError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(seq) = self.unseen {
                match self.events.turn_before(seq).await {
                    Ok(events) => self.project(&events),
                    Err(error) => return Some(Err(error)),
                }
            }
            if self.received.is_some() {
                if let Err(error) = self.learn_prompt().await {
                    return Some(Err(error));
                }
                self.take();
                continue;
            }
            match self.events.next().await? {
                // Kept here, because the future may be dropped while more is read for it.
                Ok(SubscriptionItem::Event(event)) => self.received = Some(event),
                // A power failure lost events after this point, so the state of the turn is void.
                Ok(SubscriptionItem::CursorReset { valid, .. }) => {
                    self.unseen = Some(valid.map_or(0, |cursor| cursor.seq));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns the last event of the journal that was taken into account. A later subscription that
    /// starts after it misses nothing.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        self.last
    }

    /// Returns the events as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<InteractiveEvent, SessionError>> {
        futures::stream::unfold(self, |mut events| async {
            let next = events.next().await?;
            Some((next, events))
        })
    }

    /// Starts the projection with events that the client has seen, or did not ask for: without the
    /// start of a turn its later events have no meaning.
    fn project(&mut self, events: &[Envelope]) {
        self.projection = Projection::default();
        let mut seen = Vec::new();
        for envelope in events {
            self.projection.push(envelope, &mut seen);
            seen.clear();
        }
        self.unseen = None;
    }

    /// Reads the text of a prompt that starts with the received event, if it was accepted before the events
    /// that were read: a prompt may wait for several turns.
    async fn learn_prompt(&mut self) -> Result<(), SessionError> {
        let Some(event) = &self.received else { return Ok(()) };
        let Event::UserMessage(data) = event.event() else { return Ok(()) };
        let Some(input) = data.input.as_ref() else { return Ok(()) };
        let mut end = event.cursor().seq.saturating_sub(1);
        while end > 0 && !self.projection.prompts.contains_key(input) {
            let events = self.events.turn_before(end).await?;
            let text = events.iter().rev().find_map(|envelope| match &envelope.event {
                Event::InputAccepted(data) if data.input == *input => {
                    Some(shown_text(&data.content, &data.metadata))
                }
                Event::InputChanged(data) if data.input == *input => {
                    Some(shown_text(&data.content, &data.metadata))
                }
                _ => None,
            });
            if let Some(text) = text {
                self.projection.prompts.insert(input.clone(), text);
            }
            end = events.first().map_or(0, |first| first.seq.saturating_sub(1));
        }
        Ok(())
    }

    fn take(&mut self) {
        let Some(event) = self.received.take() else { return };
        self.last = Some(event.cursor());
        let mut out = Vec::new();
        self.projection.push(&event.envelope, &mut out);
        self.ready.extend(out);
    }
}
