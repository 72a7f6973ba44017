//! Shows the questions of subagents. Those of the session itself come with its events, in their order;
//! those of agents are in journals that the terminal does not follow.

use std::sync::Arc;

use robota_core::approve::{Answer, Approver, Question};
use robota_core::ids::CallId;

use super::{Mailbox, preview};
use crate::setup::Setup;
use crate::terminal::event::Event;

/// Passes the questions of agents to the thread that draws. The user's answer reaches the session as
/// the decision of a client, so this approver never answers.
pub(super) struct AgentQuestions {
    pub(super) mailbox: Mailbox,
    pub(super) setup: Arc<Setup>,
}

/// Reports the end of a question, answered or not.
struct Withdraw(Mailbox, CallId);

impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.send(Event::Withdrawn(self.1.clone()));
    }
}

#[async_trait::async_trait]
impl Approver for AgentQuestions {
    async fn ask(&self, question: Question) -> Answer {
        let _withdraw = question.agent.is_some().then(|| {
            let call = question.call.call.clone();
            let asked = preview::asked(question, &self.setup);
            self.mailbox.send(Event::Asked(Box::new(asked)));
            Withdraw(self.mailbox.clone(), call)
        });
        // Dropped by the session when a client has answered.
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests;
