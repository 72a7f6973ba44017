//! Who answers the questions of agents. Agents have no client of their own.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use robota_config::model;
use robota_core::approve::{Answer, Approver, Question};
use robota_core::ids::{SessionId, TaskId};
use robota_core::permission::{PermissionUpdate, RuleUpdate, UpdateDestination, Verdict};
use robota_exec::OsPaths;
use robota_session::Approvals;
use serde::{Deserialize, Serialize};

use crate::interactive::OpenSessions;

/// What agents may do without a question, and who answers the others.
///
/// ```
/// use robota_sdk::AgentPermissions;
///
/// // Agents may run the tests; every other call that needs an approval is denied.
/// let permissions = AgentPermissions::PreApproved(vec!["Bash(cargo test *)".to_owned()]);
/// assert_ne!(permissions, AgentPermissions::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AgentPermissions {
    /// Rules and mode of the parent, with what the user allowed for its session. The approver or
    /// the clients of the parent answer the questions, which name the agent.
    #[default]
    Inherit,
    /// The same, and these rules allow calls. All other questions are denied.
    PreApproved(Vec<String>),
    /// The configured rules and the mode of the parent. Every question goes to the parent, also if
    /// the user has allowed such calls for its session.
    Forward,
    /// Rules and mode of the parent; questions are denied.
    Deny,
}

impl From<model::AgentPermissionSetting> for AgentPermissions {
    fn from(setting: model::AgentPermissionSetting) -> Self {
        match setting {
            model::AgentPermissionSetting::Inherit => Self::Inherit,
            model::AgentPermissionSetting::Forward => Self::Forward,
            model::AgentPermissionSetting::Deny => Self::Deny,
            model::AgentPermissionSetting::Allow(rules) => Self::PreApproved(rules),
        }
    }
}

impl AgentPermissions {
    /// Returns whether the agent has the rules that the user allowed for the session of its parent.
    pub(super) fn inherits_rules(&self) -> bool {
        match self {
            Self::Inherit | Self::PreApproved(_) | Self::Deny => true,
            Self::Forward => false,
        }
    }

    /// Returns who answers the questions of an agent.
    pub(super) fn approvals(&self, approver: Arc<dyn Approver>) -> Approvals {
        match self {
            Self::Inherit | Self::Forward => Approvals::Handler(approver),
            Self::PreApproved(_) | Self::Deny => Approvals::Deny,
        }
    }
}

/// Asks the approvers of the parent, with the name of the agent.
pub(super) struct AgentApprover {
    pub(super) open: OpenSessions,
    pub(super) parent: SessionId,
    pub(super) task: TaskId,
    pub(super) agent: String,
    /// The folder of the agent, if it is not that of the parent.
    pub(super) folder: Option<PathBuf>,
}

#[async_trait]
impl Approver for AgentApprover {
    async fn asks_user(&self, _question: &Question) -> bool {
        // The session of the parent asks, and runs its hooks.
        false
    }

    async fn ask(&self, mut question: Question) -> Answer {
        let Some(parent) = self.open.get(&self.parent) else {
            return Answer::Unanswered { reason: "the session has ended".to_owned() };
        };
        // A definition can run several times at once; the task says which of them asks.
        question.agent = Some(format!("{} ({})", self.agent, self.task));
        question.task = Some(self.task.clone());
        // Users and hooks of the parent would take a relative path for one in the folder of the parent.
        if let Some(folder) = &self.folder {
            question.call.make_paths_absolute(folder, Some(&OsPaths));
        }
        let permissions = parent.session().permissions();
        // Released before the wait: a strong handle would keep the session open as long as the
        // question.
        drop(parent);
        let (answer, by_hook) = permissions.ask(question).await.without_hook();
        let answer = match answer {
            // The parent has saved the rules; the agent has them until it ends.
            Answer::Remember { scope: _, rules, note } => Answer::Update {
                updates: vec![PermissionUpdate::AddRules(RuleUpdate {
                    rules,
                    behavior: Verdict::Allow,
                    destination: UpdateDestination::Session,
                })],
                input: None,
                note,
            },
            answer => answer,
        };
        if by_hook { answer.by_hook() } else { answer }
    }
}
