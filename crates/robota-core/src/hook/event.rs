//! The events at which hooks can run.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HookPoint;

/// An event at which hooks can run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum HookEvent {
    /// A tool call was judged and not denied.
    PreToolUse,
    /// A tool call needs a user's approval.
    PermissionRequest,
    /// A tool call ran and succeeded.
    PostToolUse,
    /// A tool call ran and failed; also a command that ended with another code than 0.
    PostToolUseFailure,
    /// All calls of an answer have ended, and the model does not have the results yet.
    PostToolBatch,
    /// The program wants something from the user.
    Notification,
    /// The program was started to prepare the project.
    Setup,
    /// A session starts or is resumed.
    SessionStart,
    /// A session ends; its hooks cannot prevent that.
    SessionEnd,
    /// A turn is about to end with an answer.
    Stop,
    /// A turn ended with an error.
    StopFailure,
    /// A conversation is about to be summarised.
    PreCompact,
    /// A summary has replaced the older messages of a conversation.
    PostCompact,
    /// An input was accepted and is not a message yet.
    UserPromptSubmit,
    /// The user typed a command that becomes a prompt: a skill, or a prompt of an MCP server.
    UserPromptExpansion,
    /// A subagent starts to work on its task.
    SubagentStart,
    /// A subagent is about to end.
    SubagentStop,
    /// A worktree is to be created; a hook may create it itself and return its path.
    WorktreeCreate,
    /// A worktree is to be removed.
    WorktreeRemove,
    /// A file with instructions was loaded.
    InstructionsLoaded,
    /// An MCP server asks the user something.
    Elicitation,
    /// The question of an MCP server was answered, and the server does not have the answer yet.
    ElicitationResult,
    /// An item is about to be added to the to-do list.
    TaskCreated,
    /// An item of the to-do list is about to be marked as completed.
    TaskCompleted,
    /// Settings or skills are about to change.
    ConfigChange,
    /// The working directory of the commands of the model changed.
    CwdChanged,
    /// The session is about to use another model.
    PreModelSwitch,
    /// The session uses another model.
    PostModelSwitch,
}

/// What the matcher of a group is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchedOn {
    /// The name of the tool that is called.
    Tool,
    /// The kind of the notification, such as a question for approval.
    NotificationType,
    /// Why a file of instructions was loaded.
    LoadReason,
    /// Why a session starts, or which settings change.
    Source,
    /// Why the session ended, such as `clear` or `other`.
    Reason,
    /// The error that ended a turn.
    Error,
    /// What caused a compaction, or a preparation of the project.
    Trigger,
    /// The type of the subagent, as the Agent tool names it.
    AgentType,
    /// The name of the MCP server.
    Server,
    /// The name of the command that the user typed.
    Command,
    /// The model that is used from then on.
    Model,
    /// Nothing: matchers at this event are ignored.
    Nothing,
}

impl HookEvent {
    /// All events that settings can name.
    pub const ALL: [Self; 28] = [
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::Notification,
        Self::Setup,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Stop,
        Self::StopFailure,
        Self::PreCompact,
        Self::PostCompact,
        Self::UserPromptSubmit,
        Self::UserPromptExpansion,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::WorktreeCreate,
        Self::WorktreeRemove,
        Self::InstructionsLoaded,
        Self::Elicitation,
        Self::ElicitationResult,
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::ConfigChange,
        Self::CwdChanged,
        Self::PreModelSwitch,
        Self::PostModelSwitch,
    ];

