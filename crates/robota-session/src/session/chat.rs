//! Saying something and following what becomes of it.

use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{Cursor, Event, TurnEnd};
use robota_core::ids::{CallId, InputId};
use robota_core::message::Content;
use tokio::sync::watch;

use super::input_follower::{InputEnd, InputFollower};
use super::{AcceptedInput, SendOptions, Session};
use crate::error::SessionError;
use crate::event_kind::{EventFilter, EventKind};
use crate::hub::StoreFailure;
use crate::subscribe::{SessionEvent, StartAt, Subscription};

/// How a chat ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEnd {
    /// The turn is over.
    Ended {
        /// How.
        end: TurnEnd,
        /// The failure, when it ended with one.
        error: Option<ErrorData>,
    },
    /// Calls wait for approval. Decide them and follow on from the cursor.
    Paused {
        /// The calls.
        permissions: Vec<CallId>,
    },
    /// A hook refused the input.
    Blocked {
        /// Why.
        reason: String,
    },
    /// The input was cancelled before it was delivered.
    Cancelled,
}

/// What came of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The input.
    pub input: InputId,
    /// How it ended.
    pub end: ChatEnd,
    /// The last answer, or what there is of it.
    pub text: String,
    /// The last event that was seen: what to follow on from.
    pub last: Option<Cursor>,
}

impl Reply {
    /// The answer, if there is one.
    ///
    /// # Errors
    /// When the run was aborted or refused, or failed.
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

/// What becomes of an input, event by event.
pub struct Chat {
    session: Session,
    events: Subscription,
    kinds: EventFilter,
    follow: InputFollower,
    input: InputId,
    pauses: bool,
    last: Option<Cursor>,
    end: Option<ChatEnd>,
    /// What a journal that failed did not take is not told by events.
    failures: watch::Receiver<Option<StoreFailure>>,
}

impl Chat {
    pub(super) async fn begin(
        session: Session,
        content: Content,
        kinds: EventFilter,
    ) -> Result<Self, SessionError> {
        // First the subscription: nothing can fail any more once the input is accepted.
        let events = session.subscribe(StartAt::Now, EventFilter::Everything).await?;
        let accepted = session.accept(content, SendOptions::default()).await?;
        let pauses = session.shared.approvals.waits_for_clients();
        let AcceptedInput { input, before: last, failures } = accepted;
        let follow = InputFollower::new(input.clone());
        Ok(Self { session, events, kinds, follow, input, pauses, last, end: None, failures })
    }

    /// The input.
    #[must_use]
    pub fn input(&self) -> &InputId {
        &self.input
    }

    /// Goes on while calls wait for approval.
    pub fn wait_for_approvals(&mut self) {
        self.pauses = false;
    }

    /// The next event of the kinds asked for; none once it has ended.
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
            self.pause(&event);
            if let Some(kinds) = self.kinds.matching(event.event()) {
                return Some(Ok(SessionEvent { kinds, ..event }));
            }
        }
        None
    }

    /// Nobody waits for an answer that only a client can give.
    fn pause(&mut self, event: &SessionEvent) {
        if !self.pauses || !self.follow.is_in(event.envelope.turn.as_ref()) {
            return;
        }
        if let Event::PermissionAsked(data) = event.event() {
            let asked = self.session.shared.hub.status().waiting_calls;
            if asked.contains(&data.call) {
                self.end = Some(ChatEnd::Paused { permissions: asked.into_iter().collect() });
            }
        }
    }

    /// Reads on to the end.
    ///
    /// # Errors
    /// As [`Chat::next`].
    pub async fn finish(mut self) -> Result<Reply, SessionError> {
        self.kinds = EventFilter::from([EventKind::State]);
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(Reply {
            input: self.input,
            end: self.end.unwrap_or(ChatEnd::Cancelled),
            text: self.follow.text,
            last: self.last,
        })
    }
}
