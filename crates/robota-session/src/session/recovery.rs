//! Work that a crash left open, and how to continue.

use std::collections::HashMap;

use robota_core::close::{CloseAs, OpenOperation, open_operations};
use robota_core::ids::CallId;

use super::Session;
use crate::actor::Request;
use crate::error::SessionError;

/// Reports work that a crash left open, and closes it.
#[derive(Clone)]
pub struct Recovery(pub(super) Session);

impl Recovery {
    /// Returns what is open, until [`Recovery::recover`] has closed it.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn open_operations(&self) -> Result<Vec<OpenOperation>, SessionError> {
        if self.0.is_running() {
            return Ok(Vec::new());
        }
        self.0.inspect(open_operations).await
    }

    /// Closes what is open: calls as the caller chose, all others with a result that says what is
    /// known about them.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn recover(&self, choices: HashMap<CallId, CloseAs>) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Recover { choices, reply }).await
    }

    /// Continues an interrupted turn: sends the same request again, without the partial answer. If
    /// the model repeats a call that was not approved, the session asks again.
    ///
    /// # Errors
    /// If the conversation ends with a whole answer, or something runs.
    pub async fn continue_turn(&self) -> Result<(), SessionError> {
        self.0.ask(|reply| Request::Continue { reply }).await
    }
}