    /// Returns the name that is used in settings and that hooks receive.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::Notification => "Notification",
            Self::Setup => "Setup",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::UserPromptExpansion => "UserPromptExpansion",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::WorktreeCreate => "WorktreeCreate",
            Self::WorktreeRemove => "WorktreeRemove",
            Self::InstructionsLoaded => "InstructionsLoaded",
            Self::Elicitation => "Elicitation",
            Self::ElicitationResult => "ElicitationResult",
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::ConfigChange => "ConfigChange",
            Self::CwdChanged => "CwdChanged",
            Self::PreModelSwitch => "PreModelSwitch",
            Self::PostModelSwitch => "PostModelSwitch",
        }
    }

    /// Returns true if an action waits for the hooks' decision. A hook that fails there blocks it.
    #[must_use]
    pub fn is_gate(self) -> bool {
        match self {
            Self::PreToolUse
            | Self::PermissionRequest
            | Self::PostToolUse
            | Self::PostToolBatch
            | Self::UserPromptSubmit
            | Self::UserPromptExpansion
            | Self::PreCompact
            | Self::WorktreeCreate
            | Self::Elicitation
            | Self::ElicitationResult
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::ConfigChange
            | Self::PreModelSwitch => true,
            Self::PostToolUseFailure
            | Self::Notification
            | Self::Setup
            | Self::InstructionsLoaded
            | Self::SessionStart
            | Self::SessionEnd
            | Self::Stop
            | Self::StopFailure
            | Self::PostCompact
            | Self::SubagentStart
            | Self::SubagentStop
            | Self::WorktreeRemove
            | Self::CwdChanged
            | Self::PostModelSwitch => false,
        }
    }

    /// Returns true if a hook can block at this event. At the end of a turn or a subagent, a block
    /// makes it continue. Only an explicit block does that: a hook that fails lets it end.
    #[must_use]
    pub fn can_block(self) -> bool {
        self.is_gate() || matches!(self, Self::Stop | Self::SubagentStop)
    }

    /// Returns true if nothing that is to happen waits for the hooks, so that a hook can report later what
    /// it found. At the end of a session nothing is left to report to.
    #[must_use]
    pub(super) fn can_wake(self) -> bool {
        let has_happened = matches!(self, Self::PostToolUse | Self::PostToolBatch);
        has_happened || (!self.is_gate() && self != Self::SessionEnd)
    }

    /// Returns true if plain text on standard output is context for the model.
    #[must_use]
    pub fn text_is_context(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::UserPromptExpansion | Self::SessionStart)
    }

    /// Returns true if the event is about a question of an MCP server, which hooks can answer.
    #[must_use]
    pub(super) fn is_elicitation(self) -> bool {
        matches!(self, Self::Elicitation | Self::ElicitationResult)
    }

    /// Returns true if a call has run: a block gives the model feedback, and the result stays.
    #[must_use]
    pub(super) fn is_after_call(self) -> bool {
        matches!(self, Self::PostToolUse | Self::PostToolUseFailure)
    }

    /// Returns true if a tool call causes the event while it runs.
    #[must_use]
    pub fn is_during_call(self) -> bool {
        matches!(self, Self::TaskCreated | Self::TaskCompleted | Self::CwdChanged)
    }

    /// Returns true if the event is about the model that the session uses.
    #[must_use]
    pub fn is_model_switch(self) -> bool {
        matches!(self, Self::PreModelSwitch | Self::PostModelSwitch)
    }

    /// Returns true if every exit code other than 0 is a failure that blocks, not only 2.
    #[must_use]
    pub(super) fn fails_on_any_code(self) -> bool {
        self == Self::WorktreeCreate
    }

    /// Returns what matchers are compared with.
    #[must_use]
    pub fn matched_on(self) -> MatchedOn {
        match self {
            Self::PreToolUse
            | Self::PermissionRequest
            | Self::PostToolUse
            | Self::PostToolUseFailure => MatchedOn::Tool,
            Self::Notification => MatchedOn::NotificationType,
            Self::InstructionsLoaded => MatchedOn::LoadReason,
            Self::SessionStart | Self::ConfigChange => MatchedOn::Source,
            Self::SessionEnd => MatchedOn::Reason,
            Self::StopFailure => MatchedOn::Error,
            Self::PreCompact | Self::PostCompact | Self::Setup => MatchedOn::Trigger,
            Self::SubagentStart | Self::SubagentStop => MatchedOn::AgentType,
            Self::Elicitation | Self::ElicitationResult => MatchedOn::Server,
            Self::UserPromptExpansion => MatchedOn::Command,
            Self::PreModelSwitch | Self::PostModelSwitch => MatchedOn::Model,
            Self::UserPromptSubmit
            | Self::PostToolBatch
            | Self::Stop
            | Self::WorktreeCreate
            | Self::WorktreeRemove
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::CwdChanged => MatchedOn::Nothing,
        }
    }
}

impl From<HookPoint> for HookEvent {
    fn from(point: HookPoint) -> Self {
        match point {
            HookPoint::UserPromptSubmit => Self::UserPromptSubmit,
            HookPoint::PreToolUse => Self::PreToolUse,
            HookPoint::PostToolUse => Self::PostToolUse,
            HookPoint::PostToolBatch => Self::PostToolBatch,
            HookPoint::Stop => Self::Stop,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for HookEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|event| event.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|event| event.name()).collect();
            let text = text.escape_debug();
            format!("unknown hook event `{text}`; use one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests;
