//! The `Approver` port: gets a user's decision on calls that need approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorData, ErrorKind};
use crate::hook::HookData;
use crate::ids::{CallId, SessionId, TaskId};
use crate::message::ToolUse;
use crate::permission::{Class, Mode, PermissionUpdate, UpdateDestination};

/// Asks a person about one call.
///
/// ```
/// use robota_core::approve::Question;
///
/// fn line(question: &Question) -> String {
///     format!("{} needs approval: {}", question.call.name, question.reason)
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The call. Its id is also the id of the approval.
    pub call: ToolUse,
    /// The class of the call, as the gate judged it.
    pub class: Class,
    /// Why the call needs approval, as the gate or a hook explains it.
    pub reason: String,
    /// The rules that the answer "always" would save; empty if that answer is not possible.
    pub rules: Vec<String>,
    /// Whether only a user may allow the call: an answer of a hook that allows it does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_user: bool,
    /// What the hooks that require the approval add for the client that asks.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The subagent that makes the call, for people; `None` for the session itself.
    pub agent: Option<String>,
    /// The task that this subagent runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// How far an approval reaches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, PartialOrd, Ord,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call only: nothing is remembered.
    #[default]
    Once,
    /// Calls that match the rules, until the session ends. A resume does not restore it.
    Session,
    /// Calls that match the rules, in this and later sessions: the shown rules are saved.
    Always,
}

/// What a person answered.
///
/// ```
/// use robota_core::approve::{Answer, Scope};
///
/// let rules = vec!["Bash(cargo test *)".to_owned()];
/// let answer = Answer::Remember { scope: Scope::Session, rules, note: None };
/// assert_ne!(answer, Answer::Allow { note: None });
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Answer {
    /// The call may run once.
    Allow {
        /// A remark of the user, recorded as the reason.
        note: Option<String>,
    },
    /// The call, and calls that match the rules, may run.
    Remember {
        /// How far the approval reaches: this session, or later ones too.
        scope: Scope,
        /// The rules to remember, in the syntax of permission rules.
        rules: Vec<String>,
        /// A remark of the user, recorded as the reason.
        note: Option<String>,
    },
    /// The call may run with other arguments. The gate judges them first, and a denial counts.
    AllowChanged {
        /// The arguments that replace the model's.
        input: Value,
        /// A remark of the user, recorded as the reason.
        note: Option<String>,
    },
    /// The call may run, perhaps with other arguments, and permissions change with it. The session
    /// makes the changes and answers the question with what they come to; without one, only the call is
    /// allowed.
    Update {
        /// The changes, which apply in this order.
        updates: Vec<PermissionUpdate>,
        /// The arguments that replace the model's, if they do.
        input: Option<Value>,
        /// A remark of the user, recorded as the reason.
        note: Option<String>,
    },
    /// The call is denied, by a user or by what decides in their place.
    Deny {
        /// A remark of the user, recorded as the reason.
        note: Option<String>,
    },
    /// The call is denied, and the turn ends: no further call starts, and the model is not called
    /// again. A hook answers so.
    DenyAndStop {
        /// Why, for the model and the user.
        reason: String,
    },
    /// No one was asked, or no one answered: the call is denied, and not by a user.
    Unanswered {
        /// Why no one answered; the result of the call says it to the model.
        reason: String,
    },
    /// A hook answered in place of the user (PermissionRequest).
    ByHook {
        /// The decision of the hook, as a user would have given it.
        answer: Box<Answer>,
    },
}

impl Answer {
    /// Returns the answer that allows a call, with other arguments if there are some, and with these
    /// changes of permissions.
    #[must_use]
    pub fn allow(
        input: Option<Value>,
        updates: Vec<PermissionUpdate>,
        note: Option<String>,
    ) -> Self {
        match (input, updates.is_empty()) {
            (None, true) => Self::Allow { note },
            (Some(input), true) => Self::AllowChanged { input, note },
            (input, false) => Self::Update { updates, input, note },
        }
    }

