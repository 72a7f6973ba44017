//! The queue of inputs: accepted, and not delivered yet.

use robota_core::event::Delivery;
use robota_core::ids::InputId;
use robota_core::message::{Block, Content};
use robota_core::state::State;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::Session;
use crate::actor::{InputChange, Request};
use crate::error::SessionError;

/// An input that was accepted and waits for its delivery.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QueuedInput {
    /// The id that `send` returned; changes and `cancel` take it.
    pub input: InputId,
    /// Whether it starts a turn of its own or joins the turn that runs.
    pub delivery: Delivery,
    /// The blocks of the message that it will become.
    pub content: Vec<Block>,
    /// Values that the caller of `send` attached; the session does not read them.
    pub metadata: Map<String, Value>,
}

/// Reads and changes the inputs that wait. Every change is in the journal before it is acknowledged,
/// so no input is lost between the old and the new queue.
#[derive(Clone)]
pub struct QueueHandle(pub(super) Session);

/// Keeps inputs from being delivered until it is dropped.
#[derive(Debug)]
#[must_use = "inputs are delivered again when it is dropped"]
pub struct QueuePause {
    /// The session's task waits for the end of this channel.
    _resume: oneshot::Sender<()>,
}

impl Session {
    /// Returns the handle for the inputs that wait.
    #[must_use]
    pub fn queue(&self) -> QueueHandle {
        QueueHandle(self.clone())
    }
}

impl QueueHandle {
    /// Returns the waiting inputs, in the order in which they are delivered.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn list(&self) -> Result<Vec<QueuedInput>, SessionError> {
        self.0.inspect(waiting).await
    }

    /// Waits until nothing runs. No input is delivered then until the returned value is dropped: what the
    /// caller does meanwhile, such as a restore of files, happens between two turns. Continuing a turn and
    /// summarising fail with [`SessionError::Busy`] until then; a restore of a checkpoint is allowed.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn pause(&self) -> Result<QueuePause, SessionError> {
        let resume = self.0.ask(|reply| Request::Pause { reply }).await?;
        Ok(QueuePause { _resume: resume })
    }

    /// Replaces the content of a waiting input, without the metadata and the rules that allow calls, which
    /// were sent with the old content; rules that deny calls stay. Returns false if it was delivered or cancelled.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn change(
        &self,
        input: &InputId,
        content: impl Into<Content>,
    ) -> Result<bool, SessionError> {
        self.change_with(input, content, Map::new()).await
    }

    /// Replaces the content of a waiting input, as [`QueueHandle::change`] does, and records other
    /// metadata with it.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn change_with(
        &self,
        input: &InputId,
        content: impl Into<Content>,
        metadata: Map<String, Value>,
    ) -> Result<bool, SessionError> {
        let Content(content) = content.into();
        let content = Some((content, metadata));
        let change = Box::new(InputChange { input: input.clone(), content, position: None });
        self.0.ask(|reply| Request::Change { change, reply }).await
    }

    /// Moves a waiting input, so that `position` others are delivered before it. Returns false if it
    /// was delivered or cancelled.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn move_to(&self, input: &InputId, position: usize) -> Result<bool, SessionError> {
        let position = Some(position);
        let change = Box::new(InputChange { input: input.clone(), content: None, position });
        self.0.ask(|reply| Request::Change { change, reply }).await
    }

    /// Cancels a waiting input. Returns false if it was delivered or cancelled before.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn cancel(&self, input: &InputId) -> Result<bool, SessionError> {
        self.0.cancel(input).await
    }

    /// Cancels an input if it waits, and interrupts its turn if that runs. Other inputs and turns go on,
    /// also a turn that runs hooks on the input before it takes it. Returns whether the input was
    /// cancelled, or its turn interrupted.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn stop(&self, input: &InputId) -> Result<bool, SessionError> {
        let input = input.clone();
        self.0.ask(|reply| Request::Stop { input, reply }).await
    }

    /// Interrupts the running turn or compaction, so that the next waiting input is delivered. Returns
    /// whether anything ran. [`Session::interrupt`] cancels the waiting inputs instead.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn start_next(&self) -> Result<bool, SessionError> {
        self.0.ask(|reply| Request::Interrupt { note: None, keep_inputs: true, reply }).await
    }
}

/// Returns the inputs that no turn has taken.
fn waiting(state: &State) -> Vec<QueuedInput> {
    let taken = state.turn.as_ref().and_then(|turn| turn.input.as_ref());
    // The running turn has taken its input, which stays in the list until it is a message.
    let waiting = state.inputs.iter().filter(|(input, _)| taken != Some(*input));
    waiting
        .map(|(input, pending)| QueuedInput {
            input: input.clone(),
            delivery: pending.delivery,
            content: pending.content.clone(),
            metadata: pending.metadata.clone(),
        })
        .collect()
}
