//! Sending an input and following its turn.

use std::time::Duration;

use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{Cursor, Event, TurnEnd, TurnStatus};
use robota_core::ids::{CallId, InputId};
use robota_core::message::Content;
use robota_core::provider::StopReason;
use robota_core::usage::Usage;
use tokio::sync::watch;

use super::input_follower::{InputEnd, InputFollower};
use super::{AcceptedInput, SendOptions, Session};
use crate::error::SessionError;
use crate::event_kind::{EventFilter, EventKind};
use crate::hub::StoreFailure;
use crate::subscribe::{SessionEvent, StartAt, Subscription};

/// How the input of a chat ended, or why the chat stopped before that.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEnd {
    /// The turn of the input ended, well or not.
    Ended {
        /// How the turn ended, as `turn_finished` records it.
        end: TurnEnd,
        /// The failure that ended the turn; `None` if it did not end with one.
        error: Option<ErrorData>,
    },
    /// Calls wait for approval. Decide them, and subscribe after [`Reply::last`] to continue.
    Paused {
        /// The ids of the calls that wait for a decision.
        permissions: Vec<CallId>,
    },
    /// A UserPromptSubmit hook refused the input, so no turn began with it.
    Blocked {
        /// The reason that the hook gave.
        reason: String,
    },
    /// The input was cancelled before it was delivered.
    Cancelled,
}

/// What an input led to: the answer, and what it cost.
///
/// ```
/// use robota_session::Reply;
///
/// fn line(reply: &Reply) -> String {
///     format!("{} ({} rounds)", reply.text, reply.rounds)
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The id of the input that this answers.
    pub input: InputId,
    /// How the turn of the input ended.
    pub end: ChatEnd,
    /// The text of the last answer; only a part of it when the answer was cut short, and the error's
    /// text when the turn failed. [`Reply::into_text`] returns an error then.
    pub text: String,
    /// Why the model stopped its last answer; none when no answer was complete.
    pub stop: Option<StopReason>,
    /// How many rounds the turn took.
    pub rounds: u32,
    /// How many tool calls ran to their end in the turn.
    pub tools_executed: u32,
    /// The tokens of all model calls of the turn.
    pub usage: Usage,
    /// The price of these tokens in dollars; none when the model catalogue has no price for the model.
    pub cost: Option<f64>,
    /// How long the turn took, from its first event to its last.
    pub duration: Duration,
    /// The last event that was received: subscribe after it to continue.
    pub last: Option<Cursor>,
}

impl Reply {
    /// Classifies the result of the turn; `None` while calls wait for approval.
    #[must_use]
    pub fn status(&self) -> Option<TurnStatus> {
        match &self.end {
            ChatEnd::Ended { end, .. } => Some(end.status(self.stop.as_ref())),
            ChatEnd::Paused { .. } => None,
            ChatEnd::Blocked { .. } => Some(TurnStatus::Failed),
            ChatEnd::Cancelled => Some(TurnStatus::Interrupted),
        }
    }

    /// Returns the text of the answer.
    ///
    /// # Errors
    /// When the turn was interrupted, blocked by a hook, or failed.
    pub fn into_text(self) -> Result<String, SessionError> {
        match self.end {
            ChatEnd::Ended { error: Some(error), .. } => Err(SessionError::Failed(error)),
            ChatEnd::Ended { end, error: None } => match end {
                TurnEnd::Interrupted => Err(SessionError::Aborted { text: self.text }),
                TurnEnd::ProviderFailed | TurnEnd::StoreFailed => {
                    Err(SessionError::Failed(ErrorData::new(ErrorKind::Provider, self.text)))
                }
                TurnEnd::Complete
                | TurnEnd::RoundLimit
                | TurnEnd::UnknownTools
                | TurnEnd::ContextFull
                | TurnEnd::Blocked
                | TurnEnd::Stopped => Ok(self.text),
            },
            ChatEnd::Cancelled => Err(SessionError::Aborted { text: self.text }),
            ChatEnd::Blocked { reason } => {
                Err(SessionError::Blocked(format!("Blocked by hook: {reason}")))
            }
            ChatEnd::Paused { .. } => Ok(self.text),
        }
    }
}

/// Follows an input to the end of its turn, event by event.
pub struct Chat {
    session: Session,
    events: Subscription,
    kinds: EventFilter,
    follow: InputFollower,
    input: InputId,
    pauses: bool,
    last: Option<Cursor>,
    end: Option<ChatEnd>,
    /// A failure of the store: no event reports it.
    failures: watch::Receiver<Option<StoreFailure>>,
}

impl Chat {
    pub(super) async fn begin(
        session: Session,
        content: Content,
        options: SendOptions,
        kinds: EventFilter,
    ) -> Result<Self, SessionError> {
        // Subscribe first: once the input is accepted, nothing may fail.
        let events = session.subscribe_patiently(StartAt::Now, EventFilter::Everything).await?;
        let accepted = session.accept(content, options).await?;
        let pauses = session.shared.approvals.waits_for_clients();
        let AcceptedInput { input, before: last, failures } = accepted;
        let follow = InputFollower::new(input.clone());
        Ok(Self { session, events, kinds, follow, input, pauses, last, end: None, failures })
    }

