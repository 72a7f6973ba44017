//! The `Approver` port: whoever is asked when a call needs somebody's word.

use crate::message::ToolUse;
use crate::permission::Class;

/// A question about one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The call; its id is the permission's.
    pub call: ToolUse,
    /// What it does.
    pub class: Class,
    /// Why it is asked.
    pub reason: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It may run.
    Allow {
        /// In whose words.
        note: Option<String>,
    },
    /// It may not.
    Deny {
        /// In whose words.
        note: Option<String>,
    },
}

/// Answers questions about calls. Several may be open at once; dropping the future withdraws
/// the question.
#[async_trait::async_trait]
pub trait Approver: Send + Sync {
    /// Asks.
    async fn ask(&self, question: Question) -> Answer;
}

/// Nobody is there, so nothing that must be asked may run. The default.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyToAsk;

#[async_trait::async_trait]
impl Approver for NobodyToAsk {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::Deny { note: Some("it needs approval and nobody is there to give it".to_owned()) }
    }
}
