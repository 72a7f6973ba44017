//! Passes the questions of the model (AskUserQuestion) to the user, and the answers back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use robota_tools::{QuestionHandler, UserQuestion};
use tokio::sync::oneshot;

use super::Mailbox;
use crate::terminal::event::Event;

/// The questions that wait. Clones are the same.
#[derive(Clone)]
pub(super) struct UserQuestions(Arc<Shared>);

struct Shared {
    mailbox: Mailbox,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Option<String>>>>,
}

impl UserQuestions {
    /// Creates questions that are shown by the thread behind the mailbox.
    pub(super) fn new(mailbox: Mailbox) -> Self {
        let (next, waiting) = (AtomicU64::new(1), Mutex::default());
        Self(Arc::new(Shared { mailbox, next, waiting }))
    }

    /// Passes on an answer.
    pub(super) fn answer(&self, id: u64, answer: Option<String>) {
        let waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = waiting {
            // The turn may have been stopped meanwhile.
            let _ = waiting.send(answer);
        }
    }
}

/// Withdraws a question when the call that asked it is dropped.
struct Withdraw<'a>(&'a Shared, u64);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
        self.0.mailbox.send(Event::UserQuestionEnded(self.1));
    }
}

#[async_trait::async_trait]
impl QuestionHandler for UserQuestions {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        let shared = &*self.0;
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answer);
        let _withdraw = Withdraw(shared, id);
        shared.mailbox.send(Event::UserAsked { id, question: Box::new(question.clone()) });
        answered.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests;
