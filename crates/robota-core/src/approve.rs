//! The `Approver` port: whoever is asked when a call needs somebody's word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ErrorData;
use crate::ids::CallId;
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
    /// The narrow rules that "always" would keep; none where it cannot be said.
    pub rules: Vec<String>,
}

/// How far a yes reaches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, PartialOrd, Ord,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call.
    #[default]
    Once,
    /// Calls like it, until the session ends. It does not survive a resume.
    Session,
    /// Calls like it, from now on: the rules that were shown are saved.
    Always,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It may run.
    Allow {
        /// In whose words.
        note: Option<String>,
    },
    /// It may run, and so may calls like it.
    Remember {
        /// How far that reaches.
        scope: Scope,
        /// The rules that are kept.
        rules: Vec<String>,
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
    /// Announces a question before anybody can see that it is asked, so that an answer cannot
    /// come too early. [`Approver::ask`] follows, or [`Approver::withdraw`].
    fn announce(&self, _question: &Question) {}

    /// Takes back a question that was announced and will not be asked.
    fn withdraw(&self, _call: &CallId) {}

    /// Asks.
    async fn ask(&self, question: Question) -> Answer;
}

/// Where the rules go that somebody said "always" to.
#[async_trait::async_trait]
pub trait RuleSink: Send + Sync {
    /// Saves these rules to those that allow.
    ///
    /// # Errors
    /// When they could not be saved; they then hold for this session only.
    async fn save(&self, rules: &[String]) -> Result<(), ErrorData>;
}

/// Nobody is there, so nothing that must be asked may run. The default.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

#[async_trait::async_trait]
impl Approver for NoApprover {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::Deny { note: Some("it needs approval and nobody is there to give it".to_owned()) }
    }
}
