//! The JSON object that a hook receives.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{EndedCall, HookEvent, HookInput, suggestions};
use crate::approve::Question;
use crate::error::{ErrorData, FailureClass};
use crate::event::CompactionTrigger;
use crate::message::{Block, ToolUse};
use crate::permission::Mode;
use crate::tool::{ToolOutcome, failed_exit_code};

/// The fields that every hook of a session receives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookContext {
    /// The id of the session that runs the hooks.
    pub session_id: String,
    /// The path of the transcript; `None` if none is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// The working directory of the session.
    pub cwd: String,
    /// The permission mode when the hook runs; `None` until the session sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<Mode>,
    /// How hard the model thinks; `None` if the provider decides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<HookEffort>,
    /// The id of the subagent; `None` outside a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The type of the agent; `None` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

impl HookContext {
    /// Creates the context of a session in a directory.
    pub fn new(session_id: impl Into<String>, cwd: impl Into<String>) -> Self {
        Self {
            session_id: session_id.into(),
            transcript_path: None,
            cwd: cwd.into(),
            permission_mode: None,
            effort: None,
            agent_id: None,
            agent_type: None,
        }
    }
}

/// How hard the model thinks, in the form in which hooks receive it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookEffort {
    /// The name of the level, such as `high`.
    pub level: String,
}

/// Why a session starts; the matcher of SessionStart hooks is compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionSource {
    /// The session is new, not resumed.
    Startup,
    /// It was stored and is open again.
    Resume,
    /// The user cleared the conversation.
    Clear,
    /// A summary has replaced the older messages.
    Compact,
    /// It is a fork of another session.
    Fork,
}

impl SessionSource {
    /// Returns the name that hooks receive.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Fork => "fork",
        }
    }
}

/// What a notification wants from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotificationType {
    /// The approval of a call: the session waits for it.
    PermissionPrompt,
    /// The next prompt: the session waits for it.
    IdlePrompt,
}

impl NotificationType {
    /// Returns the name that hooks receive.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PermissionPrompt => "permission_prompt",
            Self::IdlePrompt => "idle_prompt",
        }
    }
}

/// Says why a project is prepared by its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupTrigger {
    /// The project is prepared for the first time (`--init`).
    Init,
    /// An existing project is maintained (`--maintenance`).
    Maintenance,
}

impl SetupTrigger {
    /// Returns the name that hooks receive.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Maintenance => "maintenance",
        }
    }
}

/// How a command becomes a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExpansionType {
    /// A skill, or a command of the user or of a plugin.
    SlashCommand,
    /// A prompt of an MCP server.
    McpPrompt,
}

/// The file whose change a ConfigChange hook decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConfigSource {
    /// The settings that apply to all projects of the user.
    UserSettings,
    /// The settings that are part of the checkout.
    ProjectSettings,
    /// The settings of the user for this project alone.
    LocalSettings,
    /// Any file of a skill, which is read again.
    Skills,
}

impl ConfigSource {
    /// Returns the name that hooks receive.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserSettings => "user_settings",
            Self::ProjectSettings => "project_settings",
            Self::LocalSettings => "local_settings",
            Self::Skills => "skills",
        }
    }
}

/// What changes the model of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelSwitchSource {
    /// The user, with a command such as `/model`.
    Command,
    /// The program that controls the session over a protocol.
    Host,
    /// Code that embeds the crate.
    Api,
    /// The first model is overloaded; the other one answers one call.
    Fallback,
}

/// A call of an answer, as PostToolBatch hooks receive it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the JSON; docs/hooks.md describes them")]
pub struct HookToolCall {
    pub tool_name: String,
    pub tool_input: Value,
    pub tool_use_id: String,
    pub tool_response: Value,
}

impl From<&EndedCall> for HookToolCall {
    fn from(EndedCall { tool_use, outcome }: &EndedCall) -> Self {
        Self {
            tool_name: tool_use.name.clone(),
            tool_input: tool_use.input.json().cloned().unwrap_or_default(),
            tool_use_id: tool_use.public_id().to_owned(),
            tool_response: response(&tool_use.name, outcome),
        }
    }
}