    /// Returns the answer, and whether a hook gave it.
    #[must_use]
    pub fn without_hook(self) -> (Self, bool) {
        let (mut answer, mut by_hook) = (self, false);
        while let Self::ByHook { answer: inner } = answer {
            (answer, by_hook) = (*inner, true);
        }
        (answer, by_hook)
    }

    /// Returns whether the call may run.
    #[must_use]
    pub fn allows(&self) -> bool {
        match self {
            Self::Allow { .. }
            | Self::Remember { .. }
            | Self::AllowChanged { .. }
            | Self::Update { .. } => true,
            Self::Deny { .. } | Self::DenyAndStop { .. } | Self::Unanswered { .. } => false,
            Self::ByHook { answer } => answer.allows(),
        }
    }

    /// Marks the answer as that of a hook.
    #[must_use]
    pub fn by_hook(self) -> Self {
        Self::ByHook { answer: Box::new(self) }
    }
}

/// Answers questions about calls. Several questions may be open at the same time. Dropping the
/// future of [`Approver::ask`] withdraws the question.
///
/// ```
/// use robota_core::approve::{Answer, Approver, Question};
/// use robota_core::permission::Class;
///
/// /// Allows edits, and denies everything else.
/// struct EditsOnly;
///
/// #[async_trait::async_trait]
/// impl Approver for EditsOnly {
///     async fn ask(&self, question: Question) -> Answer {
///         match question.class {
///             Class::Modify => Answer::Allow { note: None },
///             _ => Answer::Unanswered { reason: "only edits are allowed".to_owned() },
///         }
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait Approver: Send + Sync {
    /// Announces a question before clients can see it, so that an answer cannot arrive too early.
    /// [`Approver::ask`] or [`Approver::withdraw`] follows.
    fn announce(&self, _question: &Question) {}

    /// Withdraws a question that was announced and will not be asked.
    fn withdraw(&self, _call: &CallId) {}

    /// Returns whether it asks a user of this session about the call, once the question can be shown.
    /// Only then hooks may decide first (PermissionRequest), and are notified otherwise.
    async fn asks_user(&self, _question: &Question) -> bool {
        true
    }

    /// Asks the question and waits for the answer.
    async fn ask(&self, question: Question) -> Answer;
}

/// Saves the changes of permissions that come with approvals.
#[async_trait::async_trait]
pub trait RuleSink: Send + Sync {
    /// Returns the event of a change of this destination. Its hooks decide before the change is saved.
    fn event(&self, _destination: UpdateDestination) -> Option<HookData> {
        None
    }

    /// Returns the settings file of this destination, as reasons of decisions name it; none if it has
    /// none.
    fn file(&self, _destination: UpdateDestination) -> Option<String> {
        None
    }

    /// Saves a change for later sessions. The answer "always" adds rules to the local settings.
    ///
    /// # Errors
    /// When it could not be saved. It then applies to this session only.
    async fn save(&self, update: &PermissionUpdate) -> Result<(), ErrorData>;

    /// Sets the permission mode of the session that asked, as far as it may have this mode.
    ///
    /// # Errors
    /// When it may not, or this sink cannot do that.
    async fn set_mode(&self, _session: &SessionId, mode: Mode) -> Result<(), ErrorData> {
        let problem = format!("the approver cannot set the permission mode {mode}");
        Err(ErrorData::new(ErrorKind::Validation, problem))
    }
}

/// Denies every question, because there is no one to ask. The default.
///
/// ```
/// use robota_core::agent::Agent;
/// use robota_core::approve::NoApprover;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// let model = ScriptedProvider::new(Script::new());
/// let builder = Agent::builder(model, "any-model").approver(NoApprover);
/// # drop(builder);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

#[async_trait::async_trait]
impl Approver for NoApprover {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::Unanswered { reason: "it needs approval, and no approver is configured".to_owned() }
    }
}
