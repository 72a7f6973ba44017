//! The life cycle of one change: a pure state machine.

use robota_core::error::{Diagnose, ErrorKind};
use serde::{Deserialize, Serialize};

/// Says how far a change is.
///
/// ```
/// use robota_sdk::self_hosting::LoopState;
///
/// assert_ne!(LoopState::Idle, LoopState::VerifyFailed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopState {
    /// No change is in progress, so the next one can begin.
    #[default]
    Idle,
    /// The tree is saved, so that it can be restored; no file has changed yet.
    CheckpointCreated,
    /// Files are being changed.
    EditsStarted,
    /// All files are changed; the tree can be verified.
    EditsApplied,
    /// The changed tree passed all checks.
    VerifyPassed,
    /// The changed tree is not good.
    VerifyFailed,
    /// The tree is being restored from the checkpoint.
    Recovering,
}

/// What happened to a change.
///
/// ```
/// use robota_sdk::self_hosting::LoopEvent;
///
/// assert_ne!(LoopEvent::VerifyPassed, LoopEvent::VerifyFailed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopEvent {
    /// A checkpoint was created: from now on the tree can be restored.
    CheckpointCreated,
    /// The first file is about to be changed.
    EditsStarted,
    /// The last file was changed; the checks follow.
    EditsApplied,
    /// All checks passed; the change can be finished.
    VerifyPassed,
    /// A check failed; the tree has to be restored.
    VerifyFailed,
    /// The tree is about to be restored.
    RecoveryStarted,
    /// The tree is again as the checkpoint has it.
    RecoveryFinished,
    /// A verified change is complete, or a change was given up before its first edit.
    Finished,
}

/// An event that cannot happen in a state.
///
/// ```
/// use robota_sdk::self_hosting::{InvalidTransition, LoopEvent, LoopState};
///
/// let error = InvalidTransition { state: LoopState::Idle, event: LoopEvent::Finished };
/// assert!(!error.to_string().is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event {event:?} cannot happen in the state {state:?}")]
pub struct InvalidTransition {
    /// The state, which does not change.
    pub state: LoopState,
    /// The event, which was not applied.
    pub event: LoopEvent,
}

impl LoopState {
    /// All states: those of a change that succeeds in order, then those of a failure.
    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::CheckpointCreated,
        Self::EditsStarted,
        Self::EditsApplied,
        Self::VerifyPassed,
        Self::VerifyFailed,
        Self::Recovering,
    ];

    /// Returns the next state.
    ///
    /// # Errors
    /// When the event cannot happen in this state.
    pub fn on(self, event: LoopEvent) -> Result<Self, InvalidTransition> {
        use LoopEvent as E;
        match (self, event) {
            (Self::Idle, E::CheckpointCreated) => Ok(Self::CheckpointCreated),
            (Self::CheckpointCreated, E::EditsStarted) => Ok(Self::EditsStarted),
            (Self::EditsStarted, E::EditsApplied) => Ok(Self::EditsApplied),
            (Self::EditsApplied, E::VerifyPassed) => Ok(Self::VerifyPassed),
            (Self::EditsApplied, E::VerifyFailed) => Ok(Self::VerifyFailed),
            // A failed edit and a verification that was interrupted also lead back. A recovery that
            // was interrupted starts again.
            (
                Self::EditsStarted | Self::EditsApplied | Self::VerifyFailed | Self::Recovering,
                E::RecoveryStarted,
            ) => Ok(Self::Recovering),
            (Self::Recovering, E::RecoveryFinished)
            | (Self::VerifyPassed | Self::CheckpointCreated, E::Finished) => Ok(Self::Idle),
            (state, event) => Err(InvalidTransition { state, event }),
        }
    }

    /// Returns whether the tree may differ from the checkpoint without having been verified.
    #[must_use]
    pub fn is_unverified(self) -> bool {
        match self {
            Self::EditsStarted | Self::EditsApplied | Self::VerifyFailed | Self::Recovering => true,
            Self::Idle | Self::CheckpointCreated | Self::VerifyPassed => false,
        }
    }
}

impl LoopEvent {
    /// All events: those of a change up to its verification in order, then the others.
    pub const ALL: [Self; 8] = [
        Self::CheckpointCreated,
        Self::EditsStarted,
        Self::EditsApplied,
        Self::VerifyPassed,
        Self::VerifyFailed,
        Self::RecoveryStarted,
        Self::RecoveryFinished,
        Self::Finished,
    ];
}

impl Diagnose for InvalidTransition {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Validation
    }
}

#[cfg(test)]
mod tests;