/// The fields of one event that its hooks receive in addition to the [`HookContext`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "hook_event_name")]
#[expect(missing_docs, reason = "the fields are those of the JSON; docs/hooks.md describes them")]
#[non_exhaustive]
pub enum HookData {
    /// A tool call was judged and not denied.
    PreToolUse { tool_name: String, tool_input: Value, tool_use_id: String },
    /// A tool call needs a user's approval.
    PermissionRequest {
        tool_name: String,
        tool_input: Value,
        tool_use_id: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        permission_suggestions: Vec<Value>,
    },
    /// A tool call succeeded. `tool_output` is `tool_response` as text.
    PostToolUse {
        tool_name: String,
        tool_input: Value,
        tool_use_id: String,
        tool_response: Value,
        tool_output: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A tool call ran and failed.
    PostToolUseFailure {
        tool_name: String,
        tool_input: Value,
        tool_use_id: String,
        error: String,
        is_interrupt: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// All calls of an answer have ended, and the model does not have the results yet.
    PostToolBatch { tool_calls: Vec<HookToolCall> },
    /// The program wants something from the user.
    Notification { message: String, title: &'static str, notification_type: NotificationType },
    /// The program was started to prepare the project.
    Setup { trigger: SetupTrigger },
    /// A session starts or is resumed.
    SessionStart {
        source: SessionSource,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_title: Option<String>,
    },
    /// A session ends, for this reason.
    SessionEnd { reason: String },
    /// A turn is about to end with an answer.
    Stop { stop_hook_active: bool, last_assistant_message: String },
    /// A turn ended with an error.
    StopFailure {
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_details: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_assistant_message: Option<String>,
    },
    /// A conversation is about to be summarised.
    PreCompact { trigger: CompactionTrigger, custom_instructions: String },
    /// A summary has replaced the older messages of a conversation.
    PostCompact { trigger: CompactionTrigger, compact_summary: String },
    /// An input was accepted and is not a message yet.
    UserPromptSubmit { prompt: String },
    /// The user typed a command that becomes a prompt. `prompt` is what the user typed.
    UserPromptExpansion {
        expansion_type: ExpansionType,
        command_name: String,
        command_args: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        command_source: Option<String>,
        prompt: String,
    },
    /// A subagent begins to work on its task.
    SubagentStart { agent_id: String, agent_type: String },
    /// A subagent is about to end.
    SubagentStop {
        agent_id: String,
        agent_type: String,
        stop_hook_active: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_transcript_path: Option<String>,
        last_assistant_message: String,
    },
    /// A worktree with this name is to be created.
    WorktreeCreate { name: String },
    /// The worktree in this folder is to be removed.
    WorktreeRemove { worktree_path: String },
    /// A file with instructions was loaded.
    InstructionsLoaded { file_path: String, memory_type: &'static str, load_reason: &'static str },
    /// An MCP server asks the user something.
    Elicitation {
        mcp_server_name: String,
        message: String,
        mode: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_schema: Option<Value>,
    },
    /// The question of an MCP server was answered, and the server does not have the answer yet.
    ElicitationResult {
        mcp_server_name: String,
        mode: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Value>,
    },
    /// An item is about to be added to the to-do list.
    TaskCreated { task_id: String, task_subject: String },
    /// An item of the to-do list is about to be marked as completed.
    TaskCompleted { task_id: String, task_subject: String },
    /// Settings or skills are about to change.
    ConfigChange {
        source: ConfigSource,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_path: Option<String>,
    },
    /// The working directory of the commands of the model changed.
    CwdChanged { old_cwd: String, new_cwd: String },
    /// The session is about to use another model.
    PreModelSwitch { old_model: String, new_model: String, source: ModelSwitchSource },
    /// The session uses another model.
    PostModelSwitch { old_model: String, new_model: String, source: ModelSwitchSource },
}

impl HookData {
    /// Returns the event that this data is about.
    #[must_use]
    pub fn event(&self) -> HookEvent {
        match self {
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PermissionRequest { .. } => HookEvent::PermissionRequest,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::PostToolBatch { .. } => HookEvent::PostToolBatch,
            Self::Notification { .. } => HookEvent::Notification,
            Self::Setup { .. } => HookEvent::Setup,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::Stop { .. } => HookEvent::Stop,
            Self::StopFailure { .. } => HookEvent::StopFailure,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::PostCompact { .. } => HookEvent::PostCompact,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::UserPromptExpansion { .. } => HookEvent::UserPromptExpansion,
            Self::SubagentStart { .. } => HookEvent::SubagentStart,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::WorktreeCreate { .. } => HookEvent::WorktreeCreate,
            Self::WorktreeRemove { .. } => HookEvent::WorktreeRemove,
            Self::InstructionsLoaded { .. } => HookEvent::InstructionsLoaded,
            Self::Elicitation { .. } => HookEvent::Elicitation,
            Self::ElicitationResult { .. } => HookEvent::ElicitationResult,
            Self::TaskCreated { .. } => HookEvent::TaskCreated,
            Self::TaskCompleted { .. } => HookEvent::TaskCompleted,
            Self::ConfigChange { .. } => HookEvent::ConfigChange,
            Self::CwdChanged { .. } => HookEvent::CwdChanged,
            Self::PreModelSwitch { .. } => HookEvent::PreModelSwitch,
            Self::PostModelSwitch { .. } => HookEvent::PostModelSwitch,
        }
    }

    /// Returns the text that matchers are compared with; empty at events without one.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::PreToolUse { tool_name, .. }
            | Self::PermissionRequest { tool_name, .. }
            | Self::PostToolUse { tool_name, .. }
            | Self::PostToolUseFailure { tool_name, .. } => tool_name,
            Self::Notification { notification_type, .. } => notification_type.name(),
            Self::Setup { trigger } => trigger.name(),
            Self::InstructionsLoaded { load_reason, .. } => load_reason,
            Self::SessionStart { source, .. } => source.name(),
            Self::SessionEnd { reason } => end_reason(reason),
            Self::StopFailure { error, .. } => error,
            Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => match trigger {
                CompactionTrigger::Manual => "manual",
                CompactionTrigger::Auto => "auto",
            },
            Self::SubagentStart { agent_type, .. } | Self::SubagentStop { agent_type, .. } => {
                agent_type
            }
            Self::Elicitation { mcp_server_name, .. }
            | Self::ElicitationResult { mcp_server_name, .. } => mcp_server_name,
            Self::UserPromptExpansion { command_name, .. } => command_name,
            Self::ConfigChange { source, .. } => source.name(),
            Self::PreModelSwitch { new_model, .. } | Self::PostModelSwitch { new_model, .. } => {
                new_model
            }
            Self::UserPromptSubmit { .. }
            | Self::PostToolBatch { .. }
            | Self::Stop { .. }
            | Self::WorktreeCreate { .. }
            | Self::WorktreeRemove { .. }
            | Self::TaskCreated { .. }
            | Self::TaskCompleted { .. }
            | Self::CwdChanged { .. } => "",
        }
    }

    /// Returns the tool and its arguments, at a tool's event.
    #[must_use]
    pub fn call(&self) -> Option<(&str, &Value)> {
        match self {
            Self::PreToolUse { tool_name, tool_input, .. }
            | Self::PermissionRequest { tool_name, tool_input, .. }
            | Self::PostToolUse { tool_name, tool_input, .. }
            | Self::PostToolUseFailure { tool_name, tool_input, .. } => {
                Some((tool_name, tool_input))
            }
            _ => None,
        }
    }

    /// Returns the event of a call before it runs.
    #[must_use]
    pub fn pre_tool_use(call: &ToolUse) -> Self {
        Self::PreToolUse {
            tool_name: call.name.clone(),
            tool_input: call.input.json().cloned().unwrap_or_default(),
            tool_use_id: call.public_id().to_owned(),
        }
    }

    /// Returns the event of a call that needs approval.
    #[must_use]
    pub fn permission_request(question: &Question) -> Self {
        let call = &question.call;
        Self::PermissionRequest {
            tool_name: call.name.clone(),
            tool_input: call.input.json().cloned().unwrap_or_default(),
            tool_use_id: call.public_id().to_owned(),
            permission_suggestions: suggestions::of_rules(&question.rules),
        }
    }

    /// Returns the event of a notification with its usual title.
    #[must_use]
    pub fn notification(notification_type: NotificationType, message: String) -> Self {
        let title = match notification_type {
            NotificationType::PermissionPrompt => "Permission needed",
            NotificationType::IdlePrompt => "Waiting for your input",
        };
        Self::Notification { message, title, notification_type }
    }

    /// Returns the event of a turn that ended with an error. `answer` is the text that the model had
    /// written.
    #[must_use]
    pub fn stop_failure(error: Option<&ErrorData>, answer: &str) -> Self {
        Self::StopFailure {
            error: error.map_or(FailureClass::Unknown, FailureClass::of).name().to_owned(),
            error_details: error.map(|error| error.message.clone()),
            last_assistant_message: (!answer.is_empty()).then(|| answer.to_owned()),
        }
    }

    /// Returns the event of a call that ran: it succeeded, or it failed. A command that ended with
    /// another code than 0 has failed, although the model judges that itself.
    fn after_call(tool_use: &ToolUse, outcome: &ToolOutcome, duration_ms: Option<u64>) -> Self {
        let tool_name = tool_use.name.clone();
        let tool_input = tool_use.input.json().cloned().unwrap_or_default();
        let tool_use_id = tool_use.public_id().to_owned();
        match failure(&tool_name, &tool_input, outcome) {
            Some(error) => Self::PostToolUseFailure {
                tool_name,
                tool_input,
                tool_use_id,
                error,
                is_interrupt: outcome.error_code.as_deref() == Some("interrupted"),
                duration_ms,
            },
            None => Self::PostToolUse {
                tool_response: response(&tool_name, outcome),
                tool_name,
                tool_input,
                tool_use_id,
                tool_output: outcome.text(),
                duration_ms,
            },
        }
    }

    /// Returns the complete object that a hook receives.
    #[must_use]
    pub fn to_json(&self, context: &HookContext) -> Value {
        let mut fields = object(serde_json::to_value(context));
        // Fields of the event win over those of the context: a subagent's event names the agent
        // itself.
        fields.extend(object(serde_json::to_value(self)));
        // Some hooks use other names for these fields, so both names are sent.
        let also: &[(&str, &str)] = match self {
            Self::UserPromptSubmit { .. } => &[("prompt", "user_message")],
            Self::Stop { .. } => &[("last_assistant_message", "response")],
            Self::StopFailure { .. } => &[("error", "reason")],
            _ => &[],
        };
        if let Self::SessionEnd { reason } = self {
            fields.insert("reason".to_owned(), end_reason(reason).into());
        }
        for (name, second) in also {
            if let Some(value) = fields.get(*name).cloned() {
                fields.insert((*second).to_owned(), value);
            }
        }
        Value::Object(fields)
    }
}

/// Returns the reason of the end of a session that scripts know: a program that embeds the crate may
/// name any.
fn end_reason(reason: &str) -> &'static str {
    const KNOWN: [&str; 4] = ["clear", "resume", "logout", "prompt_input_exit"];
    KNOWN.into_iter().find(|known| *known == reason).unwrap_or("other")
}