    /// Follows an input that was accepted before, such as one of a schedule, to the end of its turn.
    /// `since` is the position of the event that accepted it, or one before.
    ///
    /// # Errors
    /// When the session has ended or its journal cannot be read.
    pub async fn follow(
        session: Session,
        input: InputId,
        since: impl Into<StartAt>,
        kinds: impl Into<EventFilter>,
    ) -> Result<Self, SessionError> {
        let (since, kinds) = (since.into(), kinds.into());
        let failures = session.shared.hub.failures();
        let events = session.subscribe_patiently(since, EventFilter::Everything).await?;
        let pauses = session.shared.approvals.waits_for_clients();
        let follow = InputFollower::new(input.clone());
        let (last, end) = (None, None);
        Ok(Self { session, events, kinds, follow, input, pauses, last, end, failures })
    }

    /// Returns the id of the input.
    #[must_use]
    pub fn input(&self) -> &InputId {
        &self.input
    }

    /// Lets the chat wait while calls wait for approval, instead of ending it as paused.
    pub fn wait_for_approvals(&mut self) {
        self.pauses = false;
    }

    /// Returns the next event of the requested kinds; none once the chat has ended.
    ///
    /// # Errors
    /// When the session ends first, or its journal cannot be read.
    pub async fn next(&mut self) -> Option<Result<SessionEvent, SessionError>> {
        while self.end.is_none() {
            let next = tokio::select! {
                biased;
                next = self.events.next_event() => next,
                Ok(()) = self.failures.changed() => {
                    let failure = self.failures.borrow_and_update().clone();
                    match failure {
                        // No turn has taken this input: it is delivered later.
                        Some(failure) if failure.undelivered.contains(&self.input) => continue,
                        failure => {
                            let error = failure.map(|failure| failure.error);
                            self.end = Some(ChatEnd::Ended { end: TurnEnd::StoreFailed, error });
                            break;
                        }
                    }
                }
            };
            let event = match next {
                Some(Ok(event)) => event,
                // A session that ended because its store cannot be reached says so itself.
                Some(Err(error)) if !self.session.shared.hub.ended.is_cancelled() => {
                    return Some(Err(error));
                }
                // The subscription ends with the session. The hub knows why, the journal may not.
                Some(Err(_)) | None => {
                    self.end = Some(ChatEnd::Cancelled);
                    return Some(Err(self.session.shared.hub.why_ended(self.session.id())));
                }
            };
            if self.last.is_some_and(|last| event.cursor().seq <= last.seq) {
                // Written between the subscription and the input.
                continue;
            }
            self.last = Some(event.cursor());
            self.end = self.follow.on_event(&event.envelope).map(|end| match end {
                InputEnd::Turn { end, error } => ChatEnd::Ended { end, error },
                InputEnd::Blocked(reason) => ChatEnd::Blocked { reason },
                InputEnd::Cancelled => ChatEnd::Cancelled,
            });
            // After the end was computed: a question in the last event of a turn does not exist any
            // more.
            self.pause(&event);
            if let Some(kinds) = self.kinds.matching(event.event()) {
                return Some(Ok(SessionEvent { kinds, ..event }));
            }
        }
        None
    }

    /// Ends the chat as paused when a call waits for a client: this caller may be that client.
    fn pause(&mut self, event: &SessionEvent) {
        if !self.pauses || !self.follow.is_in(event.envelope.turn.as_ref()) {
            return;
        }
        if let Event::PermissionAsked(data) = event.event() {
            // The status of now: the call may have been decided since the event was written.
            let asked = self.session.shared.hub.status().waiting_calls;
            if asked.contains(&data.call) {
                self.end = Some(ChatEnd::Paused { permissions: asked.into_iter().collect() });
            }
        }
    }

    /// Returns how the chat ended; none while it runs.
    #[must_use]
    pub fn end(&self) -> Option<&ChatEnd> {
        self.end.as_ref()
    }

    /// Waits for the end of the chat.
    ///
    /// # Errors
    /// As [`Chat::next`].
    pub async fn finish(mut self) -> Result<Reply, SessionError> {
        // One kind of rare events, so that a stream of chunks is not passed to a caller that drops
        // it.
        self.kinds = EventFilter::from([EventKind::State]);
        while let Some(event) = self.next().await {
            event?;
        }
        let InputFollower { answer, stop, cost, usage, rounds, tools_executed, duration, .. } =
            self.follow;
        Ok(Reply {
            input: self.input,
            end: self.end.unwrap_or(ChatEnd::Cancelled),
            text: answer.text,
            stop,
            rounds,
            tools_executed,
            usage,
            cost: cost.and_then(|cost| cost.dollars()),
            duration,
            last: self.last,
        })
    }
}
