//! The permissions of a session.

use robota_core::approve::Question;
use robota_core::event::ModeChanged;
use robota_core::ids::CallId;
use robota_core::permission::Mode;

use super::Session;
use crate::approvals::Decision;
use crate::error::SessionError;

/// The permissions of a session: mode, questions, rules.
#[derive(Clone)]
pub struct Permissions(pub(super) Session);

impl Permissions {
    /// The permission mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.shared.turn_setup().setup.mode
    }

    /// Judges by another mode from the next call on.
    ///
    /// # Errors
    /// When it could not be written down; the mode then stays as it was.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), SessionError> {
        self.0.append(vec![ModeChanged { mode }.into()]).await?;
        let setup = &mut self.0.shared.turn_setup_mut().setup;
        setup.mode = mode;
        setup.gate.set_mode(mode);
        Ok(())
    }

    /// The questions that wait, oldest first. Several may.
    #[must_use]
    pub fn pending(&self) -> Vec<Question> {
        self.0.shared.approvals.pending()
    }

    /// Answers a question. It can be answered as soon as the journal says that it is asked, and
    /// the answer counts even if the caller drops this future.
    ///
    /// # Errors
    /// When nobody asks about that call, or it was answered already.
    pub async fn decide(
        &self,
        call: &CallId,
        decision: Decision,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        self.0.shared.approvals.decide(call, decision, note).await
    }

    /// The rules somebody said yes to for this session.
    #[must_use]
    pub fn session_allowed(&self) -> Vec<String> {
        self.0.shared.turn_setup().setup.gate.remembered()
    }

    /// Takes those back.
    pub fn clear_session_allowed(&self) {
        self.0.shared.turn_setup().setup.gate.forget();
    }
}