/// Plain data always serialises. If it did not, the hook would receive fewer fields.
fn object(value: Result<Value, serde_json::Error>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    }
}

impl From<&HookInput> for HookData {
    fn from(input: &HookInput) -> Self {
        match input {
            HookInput::UserPromptSubmit { content } => {
                Self::UserPromptSubmit { prompt: joined_text(content) }
            }
            HookInput::PreToolUse { tool_use, .. } => Self::pre_tool_use(tool_use),
            HookInput::PostToolUse { tool_use, outcome, duration_ms } => {
                Self::after_call(tool_use, outcome, *duration_ms)
            }
            HookInput::PostToolBatch { calls } => {
                Self::PostToolBatch { tool_calls: calls.iter().map(Into::into).collect() }
            }
            HookInput::Stop { text, active } => {
                Self::Stop { stop_hook_active: *active, last_assistant_message: text.clone() }
            }
        }
    }
}

fn joined_text(content: &[Block]) -> String {
    let texts: Vec<_> = content
        .iter()
        .filter_map(|block| match block {
            Block::Text(part) => Some(part.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// Returns the text about a call that failed; none if it succeeded.
fn failure(tool: &str, input: &Value, outcome: &ToolOutcome) -> Option<String> {
    if !outcome.ok {
        return Some(outcome.text());
    }
    let command = input.get("command").and_then(Value::as_str).filter(|_| tool == "Bash")?;
    let code = failed_exit_code(command, &outcome.metadata)?;
    // Scripts for Claude Code look for the code at the beginning.
    let text = printed(outcome);
    let text = text.trim_end();
    let text = text.strip_suffix(&format!("[exit code {code}]")).unwrap_or(text);
    Some(format!("Exit code {code}\n{}", text.trim_end()).trim_end().to_owned())
}

/// Returns what a command printed, without the note that it printed nothing.
fn printed(outcome: &ToolOutcome) -> String {
    let empty = outcome.metadata.get("output_bytes").is_some_and(|bytes| *bytes == 0);
    let text = outcome.text();
    if empty { text.replacen("[no output]\n", "", 1) } else { text }
}

fn response(tool: &str, outcome: &ToolOutcome) -> Value {
    let mut fields = Map::new();
    // Hooks that were written for Claude Code read these fields of a command. The tool does not keep
    // its two outputs apart.
    if tool == "Bash" {
        fields.insert("stdout".to_owned(), printed(outcome).into());
        fields.insert("stderr".to_owned(), "".into());
        fields.insert("interrupted".to_owned(), false.into());
    }
    fields.insert("success".to_owned(), outcome.ok.into());
    fields.insert("output".to_owned(), outcome.text().into());
    if !outcome.metadata.is_empty() {
        fields.insert("metadata".to_owned(), outcome.metadata.clone().into());
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
