//! The permissions of a session.

use robota_core::approve::Question;
use robota_core::event::ModeChanged;
use robota_core::ids::CallId;
use robota_core::permission::Mode;

use super::Session;
use crate::desk::Decision;
use crate::error::SessionError;

/// The permissions of a session: mode, questions, rules.
#[derive(Clone)]
pub struct Permissions(pub(super) Session);

impl Permissions {
    /// The permission mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.shared.makeup().parts.mode
    }

    /// Judges by another mode from the next call on.
    ///
    /// # Errors
    /// When it could not be written down; the mode then stays as it was.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), SessionError> {
        self.0.append(vec![ModeChanged { mode }.into()]).await?;
        let mut makeup = self.0.shared.makeup_mut();
        makeup.parts.mode = mode;
        makeup.parts.gate.set_mode(mode);
        Ok(())
    }

    /// The questions that wait, oldest first. Several may.
    #[must_use]
    pub fn pending(&self) -> Vec<Question> {
        self.0.shared.desk.pending()
    }

    /// Answers a question.
    ///
    /// # Errors
    /// When nobody asks about that call, or it was answered already.
    pub async fn decide(
        &self,
        call: &CallId,
        decision: Decision,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        self.0.shared.desk.decide(call, decision, note).await
    }

    /// The rules somebody said yes to for this session.
    #[must_use]
    pub fn session_allowed(&self) -> Vec<String> {
        self.0.shared.makeup().parts.gate.remembered()
    }

    /// Takes those back.
    pub fn clear_session_allowed(&self) {
        self.0.shared.makeup().parts.gate.forget();
    }
}
