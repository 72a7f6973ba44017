//! Reads what a host, or a tool in its place, decides about a call that needs approval, and interrupts
//! the turn if it asks for that.

use std::sync::{Arc, Mutex, PoisonError};

use robota_core::approve::{Answer, Question};
use robota_core::ids::CallId;
use robota_core::message::ToolInput;
use robota_core::permission::{Mode, PermissionUpdate};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::lenient;

use super::saved_rules::SavedRules;

/// A decision that interrupts the turn that runs.
#[derive(Debug)]
pub(crate) struct InterruptTurn {
    /// The reason.
    pub(super) note: String,
    /// The call that was denied; none if the decision answered a question of the model.
    pub(super) call: Option<CallId>,
    /// Used or dropped when the turn has ended.
    pub(super) ended: oneshot::Sender<()>,
}

/// Turns decisions into answers. All approvers of a run share it.
pub(crate) struct Decisions {
    commands: mpsc::UnboundedSender<InterruptTurn>,
    /// Saves the rules of approvals.
    pub(super) saved: Arc<SavedRules>,
    mode: Mutex<Mode>,
}

/// The decision about a call.
#[derive(Debug, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(super) enum Decision {
    Allow {
        #[serde(default)]
        updated_input: Option<Value>,
        #[serde(default, deserialize_with = "lenient::or_default")]
        updated_permissions: Vec<Value>,
    },
    Deny {
        #[serde(default, deserialize_with = "lenient::text")]
        message: Option<String>,
        #[serde(default, deserialize_with = "lenient::or_default")]
        interrupt: bool,
    },
}

impl Decisions {
    /// Creates the decisions of a run in this mode.
    pub(crate) fn new(
        commands: mpsc::UnboundedSender<InterruptTurn>,
        saved: Arc<SavedRules>,
        mode: Mode,
    ) -> Self {
        Self { commands, saved, mode: Mutex::new(mode) }
    }

    /// Takes the new permission mode.
    pub(crate) fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Takes a mode that is not the host's own request: an approval came with it, or plan mode began or
    /// ended. `dontAsk` stays until the host changes it.
    pub(crate) fn follow_mode(&self, mode: Mode) {
        if self.may_ask() {
            self.set_mode(mode);
        }
    }

    /// Returns the permission mode.
    pub(super) fn mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the mode allows to ask about calls.
    pub(super) fn may_ask(&self) -> bool {
        self.mode() != Mode::DontAsk
    }

    /// Returns the answer about a call if the mode forbids to ask.
    pub(super) fn unasked(&self, question: &Question) -> Option<Answer> {
        let reason = || format!("{}; mode `dontAsk` does not ask", question.reason);
        (!self.may_ask()).then(|| Answer::Unanswered { reason: reason() })
    }

    /// Returns the answer that a decision means.
    ///
    /// # Errors
    /// When the value is no decision.
    pub(super) async fn answer(
        &self,
        question: &Question,
        decision: Value,
    ) -> Result<Answer, serde_json::Error> {
        Ok(match serde_json::from_value(decision)? {
            Decision::Allow { updated_input, updated_permissions } => {
                Self::allow(question, updated_input, updated_permissions)
            }
            Decision::Deny { message, interrupt } => {
                let call = Some(question.call.call.clone());
                Answer::Deny { note: self.deny(message, interrupt, call).await }
            }
        })
    }

    /// Returns the reason of a denial. With `interrupt` the turn is interrupted first.
    pub(super) async fn deny(
        &self,
        message: Option<String>,
        interrupt: bool,
        call: Option<CallId>,
    ) -> Option<String> {
        if interrupt {
            let note = message.clone().unwrap_or_default();
            let (ended, interrupted) = oneshot::channel();
            if self.commands.send(InterruptTurn { note, call, ended }).is_err() {
                return Some("the run is ending".to_owned());
            }
            // The interrupt withdraws a question of the turn, which drops this future. It does not
            // withdraw those of agents in the background and of calls for the host.
            let _ = interrupted.await;
        }
        message.filter(|message| !message.is_empty())
    }

    fn allow(question: &Question, updated_input: Option<Value>, updates: Vec<Value>) -> Answer {
        let (updates, problems) = PermissionUpdate::read_all(updates);
        let note = (!problems.is_empty()).then(|| problems.join("; "));
        let changed =
            // Hosts return the arguments also when they did not change them; only a change is
            // judged again.
            updated_input.filter(|input| question.call.input != ToolInput::Json(input.clone()));
        Answer::allow(changed, updates, note)
    }
}

#[cfg(test)]
mod tests;
