//! Questions of the model to the user, which the mode `dontAsk` refuses.

use std::sync::Arc;

use async_trait::async_trait;
use robota_core::ids::{CallId, SessionId};
use robota_core::permission::Mode;
use robota_tools::{Answers, QuestionHandler, UserQuestion};

use super::OpenSessions;

/// Asks the user, unless the permission mode of the session is `dontAsk`.
pub(super) struct ModeQuestions {
    pub(super) inner: Arc<dyn QuestionHandler>,
    pub(super) open: OpenSessions,
    pub(super) session: SessionId,
}

impl ModeQuestions {
    fn may_ask(&self) -> bool {
        let session = self.open.get(&self.session);
        session.is_none_or(|it| it.session().permissions().mode() != Mode::DontAsk)
    }
}

#[async_trait]
impl QuestionHandler for ModeQuestions {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        if self.may_ask() { self.inner.ask(question).await } else { None }
    }

    async fn ask_all(&self, call: &CallId, questions: &[UserQuestion]) -> Answers {
        if self.may_ask() {
            return self.inner.ask_all(call, questions).await;
        }
        let reason = "the permission mode `dontAsk` does not ask the user".to_owned();
        Answers::Refused { reason: Some(reason) }
    }
}
